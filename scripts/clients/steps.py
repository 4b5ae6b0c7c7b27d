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


def from_task(notes, check, content, request, expected):
    """Ask for a skill by a task, load the skill that the answer names first by its path, and read on while it is cut."""
    step = yield Step("get_skill", {"context": request})
    path = first_match(r'"skill_path":\s*"([^"]+)"', step)
    if not notes.note(check, path, f"get_skill '{request}': {received(step)}"):
        return
    path = path[1]
    notes.note(check, path == expected, f"the first skill for '{request}' is {path}, not {expected}")
    step = yield Step("get_skill", {"skill_path": path})
    is_bundle = content.bundles and (content.bundles / path).is_dir()
    heading = heading_of(content.bundles / path / "SKILL.md" if is_bundle else content.tree / f"{path}.md")
    notes.note(check, has(step, heading), f"get_skill at '{path}': {received(step)}")
    for _ in range(MAX_PARTS if is_bundle else 0):
        more = first_match(r"from_line\W+(\d+)", step)
        if has(step, f"The end of {path}.") or not more:
            break
        step = yield Step("get_skill", {"skill_path": path, "from_line": int(more[1])})
    ended = not is_bundle or has(step, f"The end of {path}.")
    notes.note(check, ended, f"get_skill '{path}' never came to its end: {received(step)}")


def conversation(notes, content):
    """The whole script over a content. New skills are written while the client waits for the model.

    At the end the model looks at every tool that the client keeps from it, so that descriptions can be compared.
    """
    if content.tree:
        yield from from_task(notes, "b", content, "test a react component", "ui/react/testing")
        yield from from_task(notes, "b", content, "sign in to a React app with a session cookie", "ui/react/auth")
    if content.bundles:
        yield from from_task(notes, "b", content, "configure the office printer", "printer-configure")
        yield from from_task(notes, "b", content, "restore a replica", LONG_NAME)
    if content.tree:
        path = content.add_to_tree("zebra-foal")
        time.sleep(NOTICE_SECONDS)
        yield from from_task(notes, "d", content, "look after a zebra-foal", path)
    if content.bundles:
        name = content.add_to_bundles("zebra-foal")
        time.sleep(NOTICE_SECONDS)
        step = yield Step("get_skill", {"skill_path": name})
        notes.note("d", has(step, f"# How to {name}"), f"the new skill '{name}': {received(step)}")
        name = content.add_to_bundles("zebra")
        time.sleep(NOTICE_SECONDS)
        yield from from_task(notes, "d", content, "care of a zebra", name)
    for tool in [*TREE_TOOLS, "skill", "load_skill"]:
        yield Step(tool)
