//! Line-wise repair of common YAML mistakes.
//!
//! Each `key: value` line is checked by itself: where its value alone is not a YAML scalar (an unquoted
//! colon, a value that starts with `@` or a backtick, text behind a closing quote) the value is quoted. Tabs
//! used as indentation become spaces. The repaired text serves only to read the fields; agents receive the file
//! as it is.

use std::collections::HashSet;

use crate::yaml;

/// The front matter with its broken lines quoted, or `None` where no line could be repaired.
pub(super) fn repair_lines(front: &str) -> Option<String> {
    let mut repaired = String::with_capacity(front.len() + 16);
    let mut block = None;
    let mut changed = false;
    let anchors: HashSet<&str> =
        front.split_whitespace().filter_map(|word| word.strip_prefix('&')).collect();
    for line in front.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let line_end = line.get(content.len()..).unwrap_or("\n");
        let untabbed = untab(content);
        let text = untabbed.as_deref().unwrap_or(content);
        let indent = text.len() - text.trim_start_matches(' ').len();
        // Lines of a block scalar are text, whatever they look like.
        if block.is_some_and(|above| indent > above || text.trim().is_empty()) {
            repaired.push_str(text);
        } else if let Some(quoted) = quote(text, &anchors) {
            block = None;
            changed = true;
            repaired.push_str(&quoted);
        } else {
            block = opens_block(text).then_some(indent);
            repaired.push_str(text);
        }
        changed |= untabbed.is_some();
        repaired.push_str(line_end);
    }
    changed.then_some(repaired)
}

/// The last resort for a bundle: its `name` and `description` alone, as a person would read them, with the indented lines that
/// follow.
pub(super) fn salvage(front: &str) -> Option<String> {
    let field = |key: &str| {
        let mut lines = front.lines().skip_while(|line| line.split(':').next() != Some(key));
        let first = lines.next()?.get(key.len() + 1..)?.trim();
        // A block scalar's text is on other lines, which are not read here.
        let is_text =
            |value: &str| !value.is_empty() && !value.starts_with(['|', '>', '[', '{', '&', '*']);
        let is_below = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let below = lines.take_while(is_below).map(str::trim);
        let words: Vec<&str> = std::iter::once(first).chain(below).collect();
        let value = words.join(" ");
        let value = value.trim_matches(['"', '\'']);
        (is_text(first.trim_matches(['"', '\''])) && is_text(value))
            .then(|| format!("{key}: \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\"")))
    };
    Some(field("name").unwrap_or_default() + &field("description")?)
}

/// The line with leading tabs as two spaces each, where it has any.
fn untab(line: &str) -> Option<String> {
    let rest = line.trim_start_matches(['\t', ' ']);
    let indent = line.get(..line.len() - rest.len())?;
    indent.contains('\t').then(|| indent.replace('\t', "  ") + rest)
}

/// Whether the value of this line is a block scalar that continues below: `key: |`, `- >-`.
fn opens_block(line: &str) -> bool {
    let value =
        key_value(line).map_or_else(|| line.trim_start_matches([' ', '-']), |(_, value)| value);
    value.starts_with(['|', '>']) && value.len() <= 4
}

/// The line with its value quoted, where the value by itself is no YAML. What is YAML but refused stays so.
fn quote(line: &str, anchors: &HashSet<&str>) -> Option<String> {
    let (head, value) = key_value(line)?;
    let value = value.trim_end();
    if value.is_empty() || opens_block(line) || goes_on_below(value) || is_alias(value, anchors) {
        return None;
    }
    match yaml::parse(&format!("k: {value}\n")) {
        Ok(_) => return None,
        Err(error) if error.refused => return None,
        Err(_) => {}
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("{head}\"{escaped}\""))
}

/// Whether this is the first line of a list or map in brackets, closed further down.
fn goes_on_below(value: &str) -> bool {
    value.starts_with(['[', '{']) && !value.contains([']', '}'])
}

/// Whether this is an alias of a value anchored on another line, and no YAML only without that line.
fn is_alias(value: &str, anchors: &HashSet<&str>) -> bool {
    value.strip_prefix('*').is_some_and(|name| anchors.contains(name))
}

/// Splits `  - key: value` behind the first colon-and-blank; the key must look like one.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let name = key.trim_start_matches([' ', '-']);
    let is_key =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let head = line.get(..key.len() + 2)?;
    is_key.then_some((head, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(front: &str, key: &str) -> Option<String> {
        assert!(yaml::parse(front).is_err(), "not broken: {front}");
        Some(yaml::parse(&repair_lines(front)?).ok()?.get(key)?.text()?.to_owned())
    }

    #[test]
    fn an_unquoted_colon_is_text() {
        let front = "name: x\ndescription: Use when: the user asks\nkeywords: [a]\n";
        assert_eq!(repaired(front, "description").unwrap(), "Use when: the user asks");
    }

    #[test]
    fn special_first_characters_and_text_behind_quotes_are_text() {
        for value in [
            "@mention someone",
            "`code` first",
            "*bold* text",
            "%x",
            "\"Quoted\" and more",
            "[tag] and more",
        ] {
            assert_eq!(repaired(&format!("description: {value}\n"), "description").unwrap(), value);
        }
    }

    #[test]
    fn tabs_as_indentation_become_spaces() {
        let node = yaml::parse(&repair_lines("keywords:\n\t- a\n\t- b\n").unwrap()).unwrap();
        assert_eq!(node.get("keywords").unwrap().items().unwrap().len(), 2);
    }

    #[test]
    fn block_scalars_are_left_alone() {
        let front = "a: |\n  key: value: more\nb: x: y\n";
        let node = yaml::parse(&repair_lines(front).unwrap()).unwrap();
        assert_eq!(node.get("a").unwrap().text(), Some("key: value: more\n"));
        assert_eq!(node.get("b").unwrap().text(), Some("x: y"));
    }

    #[test]
    fn the_last_resort_reads_the_two_lines_a_person_would() {
        let front =
            "name: x\n<<<<<<< upstream\nother: [\n=======\ndescription: Use \"this\": often\n";
        assert!(
            yaml::parse(front).is_err()
                && repair_lines(front).is_none_or(|repaired| yaml::parse(&repaired).is_err())
        );
        let node = yaml::parse(&salvage(front).unwrap()).unwrap();
        assert_eq!(node.get("description").unwrap().text(), Some("Use \"this\": often"));
        let front = "description: Use when: asked\n  and more text here\nname: x: y\n  z\n\n  no\n";
        let node = yaml::parse(&salvage(front).unwrap()).unwrap();
        let text = |key: &str| node.get(key).unwrap().text().unwrap().to_owned();
        assert_eq!(text("description"), "Use when: asked and more text here");
        assert_eq!(text("name"), "x: y z");
        assert_eq!(salvage("name: x\ndescription: |\n  y\n"), None);
        assert_eq!(salvage("name: x\n"), None);
    }

    #[test]
    fn what_is_not_a_broken_value_is_not_touched() {
        assert_eq!(repair_lines("keywords: [a,\n  b]\nc: {\n"), None);
        assert_eq!(repair_lines("just words\n- and: fine\n"), None);
    }
}
