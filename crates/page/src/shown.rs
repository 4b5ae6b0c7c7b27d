//! [`Shown`]: what becomes of every value on its way into a template.
//!
//! Templates are ours, values are not: names, requests, comments and texts were written by others. Markup becomes
//! text, and what a reader would not see is spelled out. Templates name no way around it; a test reads them.

use std::fmt;

use askama::filters::{Escaper, Html};
use skills_core::diagnostic::is_invisible;

/// Markup is text, control and invisible characters are spelled out, lines stay lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown;

impl Escaper for Shown {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        if text.chars().all(is_plain) {
            return Html.write_escaped_str(dest, text);
        }
        for c in text.chars() {
            if is_plain(c) {
                Html.write_escaped_char(&mut dest, c)?;
            } else if c != '\r' {
                write!(dest, "{}", c.escape_unicode())?;
            }
        }
        Ok(())
    }
}

/// A text in which control and invisible characters are spelled out. Markup in it stays markup.
pub(crate) fn spelled_out(text: String) -> String {
    if text.chars().all(is_plain) {
        return text;
    }
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) {
            spelled.push(c);
        } else if c != '\r' {
            spelled.extend(c.escape_unicode());
        }
    }
    spelled
}

/// The beginning of a text that takes at most so many bytes on a page, and whether that is not all.
pub fn fitting(text: &str, max_bytes: usize) -> (&str, bool) {
    let mut bytes = 0_usize;
    for (at, c) in text.char_indices() {
        bytes += shown_bytes(c);
        if bytes > max_bytes {
            return (text.get(..at).unwrap_or_default(), true);
        }
    }
    (text, false)
}

/// How many bytes a character takes on a page.
pub(crate) fn shown_bytes(c: char) -> usize {
    match c {
        '<' | '>' | '&' | '"' | '\'' => "&#60;".len(),
        c if is_plain(c) => c.len_utf8(),
        c => c.escape_unicode().len(),
    }
}

fn is_plain(c: char) -> bool {
    c == '\n' || c == '\t' || !(c.is_control() || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut shown = String::new();
        Shown.write_escaped_str(&mut shown, text).unwrap();
        shown
    }

    #[test]
    fn markup_is_text_and_what_is_invisible_is_spelled_out() {
        assert_eq!(shown("<b a=\"'\">&"), "&#60;b a=&#34;&#39;&#34;&#62;&#38;");
        assert_eq!(shown("a\u{202e}b\u{1b}[2J<\u{0}"), "a\\u{202e}b\\u{1b}[2J&#60;\\u{0}");
        assert_eq!(shown("one\r\ntwo\tthree é 🙂"), "one\ntwo\tthree é 🙂");
    }
    #[test]
    fn a_text_that_fits_takes_no_more_than_it_may() {
        for text in ["abc", "<<<<<<<<", "é\u{202e}\u{e0041}é", "a&b\"c'd\0"] {
            for max in 0..40 {
                let (start, is_cut) = fitting(text, max);
                assert!(shown(start).len() <= max && text.starts_with(start), "{text} {max}");
                assert_eq!(is_cut, start.len() < text.len(), "{text} {max}");
            }
        }
    }
}
