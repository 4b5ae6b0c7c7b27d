//! The prompt hook in a client's file: added beside the hooks of others, brought up to date, removed.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    entries::FoundEntry,
    json::{self, JsonStep},
    place::{EntryScope, resolved},
    tree::{ConfigTree, FileLanguage, TreeError, without_mark},
};
use crate::{clients::KnownClient, config::Environment, paths::is_folder};

/// Where a client looks for prompt hooks, and how it spells one.
struct HookPlace {
    client: &'static str,
    user: &'static str,
    project: Option<&'static str>,
    event: &'static str,
    /// How long the client may wait for it, in the client's own unit.
    timeout: u32,
    form: HookForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HookForm {
    /// Groups of hooks, as Claude Code has them.
    Groups,
    /// A file of its own with a version, as Copilot has it.
    Versioned,
}

/// What `scripts/integrations` and `docs/hook.md` found.
const HOOK_PLACES: &[HookPlace] = &[
    hook("claude-code", "$CLAUDE/settings.json", Some(".claude/settings.json"), PROMPT, 5),
    hook("codex", "$CODEX_HOME/hooks.json", None, PROMPT, 5),
    hook("gemini", "~/.gemini/settings.json", Some(".gemini/settings.json"), "BeforeAgent", 5_000),
    hook("qwen", "~/.qwen/settings.json", Some(".qwen/settings.json"), PROMPT, 5_000),
    hook("droid", "~/.factory/settings.json", Some(".factory/settings.json"), PROMPT, 5),
    HookPlace {
        form: HookForm::Versioned,
        ..hook(
            "copilot",
            "$COPILOT_HOME/hooks/skills.json",
            Some(".github/hooks/skills.json"),
            "userPromptSubmitted",
            5,
        )
    },
];
const PROMPT: &str = "UserPromptSubmit";
/// The plugin of `integrations/` by the name that clients give it.
const PLUGIN: &str = "skills@skills-mcp";

const fn hook(
    client: &'static str,
    user: &'static str,
    project: Option<&'static str>,
    event: &'static str,
    timeout: u32,
) -> HookPlace {
    HookPlace { client, user, project, event, timeout, form: HookForm::Groups }
}

fn place_of(client: &KnownClient) -> Option<&'static HookPlace> {
    HOOK_PLACES.iter().find(|place| place.client == client.id)
}

/// Whether a client has a file of this scope for prompt hooks.
pub fn has_hook_file(client: &KnownClient, scope: EntryScope) -> bool {
    let has = |place: &HookPlace| scope == EntryScope::User || place.project.is_some();
    place_of(client).is_some_and(has)
}

/// The file for the hook of a client.
pub(super) fn file_for(
    client: &KnownClient,
    scope: EntryScope,
    environment: &Environment,
    project: &Path,
) -> Option<PathBuf> {
    let place = place_of(client)?;
    match (scope, place.user.strip_prefix("$CLAUDE/")) {
        (EntryScope::User, Some(file)) => {
            let home = || Some(environment.home.as_ref()?.join(".claude"));
            Some(environment.claude_config.clone().or_else(home)?.join(file))
        }
        (EntryScope::User, None) => resolved(place.user, environment),
        (EntryScope::Project | EntryScope::Local, _) => Some(project.join(place.project?)),
    }
}

/// Whether our hook is in a text.
pub(super) fn has_ours(text: &str, client: &KnownClient) -> bool {
    let Some(place) = place_of(client) else { return false };
    let (text, _) = without_mark(text);
    ConfigTree::parse(text, FileLanguage::Json)
        .is_ok_and(|tree| !ours(text, &tree, place).is_empty())
}

/// The text with our hook, which starts the same server as the entry of that client.
pub(super) fn added(
    text: &str,
    client: &KnownClient,
    entry: &FoundEntry,
) -> Result<String, TreeError> {
    let Some(place) = place_of(client) else { return Ok(text.to_owned()) };
    let (unmarked, mark) = without_mark(text);
    let command = command(client, entry);
    let tree = ConfigTree::parse(unmarked, FileLanguage::Json)?;
    let found = ours(unmarked, &tree, place);
    if found.iter().any(|found| found.command == command) {
        return Ok(text.to_owned());
    }
    if let [found] = found.as_slice() {
        let mut new = unmarked.to_owned();
        new.replace_range(found.range.clone(), &json!(command).to_string());
        return Ok(format!("{mark}{new}"));
    }
    let text = without_ours(unmarked, place)?;
    let (text, new) = match place.form {
        HookForm::Groups => {
            let hook = json!({"type": "command", "command": command, "timeout": place.timeout});
            (text, json!({"hooks": [hook]}))
        }
        HookForm::Versioned => {
            let hook = json!({"type": "command", "bash": command, "timeoutSec": place.timeout});
            let has_version =
                ConfigTree::parse(&text, FileLanguage::Json)?.get("version").is_some();
            let text = if has_version { text } else { json::set(&text, &["version"], &json!(1))? };
            (text, hook)
        }
    };
    Ok(format!("{mark}{}", json::push(&text, &["hooks", place.event], &new)?))
}

/// The text without our hook.
pub(super) fn removed(text: &str, client: &KnownClient) -> Result<String, TreeError> {
    let Some(place) = place_of(client) else { return Ok(text.to_owned()) };
    let (text, mark) = without_mark(text);
    Ok(format!("{mark}{}", without_ours(text, place)?))
}

fn without_ours(text: &str, place: &HookPlace) -> Result<String, TreeError> {
    let mut text = text.to_owned();
    loop {
        let tree = ConfigTree::parse(&text, FileLanguage::Json)?;
        let found = ours(&text, &tree, place);
        let Some(found) = found.first() else { break };
        let mut path =
            vec![JsonStep::Key("hooks"), JsonStep::Key(place.event), JsonStep::At(found.group)];
        if let Some(at) = found.inner {
            path.extend([JsonStep::Key("hooks"), JsonStep::At(at)]);
        }
        text = json::remove(&text, &path)?;
    }
    let tree = ConfigTree::parse(&text, FileLanguage::Json)?;
    let only_version =
        tree.members().is_some_and(|members| members.iter().all(|member| member.key == "version"));
    let is_ours = place.form == HookForm::Versioned && only_version;
    Ok(if is_ours { String::new() } else { text })
}

/// A hook of ours in a file.
struct FoundHook {
    group: usize,
    /// Its place in a group that has others too, or comments.
    inner: Option<usize>,
    command: String,
    /// Where the command is written.
    range: Range<usize>,
}

fn ours(text: &str, tree: &ConfigTree, place: &HookPlace) -> Vec<FoundHook> {
    let groups = tree.at(&["hooks", place.event]).and_then(ConfigTree::items).unwrap_or_default();
    let command_of = |hook: &ConfigTree| {
        let written = hook.get("command").or_else(|| hook.get("bash"))?;
        let command = written.text()?;
        let is_ours =
            command.contains("skills-mcp") && command.contains(&format!(" hook {}", place.client));
        is_ours.then(|| (command.to_owned(), written.range.clone()))
    };
    let mut found = Vec::new();
    for (group, tree) in groups.iter().enumerate() {
        let own = command_of(tree);
        found.extend(own.map(|(command, range)| FoundHook { group, inner: None, command, range }));
        let list = tree.get("hooks");
        let hooks = list.and_then(ConfigTree::items).unwrap_or_default();
        let is_alone = list.is_some_and(|list| json::is_alone(text, list));
        let inner = hooks.iter().enumerate().filter_map(|(at, hook)| Some((at, command_of(hook)?)));
        found.extend(inner.map(|(at, (command, range))| {
            // A group of which nothing is left goes whole, with its own matcher.
            let inner = (!is_alone).then_some(at);
            FoundHook { group, inner, command, range }
        }));
    }
    found
}

/// What the client runs. It ends well whatever happens: Gemini CLI blocks a prompt whose hook fails.
fn command(client: &KnownClient, entry: &FoundEntry) -> String {
    let mut words = vec![quoted(&entry.command)];
    words.extend(entry.launch_args().iter().chain(&entry.hook_args()).map(|arg| quoted(arg)));
    words.extend(["hook".to_owned(), client.id.to_owned(), "|| true".to_owned()]);
    words.join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('#') {
        return word.to_owned();
    }
    if cfg!(windows) { format!("\"{word}\"") } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Whether our plugin is installed in a client, whose hook would then speak too; gives what to run instead.
pub fn plugin_hook(client: &KnownClient, environment: &Environment) -> Option<String> {
    let home = environment.home.as_deref()?;
    let enabled = |file: PathBuf, key: &str, language: FileLanguage| {
        let text = super::file::read(&file).ok()??;
        let tree = ConfigTree::parse(without_mark(&text).0, language).ok()?;
        let plugin = tree.at(&[key, PLUGIN])?;
        let is_off =
            plugin.is_bare("false") || plugin.get("enabled").is_some_and(|is| is.is_bare("false"));
        (!is_off).then_some(())
    };
    let is_there = match client.id {
        "claude-code" => {
            let file = file_for(client, EntryScope::User, environment, Path::new(""))?;
            enabled(file, "enabledPlugins", FileLanguage::Json).is_some()
        }
        "codex" => {
            let file = resolved("$CODEX_HOME/config.toml", environment)?;
            enabled(file, "plugins", FileLanguage::Toml).is_some()
        }
        "gemini" => is_folder(&home.join(".gemini/extensions/skills")),
        "qwen" => is_folder(&home.join(".qwen/extensions/skills")),
        _ => false,
    };
    is_there.then(|| {
        format!(
            "the plugin `skills` is installed in {} and has a hook of its own; remove one of the two, or each prompt gets two hints",
            client.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::Launcher;

    fn entry(args: &[&str], env: &[(&str, &str)]) -> FoundEntry {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        FoundEntry {
            file: PathBuf::new(),
            scope: EntryScope::User,
            name: "skills".to_owned(),
            command: "/opt/my tools/skills-mcp".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(owned).collect(),
            switched_off: None,
            launcher: Launcher::Installed,
        }
    }

    #[test]
    fn a_hook_starts_the_server_of_the_entry() {
        let client = KnownClient::of_id("codex").unwrap();
        let program = "'/opt/my tools/skills-mcp'";
        let env = [("SKILLS_DIR", "/y"), ("SKILLS_REPO", "u"), ("SKILLS_TRUST", "strict")];
        let said = |args: &[&str], env: &[(&str, &str)]| command(client, &entry(args, env));
        let expected = |args: &str| format!("{program} {args} hook codex || true");
        assert_eq!(said(&[], &env), expected("--dir /y"));
        let flags = ["--repo=v", "--tools", "all"];
        assert_eq!(said(&flags, &env), expected("--repo=v --tools all"));
        assert_eq!(said(&["--dir", "/x", "serve"], &[]), expected("--dir /x"));
        let npx = FoundEntry {
            command: "npx".to_owned(),
            launcher: Launcher::Npx,
            ..entry(&["-y", "@skills-mcp/server", "--dir", "/x"], &[])
        };
        assert_eq!(command(client, &npx), "npx -y @skills-mcp/server --dir /x hook codex || true");
    }

    #[test]
    fn a_hook_is_added_beside_others_once_and_removed_alone() {
        let texts = [
            "{}",
            "{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"mine hook\"}]}\n    ],\n    \"Stop\": []\n  }\n}\n",
            "{\"theme\": \"dark\"}",
        ];
        for client in ["claude-code", "codex", "qwen", "droid", "gemini", "copilot"] {
            let client = KnownClient::of_id(client).unwrap();
            for text in texts {
                let once = added(text, client, &entry(&["--dir", "/x"], &[])).unwrap();
                assert!(
                    once.contains(&format!(
                        "'/opt/my tools/skills-mcp' --dir /x hook {} || true",
                        client.id
                    )),
                    "{once}"
                );
                assert_eq!(added(&once, client, &entry(&["--dir", "/x"], &[])).unwrap(), once);
                let other = added(&once, client, &entry(&[], &[])).unwrap();
                assert!(!other.contains("--dir"), "{other}");
                let without = removed(&once, client).unwrap();
                if client.id == "copilot" {
                    assert!(!without.contains("skills-mcp"));
                } else {
                    assert_eq!(without, text);
                }
            }
        }
    }

    #[test]
    fn a_mark_at_the_start_and_comments_beside_a_hook_stay() {
        let client = KnownClient::of_id("claude-code").unwrap();
        let text = "\u{feff}{\"theme\": \"dark\"}";
        let once = added(text, client, &entry(&[], &[])).unwrap();
        assert!(once.starts_with("\u{feff}{") && once.contains(" hook claude-code"), "{once}");
        assert_eq!(added(&once, client, &entry(&[], &[])).unwrap(), once);
        assert_eq!(removed(&once, client).unwrap(), text);
        let text = "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [\n  // {\"command\": \"old\"},\n  {\"command\": \"skills-mcp hook claude-code\"}\n]}]}}";
        assert_eq!(
            removed(text, client).unwrap(),
            "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [\n  // {\"command\": \"old\"},\n]}]}}"
        );
    }

    #[test]
    fn a_group_with_other_hooks_keeps_them() {
        let client = KnownClient::of_id("claude-code").unwrap();
        let text = "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"skills-mcp hook claude-code\"}]}]}}";
        let without = removed(text, client).unwrap();
        assert_eq!(
            without,
            "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [{\"command\": \"a\"}]}]}}"
        );
    }
}
