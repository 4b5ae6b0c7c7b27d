//! Where words begin and end, and what their parts are.

use std::{borrow::Cow, ops::Range};

use super::term::{NO_HASH, hashed};

/// The text without `'s`, `'t`, `'re` and their like.
pub(super) fn without_contractions(text: &str) -> Cow<'_, str> {
    const APOSTROPHES: [char; 2] = ['\'', '’'];
    const ENDINGS: [&str; 7] = ["s", "t", "re", "ve", "ll", "d", "m"];
    if !text.contains(APOSTROPHES) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(APOSTROPHES);
    let mut without_contractions = String::with_capacity(text.len());
    without_contractions.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let word = piece.find(|c: char| !is_word(c)).unwrap_or(piece.len());
        let ending = piece.get(..word).unwrap_or_default();
        if ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
            without_contractions.push_str(piece.get(word..).unwrap_or_default());
        } else {
            // Both kinds of apostrophe separate words.
            without_contractions.push('\'');
            without_contractions.push_str(piece);
        }
    }
    Cow::Owned(without_contractions)
}

/// Letters, digits and the underscore.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Kana and Han, which are written without spaces.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

/// Characters that may join the parts of a word, one at a time.
fn is_connector(c: char) -> bool {
    matches!(c, '.' | '_' | '/' | '+' | '#' | '-')
}

/// A simple word: ASCII letters or digits alone, not part of a compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainWord {
    pub(super) length: usize,
    /// Of the word in lower case.
    pub(super) hash: u64,
}

impl PlainWord {
    /// The word that `rest` starts with, if it is plain: `word`, `Word`, `WORD` or `123`. Nearly all are.
    pub(super) fn new(rest: &[u8]) -> Option<Self> {
        let (first, second) = (*rest.first()?, rest.get(1));
        let class = match first {
            b'0'..=b'9' => b'0'..=b'9',
            b'A'..=b'Z' if second.is_some_and(u8::is_ascii_uppercase) => b'A'..=b'Z',
            b'a'..=b'z' | b'A'..=b'Z' => b'a'..=b'z',
            _ => return None,
        };
        let mut word = Self { length: 1, hash: hashed(NO_HASH, lower(first)) };
        for byte in rest.iter().skip(1).take_while(|byte| class.contains(byte)) {
            word.length += 1;
            word.hash = hashed(word.hash, lower(*byte));
        }
        let (next, behind) = (rest.get(word.length), rest.get(word.length + 1));
        let ends = match next {
            // One of these joins what it stands between.
            Some(b'.' | b'_' | b'/' | b'-') => behind.copied().is_none_or(is_other),
            Some(b'+' | b'#') => false,
            next => next.copied().is_none_or(is_other),
        };
        ends.then_some(word)
    }
}

/// A letter in lower case, a digit as it is.
fn lower(byte: u8) -> u8 {
    byte | 0x20
}

/// Whether no word can go on with this.
fn is_other(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

/// Where the next word or run of ideographs begins, from `from` on.
pub(super) fn next_word_start(text: &str, from: usize) -> Option<usize> {
    let mut rest = text.as_bytes().get(from..)?.iter();
    let start = from + rest.position(|byte| !is_other(*byte))?;
    find(text, start, |c| c.is_alphanumeric() || is_ideograph(c))
}

/// The position of the first wanted character from `from` on.
pub(super) fn find(text: &str, from: usize, wanted: impl Fn(char) -> bool) -> Option<usize> {
    Some(from + text.get(from..)?.find(wanted)?)
}

/// Where the word ends that `rest` starts with.
pub(super) fn word_end(rest: &str) -> usize {
    let (mut end, mut connected) = (0, false);
    for (at, c) in rest.char_indices() {
        if c.is_alphanumeric() && !is_ideograph(c) {
            end = at + c.len_utf8();
            connected = false;
        } else if is_connector(c) && !connected {
            connected = true;
        } else {
            break;
        }
    }
    find(rest, end, |c| !matches!(c, '+' | '#')).unwrap_or(rest.len())
}

/// Cuts at connectors and where the case says that a word begins: `parseHTMLTree` is `parse`, `HTML`, `Tree`.
pub(super) fn parts(piece: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = None;
    let mut chars = piece.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if is_connector(c) {
            push(&mut parts, start..at);
            start = at + c.len_utf8();
            before = None;
        } else {
            if begins(before, c, next) {
                push(&mut parts, start..at);
                start = at;
            }
            before = Some(c);
        }
    }
    push(&mut parts, start..piece.len());
    parts
}

fn push(parts: &mut Vec<Range<usize>>, part: Range<usize>) {
    if !part.is_empty() {
        parts.push(part);
    }
}

/// Whether a part begins at `c`.
fn begins(before: Option<char>, c: char, next: Option<char>) -> bool {
    before.is_some_and(|before| {
        c.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase()
                    && next.is_some_and(|next| next.is_ascii_lowercase())))
    })
}
