//! The table of clients.
//!
//! A row lists only the directories that the client is known to load: a directory too many hides skills, one too few merely
//! shows them twice. Every value of a client's handling says how it is known; `scripts/clients` measures again. Not here: the files of
//! clients (`files`).

use super::{
    ClientSigns, Fact, FactSource, Handling, HookFormat, KnownClient, OwnListing, StructuredUse,
    ToolSight, files,
};

const AGENTS: &str = ".agents/skills";
const CLAUDE: &str = ".claude/skills";
const CODEX: &str = ".codex/skills";
const GOOSE_PROJECT: &[&str] = &[AGENTS, ".goose/skills", CLAUDE];
const GOOSE_USER: &[&str] = &[AGENTS, CLAUDE, ".config/goose/skills", ".config/agents/skills"];
const OPENCODE_PROJECT: &[&str] = &[".opencode/skills", ".opencode/skill", CLAUDE, AGENTS];
const OPENCODE_USER: &[&str] = &[".config/opencode/skills", ".opencode/skills", CLAUDE, AGENTS];
const COPILOT_PROJECT: &[&str] = &[".github/skills", CLAUDE, AGENTS];
const COPILOT_USER: &[&str] = &[".copilot/skills", AGENTS];
const VSCODE_USER: &[&str] = &[".copilot/skills", CLAUDE, AGENTS];
const DROID_PROJECT: &[&str] = &[AGENTS, ".agent/skills", ".factory/skills"];
const CURSOR_PROJECT: &[&str] = &[AGENTS, ".cursor/skills", CLAUDE, CODEX];
const CURSOR_USER: &[&str] = &[".cursor/skills", AGENTS, CLAUDE, CODEX];
const WINDSURF_USER: &[&str] = &[".codeium/windsurf/skills", AGENTS];
const CODEX_NATIVE: &[&str] = &[AGENTS, CODEX];
const QWEN_NATIVE: &[&str] = &[".qwen/skills", AGENTS];

/// Every client there is.
pub const CLIENTS: &[KnownClient] = &[
    KnownClient {
        entry: Some(files::CLAUDE_CODE_ENTRY),
        signs: signs(&["claude"], &["~/.claude"], MCP_LIST),
        reported: &["claude-code"],
        claude_plugins: true,
        handling: Some(Handling {
            first_request: measured(ToolSight::Name),
            instructions: measured(4_096),
            description: measured(4_096),
            answer: measured(46_000),
            structured: measured(StructuredUse::Replaces),
            own_skill_tool: measured(true),
            anthropic_meta: measured(true),
            ..CAREFUL
        }),
        hook: PROMPT_SUBMIT,
        own_listing: Some(documented(OwnListing::Cut(1_536))),
        ..row("claude-code", "Claude Code", &[CLAUDE], &[CLAUDE])
    },
    KnownClient {
        entry: Some(files::CODEX_ENTRY),
        signs: signs(&["codex"], &[], MCP_LIST),
        reported: &["codex-mcp-client"],
        handling: Some(Handling {
            // In code mode; else 48,000.
            answer: measured(40_000),
            ..CODEX_HANDLING
        }),
        hook: PROMPT_SUBMIT,
        own_listing: Some(documented(OwnListing::Refused(1_024))),
        ..row("codex", "Codex", CODEX_NATIVE, CODEX_NATIVE)
    },
    KnownClient {
        // It calls itself as in its other mode, so only `--client` chooses this row.
        handling: Some(Handling {
            first_request: measured(ToolSight::Nothing),
            instructions: measured(0),
            description: measured(20_000),
            answer: measured(40_000),
            structured: measured(StructuredUse::Beside),
            ..CODEX_HANDLING
        }),
        hook: PROMPT_SUBMIT,
        ..row("codex-code-mode", "Codex in code mode", CODEX_NATIVE, CODEX_NATIVE)
    },
    KnownClient {
        entry: Some(files::COPILOT_ENTRY),
        signs: signs(&["copilot"], &[], MCP_LIST),
        reported: &["copilot-cli", "github-copilot-developer"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            instructions: measured(0),
            description: measured(UNCUT_DESCRIPTION),
            answer: measured(20_000),
            rereads_tools: measured(false),
            structured: measured(StructuredUse::Beside),
            own_skill_tool: measured(true),
            ..CAREFUL
        }),
        hook: Some(HookFormat::Context),
        ..row("copilot", "GitHub Copilot CLI", COPILOT_PROJECT, COPILOT_USER)
    },
    KnownClient {
        entry: Some(files::VSCODE_ENTRY),
        signs: signs(&["code"], &[], &[]),
        reported: &["visual studio code", "visual studio code - insiders"],
        handling: Some(Handling {
            // With some models; with the others whole.
            first_request: documented(ToolSight::Name),
            instructions: documented(UNCUT_INSTRUCTIONS),
            description: documented(UNCUT_DESCRIPTION),
            answer: documented(8_192),
            rereads_tools: documented(true),
            structured: documented(StructuredUse::Replaces),
            own_skill_tool: documented(false),
            ..CAREFUL
        }),
        ..row("vscode", "VS Code", COPILOT_PROJECT, VSCODE_USER)
    },
    KnownClient {
        entry: Some(files::CURSOR_ENTRY),
        signs: signs(&["cursor", "cursor-agent"], &[], &[]),
        reported: &["cursor-vscode", "cursor"],
        handling: Some(Handling { first_request: documented(ToolSight::Name), ..CAREFUL }),
        ..row("cursor", "Cursor", CURSOR_PROJECT, CURSOR_USER)
    },
    KnownClient {
        entry: Some(files::CLAUDE_DESKTOP_ENTRY),
        reported: &["claude-ai"],
        handling: Some(Handling {
            first_request: documented(ToolSight::Name),
            instructions: documented(0),
            answer: documented(150_000),
            rereads_tools: documented(false),
            ..CAREFUL
        }),
        ..row("claude-desktop", "Claude Desktop", &[], &[])
    },
    KnownClient {
        entry: Some(files::GEMINI_ENTRY),
        signs: signs(&["gemini"], &[], MCP_LIST),
        reported: &["gemini-cli-mcp-client"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            instructions: measured(UNCUT_INSTRUCTIONS),
            description: measured(UNCUT_DESCRIPTION),
            answer: measured(40_000),
            rereads_tools: measured(true),
            structured: measured(StructuredUse::Dropped),
            ..CAREFUL
        }),
        hook: Some(HookFormat::Event("BeforeAgent")),
        ..row("gemini", "Gemini CLI", &[".gemini/skills", AGENTS], &[".gemini/skills", AGENTS])
    },
    KnownClient {
        entry: Some(files::OPENCODE_ENTRY),
        signs: signs(&["opencode"], &[], MCP_LIST),
        reported: &["opencode"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            instructions: measured(UNCUT_INSTRUCTIONS),
            description: measured(UNCUT_DESCRIPTION),
            answer: measured(50_000),
            rereads_tools: measured(true),
            structured: measured(StructuredUse::Dropped),
            own_skill_tool: measured(true),
            ..CAREFUL
        }),
        hook: Some(HookFormat::Context),
        ..row("opencode", "OpenCode", OPENCODE_PROJECT, OPENCODE_USER)
    },
    KnownClient {
        entry: Some(files::GOOSE_ENTRY),
        signs: signs(&["goose"], &[], &[]),
        reported: &["goose", "goose-desktop", "goose-cli"],
        handling: Some(Handling {
            first_request: documented(ToolSight::Whole),
            instructions: documented(UNCUT_INSTRUCTIONS),
            description: documented(UNCUT_DESCRIPTION),
            answer: documented(200_000),
            rereads_tools: documented(false),
            structured: documented(StructuredUse::Dropped),
            // Its own is called `load_skill`.
            own_skill_tool: documented(false),
            ..CAREFUL
        }),
        ..row("goose", "Goose", GOOSE_PROJECT, GOOSE_USER)
    },
    row("amp", "Amp", &[AGENTS], &[".config/agents/skills"]),
    KnownClient {
        entry: Some(files::CLINE_ENTRY),
        signs: signs(&["cline"], &["$CLINE_DIR"], &[]),
        reported: &["@cline/core", "cline"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            instructions: measured(0),
            description: measured(UNCUT_DESCRIPTION),
            answer: measured(8_000),
            rereads_tools: measured(false),
            structured: measured(StructuredUse::Beside),
            ..CAREFUL
        }),
        hook: Some(HookFormat::Context),
        ..row("cline", "Cline", &[AGENTS], &[AGENTS])
    },
    KnownClient {
        entry: Some(files::ZED_ENTRY),
        signs: signs(&["zed", "zeditor"], &[], &[]),
        reported: &["zed"],
        handling: Some(Handling {
            first_request: documented(ToolSight::Whole),
            instructions: documented(0),
            description: documented(UNCUT_DESCRIPTION),
            rereads_tools: documented(true),
            structured: documented(StructuredUse::Dropped),
            own_skill_tool: documented(true),
            ..CAREFUL
        }),
        ..row("zed", "Zed", &[AGENTS], &[AGENTS])
    },
    row("warp", "Warp", &[AGENTS], &[AGENTS]),
    KnownClient {
        entry: Some(files::DROID_ENTRY),
        signs: signs(&["droid"], &[], MCP_LIST),
        reported: &["factory-cli"],
        handling: Some(Handling {
            first_request: documented(ToolSight::Name),
            own_skill_tool: documented(true),
            ..CAREFUL
        }),
        hook: PROMPT_SUBMIT,
        ..row("droid", "Droid", DROID_PROJECT, &[".factory/skills", AGENTS])
    },
    KnownClient {
        reported: &["kilo"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            answer: measured(50_000),
            rereads_tools: measured(true),
            structured: measured(StructuredUse::Dropped),
            ..CAREFUL
        }),
        ..row("kilo", "Kilo Code", &[AGENTS], &[".kilo/skills"])
    },
    KnownClient {
        entry: Some(files::WINDSURF_ENTRY),
        signs: signs(&["windsurf"], &[], &[]),
        reported: &["windsurf-client", "windsurf"],
        handling: Some(Handling { first_request: assumed(ToolSight::Whole), ..CAREFUL }),
        ..row("windsurf", "Windsurf", &[".windsurf/skills", AGENTS], WINDSURF_USER)
    },
    KnownClient {
        entry: Some(files::KIRO_ENTRY),
        signs: signs(&["kiro"], &[], &[]),
        ..row("kiro", "Kiro", &[".kiro/skills"], &[".kiro/skills"])
    },
    row("roo", "Roo Code", &[".roo/skills"], &[".roo/skills"]),
    KnownClient {
        entry: Some(files::CONTINUE_ENTRY),
        signs: signs(&["cn"], &[], &[]),
        reported: &["continue-cli-client"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Whole),
            instructions: measured(0),
            description: measured(UNCUT_DESCRIPTION),
            answer: measured(64_000),
            rereads_tools: measured(false),
            structured: measured(StructuredUse::Dropped),
            ..CAREFUL
        }),
        ..row("continue", "Continue", &[".continue/skills", CLAUDE], &[".continue/skills"])
    },
    row("junie", "Junie", &[".junie/skills"], &[".junie/skills"]),
    KnownClient {
        entry: Some(files::QWEN_ENTRY),
        signs: signs(&["qwen"], &[], MCP_LIST),
        // The name that the user gave the server follows.
        reported: &["qwen-cli-mcp-client*"],
        handling: Some(Handling {
            first_request: measured(ToolSight::Name),
            instructions: measured(UNCUT_INSTRUCTIONS),
            description: measured(18_800),
            answer: measured(18_800),
            rereads_tools: measured(false),
            structured: measured(StructuredUse::Beside),
            own_skill_tool: measured(true),
            ..CAREFUL
        }),
        hook: PROMPT_SUBMIT,
        ..row("qwen", "Qwen Code", QWEN_NATIVE, QWEN_NATIVE)
    },
    row("trae", "Trae", &[".trae/skills"], &[".trae/skills"]),
    row("openhands", "OpenHands", &[".openhands/skills"], &[".openhands/skills"]),
    row("crush", "Crush", &[".crush/skills"], &[".config/crush/skills"]),
    row("grok", "Grok Build", &[".grok/skills"], &[".grok/skills"]),
    row("replit", "Replit", &[AGENTS], &[".config/agents/skills"]),
    row("kimi", "Kimi Code", &[AGENTS], &[AGENTS]),
    row("pi", "Pi", &[AGENTS], &[AGENTS]),
    row("dexto", "Dexto", &[AGENTS], &[AGENTS]),
    row("universal", "any other client of `.agents`", &[AGENTS], &[".config/agents/skills"]),
];

/// The arguments with which most clients on a terminal list their servers.
const MCP_LIST: &[&str] = &["mcp", "list"];

/// The hook of Claude Code, which others took over.
const PROMPT_SUBMIT: Option<HookFormat> = Some(HookFormat::Event("UserPromptSubmit"));

/// Longer instructions were not tried, and the server sends none.
const UNCUT_INSTRUCTIONS: usize = 4_096;
/// The longest description that was tried; the client does not cut it.
const UNCUT_DESCRIPTION: usize = 57_900;

/// Where nothing is known: what the strictest of the measured clients does, but for the length of answers.
const CAREFUL: Handling = Handling {
    first_request: assumed(ToolSight::Name),
    instructions: assumed(4_096),
    description: assumed(4_096),
    answer: assumed(20_000),
    rereads_tools: assumed(false),
    structured: assumed(StructuredUse::Replaces),
    own_skill_tool: assumed(false),
    anthropic_meta: assumed(false),
};

const CODEX_HANDLING: Handling = Handling {
    first_request: measured(ToolSight::Name),
    instructions: measured(4_096),
    description: measured(UNCUT_DESCRIPTION),
    rereads_tools: measured(false),
    structured: measured(StructuredUse::Replaces),
    own_skill_tool: measured(false),
    ..CAREFUL
};

pub(super) const fn measured<T: Copy>(value: T) -> Fact<T> {
    Fact { value, source: FactSource::Measured }
}

pub(super) const fn documented<T: Copy>(value: T) -> Fact<T> {
    Fact { value, source: FactSource::Documented }
}

pub(super) const fn assumed<T: Copy>(value: T) -> Fact<T> {
    Fact { value, source: FactSource::Assumed }
}

const fn row(
    id: &'static str,
    name: &'static str,
    project: &'static [&'static str],
    user: &'static [&'static str],
) -> KnownClient {
    KnownClient {
        id,
        name,
        reported: &[],
        project,
        user,
        claude_plugins: false,
        entry: None,
        signs: signs(&[], &[], &[]),
        handling: None,
        hook: None,
        own_listing: None,
    }
}

const fn signs(
    programs: &'static [&'static str],
    places: &'static [&'static str],
    lists: &'static [&'static str],
) -> ClientSigns {
    ClientSigns { programs, places, lists }
}
