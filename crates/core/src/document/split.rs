//! Finds the front matter: the lines between a first `---` and the next one.
//!
//! A fence stands at the start of its line and may be followed by blanks; an indented `---` (inside a block
//! scalar, say) is none. A BOM before the first fence and CRLF line ends are ordinary.

use std::ops::Range;

use crate::diagnostic::{Code, Finding, Position};

/// Larger front matter is refused before it is parsed.
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
    let (mut lines, line_offset) = opening(text).ok_or_else(|| {
        Finding::whole(Code::FrontMatterMissing, "no front matter, so this is not a skill")
            .hint("start the file with `---`, `keywords:` and `description:` lines, and `---`")
    })?;
    let start = lines.next;
    while let Some((at, line)) = lines.next() {
        if is_fence(line) {
            return Ok(Split { front: start..at, body: trimmed(text, lines.next), line_offset });
        }
        if lines.next - start > MAX_FRONT_MATTER_BYTES {
            let at = Position { line: line_offset, column: 1 };
            return Err(Finding::new(
                Code::FrontMatterTooLarge,
                at,
                "no closing `---` within 64 KiB of front matter",
            )
            .hint("close the front matter with `---`, or move text into the body"));
        }
    }
    let at = Position { line: line_offset, column: 1 };
    Err(Finding::new(Code::FrontMatterUnclosed, at, "the front matter has no closing `---` line")
        .hint("add a line with `---` after the last field"))
}

/// Splits front matter without a closing fence at the first heading.
pub(super) fn split_unclosed(text: &str) -> Option<Split> {
    let (mut lines, line_offset) = opening(text)?;
    let start = lines.next;
    let heading = lines.find(|(_, line)| line.starts_with('#')).map_or(text.len(), |(at, _)| at);
    let end = heading.min(start + MAX_FRONT_MATTER_BYTES);
    text.is_char_boundary(end).then(|| Split {
        front: start..end,
        body: trimmed(text, heading),
        line_offset,
    })
}

/// The lines behind the opening fence, and how many come before them. Blank lines and comments may stand above it.
fn opening(text: &str) -> Option<(LineOffsets<'_>, u32)> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = LineOffsets { text, next: bom };
    let mut above = 0;
    while let Some((_, line)) = lines.next() {
        let line = line.trim_end();
        let is_comment = line.starts_with("<!--") && line.ends_with("-->");
        above += 1;
        if is_fence(line) {
            return Some((lines, above));
        }
        if !line.is_empty() && !is_comment {
            return None;
        }
    }
    None
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.trim_matches([' ', '\t', '\r', '\n']).is_empty())
}

/// The range of the body without blank lines before it and white space behind it.
fn trimmed(text: &str, from: usize) -> Range<usize> {
    let mut start = from;
    let mut lines = LineOffsets { text, next: from };
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
struct LineOffsets<'a> {
    text: &'a str,
    next: usize,
}

impl<'a> Iterator for LineOffsets<'a> {
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
