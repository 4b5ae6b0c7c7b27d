//! A request's text → the words that distinguish it from others, each known by its stem.

use std::collections::{BTreeMap, HashMap};

use skills_core::route;

/// Of a longer text only the beginning is looked at.
const MAX_TEXT_CHARS: usize = 2_000;
/// So many words of a request are looked at.
const MAX_WORDS: usize = 40;
/// Words that start tasks and say nothing about them. They may well be keywords, and so are no stop words of the search.
const TASKS: &[&str] = &[
    "add",
    "ajouter",
    "build",
    "change",
    "configure",
    "configurer",
    "correctly",
    "create",
    "créer",
    "do",
    "doing",
    "explain",
    "faire",
    "fix",
    "get",
    "give",
    "help",
    "how",
    "implement",
    "improve",
    "like",
    "make",
    "mettre",
    "modifier",
    "need",
    "new",
    "nouveau",
    "nouvelle",
    "properly",
    "review",
    "set",
    "setup",
    "show",
    "update",
    "use",
    "using",
    "utiliser",
    "veux",
    "want",
    "write",
    "écrire",
];

/// A stem's number.
pub(super) type WordTerm = usize;

/// All words that were met.
#[derive(Debug, Default)]
pub(super) struct TextWords {
    /// Word → the number of its stem; none for one that says nothing.
    known: HashMap<String, Option<WordTerm>>,
    stems: HashMap<String, WordTerm>,
}

impl TextWords {
    /// The words of a text, each stem once, with how it is written here; in their order.
    pub(super) fn of(&mut self, text: &str) -> Vec<(WordTerm, String)> {
        let beginning: String = text.chars().take(MAX_TEXT_CHARS).collect();
        let mut terms: Vec<(WordTerm, String)> = Vec::new();
        for word in route::tokenize(&beginning) {
            let Some(term) = self.term(&word) else { continue };
            if !terms.iter().any(|(known, _)| *known == term) {
                terms.push((term, word));
            }
            if terms.len() == MAX_WORDS {
                break;
            }
        }
        terms
    }

    fn term(&mut self, word: &str) -> Option<WordTerm> {
        if let Some(known) = self.known.get(word) {
            return *known;
        }
        let says_nothing = TASKS.contains(&word)
            || word.chars().all(|c| !c.is_alphabetic())
            || word.chars().count() < 2;
        let term = (!says_nothing).then(|| {
            let next = self.stems.len();
            *self.stems.entry(route::stem(word)).or_insert(next)
        });
        self.known.insert(word.to_owned(), term);
        term
    }

    /// How many different stems there are.
    pub(super) fn len(&self) -> usize {
        self.stems.len()
    }
}

/// How a stem is written most often.
#[derive(Debug, Default)]
pub(super) struct WordSpelling(BTreeMap<String, u64>);

impl WordSpelling {
    pub(super) fn add(&mut self, word: &str) {
        if let Some(known) = self.0.get_mut(word) {
            *known += 1;
        } else {
            self.0.insert(word.to_owned(), 1);
        }
    }

    /// The most frequent; of several the first by alphabet.
    pub(super) fn word(&self) -> String {
        let most = self.0.iter().rev().max_by_key(|(_, n)| **n);
        most.map(|(word, _)| word.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_once_in_whatever_form_and_empty_words_do_not() {
        let mut words = TextWords::default();
        let terms = words.of("Configure the nginx proxies, then a 2nd proxy on port 8080");
        let written: Vec<&str> = terms.iter().map(|(_, word)| word.as_str()).collect();
        assert_eq!(written, ["nginx", "proxies", "2nd", "port"]);
        assert_eq!(words.of("proxy").first().map(|(term, _)| *term), Some(terms[1].0));
        assert!(
            words.of("how do I create new ones? 1 2 3 x").iter().all(|(_, word)| word == "ones")
        );
    }

    #[test]
    fn a_stem_is_written_as_most_write_it() {
        let mut spelling = WordSpelling::default();
        for word in ["proxies", "proxy", "proxy", "proxied"] {
            spelling.add(word);
        }
        assert_eq!(spelling.word(), "proxy");
    }
}
