//! Changes of a YAML text in whole lines: an entry under a key at the top, as a member of a map or as an item of a list.
//!
//! A new entry comes first, so that no comment of another entry ends up with it. The caller checks what came out.

use serde_json::Value;

use super::{
    json::line_break,
    tree::{ConfigTree, TreeError, TreeValue, line_at},
};

/// How deep lines are indented where a text shows nothing else.
const USUAL_INDENT: usize = 2;

/// Adds an entry. In a list its first member is its name.
pub(super) fn add(
    text: &str,
    tree: &ConfigTree,
    container: &str,
    name: &str,
    members: &[(&str, Value)],
    is_list: bool,
) -> Result<String, TreeError> {
    let end = line_break(text);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(holder) = tree.member(container) else {
        if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push_str(end);
        }
        lines.push(format!("{container}:{end}"));
        lines.extend(block(name, members, USUAL_INDENT, is_list, end));
        return Ok(lines.concat());
    };
    let at = line_at(text, holder.start) - 1;
    let first = first_element(&holder.value);
    let indent = match first {
        Some(first) if line_at(text, first) - 1 > at => indent_of(&lines, line_at(text, first) - 1),
        Some(_) => return Err(unsupported(text, holder.start, container)),
        None => {
            // `key:`, `key: {}` and `key: []` become the head of a block.
            let line = lines.get(at).cloned().unwrap_or_default();
            let head = line.trim_end().trim_end_matches(['{', '}', '[', ']', ' ', '~']).to_owned();
            if !head.ends_with(':') {
                return Err(unsupported(text, holder.start, container));
            }
            if let Some(line) = lines.get_mut(at) {
                *line = format!("{head}{end}");
            }
            USUAL_INDENT
        }
    };
    let below = lines.split_off((at + 1).min(lines.len()));
    lines.extend(block(name, members, indent, is_list, end));
    Ok(lines.concat() + &below.concat())
}

/// Replaces the members of an entry that are given; its others stay.
pub(super) fn update(
    text: &str,
    tree: &ConfigTree,
    container: &str,
    name: &str,
    members: &[(&str, Value)],
) -> Result<String, TreeError> {
    let Some(found) = find(text, tree, container, name) else {
        return Err(unsupported(text, 0, container));
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut starts: Vec<(usize, &str)> = found
        .entry
        .members()
        .unwrap_or_default()
        .iter()
        .map(|member| (line_at(text, member.start) - 1, member.key.as_str()))
        .collect();
    starts.push((found.end, ""));
    let mut kept = String::new();
    for pair in starts.windows(2) {
        if let [(start, key), (end, _)] = pair
            && !members.iter().any(|(known, _)| known == key)
            && *key != "name"
        {
            if *start == found.start {
                return Err(unsupported(text, 0, container));
            }
            kept.push_str(&lines.get(*start..*end).unwrap_or_default().concat());
        }
    }
    let new = block(name, members, found.indent, found.is_item, line_break(text)).concat();
    let before = lines.get(..found.start).unwrap_or_default().concat();
    let after = lines.get(found.end..).unwrap_or_default().concat();
    Ok(format!("{before}{new}{kept}{after}"))
}

/// Removes an entry, and the key above it where nothing is left below.
pub(super) fn remove(
    text: &str,
    tree: &ConfigTree,
    container: &str,
    name: &str,
) -> Result<String, TreeError> {
    let Some(found) = find(text, tree, container, name) else {
        return Err(unsupported(text, 0, container));
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut start = found.start;
    let others = tree.get(container).map_or(0, |holder| match &holder.value {
        TreeValue::Map(members) => members.len(),
        TreeValue::List(items) => items.len(),
        TreeValue::Text(_) | TreeValue::Bare(_) => 0,
    });
    if others == 1 {
        start = tree.member(container).map_or(start, |holder| line_at(text, holder.start) - 1);
    }
    let before = lines.get(..start).unwrap_or_default().concat();
    Ok(before + &lines.get(found.end..).unwrap_or_default().concat())
}

/// The lines of an entry.
struct FoundLines<'t> {
    entry: &'t ConfigTree,
    start: usize,
    /// The first line after it.
    end: usize,
    indent: usize,
    is_item: bool,
}

fn find<'t>(
    text: &str,
    tree: &'t ConfigTree,
    container: &str,
    name: &str,
) -> Option<FoundLines<'t>> {
    let holder = tree.get(container)?;
    let (entry, at, is_item) = match &holder.value {
        TreeValue::Map(members) => {
            let member = members.iter().find(|member| member.key == name)?;
            (&member.value, member.start, false)
        }
        TreeValue::List(items) => {
            let is_it =
                |item: &&ConfigTree| item.get("name").and_then(ConfigTree::text) == Some(name);
            let item = items.iter().find(is_it)?;
            (item, item.range.start, true)
        }
        TreeValue::Text(_) | TreeValue::Bare(_) => return None,
    };
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = line_at(text, at) - 1;
    let line = lines.get(start)?.trim_start();
    let is_block = if is_item { line.starts_with("- ") } else { line.trim_end().ends_with(':') };
    if !is_block {
        return None;
    }
    let indent = indent_of(&lines, start);
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let below = lines.get(start + 1..)?;
    let next = below.iter().position(|line| is_content(line) && blank(line) <= indent);
    let inside = below.get(..next.unwrap_or(below.len()))?;
    let length = inside.iter().rposition(|line| is_content(line)).map_or(0, |last| last + 1);
    Some(FoundLines { entry, start, end: start + 1 + length, indent, is_item })
}

/// The lines of a new entry.
fn block(
    name: &str,
    members: &[(&str, Value)],
    indent: usize,
    is_list: bool,
    end: &str,
) -> Vec<String> {
    let outer = " ".repeat(indent);
    let mut lines = Vec::new();
    lines.push(if is_list {
        format!("{outer}- name: {}{end}", scalar(&Value::from(name)))
    } else {
        format!("{outer}{}:{end}", scalar(&Value::from(name)))
    });
    let inner = " ".repeat(indent + USUAL_INDENT);
    for (key, value) in members {
        let deeper = format!("{inner}  ");
        match value {
            Value::Array(items) if !items.is_empty() => {
                lines.push(format!("{inner}{key}:{end}"));
                lines.extend(items.iter().map(|item| format!("{deeper}- {}{end}", scalar(item))));
            }
            Value::Object(inside) if !inside.is_empty() => {
                lines.push(format!("{inner}{key}:{end}"));
                let line = |(key, value): (&String, &Value)| {
                    format!(
                        "{deeper}{}: {}{end}",
                        scalar(&Value::from(key.as_str())),
                        scalar(value)
                    )
                };
                lines.extend(inside.iter().map(line));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => lines.push(format!("{inner}{key}: {}{end}", scalar(value))),
        }
    }
    lines
}

/// A scalar of YAML: plain words as they are, everything else as JSON writes it, which YAML reads alike.
fn scalar(value: &Value) -> String {
    let is_plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && !matches!(
                &*text.to_lowercase(),
                "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null"
            )
    };
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn first_element(tree: &ConfigTree) -> Option<usize> {
    match &tree.value {
        TreeValue::Map(members) => members.first().map(|member| member.start),
        TreeValue::List(items) => items.first().map(|item| item.range.start),
        TreeValue::Text(_) | TreeValue::Bare(_) => None,
    }
}

fn blank(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn indent_of(lines: &[String], at: usize) -> usize {
    lines.get(at).map_or(USUAL_INDENT, |line| blank(line))
}

fn unsupported(text: &str, at: usize, container: &str) -> TreeError {
    let message = format!(
        "`{container}` is written in a way that is not changed here: each entry needs lines of its own"
    );
    TreeError { line: line_at(text, at), message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::connect::tree::FileLanguage;

    fn parsed(text: &str) -> ConfigTree {
        ConfigTree::parse(text, FileLanguage::Yaml).unwrap()
    }

    #[test]
    fn what_is_added_and_removed_leaves_the_text_as_it_was() {
        let members =
            [("cmd", json!("/x y")), ("args", json!(["--dir", "no"])), ("envs", json!({"A": "1"}))];
        let maps = [
            "GOOSE_MODEL: x # mine\nextensions:\n  # first\n  dev:\n    enabled: true\n\n# last\nz: 1\n",
            "a: 1\n",
            "extensions:\r\n    dev:\r\n        x: 1\r\n",
        ];
        for text in maps {
            let added = add(text, &parsed(text), "extensions", "skills", &members, false).unwrap();
            let tree = parsed(&added);
            assert_eq!(
                tree.at(&["extensions", "skills", "envs", "A"]).unwrap().text(),
                Some("1"),
                "{added}"
            );
            assert_eq!(
                tree.at(&["extensions", "skills", "args"]).unwrap().texts(),
                ["--dir", "no"]
            );
            assert_eq!(remove(&added, &tree, "extensions", "skills").unwrap(), text, "{added}");
        }
        let lists = [
            "name: x\nmcpServers:\n  - name: o\n    command: o\nrules: []\n",
            "mcpServers:\n- name: o\n",
        ];
        for text in lists {
            let added = add(text, &parsed(text), "mcpServers", "skills", &members, true).unwrap();
            let tree = parsed(&added);
            let names: Vec<&str> = tree
                .get("mcpServers")
                .unwrap()
                .items()
                .unwrap()
                .iter()
                .filter_map(|item| item.get("name")?.text())
                .collect();
            assert_eq!(names, ["skills", "o"], "{added}");
            assert_eq!(remove(&added, &tree, "mcpServers", "skills").unwrap(), text, "{added}");
        }
    }

    #[test]
    fn empty_holders_become_blocks_and_others_on_one_line_are_left_alone() {
        for text in ["extensions: {}\nz: 1\n", "extensions:\nz: 1\n"] {
            let added = add(text, &parsed(text), "extensions", "s", &[("cmd", json!("x"))], false);
            assert_eq!(added.unwrap(), "extensions:\n  s:\n    cmd: x\nz: 1\n");
        }
        let text = "z: 1\nextensions: {dev: {x: 1}}\n";
        let error = add(text, &parsed(text), "extensions", "s", &[], false).unwrap_err();
        assert_eq!(error.line, 2);
    }

    #[test]
    fn other_members_of_an_entry_stay() {
        let text = "extensions:\n  skills:\n    cmd: old\n    timeout: 300 # long\n    args:\n      - a\n  dev:\n    x: 1\n";
        let members = [("cmd", json!("new")), ("args", json!(["b"]))];
        let updated = update(text, &parsed(text), "extensions", "skills", &members).unwrap();
        assert_eq!(
            updated,
            "extensions:\n  skills:\n    cmd: new\n    args:\n      - b\n    timeout: 300 # long\n  dev:\n    x: 1\n"
        );
    }
}
