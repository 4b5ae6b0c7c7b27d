"""The contents that the server serves in a run: the example tree, 200 generated bundles, or both.

A `Content` also knows what a model asks it for, and how a new skill is written into it while a client runs.
"""
import dataclasses
import pathlib
import shutil

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/skills-content/skills"
SUBJECTS = """backup cache calendar certificate cluster dashboard firewall gateway invoice ledger
mailbox payroll pipeline printer queue registry replica scheduler sensor voucher""".split()
ACTIONS = "audit archive benchmark configure document inspect migrate monitor restore upgrade".split()
LONG_NAME, LONG_CHARS = "replica-restore", 60_000
USUAL_CHARS = 3_000
CARE = "brushing, feeding and housing it through the seasons"


def bundle_text(name, description, chars):
    """A skill's file of about so many characters, with a last line that shows whether all of it arrived."""
    lines = [f"---\nname: {name}\ndescription: {description}\n---\n\n# How to {name}\n"]
    size, number = 0, 0
    while size < chars:
        number += 1
        lines.append(f"{number}. Step {number} of {name}: check the result of the step before, then write it down.")
        size += len(lines[-1]) + 1
    return "\n".join([*lines, "", f"The end of {name}.", ""])


def write_bundle(folder, name, description, chars=USUAL_CHARS):
    """Write a skill's folder; a program that watches sees its file appear whole."""
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(bundle_text(name, description, chars))


def write_bundles(folder):
    """Write 200 skills, the same in every run."""
    for subject in SUBJECTS:
        for action in ACTIONS:
            name = f"{subject}-{action}"
            about = f"How we {action} a {subject}: what to check first, the steps in their order, and who is told."
            write_bundle(folder, name, about, LONG_CHARS if name == LONG_NAME else USUAL_CHARS)


@dataclasses.dataclass
class Content:
    """What is served: a tree, bundles, or both."""
    tree: pathlib.Path = None
    bundles: pathlib.Path = None

    @property
    def flags(self):
        """The server's flags for it."""
        return [word for folder in (self.tree, self.bundles) if folder for word in ("--dir", str(folder))]

    def add_to_tree(self, animal):
        """Write a new skill into the tree; returns its path."""
        (self.tree / f"{animal}.md").write_text(
            f"---\nkeywords: [{animal}]\ndescription: Care of a {animal}.\n---\n\n# Care of a {animal}\n\n{CARE}\n")
        return animal

    def add_to_bundles(self, animal):
        """Write a new skill among the bundles; returns its name."""
        write_bundle(self.bundles, f"{animal}-care", f"Care of a {animal}, {CARE}.")
        return f"{animal}-care"


def make(kind, folder):
    """Make a content of this kind below a folder, as it was before any edit."""
    shutil.rmtree(folder, ignore_errors=True)
    content = Content()
    if kind in ("tree", "both"):
        content.tree = folder / "tree"
        shutil.copytree(EXAMPLE, content.tree)
    if kind in ("bundles", "both"):
        content.bundles = folder / "bundles"
        write_bundles(content.bundles)
    return content
