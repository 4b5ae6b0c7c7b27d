//! [`Shown`]: what becomes of every value on its way into a template.
//!
//! Templates are ours, values are not: names, requests, comments and texts were written by others. Markup becomes
//! text, and what a reader would not see is spelled out. Templates name no way around it; a test reads them.

use std::fmt;

use askama::filters::{Escaper, Html};
use skills_core::diagnostic::is_invisible;

/// Markup is text, control and invisible characters are spelled out, lines stay lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown;

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
    fn markup_is_text_and_what_nobody_sees_is_spelled_out() {
        assert_eq!(shown("<b a=\"'\">&"), "&#60;b a=&#34;&#39;&#34;&#62;&#38;");
        assert_eq!(shown("a\u{202e}b\u{1b}[2J<\u{0}"), "a\\u{202e}b\\u{1b}[2J&#60;\\u{0}");
        assert_eq!(shown("one\r\ntwo\tthree é 🙂"), "one\ntwo\tthree é 🙂");
    }
}
