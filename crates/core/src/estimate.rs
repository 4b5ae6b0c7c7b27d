//! How many tokens a text costs, roughly.
//!
//! Tokenisers differ by model and are large; budgets need only an estimate. This one looks at runs of
//! characters by class: a run of Latin letters costs by its length, digits and punctuation by theirs, other
//! scripts by the character. It is deterministic and allocates nothing.

/// The estimated number of tokens in `text`.
pub fn tokens(text: &str) -> usize {
    let mut total = 0;
    let mut run = Run::None;
    let mut length = 0;
    for c in text.chars() {
        let next = Run::of(c);
        if next != run {
            total += run.cost(length);
            run = next;
            length = 0;
        }
        length += 1;
    }
    (total + run.cost(length)).div_ceil(SCALE)
}

/// Costs are counted in hundredths of a token, so that they add up without floats.
const SCALE: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    None,
    Ascii,
    Accented,
    Digit,
    Space,
    Break,
    Mark,
    Other,
}

impl Run {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Ascii,
            '0'..='9' => Self::Digit,
            '\n' | '\r' => Self::Break,
            _ if c.is_whitespace() => Self::Space,
            '\u{c0}'..='\u{24f}' => Self::Accented,
            _ if c.is_alphabetic() => Self::Other,
            _ => Self::Mark,
        }
    }

    /// Hundredths of a token for a run of `length` characters. A single space belongs to the word behind it.
    fn cost(self, length: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Ascii => 90 + length.saturating_sub(5) * 8,
            Self::Accented => 40 * length,
            Self::Digit => 100 * length.div_ceil(3),
            Self::Space => length.saturating_sub(1).min(1) * 50,
            Self::Break => 60,
            Self::Mark => 45 * length + 25,
            Self::Other => 75 * length,
        }
    }
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
