//! A request's text → the words that the keyword formula matches. Not in `route`, because `document` checks a skill's
//! keywords with the same rule.

use std::{borrow::Cow, collections::HashSet};

use rust_stemmers::{Algorithm, Stemmer};

/// A request's word or a keyword with fewer characters matches only when equal.
pub(crate) const MIN_PARTIAL_CHARS: usize = 3;

/// Words that say nothing about a task, English and French. Elided articles (`l'`, `d'`) leave single letters.
/// Words that start tasks (create, add, faire) are no stop words: authors may use them as keywords. Nor is `ai`, though
/// the French have it: it is what many skills are about.
pub(crate) const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "just", "me", "my", "no", "not", "of", "on", "or", "our",
    "out", "please", "she", "should", "so", "some", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when",
    "where", "which", "who", "will", "with", "would", "you", "your", "au", "aux", "avec", "ce",
    "ces", "cet", "cette", "d", "dans", "de", "des", "du", "elle", "elles", "en", "es", "est",
    "et", "eu", "il", "ils", "j", "je", "l", "la", "le", "les", "leur", "leurs", "lui", "m", "ma",
    "mais", "mes", "mon", "n", "ne", "nos", "notre", "nous", "on", "ont", "ou", "où", "par", "pas",
    "pour", "qu", "que", "quel", "quelle", "qui", "s", "sa", "sans", "se", "ses", "son", "sont",
    "sur", "t", "ta", "te", "tes", "ton", "tu", "un", "une", "vos", "votre", "vous", "à", "été",
    "être",
];

/// No stop word has more bytes; most words of a request do, and need no lookup.
const MAX_STOP_WORD_BYTES: usize = 6;

/// What contractions leave behind (don't → `don`, `t`). Ranked search drops these too; the keyword formula does
/// not, because authors may use them as keywords.
pub(crate) const CONTRACTED: &[&str] = &[
    "s", "t", "re", "ve", "ll", "d", "m", "don", "didn", "doesn", "isn", "aren", "wasn", "won",
    "couldn", "shouldn", "wouldn", "hasn", "haven", "im", "ive",
];

/// The lower-cased words of a text, split at everything but letters, digits and hyphens, without stop words, each once in
/// the order of first occurrences.
pub fn tokenize(context: &str) -> Vec<String> {
    let lowered = context.to_lowercase();
    let mut seen = HashSet::new();
    let mut tokens = Vec::new();
    for word in lowered.split(|c: char| !is_word(c)) {
        // A lone dash is punctuation, not a word.
        if !word.chars().any(char::is_alphanumeric) || is_stop_word(word) {
            continue;
        }
        if seen.insert(word) {
            tokens.push(word.to_owned());
        }
    }
    tokens
}

/// Longer words are left as they are: they are not words of a language, and the stemmer's time grows with their square.
const MAX_STEMMED_BYTES: usize = 64;

/// The stem that a word shares with its other forms: `proxies` and `proxy` have the same.
pub fn stem(word: &str) -> String {
    stem_with(&Stemmer::create(Algorithm::English), word).into_owned()
}

pub(crate) fn stem_with<'a>(stemmer: &Stemmer, word: &'a str) -> Cow<'a, str> {
    if word.len() > MAX_STEMMED_BYTES { Cow::Borrowed(word) } else { stemmer.stem(word) }
}

/// Whether a word has fewer than [`MIN_PARTIAL_CHARS`] characters.
pub(crate) fn is_short(word: &str) -> bool {
    word.chars().nth(MIN_PARTIAL_CHARS - 1).is_none()
}

/// Letters, digits, the hyphen, and accents written as characters of their own.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || ('\u{300}'..='\u{36f}').contains(&c)
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    word.len() <= MAX_STOP_WORD_BYTES && STOP_WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_1_stop_words_go_and_the_rest_keeps_its_order() {
        let tokens = tokenize("Create a React component for the authentication");
        assert_eq!(tokens, ["create", "react", "component", "authentication"]);
    }

    // ROUTE-1
    #[test]
    fn apostrophes_and_punctuation_separate_but_hyphens_do_not() {
        assert_eq!(tokenize("l'authentification, qu’il faut!"), ["authentification", "faut"]);
        assert_eq!(
            tokenize("docker-compose -- node.js / user_id"),
            ["docker-compose", "node", "js", "user", "id"]
        );
    }

    // ROUTE-1
    #[test]
    fn words_count_once_in_the_order_they_came() {
        assert_eq!(tokenize("React react REACT auth react"), ["react", "auth"]);
    }

    #[test]
    fn forms_of_a_word_have_the_same_stem() {
        assert_eq!(stem("proxies"), stem("proxy"));
        assert_ne!(stem("proxy"), stem("nginx"));
        assert_eq!(stem(&"x".repeat(100)), "x".repeat(100));
    }

    #[test]
    fn no_stop_word_is_longer_than_the_longest() {
        assert_eq!(STOP_WORDS.iter().map(|word| word.len()).max(), Some(MAX_STOP_WORD_BYTES));
    }

    // ROUTE-1
    #[test]
    fn only_stop_words_leave_nothing() {
        assert!(tokenize("le la les of the à — …").is_empty());
    }
}
