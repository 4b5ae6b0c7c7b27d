//! Changes of Codex's TOML that leave every other byte as it is. The caller checks what came out.

use std::fmt::Write as _;

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, TableLike, value};

use super::{json::line_break, tree::TreeError};

/// Adds the table of a server to the end of a text.
pub(super) fn add(text: &str, container: &str, name: &str, members: &[(&str, Value)]) -> String {
    let end = line_break(text);
    let mut added = text.to_owned();
    if !added.is_empty() {
        let is_whole = added.ends_with('\n');
        added.push_str(if is_whole { "" } else { end });
        added.push_str(end);
    }
    // Writing to memory does not fail.
    let _ = write!(added, "[{container}.{}]{end}", written_key(name));
    for (key, member) in members {
        let _ = write!(added, "{key} = {}{end}", written(member));
    }
    added
}

/// Sets members of the table of a server; its others stay.
pub(super) fn update(
    text: &str,
    container: &str,
    name: &str,
    members: &[(&str, Value)],
) -> Result<String, TreeError> {
    let mut document: DocumentMut = text.parse().map_err(|error| failed(&error))?;
    let server = document.get_mut(container).and_then(|servers| servers.get_mut(name));
    let Some(server) = server.and_then(Item::as_table_like_mut) else {
        return Err(TreeError { line: 1, message: format!("`{container}.{name}` is no table") });
    };
    for (key, member) in members {
        set(server, key, member);
    }
    Ok(document.to_string())
}

/// Sets a member. Of a table that is there only what differs is changed, so that its comments stay.
fn set(table: &mut dyn TableLike, key: &str, member: &Value) {
    if let (Some(inner), Some(new)) =
        (table.get_mut(key).and_then(Item::as_table_like_mut), member.as_object())
    {
        let gone: Vec<String> = inner
            .iter()
            .map(|(key, _)| key.to_owned())
            .filter(|key| !new.contains_key(key))
            .collect();
        for key in gone {
            inner.remove(&key);
        }
        for (key, value) in new {
            if inner.get(key).and_then(Item::as_str) != value.as_str() {
                set(inner, key, value);
            }
        }
        return;
    }
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = toml_value(member);
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, value(toml_value(member)));
        }
    }
}

/// Removes the table of a server with the tables inside it.
pub(super) fn remove(text: &str, container: &str, name: &str) -> Result<String, TreeError> {
    // Tables inside it may stand elsewhere in the file.
    let mut shorter = text.to_owned();
    while let Some(without) = without_block(&shorter, container, name) {
        shorter = without;
    }
    if shorter.len() < text.len() {
        return Ok(shorter);
    }
    let mut document: DocumentMut = text.parse().map_err(|error| failed(&error))?;
    let servers = document.get_mut(container).and_then(Item::as_table_like_mut);
    if let Some(servers) = servers {
        servers.remove(name);
    }
    Ok(document.to_string())
}

/// The text without the lines of the table and the blank line before it; none where it is not written with a header.
fn without_block(text: &str, container: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_ours = |line: &&str| {
        header(line).is_some_and(|keys| {
            keys.first().is_some_and(|key| key == container)
                && keys.get(1).is_some_and(|key| key == name)
        })
    };
    let start = lines.iter().position(is_ours)?;
    let rest = lines.get(start..)?;
    let next = rest.iter().position(|line| header(line).is_some() && !is_ours(line));
    let block = rest.get(..next.unwrap_or(rest.len()))?;
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let length = block.iter().rposition(|line| is_content(line))? + 1;
    let blank =
        start.checked_sub(1).filter(|at| lines.get(*at).is_some_and(|line| line.trim().is_empty()));
    let before = lines.get(..blank.unwrap_or(start))?;
    let after = lines.get(start + length..)?;
    Some(before.concat() + &after.concat())
}

/// The keys of a header line.
fn header(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?.trim_start_matches('[');
    let inner = inner.get(..inner.rfind(']')?)?.trim_end_matches(']');
    let keys = Key::parse(inner).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

fn written_key(key: &str) -> String {
    let is_bare = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_bare && !key.is_empty() { key.to_owned() } else { Value::from(key).to_string() }
}

/// A value in one line. JSON's texts and lists are those of TOML.
fn written(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let inner: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{} = {}", written_key(key), written(value)))
                .collect();
            format!("{{ {} }}", inner.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Object(members) => {
            let inner: InlineTable =
                members.iter().map(|(key, value)| (key.as_str(), toml_value(value))).collect();
            inner.into()
        }
        Value::Array(items) => items.iter().map(toml_value).collect::<Array>().into(),
        Value::String(text) => text.as_str().into(),
        Value::Bool(is) => (*is).into(),
        Value::Null | Value::Number(_) => value.to_string().into(),
    }
}

fn failed(error: &toml_edit::TomlError) -> TreeError {
    TreeError { line: 1, message: error.message().to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::connect::tree::{ConfigTree, FileLanguage};

    const TEXTS: &[&str] = &[
        "",
        "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n# the end\n",
        "[a]\r\nb = 1\r\n\r\n# last\r\n",
        "[mcp_servers.\"skills.x\"]\ncommand = \"z\"\n",
    ];

    #[test]
    fn what_is_added_and_removed_leaves_the_text_as_it_was() {
        let members = [
            ("command", json!("/x \"y\"")),
            ("args", json!(["--dir", "/s"])),
            ("env", json!({"A": "b"})),
        ];
        for text in TEXTS {
            let added = add(text, "mcp_servers", "skills", &members);
            let tree = ConfigTree::parse(&added, FileLanguage::Toml).unwrap();
            let server = tree.at(&["mcp_servers", "skills"]).unwrap();
            assert_eq!(server.at(&["env", "A"]).unwrap().text(), Some("b"));
            assert_eq!(added.replace("\r\n", "").contains('\n'), !text.contains("\r\n"));
            assert_eq!(remove(&added, "mcp_servers", "skills").unwrap(), *text);
        }
    }

    #[test]
    fn other_members_and_comments_of_the_table_stay() {
        let text = "[mcp_servers.skills] # ours\ncommand = \"old\" # here\nenabled = true\n[mcp_servers.skills.env]\nA = \"b\"\n\n# next\n[z]\n";
        let updated = update(text, "mcp_servers", "skills", &[("command", json!("new"))]).unwrap();
        assert_eq!(updated, text.replace("\"old\"", "\"new\""));
        let members = [("command", json!("new")), ("env", json!({"A": "c", "B": "d"}))];
        let commented = text.replace("A = ", "# why\nA = ").replace("\"b\"", "\"b\" # one");
        let updated = update(&commented, "mcp_servers", "skills", &members).unwrap();
        let wanted = commented.replace("\"old\"", "\"new\"");
        assert_eq!(updated, wanted.replace("\"b\" # one\n", "\"c\" # one\nB = \"d\"\n"));
        assert_eq!(remove(text, "mcp_servers", "skills").unwrap(), "\n# next\n[z]\n");
        let apart = "[mcp_servers.skills]\ncommand = \"x\"\n[z]\ny = 1\n[mcp_servers.skills.env]\nA = \"b\"\n";
        assert_eq!(remove(apart, "mcp_servers", "skills").unwrap(), "[z]\ny = 1\n");
        let inline = "[mcp_servers]\nskills = { command = \"x\" }\nother = { command = \"y\" }\n";
        let removed = remove(inline, "mcp_servers", "skills").unwrap();
        assert_eq!(removed, "[mcp_servers]\nother = { command = \"y\" }\n");
    }
}
