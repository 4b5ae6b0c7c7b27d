//! The answers of `get_skill` that load nothing, with candidates to choose from.

use serde::Serialize;
use skills_core::{
    catalog::Skill,
    estimate,
    route::{Candidate, DecidedBy, Deciders, KeywordHit, SkillOffer, ranked::Certainty},
};

use super::{
    Call, Refusal, Reply, get_skill,
    listing::{HitForm, MAX_HITS_TOKENS, better_request},
    siblings::Siblings,
};
use crate::event::{Ambiguous, Event, NoMatch};

#[derive(Serialize)]
struct OfferedSkills<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ambiguous: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
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

#[derive(Serialize)]
struct OfferedSkill<'a> {
    skill_path: &'a str,
    score: f64,
    description: String,
    matched_keywords: &'a [String],
    /// Left out where the keyword formula decides alone (GET-3).
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

/// Answers with what a request is offered (GET-3, GET-4).
pub(super) fn offered<'a>(
    call: &'a Call,
    context: &str,
    offer: &'a SkillOffer,
) -> Result<Reply, Refusal> {
    let closest = offer.closest.as_ref().map(|hit| skill_of(call, hit).map(|skill| (hit, skill)));
    let closest = closest.transpose()?;
    let with_skill = |one: &'a Candidate| Ok((one, skill_of(call, &one.hit)?));
    let skills = offer.candidates.iter().map(with_skill).collect::<Result<Vec<_>, Refusal>>()?;
    let both = call.snapshot.settings().matching.deciders == Deciders::Both;
    let candidates = if both {
        let siblings = Siblings::of_candidates(&call.snapshot, &offer.candidates);
        let make = |form| in_form(&skills, &siblings, form);
        HitForm::fitting(MAX_HITS_TOKENS, make, |made| tokens(made))
    } else {
        plain(&skills)
    };
    call.sink.record(|| record(call, context, offer, closest, &candidates));
    let first = candidates.first().filter(|_| both);
    Reply::json(&OfferedSkills {
        ambiguous: offer.has_match,
        no_match: !offer.has_match,
        message: message(offer),
        closest_candidate: closest.map(|(_, skill)| &*skill.identity),
        closest_score: closest.map(|(hit, _)| hit.base.rounded()),
        closest_by: closest
            .filter(|(hit, _)| hit.matched.is_empty())
            .map(|_| DecidedBy::Ranked.word()),
        next: first.map(|first| next(first.skill_path, context)),
        candidates,
    })
}

fn message(offer: &SkillOffer) -> &'static str {
    match (offer.is_unsure, offer.has_match) {
        (true, _) => "Probably no skill fits this request; the candidates only come nearest.",
        (false, true) => "Multiple skills match. Specify your need or pick a skill_path.",
        (false, false) if offer.candidates.is_empty() => "No skill matches the given context.",
        (false, false) => "No keyword decides; by their texts, the candidates fit best.",
    }
}

/// The candidates with as much of their descriptions as a form shows.
fn in_form<'a>(
    skills: &[(&'a Candidate, &'a Skill)],
    siblings: &Siblings,
    form: HitForm,
) -> Vec<OfferedSkill<'a>> {
    let mut offered = plain(skills);
    for sibling in siblings.members() {
        let Some(one) = offered.get_mut(sibling.place) else { continue };
        one.description = form.about(sibling.place, &one.description);
        one.by = skills.get(sibling.place).map(|(candidate, _)| candidate.by.word());
        one.differs_by.clone_from(&sibling.differs_by);
    }
    offered
}

/// The candidates as GET-3 has them.
fn plain<'a>(skills: &[(&'a Candidate, &'a Skill)]) -> Vec<OfferedSkill<'a>> {
    let plain = |(candidate, skill): &(&'a Candidate, &'a Skill)| OfferedSkill {
        skill_path: &skill.identity,
        score: candidate.hit.score.rounded(),
        description: skill.fields().description.clone(),
        matched_keywords: &candidate.hit.matched,
        by: None,
        differs_by: None,
    };
    skills.iter().map(plain).collect()
}

/// About how many tokens the candidates cost.
fn tokens(candidates: &[OfferedSkill<'_>]) -> usize {
    let cost = |one: &OfferedSkill<'_>| {
        estimate::tokens(one.skill_path) + estimate::tokens(&one.description)
    };
    candidates.iter().map(cost).sum()
}

fn record(
    call: &Call,
    context: &str,
    offer: &SkillOffer,
    closest: Option<(&KeywordHit, &Skill)>,
    candidates: &[OfferedSkill<'_>],
) -> Event {
    let paths: Vec<String> =
        candidates.iter().map(|candidate| candidate.skill_path.to_owned()).collect();
    call.session.offered(&paths, Some(context));
    let context = Some(context.to_owned());
    let is_unsure = offer.is_unsure || offer.candidates.is_empty();
    let certainty = if is_unsure { Certainty::Unsure } else { Certainty::Several };
    let certainty = Some(certainty.word().to_owned());
    if offer.has_match {
        let recorded = |path: &String| call.catalog().recorded_name(path).to_string();
        return Event::Ambiguous(Ambiguous {
            context,
            candidates: paths.iter().map(recorded).collect(),
            certainty,
        });
    }
    Event::NoMatch(NoMatch {
        context,
        closest_candidate: closest.map(|(_, skill)| call.recorded(skill)),
        closest_score: closest.map(|(hit, _)| hit.base.rounded()),
        certainty,
    })
}

/// The call that loads a candidate, and what would find a better one.
fn next(path: &str, context: &str) -> String {
    let better = better_request(context).map(|better| format!(" {better}")).unwrap_or_default();
    format!(
        "If a candidate fits the task, load it: {} {{\"skill_path\": \"{path}\"}}. If none does, go on without a skill.{better}",
        get_skill::TOOL.name
    )
}
