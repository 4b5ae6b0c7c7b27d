//! A description → its clauses: the phrases between commas, stops, brackets, quotation marks, dashes and `or`.
//!
//! Authors list as short phrases when a skill applies. A request that holds one such phrase whole says more than
//! one with the same words scattered over a sentence, so each phrase is kept apart.

use super::words::is_word;

/// The clauses in order, trimmed; blank ones are left out.
pub(in crate::route) fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut scan = Scan { text, no_marks_until: 0 };
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
    /// Up to here no run of marks ends before a space; remembered, so that a long run is not scanned again from
    /// each of its marks.
    no_marks_until: usize,
}

impl Scan<'_> {
    /// How many bytes of delimiter start here; 0 if none does.
    fn delimiter(&mut self, at: usize, c: char) -> usize {
        let (done, rest) = self.text.split_at_checked(at).unwrap_or_default();
        let before = done.chars().next_back();
        let after = rest.chars().nth(1);
        let marks = if is_mark(c) && at >= self.no_marks_until { self.marks(at, rest) } else { 0 };
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
            self.no_marks_until = at + walked;
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

/// The word `or`; `OR` is more likely an operator of a query language.
fn or(rest: &str) -> usize {
    match rest.strip_prefix("or") {
        Some(behind) if !behind.starts_with(is_word) => "or".len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(clauses(text), expected, "{text}");
    }

    #[test]
    fn marks_cut_when_white_space_or_the_end_follows() {
        check(
            "Fill forms, merge files; split: sign. Now!",
            &["Fill forms", "merge files", "split", "sign", "Now"],
        );
        check("node.js 3.5 a:b x,y", &["node.js 3.5 a:b x,y"]);
        check("wait... what?! [draft] ok", &["wait", "what", "[draft", "ok"]);
        check("one\ntwo\n\nthree", &["one\ntwo", "three"]);
        check("one\n- two", &["one", "two"]);
    }

    #[test]
    fn quotation_marks_and_brackets_cut() {
        check(r#"say "fill a form" or (sign)it"#, &["say", "fill a form", "sign", "it"]);
        check("say “fill a form”, then", &["say", "fill a form", "then"]);
        check("says 'make a plan', 'go'. don't", &["says", "make a plan", "go", "don't"]);
        check("users' guide ‘one’ it’s", &["users", "guide", "one", "it’s"]);
    }

    #[test]
    fn dashes_cut_between_spaces() {
        check("plan - do -- check — act", &["plan", "do", "check", "act"]);
        check("third-party -x y- z", &["third-party -x y- z"]);
    }

    #[test]
    fn the_word_or_cuts_in_lower_case() {
        check("read or write OR append", &["read", "write OR append"]);
        check("order for color ori", &["order for color ori"]);
        check("and/or", &["and/"]);
    }

    #[test]
    fn blanks_are_left_out() {
        check("", &[]);
        check(" , . ( ) ", &[]);
    }

    #[test]
    fn a_long_run_of_marks_is_walked_once() {
        let text = ".".repeat(200_000) + "x" + &" ".repeat(200_000) + "-x";
        assert_eq!(clauses(&text).len(), 1);
    }
}
