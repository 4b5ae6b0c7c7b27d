//! Which words of requests led to which skill.

use std::collections::{BTreeMap, HashMap};

use super::{
    Counted, MIN_OBSERVATIONS, Pattern, SkillUse,
    totals::most_first,
    words::{TextWords, WordSpelling, WordTerm},
};
use crate::event::{Event, RecordedEvent};

/// So many words of a skill are shown.
const MAX_PATTERN_WORDS: usize = 8;

#[derive(Default)]
struct SeenPattern {
    requests: u64,
    terms: HashMap<WordTerm, (u64, WordSpelling)>,
}

pub(super) fn of(
    recent: &[RecordedEvent],
    skills: &[SkillUse],
    words: &mut TextWords,
) -> Vec<Pattern> {
    let mut seen: BTreeMap<&str, SeenPattern> = BTreeMap::new();
    let (mut all, mut everywhere): (u64, HashMap<WordTerm, u64>) = (0, HashMap::new());
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
        let seen =
            seen.get(used.skill.as_str()).filter(|seen| seen.requests >= MIN_OBSERVATIONS)?;
        // What only one request had is no pattern, nor is what requests for other skills have as often.
        let telling = seen.terms.iter().filter(|(term, (n, _))| {
            let others = everywhere.get(term).copied().unwrap_or(0);
            let often = n * all * 2 >= others * seen.requests * 3;
            *n > 1 && (often || seen.requests * 2 > all)
        });
        let terms = telling.map(|(_, (n, word))| Counted { name: word.word(), n: *n });
        let mut terms = most_first(terms.collect());
        terms.truncate(MAX_PATTERN_WORDS);
        Some(Pattern { skill: used.skill.clone(), requests: seen.requests, terms })
    };
    skills.iter().filter_map(pattern).collect()
}
