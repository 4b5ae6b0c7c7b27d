"""The scripts of the model: it asks for skills by what the texts say that it received, and notes whether that worked."""
import re
import time

from content import LONG_NAME
from model import Step

NOTICE_SECONDS = 2
"""The server tells its client of a change half a second after it; the client then has time to do something about it."""
MAX_PARTS = 20
TREE_TOOLS = "get_skill list_skills get_asset run_script report_usage refresh_skills".split()


class Notes:
    """What worked, by check."""

    def __init__(self):
        self.of = {}

    def note(self, check, works, what):
        self.of.setdefault(check, []).append((bool(works), what))
        return works


def first_match(pattern, step):
    """The first match of a pattern in a text that the model received."""
    return next((found for text in step.texts if (found := re.search(pattern, text, re.MULTILINE))), None)


def has(step, words):
    return any(words in text for text in step.texts)


def received(step):
    """The beginning of what the model received, for a report."""
    return " ".join(" ".join(step.texts).split())[:160] or "nothing"


def heading_of(file):
    return re.search(r"^# .*$", file.read_text(), re.MULTILINE)[0]


def from_bundles(notes, check, content, query, expected):
    """Search for a skill, load the first one found with the tool that the answer names, and read on while it is cut."""
    step = yield Step("skills_search", {"query": query})
    name, loader = first_match(r"^- (\S+): ", step), first_match(r"with (\w+) and its name", step)
    if not notes.note(check, name and loader, f"skills_search '{query}': {received(step)}"):
        return
    name = name[1]
    notes.note(check, name == expected, f"the first hit for '{query}' is {name}, not {expected}")
    step = yield Step(loader[1], {"name": name})
    heading = heading_of(content.bundles / name / "SKILL.md")
    notes.note(check, has(step, heading), f"{loader[1]} '{name}': {received(step)}")
    for _ in range(MAX_PARTS):
        more = first_match(r"from_line\W+(\d+)", step)
        if has(step, f"The end of {name}.") or not more:
            break
        step = yield Step(loader[1], {"name": name, "from_line": int(more[1])})
    notes.note(check, has(step, f"The end of {name}."), f"{loader[1]} '{name}' never came to its end: {received(step)}")
    return loader[1]


def from_tree(notes, check, content, context, expected):
    """Ask for a skill by a task, then load the skill that the answer names first by its path."""
    step = yield Step("get_skill", {"context": context})
    path = first_match(r'"skill_path":\s*"([^"]+)"', step)
    if not notes.note(check, path, f"get_skill '{context}': {received(step)}"):
        return
    path = path[1]
    notes.note(check, path == expected, f"the first skill for '{context}' is {path}, not {expected}")
    step = yield Step("get_skill", {"skill_path": path})
    heading = heading_of(content.tree / f"{path}.md")
    notes.note(check, has(step, heading), f"get_skill at '{path}': {received(step)}")


def conversation(notes, content):
    """The whole script over a content. New skills are written while the client waits for the model.

    At the end the model looks at every tool that the client keeps from it, so that descriptions can be compared.
    """
    if content.tree:
        yield from from_tree(notes, "b", content, "test a react component", "ui/react/testing")
        yield from from_tree(notes, "b", content, "authentication", "ui/react/auth")
    if content.bundles:
        yield from from_bundles(notes, "b", content, "configure the office printer", "printer-configure")
        loader = yield from from_bundles(notes, "b", content, "restore a replica", LONG_NAME)
    if content.tree:
        path = content.add_to_tree("zebra-foal")
        time.sleep(NOTICE_SECONDS)
        yield from from_tree(notes, "d", content, "look after a zebra-foal", path)
    if content.bundles:
        # The loader's description may list skills, so it may be the one that the edit changes.
        name = content.add_to_bundles("zebra-foal")
        time.sleep(NOTICE_SECONDS)
        step = yield Step(loader or "skill", {"name": name})
        notes.note("d", has(step, f"# How to {name}"), f"the new skill '{name}': {received(step)}")
        name = content.add_to_bundles("zebra")
        time.sleep(NOTICE_SECONDS)
        yield from from_bundles(notes, "d", content, "care of a zebra", name)
    for tool in TREE_TOOLS:
        yield Step(tool)
