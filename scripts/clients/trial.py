"""A trial: one client runs once with the scripted model, in folders of its own, and its traffic is kept."""
import json
import subprocess
import sys
import time
from pathlib import Path

import checks
import content as contents
from clients import CLIENTS, Setting
from model import Session
from processes import stop_all
from steps import Notes, conversation
from wire import Wire

LAST_WORDS_SECONDS = 8
"""A client that has heard the model's last word may take so long to end; some never end by themselves."""
TRIAL_SECONDS = 150
NO_REQUEST = "the model was not asked, or the client did not list our tools: "
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
TEE = Path(__file__).resolve().parent / "tee.py"
AGENT_DIRECTORIES = {"quokka": ".agents/skills", "wombat": ".claude/skills", "numbat": ".agent/skills"}
"""The directories that the server serves by itself, each with the animal of its skill."""


class Trial:
    """The folders and programs of one client's trials."""

    def __init__(self, name, node, program, server, model, folder):
        self.client, self.node, self.program = CLIENTS[name], node, program
        self.server, self.model, self.folder = server, model, folder
        self.home, self.project = folder / "home", folder / "project"
        for path in (self.home, self.project, folder / "tmp"):
            path.mkdir(parents=True)
        (self.project / "README.md").write_text("# Some project\n")

    def run(self, script, flags, title):
        """Run the client to its end; returns the model's session and the traffic with the server."""
        # The server's command line is the same in every trial: clients know a server by it.
        wire = self.folder / "wire"
        wire.mkdir()
        self.model.session = session = Session(script)
        server = [sys.executable, str(TEE), str(wire), str(self.server), *flags]
        words, own = self.client.setup(Setting(self.home, self.project, self.model.address, server))
        with open(self.folder / f"client-{title}.txt", "w") as said:
            process = subprocess.Popen(
                [self.program, *words], cwd=self.project, env=self.environment() | own, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said, start_new_session=True)
            wait(process, session)
        stop_all()
        process.wait()
        requests = [{"time": when, "body": body} for when, body, _ in session.requests]
        (self.folder / f"requests-{title}.json").write_text(json.dumps(requests, ensure_ascii=False, indent=1))
        return session, Wire(wire.rename(self.folder / f"wire-{title}"))

    def environment(self):
        """The client's environment: nothing of ours, and every folder below the temporary HOME."""
        return {
            "HOME": str(self.home), "USER": "run", "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": str(self.folder / "tmp"),
            "PATH": f"{self.node}:{SYSTEM_PATH}", "NO_PROXY": "127.0.0.1",
            "XDG_CONFIG_HOME": str(self.home / ".config"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_DATA_HOME": str(self.home / ".local/share"), "XDG_STATE_HOME": str(self.home / ".local/state")}

    def last_words(self, title):
        """The end of what the client printed."""
        return " ".join((self.folder / f"client-{title}.txt").read_text(errors="replace").split())[-400:]


def wait(process, session):
    """Wait until the client ends, or is silent after the model's last word, or takes too long."""
    deadline, silent = time.monotonic() + TRIAL_SECONDS, None
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
        if session.ended.is_set():
            silent = silent or time.monotonic() + LAST_WORDS_SECONDS
            if time.monotonic() > silent:
                return


def over_content(trial, kind):
    """The outcome of checks a, b, c, d and f over one content, by check: whether it passes, and words about it.

    Beside it the details of each trial.
    """
    outcome, details = {}, {}
    for title in ["first", "warm"] if trial.client.remembers else ["first"]:
        notes, content = Notes(), contents.make(kind, trial.folder / "served")
        if title == "warm":
            # What the client keeps must be what the server has when the warm trial begins.
            trial.run(iter(()), content.flags, "meeting")
        session, wire = trial.run(conversation(notes, content), content.flags, title)
        if not session.requests or not wire.lists:
            return {"a": (False, NO_REQUEST + trial.last_words(title))}, details
        found, details[title] = judged(trial.client, notes, session, wire)
        for check in found:
            said = outcome.setdefault(check, [])
            passes, words = found[check]
            said.append((passes, words if title == "first" else f"{words} (warm)"))
    return {check: (all(passes for passes, _ in said), joined(check, said)) for check, said in outcome.items()}, details


def joined(check, said):
    """The words about one trial, or about a first and a warm one where they differ."""
    first, *others = [words for _, words in said]
    if not all(passes for passes, _ in said):
        return "; ".join(words for passes, words in said if not passes)
    if check == "d" and others == [f"{first} (warm)"]:
        return f"{first}, warm too"
    return "; ".join([first, *(words for words in others if words != f"{first} (warm)")])


def judged(client, notes, session, wire):
    """The outcome of one trial, and its details."""
    sight = checks.Sight(wire, session)
    cut, whole = checks.cuts(wire, session, sight)
    way = sight.way()
    limit = checks.MAX_DEFERRED_TOKENS if sight.deferred else checks.MAX_TOKENS
    outcome = {"a": (bool(way) or client.hook_only, way or ("hook only" if client.hook_only else "nothing"))}
    for check in ("b", "d"):
        noted = notes.of.get(check, [(False, "not tried" + (f": {session.failure}" if session.failure else ""))])
        wrong = [what for works, what in noted if not works]
        outcome[check] = (not wrong, "; ".join(wrong) or "yes")
    outcome["c"] = (not cut, "; ".join(cut) or f"{whole} whole")
    outcome["f"] = (sight.tokens <= limit, f"{sight.tokens} of {limit}")
    return outcome, checks.details(wire, session, sight)


def listed_once(trial):
    """The outcome of check e: the client's own directories have skills, and the server is started without `--dir`."""
    skills = {}
    for animal, directory in {**AGENT_DIRECTORIES, "dugong": trial.client.own_directory}.items():
        for place, folder in (("project", trial.project), ("home", trial.home)):
            name = f"{animal}-{place}-care"
            if not (folder / directory / name).exists():
                about = f"Care of a {animal} of the {place}, {contents.CARE}."
                skills[name] = (f"{place} {directory}", about)
                contents.write_bundle(folder / directory, name, about)
    session, wire = trial.run(iter(()), [], "native")
    if not session.requests or not wire.lists:
        return (False, NO_REQUEST + trial.last_words("native")), {}
    lists = checks.twice(skills, wire, session)
    if lists["both"]:
        return (False, f"listed twice: {', '.join(lists['both'])}"), lists
    return (True, f"yes: {len(lists['client'])} by the client, {len(lists['server'])} by us, "
                  f"{len(lists['neither'])} by neither"), lists
