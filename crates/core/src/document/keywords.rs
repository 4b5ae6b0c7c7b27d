//! `keywords`: which words a skill is found by, and what is wrong with them.
//!
//! A keyword is kept as its author wrote it and matched by the keyword formula (`route`); here it is only checked. Not
//! here: how a request is matched.

use super::fields::missing;
use crate::{
    diagnostic::{Code, Finding, Position},
    tokens::{is_short, is_stop_word, tokenize},
    yaml::YamlNode,
};

/// No keyword needs more, and the index tries every length that a keyword has.
const MAX_KEYWORD_CHARS: usize = 100;
/// Every word that is a part of a keyword matches it, so a longer one is a sentence that matches by accident.
const MAX_WORD_CHARS: usize = 40;
/// How many keywords one finding lists.
const MAX_LISTED_KEYWORDS: usize = 3;

/// Letter groups that more than six in a thousand different words contain, sorted: counted over the descriptions of 5,060
/// real skills, plus French endings. Such a keyword matches requests about anything. Words of their own (`form`, `log`, `port`) and stop words are not in
/// the list.
const COMMON_FRAGMENTS: &[&str] = &[
    "abl", "ack", "acti", "ain", "aire", "ais", "ait", "ali", "ana", "anc", "ance", "ans", "ari",
    "ase", "ass", "ates", "ati", "atio", "ation", "ations", "ble", "cal", "cati", "catio",
    "cation", "cha", "che", "chi", "com", "comp", "cor", "cre", "cti", "ctio", "ction", "dat",
    "der", "ead", "ect", "ecti", "ell", "eme", "emen", "ement", "enc", "ence", "ene", "ens", "ent",
    "enti", "ents", "erat", "eri", "ers", "ess", "ette", "eur", "eurs", "eux", "eve", "exp", "fic",
    "gen", "gra", "hin", "ial", "ica", "icat", "ier", "ies", "ifi", "igh", "ili", "ille", "ine",
    "ing", "ini", "ins", "inte", "iona", "ique", "isation", "isme", "ist", "ite", "iti", "ity",
    "ité", "ités", "ive", "iza", "izat", "izati", "izatio", "ize", "ière", "lat", "lin", "ment",
    "mpl", "nal", "nce", "ner", "nes", "nin", "ning", "nsi", "nst", "nta", "nte", "nti", "nts",
    "oir", "oire", "omp", "ona", "onal", "ons", "ope", "ori", "ork", "orm", "ort", "ose", "oun",
    "ove", "pec", "pla", "ple", "por", "pre", "pri", "pti", "ques", "rac", "rans", "rati", "rch",
    "rea", "rec", "res", "rie", "rin", "rit", "rti", "scr", "sio", "sion", "spe", "sse", "ssi",
    "sta", "ste", "sti", "sto", "str", "tat", "tati", "ted", "ter", "tic", "tim", "ting", "tio",
    "tion", "tions", "tiv", "tive", "tra", "tran", "tre", "tri", "tur", "ture", "tés", "ual",
    "uct", "und", "ure", "ust", "val", "ven", "ver", "wor", "zat", "zati", "zatio", "zation",
    "ère", "ées",
];

/// The keywords of a tree skill: a list of words; a bare word counts as a list of one, numbers and booleans as their
/// text. None where there is no keyword, which the findings then say.
pub(super) fn of_tree(front: &YamlNode, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    let Some(node) = front.get("keywords").filter(|node| !node.is_null()) else {
        findings.push(missing(front, "keywords"));
        return None;
    };
    let items = node.items().unwrap_or(std::slice::from_ref(node));
    let mut words = Vec::with_capacity(items.len());
    let mut check = KeywordCheck::default();
    for item in items {
        match item.text().map(str::trim).filter(|text| !text.is_empty()) {
            Some(word) if is_too_long(word) => findings.push(
                Finding::new(
                    Code::FieldInvalid,
                    item.at,
                    "a keyword is longer than any word; left out",
                )
                .hint("write single words or short names"),
            ),
            Some(word) => {
                check.add(word, item.at);
                words.push(word.to_owned());
            }
            None => findings.push(
                Finding::new(
                    Code::FieldInvalid,
                    item.at,
                    format!("a keyword is {}, not a word; left out", item.kind()),
                )
                .hint("write each keyword as a plain word"),
            ),
        }
    }
    if words.is_empty() {
        findings.push(
            Finding::new(Code::FieldMissing, node.at, "`keywords` holds no keyword").hint(
                "list the words a request for this skill would contain; three or more work best",
            ),
        );
        return None;
    }
    findings.extend(check.findings());
    Some(words)
}

/// The keywords of a bundle, which need not have any.
pub(super) fn of_bundle(front: &YamlNode, findings: &mut Vec<Finding>) -> Vec<String> {
    let Some(node) = front.get("keywords").filter(|node| !node.is_null()) else {
        return Vec::new();
    };
    let mut kept = words(node);
    kept.retain(|word| !is_too_long(word));
    let mut check = KeywordCheck::default();
    for word in &kept {
        check.add(word, node.at);
    }
    findings.extend(check.findings());
    kept
}

/// The words of a list, a bare word, or a comma-separated line; what is no word is passed over.
pub(super) fn words(node: &YamlNode) -> Vec<String> {
    let split = |text: &str| {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match node.items() {
        Some(items) => items
            .iter()
            .filter_map(YamlNode::text)
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty())
            .collect(),
        None => node.text().map(split).unwrap_or_default(),
    }
}

fn is_too_long(word: &str) -> bool {
    word.chars().nth(MAX_KEYWORD_CHARS).is_some()
}

/// What is wrong with the keywords of one skill: at most one finding of each kind, however many there are.
#[derive(Default)]
struct KeywordCheck<'a> {
    fragments: FlaggedKeywords<'a>,
    sentences: FlaggedKeywords<'a>,
    unmatchable: FlaggedKeywords<'a>,
}

/// Keywords with the same problem.
#[derive(Default)]
struct FlaggedKeywords<'a> {
    first: Vec<&'a str>,
    count: usize,
    at: Position,
}

impl<'a> KeywordCheck<'a> {
    fn add(&mut self, written: &'a str, at: Position) {
        let word = written.to_lowercase();
        if is_unmatchable(&word) {
            self.unmatchable.add(written, at);
        } else if is_stop_word(&word) || COMMON_FRAGMENTS.binary_search(&&*word).is_ok() {
            self.fragments.add(written, at);
        } else if word.chars().nth(MAX_WORD_CHARS).is_some() {
            self.sentences.add(written, at);
        }
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        let Self { fragments, sentences, unmatchable } = self;
        let rewrite_hint =
            unmatchable.first.first().map(|word| rewrite_hint(word)).unwrap_or_default();
        let whole = "write the whole word that a request for this skill would contain";
        let single = "every word in it matches it; write single words";
        let long = "longer than 40 characters, so many requests match by accident";
        let broad = "part of very many words, so requests about anything match";
        [
            unmatchable.finding(Code::KeywordUnmatchable, "can never match", &rewrite_hint),
            fragments.finding(Code::KeywordBroad, broad, whole),
            sentences.finding(Code::KeywordBroad, long, single),
        ]
        .into_iter()
        .flatten()
    }
}

impl<'a> FlaggedKeywords<'a> {
    fn add(&mut self, word: &'a str, at: Position) {
        if self.count == 0 {
            self.at = at;
        }
        self.count += 1;
        if self.count <= MAX_LISTED_KEYWORDS {
            self.first.push(word);
        }
    }

    fn finding(&self, code: Code, what: &str, hint: &str) -> Option<Finding> {
        let words: Vec<String> = self.first.iter().map(|word| format!("`{word}`")).collect();
        let more = match self.count.saturating_sub(MAX_LISTED_KEYWORDS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!("keyword {}{more}: {what}", words.join(", "));
        (self.count > 0).then(|| Finding::new(code, self.at, message).hint(hint))
    }
}

/// Whether no word of any request matches this keyword, given in lower case. A request is split at everything but
/// letters, digits and hyphens, and stop words are dropped; so `c#` is neither a word of one nor part of one.
fn is_unmatchable(keyword: &str) -> bool {
    let plain = keyword.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if plain {
        return is_short(keyword) && is_stop_word(keyword);
    }
    let tokens = tokenize(keyword);
    let matches = tokens.iter().any(|token| token == keyword || !is_short(token));
    !matches && (is_short(keyword) || !is_stop_word(keyword))
}

/// How to write a keyword that can never match.
fn rewrite_hint(keyword: &str) -> String {
    let tokens = tokenize(keyword);
    match tokens.first() {
        Some(token) => format!(
            "in requests `{keyword}` is read as `{}`; write `{token}`, or another word, such as `csharp` for `c#`",
            tokens.join("`, `")
        ),
        None => format!("in requests `{keyword}` is left out; write another word"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e08_the_table_is_sorted_and_says_only_what_stop_words_do_not() {
        assert!(COMMON_FRAGMENTS.is_sorted_by(|a, b| a < b), "it is searched by halves");
        for fragment in COMMON_FRAGMENTS {
            assert_eq!(*fragment, fragment.to_lowercase());
            assert!(!is_short(fragment) && !is_stop_word(fragment), "{fragment}");
        }
    }
}
