//! [`ParsedQuery`]: a request's text → its terms, each with a weight.
//!
//! What a request quotes at length is material to work on rather than the task, so it counts little. A file
//! extension says what the material is, so it counts more.

use std::{borrow::Cow, ops::Range};

use super::{
    term::{TermHash, TermHashMap},
    tokens::Tokenizer,
    words::{is_word, without_contractions},
};
use crate::route::MAX_REQUEST_CHARS;

/// The weight of a compound beside its parts.
const COMPOUND_WEIGHT: f64 = 0.1;
/// The weight of a word in a quoted passage.
const QUOTED_WEIGHT: f64 = 0.1;
/// A shorter quotation is a term or a title, not a passage.
const MIN_PASSAGE_CHARS: usize = 40;
/// The weight that a file extension adds to its word.
const EXTENSION_WEIGHT: f64 = 2.0;

/// A parsed request.
#[derive(Debug, Default)]
pub(super) struct ParsedQuery {
    /// Its terms and how much each counts, in the order of their first occurrences.
    pub(super) terms: Vec<(TermHash, f64)>,
    numbers: TermHashMap<usize>,
    /// The terms and their numbers, ascending by term.
    pub(super) ascending: Vec<(TermHash, usize)>,
    /// Every token, in order.
    words: Vec<QueryWord>,
    /// What the tokens look like, lower-cased, each once.
    spellings: Vec<String>,
    spelled: TermHashMap<usize>,
}

/// A token of the request.
#[derive(Debug)]
struct QueryWord {
    /// Its number among the terms.
    term: usize,
    /// Its number among the spellings.
    spelling: usize,
    /// Its bytes, counted over all pieces.
    at: Range<usize>,
}

impl ParsedQuery {
    pub(super) fn new(query: &str) -> Self {
        let query = query
            .char_indices()
            .nth(MAX_REQUEST_CHARS)
            .map_or(query, |(end, _)| query.get(..end).unwrap_or_default());
        let mut request = Self::default();
        let mut tokenizer = Tokenizer::new();
        for (quoted, piece) in passages(query) {
            request.read(piece, if quoted { QUOTED_WEIGHT } else { 1.0 }, &mut tokenizer);
        }
        for extension in extensions(query) {
            let term = tokenizer.term([extension]);
            request.count(term, EXTENSION_WEIGHT);
        }
        request.ascending = request.numbers.drain().collect();
        request.ascending.sort_unstable();
        request
    }

    fn read(&mut self, piece: &str, weight: f64, tokenizer: &mut Tokenizer) {
        let piece = without_contractions(piece);
        // Behind all earlier pieces, so that no two tokens of different pieces overlap.
        let start = self.words.last().map_or(0, |word| word.at.end);
        tokenizer.scan(&piece, &mut |token| {
            let weight = if token.joined { COMPOUND_WEIGHT * weight } else { weight };
            let term = self.count(token.term, weight);
            let spelling = self.spell(piece.get(token.at.clone()).unwrap_or_default());
            let at = start + token.at.start..start + token.at.end;
            self.words.push(QueryWord { term, spelling, at });
        });
    }

    /// The number of a spelling.
    fn spell(&mut self, written: &str) -> usize {
        let word = if written.bytes().all(|byte| byte.is_ascii_lowercase()) {
            Cow::Borrowed(written)
        } else {
            Cow::Owned(written.to_lowercase())
        };
        let number = *self.spelled.entry(TermHash::new(&word)).or_insert(self.spellings.len());
        if number == self.spellings.len() {
            self.spellings.push(word.into_owned());
        }
        number
    }

    /// Adds to a term's weight; returns its number.
    fn count(&mut self, term: TermHash, weight: f64) -> usize {
        let number = *self.numbers.entry(term).or_insert(self.terms.len());
        match self.terms.get_mut(number) {
            Some((_, sum)) => *sum += weight,
            None => self.terms.push((term, weight)),
        }
        number
    }

    /// The words, lower-cased, whose terms occur in a skill, each once; a compound that occurs stands for its parts.
    pub(super) fn words(&self, occurs: impl Fn(usize) -> bool) -> Vec<String> {
        let mut words = Vec::new();
        let mut listed = vec![false; self.spellings.len()];
        let mut covered = 0;
        for QueryWord { term, spelling, at } in &self.words {
            if at.start < covered || !occurs(*term) {
                continue;
            }
            covered = at.end;
            if let Some(listed) = listed.get_mut(*spelling)
                && !std::mem::replace(listed, true)
            {
                words.extend(self.spellings.get(*spelling).cloned());
            }
        }
        words
    }
}

/// The request in pieces, in order, and whether each is a quoted passage.
fn passages(query: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut marks = marks(query);
    while let Some(open) = marks.find(|mark| mark.opens) {
        // Without an end there is no quotation, here or further on.
        let Some(close) = marks.find(|mark| mark.closes) else { break };
        let inside = query.get(open.at.end..close.at.start).unwrap_or_default();
        if inside.chars().nth(MIN_PASSAGE_CHARS - 1).is_some() {
            pieces.push((false, query.get(start..open.at.start).unwrap_or_default()));
            pieces.push((true, inside));
            start = close.at.end;
        }
    }
    pieces.push((false, query.get(start..).unwrap_or_default()));
    pieces
}

struct QuoteMark {
    at: Range<usize>,
    opens: bool,
    closes: bool,
}

/// The quotation marks of a text, and whether each may open or close a quotation there.
fn marks(text: &str) -> impl Iterator<Item = QuoteMark> {
    let neighbours = text.char_indices().zip(text.chars().skip(1).map(Some).chain([None]));
    neighbours
        .scan(None, |last, ((at, c), after)| {
            let before = last.replace(c);
            let is = |c: Option<char>, class: fn(char) -> bool| c.is_some_and(class);
            Some(QuoteMark {
                at: at..at + c.len_utf8(),
                opens: matches!(c, '\'' | '"' | '‘' | '“')
                    && !is(before, char::is_alphanumeric)
                    && !is(after, char::is_whitespace),
                closes: matches!(c, '\'' | '"' | '’' | '”')
                    && !is(after, char::is_alphanumeric)
                    && !is(before, char::is_whitespace),
            })
        })
        .filter(|mark| mark.opens || mark.closes)
}

/// `xlsx` of `sales.xlsx`, `*.xlsx` and `{name}.xlsx`; two to five characters.
fn extensions(query: &str) -> impl Iterator<Item = &str> {
    query.match_indices('.').filter_map(|(at, dot)| {
        let (before, rest) = query.split_at_checked(at)?;
        let rest = rest.strip_prefix(dot)?;
        let named = before.ends_with(|c: char| is_word(c) || matches!(c, '}' | '*'));
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (extension, behind) = rest.split_at_checked(end)?;
        let spelled =
            (2..=5).contains(&end) && extension.starts_with(|c: char| c.is_ascii_alphabetic());
        (named && spelled && ends(behind)).then_some(extension)
    })
}

/// Whether a file name may end in front of this: a full stop must then end the sentence too.
fn ends(behind: &str) -> bool {
    let mut chars = behind.chars();
    match chars.next() {
        Some('.') => chars.next().is_none_or(char::is_whitespace),
        Some(c) => c.is_whitespace() || matches!(c, '`' | '\'' | '"' | ',' | ';' | ':' | ')' | ']'),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::entry::{SearchEntry, SearchText},
        *,
    };

    /// The weight of a stem, 0 if the request does not have it.
    fn weight(query: &str, stem: &str) -> f64 {
        let request = ParsedQuery::new(query);
        request
            .terms
            .iter()
            .find(|(term, _)| *term == TermHash::new(stem))
            .map_or(0.0, |found| found.1)
    }

    fn check(query: &str, stem: &str, expected: f64) {
        let found = weight(query, stem);
        assert!((found - expected).abs() < 1e-12, "{stem} in {query}: {found}");
    }

    #[test]
    fn occurrences_add_up_and_compounds_count_a_tenth() {
        check("merge and merged merging", "merg", 3.0);
        check("third-party", "third", 1.0);
        check("third-party", "thirdparti", 0.1);
        check("the", "the", 0.0);
    }

    #[test]
    fn long_quotations_are_damped() {
        let passage = "rewrite this sentence about databases, please do";
        for (open, close) in [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')] {
            let query = format!("shorten it: {open}{passage}{close}. And databases");
            check(&query, "shorten", 1.0);
            check(&query, "sentenc", 0.1);
            check(&query, "databas", 1.1);
        }
        // Short ones are terms or titles.
        check(r#"make a page called "all databases""#, "databas", 1.0);
        check(&format!("shorten \"{passage}"), "databas", 1.0);
        check(&format!("shorten \" {passage}\""), "databas", 1.0);
        check(&format!("5\"{passage}\""), "databas", 1.0);
        // An apostrophe inside does not end a quotation.
        check(&format!("shorten 'don't {passage}'"), "databas", 0.1);
        check(&format!("shorten \"third-party {passage}\""), "thirdparti", 0.01);
    }

    #[test]
    fn forty_characters_make_a_passage() {
        check(&format!("\"{}\"", "database ".repeat(4) + "fo"), "databas", 4.0);
        check(&format!("\"{}\"", "database ".repeat(4) + "four"), "databas", 0.4);
    }

    #[test]
    fn file_extensions_count_two_more() {
        check("fix sales.xlsx", "xlsx", 3.0);
        check("fix `sales.XLSX`, then a.xlsx.", "xlsx", 6.0);
        check("all *.csv and {name}.csv: done", "csv", 6.0);
        check("(see notes.md)", "md", 3.0);
        // Not extensions.
        check("sales.xlsx/x", "xlsx", 1.0);
        check("a.b.toolong", "toolong", 1.0);
        check(".env file", "env", 1.0);
        check("version 1.25 x.5z", "25", 1.0);
        check("a.md.bak", "md", 1.0);
    }

    #[test]
    fn words_come_as_written_the_whole_before_its_parts() {
        let request = ParsedQuery::new("Merge third-party files, merge Node.js files; User's");
        let words = |body| {
            let mut found = Vec::new();
            let skill = SearchEntry::new(&SearchText { body, ..SearchText::default() });
            skill.find(&request.ascending, |number, _| found.push(number));
            request.words(|number| found.contains(&number))
        };
        let whole = ["merge", "third-party", "files", "node.js", "user"];
        assert_eq!(words("users merged: third-party file, node.js"), whole);
        assert_eq!(words("a party for node users"), ["party", "node", "user"]);
        assert!(words("else").is_empty());
    }

    #[test]
    fn a_request_is_considered_up_to_a_bound() {
        let query = "é ".repeat(MAX_REQUEST_CHARS / 2) + "beyond";
        assert_eq!(ParsedQuery::new(&query).terms.len(), 1);
    }
}
