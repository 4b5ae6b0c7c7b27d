//! Finds the front matter: the lines between a first `---` and the next one.
//!
//! A fence stands at the start of its line and may be followed by blanks; an indented `---` (inside a block
//! scalar, say) is none. A BOM before the first fence and CRLF line ends are ordinary.

use std::ops::Range;

use crate::diagnostic::{Code, Finding, Position};

/// Front matter larger than this is refused before any YAML parser sees it.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;

/// Byte ranges in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) front: Range<usize>,
    /// Trimmed of the blank lines around it.
    pub(super) body: Range<usize>,
    /// How many lines of the file come before the front matter's first.
    pub(super) line_offset: u32,
}

/// Splits the text, or says why it has no front matter.
pub(super) fn split(text: &str) -> Result<Split, Finding> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = Lines { text, next: bom };
    let opening = lines.next().filter(|(_, line)| is_fence(line));
    if opening.is_none() {
        return Err(Finding::whole(
            Code::FrontMatterMissing,
            "no front matter, so this is not a skill",
        )
        .hint("start the file with `---`, `keywords:` and `description:` lines, and `---`"));
    }
    let start = lines.next;
    while let Some((at, line)) = lines.next() {
        if is_fence(line) {
            return Ok(Split { front: start..at, body: trimmed(text, lines.next), line_offset: 1 });
        }
        if lines.next - start > MAX_FRONT_MATTER_BYTES {
            let at = Position { line: 1, column: 1 };
            return Err(Finding::new(
                Code::FrontMatterTooLarge,
                at,
                "no closing `---` within 64 KiB of front matter",
            )
            .hint("close the front matter with `---`, or move text into the body"));
        }
    }
    Err(Finding::new(
        Code::FrontMatterUnclosed,
        Position { line: 1, column: 1 },
        "the front matter has no closing `---` line",
    )
    .hint("add a line with `---` after the last field"))
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.trim_matches([' ', '\t', '\r', '\n']).is_empty())
}

/// The range of the body without blank lines before it and white space behind it.
fn trimmed(text: &str, from: usize) -> Range<usize> {
    let mut start = from;
    let mut lines = Lines { text, next: from };
    while let Some((_, line)) = lines.next() {
        if !line.trim().is_empty() {
            break;
        }
        start = lines.next;
    }
    let tail = text.get(start..).unwrap_or_default();
    start..start + tail.trim_end().len()
}

/// Lines with their offsets, line ends included.
struct Lines<'a> {
    text: &'a str,
    next: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
        let line = rest.split_inclusive('\n').next()?;
        self.next += line.len();
        Some((at, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> (&str, &str) {
        let split = split(text).unwrap();
        (text.get(split.front).unwrap(), text.get(split.body).unwrap())
    }

    #[test]
    fn fences_may_have_blanks_behind_them_and_crlf_ends() {
        assert_eq!(parts("---\na: 1\n---\nbody\n"), ("a: 1\n", "body"));
        assert_eq!(parts("\u{feff}---  \r\na: 1\r\n--- \t\r\n\r\nbody\r\n"), ("a: 1\r\n", "body"));
        assert_eq!(parts("---\n---"), ("", ""));
    }

    #[test]
    fn an_indented_fence_belongs_to_the_front_matter() {
        assert_eq!(parts("---\nd: |\n  ---\n  x\n---\n  body"), ("d: |\n  ---\n  x\n", "  body"));
    }

    #[test]
    fn a_rule_in_the_body_is_not_a_fence() {
        assert_eq!(parts("---\na: 1\n---\none\n\n---\n\ntwo\n"), ("a: 1\n", "one\n\n---\n\ntwo"));
    }

    #[test]
    fn missing_unclosed_and_oversized_front_matter_each_have_their_code() {
        let code = |text: &str| split(text).unwrap_err().code;
        assert_eq!(code("# Readme\n"), Code::FrontMatterMissing);
        assert_eq!(code(""), Code::FrontMatterMissing);
        assert_eq!(code("----\na: 1\n---\n"), Code::FrontMatterMissing);
        assert_eq!(code("---\na: 1\n"), Code::FrontMatterUnclosed);
        assert_eq!(code(&format!("---\n{}", "a: 1\n".repeat(20_000))), Code::FrontMatterTooLarge);
    }

    proptest! {
        #[test]
        fn whatever_is_put_in_comes_out(front in "([a-z]+: [a-z ]+\n){0,4}", body in "[a-z][a-z \n-]{0,40}[a-z]") {
            let text = format!("---\n{front}---\n\n{body}\n");
            prop_assert_eq!(parts(&text), (front.as_str(), body.as_str()));
        }

        #[test]
        fn no_text_makes_it_panic(text in "(\u{feff}|---|\r|\n|[a-z: é]){0,40}") {
            let _ = split(&text);
        }
    }
}
