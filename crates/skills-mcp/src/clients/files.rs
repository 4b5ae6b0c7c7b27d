//! The files in which each client of the table looks for MCP servers.
//!
//! `scripts/clients/connect` tries those of clients that it can run; the others follow their documentation.

use super::{
    EntryFormat, EntryShape, Forwarding, ServerEntry, UserFile,
    table::{assumed, documented, measured},
};

pub(super) const CLAUDE_CODE_ENTRY: ServerEntry = ServerEntry {
    shape: EntryShape::Typed,
    forwarding: measured(Forwarding::All),
    ..json_entry(&[".mcp.json"], &[UserFile::everywhere("$CLAUDE_JSON")])
};

pub(super) const CODEX_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::Toml,
    forwarding: documented(Forwarding::Listed("env_vars")),
    ..json_entry(&[".codex/config.toml"], &[UserFile::everywhere("$CODEX_HOME/config.toml")])
};

pub(super) const COPILOT_ENTRY: ServerEntry = ServerEntry {
    shape: EntryShape::Copilot,
    forwarding: documented(Forwarding::Reference("${NAME}")),
    ..json_entry(
        &[".mcp.json", ".github/mcp.json"],
        &[UserFile::everywhere("$COPILOT_HOME/mcp-config.json")],
    )
};

pub(super) const VSCODE_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::Servers,
    shape: EntryShape::Typed,
    forwarding: documented(Forwarding::Reference("${env:NAME}")),
    ..json_entry(&[".vscode/mcp.json"], &[VSCODE_FILE])
};

pub(super) const CURSOR_ENTRY: ServerEntry = ServerEntry {
    forwarding: documented(Forwarding::Reference("${env:NAME}")),
    ..json_entry(&[".cursor/mcp.json"], &[UserFile::everywhere("~/.cursor/mcp.json")])
};

pub(super) const CLAUDE_DESKTOP_ENTRY: ServerEntry = json_entry(&[], &[CLAUDE_DESKTOP_FILE]);

pub(super) const GEMINI_ENTRY: ServerEntry = ServerEntry {
    forwarding: measured(Forwarding::Reference("$NAME")),
    ..json_entry(&[".gemini/settings.json"], &[UserFile::everywhere("~/.gemini/settings.json")])
};

pub(super) const OPENCODE_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::Mcp,
    forwarding: measured(Forwarding::All),
    ..json_entry(&["opencode.json", "opencode.jsonc"], OPENCODE_FILES)
};

pub(super) const GOOSE_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::Extensions,
    forwarding: documented(Forwarding::All),
    ..json_entry(&[".goose/config.yaml"], &[GOOSE_FILE])
};

pub(super) const CLINE_ENTRY: ServerEntry = ServerEntry {
    forwarding: measured(Forwarding::All),
    ..json_entry(&[], &[UserFile::everywhere(CLINE_SHARED_FILE), CLINE_EDITOR_FILE])
};

pub(super) const ZED_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::ContextServers,
    ..json_entry(&[".zed/settings.json"], &[ZED_FILE])
};

pub(super) const DROID_ENTRY: ServerEntry = ServerEntry {
    shape: EntryShape::Typed,
    forwarding: measured(Forwarding::All),
    ..json_entry(&[".factory/mcp.json"], &[UserFile::everywhere("~/.factory/mcp.json")])
};

pub(super) const WINDSURF_ENTRY: ServerEntry =
    json_entry(&[], &[UserFile::everywhere("~/.codeium/windsurf/mcp_config.json")]);

pub(super) const KIRO_ENTRY: ServerEntry =
    json_entry(&[".kiro/settings/mcp.json"], &[UserFile::everywhere("~/.kiro/settings/mcp.json")]);

pub(super) const CONTINUE_ENTRY: ServerEntry = ServerEntry {
    format: EntryFormat::NamedList,
    ..json_entry(
        &[".continue/mcpServers/skills.yaml"],
        &[UserFile::everywhere("$CONTINUE_GLOBAL_DIR/config.yaml")],
    )
};

pub(super) const QWEN_ENTRY: ServerEntry = ServerEntry {
    forwarding: measured(Forwarding::All),
    ..json_entry(&[".qwen/settings.json"], &[UserFile::everywhere("~/.qwen/settings.json")])
};

const VSCODE_FILE: UserFile = UserFile {
    linux: "$CONFIG/Code/User/mcp.json",
    macos: "~/Library/Application Support/Code/User/mcp.json",
    windows: "$APPDATA/Code/User/mcp.json",
};
const CLAUDE_DESKTOP_FILE: UserFile = UserFile {
    linux: "$CONFIG/Claude/claude_desktop_config.json",
    macos: "~/Library/Application Support/Claude/claude_desktop_config.json",
    windows: "$APPDATA/Claude/claude_desktop_config.json",
};
const OPENCODE_FILES: &[UserFile] = &[
    UserFile::everywhere("$CONFIG/opencode/opencode.json"),
    UserFile::everywhere("$CONFIG/opencode/opencode.jsonc"),
];
const GOOSE_FILE: UserFile = UserFile {
    linux: "$CONFIG/goose/config.yaml",
    macos: "$CONFIG/goose/config.yaml",
    windows: "$APPDATA/Block/goose/config/config.yaml",
};
const ZED_FILE: UserFile = UserFile {
    linux: "$CONFIG/zed/settings.json",
    macos: "$CONFIG/zed/settings.json",
    windows: "$APPDATA/Zed/settings.json",
};
/// What Cline's command and its extensions of editors share.
const CLINE_SHARED_FILE: &str = "$CLINE_DIR/data/settings/cline_mcp_settings.json";
/// What older versions of the extension have in VS Code.
const CLINE_EDITOR_FILE: UserFile = UserFile {
    linux: "$CONFIG/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    macos: "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    windows: "$APPDATA/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
};

/// An entry in JSON under `mcpServers`, of a client of which nothing more is known.
const fn json_entry(project: &'static [&'static str], user: &'static [UserFile]) -> ServerEntry {
    ServerEntry {
        project,
        user,
        format: EntryFormat::McpServers,
        shape: EntryShape::Plain,
        forwarding: assumed(Forwarding::Never),
    }
}
