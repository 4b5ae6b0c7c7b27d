//! The official SDKs as clients: the steps of `scripts/clients`, with what the SDKs make of a server.

use std::process::Command;

use serde_json::{Value, json};
use skills_testkit::Home;

use crate::tools::{NODE, PYTHON};

fn bundle(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

/// Finds and loads a skill through an SDK that calls itself so, before and after an edit.
fn steps(runner: &mut Command, client: &str) -> Value {
    let home = Home::new();
    for (name, about, body) in [
        ("vault", "Rotate the TLS certificates of the gateway", "Ask vault first."),
        ("heron", "Draw a heron in ink", "Begin with the beak."),
        ("notes", "Write release notes", "Group by area."),
    ] {
        home.write(&format!("skills/{name}/SKILL.md"), bundle(name, about, body));
    }
    let given = json!({
        "command": env!("CARGO_BIN_EXE_skills-mcp"),
        "args": ["--dir", home.skills()],
        "env": {"HOME": home.path(), "PATH": "/usr/bin:/bin"},
        "name": client,
        "folder": home.skills(),
    });
    let output = runner.arg(given.to_string()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|wrong| panic!("{wrong}: {error}"))
}

fn check(seen: &Value, load: &str) {
    let text = |pointer: &str| seen.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let tools = seen.get("tools").unwrap().to_string();
    assert!(tools.contains("get_skill") && tools.contains(&format!("\"{load}\"")), "{tools}");
    let instructions = text("/instructions");
    assert!(
        instructions.contains("call get_skill") && !instructions.contains("skills_search"),
        "{instructions}"
    );
    assert_eq!((text("/before/found"), text("/after/found")), ("vault".into(), "zeppelin".into()));
    assert!(text("/after/by_path").contains("Start at the nose."), "{seen}");
    assert!(text("/before/loaded").contains("Ask vault first."), "{seen}");
    assert!(text("/after/loaded").contains("Start at the nose."), "{seen}");
}

#[test]
fn the_typescript_sdk_finds_and_loads_by_what_the_texts_say() {
    for (client, load) in [("claude-code", "load_skill"), ("codex-mcp-client", "skill")] {
        check(&steps(Command::new("node").arg("sdk.mjs").current_dir(&*NODE), client), load);
    }
}

#[test]
fn the_python_sdk_finds_and_loads_by_what_the_texts_say() {
    for (client, load) in [("claude-code", "load_skill"), ("codex-mcp-client", "skill")] {
        let python = PYTHON.join("env/bin/python");
        check(&steps(Command::new(python).arg("sdk.py").current_dir(&*PYTHON), client), load);
    }
}
