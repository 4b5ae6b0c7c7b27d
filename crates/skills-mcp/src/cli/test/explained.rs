//! [`ExplainedTest`]: a test in words: what was expected, and what came first and by which words.

use skills_core::{
    catalog::SkillId,
    route::{
        DecidedBy, Decision, KeywordHit, RouteVerdict,
        authoring::{ExpectedSkill, JudgedTest, ResolvedTest, TestFailure},
    },
};

use super::collected::TestPlace;
use crate::store::{Snapshot, clause_of};

/// A test and its result, in words.
pub(in crate::cli) struct ExplainedTest {
    pub(super) place: TestPlace,
    pub(super) test: ResolvedTest,
    pub(super) judged: JudgedTest,
    /// What was expected.
    pub(in crate::cli) expected: String,
    /// What comes first for an agent.
    pub(in crate::cli) first: Option<String>,
    /// What the keyword formula does.
    pub(in crate::cli) formula: String,
    /// What the ranked search does.
    pub(in crate::cli) ranked: String,
    /// Why it fails, in a sentence.
    pub(in crate::cli) failure: Option<String>,
}

impl ExplainedTest {
    pub(in crate::cli) fn new(
        snapshot: &Snapshot,
        place: TestPlace,
        test: ResolvedTest,
        judged: JudgedTest,
    ) -> Self {
        let first = judged.routed.shown().next().map(|skill| identity(snapshot, skill));
        let failure = judged.failure.map(|failure| failed(snapshot, &test, failure));
        Self {
            expected: expected(&test),
            first,
            formula: formula(snapshot, &judged),
            ranked: ranked(snapshot, &test, &judged),
            failure,
            place,
            test,
            judged,
        }
    }

    pub(in crate::cli) fn passed(&self) -> bool {
        self.judged.failure.is_none()
    }

    /// The skill that was expected, and the one that came first instead.
    pub(super) fn confused(&self) -> Option<(&str, &str)> {
        let ExpectedSkill::Named(expected) = self.test.test.expect.as_ref()? else { return None };
        let won = matches!(self.judged.failure?, TestFailure::Other(_) | TestFailure::Forbidden(_));
        Some((expected, self.first.as_deref().filter(|first| won && *first != expected)?))
    }

    /// What the first skill was found by, for programs.
    pub(super) fn found_by(&self) -> Option<&'static str> {
        match &self.judged.routed.decision {
            Decision::Load(_, by) => Some(by.word()),
            Decision::Offer(offer) => (!offer.candidates.is_empty()).then_some("candidates"),
        }
    }
}

fn identity(snapshot: &Snapshot, skill: SkillId) -> String {
    snapshot.catalog.skill(skill).map(|skill| skill.identity.to_string()).unwrap_or_default()
}

fn expected(test: &ResolvedTest) -> String {
    let within = match test.test.within {
        1 => String::new(),
        within => format!(" among the first {within}"),
    };
    let not = test.test.not.as_ref().map(|not| format!("not {not} first"));
    let skill = test.test.expect.as_ref().map(|expect| match expect {
        ExpectedSkill::Named(path) => format!("{path}{within}"),
        ExpectedSkill::Nothing => "no skill".to_owned(),
    });
    skill.into_iter().chain(not).collect::<Vec<_>>().join(", and ")
}

fn failed(snapshot: &Snapshot, test: &ResolvedTest, failure: TestFailure) -> String {
    let wanted = expected(test);
    match failure {
        TestFailure::Other(won) => {
            format!("expected {wanted}; {} comes first", identity(snapshot, won))
        }
        TestFailure::Undecided => {
            format!(
                "expected {wanted}; the keyword formula cannot decide between several (`within: 2` accepts that)"
            )
        }
        TestFailure::Nothing => format!("expected {wanted}; nothing is found"),
        TestFailure::Forbidden(won) => {
            format!("expected {wanted}; {} does come first", identity(snapshot, won))
        }
        TestFailure::Unexpected(won) => {
            format!("expected {wanted}; {} is found, without a doubt said", identity(snapshot, won))
        }
    }
}

fn formula(snapshot: &Snapshot, judged: &JudgedTest) -> String {
    let hit = |hit: &KeywordHit| {
        let name = identity(snapshot, hit.skill);
        format!("{name} (score {}, by {})", hit.score.rounded(), hit.matched.join(", "))
    };
    match &judged.routed.verdict {
        _ if matches!(judged.routed.decision, Decision::Load(_, DecidedBy::Path)) => {
            "the request is the path of a skill".to_owned()
        }
        RouteVerdict::Match(found) => format!("match {}", hit(found)),
        RouteVerdict::Ambiguous(hits) => {
            format!("undecided between {}", hits.iter().map(hit).collect::<Vec<_>>().join(", "))
        }
        RouteVerdict::NoMatch { closest: Some(found) } => {
            format!("no match, closest {}", hit(found))
        }
        RouteVerdict::NoMatch { closest: None } => "no keyword matches".to_owned(),
    }
}

fn ranked(snapshot: &Snapshot, test: &ResolvedTest, judged: &JudgedTest) -> String {
    let Some(first) = judged.routed.ranking.hits.first() else {
        return "no skill has a word of the request".to_owned();
    };
    let id = SkillId::at(first.entry);
    let skill = snapshot.catalog.skill(id);
    let clause = first.clause.and_then(|number| clause_of(skill?, number));
    let clause = clause.map(|clause| format!(", clause “{clause}”")).unwrap_or_default();
    let words = first.matched_terms.join(", ");
    let sentence = format!("{} is first, by {words}{clause}", identity(snapshot, id));
    match test.expected.filter(|expected| *expected != id) {
        None => sentence,
        Some(expected) => {
            let place = match judged.routed.ranked_place(expected) {
                Some(place) => format!("is number {place}"),
                None if judged.routed.ranking.total > judged.routed.ranking.hits.len() => {
                    format!("is not among the first {}", judged.routed.ranking.hits.len())
                }
                None => "has no word of it".to_owned(),
            };
            format!("{sentence}; {} {place}", identity(snapshot, expected))
        }
    }
}
