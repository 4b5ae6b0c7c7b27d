//! The only printing: standard output, in the width of the terminal, with colour where a terminal shows it.
//!
//! What content says is escaped on its way to a terminal. JSON has the same characters as `\u` escapes, so that it means
//! exactly what it says and shows nothing that it does not.

use std::{
    io::{self, IsTerminal as _, Write as _, stderr, stdout},
    sync::OnceLock,
};

use skills_core::{catalog::Skill, diagnostic::is_spelled_out};

use super::style::heading;
pub(super) use super::style::{bold, dim};

/// Longer lines of prose are hard to read, however wide the terminal is.
const MAX_SENTENCE_WIDTH: usize = 100;
/// With less room beside a head, a text begins below it.
const MIN_ENTRY_WIDTH: usize = 24;

/// The first error of standard output, which a command meets wherever it prints and ends with.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Remembers that standard output did not take what was printed. A reader who has gone away is no error of ours.
pub(super) fn remember(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = WRITE_ERROR.set(error);
    }
}

/// Why standard output did not take everything that was printed.
pub(super) fn write_error() -> Option<&'static io::Error> {
    remember(stdout().flush());
    WRITE_ERROR.get()
}

/// Where a command prints.
pub(super) struct Output {
    stream: anstream::AutoStream<io::Stdout>,
    /// The terminal's width; unbounded where there is none.
    pub(super) width: usize,
}

impl Output {
    /// Standard output.
    pub(super) fn new() -> Self {
        Self { stream: anstream::stdout(), width: terminal_width().unwrap_or(usize::MAX) }
    }

    /// One line. The command ends with an error where it was not written.
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        remember(writeln!(self.stream, "{}", text.as_ref()));
    }

    /// A sentence, in lines that are broken between words and begin with this indentation.
    pub(super) fn sentence(&mut self, indent: &str, text: &str) {
        let width = sentence_width(self.width).saturating_sub(indent.len());
        for line in wrapped(&safe(text), width) {
            self.line(format!("{indent}{line}"));
        }
    }

    /// A sentence that is less important than others.
    pub(super) fn dim_sentence(&mut self, indent: &str, text: &str) {
        let width = sentence_width(self.width).saturating_sub(indent.len());
        for line in wrapped(&safe(text), width) {
            self.line(format!("{indent}{}", dim(&line)));
        }
    }

    /// A sentence whose first words are marked.
    pub(super) fn led(&mut self, indent: &str, lead: &str, mark: fn(&str) -> String, text: &str) {
        let width = sentence_width(self.width).saturating_sub(indent.len());
        for (number, line) in wrapped(&safe(&format!("{lead} {text}")), width).iter().enumerate() {
            match line.strip_prefix(lead).filter(|_| number == 0) {
                Some(rest) => self.line(format!("{indent}{}{rest}", mark(lead))),
                None => self.line(format!("{indent}{line}")),
            }
        }
    }

    /// Paragraphs of Markdown: prose is broken between words, and lines of code stay as they are.
    pub(super) fn paragraphs(&mut self, text: &str) {
        let mut is_code = false;
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            if line.is_empty() || is_code || is_fence || line.starts_with(' ') {
                self.line(safe(line));
            } else {
                self.sentence("", line);
            }
        }
    }

    /// A sentence beside a first column: a head that is on the first line only.
    pub(super) fn entry(&mut self, head: &str, width: usize, text: &str) {
        for line in entry(head, width, text, self.width) {
            self.line(line);
        }
    }

    /// A text that an answer follows on the same line.
    pub(super) fn prompt(&mut self, text: &str) {
        remember(write!(self.stream, "{text}").and_then(|()| self.stream.flush()));
    }

    /// A value as one line of JSON.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) {
        self.json_text(&serde_json::to_string(value).unwrap_or_default());
    }

    /// JSON that is written already.
    pub(super) fn json_text(&mut self, json: &str) {
        self.line(visible_json(json));
    }

    /// An empty line and a heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.line("");
        self.line(heading(text));
    }
}

/// The width of the terminal that standard output is, where it is one.
pub(super) fn terminal_width() -> Option<usize> {
    let terminal = terminal_size::terminal_size().filter(|_| stdout().is_terminal());
    terminal.map(|(width, _)| usize::from(width.0).max(20))
}

/// What another program said, on the stream it said it on, then a word of ours about it. A file or a pipe gets it as it
/// was, a terminal only what is harmless.
pub(super) fn passed_on(out: &str, err: &str, about: &str) {
    let shown = |text: &str, terminal: bool| if terminal { safe(text) } else { text.to_owned() };
    remember(stdout().write_all(shown(out, stdout().is_terminal()).as_bytes()));
    remember(stdout().flush());
    let _ = stderr().write_all(shown(err, stderr().is_terminal()).as_bytes());
    let break_line = if err.is_empty() || err.ends_with('\n') { "" } else { "\n" };
    let _ = writeln!(anstream::stderr(), "{break_line}{about}");
}

/// A text beside what is printed, after a word that says what it is: in lines that fit the terminal, below that word.
pub(super) fn aside_entry(head: &str, width: usize, text: &str) {
    for line in entry_lines(head, width, text, error_width().unwrap_or(usize::MAX)) {
        aside(&line);
    }
}

/// The width of the terminal that standard error is, where it is one.
fn error_width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(stderr()).filter(|_| stderr().is_terminal());
    size.map(|(width, _)| usize::from(width.0).max(20))
}

/// A head and a text beside it. Lines of the text stay lines, and those that are indented are kept as they are.
fn entry_lines(head: &str, width: usize, text: &str, line_width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, part) in text.lines().enumerate() {
        if number == 0 {
            let room = sentence_width(line_width).saturating_sub(width + 1);
            for (number, line) in wrapped(&safe(part), room).iter().enumerate() {
                let start = if number == 0 { head.to_owned() } else { " ".repeat(width) };
                lines.push(format!("{start} {line}"));
            }
        } else {
            lines.push(safe(part));
        }
    }
    lines
}

/// One line of talk, beside what is printed.
pub(super) fn aside(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A text that we did not write, made harmless: control and invisible characters are spelled out, lines stay lines.
pub(super) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            '\r' => {}
            _ if is_spelled_out(c) => safe.extend(c.escape_unicode()),
            _ => safe.push(c),
        }
    }
    safe
}

/// JSON whose control and invisible characters are written as escapes. Outside of its strings there are none but line
/// breaks and tabs.
fn visible_json(json: &str) -> String {
    use std::fmt::Write as _;

    let mut visible = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '\n' | '\t') || !is_spelled_out(c) {
            visible.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(visible, "\\u{unit:04x}");
        }
    }
    visible
}

/// One line of at most `width` characters, with `…` where it was cut.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let one: String = safe(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if one.chars().count() <= width {
        return one;
    }
    let cut: String = one.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// A head of so many visible characters, and beside it a text that is broken between words and stays right of the head. Where
/// the head leaves too little room, the text begins below it.
pub(super) fn entry(head: &str, width: usize, text: &str, line_width: usize) -> Vec<String> {
    let line_width = sentence_width(line_width);
    let text = safe(text);
    let beside = line_width.saturating_sub(width + 2);
    let longest = text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let has_room = beside >= MIN_ENTRY_WIDTH && longest <= beside;
    let is_below = !has_room && !head.trim().is_empty();
    let (indent, mut lines) =
        if is_below { (4, vec![head.trim_end().to_owned()]) } else { (width + 2, Vec::new()) };
    for line in wrapped(&text, line_width.saturating_sub(indent)) {
        let is_first = lines.is_empty();
        let start = if is_first { format!("{head}  ") } else { " ".repeat(indent) };
        lines.push(format!("{start}{line}"));
    }
    if lines.is_empty() {
        lines.push(head.to_owned());
    }
    lines
}

/// How wide prose is in lines of this width. Programs and files get whole lines.
fn sentence_width(line_width: usize) -> usize {
    if line_width < usize::MAX { line_width.min(MAX_SENTENCE_WIDTH) } else { line_width }
}

/// The text in lines of at most this many characters, broken between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `functions (browserbase-functions)`: what is shown of a skill, and what else leads to it.
pub(super) fn with_other_name(shown: &str, skill: Option<&Skill>) -> String {
    match skill.and_then(|skill| skill.other_name(shown)) {
        Some(other) => format!("{shown} ({other})"),
        None => shown.to_owned(),
    }
}

/// `1 skill`, `2 skills`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u09_escape_sequences_of_content_do_not_reach_the_terminal() {
        assert_eq!(safe("a\u{1b}[2Jb\u{202e}c\r\nd"), "a\\u{1b}[2Jb\\u{202e}c\nd");
        assert_eq!(safe("a\u{2028}b"), "a\\u{2028}b", "a line break to some terminals");
    }

    #[test]
    fn e13_json_shows_what_it_says_and_means_the_same() {
        let text = "a\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{200b}\u{e0041}é\u{1f600}\n\"\\";
        let json = serde_json::json!({"\u{85}key": text});
        let shown = visible_json(&json.to_string());
        assert!(!shown.chars().any(is_spelled_out), "{shown:?}");
        assert!(
            shown.contains("\\u202e") && shown.contains("\\udb40\\udc41") && shown.contains('é')
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), json);
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible", 7), ["incomprehensible"]);
        assert_eq!(wrapped("", 7), Vec::<String>::new());
    }

    #[test]
    fn a_message_fits_the_terminal_and_lines_to_copy_stay_whole() {
        let text = "write this by hand:\nsources:\n  - dir: b";
        assert_eq!(
            entry_lines("hint:", 5, text, 16),
            ["hint: write this", "      by hand:", "sources:", "  - dir: b"]
        );
        let long = "word ".repeat(40);
        assert_eq!(entry_lines("error:", 6, &long, usize::MAX).len(), 1, "a pipe gets whole lines");
        assert_eq!(sentence_width(usize::MAX), usize::MAX);
    }

    #[test]
    fn a_line_is_cut_at_the_width() {
        assert_eq!(fitted("one two\nthree", 8), "one two…");
        assert_eq!(fitted("one two", 8), "one two");
        assert_eq!(counted(1, "skill"), "1 skill");
    }
}
