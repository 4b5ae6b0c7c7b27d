//! A description → its clauses: the phrases between commas, stops, brackets, quotation marks, dashes and `or`.
//!
//! Authors list when a skill is wanted as short phrases. One such phrase wholly in the request says more than
//! the same words scattered over a sentence, so each is kept apart.

use super::tokens::is_word;

/// The clauses in order, trimmed; blank ones are left out.
pub(super) fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut scan = Scan { text, quiet: 0 };
    let (mut start, mut at) = (0, 0);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match scan.delimiter(at, c) {
            0 => at += c.len_utf8(),
            length => {
                keep(text, start, at, &mut clauses);
                at += length;
                start = at;
            }
        }
    }
    keep(text, start, text.len(), &mut clauses);
    clauses
}

fn keep<'a>(text: &'a str, start: usize, end: usize, clauses: &mut Vec<&'a str>) {
    let clause = text.get(start..end).unwrap_or_default().trim();
    if !clause.is_empty() {
        clauses.push(clause);
    }
}

struct Scan<'a> {
    text: &'a str,
    /// Up to here no run of marks ends before a space: remembered, so that a long run is not walked again from
    /// each of its marks.
    quiet: usize,
}

impl Scan<'_> {
    /// How many bytes of delimiter start here; 0 if none does.
    fn delimiter(&mut self, at: usize, c: char) -> usize {
        let (done, rest) = self.text.split_at_checked(at).unwrap_or_default();
        let before = done.chars().next_back();
        let after = rest.chars().nth(1);
        let marks = if is_mark(c) && at >= self.quiet { self.marks(at, rest) } else { 0 };
        if marks > 0 {
            return marks;
        }
        let alone = match c {
            '"' | '“' | '”' | '(' | ')' => true,
            '\'' => opens(before) || closes(after),
            '‘' => opens(before),
            '’' => closes(after),
            _ => false,
        };
        match c {
            _ if alone => c.len_utf8(),
            '-' | '–' | '—' if opens(before) => dashes(rest),
            'o' if !before.is_some_and(is_word) => or(rest),
            _ => 0,
        }
    }

    /// The longest run of marks from here with white space or the end behind it.
    fn marks(&mut self, at: usize, rest: &str) -> usize {
        let mut length = 0;
        let mut walked = 0;
        for c in rest.chars() {
            if c.is_whitespace() {
                length = walked;
            }
            if !is_mark(c) {
                break;
            }
            walked += c.len_utf8();
        }
        if walked == rest.len() {
            length = walked;
        }
        if length == 0 {
            self.quiet = at + walked;
        }
        length
    }
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        ',' | ';'
            | ':'
            | '.'
            | '!'
            | '?'
            | '('
            | ')'
            | '['
            | ']'
            | '"'
            | '“'
            | '”'
            | '\n'
            | '—'
            | '–'
    )
}

/// Whether a quotation may open behind this.
fn opens(before: Option<char>) -> bool {
    before.is_some_and(char::is_whitespace)
}

/// Whether a quotation may close in front of this.
fn closes(after: Option<char>) -> bool {
    after.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '.' | ';' | ')'))
}

/// The dashes that `rest` starts with, if a space follows them.
fn dashes(rest: &str) -> usize {
    let behind = rest.trim_start_matches(['-', '–', '—']);
    if behind.starts_with(char::is_whitespace) { rest.len() - behind.len() } else { 0 }
}

/// The word `or`; `OR` is an operator in somebody's query language.
fn or(rest: &str) -> usize {
    match rest.strip_prefix("or") {
        Some(behind) if !behind.starts_with(is_word) => "or".len(),
        _ => 0,
    }
}
