//! The smallest edit of front matter that makes a failing test pass, tried before it is proposed.
//!
//! Words of the request are tried, those first that the skill's own text has and few other skills have: one as a keyword, then
//! one, two, four and eight together as a trigger. A keyword decides at once and for every request that has it, a trigger only
//! adds weight; so skills without keywords get triggers first. An edit that breaks no other test is taken before one that does.

use std::collections::HashSet;

use super::{FrontMatterEdit, JudgedTest, ResolvedTest, Routes, TestFailure};
use crate::{
    catalog::{Skill, SkillId},
    route::{RouteVerdict, matches, stem, tokenize},
};

/// So many single words are tried.
const MAX_TRIED_WORDS: usize = 6;
/// A trigger of so many words is tried.
const TRIGGER_WORDS: [usize; 4] = [1, 2, 4, 8];
/// So many keywords together are tried where the keyword formula decides for another skill.
const MAX_TRIED_KEYWORDS: usize = 4;
/// The words of so many hits of the ranked search are looked at for the words that the expected skill has.
const MAX_SEARCHED_HITS: usize = 100;

/// An edit that makes a test pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallestEdit {
    /// The edit.
    pub edit: FrontMatterEdit,
    /// The numbers of the tests that pass now and would fail then.
    pub breaks: Vec<usize>,
}

/// The smallest edit that makes this failing test pass; none where none of those that are tried does. `tests` are all tests
/// with their results, and `body` gives what a skill says.
pub fn smallest_edit(
    number: usize,
    tests: &[(ResolvedTest, JudgedTest)],
    routes: &Routes<'_>,
    body: impl Fn(&Skill) -> String,
) -> Option<SmallestEdit> {
    let (test, judged) = tests.get(number)?;
    let failure = judged.failure?;
    let mut fallback: Option<SmallestEdit> = None;
    for edit in candidates(test, judged, failure, routes) {
        let skill = routes.catalog.skill(edit.skill)?;
        // The formula alone is quick, and says whether the search has a say at all.
        let changed = routes.with(&edit, &body(skill));
        if test.judge(&changed).failure.is_some() {
            continue;
        }
        let breaks = broken(number, tests, &edit, &changed);
        if breaks.is_empty() {
            return Some(SmallestEdit { edit, breaks });
        }
        fallback.get_or_insert(SmallestEdit { edit, breaks });
    }
    fallback
}

/// The edits that are tried, smallest first.
fn candidates(
    test: &ResolvedTest,
    judged: &JudgedTest,
    failure: TestFailure,
    routes: &Routes<'_>,
) -> Vec<FrontMatterEdit> {
    match (failure, test.expected) {
        (TestFailure::Forbidden(won) | TestFailure::Unexpected(won), None) => removals(won, judged),
        (_, Some(expected)) => additions(test, judged, expected, routes),
        (_, None) => Vec::new(),
    }
}

/// One matched keyword less.
fn removals(won: SkillId, judged: &JudgedTest) -> Vec<FrontMatterEdit> {
    let matched = match &judged.routed.verdict {
        RouteVerdict::Match(hit) if hit.skill == won => hit.matched.clone(),
        RouteVerdict::Ambiguous(hits) => hits
            .iter()
            .find(|hit| hit.skill == won)
            .map(|hit| hit.matched.clone())
            .unwrap_or_default(),
        RouteVerdict::Match(_) | RouteVerdict::NoMatch { .. } => Vec::new(),
    };
    let edit = |word| FrontMatterEdit { without_keywords: vec![word], ..FrontMatterEdit::of(won) };
    matched.into_iter().map(edit).collect()
}

fn additions(
    test: &ResolvedTest,
    judged: &JudgedTest,
    expected: SkillId,
    routes: &Routes<'_>,
) -> Vec<FrontMatterEdit> {
    let words = telling_words(&test.test.request, expected, routes);
    let request = tokenize(&test.test.request);
    let own = routes.catalog.skill(expected).map(|skill| skill.fields().keywords.as_slice());
    let own: Vec<String> = own.unwrap_or_default().iter().map(|word| word.to_lowercase()).collect();
    // A word that a keyword matches already would only count twice.
    let is_new = |word: &&String| !own.iter().any(|keyword| matches(word, keyword));
    let new_words: Vec<String> = words.iter().filter(is_new).cloned().collect();
    let has_keywords = !own.is_empty();
    let keywords = |words: &[String]| FrontMatterEdit {
        keywords: words.to_vec(),
        ..FrontMatterEdit::of(expected)
    };
    let single = || {
        let tried = new_words.iter().take(MAX_TRIED_WORDS);
        tried.map(|word| keywords(std::slice::from_ref(word)))
    };
    let several =
        || (2..=MAX_TRIED_KEYWORDS).filter_map(|count| new_words.get(..count)).map(keywords);
    let triggers = || {
        let lengths = TRIGGER_WORDS.iter().filter(|count| **count <= words.len());
        lengths.map(|count| {
            let chosen: HashSet<&String> = words.iter().take(*count).collect();
            let phrase: Vec<&str> =
                request.iter().filter(|word| chosen.contains(word)).map(String::as_str).collect();
            FrontMatterEdit { triggers: vec![phrase.join(" ")], ..FrontMatterEdit::of(expected) }
        })
    };
    // Where keywords decide, a trigger has no say.
    if !matches!(judged.routed.verdict, RouteVerdict::NoMatch { .. }) {
        single().chain(several()).collect()
    } else if has_keywords {
        single().chain(triggers()).collect()
    } else {
        triggers().collect()
    }
}

/// The words of a request, those first that the skill's own text has, then the rarer ones.
fn telling_words(request: &str, skill: SkillId, routes: &Routes<'_>) -> Vec<String> {
    let found = routes.route(request, MAX_SEARCHED_HITS);
    let hit = found.ranking.hits.iter().find(|hit| hit.entry == skill.index());
    let own: HashSet<String> =
        hit.iter().flat_map(|hit| &hit.matched_terms).map(|word| stem(word)).collect();
    let is_word =
        |word: &String| word.chars().nth(2).is_some() && word.chars().any(char::is_alphabetic);
    let mut words: Vec<(bool, usize, usize, String)> = tokenize(request)
        .into_iter()
        .filter(is_word)
        .enumerate()
        .map(|(place, word)| (!own.contains(&stem(&word)), routes.skills_with(&word), place, word))
        .collect();
    words.sort();
    words.into_iter().map(|(_, _, _, word)| word).collect()
}

/// The tests that pass, and fail with an edit: requests with a word of the edit, and requests for the same skill.
fn broken(
    number: usize,
    tests: &[(ResolvedTest, JudgedTest)],
    edit: &FrontMatterEdit,
    changed: &Routes<'_>,
) -> Vec<usize> {
    let added = edit.triggers.iter().chain(&edit.keywords).chain(&edit.without_keywords);
    let words: Vec<String> =
        added.flat_map(|text| tokenize(text)).map(|word| stem(&word)).collect();
    let has_word = |request: &str| {
        let lowered = request.to_lowercase();
        words.iter().any(|word| lowered.contains(word.as_str()))
    };
    let breaks = |(other, (test, judged)): (usize, &(ResolvedTest, JudgedTest))| {
        let passes = other != number && judged.failure.is_none();
        // Each keyword more makes the share of the others smaller.
        let affected = || test.expected == Some(edit.skill) || has_word(&test.test.request);
        (passes && affected() && test.judge(changed).failure.is_some()).then_some(other)
    };
    tests.iter().enumerate().filter_map(breaks).collect()
}
