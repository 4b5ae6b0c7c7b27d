//! [`fixed`]: a file's text with those mistakes of its front matter corrected whose correction is certain.
//!
//! Lines that are no YAML are corrected, misspelled fields get their name, `allowed-tools` becomes words, and a bundle
//! without a name gets its folder's. Every other byte stays: line ends, BOM, comments, the body. A step is kept only if the
//! new front matter says what the old one said; where that is not certain, the text is left alone. Not here: writing files.

use super::{
    field_table::{CLIENT_FIELDS, FIELDS, FieldKind, FieldRule, FieldUse, fields_of, near_field},
    fields::{Dialect, tools_as_words},
    repair,
    split::{self, Split},
};
use crate::yaml::{self, YamlNode, YamlValue};

/// The text with what is certain corrected; none where nothing is. `folder` is the name of a bundle's folder.
pub fn fixed(text: &str, dialect: Dialect, folder: Option<&str>) -> Option<String> {
    let mut current = text.to_owned();
    let mut changed = false;
    let mut keep = |next: Option<String>, current: &mut String| {
        if let Some(next) = next {
            *current = next;
            changed = true;
        }
    };
    let next = with_front(&current, |front, _| repaired_lines(front));
    keep(next, &mut current);
    // Each renaming moves what follows it, so that they are made one by one; there are only so many fields.
    for _ in 0..FIELDS.len() {
        let next = with_front(&current, |front, _| renamed_field(front, dialect));
        let Some(next) = next else { break };
        keep(Some(next), &mut current);
    }
    if dialect == Dialect::Bundle {
        let next = with_front(&current, |front, _| listed_tools(front));
        keep(next, &mut current);
        let next = folder.and_then(|folder| {
            with_front(&current, |front, line_end| named(front, line_end, folder))
        });
        keep(next, &mut current);
    }
    changed.then_some(current)
}

/// The text with its front matter changed; `change` gets the front matter and the line end above it.
fn with_front(text: &str, change: impl FnOnce(&str, &str) -> Option<String>) -> Option<String> {
    let Split { front, .. } = split::split(text).ok()?;
    let above = text.get(..front.start)?;
    let line_end = if above.ends_with("\r\n") { "\r\n" } else { "\n" };
    let new = change(text.get(front.clone())?, line_end)?;
    let below = text.get(front.end..)?;
    Some(format!("{above}{new}{below}"))
}

/// Corrects lines that are no YAML, exactly as they are read anyway.
fn repaired_lines(front: &str) -> Option<String> {
    match yaml::parse(front) {
        Ok(node) if node.entries().is_some() => return None,
        Err(broken) if broken.refused => return None,
        Ok(_) | Err(_) => {}
    }
    let repaired = repair::repair_lines(front)?.text;
    yaml::parse(&repaired).ok()?.entries()?;
    // A list with a broken item is read as text, but was meant as a list.
    let is_collection = |line: &str| {
        line.split_once(": ")
            .is_some_and(|(_, value)| value.starts_with("\"[") || value.starts_with("\"{"))
    };
    let mut lines = front.lines().zip(repaired.lines());
    if lines.any(|(old, new)| old != new && is_collection(new)) {
        return None;
    }
    Some(repaired)
}

/// Corrects the first misspelled field, at the top or in an entry of a list.
fn renamed_field(front: &str, dialect: Dialect) -> Option<String> {
    let node = yaml::parse(front).ok()?;
    let top: Vec<&FieldRule> = fields_of(dialect).collect();
    let (key, rule, at) = misspelled(&node, &top)?;
    let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
    let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
    let start: usize = front.split_inclusive('\n').take(line).map(str::len).sum();
    let before = front.get(start..)?.char_indices().nth(column)?.0 + start;
    let after = front.get(before..)?.strip_prefix(key)?;
    // A key in quotes or one that goes on is not what it seems.
    if !after.starts_with(':') {
        return None;
    }
    let new = format!("{}{}{after}", front.get(..before)?, rule.name);
    let reread = yaml::parse(&new).ok()?;
    is_same_but_for(&node, &reread, key, rule.name).then_some(new)
}

/// A misspelled field whose value is of the right kind, where the field itself is not there.
fn misspelled<'a>(
    node: &'a YamlNode,
    rules: &[&'static FieldRule],
) -> Option<(&'a str, &'static FieldRule, crate::diagnostic::Position)> {
    let entries = node.entries()?;
    for entry in entries {
        let known = rules.iter().find(|rule| rule.name == entry.key);
        if let Some(FieldRule { kind: FieldKind::Entries(inner), .. }) = known {
            let inner: Vec<&FieldRule> = inner.iter().collect();
            let mut found = entry.value.items().unwrap_or_default().iter();
            if let Some(found) = found.find_map(|item| misspelled(item, &inner)) {
                return Some(found);
            }
        }
        if known.is_some() || is_known_elsewhere(&entry.key) {
            continue;
        }
        let near = near_field(&entry.key, rules.iter().copied());
        if let Some(rule) = near.filter(|rule| {
            node.get(rule.name).is_none() && !entry.value.is_null() && rule.accepts(&entry.value)
        }) {
            return Some((&entry.key, rule, entry.at));
        }
    }
    None
}

/// Whether a field means something, though not here.
fn is_known_elsewhere(key: &str) -> bool {
    CLIENT_FIELDS.contains(&key)
        || FIELDS.iter().any(|rule| {
            rule.name == key && (rule.tree != FieldUse::Ignored || rule.bundle != FieldUse::Ignored)
        })
}

/// `allowed-tools` as words with blanks between them, where each tool is one word.
fn listed_tools(front: &str) -> Option<String> {
    const KEY: &str = "allowed-tools";
    let node = yaml::parse(front).ok()?;
    let entry = node.entries()?.iter().find(|entry| entry.key == KEY)?;
    let is_list = entry.value.items().is_some();
    let words = tools_as_words(&entry.value).filter(|words| !words.is_empty())?;
    if !is_list && !entry.value.text()?.contains(',') {
        return None;
    }
    let lines: Vec<&str> = front.split_inclusive('\n').collect();
    let first = usize::try_from(entry.at.line).ok()?.checked_sub(1)?;
    let line = lines.get(first)?;
    let value = line.strip_prefix(KEY)?.strip_prefix(':')?.trim();
    if value.contains('#') {
        return None;
    }
    let below = lines.get(first + 1..)?;
    let used = match entry.value.items() {
        Some(items) if value.is_empty() => {
            let own = below.iter().take_while(|line| line.trim_start().starts_with("- ")).count();
            (own == items.len()).then_some(own)?
        }
        Some(_) => value.ends_with(']').then_some(0)?,
        None => 0,
    };
    if below.iter().take(used).any(|line| line.contains('#')) {
        return None;
    }
    let line_end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
    let with = |value: &str| {
        let before: String = lines.iter().take(first).copied().collect();
        let after: String = lines.iter().skip(first + 1 + used).copied().collect();
        format!("{before}{KEY}: {value}{line_end}{after}")
    };
    let says = |new: &String| {
        let reread = yaml::parse(new).ok();
        reread.is_some_and(|reread| {
            reread.get(KEY).and_then(YamlNode::text) == Some(&words)
                && is_same_but_for(&node, &reread, KEY, KEY)
        })
    };
    [with(&words), with(&format!("'{}'", words.replace('\'', "''")))].into_iter().find(says)
}

/// The folder's name as the bundle's, in a first line of its own.
fn named(front: &str, line_end: &str, folder: &str) -> Option<String> {
    let node = yaml::parse(front).ok()?;
    let has_name = node.get("name").is_some();
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    // Other readers take some words for booleans or numbers.
    let is_name = folder.len() <= 64
        && folder.split('-').all(plain)
        && folder.starts_with(|c: char| c.is_ascii_lowercase())
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&folder);
    if has_name || !is_name || node.entries().is_none_or(<[_]>::is_empty) {
        return None;
    }
    let new = format!("name: {folder}{line_end}{front}");
    let reread = yaml::parse(&new).ok()?;
    let rest = reread.entries()?.get(1..)?;
    let same = rest.len() == node.entries()?.len()
        && rest
            .iter()
            .zip(node.entries()?)
            .all(|(new, old)| new.key == old.key && is_same_value(&new.value, &old.value));
    same.then_some(new)
}

/// Whether two front matters say the same, but for the name of one key and, where the name stays, its value.
fn is_same_but_for(old: &YamlNode, new: &YamlNode, old_key: &str, new_key: &str) -> bool {
    match (&old.value, &new.value) {
        (YamlValue::Mapping(old), YamlValue::Mapping(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|(old, new)| {
                    let renamed = old.key == old_key && new.key == new_key;
                    (old.key == new.key || renamed)
                        && ((renamed && old_key == new_key)
                            || is_same_but_for(&old.value, &new.value, old_key, new_key))
                })
        }
        (YamlValue::Sequence(old), YamlValue::Sequence(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|(old, new)| is_same_but_for(old, new, old_key, new_key))
        }
        (old, new) => old == new,
    }
}

/// Whether two values are the same, wherever they stand.
fn is_same_value(one: &YamlNode, other: &YamlNode) -> bool {
    is_same_but_for(one, other, "", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Parsed;

    const BUNDLE: Dialect = Dialect::Bundle;

    fn fix(text: &str, dialect: Dialect) -> Option<String> {
        let new = fixed(text, dialect, Some("my-skill"))?;
        assert_eq!(fixed(&new, dialect, Some("my-skill")), None, "a second time changes nothing");
        let body = |text: &str| {
            let (_, text) = Parsed::with_text(text.as_bytes().to_vec(), dialect);
            text.map(|text| text.body().to_owned())
        };
        if let Some(before) = body(text) {
            assert_eq!(body(&new), Some(before), "{new}");
        }
        Some(new)
    }

    #[test]
    fn values_are_quoted_and_every_other_byte_stays() {
        let text = "\u{feff}---\r\nname: my-skill # kept\r\ndescription: Use when: asked\r\n---\r\n\r\nBody: x\r\n";
        let expected = text.replace("Use when: asked", "\"Use when: asked\"");
        assert_eq!(fix(text, BUNDLE), Some(expected));
    }

    #[test]
    fn misspelled_fields_get_their_name_where_the_value_fits() {
        let text = "---\nkeywords: [a, b, c]\ndescripton: X\npriorty: 5 # high\ninherits: false\n\
                    scripts:\n  - fil: scripts/a.sh\n    description: A\n---\nB\n";
        let expected = "---\nkeywords: [a, b, c]\ndescription: X\npriority: 5 # high\ninherit: false\n\
                        scripts:\n  - file: scripts/a.sh\n    description: A\n---\nB\n";
        assert_eq!(fix(text, Dialect::Tree).unwrap(), expected);
        for left in ["priorty: high", "inherits: maybe", "asset: one.txt", "\"priorty\": 5"] {
            let text = format!("---\nkeywords: [a]\ndescription: X\n{left}\n---\nB\n");
            assert_eq!(fix(&text, Dialect::Tree), None, "{left}");
        }
        let both = "---\nkeywords: [a]\nkeyword: [b]\ndescription: X\n---\nB\n";
        assert_eq!(fix(both, Dialect::Tree), None, "the field itself is there");
    }

    #[test]
    fn tools_become_words_where_each_is_one() {
        let text = |tools: &str| format!("---\nname: n\n{tools}\ndescription: X\n---\nB\n");
        for tools in [
            "allowed-tools: [Read, Grep]",
            "allowed-tools: Read, Grep",
            "allowed-tools: \"Read, Grep\"",
            "allowed-tools:\n  - Read\n  - Grep",
            "allowed-tools:\n- Read\n- 'Grep'",
        ] {
            assert_eq!(
                fix(&text(tools), BUNDLE),
                Some(text("allowed-tools: Read Grep")),
                "{tools}"
            );
        }
        for left in [
            "allowed-tools: Read Grep",
            "allowed-tools: Bash(git add *), Read",
            "allowed-tools: Bash(a,b), Read",
            "allowed-tools: Bash(a,b) Read",
            "allowed-tools: [Bash(a,b), Read]",
            "allowed-tools: Bash(a, Read",
            "allowed-tools: [Read, Bash(npm run x)]",
            "allowed-tools: [Read] # for now",
            "allowed-tools:\n  - Read # first\n  - Grep",
            "allowed-tools: [Read,\n  Grep]",
        ] {
            assert_eq!(fix(&text(left), BUNDLE), None, "{left}");
        }
    }

    #[test]
    fn a_bundle_gets_its_folders_name_where_that_is_one() {
        let text = "---\ndescription: X\n---\nB\n";
        assert_eq!(fix(text, BUNDLE).unwrap(), "---\nname: my-skill\ndescription: X\n---\nB\n");
        for folder in ["My Skill", "7", "true", "a--b", ""] {
            assert_eq!(fixed(text, BUNDLE, Some(folder)), None, "{folder}");
        }
        assert_eq!(fixed(text, BUNDLE, None), None);
        assert_eq!(fix("---\nname:\ndescription: X\n---\nB\n", BUNDLE), None);
        assert_eq!(
            fixed("---\nkeywords: [a]\ndescription: X\n---\n", Dialect::Tree, Some("x")),
            None
        );
    }

    #[test]
    fn what_is_not_certain_is_left_alone() {
        for text in [
            "# No front matter\n",
            "---\nname: a\ndescription: not closed\n",
            "---\nname: a\nname: b\ndescription: x: y\n---\n",
            "---\nname: my-skill\ndescription: Use when: asked\n  and more\n---\n",
            "---\nname: my-skill\ndescription: fine\n---\nUse when: asked\n",
            "---\nname: my-skill\ndescription: fine\nkeywords: [@defer, push]\n---\n",
        ] {
            assert_eq!(fix(text, BUNDLE), None, "{text}");
        }
    }
}
