//! Which words of requests led to which skill.

use std::collections::{BTreeMap, HashMap};

use super::{
    Counted, ENOUGH, Pattern, SkillUse,
    totals::most_first,
    words::{Spelling, Term, Words},
};
use crate::event::{Event, Recorded};

/// So many words of a skill are shown.
const SHOWN: usize = 8;

#[derive(Default)]
struct Seen {
    requests: u64,
    terms: HashMap<Term, (u64, Spelling)>,
}

pub(super) fn of(recent: &[Recorded], skills: &[SkillUse], words: &mut Words) -> Vec<Pattern> {
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    let (mut all, mut everywhere): (u64, HashMap<Term, u64>) = (0, HashMap::new());
    for recorded in recent {
        let (Event::SkillServed(served), Some(context)) =
            (&recorded.event, recorded.event.context())
        else {
            continue;
        };
        let skill = seen.entry(&served.skill_path).or_default();
        skill.requests += 1;
        all += 1;
        for (term, word) in words.of(context) {
            *everywhere.entry(term).or_default() += 1;
            let (n, spelling) = skill.terms.entry(term).or_default();
            *n += 1;
            spelling.add(&word);
        }
    }
    // In the order of the skills, the most served first.
    let pattern = |used: &SkillUse| {
        let seen = seen.get(used.skill.as_str()).filter(|seen| seen.requests >= ENOUGH)?;
        // What only one request had is no pattern, nor is what requests for other skills have as often.
        let telling = seen.terms.iter().filter(|(term, (n, _))| {
            let others = everywhere.get(term).copied().unwrap_or(0);
            let often = n * all * 2 >= others * seen.requests * 3;
            *n > 1 && (often || seen.requests * 2 > all)
        });
        let terms = telling.map(|(_, (n, word))| Counted { name: word.word(), n: *n });
        let mut terms = most_first(terms.collect());
        terms.truncate(SHOWN);
        Some(Pattern { skill: used.skill.clone(), requests: seen.requests, terms })
    };
    skills.iter().filter_map(pattern).collect()
}
