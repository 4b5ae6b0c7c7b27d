//! What `check` and `schema` print, read by programs of others: a `JUnit` parser, models of SARIF, a JSON Schema validator.

use std::process::Command;

use serde_json::{Value, json};
use skills_testkit::Home;

use crate::tools::PYTHON;

const SKILLS: &str = "\
//- odd.md
---
keywords: [one, two, three]
description: A skill with fields of the wrong kind
inherit: maybe
priority: high
---
Text
//- few.md
---
keywords: [four]
description: A skill with one keyword
---
Text
//- pdf/SKILL.md
---
name: pdf
description: All about reading PDF files and their forms
metadata: {version: 1.0}
---
Text
";

// CHECK-3, CHECK-8
#[test]
fn programs_of_others_read_reports_and_schemas() {
    let home = Home::with(SKILLS);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills-content");
    let given = json!({
        "command": env!("CARGO_BIN_EXE_skills-mcp"),
        "folder": home.path(),
        "example": example,
        // A folder of real skills: what the schema refuses has a finding.
        "corpus": std::env::var("SKILLS_CORPUS").ok(),
    });
    let output = Command::new(PYTHON.join("env/bin/python"))
        .arg(PYTHON.join("check.py"))
        .arg(given.to_string())
        .env("HOME", home.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let junit = json!({"tests": 3, "failures": 2, "failed": ["skills/few.md", "skills/odd.md"]});
    assert_eq!(read["junit"], junit, "{read}");
    let sarif = json!([
        "note field-form skills/pdf/SKILL.md",
        "warning field-invalid skills/odd.md",
        "warning field-invalid skills/odd.md",
        "warning keywords-few skills/few.md",
    ]);
    assert_eq!(read["sarif"], sarif, "{read}");
    assert_eq!((&read["example"], &read["config"]), (&json!({}), &json!([])), "{read}");
    assert_eq!(read["examples"], json!(10));
    assert_eq!(read["mistakes"], json!(["inherit", "priority"]));
    assert_eq!(read["bundle"], json!(["metadata"]));
    assert_eq!(read["routing"], json!([true, true, false, false]));
    if let Some(corpus) = read["corpus"].as_object() {
        println!("{} bundles, {} refused by the schema", corpus["read"], corpus["refused"]);
        assert_eq!(corpus["unexplained"], json!([]), "{read}");
    }
}
