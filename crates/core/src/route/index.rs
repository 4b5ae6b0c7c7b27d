//! [`Router`]: finds the skills whose keywords match a request without trying all of them.
//!
//! A token that contains a keyword is found by looking up the token's pieces, one length at a time; a keyword
//! that contains a token is found through the rarest of the token's trigrams. Both give exactly the pairs for
//! which [`super::matches`] holds (a property test compares them). The next router shares with this one all that did
//! not change.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::verdict::{
    KeywordHit, Matching, RankedVerdict, RouteVerdict, Score, ScoredSkill, judge,
};
use crate::{
    catalog::{Catalog, Skill, SkillId},
    sorted::{Sorted, SortedItem},
    tokens::{MIN_PARTIAL_CHARS, is_short, tokenize},
};

/// An index over the keywords of a catalog.
#[derive(Debug, Default, Clone)]
pub struct Router {
    /// Which skills have which keyword, lower-cased.
    listed: Sorted<KeywordPosting>,
    /// Which keywords have three characters in a row.
    trigrams: Sorted<Trigram>,
    /// How many keywords have this many characters.
    lengths: BTreeMap<usize, usize>,
    /// The keywords and priority of each skill.
    entries: Sorted<Arc<KeywordEntry>>,
}

#[derive(Debug, Clone)]
struct KeywordPosting {
    keyword: Arc<str>,
    entry: Arc<KeywordEntry>,
}

impl SortedItem for KeywordPosting {
    fn order(&self, other: &Self) -> Ordering {
        self.keyword.cmp(&other.keyword).then(self.entry.skill.cmp(&other.entry.skill))
    }
}

#[derive(Debug, Clone)]
struct Trigram {
    letters: [char; MIN_PARTIAL_CHARS],
    keyword: Arc<str>,
}

impl SortedItem for Trigram {
    fn order(&self, other: &Self) -> Ordering {
        self.letters.cmp(&other.letters).then_with(|| self.keyword.cmp(&other.keyword))
    }
}

/// A skill's keywords as it lists them, and its priority.
#[derive(Debug)]
struct KeywordEntry {
    skill: SkillId,
    keywords: Box<[Arc<str>]>,
    priority: f64,
}

impl SortedItem for Arc<KeywordEntry> {
    fn order(&self, other: &Self) -> Ordering {
        self.skill.cmp(&other.skill)
    }
}

impl Router {
    /// Indexes a catalog.
    pub fn new(catalog: &Catalog) -> Self {
        let all: Vec<SkillId> = catalog.skills().map(|skill| skill.id).collect();
        Self::default().with(catalog, &all)
    }

    /// The index after these skills were changed, added or removed.
    #[must_use]
    pub fn with(&self, catalog: &Catalog, changed: &[SkillId]) -> Self {
        let mut next = self.clone();
        let mut added = NewKeywords::default();
        for number in changed {
            next.remove(*number);
            if let Some(skill) = catalog.skill(*number).filter(|skill| skill.is_for_models()) {
                added.put(&next, skill);
            }
        }
        next.add(added);
        next
    }

    fn add(&mut self, mut added: NewKeywords) {
        for keyword in added.known.into_values() {
            if self.has(&keyword) {
                continue;
            }
            *self.lengths.entry(keyword.chars().count()).or_default() += 1;
            added.trigrams.extend(trigrams_of(&keyword));
        }
        self.trigrams.extend(added.trigrams);
        self.listed.extend(added.listed);
        self.entries.extend(added.entries);
    }

    fn remove(&mut self, number: SkillId) {
        let Some(entry) = self.entries.remove(|entry| entry.skill.cmp(&number)) else { return };
        for keyword in &entry.keywords {
            let place = |listed: &KeywordPosting| {
                listed.keyword.cmp(keyword).then(listed.entry.skill.cmp(&number))
            };
            if self.listed.remove(place).is_none() || self.has(keyword) {
                continue;
            }
            for trigram in trigrams_of(keyword) {
                self.trigrams.remove(|other| other.order(&trigram));
            }
            let length = keyword.chars().count();
            if let Some(count) = self.lengths.get_mut(&length) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&length);
                }
            }
        }
    }

    fn has(&self, keyword: &str) -> bool {
        self.skills_of(keyword).next().is_some()
    }

    fn skills_of(&self, keyword: &str) -> impl Iterator<Item = &KeywordPosting> {
        self.listed.matching(move |listed| (*listed.keyword).cmp(keyword))
    }

    /// Applies the formula alone to a request.
    pub fn route(&self, catalog: &Catalog, context: &str, matching: &Matching) -> RouteVerdict {
        self.keywords_in(context).verdict(catalog, matching, |_| true)
    }

    /// Finds the keywords that a request matches.
    pub(super) fn keywords_in(&self, context: &str) -> RequestKeywords<'_> {
        RequestKeywords { router: self, matched: self.matched_keywords(&tokenize(context)) }
    }

    fn entry(&self, skill: SkillId) -> Option<&Arc<KeywordEntry>> {
        self.entries.find(|entry| entry.skill.cmp(&skill))
    }

    fn matched_keywords(&self, tokens: &[String]) -> HashSet<&str> {
        let mut matched = HashSet::new();
        for token in tokens {
            matched.extend(self.known(token));
            if !is_short(token) {
                self.keywords_inside(token, &mut matched);
                self.keywords_around(token, &mut matched);
            }
        }
        matched
    }

    /// The keyword itself, where a skill has it.
    fn known(&self, keyword: &str) -> Option<&str> {
        self.skills_of(keyword).next().map(|listed| &*listed.keyword)
    }

    /// Keywords that are a part of the token.
    fn keywords_inside<'a>(&'a self, token: &str, matched: &mut HashSet<&'a str>) {
        let starts: Vec<usize> =
            token.char_indices().map(|(at, _)| at).chain([token.len()]).collect();
        for length in self.lengths.keys().copied().filter(|length| *length >= MIN_PARTIAL_CHARS) {
            for (from, to) in starts.iter().zip(starts.iter().skip(length)) {
                matched.extend(token.get(*from..*to).and_then(|piece| self.known(piece)));
            }
        }
    }

    /// Keywords that the token is a part of.
    fn keywords_around<'a>(&'a self, token: &str, matched: &mut HashSet<&'a str>) {
        let chars: Vec<char> = token.chars().collect();
        let list = |letters| {
            self.trigrams.matching(move |trigram: &Trigram| trigram.letters.cmp(&letters))
        };
        let mut rarest = None;
        let mut fewest = usize::MAX;
        for letters in trigrams(&chars) {
            let count = list(letters).take(fewest).count();
            if count < fewest {
                (rarest, fewest) = (Some(letters), count);
            }
        }
        let keywords = rarest.into_iter().flat_map(list).map(|trigram| &*trigram.keyword);
        matched.extend(keywords.filter(|keyword| keyword.contains(token)));
    }
}

/// The keywords that a request matches, in lower case.
pub(super) struct RequestKeywords<'a> {
    router: &'a Router,
    matched: HashSet<&'a str>,
}

impl RequestKeywords<'_> {
    /// Applies the formula to those skills for which `is_left` is true.
    pub(super) fn verdict(
        &self,
        catalog: &Catalog,
        matching: &Matching,
        is_left: impl Fn(SkillId) -> bool,
    ) -> RouteVerdict {
        let listed = self.matched.iter().flat_map(|keyword| self.router.skills_of(keyword));
        let mut candidates: Vec<&KeywordEntry> = listed.map(|listed| &*listed.entry).collect();
        candidates.sort_unstable_by_key(|entry| entry.skill);
        candidates.dedup_by_key(|entry| entry.skill);
        candidates.retain(|entry| is_left(entry.skill));
        let hits = candidates.into_iter().map(|entry| entry.scored(&self.matched)).collect();
        // Ties go to the earlier.
        let place =
            |number| catalog.skill(number).map(|skill| (&*skill.identity, skill.file.as_str()));
        let hit = |scored: ScoredSkill| self.hit(catalog, scored.skill);
        match judge(hits, matching, place) {
            RankedVerdict::NoMatch(closest) => RouteVerdict::NoMatch { closest: closest.map(hit) },
            RankedVerdict::Match(first) => RouteVerdict::Match(hit(first)),
            RankedVerdict::Ambiguous(hits) => {
                RouteVerdict::Ambiguous(hits.into_iter().map(hit).collect())
            }
        }
    }

    /// Returns a skill's score and its matched keywords as their author wrote them; a score of 0 if no keyword matches.
    pub(super) fn hit(&self, catalog: &Catalog, skill: SkillId) -> KeywordHit {
        let Some(entry) = self.router.entry(skill) else { return KeywordHit::unmatched(skill) };
        let ScoredSkill { skill, base, score } = entry.scored(&self.matched);
        let written = catalog.skill(skill).map(|skill| skill.fields().keywords.as_slice());
        let pairs = written.unwrap_or_default().iter().zip(&entry.keywords);
        let matched: Vec<String> = pairs
            .filter(|(_, keyword)| self.matched.contains(&***keyword))
            .map(|(word, _)| word.clone())
            .collect();
        if matched.is_empty() {
            KeywordHit::unmatched(skill)
        } else {
            KeywordHit { skill, base, score, matched }
        }
    }
}

impl KeywordEntry {
    fn scored(&self, matched: &HashSet<&str>) -> ScoredSkill {
        let count = self.keywords.iter().filter(|keyword| matched.contains(&***keyword)).count();
        let base = Score::share(count, self.keywords.len());
        ScoredSkill { skill: self.skill, base, score: base.with_priority(self.priority) }
    }
}

/// Keywords of skills that are being added to a router.
#[derive(Default)]
struct NewKeywords {
    listed: Vec<KeywordPosting>,
    trigrams: Vec<Trigram>,
    entries: Vec<Arc<KeywordEntry>>,
    /// Each keyword once.
    known: HashMap<String, Arc<str>>,
}

impl NewKeywords {
    fn put(&mut self, router: &Router, skill: &Skill) {
        let fields = skill.fields();
        if fields.keywords.is_empty() {
            return;
        }
        let keywords: Box<[Arc<str>]> =
            fields.keywords.iter().map(|word| self.keyword(router, word.to_lowercase())).collect();
        let entry = Arc::new(KeywordEntry { skill: skill.id, keywords, priority: fields.priority });
        let listed = |keyword: &Arc<str>| KeywordPosting {
            keyword: Arc::clone(keyword),
            entry: Arc::clone(&entry),
        };
        self.listed.extend(entry.keywords.iter().map(listed));
        self.entries.push(entry);
    }

    fn keyword(&mut self, router: &Router, keyword: String) -> Arc<str> {
        if let Some(known) = self.known.get(&keyword) {
            return Arc::clone(known);
        }
        let known = router.skills_of(&keyword).next().map(|listed| Arc::clone(&listed.keyword));
        let known = known.unwrap_or_else(|| keyword.as_str().into());
        self.known.insert(keyword, Arc::clone(&known));
        known
    }
}

fn trigrams_of(keyword: &Arc<str>) -> Vec<Trigram> {
    let chars: Vec<char> = keyword.chars().collect();
    let distinct: HashSet<[char; MIN_PARTIAL_CHARS]> = trigrams(&chars).collect();
    let trigram = |letters| Trigram { letters, keyword: Arc::clone(keyword) };
    distinct.into_iter().map(trigram).collect()
}

fn trigrams(chars: &[char]) -> impl Iterator<Item = [char; MIN_PARTIAL_CHARS]> {
    chars.windows(MIN_PARTIAL_CHARS).filter_map(|window| window.try_into().ok())
}
