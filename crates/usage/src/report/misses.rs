//! Requests that found nothing, grouped by the words they share.
//!
//! Greedy and deterministic: the word that most of what is left have in common, rare words before frequent ones, takes
//! all requests that have it; and so on until nothing is shared. How rare a word is, all requests say, those that found
//! something too. A word that goes with every subject is none.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use super::{
    CatalogSummary, MIN_OBSERVATIONS, Misses, SampleSize,
    rate::{real, short},
    words::{TextWords, WordSpelling, WordTerm},
};
use crate::event::{Event, RecordedEvent};

/// A skill with a lower score, which is shown as 0.00, came near to nothing.
const MIN_NEAR_SCORE: f64 = 0.005;
/// So many groups are kept.
const MAX_GROUPS: usize = 100;
/// So many words name a group.
const MAX_TERMS: usize = 4;
/// So many different requests of a group are shown.
const MAX_EXAMPLES: usize = 5;
/// So many keywords are proposed.
const MAX_KEYWORDS: usize = 5;
/// The least weight of a word, that of one which all requests have; a word of one request has 1.
const MIN_RARITY: f64 = 0.1;
/// Fewer requests do not show which words are about a subject and which are in every request.
const MIN_TELLING_REQUESTS: usize = 10;

/// A request that found nothing.
struct MissedRequest<'a> {
    context: &'a str,
    terms: Vec<(WordTerm, String)>,
    nearest: Option<&'a str>,
    score: Option<f64>,
}

/// The requests, newest first, and which of them have which word.
struct MissedRequests<'a> {
    requests: Vec<MissedRequest<'a>>,
    /// Of each word the requests that have it.
    having: Vec<Vec<usize>>,
    rarity: Vec<f64>,
}

pub(super) fn of(
    recent: &[RecordedEvent],
    catalog: Option<&CatalogSummary>,
    words: &mut TextWords,
) -> Vec<Misses> {
    let missed = MissedRequests::of(recent, words);
    let mut groups: Vec<Misses> = missed
        .groups()
        .iter()
        .map(|(key, members)| missed.shown(*key, members, catalog, words))
        .collect();
    // Stable: the newest of what is as large comes first.
    groups.sort_by_key(|group| Reverse(group.requests));
    groups.truncate(MAX_GROUPS);
    groups
}

/// Of so many requests that found nothing, those whose texts can be looked at.
pub(super) fn looked_at(recent: &[RecordedEvent], of: u64) -> SampleSize {
    let missed =
        recent.iter().filter(|recorded| recorded.event.fits_none(recorded.call().is_by_name()));
    SampleSize { n: missed.count() as u64, of }
}

impl<'a> MissedRequests<'a> {
    fn of(recent: &'a [RecordedEvent], words: &mut TextWords) -> Self {
        let mut requests: Vec<MissedRequest<'a>> = Vec::new();
        let mut others: Vec<Vec<(WordTerm, String)>> = Vec::new();
        // A name that was misspelt is no request in words.
        for recorded in recent.iter().filter(|recorded| !recorded.call().is_by_name()) {
            let Some(context) = recorded.event.context() else { continue };
            let terms = words.of(context);
            if !recorded.event.fits_none(recorded.call().is_by_name()) {
                others.push(terms);
                continue;
            }
            let (nearest, score) = match &recorded.event {
                Event::NoMatch(miss) => {
                    let score = miss.closest_score.filter(|score| *score >= MIN_NEAR_SCORE);
                    let is_near = score.is_some() || miss.closest_score.is_none();
                    (miss.closest_candidate.as_deref().filter(|_| is_near), score)
                }
                Event::Ambiguous(several) => (several.candidates.first().map(String::as_str), None),
                Event::SkillSearched(search) => (search.shown.first().map(String::as_str), None),
                Event::SkillServed(_)
                | Event::AssetServed(_)
                | Event::ScriptExecuted(_)
                | Event::SkillFeedback(_)
                | Event::Refresh(_) => (None, None),
            };
            if !terms.is_empty() {
                requests.push(MissedRequest { context, terms, nearest, score });
            }
        }
        let mut having = vec![Vec::new(); words.len()];
        let mut everywhere = vec![0_u64; words.len()];
        for (number, request) in requests.iter().enumerate() {
            for (term, _) in &request.terms {
                having.get_mut(*term).into_iter().for_each(|list| list.push(number));
                everywhere.get_mut(*term).into_iter().for_each(|n| *n += 1);
            }
        }
        for (term, _) in others.iter().flatten() {
            everywhere.get_mut(*term).into_iter().for_each(|n| *n += 1);
        }
        let (all, missed) =
            (real((requests.len() + others.len()) as u64), real(requests.len() as u64));
        let fillers = fillers(&requests, &having);
        let rarity = everywhere.iter().zip(&having).zip(fillers).map(|((n, list), filler)| {
            if filler {
                return MIN_RARITY;
            }
            let (n, here) = (real(*n), real(list.len() as u64).max(1.0));
            // Of all requests, and of those that found nothing: a word of every team says nothing of either.
            let rare = libm::log((all - n + 0.5) / (n + 0.5)).min(libm::log(missed / here));
            rare.max(MIN_RARITY)
        });
        Self { rarity: rarity.collect(), requests, having }
    }

    /// Each group's word, and its requests, newest first.
    fn groups(&self) -> Vec<(WordTerm, Vec<usize>)> {
        let mut left: Vec<bool> = vec![true; self.requests.len()];
        let mut counts: Vec<u64> = self.having.iter().map(|list| list.len() as u64).collect();
        let mut groups = Vec::new();
        while groups.len() < MAX_GROUPS {
            let Some(key) = self.most_shared(&counts) else { break };
            let having = self.having.get(key).into_iter().flatten().copied();
            let members: Vec<usize> =
                having.filter(|number| left.get(*number).copied().unwrap_or(false)).collect();
            for request in members.iter().filter_map(|number| self.requests.get(*number)) {
                for (term, _) in &request.terms {
                    counts.get_mut(*term).into_iter().for_each(|n| *n = n.saturating_sub(1));
                }
            }
            for number in &members {
                left.get_mut(*number).into_iter().for_each(|left| *left = false);
            }
            groups.push((key, members));
        }
        // What shares nothing with anything stands alone.
        for (number, request) in self.requests.iter().enumerate() {
            if groups.len() >= MAX_GROUPS {
                break;
            }
            if left.get(number).copied().unwrap_or(false)
                && let Some(key) = request.terms.iter().map(|(term, _)| *term).max_by(|a, b| {
                    self.rarity(*a).total_cmp(&self.rarity(*b)).then_with(|| b.cmp(a))
                })
            {
                groups.push((key, vec![number]));
            }
        }
        groups
    }

    fn rarity(&self, term: WordTerm) -> f64 {
        self.rarity.get(term).copied().unwrap_or(MIN_RARITY)
    }

    /// The word that two or more have, worth most; of equals the one that was met first.
    fn most_shared(&self, counts: &[u64]) -> Option<WordTerm> {
        let worth = |term: &WordTerm| {
            let n = counts.get(*term).copied().unwrap_or(0);
            real(n) * self.rarity(*term)
        };
        let shared = (0..counts.len()).filter(|term| counts.get(*term).is_some_and(|n| *n > 1));
        shared.max_by(|a, b| worth(a).total_cmp(&worth(b)).then_with(|| b.cmp(a)))
    }

    /// A group as it is shown.
    fn shown(
        &self,
        key: WordTerm,
        members: &[usize],
        catalog: Option<&CatalogSummary>,
        words: &mut TextWords,
    ) -> Misses {
        let members: Vec<&MissedRequest<'_>> =
            members.iter().filter_map(|number| self.requests.get(*number)).collect();
        let mut spellings: BTreeMap<WordTerm, (u64, WordSpelling)> = BTreeMap::new();
        for (term, word) in members.iter().flat_map(|request| &request.terms) {
            let (n, spelling) = spellings.entry(*term).or_default();
            *n += 1;
            spelling.add(word);
        }
        let size = members.len() as u64;
        // The key first, then what at least half of them have, by how much it says.
        let mut terms: Vec<(WordTerm, u64)> = spellings
            .iter()
            .map(|(term, (n, _))| (*term, *n))
            .filter(|(_, n)| n * 2 >= size)
            .collect();
        // What nearly everybody says names nothing, unless there is nothing else.
        let says = |term: WordTerm| term == key || self.rarity(term) > MIN_RARITY;
        if self.rarity(key) > MIN_RARITY {
            terms.retain(|(term, _)| says(*term));
        }
        terms.sort_by(|(a, n), (b, m)| {
            let worth = |term: WordTerm, n: u64| real(n) * self.rarity(term);
            (*b == key)
                .cmp(&(*a == key))
                .then(worth(*b, *m).total_cmp(&worth(*a, *n)))
                .then(a.cmp(b))
        });
        let spelled = |term: &WordTerm| {
            spellings.get(term).map(|(_, spelling)| spelling.word()).unwrap_or_default()
        };
        let named: Vec<WordTerm> = terms.iter().map(|(term, _)| *term).take(MAX_TERMS).collect();
        let (nearest, score, is_clear) = nearest(&members);
        let there = |name: &&str| catalog.is_none_or(|catalog| catalog.get(name).is_some());
        let is_clear = is_clear && size >= MIN_OBSERVATIONS;
        let keywords = nearest.filter(|_| is_clear).filter(there).map(|nearest| {
            let own = own_words(nearest, catalog, words);
            let missing = terms.iter().map(|(term, _)| term).filter(|term| !own.contains(term));
            missing.take(MAX_KEYWORDS).map(&spelled).collect()
        });
        Misses {
            terms: named.iter().map(&spelled).collect(),
            requests: size,
            examples: examples(&members),
            nearest: nearest.map(str::to_owned),
            nearest_score: score,
            keywords: keywords.unwrap_or_default(),
        }
    }
}

/// Which words are of no subject: those that more than a third of all requests have, where words that fewer have, and
/// still many, have nearly all of the same requests. "… for the testing team" is about what stands before.
fn fillers(requests: &[MissedRequest<'_>], having: &[Vec<usize>]) -> Vec<bool> {
    let all = requests.len();
    let is_common = |list: &Vec<usize>| list.len() * 3 > all && all >= MIN_TELLING_REQUESTS * 2;
    let is_subject = |list: &Vec<usize>| {
        !is_common(list) && list.len() * 8 >= all && list.len() >= MIN_TELLING_REQUESTS
    };
    let mut has_subject = vec![false; all];
    for number in having.iter().filter(|list| is_subject(list)).flatten() {
        has_subject.get_mut(*number).into_iter().for_each(|has| *has = true);
    }
    let has_subject = |number: &&usize| has_subject.get(**number).copied().unwrap_or(false);
    let is_filler = |list: &Vec<usize>| {
        is_common(list) && list.iter().filter(has_subject).count() * 4 >= list.len() * 3
    };
    having.iter().map(is_filler).collect()
}

/// The newest requests, each text once.
fn examples(members: &[&MissedRequest<'_>]) -> Vec<String> {
    let mut seen = HashSet::new();
    let different = members.iter().map(|request| request.context).filter(|text| seen.insert(*text));
    different.take(MAX_EXAMPLES).map(str::to_owned).collect()
}

/// The skill that came nearest to most of those that anything came near to, its best score, and whether that is half of
/// all of them.
fn nearest<'a>(members: &[&MissedRequest<'a>]) -> (Option<&'a str>, Option<f64>, bool) {
    let mut counts: BTreeMap<&'a str, usize> = BTreeMap::new();
    for name in members.iter().filter_map(|request| request.nearest) {
        *counts.entry(name).or_default() += 1;
    }
    let near: usize = counts.values().sum();
    let most = counts.into_iter().rev().max_by_key(|(_, n)| *n);
    let Some((name, n)) = most.filter(|(_, n)| n * 2 > near) else { return (None, None, false) };
    let scores = members.iter().filter(|request| request.nearest == Some(name));
    let best = scores.filter_map(|request| request.score).max_by(f64::total_cmp);
    (Some(name), best.map(short), n > 1 && n * 2 >= members.len())
}

/// The words a skill is found by.
fn own_words(
    name: &str,
    catalog: Option<&CatalogSummary>,
    words: &mut TextWords,
) -> HashSet<WordTerm> {
    let shelved = catalog.and_then(|catalog| catalog.get(name));
    let description = shelved.map(|skill| skill.description.as_str());
    let keywords = shelved.into_iter().flat_map(|skill| &skill.keywords).map(String::as_str);
    let texts = std::iter::once(name).chain(description).chain(keywords);
    // A name's hyphens join words; a keyword is matched whole, and in parts by the ranked search.
    texts
        .flat_map(|text| [text.to_owned(), text.replace(['-', '_'], " ")])
        .flat_map(|text| words.of(&text))
        .map(|(term, _)| term)
        .collect()
}
