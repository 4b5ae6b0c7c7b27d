//! An entry of this server in the text of a client's file: written, brought up to date, removed, in every format.
//!
//! Whatever the editors of the formats do is checked: the new text is parsed again, and everything but our entry must say
//! what it said before.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    args::merged,
    entries::{FoundEntry, LOCAL_PROJECTS, in_tree},
    json,
    place::{EntryScope, language},
    toml,
    tree::{ConfigTree, FileLanguage, TreeError, TreeMember, TreeValue, line_at, without_mark},
    wanted::WantedEntry,
    yaml,
};
use crate::clients::{EntryFormat, EntryShape, SERVER_NAME, ServerEntry};

/// What Continue wants at the top of a file.
const BLOCK_HEAD: &str = "name: skills\nversion: 1.0.0\nschema: v1\n";

/// The text with an entry that starts this server as wanted. An entry of ours that is there is brought up to date.
pub(super) fn connected(
    text: &str,
    entry: &ServerEntry,
    wanted: &WantedEntry,
) -> Result<String, TreeError> {
    let (text, mark) = without_mark(text);
    let language = of_text(text, entry);
    let tree = ConfigTree::parse(text, language)?;
    let ours = in_tree(text, &tree, entry.format, EntryScope::User, Path::new(""));
    let existing = ours.first();
    let server = existing.and_then(|found| server_of(&tree, entry.format, &found.name));
    let members = members(entry, wanted, existing, server);
    let name = existing.map_or_else(|| free_name(&tree, entry), |found| found.name.clone());
    let new = match (existing, server) {
        (Some(_), Some(server)) => updated(text, &tree, entry, language, &name, &members, server)?,
        _ => added(text, &tree, entry, language, &name, &members)?,
    };
    checked(text, &tree, &new, language, entry, &name)?;
    let read = ConfigTree::parse(&new, language)?;
    let found = in_tree(&new, &read, entry.format, EntryScope::User, Path::new(""));
    let is_there = found.iter().any(|found| found.name == name && found.command == wanted.command);
    if is_there { Ok(format!("{mark}{new}")) } else { Err(unsafe_change(text, &tree, entry)) }
}

/// The text without any entry that starts this server.
pub(super) fn disconnected(text: &str, entry: &ServerEntry) -> Result<String, TreeError> {
    let (text, mark) = without_mark(text);
    let language = of_text(text, entry);
    let mut text = text.to_owned();
    loop {
        let tree = ConfigTree::parse(&text, language)?;
        let ours = in_tree(&text, &tree, entry.format, EntryScope::User, Path::new(""));
        let Some(found) = ours.first() else { break };
        let container = entry.format.container();
        let new = match language {
            FileLanguage::Toml => toml::remove(&text, container, &found.name)?,
            FileLanguage::Yaml => yaml::remove(&text, &tree, container, &found.name)?,
            FileLanguage::Json => {
                let step = json_step(&tree, entry.format, &found.name);
                json::remove(&text, &[json::JsonStep::Key(container), step])?
            }
        };
        checked(&text, &tree, &new, language, entry, &found.name)?;
        text = new;
    }
    if text == BLOCK_HEAD {
        text.clear();
    }
    Ok(format!("{mark}{text}"))
}

/// The text without any entry that starts this server for one project alone. The map that it was in stays: it is not ours.
pub(super) fn disconnected_locally(
    text: &str,
    entry: &ServerEntry,
    project: &str,
) -> Result<String, TreeError> {
    let (text, mark) = without_mark(text);
    let mut text = text.to_owned();
    loop {
        let tree = ConfigTree::parse(&text, FileLanguage::Json)?;
        let Some(local) = tree.at(&[LOCAL_PROJECTS, project]) else { break };
        let ours = in_tree(&text, local, entry.format, EntryScope::Local, Path::new(""));
        let Some(found) = ours.first() else { break };
        let path = [LOCAL_PROJECTS, project, entry.format.container(), &found.name];
        let new = json::remove_alone(&text, &path.map(json::JsonStep::Key))?;
        let is_same = |read: ConfigTree| read == without(&tree, &path);
        if !ConfigTree::parse(&new, FileLanguage::Json).is_ok_and(is_same) {
            return Err(unsafe_change(&text, local, entry));
        }
        text = new;
    }
    Ok(format!("{mark}{text}"))
}

/// A tree without the member at these keys.
fn without(tree: &ConfigTree, path: &[&str]) -> ConfigTree {
    let mut tree = tree.clone();
    if let (TreeValue::Map(members), Some((key, rest))) = (&mut tree.value, path.split_first()) {
        if rest.is_empty() {
            members.retain(|member| member.key != *key);
        }
        for member in members.iter_mut().filter(|member| member.key == *key) {
            member.value = without(&member.value, rest);
        }
    }
    tree
}

/// The language of a text: every JSON text is YAML, and then it is changed as JSON.
fn of_text(text: &str, entry: &ServerEntry) -> FileLanguage {
    let language = language(entry.format);
    let is_json = language == FileLanguage::Yaml && text.trim_start().starts_with('{');
    if is_json { FileLanguage::Json } else { language }
}

fn server_of<'t>(tree: &'t ConfigTree, format: EntryFormat, name: &str) -> Option<&'t ConfigTree> {
    let servers = tree.get(format.container())?;
    let named = |item: &&ConfigTree| item.get("name").and_then(ConfigTree::text) == Some(name);
    servers.get(name).or_else(|| servers.items()?.iter().find(named))
}

fn json_step<'a>(tree: &ConfigTree, format: EntryFormat, name: &'a str) -> json::JsonStep<'a> {
    let items = tree.get(format.container()).and_then(ConfigTree::items).unwrap_or_default();
    let named = |item: &ConfigTree| item.get("name").and_then(ConfigTree::text) == Some(name);
    items.iter().position(named).map_or(json::JsonStep::Key(name), json::JsonStep::At)
}

/// A name that no other server has.
fn free_name(tree: &ConfigTree, entry: &ServerEntry) -> String {
    let is_taken = |name: &str| server_of(tree, entry.format, name).is_some();
    let numbered = (2..).map(|number| format!("{SERVER_NAME}-{number}"));
    let mut names = std::iter::once(SERVER_NAME.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// What the entry says, in the client's words and in the usual order.
fn members(
    entry: &ServerEntry,
    wanted: &WantedEntry,
    existing: Option<&FoundEntry>,
    server: Option<&ConfigTree>,
) -> Vec<(&'static str, Value)> {
    let old = existing.map(FoundEntry::own_args).unwrap_or_default();
    let own = merged(old, &wanted.own_args, wanted.has_source_variable());
    let args: Vec<String> = wanted.launch_args.iter().cloned().chain(own).collect();
    let forwarded = wanted.forwarded(entry);
    let mut env = kept_variables(server, wanted);
    for (name, value) in wanted.env.iter().chain(&forwarded.references) {
        env.insert(name.clone(), Value::from(value.clone()));
    }
    let had = |key: &str| server.is_some_and(|server| at_transport(server).get(key).is_some());
    let variables = |key: &'static str| {
        (!env.is_empty() || had(key)).then(|| (key, Value::Object(env.clone())))
    };
    let command = || Value::from(wanted.command.clone());
    let mut members: Vec<(&'static str, Value)> = Vec::new();
    match entry.format {
        EntryFormat::Mcp => {
            let words: Vec<&str> =
                std::iter::once(&*wanted.command).chain(args.iter().map(String::as_str)).collect();
            members.extend([("type", json!("local")), ("command", json!(words))]);
            members.extend(variables("environment"));
            members.push(("enabled", Value::Bool(true)));
        }
        EntryFormat::Extensions => {
            let name = existing.map_or(SERVER_NAME, |found| &found.name);
            members.extend([("name", json!(name)), ("type", json!("stdio"))]);
            members.extend([
                ("enabled", Value::Bool(true)),
                ("cmd", command()),
                ("args", json!(args)),
            ]);
            members.extend(variables("envs"));
        }
        EntryFormat::McpServers
        | EntryFormat::Servers
        | EntryFormat::ContextServers
        | EntryFormat::Toml
        | EntryFormat::NamedList => {
            match entry.shape {
                EntryShape::Plain => {}
                EntryShape::Typed => members.push(("type", json!("stdio"))),
                EntryShape::Copilot => members.push(("type", json!("local"))),
            }
            members.extend([("command", command()), ("args", json!(args))]);
            members.extend(variables("env"));
            members.extend(forwarded.list.map(|key| {
                let had = server.and_then(|server| at_transport(server).get(key)?.items());
                let mut names: Vec<Value> = had.unwrap_or_default().iter().map(as_json).collect();
                let new = forwarded.listed.iter().map(|name| json!(name));
                let new: Vec<Value> = new.filter(|name| !names.contains(name)).collect();
                names.extend(new);
                (key, Value::Array(names))
            }));
            if entry.shape == EntryShape::Copilot {
                members.push(("tools", json!(["*"])));
            }
        }
    }
    members
}

/// Where an entry has its command: Cline has it one level deeper.
fn at_transport(server: &ConfigTree) -> &ConfigTree {
    server.get("transport").filter(|inner| inner.members().is_some()).unwrap_or(server)
}

/// The variables of an entry that stay: all but those that name sources, where the command line names some.
fn kept_variables(server: Option<&ConfigTree>, wanted: &WantedEntry) -> Map<String, Value> {
    let server = server.map(at_transport);
    let env = server
        .and_then(|server| ["env", "envs", "environment"].iter().find_map(|key| server.get(key)));
    let members = env.and_then(ConfigTree::members).unwrap_or_default();
    members
        .iter()
        .filter(|member| !wanted.replaces_variable(&member.key))
        .map(|member| (member.key.clone(), as_json(&member.value)))
        .collect()
}

fn as_json(tree: &ConfigTree) -> Value {
    match &tree.value {
        TreeValue::Text(text) => Value::from(text.clone()),
        TreeValue::Bare(bare) => {
            serde_json::from_str(bare).unwrap_or_else(|_| Value::from(bare.clone()))
        }
        TreeValue::List(items) => items.iter().map(as_json).collect(),
        TreeValue::Map(members) => {
            members.iter().map(|member| (member.key.clone(), as_json(&member.value))).collect()
        }
    }
}

fn added(
    text: &str,
    tree: &ConfigTree,
    entry: &ServerEntry,
    language: FileLanguage,
    name: &str,
    members: &[(&'static str, Value)],
) -> Result<String, TreeError> {
    let container = entry.format.container();
    let is_list = entry.format == EntryFormat::NamedList;
    match language {
        FileLanguage::Toml => Ok(toml::add(text, container, name, members)),
        FileLanguage::Yaml => {
            let needs_head = is_list && text.trim().is_empty();
            let text = if needs_head { BLOCK_HEAD } else { text };
            yaml::add(text, tree, container, name, members, is_list)
        }
        FileLanguage::Json => {
            let owned = |(key, value): &(&str, Value)| ((*key).to_owned(), value.clone());
            let mut object: Map<String, Value> = members.iter().map(owned).collect();
            if is_list {
                object.insert("name".to_owned(), Value::from(name));
                return json::push(text, &[container], &Value::Object(object));
            }
            json::set(text, &[container, name], &Value::Object(object))
        }
    }
}

fn updated(
    text: &str,
    tree: &ConfigTree,
    entry: &ServerEntry,
    language: FileLanguage,
    name: &str,
    members: &[(&'static str, Value)],
    server: &ConfigTree,
) -> Result<String, TreeError> {
    let container = entry.format.container();
    let inner = server.get("transport").filter(|inner| inner.members().is_some());
    let place = inner.unwrap_or(server);
    let says = |key: &str| place.get(key).map(as_json);
    let is_same = |(key, value): &&(&'static str, Value)| {
        let is_theirs = matches!(*key, "type" | "tools" | "name") && says(key).is_some();
        let is_implied = says(key).is_none() && is_optional(key, value);
        is_theirs || is_implied || says(key).as_ref() == Some(value)
    };
    let changed: Vec<(&'static str, Value)> =
        members.iter().filter(|member| !is_same(member)).cloned().collect();
    if changed.is_empty() {
        return Ok(text.to_owned());
    }
    match language {
        FileLanguage::Toml => toml::update(text, container, name, &changed),
        FileLanguage::Yaml => yaml::update(text, container, name, &changed),
        FileLanguage::Json if entry.format == EntryFormat::NamedList => {
            let shorter = json::remove(
                text,
                &[json::JsonStep::Key(container), json_step(tree, entry.format, name)],
            )?;
            added(&shorter, tree, entry, language, name, members)
        }
        FileLanguage::Json => {
            let mut path = vec![container, name];
            path.extend(inner.map(|_| "transport"));
            let mut text = text.to_owned();
            for (key, value) in &changed {
                let path = [&*path, &[*key]].concat();
                text = match (place.get(key).and_then(ConfigTree::members), value.as_object()) {
                    (Some(old), Some(new)) => with_variables(&text, &path, old, new)?,
                    _ => json::set(&text, &path, value)?,
                };
            }
            Ok(text)
        }
    }
}

/// The JSON text in which the map at these keys says what is new. What is the same in it stays as it is written.
fn with_variables(
    text: &str,
    path: &[&str],
    old: &[TreeMember],
    new: &Map<String, Value>,
) -> Result<String, TreeError> {
    let mut text = text.to_owned();
    for member in old.iter().filter(|member| !new.contains_key(&member.key)) {
        let steps = path.iter().copied().chain([member.key.as_str()]).map(json::JsonStep::Key);
        text = json::remove_alone(&text, &steps.collect::<Vec<_>>())?;
    }
    let says = |key: &str| old.iter().rfind(|member| member.key == *key);
    for (key, value) in new {
        if says(key).map(|member| as_json(&member.value)).as_ref() != Some(value) {
            text = json::set(&text, &[path, &[key.as_str()]].concat(), value)?;
        }
    }
    Ok(text)
}

/// Whether an entry means the same without this member.
fn is_optional(key: &str, value: &Value) -> bool {
    matches!(key, "type" | "enabled" | "name") || (key == "args" && *value == json!([]))
}

/// Everything but our entry must say what it said before.
fn checked(
    text: &str,
    before: &ConfigTree,
    after: &str,
    language: FileLanguage,
    entry: &ServerEntry,
    name: &str,
) -> Result<(), TreeError> {
    let after = ConfigTree::parse(after, language);
    let rest = |tree: &ConfigTree| rest(tree, entry.format, name);
    let is_same = after.is_ok_and(|after| rest(before) == rest(&after));
    if is_same { Ok(()) } else { Err(unsafe_change(text, before, entry)) }
}

/// The refusal of a change, with the line of what names the servers in a tree of this text.
fn unsafe_change(text: &str, tree: &ConfigTree, entry: &ServerEntry) -> TreeError {
    let container = entry.format.container();
    let message = format!("`{container}` is written in a way that cannot be changed safely here");
    let line = tree.member(container).map_or(1, |holder| line_at(text, holder.start));
    TreeError { line, message }
}

/// All that a file says but for one entry, and for the head that we write into an empty file.
fn rest(tree: &ConfigTree, format: EntryFormat, name: &str) -> Vec<TreeMember> {
    let container = format.container();
    let mut rest = Vec::new();
    for member in tree.members().unwrap_or_default() {
        let mut member = member.clone();
        if member.key == container {
            match &mut member.value.value {
                TreeValue::Map(servers) => servers.retain(|server| server.key != name),
                TreeValue::List(items) => {
                    items.retain(|item| item.get("name").and_then(ConfigTree::text) != Some(name));
                }
                TreeValue::Text(_) | TreeValue::Bare(_) => {}
            }
            if is_empty(&member.value) {
                continue;
            }
        }
        rest.push(member);
    }
    let head = ["name", "version", "schema"];
    let is_head = rest.iter().map(|member| member.key.as_str()).eq(head);
    if format == EntryFormat::NamedList && is_head { Vec::new() } else { rest }
}

fn is_empty(tree: &ConfigTree) -> bool {
    match &tree.value {
        TreeValue::Map(members) => members.is_empty(),
        TreeValue::List(items) => items.is_empty(),
        TreeValue::Bare(bare) => matches!(bare.as_str(), "" | "null" | "~"),
        TreeValue::Text(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::KnownClient;

    fn wanted(args: &[&str], env: &[(&str, &str)]) -> WantedEntry {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        WantedEntry {
            command: "/opt/skills-mcp".to_owned(),
            launch_args: Vec::new(),
            own_args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(owned).collect(),
            secrets: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn entry(id: &str) -> ServerEntry {
        KnownClient::of_id(id).unwrap().entry.unwrap()
    }

    #[test]
    fn a_variable_that_names_no_source_changes_no_argument() {
        let text = "{\"mcpServers\": {\"s\": {\"command\": \"/opt/skills-mcp\", \"args\": [\"--dir\", \"/srv/x\"], \"env\": {\"SKILLS_TOOLS\": \"all\"}}}}";
        let after = |args: &[&str], env: &[(&str, &str)]| {
            let text = connected(text, &entry("cursor"), &wanted(args, env)).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            value.pointer("/mcpServers/s").unwrap().clone()
        };
        let with_trust = after(&[], &[("SKILLS_TRUST", "strict")]);
        assert_eq!(with_trust["args"], json!(["--dir", "/srv/x"]));
        assert_eq!(with_trust["env"], json!({"SKILLS_TOOLS": "all", "SKILLS_TRUST": "strict"}));
        let elsewhere = after(&[], &[("SKILLS_DIR", "/y")]);
        assert_eq!(elsewhere["args"], json!([]));
        assert_eq!(elsewhere["env"], json!({"SKILLS_TOOLS": "all", "SKILLS_DIR": "/y"}));
        let named = after(&["--dir", "/z"], &[]);
        assert_eq!(named["args"], json!(["--dir", "/z"]));
        assert_eq!(named["env"], json!({"SKILLS_TOOLS": "all"}));
    }

    #[test]
    fn a_refusal_names_the_line_of_the_servers() {
        let cases = [
            ("codex", "a = 1\n\nmcp_servers = { o = { command = \"x\" } }\n"),
            ("goose", "a: 1\n\nextensions: {o: {cmd: x}}\n"),
            ("goose", "a: 1\n\nextensions: {s: {cmd: skills-mcp}}\n"),
        ];
        for (id, text) in cases {
            let refused = connected(text, &entry(id), &wanted(&[], &[])).unwrap_err();
            assert_eq!(refused.line, 3, "{refused:?}");
        }
    }

    #[test]
    fn a_name_that_the_client_passes_on_is_added_to_those_of_the_entry() {
        let text =
            "[mcp_servers.s]\ncommand = \"/opt/skills-mcp\"\nargs = []\nenv_vars = [\"PROXY\"]\n";
        let wanted = WantedEntry { secrets: vec!["GITHUB_TOKEN"], ..wanted(&[], &[]) };
        let after = connected(text, &entry("codex"), &wanted).unwrap();
        assert_eq!(after, text.replace("\"PROXY\"", "\"PROXY\", \"GITHUB_TOKEN\""));
        assert_eq!(connected(&after, &entry("codex"), &wanted).unwrap(), after);
    }

    #[test]
    fn an_entry_that_is_brought_up_to_date_keeps_its_comments_in_every_language() {
        let cases = [
            (
                "cursor",
                "{\"mcpServers\": {\"s\": {\n  // the program\n  \"command\": \"skills-mcp\", // old\n  \"env\": {\n    // other\n    \"A\": \"1\",\n    \"SKILLS_DIR\": \"/x\" // mine\n  }\n}}}",
                "\"skills-mcp\"",
            ),
            (
                "codex",
                "[mcp_servers.s]\n# the program\ncommand = \"skills-mcp\" # old\n\n[mcp_servers.s.env]\n# other\nA = \"1\"\nSKILLS_DIR = \"/x\" # mine\n",
                "\"skills-mcp\"",
            ),
            (
                "goose",
                "extensions:\n  s:\n    # the program\n    cmd: \"skills-mcp\" # old\n    enabled: true\n    envs:\n      # other\n      A: \"1\"\n      SKILLS_DIR: \"/x\" # mine\n    # last\n",
                "\"skills-mcp\"",
            ),
            (
                "continue",
                "mcpServers:\n  - name: s\n    # the program\n    command: \"skills-mcp\" # old\n    env:\n      # other\n      A: \"1\"\n      SKILLS_DIR: \"/x\" # mine\n    # last\n",
                "\"skills-mcp\"",
            ),
        ];
        for (id, text, old) in cases {
            let kept = connected(text, &entry(id), &wanted(&[], &[])).unwrap();
            assert_eq!(kept, text.replace(old, "\"/opt/skills-mcp\""), "{id}");
            let set = wanted(&[], &[("SKILLS_DIR", "/y")]);
            let moved = connected(text, &entry(id), &set).unwrap();
            assert_eq!(moved, kept.replace("\"/x\"", "\"/y\""), "{id}");
            assert_eq!(connected(&moved, &entry(id), &set).unwrap(), moved, "{id}");
        }
    }
}
