"""The checks: what of the server's texts reached the model, and what they cost it."""
import json

from model import offered
from texts import all_texts, fate, kept, same_json

TOKEN_CHARS, FIRST_LINE_CHARS = 4, 160
MAX_TOKENS, MAX_DEFERRED_TOKENS = 2_000, 600
ENTRIES = ("get_skill", "skills_search", "skill", "load_skill")
"""The tools that a model may begin with."""


class Sight:
    """What the model's first request has of ours."""

    def __init__(self, wire, session):
        _, body, asked = session.requests[0]
        self.texts = all_texts(body)
        self.instructions = fate(wire.instructions, self.texts) if wire.instructions else "none sent"
        self.shown, self.named, chars = {}, [], 0
        unprefixed = {tool.name: tool for tool in asked.tools}
        for name in wire.tools:
            tool = offered(asked, name) or unprefixed.get(name)
            ours = tool and any(fate(sent, [tool.description]) != "absent" for sent in wire.descriptions(name))
            if ours and not tool.entry.get("defer_loading"):
                self.shown[name] = tool
                chars += len(json.dumps(tool.entry, ensure_ascii=False, separators=(",", ":")))
            elif any(f"__{name}" in text for text in self.texts):
                self.named.append(name)
                chars += len(f"mcp__skills__{name}\n")
                # Some clients show the first line beside the name.
                first_line = (wire.tools[name].get("description") or "").split("\n")[0]
                chars += kept(first_line[:FIRST_LINE_CHARS], self.texts)
        if self.instructions == "whole" or self.instructions.startswith("cut"):
            chars += len(wire.instructions)
        self.tokens = chars // TOKEN_CHARS
        self.deferred = len(self.shown) < len(wire.tools)

    def way(self):
        """How the model learns that there are skills and how to ask; nothing where it does not."""
        ways = []
        if self.instructions == "whole":
            ways.append("instructions")
        entries = [name for name in ENTRIES
                   if name in self.shown and "skill" in self.shown[name].description.lower()]
        if entries:
            ways.append(f"{len(self.shown)} tools" if len(self.shown) > 1 else entries[0])
        if self.named and "instructions" in ways:
            ways.append(f"{len(self.named)} names")
        return " + ".join(ways)


def cuts(wire, session, sight):
    """Every text of ours that reached the model cut or not at all, and how many reached it whole."""
    found, whole = [], 0
    if sight.instructions.startswith("cut"):
        found.append(f"instructions {sight.instructions}")
    whole += sight.instructions == "whole"
    seen_later = [text for _, body, asked in session.requests[1:] for text in
                  [tool.description for tool in asked.tools] + all_texts(list(asked.results.values()))]
    for name, tool in wire.tools.items():
        sent = wire.descriptions(name)
        where = [sight.shown[name].description] if name in sight.shown else seen_later
        fates = {fate(text, where) for text in sent}
        if "whole" in fates:
            whole += 1
        else:
            found.append(f"description of {name} {', '.join(sorted(fates))}")
    for step in session.steps:
        if step.arguments is None:
            continue
        call = wire.call_of(step)
        if call is None:
            found.append(f"{step.tool} {json.dumps(step.arguments)} never reached the server: "
                         + " ".join(" ".join(step.texts).split())[:200])
            continue
        if fate(call.text, step.texts) == "whole" or same_json(call.text, step.texts):
            whole += 1
        else:
            received = len(max(step.texts, key=len, default=""))
            found.append(f"answer of {step.tool} {json.dumps(step.arguments)}: "
                         f"{len(call.text)} characters sent, {received} received")
    return found, whole


def details(wire, session, sight):
    """The lengths of everything that was sent and shown, for the JSON file."""
    steps = []
    for step in session.steps:
        call = wire.call_of(step) if step.arguments is not None else None
        steps.append({
            "tool": step.tool, "arguments": step.arguments, "called_as": step.called_as, "searches": step.searches,
            "sent_chars": len(call.text) if call else None, "received_chars": len(max(step.texts, key=len, default=""))})
    shown = {name: len(json.dumps(tool.entry, ensure_ascii=False, separators=(",", ":")))
             for name, tool in sight.shown.items()}
    return {"client_name": wire.client, "instructions_chars": len(wire.instructions),
            "instructions": sight.instructions, "shown_tools_chars": shown, "named_tools": sight.named, "steps": steps}


def twice(skills, wire, session):
    """Where the skills are listed: by the client and by us, by one of the two, or by neither.

    A client lists a skill by its description, or by its name in a tool. A name elsewhere may be that of a folder.
    """
    _, body, asked = session.requests[0]
    sent = [wire.instructions, *(text for name in wire.tools for text in wire.descriptions(name))]
    theirs = "\n".join(all_texts(body))
    their_tools = "\n".join(tool.description for tool in asked.tools)
    for text in filter(None, sent):
        theirs, their_tools = theirs.replace(text.strip(), ""), their_tools.replace(text.strip(), "")
    ours = "\n".join(sent)
    lists = {"both": [], "client": [], "server": [], "neither": []}
    for name, (where, description) in skills.items():
        by_us, by_client = name in ours, description in theirs or name in their_tools
        side = "both" if by_us and by_client else "server" if by_us else "client" if by_client else "neither"
        lists[side].append(where)
    return lists
