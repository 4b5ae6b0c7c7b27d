//! Text → [`Term`]s: words stemmed, compounds both whole and in parts.
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
    term::{Hashed, Term, hash},
    words::{PlainWord, begin, find, is_ideograph, parts, word_end},
};
use crate::tokens::{CONTRACTED, STOP_WORDS};

/// One term where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// What it counts as.
    pub(super) term: Term,
    /// A whole whose parts are tokens too.
    pub(super) joined: bool,
    /// Its bytes in the text.
    pub(super) at: Range<usize>,
}

/// Words that say nothing.
static DROPPED: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STOP_WORDS.iter().chain(CONTRACTED).copied().collect());

/// Longer words are no words of a language; the stemmer's time grows with their square.
const LONGEST_STEMMED: usize = 64;

/// A tokenizer that has met so many different words forgets them.
const MOST_KNOWN: usize = 28_000;

/// Finds terms, and remembers them: most words come more than once, and stemming is what takes time.
pub struct Tokenizer {
    stemmer: Stemmer,
    /// By a hash of the word, like terms themselves.
    known: HashMap<u64, Known, BuildHasherDefault<Hashed>>,
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
struct Known {
    term: Term,
    dropped: bool,
}

impl Tokenizer {
    /// One that has met no words yet.
    pub fn new() -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        Self { stemmer, known: HashMap::default(), lowered: String::new() }
    }

    /// The term of what these pieces make together, stop word or not.
    pub(super) fn term<'a>(&mut self, pieces: impl IntoIterator<Item = &'a str>) -> Term {
        self.know(pieces).term
    }

    fn know<'a>(&mut self, pieces: impl IntoIterator<Item = &'a str>) -> Known {
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
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        *self.known.entry(hash(word)).or_insert_with(|| {
            let stem =
                if word.len() > LONGEST_STEMMED { word.into() } else { self.stemmer.stem(word) };
            Known { term: Term::new(&stem), dropped: DROPPED.contains(word) }
        })
    }

    /// Every token of a text from which [`super::words::spoken`] took the contractions, in order; a whole comes before its
    /// parts.
    pub(super) fn scan(&mut self, text: &str, emit: &mut impl FnMut(Token)) {
        let mut at = 0;
        while let Some(start) = begin(text, at) {
            let rest = text.get(start..).unwrap_or_default();
            at = if let Some(word) = PlainWord::new(rest.as_bytes()) {
                // The other way would come to the same, but nearly every word ends here.
                self.plain(word, text, start, emit);
                start + word.length
            } else {
                self.word(text, start, emit)
            };
        }
    }

    /// The tokens of the word or the run of ideographs that starts here; where it ends.
    fn word(&mut self, text: &str, start: usize, emit: &mut impl FnMut(Token)) -> usize {
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

    /// A word or what stands between its slashes.
    fn piece(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(Token)) {
        let piece = text.get(at.clone()).unwrap_or_default();
        let trunk = piece.trim_end_matches(['+', '#']);
        if trunk.len() < piece.len() {
            // `c#` and `c++` are names; a stemmer knows nothing of them.
            let term = Term::new(&piece.to_lowercase());
            emit(Token { term, joined: true, at: at.clone() });
        }
        let parts = parts(trunk);
        if (2..=3).contains(&parts.len()) {
            let term = self.term(parts.iter().filter_map(|part| trunk.get(part.clone())));
            emit(Token { term, joined: true, at: at.start..at.start + trunk.len() });
        }
        for part in parts {
            self.part(text, at.start + part.start..at.start + part.end, emit);
        }
    }

    fn plain(&mut self, word: PlainWord, text: &str, start: usize, emit: &mut impl FnMut(Token)) {
        let at = start..start + word.length;
        let known = self.known.get(&word.hash).copied();
        let Known { term, dropped } = known.unwrap_or_else(|| self.know(text.get(at.clone())));
        if !dropped {
            emit(Token { term, joined: false, at });
        }
    }

    fn part(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(Token)) {
        let part = text.get(at.clone()).unwrap_or_default();
        let Known { term, dropped } = self.know([part]);
        if dropped {
            return;
        }
        let mixed = part.chars().nth(2).is_some()
            && part.contains(char::is_numeric)
            && part.contains(|c: char| !c.is_numeric());
        emit(Token { term, joined: mixed, at: at.clone() });
        if mixed {
            self.runs(text, at, emit);
        }
    }

    /// The letters and the digits of `ec2` or `utf8`, each by itself; a single letter says too little.
    fn runs(&mut self, text: &str, at: Range<usize>, emit: &mut impl FnMut(Token)) {
        let mut start = at.start;
        while start < at.end {
            let rest = text.get(start..at.end).unwrap_or_default();
            let digits = rest.starts_with(char::is_numeric);
            let length = rest.find(|c: char| c.is_numeric() != digits).unwrap_or(rest.len());
            let run = rest.get(..length).unwrap_or_default();
            if digits || run.chars().nth(1).is_some() {
                emit(Token { term: self.term([run]), joined: false, at: start..start + length });
            }
            start += length;
        }
    }
}

/// The pairs of neighbours; a character alone stands for itself.
fn ideographs(text: &str, at: Range<usize>, emit: &mut impl FnMut(Token)) {
    let run = text.get(at.clone()).unwrap_or_default();
    let mut emit = |start, end| {
        let at = at.start + start..at.start + end;
        let term = Term::new(text.get(at.clone()).unwrap_or_default());
        emit(Token { term, joined: false, at });
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
    use super::{super::words::spoken, *};

    /// The tokens of a text must be those listed: as `written=stem`, the stem left out where it is what was written,
    /// lower-cased; with a `+` where joined.
    fn check(text: &str, expected: &str) {
        let text = spoken(text);
        let mut found = Vec::new();
        Tokenizer::new().scan(&text, &mut |token| found.push(token));
        let found: Vec<(&str, bool, Term)> = found
            .into_iter()
            .map(|token| (text.get(token.at).unwrap(), token.joined, token.term))
            .collect();
        let expected: Vec<(&str, bool, Term)> = expected
            .split_whitespace()
            .map(|token| {
                let bare = token.strip_prefix('+').unwrap_or(token);
                let (written, stem) = bare.split_once('=').unwrap_or((bare, bare));
                (written, bare != token, Term::new(&stem.to_lowercase()))
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
    fn plain_words_are_but_a_short_cut() {
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
    fn a_tokenizer_that_forgot_finds_the_same_terms() {
        let mut tokenizer = Tokenizer::new();
        let before = tokenizer.term(["deploying"]);
        for number in 0..=MOST_KNOWN {
            tokenizer.term([number.to_string().as_str()]);
        }
        assert!(tokenizer.known.len() <= MOST_KNOWN);
        assert_eq!(tokenizer.term(["deploying"]), before);
    }
}
