//! Lints of descriptions: longer than clients take, the same as another skill's, or almost the same.

use std::collections::{BTreeSet, HashMap};

use super::{CheckLimits, FieldPlaces, listed};
use crate::{
    catalog::{Catalog, Skill, SkillId},
    diagnostic::{Code, Finding, Position},
    tokens::{stem, tokenize},
};

/// Descriptions that share this part of their words are confusable, in hundredths.
const CONFUSABLE_PERCENT: usize = 80;
/// Fewer words are too few to compare.
const MIN_COMPARED_WORDS: usize = 5;

/// A description with fewer words and fewer bytes says too little. Among 5,810 public skills 19 do, all of them names.
const MIN_WORDS: usize = 5;
const MIN_BYTES: usize = 30;
/// How a description begins that is still to be written.
const PLACEHOLDERS: [&str; 3] = ["TODO", "TBD", "FIXME"];

/// Finds a description that is still to be written, or too short to choose the skill by.
pub(super) fn vague(skill: &Skill, at: Position, found: &mut Vec<Finding>) {
    let description = skill.fields().description.as_str();
    let first_word = description.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_short =
        description.len() < MIN_BYTES && description.split_whitespace().count() < MIN_WORDS;
    let message = if PLACEHOLDERS.iter().any(|mark| first_word.starts_with(mark)) {
        "the description is still to be written"
    } else if is_short {
        "the description is too short to choose the skill by"
    } else {
        return;
    };
    found.push(
        Finding::new(Code::DescriptionVague, at, message)
            .hint("say in a sentence or two what the skill is for and when to use it"),
    );
}

/// The finding about a description that is longer than clients take.
pub(super) fn length(skill: &Skill, at: Position, limits: &CheckLimits, found: &mut Vec<Finding>) {
    let fields = skill.fields();
    let own = fields.description.get(..fields.own_description).unwrap_or_default();
    let (own, all) = (own.chars().count(), fields.description.chars().count());
    // Clients cut what they show, `when_to_use` included; the format limits the field alone.
    let length = |cuts| if cuts { all } else { own };
    let over: Vec<_> =
        limits.description_chars.iter().filter(|limit| length(limit.cuts) > limit.chars).collect();
    if over.is_empty() {
        return;
    }
    let texts: Vec<String> = over
        .iter()
        .map(|limit| {
            let does = if limit.cuts { "cuts it at" } else { "allows" };
            format!("{} {does} {}", limit.client, limit.chars)
        })
        .collect();
    let least = over.iter().map(|limit| limit.chars).min().unwrap_or_default();
    let chars = if all > own {
        format!("{own} characters, {all} with `when_to_use`")
    } else {
        format!("{all} characters")
    };
    found.push(
        Finding::new(Code::DescriptionLong, at, format!("{chars}; {}", texts.join(", ")))
            .hint(format!("say what the skill is for and when to use it in at most {least} characters; the rest belongs in the text")),
    );
}

/// The words of one description.
struct DescriptionWords<'a> {
    skill: &'a Skill,
    /// Numbers of its stems, rarest first.
    stems: Vec<u32>,
    /// Each stem with the word as it was written.
    written: HashMap<u32, String>,
}

/// Two skills whose descriptions are the same or almost: the later one gets the finding, or the one that is asked for.
pub(super) fn confusable(
    catalog: &Catalog,
    places: &impl Fn(SkillId) -> FieldPlaces,
    is_asked: &impl Fn(&Skill) -> bool,
) -> Vec<(SkillId, Finding)> {
    let all = described(catalog);
    let mut nearest: Vec<Option<(usize, usize)>> = vec![None; all.len()];
    let mut seen: HashMap<u32, Vec<usize>> = HashMap::new();
    for (number, words) in all.iter().enumerate() {
        let length = words.stems.len();
        // Two lists that share so much share one of their rarest words.
        let needed = (length * CONFUSABLE_PERCENT).div_ceil(100);
        let prefix = words.stems.get(..=length - needed).unwrap_or_default();
        let mut candidates = BTreeSet::new();
        for stem in prefix {
            candidates.extend(seen.get(stem).into_iter().flatten().copied());
            seen.entry(*stem).or_default().push(number);
        }
        for candidate in candidates {
            let Some(other) = all.get(candidate) else { continue };
            let percent = similarity(words, other);
            let Some(best) = nearest.get_mut(number) else { continue };
            if percent >= CONFUSABLE_PERCENT && best.is_none_or(|(_, known)| percent > known) {
                *best = Some((candidate, percent));
            }
        }
    }
    let mut found = Vec::new();
    for (number, best) in nearest.iter().enumerate() {
        let pair =
            best.and_then(|(other, percent)| Some((all.get(number)?, all.get(other)?, percent)));
        let Some((words, other, percent)) = pair else { continue };
        let (own, other) = match (is_asked(words.skill), is_asked(other.skill)) {
            (true, _) => (words, other),
            (false, true) => (other, words),
            (false, false) => continue,
        };
        let at = places(own.skill.id).description;
        found.push((own.skill.id, finding(own, other, percent, at)));
    }
    found
}

/// The words of every description that has enough of them.
fn described(catalog: &Catalog) -> Vec<DescriptionWords<'_>> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut frequency: Vec<usize> = Vec::new();
    let mut all = Vec::new();
    for skill in catalog.skills() {
        let mut written: HashMap<u32, String> = HashMap::new();
        for word in tokenize(&skill.fields().description) {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(stem(&word)).or_insert(next);
            if number == next {
                frequency.push(0);
            }
            written.entry(number).or_insert(word);
        }
        if written.len() < MIN_COMPARED_WORDS {
            continue;
        }
        for number in written.keys() {
            if let Some(count) = usize::try_from(*number).ok().and_then(|at| frequency.get_mut(at))
            {
                *count += 1;
            }
        }
        all.push(DescriptionWords { skill, stems: written.keys().copied().collect(), written });
    }
    let often = |stem: &u32| usize::try_from(*stem).ok().and_then(|at| frequency.get(at)).copied();
    for words in &mut all {
        words.stems.sort_unstable_by_key(|stem| (often(stem), *stem));
    }
    all
}

/// How much of their words two descriptions share, in hundredths.
fn similarity(one: &DescriptionWords<'_>, other: &DescriptionWords<'_>) -> usize {
    let shared = one.stems.iter().filter(|stem| other.written.contains_key(stem)).count();
    let all = one.stems.len() + other.stems.len() - shared;
    shared * 100 / all.max(1)
}

fn finding(
    own: &DescriptionWords<'_>,
    other: &DescriptionWords<'_>,
    percent: usize,
    at: Position,
) -> Finding {
    // The rarest first: they say most.
    let only = |one: &DescriptionWords<'_>, other: &DescriptionWords<'_>| -> Vec<String> {
        let stems = one.stems.iter().filter(|stem| !other.written.contains_key(stem));
        stems.filter_map(|stem| one.written.get(stem).cloned()).collect()
    };
    let label = &other.skill.label;
    if percent == 100 {
        let is_same = own.skill.fields().description == other.skill.fields().description;
        let has =
            if is_same { "has the same description" } else { "says the same in its description" };
        return Finding::new(Code::DescriptionDuplicate, at, format!("`{label}` {has}"))
            .hint("say in each when to use it and when to use the other; or keep one of the two");
    }
    let apart = match (only(own, other), only(other, own)) {
        (own, other) if other.is_empty() => format!("only {} tells this one apart", listed(&own)),
        (own, other) if own.is_empty() => format!(
            "this one says nothing that `{label}` does not, which has {} too",
            listed(&other)
        ),
        (own, other) => format!("this one has {}, `{label}` has {}", listed(&own), listed(&other)),
    };
    Finding::new(
        Code::DescriptionConfusable,
        at,
        format!("{percent} % of its words are those of `{label}`; {apart}"),
    )
    .hint("say in each when to use it and when to use the other, in words that people ask with")
}
