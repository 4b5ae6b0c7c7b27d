//! Text → [`TermHash`]s: words stemmed, compounds both whole and in parts.
//!
//! Skills and requests pass through here alike. `third-party` gives its parts and the whole, so that it meets
//! `third party` and `thirdparty`; the whole is marked as joined, so that a request does not count it thrice.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::BuildHasherDefault,
    ops::Range,
    sync::LazyLock,
};

use rust_stemmers::{Algorithm, Stemmer};

use super::{
    term::{TermHash, TermHasher, hash},
    words::{PlainWord, find, is_ideograph, next_word_start, parts, word_end},
};
use crate::tokens::{CONTRACTED, STOP_WORDS, stem_with};

/// One term and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchToken {
    /// The stemmed word.
    pub(super) term: TermHash,
    /// A compound whose parts are tokens too.
    pub(super) joined: bool,
    /// Its bytes in the text.
    pub(super) at: Range<usize>,
}

/// Words that are not indexed.
static DROPPED_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STOP_WORDS.iter().chain(CONTRACTED).copied().collect());

/// A tokenizer that has seen so many different words clears its cache.
const MAX_CACHED_WORDS: usize = 28_000;

/// Splits texts into terms and caches their stems: most words occur more than once, and stemming takes most of the time.
pub struct Tokenizer {
    stemmer: Stemmer,
    /// By a hash of the word, as for terms.
    known: HashMap<u64, KnownWord, BuildHasherDefault<TermHasher>>,
    lowered: String,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug, Clone, Copy)]
struct KnownWord {
    term: TermHash,
    dropped: bool,
}

impl Tokenizer {
    /// A tokenizer with an empty cache.
    pub fn new() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        Self { stemmer, known: HashMap::default(), lowered: String::new() }
    }

    /// The term of these pieces joined, stop word or not.
    pub(super) fn term<'a>(&mut self, pieces: impl IntoIterator<Item = &'a str>) -> TermHash {
        self.lookup(pieces).term
    }

    fn lookup<'a>(&mut self, pieces: impl IntoIterator<Item = &'a str>) -> KnownWord {
        self.lowered.clear();
        for piece in pieces {
            if piece.is_ascii() {
                self.lowered.push_str(piece);
            } else {
                self.lowered.push_str(&piece.to_lowercase());
            }
        }
        self.lowered.make_ascii_lowercase();
        let word = self.lowered.as_str();
        if self.known.len() >= MAX_CACHED_WORDS {
            self.known.clear();
        }
        *self.known.entry(hash(word)).or_insert_with(|| {
            let stem = stem_with(&self.stemmer, word);
            KnownWord { term: TermHash::new(&stem), dropped: DROPPED_WORDS.contains(word) }
        })
    }

    /// Emits every token of a text without contractions ([`super::words::without_contractions`]), in order; a compound
    /// comes before its parts.
    pub(super) fn scan(&mut self, text: &str, emit: &mut impl FnMut(SearchToken)) {
        let mut at = 0;
        while let Some(start) = next_word_start(text, at) {
            let rest = text.get(start..).unwrap_or_default();
            at = if let Some(word) = PlainWord::new(rest.as_bytes()) {
                // A shortcut with the same result that nearly every word takes.
                self.plain(word, text, start, emit);
                start + word.length
            } else {
                self.word(text, start, emit)
            };
        }
    }

    /// Emits the tokens of the word or the run of ideographs that starts here; returns its end.
    fn word(&mut self, text: &str, start: usize, emit: &mut impl FnMut(SearchToken)) -> usize {
        let rest = text.get(start..).unwrap_or_default();
        if rest.starts_with(is_ideograph) {
            let end = find(text, start, |c| !is_ideograph(c)).unwrap_or(text.len());
            ideographs(text, start..end, emit);
            return end;
        }
        let word = rest.get(..word_end(rest)).unwrap_or_default();
        let mut at = start;
        for piece in word.split('/') {
            match PlainWord::new(piece.as_bytes()).filter(|plain| plain.length == piece.len()) {
                Some(plain) => self.plain(plain, text, at, emit),
                None => self.piece(text, at..at + piece.len(), emit),
            }
            at += piece.len() + 1;
        }
        start + word.len()
    }

    /// Emits the tokens of a word, or of a part between slashes.
    fn piece(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(SearchToken)) {
        let piece = text.get(at.clone()).unwrap_or_default();
        let trunk = piece.trim_end_matches(['+', '#']);
        if trunk.len() < piece.len() {
            // `c#` and `c++` are names; a stemmer knows nothing of them.
            let term = TermHash::new(&piece.to_lowercase());
            emit(SearchToken { term, joined: true, at: at.clone() });
        }
        let parts = parts(trunk);
        if (2..=3).contains(&parts.len()) {
            let term = self.term(parts.iter().filter_map(|part| trunk.get(part.clone())));
            emit(SearchToken { term, joined: true, at: at.start..at.start + trunk.len() });
        }
        for part in parts {
            self.part(text, at.start + part.start..at.start + part.end, emit);
        }
    }

    fn plain(
        &mut self,
        word: PlainWord,
        text: &str,
        start: usize,
        emit: &mut impl FnMut(SearchToken),
    ) {
        let at = start..start + word.length;
        let known = self.known.get(&word.hash).copied();
        let KnownWord { term, dropped } =
            known.unwrap_or_else(|| self.lookup(text.get(at.clone())));
        if !dropped {
            emit(SearchToken { term, joined: false, at });
        }
    }

    fn part(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(SearchToken)) {
        let part = text.get(at.clone()).unwrap_or_default();
        let KnownWord { term, dropped } = self.lookup([part]);
        if dropped {
            return;
        }
        let mixed = part.chars().nth(2).is_some()
            && part.contains(char::is_numeric)
            && part.contains(|c: char| !c.is_numeric());
        emit(SearchToken { term, joined: mixed, at: at.clone() });
        if mixed {
            self.runs(text, at, emit);
        }
    }

    /// The letters and the digits of `ec2` or `utf8`, each by itself; a single letter says too little.
    fn runs(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(SearchToken)) {
        let mut start = at.start;
        while start < at.end {
            let rest = text.get(start..at.end).unwrap_or_default();
            let digits = rest.starts_with(char::is_numeric);
            let length = rest.find(|c: char| c.is_numeric() != digits).unwrap_or(rest.len());
            let run = rest.get(..length).unwrap_or_default();
            if digits || run.chars().nth(1).is_some() {
                emit(SearchToken {
                    term: self.term([run]),
                    joined: false,
                    at: start..start + length,
                });
            }
            start += length;
        }
    }
}

/// Emits the pairs of neighbouring ideographs; a single one is a token by itself.
fn ideographs(text: &str, at: Range<usize>, emit: &mut impl FnMut(SearchToken)) {
    let run = text.get(at.clone()).unwrap_or_default();
    let mut emit = |start, end| {
        let at = at.start + start..at.start + end;
        let term = TermHash::new(text.get(at.clone()).unwrap_or_default());
        emit(SearchToken { term, joined: false, at });
    };
    let ends = || run.char_indices().map(|(at, c)| at + c.len_utf8());
    if ends().nth(1).is_none() {
        emit(0, run.len());
    }
    for ((start, _), end) in run.char_indices().zip(ends().skip(1)) {
        emit(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::words::without_contractions, *};

    /// The tokens of a text must be those listed: as `written=stem`, the stem left out where it is what was written,
    /// lower-cased; with a `+` where joined.
    fn check(text: &str, expected: &str) {
        let text = without_contractions(text);
        let mut found = Vec::new();
        Tokenizer::new().scan(&text, &mut |token| found.push(token));
        let found: Vec<(&str, bool, TermHash)> = found
            .into_iter()
            .map(|token| (text.get(token.at).unwrap(), token.joined, token.term))
            .collect();
        let expected: Vec<(&str, bool, TermHash)> = expected
            .split_whitespace()
            .map(|token| {
                let bare = token.strip_prefix('+').unwrap_or(token);
                let (written, stem) = bare.split_once('=').unwrap_or((bare, bare));
                (written, bare != token, TermHash::new(&stem.to_lowercase()))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_stemmed_and_stop_words_dropped() {
        check("Deploying the files, merged!", "Deploying=deploy files=file merged=merg");
        check("générer une clé pour l'authentification", "générer clé authentification=authentif");
        check("of the le la les à don won im", "");
        check("AI skills", "AI skills=skill");
        check("X r 5", "X r 5");
    }

    #[test]
    fn contractions_and_possessives_vanish() {
        check("user's users' USER’S", "user users=user USER");
        check("I've don't we'll they're I'm he'd", "");
        check("d'Artagnan's o'street", "Artagnan o street");
        check("it's_ 'sand", "sand");
    }

    #[test]
    fn compounds_give_the_whole_and_the_parts() {
        check("third-party", "+third-party=thirdparti third party=parti");
        check("snake_case", "+snake_case=snakecas snake case");
        check("camelCase", "+camelCase=camelcas camel Case");
        check("HTTPServer", "+HTTPServer=httpserver HTTP Server");
        check("node.js", "+node.js=nodej node js");
        check("how-to", "+how-to=howto");
        // Four parts are a sentence, not a name.
        check("one-two-four-five", "one two four five");
        check("src/main.rs", "src +main.rs=mainr main rs");
        check("c--b", "c b");
    }

    #[test]
    fn names_with_marks_are_kept_whole() {
        check("C#", "+C#=c# C");
        check("c++.", "+c++ c");
        check("c++11", "+c++ c 11");
        check("a+b", "+a+b=ab b");
        check("F#/C#", "+F#=f# F +C#=c# C");
    }

    #[test]
    fn letters_and_digits_are_split() {
        check("ec2", "+ec2 ec 2");
        check("utf8mb4", "+utf8mb4 utf 8 mb 4");
        check("s3 v6", "s3 v6");
        check("d3.js", "+d3.js=d3js d3 js");
        check("x86", "+x86 86");
        check("2024", "2024");
    }

    #[test]
    fn han_and_kana_give_pairs() {
        check("認証設定", "認証 証設 設定");
        check("認", "認");
        check("React認証", "React 認証");
        check("テスト", "テス スト");
    }

    #[test]
    fn plain_words_are_only_a_shortcut() {
        let pieces =
            ["b", "Z", "YX", "12", ".", "-", "/", "_", "+", "#", " ", ",", "é", "認", "ing"];
        let mut texts: Vec<String> = pieces.map(str::to_owned).to_vec();
        for _ in 0..3 {
            let longer = |text: &String| pieces.map(|piece| format!("{text}{piece}"));
            texts = texts.iter().flat_map(longer).collect();
        }
        let mut tokenizer = Tokenizer::new();
        for text in &texts {
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            tokenizer.scan(text, &mut |token| found.push(token));
            let mut at = 0;
            while let Some(start) = find(text, at, |c| c.is_alphanumeric() || is_ideograph(c)) {
                let rest = text.get(start..).unwrap();
                at = start + word_end(rest);
                if rest.starts_with(is_ideograph) {
                    at = tokenizer.word(text, start, &mut |token| expected.push(token));
                    continue;
                }
                let mut from = start;
                for piece in text.get(start..at).unwrap().split('/') {
                    tokenizer
                        .piece(text, from..from + piece.len(), &mut |token| expected.push(token));
                    from += piece.len() + 1;
                }
            }
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn long_words_are_not_stemmed() {
        let long = "y".repeat(30_000) + "ing";
        check(&long, &long);
    }

    #[test]
    fn a_tokenizer_with_a_cleared_cache_finds_the_same_terms() {
        let mut tokenizer = Tokenizer::new();
        let before = tokenizer.term(["deploying"]);
        for number in 0..=MAX_CACHED_WORDS {
            tokenizer.term([number.to_string().as_str()]);
        }
        assert!(tokenizer.known.len() <= MAX_CACHED_WORDS);
        assert_eq!(tokenizer.term(["deploying"]), before);
    }
}
