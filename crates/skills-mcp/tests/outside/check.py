"""Reads what `skills-mcp check` and `schema` print with programs that others wrote; prints what they understood as JSON."""

import json
import re
import subprocess
import sys
from pathlib import Path

import junitparser
import yaml
from jsonschema import Draft202012Validator
from sarif_pydantic import Sarif

given = json.loads(sys.argv[1])


class Core(yaml.SafeLoader):
    """YAML 1.2 has no dates: they are texts."""


Core.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def run(*arguments):
    return subprocess.run([given["command"], *arguments], capture_output=True, text=True, cwd=given["folder"]).stdout


def front_matter(file):
    found = re.match(r"---\n(.*?)\n---\n", file.read_text(encoding="utf-8"), re.S)
    return yaml.load(found.group(1), Core) if found else None


def wrong(schema, layout, file):
    return wrong_fields(schema, layout, front_matter(file))


def wrong_fields(schema, layout, fields):
    validator = Draft202012Validator({"$ref": f"#/$defs/{layout}", "$defs": schema["$defs"]})
    return sorted({str(error.absolute_path[0]) if error.absolute_path else error.validator
                   for error in validator.iter_errors(fields)})


# What `check` says of a file whose front matter the schema refuses.
CODES = {"field-form", "field-invalid", "field-missing", "description-long", "name-invalid", "name-unconventional",
         "allowed-tools-form", "yaml-repaired"}


def compared(schema, corpus):
    """The bundles of a folder whose front matter the schema refuses, and those of them of which `check` says nothing."""
    codes = {}
    for finding in json.loads(run("check", str(corpus), "--format", "json"))["findings"]:
        codes.setdefault((Path(given["folder"]) / finding["file"]).resolve(), set()).add(finding["code"])
    read, refused, unexplained = 0, 0, []
    for file in corpus.resolve().rglob("SKILL.md"):
        try:
            fields = front_matter(file)
        except (yaml.YAMLError, UnicodeDecodeError):
            continue
        if fields is None:
            continue
        read += 1
        if wrong_fields(schema, "bundle", fields):
            refused += 1
            if not codes.get(file, set()) & CODES:
                unexplained.append(str(file))
    return {"read": read, "refused": refused, "unexplained": unexplained}


schemas = {name: json.loads(run("schema", name)) for name in ("front-matter", "config", "routing")}
for schema in schemas.values():
    Draft202012Validator.check_schema(schema)

example = Path(given["example"])
skills = [file for file in sorted(example.glob("skills/**/*.md")) if front_matter(file)]
routing = Draft202012Validator(schemas["routing"])
tests = [{"request": "sign in", "expect": "ui/auth", "within": 3}, {"request": "knit", "expect": "none"}]
(Path(given["folder"]) / "report.xml").write_text(run("check", "skills", "--strict", "--format", "junit"), encoding="utf-8")
junit = junitparser.JUnitXml.fromfile(str(Path(given["folder"]) / "report.xml"))
sarif = Sarif.model_validate(json.loads(run("check", "skills", "--format", "sarif")))

print(json.dumps({
    "junit": {
        "tests": junit.tests,
        "failures": junit.failures,
        "failed": sorted(case.name for suite in junit for case in suite if not case.is_passed),
    },
    "sarif": sorted(
        f"{result.level.value if hasattr(result.level, 'value') else result.level} {result.rule_id} "
        f"{result.locations[0].physical_location.artifact_location.uri}"
        for result in sarif.runs[0].results
    ),
    "example": {file.name: wrong(schemas["front-matter"], "tree", file) for file in skills
                if wrong(schemas["front-matter"], "tree", file)},
    "examples": len(skills),
    "config": [error.message for error in Draft202012Validator(schemas["config"]).iter_errors(
        yaml.safe_load((example / "config.yaml").read_text(encoding="utf-8")))],
    "mistakes": wrong(schemas["front-matter"], "tree", Path(given["folder"]) / "skills/odd.md"),
    "bundle": wrong(schemas["front-matter"], "bundle", Path(given["folder"]) / "skills/pdf/SKILL.md"),
    "routing": [routing.is_valid(tests), routing.is_valid({"tests": tests}), routing.is_valid([{"request": "x"}]),
                routing.is_valid([{"request": "x", "expekt": "y"}])],
    "corpus": compared(schemas["front-matter"], Path(given["corpus"])) if given.get("corpus") else None,
}))
