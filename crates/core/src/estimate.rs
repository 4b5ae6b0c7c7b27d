//! How many tokens a text costs, roughly.
//!
//! Tokenisers differ by model and their vocabularies are large; budgets need only an estimate. Before it looks
//! anything up, o200k cuts a text into pieces by character class: a word with the space or mark before it,
//! three digits, a run of marks with the line breaks behind it. Most pieces are one token, so this follows the
//! cuts without the vocabulary, and adds what a piece of that shape costs more on average. It reads each
//! character once, with what came just before, and allocates nothing; more text never costs less.

use std::mem;

/// The estimated number of tokens in `text`.
pub fn tokens(text: &str) -> usize {
    let mut reader = Reader::default();
    let cost: usize = text.chars().map(|c| reader.cost_of(c)).sum();
    cost.div_ceil(PIECE_COST)
}

// Costs are in hundredths of a token, so that they add up without floats. All but the first were fitted to
// o200k by least squares over the relative errors of some 1 600 files, then rounded: skills and READMEs,
// English, French and Chinese prose, Rust, TypeScript, JavaScript, Python, shell, YAML and JSON, and manual
// pages in Japanese, Korean and Russian.

/// A piece.
const PIECE_COST: usize = 100;
/// A word with a mark before it, as in `.len` and `_path`, above one with a space.
const GLUED_WORD_COST: usize = 38;
/// A letter past the fifth of a word.
const LATE_LETTER_COST: usize = 5;
/// A letter past the thirteenth of a word: by then it is seldom in any vocabulary.
const VERY_LATE_LETTER_COST: usize = 25;
/// A capital past the second in a row.
const CAPITAL_COST: usize = 18;
/// A Latin letter outside ASCII.
const ACCENTED_LETTER_COST: usize = 80;
/// A Chinese character, and likewise kana.
const IDEOGRAPH_COST: usize = 64;
/// A Korean syllable past the first of a word.
const SYLLABLE_COST: usize = 56;
/// A letter of another alphabet past the third of a word.
const FOREIGN_LETTER_COST: usize = 17;
/// An ASCII mark past the second in a row.
const LATE_MARK_COST: usize = 25;
/// A repeated mark, as in `-----`.
const REPEATED_MARK_COST: usize = 10;
/// A mark outside ASCII that starts a piece, above an ASCII one.
const WIDE_MARK_COST: usize = 30;
/// A mark that does not join the ones before it: outside ASCII, or behind repeated marks.
const SEPARATE_MARK_COST: usize = 90;
/// An emoji, above another mark.
const EMOJI_COST: usize = 90;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    #[default]
    Nothing,
    Lower,
    Upper,
    Ideograph,
    Syllable,
    Foreign,
    Digit,
    Space,
    Break,
    Mark,
}

impl CharClass {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            '\n' | '\r' => Self::Break,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => {
                Self::Ideograph
            }
            '\u{ac00}'..='\u{d7a3}' => Self::Syllable,
            _ if c.is_whitespace() => Self::Space,
            _ if c.is_numeric() => Self::Digit,
            _ if !c.is_alphabetic() => Self::Mark,
            _ if c >= '\u{250}' => Self::Foreign,
            _ if c.is_uppercase() => Self::Upper,
            _ => Self::Lower,
        }
    }

    fn is_letter(self) -> bool {
        !matches!(self, Self::Nothing | Self::Digit | Self::Space | Self::Break | Self::Mark)
    }

    /// Whether a character of this class belongs to the piece that the one before it is in. A capital behind a
    /// small letter starts a new word, as in `camelCase`; any other letter behind a letter does not.
    fn continues(self, before: Self) -> bool {
        self == before
            || self.is_letter()
                && before.is_letter()
                && (self, before) != (Self::Upper, Self::Lower)
    }
}

/// What has to be known of the text so far.
#[derive(Debug, Default)]
struct Reader {
    class: CharClass,
    previous: char,
    /// How many characters of the piece were read, without the space or mark before a word.
    length: usize,
    /// How many times in a row the last character was repeated.
    repeats: usize,
    /// Whether the piece is a single mark with no space before it: a word behind it takes it in.
    lone_mark: bool,
}

impl Reader {
    /// What `c` adds to the cost of the text.
    fn cost_of(&mut self, c: char) -> usize {
        let before = mem::replace(&mut self.class, CharClass::of(c));
        self.length = if self.class.continues(before) { self.length + 1 } else { 1 };
        let cost = match self.class {
            CharClass::Nothing => 0,
            CharClass::Digit => cost_if(self.length % 3 == 1, PIECE_COST),
            // The last of several spaces goes with what is behind it, the ones before are a piece of their own.
            CharClass::Space => cost_if(self.length <= 2, PIECE_COST),
            CharClass::Break => cost_if(
                !matches!(before, CharClass::Break | CharClass::Mark | CharClass::Space),
                PIECE_COST,
            ),
            CharClass::Mark => self.mark(c, before),
            CharClass::Ideograph => self.word_start(before) + IDEOGRAPH_COST,
            CharClass::Syllable => {
                self.word_start(before) + cost_if(self.length > 1, SYLLABLE_COST)
            }
            CharClass::Foreign => {
                self.word_start(before) + cost_if(self.length > 3, FOREIGN_LETTER_COST)
            }
            CharClass::Lower => self.word_start(before) + self.latin(c),
            CharClass::Upper => {
                self.word_start(before) + self.latin(c) + cost_if(self.length > 2, CAPITAL_COST)
            }
        };
        self.repeats = if c == self.previous { self.repeats + 1 } else { 0 };
        self.previous = c;
        cost
    }

    fn mark(&mut self, c: char, before: CharClass) -> usize {
        let first = self.length == 1;
        self.lone_mark = first && before != CharClass::Space;
        let shape = match c.is_ascii() {
            ascii if first => cost_if(!ascii, WIDE_MARK_COST),
            _ if c == self.previous => REPEATED_MARK_COST,
            true if self.repeats < 3 => cost_if(self.length > 2, LATE_MARK_COST),
            _ => SEPARATE_MARK_COST,
        };
        cost_if(self.lone_mark, PIECE_COST) + shape + cost_if(c >= '\u{1f000}', EMOJI_COST)
    }

    /// A word takes in the space before it, which is paid for, or a lone mark.
    fn word_start(&self, before: CharClass) -> usize {
        if self.length > 1 || before == CharClass::Space {
            0
        } else if before == CharClass::Mark && self.lone_mark {
            GLUED_WORD_COST
        } else {
            PIECE_COST
        }
    }

    fn latin(&self, c: char) -> usize {
        let late = match self.length {
            0..=5 => 0,
            6..=13 => LATE_LETTER_COST,
            _ => VERY_LATE_LETTER_COST,
        };
        late + cost_if(!c.is_ascii(), ACCENTED_LETTER_COST)
    }
}

fn cost_if(condition: bool, cost: usize) -> usize {
    if condition { cost } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_costs_about_a_token_a_word_and_a_little_more() {
        let text = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(20);
        let words = text.split_whitespace().count();
        let estimate = tokens(&text);
        assert!(
            estimate > words * 9 / 10 && estimate < words * 14 / 10,
            "{estimate} for {words} words"
        );
    }

    #[test]
    fn a_text_is_cut_where_the_tokeniser_cuts_it() {
        for (text, expected) in [
            ("one two three", 3),
            ("oneTwoThree", 3),
            ("12345678", 3),
            ("f 12", 3),
            ("a\n\n\nb", 3),
            ("end.\n\n\n", 2),
            ("a\n        b", 4),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_costs_nothing_and_more_never_costs_less() {
        assert_eq!(tokens(""), 0);
        let text = "let x = 42; // déjà vu 認証\n";
        let mut last = 0;
        for (end, _) in text.char_indices() {
            let now = tokens(text.get(..end).unwrap());
            assert!(now >= last);
            last = now;
        }
    }
}
