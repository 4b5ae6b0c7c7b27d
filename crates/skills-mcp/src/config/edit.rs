//! [`ConfigText`]: a configuration file as text that is changed in one place and stays the same byte for byte elsewhere.
//!
//! Whole lines are put in and taken out, and what comes of it is parsed again: a change counts only if it means exactly what was
//! wanted. A file that is written in a way that lines cannot change is refused, with the lines to write by hand. Pure. Not here:
//! which file it is, whether a value is allowed, and how one is written (`yaml_text`).

use skills_core::{
    diagnostic::Position,
    yaml::{self, YamlEntry, YamlError, YamlNode, YamlValue},
};
use thiserror::Error;

use super::yaml_text::{scalar, value_end};

/// A configuration file's text, which is YAML.
#[derive(Debug, Clone)]
pub struct ConfigText {
    text: String,
    root: YamlNode,
    /// Whether a byte order mark stands before the text.
    marked: bool,
}

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is no YAML.
    #[error("{}:{}: {}", .0.at.line, .0.at.column, .0.message)]
    Syntax(YamlError),
    /// Lines cannot change it.
    #[error("{line}: this part of the file is not in plain lines")]
    NotLines {
        /// Where.
        line: u32,
        /// The lines to write by hand; none where something is taken out.
        by_hand: Vec<String>,
    },
}

/// How far what is below a key is indented where no other line shows it.
const INDENT: &str = "  ";

impl ConfigText {
    /// Reads a file's text.
    pub fn read(text: &str) -> Result<Self, EditError> {
        let (marked, text) = match text.strip_prefix('\u{feff}') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let root = yaml::parse(text).map_err(EditError::Syntax)?;
        Ok(Self { text: text.to_owned(), root, marked })
    }

    /// The text.
    pub fn text(&self) -> String {
        if self.marked { format!("\u{feff}{}", self.text) } else { self.text.clone() }
    }

    /// The same with these entries at the end of `sources:`. Each has its fields, such as `dir` and `~/skills`.
    pub fn with_sources(&self, entries: &[Vec<(&str, String)>]) -> Result<Self, EditError> {
        let mut by_hand = vec!["sources:".to_owned()];
        by_hand.extend(item_lines(INDENT, entries));
        let mut removed = Vec::new();
        let (indent, at, key) = match self.entry("sources") {
            None => (INDENT.to_owned(), self.end(), Some("sources:".to_owned())),
            Some(found) if found.value.is_null() => (INDENT.to_owned(), found.at.line, None),
            // `sources: []` says that there is none.
            Some(found) if found.value.items().is_some_and(<[_]>::is_empty) => {
                let line = found.at.line;
                let rest = self.after_value(found);
                let rest = rest.ok_or(EditError::NotLines { line, by_hand: by_hand.clone() })?;
                removed.push((line, line));
                (INDENT.to_owned(), line.saturating_sub(1), Some(format!("sources:{rest}")))
            }
            Some(found) => {
                let first = found.value.items().and_then(<[_]>::first);
                let line = found.at.line;
                let refused = || EditError::NotLines { line, by_hand: by_hand.clone() };
                let indent = first.and_then(|first| self.dash(first)).ok_or_else(refused)?;
                (indent, last_line(found), None)
            }
        };
        let lines: Vec<String> = key.into_iter().chain(item_lines(&indent, entries)).collect();
        let wanted = self.root_with("sources", |list| {
            let mut items = list.and_then(|list| list.items()).unwrap_or_default().to_vec();
            items.extend(entries.iter().map(|fields| item(fields)));
            Some(node(YamlValue::Sequence(items)))
        });
        self.changed(&removed, Some((at, &lines)), &wanted, &by_hand)
    }

    /// The same without these entries of `sources:`; without the key where none is left.
    pub fn without_sources(&self, numbers: &[usize]) -> Result<Self, EditError> {
        let Some(found) = self.entry("sources") else { return Ok(self.clone()) };
        let items = found.value.items().unwrap_or_default();
        let mut removed: Vec<(u32, u32)> = Vec::new();
        for item in numbers.iter().filter_map(|number| items.get(*number)) {
            if self.dash(item).is_none() {
                return Err(EditError::NotLines { line: item.at.line, by_hand: Vec::new() });
            }
            removed.push((item.at.line, last_line_of(item).max(item.at.line)));
        }
        let stays = |number: &usize| !numbers.contains(number);
        let left: Vec<YamlNode> = (0..items.len())
            .filter(stays)
            .filter_map(|number| items.get(number).map(bare))
            .collect();
        let head = found.at.line;
        let kept = self.head_with_comment(found, "[]").filter(|_| left.is_empty());
        if left.is_empty() {
            removed.push((head, head));
        }
        let wanted = self.root_with("sources", |_| {
            let stays = !left.is_empty() || kept.is_some();
            stays.then_some(node(YamlValue::Sequence(left)))
        });
        let added = kept.as_ref().map(|kept| (head.saturating_sub(1), std::slice::from_ref(kept)));
        self.changed(&removed, added, &wanted, &[])
    }

    /// The same with this value, as YAML, of a key such as `matching.min_score`.
    pub fn with_value(&self, key: &str, value: &str) -> Result<Self, EditError> {
        let (group, name) = key.split_once('.').unwrap_or((key, ""));
        let parsed = yaml::parse(value).map_err(EditError::Syntax)?;
        let line = format!("{name}: {value}");
        let by_hand = vec![format!("{group}:"), format!("{INDENT}{line}")];
        let wanted = self.root_with(group, |found| {
            let mut entries = found.and_then(YamlNode::entries).unwrap_or_default().to_vec();
            set(&mut entries, name, Some(bare(&parsed)));
            Some(node(YamlValue::Mapping(entries)))
        });
        let Some(found) = self.entry(group) else {
            return self.changed(&[], Some((self.end(), &by_hand)), &wanted, &by_hand);
        };
        if found.value.is_null() {
            let lines = [format!("{INDENT}{line}")];
            return self.changed(&[], Some((found.at.line, &lines)), &wanted, &by_hand);
        }
        let entries = found.value.entries().unwrap_or_default();
        let refused = || EditError::NotLines { line: found.at.line, by_hand: by_hand.clone() };
        let head = found.at.line;
        if found.value.entries().is_some_and(<[_]>::is_empty) {
            let rest = self.after_value(found).ok_or_else(refused)?;
            let lines = [format!("{group}:{rest}"), format!("{INDENT}{line}")];
            let added = Some((head.saturating_sub(1), &lines[..]));
            return self.changed(&[(head, head)], added, &wanted, &by_hand);
        }
        if let Some(lines) = self.in_braces(found, name, value) {
            let added = Some((head.saturating_sub(1), &lines[..]));
            return self.changed(&[(head, head)], added, &wanted, &by_hand);
        }
        let first = entries.first().filter(|first| first.at.line > found.at.line);
        let indent = first.and_then(|first| self.indent(first.at)).ok_or_else(refused)?;
        let Some(old) = entries.iter().find(|entry| entry.key == name) else {
            let lines = [format!("{indent}{line}")];
            return self.changed(&[], Some((last_line(found), &lines)), &wanted, &by_hand);
        };
        let range = (old.at.line, last_line(old));
        let rest = self.after_value(old).ok_or_else(refused)?;
        let lines = [format!("{indent}{line}{rest}")];
        self.changed(&[range], Some((range.0.saturating_sub(1), &lines)), &wanted, &by_hand)
    }

    /// The same without a key; without its group where nothing else is in it. None where the key is not there.
    pub fn without_value(&self, key: &str) -> Result<Option<Self>, EditError> {
        let (group, name) = key.split_once('.').unwrap_or((key, ""));
        let Some(found) = self.entry(group) else { return Ok(None) };
        let entries = found.value.entries().unwrap_or_default();
        let Some(old) = entries.iter().find(|entry| entry.key == name) else { return Ok(None) };
        let is_only = entries.len() == 1;
        let head = found.at.line;
        let kept = self.head_with_comment(found, "{}").filter(|_| is_only);
        let wanted = self.root_with(group, |found| {
            let mut entries = found.and_then(YamlNode::entries).unwrap_or_default().to_vec();
            set(&mut entries, name, None);
            let stays = !entries.is_empty() || kept.is_some();
            stays.then_some(node(YamlValue::Mapping(entries)))
        });
        let mut removed = vec![(old.at.line, last_line(old))];
        removed.extend(is_only.then_some((head, head)));
        let added = kept.as_ref().map(|kept| (head.saturating_sub(1), std::slice::from_ref(kept)));
        self.changed(&removed, added, &wanted, &[]).map(Some)
    }

    /// The line of a key whose value is in the lines below, with an empty value in their place; none where no comment in it is
    /// worth keeping.
    fn head_with_comment(&self, entry: &YamlEntry, empty: &str) -> Option<String> {
        let (key, rest) = self.line(entry.at.line)?.trim_end_matches('\r').split_once(':')?;
        rest.trim_start().starts_with('#').then(|| format!("{key}: {empty}{rest}"))
    }

    /// The line of `group: {a: 1}` with a value of one of its keys, which may be new.
    fn in_braces(&self, group: &YamlEntry, name: &str, value: &str) -> Option<[String; 1]> {
        let rest = self.after_value(group)?;
        let line = self.line(group.at.line)?.trim_end_matches('\r').strip_suffix(&*rest)?;
        let inside = line.strip_suffix('}')?;
        let old = group.value.entries()?.iter().find(|entry| entry.key == name);
        let line = match old {
            None => {
                let (inside, end) = (inside.trim_end(), inside.len() - inside.trim_end().len());
                format!("{inside}, {name}: {value}{}}}", " ".repeat(end))
            }
            Some(old) => {
                let start = old.value.at.column.saturating_sub(1) as usize;
                let before: String = line.chars().take(start).collect();
                let after = line.strip_prefix(&*before)?;
                // Where the old value has such a character in it, the result means something else and is refused.
                let end = after.find([',', '}'])?;
                let kept = after.get(..end)?.trim_end().len();
                format!("{before}{value}{}", after.get(kept..)?)
            }
        };
        Some([format!("{line}{rest}")])
    }

    fn entry(&self, key: &str) -> Option<&YamlEntry> {
        self.root.entries()?.iter().find(|entry| entry.key == key)
    }

    fn lines(&self) -> Vec<&str> {
        self.text.split('\n').collect()
    }

    fn line(&self, number: u32) -> Option<&str> {
        self.lines().get((number as usize).checked_sub(1)?).copied()
    }

    /// After so many lines the text ends.
    fn end(&self) -> u32 {
        let lines = self.lines();
        let ends_with_break = lines.last().is_some_and(|last| last.is_empty());
        u32::try_from(lines.len() - usize::from(ends_with_break)).unwrap_or(u32::MAX)
    }

    /// What is before the dash of a list's item, where the item starts in the dash's line.
    fn dash(&self, item: &YamlNode) -> Option<String> {
        let (before, _) = self.line(item.at.line)?.split_once("- ")?;
        before.trim().is_empty().then(|| before.to_owned())
    }

    /// What is before a key, where nothing but space is.
    fn indent(&self, at: Position) -> Option<String> {
        let line = self.line(at.line)?;
        let before: String = line.chars().take(at.column.saturating_sub(1) as usize).collect();
        before.trim().is_empty().then_some(before)
    }

    /// What follows a key's value in its line: space and a comment. None where the value cannot be replaced by lines.
    fn after_value(&self, entry: &YamlEntry) -> Option<String> {
        let line = self.line(entry.at.line)?;
        if last_line(entry) > entry.at.line {
            let inside = self.lines();
            let mut inside = inside
                .iter()
                .skip(entry.at.line as usize)
                .take((last_line(entry) - entry.at.line) as usize);
            return (!line.contains('#') && !inside.any(|line| line.contains('#')))
                .then(String::new);
        }
        if entry.value.is_null() && entry.value.at.line != entry.at.line {
            return (!line.contains('#')).then(String::new);
        }
        let start = entry.value.at.column.saturating_sub(1) as usize;
        let value: String = line.chars().skip(start).collect();
        let rest = value_end(&value).and_then(|end| value.get(end..))?;
        Some(rest.trim_end_matches('\r').to_owned())
    }

    /// The root without positions, with another value of one of its keys.
    fn root_with(
        &self,
        key: &str,
        change: impl FnOnce(Option<&YamlNode>) -> Option<YamlNode>,
    ) -> YamlNode {
        let root = bare(&self.root);
        let mut entries = root.entries().unwrap_or_default().to_vec();
        let changed = change(root.get(key));
        set(&mut entries, key, changed);
        node(YamlValue::Mapping(entries))
    }

    /// The text without these ranges of lines and with others after a line, if it then means what is wanted.
    fn changed(
        &self,
        removed: &[(u32, u32)],
        added: Option<(u32, &[String])>,
        wanted: &YamlNode,
        by_hand: &[String],
    ) -> Result<Self, EditError> {
        let line_end = if self.text.contains("\r\n") { "\r" } else { "" };
        let (after, new) = added.unwrap_or((u32::MAX, &[]));
        let new: Vec<String> = new.iter().map(|line| format!("{line}{line_end}")).collect();
        let mut lines: Vec<String> = Vec::new();
        if after == 0 {
            lines.extend(new.iter().cloned());
        }
        for (number, line) in (1_u32..).zip(self.text.split('\n')) {
            if !removed.iter().any(|(first, last)| (*first..=*last).contains(&number)) {
                // The last line of a text has no line end, and may get one now.
                let gets_end = number == after && !line.ends_with(line_end);
                lines.push(if gets_end { format!("{line}{line_end}") } else { line.to_owned() });
            }
            if number == after {
                lines.extend(new.iter().cloned());
            }
        }
        let mut text = lines.join("\n");
        if !line_end.is_empty() && text.ends_with(line_end) {
            text.pop();
        }
        let is_wanted = |root: &YamlNode| {
            let nothing = wanted.entries().is_some_and(<[_]>::is_empty);
            bare(root) == *wanted || (nothing && root.is_null())
        };
        match yaml::parse(&text) {
            Ok(root) if is_wanted(&root) => Ok(Self { text, root, marked: self.marked }),
            _ => {
                let line = removed.first().map_or(after.min(self.end()), |(first, _)| *first);
                Err(EditError::NotLines { line, by_hand: by_hand.to_vec() })
            }
        }
    }
}

/// The lines of a list's items.
fn item_lines(indent: &str, entries: &[Vec<(&str, String)>]) -> Vec<String> {
    let mut lines = Vec::new();
    for fields in entries {
        for (number, (key, value)) in fields.iter().enumerate() {
            let dash = if number == 0 { "- " } else { INDENT };
            let value = if *key == "agents" { value.clone() } else { scalar(value) };
            lines.push(format!("{indent}{dash}{key}: {value}"));
        }
    }
    lines
}

/// The same as a node.
fn item(fields: &[(&str, String)]) -> YamlNode {
    let lines = item_lines("", &[fields.to_vec()]).join("\n");
    let list = yaml::parse(&lines).ok();
    let first = list.as_ref().and_then(|list| list.items()?.first()).map(bare);
    first.unwrap_or_else(|| node(YamlValue::Sequence(Vec::new())))
}

fn node(value: YamlValue) -> YamlNode {
    YamlNode { value, at: Position::default(), tagged: false }
}

/// The node without positions.
fn bare(found: &YamlNode) -> YamlNode {
    let value = match &found.value {
        YamlValue::Scalar { .. } => found.value.clone(),
        YamlValue::Sequence(items) => YamlValue::Sequence(items.iter().map(bare).collect()),
        YamlValue::Mapping(entries) => {
            let entry = |entry: &YamlEntry| YamlEntry {
                at: Position::default(),
                value: bare(&entry.value),
                ..entry.clone()
            };
            YamlValue::Mapping(entries.iter().map(entry).collect())
        }
    };
    YamlNode { value, at: Position::default(), tagged: found.tagged }
}

/// Sets or removes a key.
fn set(entries: &mut Vec<YamlEntry>, key: &str, value: Option<YamlNode>) {
    let Some(value) = value else {
        entries.retain(|entry| entry.key != key);
        return;
    };
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == key) {
        entry.value = value;
    } else {
        let (key, at) = (key.to_owned(), Position::default());
        entries.push(YamlEntry { key, at, is_text: true, value });
    }
}

/// The last line of a key with its value.
fn last_line(entry: &YamlEntry) -> u32 {
    if entry.value.is_null() {
        return entry.at.line;
    }
    entry.at.line.max(last_line_of(&entry.value))
}

fn last_line_of(found: &YamlNode) -> u32 {
    match &found.value {
        YamlValue::Scalar { .. } => found.at.line,
        YamlValue::Sequence(items) => items.iter().map(last_line_of).fold(found.at.line, u32::max),
        YamlValue::Mapping(entries) => entries.iter().map(last_line).fold(found.at.line, u32::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(path: &str) -> Vec<Vec<(&'static str, String)>> {
        vec![vec![("dir", path.to_owned())]]
    }

    fn added(text: &str, path: &str) -> String {
        ConfigText::read(text).unwrap().with_sources(&dir(path)).unwrap().text()
    }

    // SOURCE-13
    #[test]
    fn an_entry_is_added_and_removed_and_everything_else_stays_byte_for_byte() {
        for (text, number) in [
            ("", 0),
            ("# only a word\n", 0),
            ("scripts:\n  enabled: false  # why\n\n# end\n", 0),
            ("a:\n  b: 1", 0),
            ("a:\r\n  b: 1\r\n", 0),
            ("a:\r\n  b: 1", 0),
            ("\u{feff}a:\n  b: 1\n", 0),
            (
                "sources:\n  - dir: x  # mine\n\n  # another\n  - repo: y\n    name: z\n\ntools: tree\n",
                2,
            ),
            ("sources:\n- dir: x\ntools: tree\n", 1),
            ("sources:\n    - dir: x\n      name: y\n", 1),
        ] {
            let before = ConfigText::read(text).unwrap();
            let after = before.with_sources(&dir("~/my skills")).unwrap();
            assert!(after.text().contains("- dir: \"~/my skills\""), "{}", after.text());
            assert!(after.text().len() > text.len());
            let again = after.without_sources(&[number]).unwrap();
            assert_eq!(again.text(), text);
        }
        assert_eq!(
            added("sources:\n  - dir: a\n# end\n", "b"),
            "sources:\n  - dir: a\n  - dir: b\n# end\n"
        );
        assert_eq!(added("sources:\nx:\n  y: 1\n", "b"), "sources:\n  - dir: b\nx:\n  y: 1\n");
        assert_eq!(
            added("sources: []  # none\nx: 1\n", "b"),
            "sources:  # none\n  - dir: b\nx: 1\n"
        );
        assert_eq!(added("sources: []", "b"), "sources:\n  - dir: b");
        assert_eq!(added("a: 1\r\nb: 2", "c"), "a: 1\r\nb: 2\r\nsources:\r\n  - dir: c");
        let two = ConfigText::read("sources:\n  - dir: a\n  - agents: true\n").unwrap();
        assert_eq!(two.without_sources(&[0, 1]).unwrap().text(), "");
        assert_eq!(two.without_sources(&[0]).unwrap().text(), "sources:\n  - agents: true\n");
    }

    // SOURCE-13
    #[test]
    fn what_lines_cannot_change_is_refused_with_the_lines_to_write() {
        for text in [
            "sources: [{dir: a}]\n",
            "{scripts: {enabled: true}}\n",
            "a: 1\n...\n",
            "sources:\n  -\n    dir: a\n",
        ] {
            let refused = ConfigText::read(text).unwrap().with_sources(&dir("b"));
            let Err(EditError::NotLines { by_hand, .. }) = refused else {
                panic!("{text}: {refused:?}")
            };
            assert_eq!(by_hand, ["sources:", "  - dir: b"], "{text}");
        }
        assert!(matches!(ConfigText::read("a: [\n"), Err(EditError::Syntax(_))));
    }

    // CONFIG-9
    #[test]
    fn a_value_is_set_and_unset_and_comments_stay() {
        let set = |text: &str, key: &str, value: &str| {
            ConfigText::read(text).unwrap().with_value(key, value).map(|text| text.text())
        };
        for (text, key, value, expected) in [
            ("", "a.b", "1", "a:\n  b: 1\n"),
            ("# x\na:\n  b: 1  # why\n", "a.b", "2", "# x\na:\n  b: 2  # why\n"),
            ("a:\n  b: 'x # y'  # why\n  c: 1\n", "a.b", "z", "a:\n  b: z  # why\n  c: 1\n"),
            ("a:\n  b: [x, 'y]'] # why\n", "a.b", "[z]", "a:\n  b: [z] # why\n"),
            ("a:\n  b: 1\n\nd:\n  e: 1\n", "a.c", "2", "a:\n  b: 1\n  c: 2\n\nd:\n  e: 1\n"),
            ("a:\n", "a.b", "1", "a:\n  b: 1\n"),
            (
                "a:\n    b:\n      - x\n      - y\n    c: 1\n",
                "a.b",
                "[z]",
                "a:\n    b: [z]\n    c: 1\n",
            ),
            ("a:\r\n  b: 1\r\n", "a.b", "2", "a:\r\n  b: 2\r\n"),
            ("a:\r\n  b: 1", "a.b", "2", "a:\r\n  b: 2"),
            ("a:\r\n  b: 1", "a.c", "2", "a:\r\n  b: 1\r\n  c: 2"),
        ] {
            assert_eq!(set(text, key, value).as_deref(), Ok(expected), "{text}");
        }
        for (text, key, expected) in [
            ("a: {b: 1}\n", "a.b", "a: {b: 2}\n"),
            ("a: { b: 1 }  # why\nz: 1\n", "a.c", "a: { b: 1, c: 2 }  # why\nz: 1\n"),
            ("a: {b: x, c: 1}\r\n", "a.b", "a: {b: 2, c: 1}\r\n"),
            ("a: {}  # why\n", "a.b", "a:  # why\n  b: 2\n"),
        ] {
            assert_eq!(set(text, key, "2").as_deref(), Ok(expected), "{text}");
        }
        for text in ["a: {b: 'x, y'}\n", "a:\n  b:\n    - x  # why\n", "a: 1\n"] {
            assert!(matches!(set(text, "a.b", "2"), Err(EditError::NotLines { .. })), "{text}");
        }
        let unset = |text: &str, key: &str| {
            let text = ConfigText::read(text).unwrap().without_value(key).unwrap();
            text.map(|text| text.text())
        };
        assert_eq!(unset("a:\n  b: 1\n", "a.b").as_deref(), Some(""));
        assert_eq!(unset("# x\na:\n  b: 1\n  c: 2\n", "a.b").as_deref(), Some("# x\na:\n  c: 2\n"));
        assert_eq!(unset("a:\n  b: 1\n", "a.c"), None);
        for (text, expected) in [
            ("a:  # why\n  b: 1\nz: 1\n", "a: {}  # why\nz: 1\n"),
            ("a: # why\r\n  b: 1\r\n", "a: {} # why\r\n"),
            ("a:  # why\n  # more\n  b: 1\n", "a: {}  # why\n  # more\n"),
        ] {
            assert_eq!(unset(text, "a.b").as_deref(), Some(expected), "{text}");
            let again = set(expected, "a.b", "1").unwrap();
            assert!(again.starts_with(text.split(':').next().unwrap()) && again.contains("# why"));
        }
        let sources = ConfigText::read("sources:  # mine\n  - dir: a\n").unwrap();
        assert_eq!(sources.without_sources(&[0]).unwrap().text(), "sources: []  # mine\n");
    }
}
