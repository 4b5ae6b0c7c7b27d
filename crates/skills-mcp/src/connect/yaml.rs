//! Changes of a YAML text in whole lines: an entry under a key at the top, as a member of a map or as an item of a list.
//!
//! A new entry comes first, so that no comment of another entry ends up with it. The caller checks what came out.

use std::ops::Range;

use serde_json::Value;

use super::{
    json::line_break,
    tree::{ConfigTree, FileLanguage, TreeError, TreeMember, TreeValue, line_at},
};

/// How deep lines are indented where a text shows nothing else.
const USUAL_INDENT: usize = 2;
/// How deep an entry is indented below a key that was there and empty, at the end of a text: `remove` tells by it that the key
/// is not ours.
const INDENT_BELOW_A_KEY_OF_OTHERS: usize = 4;

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
        Some(_) => return Err(unsupported(text, tree, container)),
        None => {
            // `key:`, `key: {}` and `key: []` become the head of a block.
            let line = lines.get(at).cloned().unwrap_or_default();
            let head = line.trim_end().trim_end_matches(['{', '}', '[', ']', ' ', '~']).to_owned();
            if !head.ends_with(':') {
                return Err(unsupported(text, tree, container));
            }
            if let Some(line) = lines.get_mut(at) {
                *line = format!("{head}{end}");
            }
            if is_last(tree, container) { INDENT_BELOW_A_KEY_OF_OTHERS } else { USUAL_INDENT }
        }
    };
    let below = lines.split_off((at + 1).min(lines.len()));
    lines.extend(block(name, members, indent, is_list, end));
    Ok(lines.concat() + &below.concat())
}

/// Sets members of an entry, each in its own lines; its others, and the comments around it, stay.
pub(super) fn update(
    text: &str,
    container: &str,
    name: &str,
    members: &[(&str, Value)],
) -> Result<String, TreeError> {
    members.iter().try_fold(text.to_owned(), |text, (key, value)| {
        with_member(&text, container, name, &[key], Some(value))
    })
}

/// The text with this value at these keys of an entry; without one, the member goes. Of a map in lines of its own only what
/// differs is written.
fn with_member(
    text: &str,
    container: &str,
    name: &str,
    path: &[&str],
    value: Option<&Value>,
) -> Result<String, TreeError> {
    let tree = ConfigTree::parse(text, FileLanguage::Yaml)?;
    let refused = || unsupported(text, &tree, container);
    let found = find(text, &tree, container, name).ok_or_else(refused)?;
    let (key, above) = path.split_last().ok_or_else(refused)?;
    let (mut holder, mut end) = (found.entry, found.end);
    for key in above {
        end = own_lines(text, holder, key, end).ok_or_else(refused)?.end;
        holder = holder.get(key).ok_or_else(refused)?;
    }
    let own = own_lines(text, holder, key, end);
    let old = holder.get(key).filter(|_| own.is_some()).and_then(ConfigTree::members);
    let is_in_lines = |members: &[TreeMember]| {
        let line = members.first().map(|first| line_at(text, first.start) - 1);
        line > own.as_ref().map(|own| own.start)
    };
    if let (Some(old), Some(new)) = (old, value.and_then(Value::as_object))
        && is_in_lines(old)
        && !new.is_empty()
    {
        let gone = old.iter().filter(|member| !new.contains_key(&member.key));
        let gone = gone.map(|member| (member.key.as_str(), None));
        let is_same = |key: &str, value: &Value| {
            let old = old.iter().rfind(|member| member.key == *key);
            old.and_then(|member| member.value.text()) == value.as_str()
        };
        let set = new.iter().filter(|(key, value)| !is_same(key, value));
        let set = set.map(|(key, value)| (key.as_str(), Some(value)));
        return gone.chain(set).try_fold(text.to_owned(), |text, (key, value)| {
            with_member(&text, container, name, &[path, &[key]].concat(), value)
        });
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = holder.members().and_then(<[TreeMember]>::first).ok_or_else(refused)?;
    let column = |start: usize| text.get(..start).map_or(0, |before| start_of_line(before).len());
    let (range, prefix, comment) = match &own {
        Some(own) => {
            let member = holder.member(key).ok_or_else(refused)?;
            let line = lines.get(own.start).copied().unwrap_or_default();
            let prefix = line.get(..column(member.start)).unwrap_or_default().to_owned();
            let comment = line_comment(line.get(prefix.len()..).unwrap_or_default());
            (own.clone(), prefix, comment)
        }
        None => (end..end, " ".repeat(column(first.start)), ""),
    };
    let mut new = Vec::new();
    if let Some(value) = value {
        new = member(key, value, column(first.start), line_break(text));
        if let Some(line) = new.first_mut() {
            let body = line.trim().to_owned();
            *line = format!("{prefix}{body}{comment}{}", line_break(text));
        }
    } else if !prefix.trim().is_empty() {
        // The line also begins the item.
        return Err(refused());
    }
    let before = lines.get(..range.start).unwrap_or_default().concat();
    let after = lines.get(range.end..).unwrap_or_default().concat();
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { line_break(text) };
    Ok(format!("{before}{gap}{}{after}", new.concat()))
}

/// The lines of a member of a map that ends before the line `end`, without the comments after them.
fn own_lines(text: &str, holder: &ConfigTree, key: &str, end: usize) -> Option<Range<usize>> {
    let members = holder.members()?;
    let at = members.iter().rposition(|member| member.key == key)?;
    let line = |member: &TreeMember| line_at(text, member.start) - 1;
    let start = line(members.get(at)?);
    let end = members.get(at + 1).map_or(end, line);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = lines.get(start..end)?.iter().rposition(|line| is_content(line))?;
    Some(start..start + last + 1)
}

/// The comment at the end of a member's first line, with the blank before it.
fn line_comment(line: &str) -> &str {
    let line = line.trim_end();
    let value = line.split_once(':').map_or(line, |(_, value)| value.trim_start());
    let mut quote = value.chars().next().filter(|first| "\"'[{".contains(*first)).map(|_| None);
    let mut previous = ' ';
    let value_at = line.len() - value.len();
    for (at, c) in value.char_indices() {
        match &mut quote {
            // A plain scalar has no quotes, only letters that look like some.
            Some(Some(open)) if c == *open && previous != '\\' => quote = Some(None),
            Some(open @ None) if c == '"' || c == '\'' => *open = Some(c),
            None | Some(None) if c == '#' && previous.is_whitespace() => {
                let before = line.get(..value_at + at).unwrap_or_default().trim_end().len();
                return line.get(before..).unwrap_or_default();
            }
            None | Some(_) => {}
        }
        previous = c;
    }
    ""
}

/// The last line of a text, as far as it goes.
fn start_of_line(text: &str) -> &str {
    text.rsplit('\n').next().unwrap_or_default()
}

/// Removes an entry, and the key above it where nothing is left below. A key with comments below it stays, and so does one
/// that was there before: `add` writes a new one at the end, with the usual indent below it.
pub(super) fn remove(
    text: &str,
    tree: &ConfigTree,
    container: &str,
    name: &str,
) -> Result<String, TreeError> {
    let Some(found) = find(text, tree, container, name) else {
        return Err(unsupported(text, tree, container));
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let others = tree.get(container).map_or(0, |holder| match &holder.value {
        TreeValue::Map(members) => members.len(),
        TreeValue::List(items) => items.len(),
        TreeValue::Text(_) | TreeValue::Bare(_) => 0,
    });
    let mut start = found.start;
    let holder = tree.member(container).map_or(start, |holder| line_at(text, holder.start) - 1);
    if others == 1 {
        let between = lines.get(holder + 1..start).unwrap_or_default();
        let is_bare = between.iter().all(|line| line.trim().is_empty());
        let is_as_added = indent_of(&lines, start) != INDENT_BELOW_A_KEY_OF_OTHERS;
        if is_bare && is_as_added && is_last(tree, container) {
            start = holder;
        } else if let Some(line) = lines.get_mut(holder) {
            let comment = line_comment(line).to_owned();
            let head = line.trim_end();
            let head = head.get(..head.len() - comment.len()).unwrap_or_default();
            let empty = if found.is_item { "[]" } else { "{}" };
            *line = format!("{head} {empty}{comment}{}", line_break(text));
        }
    }
    lines.drain(start..found.end.min(lines.len()));
    Ok(lines.concat())
}

/// Whether a key is the last of a text, where `add` writes a new one.
fn is_last(tree: &ConfigTree, container: &str) -> bool {
    let last = tree.members().and_then(<[TreeMember]>::last);
    last.is_some_and(|last| last.key == container)
}

/// The lines of an entry.
struct FoundLines<'t> {
    entry: &'t ConfigTree,
    start: usize,
    /// The first line after it.
    end: usize,
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
    let line = lines.get(start)?.trim();
    let head = line.get(..line.len() - line_comment(line).len())?;
    let is_block = if is_item { line.starts_with("- ") } else { head.ends_with(':') };
    if !is_block {
        return None;
    }
    let indent = indent_of(&lines, start);
    let below = lines.get(start + 1..)?;
    let next = below.iter().position(|line| is_content(line) && blank(line) <= indent);
    let inside = below.get(..next.unwrap_or(below.len()))?;
    let length = inside.iter().rposition(|line| is_content(line)).map_or(0, |last| last + 1);
    Some(FoundLines { entry, start, end: start + 1 + length, is_item })
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
    let indent = indent + USUAL_INDENT;
    lines.extend(members.iter().flat_map(|(key, value)| member(key, value, indent, end)));
    lines
}

/// The lines of a member.
fn member(key: &str, value: &Value, indent: usize, end: &str) -> Vec<String> {
    let inner = " ".repeat(indent);
    let deeper = format!("{inner}  ");
    let key = scalar(&Value::from(key));
    let mut lines = vec![format!("{inner}{key}:{end}")];
    match value {
        Value::Array(items) if !items.is_empty() => {
            lines.extend(items.iter().map(|item| format!("{deeper}- {}{end}", scalar(item))));
        }
        Value::Object(inside) if !inside.is_empty() => {
            let line = |(key, value): (&String, &Value)| {
                format!("{deeper}{}: {}{end}", scalar(&Value::from(key.as_str())), scalar(value))
            };
            lines.extend(inside.iter().map(line));
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => return vec![format!("{inner}{key}: {}{end}", scalar(value))],
    }
    lines
}

/// Whether a line is more than blank and a comment.
fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
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

fn unsupported(text: &str, tree: &ConfigTree, container: &str) -> TreeError {
    let message = format!(
        "`{container}` is written in a way that is not changed here: each entry needs lines of its own"
    );
    let line = tree.member(container).map_or(1, |holder| line_at(text, holder.start));
    TreeError { line, message }
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
        let updated = update(text, "extensions", "skills", &members).unwrap();
        assert_eq!(updated, text.replace("cmd: old", "cmd: new").replace("- a", "- b"));
    }

    #[test]
    fn a_changed_member_keeps_its_place_and_the_comments_around_it() {
        let text = "extensions:\n  skills: # ours\n    # the program\n    cmd: old # here\n    # variables\n    envs: # mine\n      A: '1' # one\n      # two\n      B: \"it's # no comment\"\n    args: [a] # list\n    # last of it\n  dev:\n    x: 1\n";
        let members = [
            ("cmd", json!("new")),
            ("args", json!(["b"])),
            ("envs", json!({"A": "2", "B": "it's # no comment", "C": "3"})),
        ];
        let updated = update(text, "extensions", "skills", &members).unwrap();
        let wanted = text
            .replace("cmd: old", "cmd: new")
            .replace("A: '1'", "A: \"2\"")
            .replace("no comment\"\n", "no comment\"\n      C: \"3\"\n")
            .replace("args: [a] # list\n", "args: # list\n      - b\n");
        assert_eq!(updated, wanted);
        let fewer = [("envs", json!({"B": "it's # no comment"}))];
        let updated = update(text, "extensions", "skills", &fewer).unwrap();
        assert_eq!(updated, text.replace("      A: '1' # one\n", ""));
        let list = "mcpServers:\n  - command: old # first\n    name: skills\n    # last";
        let updated = update(
            list,
            "mcpServers",
            "skills",
            &[("command", json!("/new")), ("args", json!(["x"]))],
        );
        assert_eq!(
            updated.unwrap(),
            "mcpServers:\n  - command: \"/new\" # first\n    name: skills\n    args:\n      - x\n    # last"
        );
    }

    #[test]
    fn a_key_with_comments_or_before_others_stays_without_entries() {
        let text = "extensions: # mine\n  # old:\n  #   cmd: x\n  skills:\n    cmd: y\n";
        assert_eq!(
            remove(text, &parsed(text), "extensions", "skills").unwrap(),
            "extensions: {} # mine\n  # old:\n  #   cmd: x\n"
        );
        for text in ["extensions: {}\n", "a: 1\nextensions: {}\n"] {
            for before in [text, &text.replace(" {}", "")] {
                let added =
                    add(before, &parsed(before), "extensions", "s", &[("cmd", json!("x"))], false);
                let added = added.unwrap();
                assert_eq!(remove(&added, &parsed(&added), "extensions", "s").unwrap(), text);
            }
        }
        let text = "mcpServers: []\nz: 1\n";
        let added = add(text, &parsed(text), "mcpServers", "s", &[("command", json!("x"))], true);
        let added = added.unwrap();
        assert_eq!(remove(&added, &parsed(&added), "mcpServers", "s").unwrap(), text);
    }
}
