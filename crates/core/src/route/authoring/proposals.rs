//! Past requests → edits of front matter that would have found the right skill, each tried before it is proposed.
//!
//! A skill gets a proposal where an agent loaded it for a request that showed another skill first, or none. Its triggers are
//! phrases of its own past requests; a tree skill whose keywords did not decide gets keywords. Each proposal says how many past
//! requests it would find and how many it would lose, and is made only where it finds more. Not here: where the history is
//! kept, and how proposals are shown.

use std::collections::{BTreeMap, HashSet};

use super::{
    FrontMatterEdit, JudgedTest, PastRequest, PastSkill, ResolvedTest, Routes, RoutingScores,
};
use crate::{
    catalog::{Skill, SkillId},
    route::{RouteVerdict, matches, ranked::clauses::clauses, stem, tokenize},
};

/// So many hits of the ranked search are looked at.
const MAX_RANKED_HITS: usize = 10;
/// So many phrases of one request become triggers.
const MAX_REQUEST_TRIGGERS: usize = 3;
/// So many triggers are proposed for one skill.
const MAX_SKILL_TRIGGERS: usize = 12;
/// A trigger has so many characters at most.
const MAX_TRIGGER_CHARS: usize = 100;
/// So many words of its own make a trigger; fewer say too little.
const MIN_TRIGGER_WORDS: usize = 2;
/// So many keywords are proposed for one skill.
const MAX_SKILL_KEYWORDS: usize = 3;
/// So many requests are shown as evidence.
const MAX_SHOWN_REQUESTS: usize = 5;
/// Two skills that were confused so often get a sentence that tells them apart.
const MIN_CONFUSIONS: usize = 2;
/// So many words name what is asked for.
const MAX_SUBJECT_WORDS: usize = 4;

/// What a proposal asks an author to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalKind {
    /// Add words to the front matter.
    Edit(FrontMatterEdit),
    /// Say in this skill what the other one is for.
    Boundary {
        /// The skill that came first.
        skill: SkillId,
        /// The skill that was loaded instead.
        other: SkillId,
        /// The sentence.
        sentence: String,
    },
    /// Write a skill about this.
    NewSkill {
        /// The words that the requests share.
        words: Vec<String>,
    },
}

/// A proposal with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedProposal {
    /// What to do.
    pub kind: ProposalKind,
    /// How many past requests speak for it.
    pub evidence: usize,
    /// Some of them.
    pub examples: Vec<String>,
    /// What it would change.
    pub effect: EditEffect,
}

/// What an edit changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditEffect {
    /// Past requests whose skill comes first then, and does not now.
    pub found: usize,
    /// Past requests whose skill comes first now, and does not then.
    pub lost: usize,
    /// Routing tests that pass then, and fail now.
    pub tests_fixed: usize,
    /// Routing tests that fail then, and pass now.
    pub tests_broken: usize,
}

/// All proposals from one history.
#[derive(Debug, Clone, Default)]
pub struct ProposalSet {
    /// Those with the most evidence first.
    pub proposals: Vec<LearnedProposal>,
    /// How past requests find their skills now.
    pub before: RoutingScores,
    /// The same with all edits.
    pub after: RoutingScores,
    /// What all edits together change.
    pub effect: EditEffect,
}

/// A past request for a skill, and what it finds now.
struct Asked<'a> {
    skill: SkillId,
    request: &'a str,
    count: usize,
    /// What is shown first.
    first: Option<SkillId>,
    /// Whether the keyword formula found nothing.
    undecided: bool,
    /// Its words.
    stems: Vec<String>,
}

/// Makes proposals from a history. `body` gives what a skill says.
pub fn propose(
    routes: &Routes<'_>,
    past: &[PastRequest],
    tests: &[(ResolvedTest, JudgedTest)],
    body: impl Fn(&Skill) -> String,
) -> ProposalSet {
    let skills = PastSkill::all(past, routes.catalog);
    let mut set = ProposalSet::default();
    let mut asked = Vec::new();
    for PastSkill { skill, requests } in &skills {
        for (request, count) in requests {
            let now = routes.route(request, MAX_RANKED_HITS);
            set.before.add(&now, *skill);
            asked.push(Asked {
                skill: *skill,
                request,
                count: *count,
                first: now.shown().first().copied(),
                undecided: matches!(now.verdict, RouteVerdict::NoMatch { .. }),
                stems: stems(request),
            });
        }
    }
    let mut edits: Vec<FrontMatterEdit> = Vec::new();
    for PastSkill { skill, .. } in &skills {
        let Some(own) = routes.catalog.skill(*skill) else { continue };
        let edit = edit_of(own, &asked, routes);
        if edit.is_empty() {
            continue;
        }
        let effect = effect(&[(&edit, body(own))], routes, &asked, tests);
        if effect.found > effect.lost && effect.tests_broken <= effect.tests_fixed {
            let missed: Vec<&Asked<'_>> = asked.iter().filter(|one| one.misses(*skill)).collect();
            set.proposals.push(LearnedProposal {
                kind: ProposalKind::Edit(edit.clone()),
                evidence: missed.iter().map(|one| one.count).sum(),
                examples: examples(missed.iter().map(|one| one.request)),
                effect,
            });
            edits.push(edit);
        }
    }
    let bodies = |edit: &FrontMatterEdit| routes.catalog.skill(edit.skill).map(&body);
    let all: Vec<(&FrontMatterEdit, String)> =
        edits.iter().filter_map(|edit| Some((edit, bodies(edit)?))).collect();
    set.effect = effect(&all, routes, &asked, tests);
    let changed = routes.with_all(all);
    for one in &asked {
        set.after.add(&changed.route(one.request, MAX_RANKED_HITS), one.skill);
    }
    set.proposals.extend(boundaries(&asked, routes));
    set.proposals.extend(new_skills(past, routes));
    // Stable: what has the same evidence stays in the order of the catalog.
    set.proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.evidence));
    set
}

impl Asked<'_> {
    /// Whether it asked for this skill, and another one or none was shown first.
    fn misses(&self, skill: SkillId) -> bool {
        self.skill == skill && self.first != Some(skill)
    }
}

/// What would help the requests that missed a skill.
fn edit_of(skill: &Skill, asked: &[Asked<'_>], routes: &Routes<'_>) -> FrontMatterEdit {
    let mut edit = FrontMatterEdit::of(skill.id);
    let own = || asked.iter().filter(|one| one.skill == skill.id);
    let missed: Vec<&Asked<'_>> = own().filter(|one| one.misses(skill.id)).collect();
    if missed.is_empty() {
        return edit;
    }
    // Where a keyword decided for another skill, only keywords help; they are no help to a skill that has none.
    if missed.iter().any(|one| !one.undecided) && !skill.fields().keywords.is_empty() {
        edit.keywords = new_keywords(skill, &missed, routes);
    }
    let known: HashSet<Vec<String>> =
        skill.fields().phrases.iter().map(|phrase| stems(phrase)).collect();
    let mut seen = known;
    // Missed requests first; the others say as much about what the skill is asked for.
    let found = own().filter(|one| !one.misses(skill.id));
    for one in missed.iter().copied().chain(found) {
        for phrase in telling_phrases(one.request, routes) {
            if edit.triggers.len() < MAX_SKILL_TRIGGERS && seen.insert(stems(&phrase)) {
                edit.triggers.push(phrase);
            }
        }
    }
    edit
}

/// The words that most of the missed requests have and no keyword of the skill matches.
fn new_keywords(skill: &Skill, missed: &[&Asked<'_>], routes: &Routes<'_>) -> Vec<String> {
    let keywords: Vec<String> =
        skill.fields().keywords.iter().map(|word| word.to_lowercase()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in missed {
        for word in tokenize(one.request) {
            if word.chars().nth(2).is_some() && !keywords.iter().any(|own| matches(&word, own)) {
                *counts.entry(word).or_default() += one.count;
            }
        }
    }
    let mut words: Vec<(usize, usize, String)> = counts
        .into_iter()
        .map(|(word, count)| (usize::MAX - count, routes.skills_with(&word), word))
        .collect();
    words.sort();
    words.into_iter().take(MAX_SKILL_KEYWORDS).map(|(_, _, word)| word).collect()
}

/// The phrases of a request that say most, in their order.
fn telling_phrases(request: &str, routes: &Routes<'_>) -> Vec<String> {
    let mut phrases: Vec<(usize, f64, String)> = Vec::new();
    for (place, clause) in clauses(request).into_iter().enumerate() {
        let phrase = cut(clause);
        let words = tokenize(&phrase);
        if words.len() < MIN_TRIGGER_WORDS {
            continue;
        }
        phrases.push((place, words.iter().map(|word| rarity(word, routes)).sum(), phrase));
    }
    phrases.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    phrases.truncate(MAX_REQUEST_TRIGGERS);
    phrases.sort_by_key(|(place, ..)| *place);
    phrases.into_iter().map(|(.., phrase)| phrase).collect()
}

/// A phrase on one line, cut at a word.
fn cut(phrase: &str) -> String {
    let mut short = String::new();
    for word in phrase.split_whitespace() {
        if short.chars().count() + word.chars().count() >= MAX_TRIGGER_CHARS {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    short
}

#[expect(clippy::cast_precision_loss, reason = "there are far fewer skills than 2^52")]
fn rarity(word: &str, routes: &Routes<'_>) -> f64 {
    let (all, with) = (routes.catalog.len() as f64, routes.skills_with(word) as f64);
    libm::log(1.0 + all / (1.0 + with))
}

fn stems(phrase: &str) -> Vec<String> {
    let mut stems: Vec<String> = tokenize(phrase).iter().map(|word| stem(word)).collect();
    stems.sort();
    stems
}

/// A request with so many words of an edit's triggers may be answered otherwise.
const MIN_SHARED_WORDS: usize = 2;

/// What these edits change for past requests and tests. Only requests that share words with an edit, or are for its skill, are
/// tried: there may be thousands.
fn effect(
    edits: &[(&FrontMatterEdit, String)],
    routes: &Routes<'_>,
    asked: &[Asked<'_>],
    tests: &[(ResolvedTest, JudgedTest)],
) -> EditEffect {
    let mut effect = EditEffect::default();
    if edits.is_empty() {
        return effect;
    }
    let mut changed = routes.clone();
    for (edit, body) in edits {
        changed = changed.with(edit, body);
    }
    let all = |texts: fn(&FrontMatterEdit) -> &[String]| -> HashSet<String> {
        edits.iter().flat_map(|(edit, _)| texts(edit)).flat_map(|text| stems(text)).collect()
    };
    let (triggers, keywords) = (all(|edit| &edit.triggers), all(|edit| &edit.keywords));
    let skills: HashSet<SkillId> = edits.iter().map(|(edit, _)| edit.skill).collect();
    let touches = |stems: &[String]| {
        let shared = stems.iter().filter(|word| triggers.contains(*word)).count();
        shared >= MIN_SHARED_WORDS || stems.iter().any(|word| keywords.contains(word))
    };
    for one in asked.iter().filter(|one| skills.contains(&one.skill) || touches(&one.stems)) {
        let is_first = changed.route(one.request, 1).shown().first() == Some(&one.skill);
        match (one.first == Some(one.skill), is_first) {
            (false, true) => effect.found += one.count,
            (true, false) => effect.lost += one.count,
            (true, true) | (false, false) => {}
        }
    }
    let concerned = |test: &ResolvedTest| {
        test.expected.is_some_and(|skill| skills.contains(&skill))
            || touches(&stems(&test.test.request))
    };
    for (test, judged) in tests.iter().filter(|(test, _)| concerned(test)) {
        match (judged.failure.is_none(), test.judge(&changed).failure.is_none()) {
            (false, true) => effect.tests_fixed += 1,
            (true, false) => effect.tests_broken += 1,
            (true, true) | (false, false) => {}
        }
    }
    effect
}

/// Of two skills that were confused, the one that came first says what the other is for. Such a sentence is for the model that
/// reads both; a ranking does not follow it.
fn boundaries(asked: &[Asked<'_>], routes: &Routes<'_>) -> Vec<LearnedProposal> {
    let mut pairs: BTreeMap<(SkillId, SkillId), Vec<&Asked<'_>>> = BTreeMap::new();
    for one in asked {
        if let Some(first) = one.first.filter(|first| *first != one.skill) {
            pairs.entry((first, one.skill)).or_default().push(one);
        }
    }
    let proposal = |((skill, other), confused): ((SkillId, SkillId), Vec<&Asked<'_>>)| {
        let evidence: usize = confused.iter().map(|one| one.count).sum();
        let name = routes.catalog.skill(other).map(|other| other.label.to_string())?;
        // What the first says of itself tells the two apart no better.
        let first = routes.catalog.skill(skill)?;
        let own = stems(&format!("{} {}", first.identity, first.fields().description));
        let mut words = subject(confused.iter().map(|one| one.request), routes);
        words.retain(|word| !own.contains(&stem(word)));
        (evidence >= MIN_CONFUSIONS && !words.is_empty()).then(|| LearnedProposal {
            kind: ProposalKind::Boundary {
                skill,
                other,
                sentence: format!("Not for {}: use {name}.", words.join(", ")),
            },
            evidence,
            examples: examples(confused.iter().map(|one| one.request)),
            effect: EditEffect::default(),
        })
    };
    pairs.into_iter().filter_map(proposal).collect()
}

/// Requests that loaded nothing and that no skill is near to, by the rarest word that several of them share.
fn new_skills(past: &[PastRequest], routes: &Routes<'_>) -> Vec<LearnedProposal> {
    let is_missed = |request: &str| {
        let found = routes.route(request, MAX_RANKED_HITS);
        found.decided().is_none() && !found.is_ambiguous() && found.ranking.suggested() == 0
    };
    let missed = past.iter().filter(|one| one.skill.is_none() && is_missed(&one.request));
    let mut left: Vec<(&str, Vec<String>)> =
        missed.map(|one| (one.request.as_str(), stems(&one.request))).collect();
    let mut proposals = Vec::new();
    loop {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for word in left.iter().flat_map(|(_, words)| words) {
            *counts.entry(word).or_default() += 1;
        }
        let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        let Some((word, _)) = most.filter(|(_, count)| *count >= MIN_CONFUSIONS) else { break };
        let word = word.clone();
        let (group, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, words)| words.contains(&word));
        left = rest;
        proposals.push(LearnedProposal {
            kind: ProposalKind::NewSkill {
                words: subject(group.iter().map(|(request, _)| *request), routes),
            },
            evidence: group.len(),
            examples: examples(group.iter().map(|(request, _)| *request)),
            effect: EditEffect::default(),
        });
    }
    proposals
}

/// The words that most of these requests have, rare ones first; where several share words, only those.
fn subject<'a>(requests: impl Iterator<Item = &'a str>, routes: &Routes<'_>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in requests.flat_map(tokenize).filter(|word| word.chars().nth(2).is_some()) {
        *counts.entry(word).or_default() += 1;
    }
    if counts.values().any(|count| *count > 1) {
        counts.retain(|_, count| *count > 1);
    }
    let mut words: Vec<(usize, usize, String)> = counts
        .into_iter()
        .map(|(word, count)| (usize::MAX - count, routes.skills_with(&word), word))
        .collect();
    words.sort();
    words.into_iter().take(MAX_SUBJECT_WORDS).map(|(_, _, word)| word).collect()
}

/// Some different requests, in their order.
fn examples<'a>(requests: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    requests.filter(|one| seen.insert(*one)).take(MAX_SHOWN_REQUESTS).map(str::to_owned).collect()
}
