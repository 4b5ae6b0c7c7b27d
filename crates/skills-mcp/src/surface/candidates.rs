//! The answers of `get_skill` that load nothing: no match and several, with candidates to choose from.

use serde::Serialize;
use skills_core::{
    catalog::{Skill, SkillId},
    route::{KeywordHit, ranked::SearchHit},
};

use super::{
    Call, Refusal, Reply, get_skill,
    listing::clipped,
    siblings::{Sibling, Siblings},
};
use crate::event::{Ambiguous, Event, NoMatch};

#[derive(Serialize)]
struct Nothing<'a> {
    no_match: bool,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    closest_candidate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closest_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closest_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<OfferedSkill<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A skill that a search found where no keyword decided.
#[derive(Serialize)]
struct OfferedSkill<'a> {
    skill_path: &'a str,
    description: String,
    score: f64,
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    differs_by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearly_the_same: Vec<&'a str>,
}

#[derive(Serialize)]
struct Several<'a> {
    ambiguous: bool,
    candidates: Vec<Candidate<'a>>,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    skill_path: &'a str,
    score: f64,
    description: &'a str,
    matched_keywords: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differs_by: Option<String>,
}

/// The skill of a hit.
pub(super) fn skill_of<'a>(call: &'a Call, hit: &KeywordHit) -> Result<&'a Skill, Refusal> {
    call.snapshot
        .catalog
        .skill(hit.skill)
        .ok_or_else(|| Refusal::Internal("the router names a skill that is not there".to_owned()))
}

/// At most so many skills are offered where no keyword decides.
const MAX_OFFERED: usize = 5;

/// No keyword decides (GET-4, GET-6).
pub(super) fn no_match(
    call: &Call,
    context: &str,
    closest: Option<&KeywordHit>,
) -> Result<Reply, Refusal> {
    let by_formula = closest
        .map(|hit| Ok::<_, Refusal>((&*skill_of(call, hit)?.identity, hit.base.rounded())))
        .transpose()?;
    // Where no keyword matches, the ranked search may still know what was meant.
    let candidates = offered(call, context);
    // Its formula score is then zero.
    let first = candidates.first().map(|first| (first.skill_path, 0.0));
    let ranked = if by_formula.is_none() { first } else { None };
    let closest = by_formula.or(ranked);
    let offers = call.snapshot.settings().offers_candidates;
    let candidates = if offers { candidates } else { Vec::new() };
    call.sink.record(|| {
        let named = |candidate: &OfferedSkill<'_>| {
            let all = candidate.nearly_the_same.iter().copied().chain([candidate.skill_path]);
            all.map(str::to_owned).collect::<Vec<_>>()
        };
        let offered: Vec<String> = candidates.iter().flat_map(named).collect();
        call.session.offered(&offered, Some(context));
        Event::NoMatch(NoMatch {
            context: Some(context.to_owned()),
            closest_candidate: closest
                .map(|(path, _)| call.catalog().recorded_name(path).to_string()),
            closest_score: closest.map(|(_, score)| score),
        })
    });
    Reply::json(&Nothing {
        no_match: true,
        message: "No skill matches the given context.",
        closest_candidate: closest.map(|(path, _)| path),
        closest_score: closest.map(|(_, score)| score),
        closest_by: ranked.map(|_| "ranked"),
        next: candidates.first().map(|first| next(first.skill_path)),
        candidates,
    })
}

/// So many hits are looked at, so that near duplicates leave room for others.
const MAX_SEARCHED: usize = 10;

/// What a search finds, best first; near duplicates of one are named by it.
fn offered<'a>(call: &'a Call, context: &str) -> Vec<OfferedSkill<'a>> {
    let hits = call.snapshot.search(context, MAX_SEARCHED).hits;
    let siblings = Siblings::of_hits(&call.snapshot, &hits);
    let skill = |place: &usize| {
        let hit: &SearchHit = hits.get(*place)?;
        Some((hit, call.snapshot.catalog.skill(SkillId::at(hit.entry))?))
    };
    let offered = |sibling: &Sibling| {
        let (hit, of) = skill(&sibling.place)?;
        let same = sibling.duplicates.iter().filter_map(skill);
        Some(OfferedSkill {
            skill_path: &of.identity,
            description: clipped(&of.fields().description),
            score: (hit.score * 1e4).round() / 1e4,
            by: "ranked",
            differs_by: sibling.differs_by.clone(),
            nearly_the_same: same.map(|(_, skill)| &*skill.identity).collect(),
        })
    };
    siblings.by_place().into_iter().filter_map(offered).take(MAX_OFFERED).collect()
}

/// The call that loads a candidate.
fn next(path: &str) -> String {
    format!(
        "If a candidate fits the task, load it: {} {{\"skill_path\": \"{path}\"}}. If none does, go on without a skill.",
        get_skill::TOOL.name
    )
}

/// Several skills are too close to call (GET-3).
pub(super) fn ambiguous(call: &Call, context: &str, hits: &[KeywordHit]) -> Result<Reply, Refusal> {
    // Other clients get what GET-3 says and nothing else.
    let is_known = call.profile.client.is_some();
    let siblings = is_known.then(|| Siblings::of_keyword_hits(&call.snapshot, hits));
    let differs_by = |place: usize| {
        let mut all = siblings.iter().flat_map(Siblings::members);
        all.find(|sibling| sibling.place == place)?.differs_by.clone()
    };
    let mut candidates = Vec::with_capacity(hits.len());
    for (place, hit) in hits.iter().enumerate() {
        let skill = skill_of(call, hit)?;
        candidates.push(Candidate {
            skill_path: &skill.identity,
            score: hit.score.rounded(),
            description: &skill.fields().description,
            matched_keywords: &hit.matched,
            by: is_known.then_some("keywords"),
            differs_by: differs_by(place),
        });
    }
    call.sink.record(|| {
        let paths = candidates.iter().map(|candidate| candidate.skill_path.to_owned());
        let candidates: Vec<String> = paths.collect();
        call.session.offered(&candidates, Some(context));
        let recorded = |path: &String| call.catalog().recorded_name(path).to_string();
        let candidates = candidates.iter().map(recorded).collect();
        Event::Ambiguous(Ambiguous { context: Some(context.to_owned()), candidates })
    });
    let message = "Multiple skills match. Specify your need or pick a skill_path.";
    let first = candidates.first().filter(|_| is_known);
    let next = first.map(|first| next(first.skill_path));
    Reply::json(&Several { ambiguous: true, candidates, message, next })
}
