//! Clients of the Skills extension that others wrote: MCP Inspector, which parses every file again with npm's `yaml` and compares it
//! with its entry, and `FastMCP`.

use std::process::Command;

use serde_json::{Value, json};
use skills_testkit::Home;

use crate::tools::{INSPECTOR, PYTHON};

/// Bundles whose values readers of YAML are known to read differently, bytes of every kind, and tree skills.
fn home() -> Home {
    let home = Home::new();
    let front = "name: values\ndescription: \"Values: all kinds\"\nlicense: MIT\nmetadata:\n  version: '1.0'\nplain: yes\noctal: 014\nnew-octal: 0o14\nhex: 0x1F\nfloat: 1.10\nlarge: 12345678901234567890\nexponent: 1e3\nbase-60: 1:30\ndate: 2026-01-02\nempty:\nlist: [on, off, ~, 'null', .5, +5]\nfolded: >-\n  one\n  two\nkept: |+\n  text\n\nanchored: &a {x: 1}\nagain: *a\n<<: {y: 2}\n\"quoted key\": true";
    home.write("team/values/SKILL.md", format!("---\n{front}\n---\n\nBody\n"));
    home.write(
        "team/bytes/SKILL.md",
        "\u{feff}---\r\nname: bytes\r\ndescription: Bytes\r\n---\r\n\r\nno end",
    );
    home.write("team/bytes/latin1.txt", b"caf\xe9");
    home.write("team/bytes/deep/a b#%.txt", "signs");
    home.write("team/bytes/empty", "");
    home.write(
        "team/odd/SKILL.md",
        "---\nname: odd\ndescription: d\nallowed-tools: [Read]\n---\nx\n",
    );
    home.write(
        "team/other/bytes/SKILL.md",
        "---\nname: bytes\ndescription: The same name\n---\nx\n",
    );
    home.write("team/_root.md", "---\nkeywords: [rules]\ndescription: \"Rules: \\\"all\\\" of 'them' # here\"\n---\nBe kind.\n");
    home.write("team/ui/été.md", "---\nkeywords: [a]\ndescription: Summer\n---\n--- \nx\n");
    home
}

const SKILLS: usize = 5;
const FILES: usize = 8;

fn environment(home: &Home) -> [(&'static str, String); 2] {
    [
        ("HOME", home.path().display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ]
}

// EXT-1, EXT-3
#[test]
fn the_inspector_verifies_every_digest_in_both_eras() {
    let home = home();
    for era in ["modern", "legacy"] {
        let output = Command::new("node")
            .arg("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
            .args(["--cli", env!("CARGO_BIN_EXE_skills-mcp"), "--dir"])
            .arg(home.path().join("team"))
            .args([
                "--protocol-era",
                era,
                "--method",
                "skills/list",
                "--verify",
                "--require-digests",
            ])
            .envs(environment(&home))
            .current_dir(&*INSPECTOR)
            .output()
            .unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{era}: {said}");
        let verified =
            format!("Verified {SKILLS} skills and {FILES} files: no conformance errors.");
        assert!(said.contains(&verified), "{era}: {said}");
    }
}

// EXT-1
#[test]
fn fastmcp_reads_every_skill_and_its_bytes() {
    let home = home();
    let given = json!({
        "command": env!("CARGO_BIN_EXE_skills-mcp"),
        "args": ["--dir", home.path().join("team")],
        "env": environment(&home).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    });
    let output = Command::new(PYTHON.join("env/bin/python"))
        .arg("skills.py")
        .arg(given.to_string())
        .current_dir(&*PYTHON)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        seen.get("names"),
        Some(&json!(["bytes", "bytes", "root", "ui-t", "values"])),
        "{seen}"
    );
    assert_eq!(
        (seen.get("files"), seen.get("wrong")),
        (Some(&json!(FILES)), Some(&json!(0))),
        "{seen}"
    );
}
