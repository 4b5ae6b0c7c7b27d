//! Where a client's configuration names MCP servers, and in which form: the text that a person pastes there.
//!
//! Not here: writing such a file, which is the person's own.

use serde_json::{Value, json};

/// The name that an entry gives the server.
const SERVER_NAME: &str = "skills";
/// The command of an entry.
const SERVER_COMMAND: &str = "skills-mcp";

/// The file in which a client looks for MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its path below the project, or below the home folder where it starts with `~`.
    pub file: &'static str,
    /// How it is written.
    pub format: EntryFormat,
}

/// How a client's file names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFormat {
    /// JSON, under `mcpServers`: most clients.
    McpServers,
    /// JSON, under `servers`: VS Code.
    Servers,
    /// JSON, under `context_servers`: Zed.
    ContextServers,
    /// JSON, under `mcp`, with the command as a list: `OpenCode`.
    Mcp,
    /// TOML, a table `mcp_servers.NAME`: Codex.
    Toml,
    /// YAML, under `extensions`: Goose.
    Extensions,
}

impl EntryFormat {
    /// Every format, the most common first.
    pub const ALL: [Self; 6] = [
        Self::McpServers,
        Self::Servers,
        Self::Toml,
        Self::Mcp,
        Self::ContextServers,
        Self::Extensions,
    ];

    /// The language of a code block that shows it.
    pub fn language(self) -> &'static str {
        match self {
            Self::McpServers | Self::Servers | Self::ContextServers | Self::Mcp => "json",
            Self::Toml => "toml",
            Self::Extensions => "yaml",
        }
    }

    /// An entry for this server, with one variable that names its source; it ends with a line break.
    pub fn entry(self, variable: &str, value: &str) -> String {
        let env = json!({variable: value});
        let server = json!({"command": SERVER_COMMAND, "env": env});
        match self {
            Self::McpServers => pretty(&json!({"mcpServers": {SERVER_NAME: server}})),
            Self::Servers => {
                let server = json!({"type": "stdio", "command": SERVER_COMMAND, "env": env});
                pretty(&json!({"servers": {SERVER_NAME: server}}))
            }
            Self::ContextServers => pretty(&json!({"context_servers": {SERVER_NAME: server}})),
            Self::Mcp => {
                let server =
                    json!({"type": "local", "command": [SERVER_COMMAND], "environment": env});
                pretty(&json!({"mcp": {SERVER_NAME: server}}))
            }
            // A JSON string is a string of TOML and YAML too.
            Self::Toml => format!(
                "[mcp_servers.{SERVER_NAME}]\ncommand = {}\nenv = {{ {variable} = {} }}\n",
                json!(SERVER_COMMAND),
                json!(value)
            ),
            Self::Extensions => format!(
                "extensions:\n  {SERVER_NAME}:\n    name: {SERVER_NAME}\n    type: stdio\n    enabled: true\n    cmd: {SERVER_COMMAND}\n    \
                 args: []\n    envs:\n      {variable}: {}\n",
                json!(value)
            ),
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use skills_core::yaml;

    use super::*;
    use crate::clients::CLIENTS;

    #[test]
    fn an_entry_has_the_command_and_the_variable_in_every_format() {
        for format in EntryFormat::ALL {
            let text = format.entry("SKILLS_REPO", "https://example.org/a\"b.git");
            assert!(text.ends_with('\n'), "{text}");
            let value = match format.language() {
                "json" => serde_json::from_str::<Value>(&text).unwrap().to_string(),
                "yaml" => {
                    let root = yaml::parse(&text).unwrap();
                    let skills = root.get("extensions").and_then(|all| all.get("skills")).unwrap();
                    let value = skills.get("envs").and_then(|env| env.get("SKILLS_REPO")).unwrap();
                    format!(
                        "{} {:?}",
                        skills.get("cmd").unwrap().text().unwrap(),
                        value.text().unwrap()
                    )
                }
                _ => text.clone(),
            };
            assert!(value.contains("skills-mcp") && value.contains(r#"a\"b.git"#), "{value}");
            assert!(
                CLIENTS
                    .iter()
                    .filter_map(|client| client.entry)
                    .any(|entry| entry.format == format),
                "{format:?} is of no client"
            );
        }
    }
}
