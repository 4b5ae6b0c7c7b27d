//! The plugins in `integrations/`: made from the table of clients, so that version, event and command are what the program knows.

use std::fs;

use serde_json::{Value, json};
use skills_mcp::clients::{HookFormat, KnownClient};

use crate::house::crates;

const ABOUT: &str = "Serves skills over MCP and names the skill that fits a prompt";

/// The prompt hook of a client. Where its time limit is given in milliseconds, that is set; other clients that take the same
/// file disagree on the unit, and the hook has a limit of its own.
fn hooks(client: &str, timeout: Option<u64>) -> Value {
    let Some(HookFormat::Event(event)) = KnownClient::of_id(client).unwrap().hook else {
        panic!("{client} has no hook of a file");
    };
    let mut hook = json!({"type": "command", "command": format!("skills-mcp --with-own-skills hook {client} || true")});
    if let Some(timeout) = timeout {
        hook.as_object_mut().unwrap().insert("timeout".to_owned(), json!(timeout));
    }
    json!({"hooks": {event: [{"hooks": [hook]}]}})
}

/// Every file that is made, and what it says.
fn files() -> Vec<(&'static str, Value)> {
    let version = env!("CARGO_PKG_VERSION");
    let license = env!("CARGO_PKG_LICENSE");
    let servers = json!({"skills": {"command": "skills-mcp", "args": ["--with-own-skills"]}});
    vec![
        (
            "claude-code/.claude-plugin/marketplace.json",
            json!({
                "name": "skills-mcp",
                "owner": {"name": "skills-mcp"},
                "plugins": [{"name": "skills", "source": "./plugins/skills", "description": ABOUT}],
            }),
        ),
        (
            "claude-code/plugins/skills/.claude-plugin/plugin.json",
            json!({"name": "skills", "version": version, "description": ABOUT, "license": license, "mcpServers": servers}),
        ),
        ("claude-code/plugins/skills/mcp.json", json!({"mcpServers": servers})),
        ("claude-code/plugins/skills/hooks/hooks.json", hooks("claude-code", None)),
        (
            "gemini/gemini-extension.json",
            json!({"name": "skills", "version": version, "description": ABOUT, "mcpServers": servers}),
        ),
        ("gemini/hooks/hooks.json", hooks("gemini", Some(5_000))),
        (
            "opencode/package.json",
            json!({
                "name": "skills", "version": version, "description": ABOUT, "license": license, "private": true,
                "type": "module", "main": "./index.js", "exports": {".": "./index.js", "./server": "./index.js"},
            }),
        ),
    ]
}

#[test]
fn the_plugins_are_what_the_table_says() {
    let folder = crates().join("../integrations");
    for (file, expected) in files() {
        let path = folder.join(file);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, serde_json::to_string_pretty(&expected).unwrap() + "\n").unwrap();
        }
        let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(written, expected, "{file}: run UPDATE_DOCS=1 ./scripts/test");
    }
    let script = fs::read_to_string(folder.join("opencode/index.js")).unwrap();
    assert!(script.contains("\"hook\", \"opencode\"") && script.contains("\"--with-own-skills\""));
    assert_eq!(KnownClient::of_id("opencode").unwrap().hook, Some(HookFormat::Context));
}
