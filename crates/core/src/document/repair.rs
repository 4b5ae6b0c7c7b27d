//! Corrects the usual mistakes in front matter that is no YAML, line by line, and names the first.
//!
//! The corrected text serves to read the fields, and `check --fix` writes it; agents receive the file as it is.

use std::{borrow::Cow, collections::HashSet};

use super::field_table::FIELDS;
use crate::yaml;

/// A usual mistake in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    Tab,
    Indented,
    NoBlank,
    OpenQuote,
    Apostrophe,
    OpenList,
    Colon,
    FirstCharacter,
    TextBehind,
    NoField,
}

impl Mistake {
    /// Says what is wrong, then how it is put right.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Tab => ("a tab as indentation", "indent with blanks"),
            Self::Indented => {
                ("a field that is indented belongs to the one above", "remove the blanks before it")
            }
            Self::NoBlank => ("no blank behind the colon", "write a blank behind the colon"),
            Self::OpenQuote => {
                ("a quote opens the value and none closes it", "close it at the end of the value")
            }
            Self::Apostrophe => {
                ("an apostrophe ends a value in single quotes", "put the value in double quotes")
            }
            Self::OpenList => ("a list is not closed", "close it with `]`"),
            Self::Colon => {
                ("a colon and a blank within a value", "put quotes around the value on this line")
            }
            Self::FirstCharacter => (
                "the value's first character means something else in YAML",
                "put quotes around the value on this line",
            ),
            Self::TextBehind => (
                "text behind a closing quote or bracket",
                "put quotes around the whole value on this line",
            ),
            Self::NoField => (
                "a line that is no field",
                "indent it by two blanks, so that it goes on with the value above",
            ),
        }
    }
}

/// Front matter whose lines were corrected.
#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) text: String,
    /// The first mistake, or a list that is not closed: where it ends, only its author knows for certain.
    pub(super) mistake: Mistake,
    /// Its line, counted from 0.
    pub(super) line: usize,
}

/// Corrects every line that has a usual mistake; returns `None` if there is none.
pub(super) fn repair_lines(front: &str) -> Option<Repaired> {
    let anchors: HashSet<&str> =
        front.split_whitespace().filter_map(|word| word.strip_prefix('&')).collect();
    let lines: Vec<&str> = front.split_inclusive('\n').collect();
    let mut text = String::with_capacity(front.len() + 16);
    let mut first = None;
    let mut block = None;
    let mut above = String::new();
    for (number, line) in lines.iter().enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        let mut read = Cow::Borrowed(content);
        let mut correct = |corrected: Option<(String, Mistake)>, read: &mut Cow<'_, str>| {
            let Some((line, mistake)) = corrected else { return false };
            // A list that is not closed keeps the file from being read, so its author hears of that.
            if first.is_none() || mistake == Mistake::OpenList {
                first = Some((number, mistake));
            }
            *read = line.into();
            true
        };
        correct(untab(content), &mut read);
        let indent = read.len() - read.trim_start_matches(' ').len();
        // Lines of a block scalar are text, whatever they look like.
        if !block.is_some_and(|above| indent > above || read.trim().is_empty()) {
            correct(placed(&read, &above), &mut read);
            let below = lines.get(number + 1..).unwrap_or_default();
            let is_quoted = correct(quote(&read, below, &anchors), &mut read);
            block = (!is_quoted && opens_block(&read)).then_some(indent);
        }
        text.push_str(&read);
        text.push_str(line.get(content.len()..).unwrap_or("\n"));
        above = read.into_owned();
    }
    first.map(|(line, mistake)| Repaired { text, mistake, line })
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

/// Writes leading tabs as two blanks each.
fn untab(line: &str) -> Option<(String, Mistake)> {
    let rest = line.trim_start_matches(['\t', ' ']);
    let indent = line.get(..line.len() - rest.len())?;
    indent.contains('\t').then(|| (indent.replace('\t', "  ") + rest, Mistake::Tab))
}

/// Puts a field at the start of its line, a blank behind its colon, and a line that is no field under the value above.
fn placed(line: &str, above: &str) -> Option<(String, Mistake)> {
    let trimmed = line.trim_start_matches(' ');
    let (key, value) = trimmed.split_once(':').unwrap_or((trimmed, ""));
    let is_known = FIELDS.iter().any(|rule| rule.name == key);
    let is_indented = trimmed.len() < line.len();
    let has_value = |(_, value): (&str, &str)| !value.is_empty() && !goes_on_below(value);
    let follows_value = !above.starts_with([' ', '-'])
        && !opens_block(above)
        && key_value(above).is_some_and(has_value);
    let goes_on = follows_value || (above.starts_with("  ") && key_value(above).is_none());
    if is_known && is_indented && follows_value {
        return Some((trimmed.to_owned(), Mistake::Indented));
    }
    if is_known && !is_indented && !value.is_empty() && !value.starts_with([' ', '\t']) {
        return Some((format!("{key}: {value}"), Mistake::NoBlank));
    }
    let is_text = trimmed.starts_with(char::is_alphanumeric) && !trimmed.contains(':');
    (is_text && !is_indented && goes_on).then(|| (format!("  {trimmed}"), Mistake::NoField))
}

/// Whether the value of this line is a block scalar that continues below: `key: |`, `- >-`.
fn opens_block(line: &str) -> bool {
    let value =
        key_value(line).map_or_else(|| line.trim_start_matches([' ', '-']), |(_, value)| value);
    value.starts_with(['|', '>']) && value.len() <= 4
}

/// Quotes or closes the value of a line, where the value by itself is no YAML. What is YAML but refused stays so.
fn quote(line: &str, below: &[&str], anchors: &HashSet<&str>) -> Option<(String, Mistake)> {
    let (head, value) = key_value(line)?;
    // As in YAML a comment begins behind a blank; within quotes there is none.
    let is_quoted = value.starts_with(['"', '\'']);
    let comment = value.find(" #").filter(|_| !is_quoted).unwrap_or(value.len());
    let (value, comment) = value.split_at_checked(comment)?;
    let (blanks, value) = (value.get(value.trim_end().len()..)?, value.trim_end());
    let comment = if comment.is_empty() { String::new() } else { format!("{blanks}{comment}") };
    if value.is_empty() || opens_block(line) || is_alias(value, anchors) {
        return None;
    }
    let next = below.iter().find(|line| !line.trim().is_empty());
    let is_last_line = next.is_none_or(|line| !line.starts_with([' ', '\t']) && line.contains(':'));
    if goes_on_below(value) {
        let closed = format!("{value}]");
        let is_list = is_last_line && value.len() > 1 && yaml::parse(&closed).is_ok();
        return is_list.then(|| (format!("{head}{closed}{comment}"), Mistake::OpenList));
    }
    match yaml::parse(&format!("k: {value}\n")) {
        Ok(_) => return None,
        Err(error) if error.refused => return None,
        Err(_) => {}
    }
    let (text, mistake) = match value.strip_prefix(['"', '\'']) {
        Some(inner) if !value.get(1..)?.contains(value.get(..1)?) => {
            // Else the quote may be closed further down.
            (Some(inner).filter(|_| is_last_line)?, Mistake::OpenQuote)
        }
        Some(inner) => match inner.strip_suffix('\'').filter(|inner| has_apostrophes(inner)) {
            Some(inner) if value.starts_with('\'') => (inner, Mistake::Apostrophe),
            _ => (value, Mistake::TextBehind),
        },
        None if value.starts_with(['[', '{']) => (value, Mistake::TextBehind),
        None if value.contains(": ") || value.ends_with(':') => (value, Mistake::Colon),
        None => (value, Mistake::FirstCharacter),
    };
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    Some((format!("{head}\"{escaped}\"{comment}"), mistake))
}

/// Whether every single quote in this text stands between two letters or digits.
fn has_apostrophes(text: &str) -> bool {
    let parts: Vec<&str> = text.split('\'').collect();
    parts.windows(2).all(|pair| {
        pair.first().is_some_and(|before| before.ends_with(char::is_alphanumeric))
            && pair.last().is_some_and(|after| after.starts_with(char::is_alphanumeric))
    })
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
        Some(yaml::parse(&repair_lines(front)?.text).ok()?.get(key)?.text()?.to_owned())
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
        let node = yaml::parse(&repair_lines("keywords:\n\t- a\n\t- b\n").unwrap().text).unwrap();
        assert_eq!(node.get("keywords").unwrap().items().unwrap().len(), 2);
    }

    #[test]
    fn block_scalars_are_left_alone() {
        let front = "a: |\n  key: value: more\nb: x: y\n";
        let node = yaml::parse(&repair_lines(front).unwrap().text).unwrap();
        assert_eq!(node.get("a").unwrap().text(), Some("key: value: more\n"));
        assert_eq!(node.get("b").unwrap().text(), Some("x: y"));
    }

    #[test]
    fn the_last_resort_reads_the_two_lines_a_person_would() {
        let front =
            "name: x\n<<<<<<< upstream\nother: [\n=======\ndescription: Use \"this\": often\n";
        assert!(
            yaml::parse(front).is_err()
                && repair_lines(front).is_none_or(|repaired| yaml::parse(&repaired.text).is_err())
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
        assert!(repair_lines("keywords: [a,\n  b]\nc: {\n").is_none());
        assert!(repair_lines("just words\n- and: fine\n").is_none());
    }
}
