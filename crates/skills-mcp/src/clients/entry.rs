//! Where a client's configuration names MCP servers, and in which form: the text that a person pastes there.
//!
//! Not here: reading and writing such a file (`connect`).

use serde_json::{Value, json};

use super::Fact;

/// The name that an entry gives the server.
pub const SERVER_NAME: &str = "skills";
/// The command of an entry.
const SERVER_COMMAND: &str = "skills-mcp";

/// The files in which a client looks for MCP servers. Where there are several, the first that exists counts, else the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEntry {
    /// Paths below the project.
    pub project: &'static [&'static str],
    /// Files of the user.
    pub user: &'static [UserFile],
    /// How they are written.
    pub format: EntryFormat,
    /// What an entry has beside command, arguments and variables.
    pub shape: EntryShape,
    /// How a variable of the client's environment reaches a server.
    pub forwarding: Fact<Forwarding>,
}

impl ServerEntry {
    /// The file that documents name: the project's, else the user's on each system, with backticks between them.
    pub fn file(&self) -> String {
        if let Some(file) = self.project.first() {
            return shown_place(file);
        }
        let user = self.user.iter().take(1);
        let user = user.flat_map(|file| [file.linux, file.macos, file.windows]).map(shown_place);
        let mut places: Vec<String> = user.collect();
        places.dedup();
        places.join("`, `")
    }
}

/// A folder of a client that a variable of the environment may move.
#[derive(Debug)]
pub struct FolderVariable {
    /// The variable's name.
    pub name: &'static str,
    /// The folder without it.
    pub default: &'static str,
}

/// The variables of such folders. `CONFIG` and `CLAUDE_JSON` are names of our own for what has a rule of its own.
pub const FOLDER_VARIABLES: &[FolderVariable] = &[
    FolderVariable { name: "CONFIG", default: "~/.config" },
    FolderVariable { name: "CLAUDE_JSON", default: "~/.claude.json" },
    FolderVariable { name: "CODEX_HOME", default: "~/.codex" },
    FolderVariable { name: "COPILOT_HOME", default: "~/.copilot" },
    FolderVariable { name: "CONTINUE_GLOBAL_DIR", default: "~/.continue" },
    FolderVariable { name: "CLINE_DIR", default: "~/.cline" },
    FolderVariable { name: "APPDATA", default: "~/AppData/Roaming" },
];

/// A path of the table as people know it, without variables.
pub fn shown_place(place: &str) -> String {
    let moved = FOLDER_VARIABLES.iter().find_map(|variable| {
        let rest = place.strip_prefix('$')?.strip_prefix(variable.name)?;
        Some(format!("{}{rest}", variable.default))
    });
    moved.unwrap_or_else(|| place.to_owned())
}

/// A file of the user on each system. A path begins with `~`, with the variable of a folder (`$CODEX_HOME`), or with
/// `$CONFIG`, which is `XDG_CONFIG_HOME` or `~/.config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserFile {
    /// On Linux, and where nothing else is known.
    pub linux: &'static str,
    /// On macOS.
    pub macos: &'static str,
    /// On Windows.
    pub windows: &'static str,
}

impl UserFile {
    /// The same path on every system.
    pub const fn everywhere(path: &'static str) -> Self {
        Self { linux: path, macos: path, windows: path }
    }

    /// The path on this system.
    pub fn here(&self) -> &'static str {
        match std::env::consts::OS {
            "macos" => self.macos,
            "windows" => self.windows,
            _ => self.linux,
        }
    }
}

/// What an entry has beside command, arguments and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryShape {
    /// Nothing.
    Plain,
    /// `type: stdio`.
    Typed,
    /// `type: local`, and which tools: all.
    Copilot,
}

/// How a variable of the client's environment reaches a server whose entry does not hold its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// The client passes its whole environment on.
    All,
    /// The same, but for this one.
    AllBut(&'static str),
    /// Only the variables that the entry names in a list of this name.
    Listed(&'static str),
    /// Only the variables that the entry sets to a reference: this text, with the variable's name in the place of `NAME`.
    Reference(&'static str),
    /// Not at all.
    Never,
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
    /// YAML, a list under `mcpServers`: Continue.
    NamedList,
}

impl EntryFormat {
    /// Every format, the most common first.
    pub const ALL: [Self; 7] = [
        Self::McpServers,
        Self::Servers,
        Self::Toml,
        Self::Mcp,
        Self::ContextServers,
        Self::Extensions,
        Self::NamedList,
    ];

    /// The language of a code block that shows it.
    pub fn language(self) -> &'static str {
        match self {
            Self::McpServers | Self::Servers | Self::ContextServers | Self::Mcp => "json",
            Self::Toml => "toml",
            Self::Extensions | Self::NamedList => "yaml",
        }
    }

    /// The key under which a file holds its servers.
    pub fn container(self) -> &'static str {
        match self {
            Self::McpServers | Self::NamedList => "mcpServers",
            Self::Servers => "servers",
            Self::ContextServers => "context_servers",
            Self::Mcp => "mcp",
            Self::Toml => "mcp_servers",
            Self::Extensions => "extensions",
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
            Self::NamedList => format!(
                "mcpServers:\n  - name: {SERVER_NAME}\n    command: {SERVER_COMMAND}\n    env:\n      {variable}: {}\n",
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
                    let all = root.get(format.container()).unwrap();
                    let skills = all.get("skills").or_else(|| all.items()?.first()).unwrap();
                    let env = skills.get("envs").or_else(|| skills.get("env")).unwrap();
                    let command = skills.get("cmd").or_else(|| skills.get("command")).unwrap();
                    let value = env.get("SKILLS_REPO").unwrap().text().unwrap();
                    format!("{} {value:?}", command.text().unwrap())
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
