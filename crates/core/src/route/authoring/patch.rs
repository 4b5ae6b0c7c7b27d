//! Items for a list of front matter → the file's new text, every other byte kept, or nothing where that is not safe.
//!
//! Lists are written in many ways; those that are found in files are extended in place: one item a line, or all on one line
//! in brackets. What comes out is parsed again, and given only where it says exactly what it said before and the items.

use std::ops::Range;

use crate::{
    diagnostic::Position,
    document::{Dialect, Fields, Parsed, front_matter_field},
    yaml::YamlNode,
};

/// The text of a skill's file with these requests behind its `examples`; none where the list is written in a way that cannot be
/// extended in place.
pub fn with_examples(text: &str, dialect: Dialect, examples: &[String]) -> Option<String> {
    let next = with_items(text, "examples", examples)?;
    let fields = |text: &str| {
        let parsed = Parsed::read(text.as_bytes().to_vec(), dialect);
        parsed.skill.map(|skill| skill.fields.clone())
    };
    let mut expected: Fields = fields(text)?;
    expected.phrases.extend(examples.iter().cloned());
    (fields(&next)? == expected).then_some(next)
}

/// The text with these items behind those of a list.
fn with_items(text: &str, key: &str, words: &[String]) -> Option<String> {
    let Some(list) = front_matter_field(text, key).filter(|node| !node.is_null()) else {
        return with_new_list(text, key, words);
    };
    let items = list.items()?;
    let start = offset(text, list.at)?;
    if text.get(start..)?.starts_with('[') {
        return with_bracketed(text, start, items, words);
    }
    // One item a line: the new ones follow the last, with the same blanks and mark before them.
    let end = items.last()?;
    let line = line_at(text, offset(text, end.at)?)?;
    let before = text.get(line.start..offset(text, end.at)?)?;
    let is_plain_item = before.trim_start().starts_with('-') && before.trim().len() == 1;
    if !is_plain_item || !is_one_line(text, end, &line) {
        return None;
    }
    let ending = line_ending(text);
    let mut added = String::new();
    for word in words {
        added.extend([before, &scalar(word), ending]);
    }
    Some(inserted(text, line.end, &added))
}

/// Behind the last item of a list in brackets, all on one line.
fn with_bracketed(
    text: &str,
    start: usize,
    items: &[YamlNode],
    words: &[String],
) -> Option<String> {
    let line = line_at(text, start)?;
    let rest = text.get(start..line.end)?;
    let close = start + rest.rfind(']')?;
    // What follows may only be a comment.
    let behind = text.get(close + 1..line.end)?.trim();
    if !(behind.is_empty() || behind.starts_with('#')) || rest.get(..close - start)?.contains('#') {
        return None;
    }
    let inside = text.get(start + 1..close)?;
    let end = start + 1 + inside.trim_end().len();
    let words: Vec<String> = words.iter().map(|word| scalar(word)).collect();
    let comma = if items.is_empty() || inside.trim_end().ends_with(',') { "" } else { ", " };
    Some(inserted(text, end, &format!("{comma}{}", words.join(", "))))
}

/// A list of its own before the end of the front matter.
fn with_new_list(text: &str, key: &str, words: &[String]) -> Option<String> {
    let ending = line_ending(text);
    let mut fences = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .filter(|(_, line)| {
            line.trim_end_matches(['\r', '\n', ' ', '\t']).trim_start_matches('\u{feff}') == "---"
        });
    let (_, _) = fences.next()?;
    let (close, _) = fences.next()?;
    let mut added = format!("{key}:{ending}");
    for word in words {
        added.extend(["  - ", &scalar(word), ending]);
    }
    Some(inserted(text, close, &added))
}

fn inserted(text: &str, at: usize, added: &str) -> String {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    format!("{before}{added}{behind}")
}

/// The byte of a position of the file.
fn offset(text: &str, at: Position) -> Option<usize> {
    let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
    let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let own = text.get(start..)?.split('\n').next()?;
    let own = own.char_indices().nth(column).map_or(own.len(), |(at, _)| at);
    Some(start + own)
}

/// The line that a byte is in, with its end.
fn line_at(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let end = text.get(at..)?.find('\n').map(|end| at + end + 1)?;
    Some(start..end)
}

/// Whether an item ends on the line it starts on.
fn is_one_line(text: &str, item: &YamlNode, line: &Range<usize>) -> bool {
    let Some(written) = item.text().filter(|written| !written.contains('\n')) else { return false };
    let own = text.get(line.clone()).unwrap_or_default();
    // A long plain or quoted text may go on below; then the line does not have its last word.
    written.split_whitespace().last().is_some_and(|word| own.contains(word))
}

fn line_ending(text: &str) -> &'static str {
    let first = text.find('\n').and_then(|end| text.get(..end));
    if first.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

/// A word as YAML: as it is where that is plain, else in quotes.
fn scalar(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
        && word.starts_with(char::is_alphabetic)
        && !word.ends_with(' ')
        && !matches!(
            word.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain {
        return word.to_owned();
    }
    let escaped: String = word
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(text: &str) -> Option<String> {
        with_examples(text, Dialect::Tree, &["sign in: now".to_owned(), "new".to_owned()])
    }

    // LEARN-3
    #[test]
    fn lists_are_extended_in_place_and_every_other_byte_stays() {
        let table = [
            (
                "---\ndescription: d\nexamples:\n    - a # first\n    - b\nkeywords: [k]\n---\nText\n",
                "---\ndescription: d\nexamples:\n    - a # first\n    - b\n    - \"sign in: now\"\n    - new\nkeywords: [k]\n---\nText\n",
            ),
            (
                "---\r\ndescription: d\r\nexamples: [a, 'b' ] # c\r\nkeywords: [k]\r\n---\r\nText",
                "---\r\ndescription: d\r\nexamples: [a, 'b', \"sign in: now\", new ] # c\r\nkeywords: [k]\r\n---\r\nText",
            ),
            (
                "\u{feff}---\nkeywords: [a]\ndescription: d\ntriggers:\n- t\nexamples: []\n---",
                "\u{feff}---\nkeywords: [a]\ndescription: d\ntriggers:\n- t\nexamples: [\"sign in: now\", new]\n---",
            ),
            (
                "---\nkeywords: [a]\ndescription: d\n---\nText\n",
                "---\nkeywords: [a]\ndescription: d\nexamples:\n  - \"sign in: now\"\n  - new\n---\nText\n",
            ),
        ];
        for (before, after) in table {
            assert_eq!(extended(before).as_deref(), Some(after), "{before}");
        }
    }

    // LEARN-3
    #[test]
    fn what_cannot_be_extended_safely_is_left_alone() {
        for text in [
            "---\ndescription: d\nkeywords: a\nexamples: e\n---\n",
            "---\ndescription: d\nkeywords: [k]\nexamples: [a,\n  b]\n---\n",
            "---\ndescription: d\nkeywords: [k]\nexamples:\n  - 'a\n    b'\n---\n",
            "---\ndescription: d\nkeywords: &x [a]\nexamples: *x\n---\n",
            "no front matter\n",
        ] {
            assert_eq!(extended(text), None, "{text}");
        }
    }
}
