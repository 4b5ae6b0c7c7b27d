//! [`Router`]: finds the skills whose keywords match a request without looking at all of them.
//!
//! A token that contains a keyword is found by looking up the token's pieces, one length at a time; a keyword
//! that contains a token is found through the rarest of the token's trigrams. Both give exactly the pairs for
//! which [`super::matches`] holds (a property test compares them).

use std::collections::{HashMap, HashSet};

use super::{
    keyword::{SHORT, is_short},
    tokens::tokenize,
    verdict::{Hit, Matching, Ruling, Score, Verdict, judge},
};
use crate::catalog::{Catalog, SkillId};

/// The keyword index of one catalog.
#[derive(Debug, Default)]
pub struct Router {
    /// Distinct keywords, lower-cased.
    keywords: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
    /// Skills by keyword.
    skills: Vec<Vec<SkillId>>,
    /// Keywords by each three letters they contain.
    trigrams: HashMap<[char; SHORT], Vec<u32>>,
    /// The lengths, in characters, that keywords have.
    lengths: Vec<usize>,
    /// Each skill's keywords and priority, by skill number.
    entries: Vec<(Vec<u32>, f64)>,
}

impl Router {
    /// Indexes a catalog.
    pub fn new(catalog: &Catalog) -> Self {
        let mut router = Self::default();
        for skill in catalog.skills() {
            let fields = skill.fields();
            let mut own = Vec::with_capacity(fields.keywords.len());
            for keyword in &fields.keywords {
                let number = router.number(&keyword.to_lowercase());
                if !own.contains(&number)
                    && let Some(skills) = router.skills.get_mut(number as usize)
                {
                    skills.push(skill.id);
                }
                own.push(number);
            }
            router.entries.push((own, fields.priority));
        }
        router.lengths.sort_unstable();
        router
    }

    fn number(&mut self, keyword: &str) -> u32 {
        if let Some(number) = self.keywords.get(keyword) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let chars: Vec<char> = keyword.chars().collect();
        let distinct: HashSet<[char; SHORT]> = trigrams(&chars).collect();
        for trigram in distinct {
            self.trigrams.entry(trigram).or_default().push(number);
        }
        if !self.lengths.contains(&chars.len()) {
            self.lengths.push(chars.len());
        }
        self.keywords.insert(keyword.into(), number);
        self.texts.push(keyword.into());
        self.skills.push(Vec::new());
        number
    }

    /// Judges a request.
    pub fn route(&self, catalog: &Catalog, context: &str, matching: &Matching) -> Verdict {
        let matched = self.matched_keywords(&tokenize(context));
        let candidates: HashSet<SkillId> = matched
            .iter()
            .filter_map(|number| self.skills.get(*number as usize))
            .flatten()
            .copied()
            .collect();
        let hits = candidates.into_iter().map(|skill| self.scored(skill, &matched)).collect();
        let hit = |(skill, base, score): (SkillId, Score, Score)| Hit {
            skill,
            base,
            score,
            matched: self.spelled(catalog, skill, &matched),
        };
        let path = |skill| catalog.skill(skill).map(|skill| &*skill.identity);
        match judge(hits, matching, path) {
            Ruling::NoMatch(closest) => Verdict::NoMatch { closest: closest.map(hit) },
            Ruling::Match(first) => Verdict::Match(hit(first)),
            Ruling::Ambiguous(hits) => Verdict::Ambiguous(hits.into_iter().map(hit).collect()),
        }
    }

    fn scored(&self, skill: SkillId, matched: &HashSet<u32>) -> (SkillId, Score, Score) {
        let Some((keywords, priority)) = self.entries.get(skill.index()) else {
            return (skill, Score::default(), Score::default());
        };
        let count = keywords.iter().filter(|number| matched.contains(number)).count();
        let base = Score::share(count, keywords.len());
        (skill, base, base.with_priority(*priority))
    }

    /// The skill's matched keywords as its author wrote them.
    fn spelled(&self, catalog: &Catalog, skill: SkillId, matched: &HashSet<u32>) -> Vec<String> {
        let written = catalog
            .skill(skill)
            .map(|skill| skill.fields().keywords.as_slice())
            .unwrap_or_default();
        let numbers = self
            .entries
            .get(skill.index())
            .map(|(numbers, _)| numbers.as_slice())
            .unwrap_or_default();
        written
            .iter()
            .zip(numbers)
            .filter(|(_, number)| matched.contains(number))
            .map(|(word, _)| word.clone())
            .collect()
    }

    fn matched_keywords(&self, tokens: &[String]) -> HashSet<u32> {
        let mut matched = HashSet::new();
        for token in tokens {
            matched.extend(self.keywords.get(token.as_str()));
            if !is_short(token) {
                self.keywords_inside(token, &mut matched);
                self.keywords_around(token, &mut matched);
            }
        }
        matched
    }

    /// Keywords that the token contains.
    fn keywords_inside(&self, token: &str, matched: &mut HashSet<u32>) {
        let starts: Vec<usize> =
            token.char_indices().map(|(at, _)| at).chain([token.len()]).collect();
        for length in self.lengths.iter().copied().filter(|length| *length >= SHORT) {
            for (from, to) in starts.iter().zip(starts.iter().skip(length)) {
                matched.extend(token.get(*from..*to).and_then(|piece| self.keywords.get(piece)));
            }
        }
    }

    /// Keywords that contain the token.
    fn keywords_around(&self, token: &str, matched: &mut HashSet<u32>) {
        let chars: Vec<char> = token.chars().collect();
        let mut rarest: Option<&Vec<u32>> = None;
        for trigram in trigrams(&chars) {
            match self.trigrams.get(&trigram) {
                None => return,
                Some(list) if rarest.is_none_or(|rarest| list.len() < rarest.len()) => {
                    rarest = Some(list);
                }
                Some(_) => {}
            }
        }
        let contains = |number: &&u32| {
            self.texts.get(**number as usize).is_some_and(|text| text.contains(token))
        };
        matched.extend(rarest.into_iter().flatten().filter(contains));
    }
}

fn trigrams(chars: &[char]) -> impl Iterator<Item = [char; SHORT]> {
    chars.windows(SHORT).filter_map(|window| window.try_into().ok())
}
