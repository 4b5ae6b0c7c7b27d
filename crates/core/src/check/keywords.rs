//! Lints of keywords: too few, listed twice, or never enough to decide for the skill.
//!
//! Keywords that match nothing or nearly everything are findings of reading (`document/keywords`).

use std::collections::{BTreeMap, HashSet};

use super::{CheckLimits, FieldPlaces, listed};
use crate::{
    catalog::{Catalog, Skill, SkillId},
    diagnostic::{Code, Finding, Position},
};

/// With fewer keywords one word of a request is a third of the score or more.
const MIN_KEYWORDS: usize = 3;

pub(super) fn lint(skill: &Skill, at: Position, found: &mut Vec<Finding>) {
    let keywords = &skill.fields().keywords;
    let mut seen = HashSet::new();
    let twice: Vec<&String> =
        keywords.iter().filter(|word| !seen.insert(word.to_lowercase())).collect();
    if !twice.is_empty() {
        let message = format!("{} is listed twice, and counts twice", listed(&twice));
        found.push(
            Finding::new(Code::KeywordRepeated, at, message)
                .hint("remove one, or every request that misses it loses twice its share"),
        );
    }
    if !keywords.is_empty() && seen.len() < MIN_KEYWORDS {
        let count = if seen.len() == 1 { "one keyword" } else { "two keywords" };
        let message = format!(
            "only {count}, so one word of a request gives a score of {}",
            match seen.len() {
                1 => "1",
                _ => "0.5",
            }
        );
        let has_comma = keywords.iter().any(|keyword| keyword.contains(','));
        let words = keywords.iter().flat_map(|keyword| keyword.split([' ', ',']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let hint = match (keywords.len(), words.len()) {
            (1, 2..) => {
                let lacks = if has_comma { "brackets around" } else { "commas between" };
                format!("it has {} words; put {lacks} them: [{}]", words.len(), words.join(", "))
            }
            _ => "list three to eight words that a request for this skill would contain".to_owned(),
        };
        found.push(Finding::new(Code::KeywordsFew, at, message).hint(hint));
    }
}

/// The keywords of one skill, lower-cased and each once.
struct KeywordSet<'a> {
    skill: &'a Skill,
    words: HashSet<String>,
    total: usize,
}

/// Skills that are never the only match: another has all their keywords, and a score that is never lower.
pub(super) fn never_decide(
    catalog: &Catalog,
    places: &impl Fn(SkillId) -> FieldPlaces,
    is_asked: &impl Fn(&Skill) -> bool,
    limits: &CheckLimits,
) -> Vec<(SkillId, Finding)> {
    let sets: Vec<KeywordSet<'_>> = catalog
        .skills()
        .filter(|skill| !skill.fields().keywords.is_empty())
        .map(|skill| KeywordSet {
            skill,
            words: skill.fields().keywords.iter().map(|word| word.to_lowercase()).collect(),
            total: skill.fields().keywords.len(),
        })
        .collect();
    let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, set) in sets.iter().enumerate() {
        for word in &set.words {
            holders.entry(word).or_default().push(number);
        }
    }
    let mut found = Vec::new();
    for (number, set) in sets.iter().enumerate().filter(|(_, set)| is_asked(set.skill)) {
        // Whatever has all keywords has the rarest.
        let rarest = set.words.iter().filter_map(|word| holders.get(word.as_str()));
        let Some(rarest) = rarest.min_by_key(|list| list.len()) else { continue };
        let others = rarest.iter().filter(|other| **other != number).filter_map(|at| sets.get(*at));
        let mut winners = others.filter(|other| is_never_below(other, set, limits.min_score));
        if let Some(winner) = winners.next() {
            found.push((set.skill.id, never_alone(set, winner, places(set.skill.id).keywords)));
        }
    }
    found
}

/// Whether `other` scores as high as `set` for every request that `set` matches. It has all keywords of `set`, so a request
/// that matches `n` of them scores `n / total` in each, and the difference is greatest where all match.
fn is_never_below(other: &KeywordSet<'_>, set: &KeywordSet<'_>, min_score: f64) -> bool {
    if !set.words.is_subset(&other.words) || set.total != set.words.len() {
        return false;
    }
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let share = |matched: usize, set: &KeywordSet<'_>| count(matched) / count(set.total);
    let score = |matched: usize, set: &KeywordSet<'_>| {
        share(matched, set) + set.skill.fields().priority / 1_000.0
    };
    // A request that is enough for the smaller list must be enough for the longer one.
    let passes = (1..=set.total)
        .all(|matched| share(matched, set) < min_score || share(matched, other) >= min_score);
    let higher = (1..=set.total).all(|matched| score(matched, other) >= score(matched, set) - 1e-9);
    passes && higher
}

fn never_alone(set: &KeywordSet<'_>, winner: &KeywordSet<'_>, at: Position) -> Finding {
    let other = &winner.skill.identity;
    let same = set.words.len() == winner.words.len();
    let message = if same {
        format!("`{other}` has the same keywords, so no request finds this skill alone")
    } else {
        format!(
            "`{other}` has all keywords of this skill and a higher priority, so no request finds this skill alone"
        )
    };
    Finding::new(Code::KeywordsNeverDecide, at, message)
        .hint("add a keyword that only requests for this skill contain")
}
