//! Whether a request finds what a test says, and how often requests do.

use super::{ExpectedSkill, RoutedRequest, Routes, RoutingFileError, RoutingTest};
use crate::{
    catalog::{Catalog, SkillId},
    route::{DecidedBy, Decision},
};

/// So many hits of the ranked search are looked at, at least.
const MIN_JUDGED_HITS: usize = 10;

/// A test whose skills are those of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedTest {
    /// As it is written.
    pub test: RoutingTest,
    /// The skill that it expects.
    pub expected: Option<SkillId>,
    /// The skill that must not come first.
    pub forbidden: Option<SkillId>,
}

/// Why a test fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestFailure {
    /// Another skill comes before the expected one, or too many do.
    Other(SkillId),
    /// The keyword formula, deciding alone, offers several in an order that says nothing.
    Undecided,
    /// The request finds nothing at all.
    Nothing,
    /// The skill that must not come first does.
    Forbidden(SkillId),
    /// A skill is found where none should be.
    Unexpected(SkillId),
}

/// A test and what became of it.
#[derive(Debug, Clone)]
pub struct JudgedTest {
    /// What the request finds.
    pub routed: RoutedRequest,
    /// Why it fails; none where it passes.
    pub failure: Option<TestFailure>,
}

impl ResolvedTest {
    /// Looks the skills of a test up.
    pub fn resolve(test: RoutingTest, catalog: &Catalog) -> Result<Self, RoutingFileError> {
        let find = |path: &str| {
            catalog.find(path).map(|skill| skill.id).ok_or_else(|| {
                let near = catalog.near(path);
                let hint = match near.as_slice() {
                    [] => "`skills-mcp list` draws the tree".to_owned(),
                    near => format!("did you mean {}?", near.join(", ")),
                };
                let message = format!("there is no skill `{path:.200}`");
                RoutingFileError { at: test.at, message, hint }
            })
        };
        let expected = match &test.expect {
            Some(ExpectedSkill::Named(path)) => Some(find(path)?),
            Some(ExpectedSkill::Nothing) | None => None,
        };
        if let Some(skill) =
            expected.and_then(|id| catalog.skill(id)).filter(|one| !one.is_for_models())
        {
            return Err(RoutingFileError {
                at: test.at,
                message: format!("only its user starts `{}`, so no request finds it", skill.label),
                hint: "expect `none`, or take `disable-model-invocation` out of its front matter"
                    .to_owned(),
            });
        }
        let forbidden = test.not.as_deref().map(find).transpose()?;
        Ok(Self { test, expected, forbidden })
    }

    /// Routes the request, and says whether it finds what it should.
    pub fn judge(&self, routes: &Routes<'_>) -> JudgedTest {
        let limit = self.test.within.max(MIN_JUDGED_HITS);
        let found = routes.route(&self.test.request, limit);
        let failure = self.failure(&found);
        JudgedTest { failure, routed: found }
    }

    fn failure(&self, routed: &RoutedRequest) -> Option<TestFailure> {
        let shown: Vec<SkillId> = routed.shown().collect();
        let first = shown.first().copied();
        if let Some(forbidden) = self.forbidden.filter(|skill| first == Some(*skill)) {
            return Some(TestFailure::Forbidden(forbidden));
        }
        if self.test.expect == Some(ExpectedSkill::Nothing) {
            // A search nearly always has some hit; then it must say that probably nothing fits.
            let is_unsure = matches!(&routed.decision, Decision::Offer(offer) if offer.is_unsure);
            return first.filter(|_| !is_unsure).map(TestFailure::Unexpected);
        }
        let expected = self.expected?;
        let place = shown.iter().position(|skill| *skill == expected);
        match place {
            Some(place) if place < self.test.within => {
                let is_undecided = matches!(&routed.decision, Decision::Offer(offer)
                    if offer.candidates.iter().all(|one| one.by == DecidedBy::Keywords));
                (is_undecided && self.test.within == 1).then_some(TestFailure::Undecided)
            }
            _ => Some(first.map_or(TestFailure::Nothing, TestFailure::Other)),
        }
    }
}

/// How often requests with an expected skill find it, one way or the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutingScores {
    /// How many requests expect a skill.
    pub requests: usize,
    /// How often it is loaded.
    pub loaded_right: usize,
    /// How often another is loaded.
    pub loaded_wrong: usize,
    /// How often it is the first of the ranked search.
    pub ranked_first: usize,
    /// How often it is among the first three of the ranked search.
    pub ranked_third: usize,
    /// How often it is the first that an agent sees.
    pub shown_first: usize,
    /// How often it is among the first three that an agent sees.
    pub shown_third: usize,
}

impl RoutingScores {
    /// Counts a request that expects a skill.
    pub fn add(&mut self, routed: &RoutedRequest, expected: SkillId) {
        let within = |place: Option<usize>, count: usize| {
            usize::from(place.is_some_and(|place| place <= count))
        };
        let shown = routed.shown().position(|skill| skill == expected).map(|at| at + 1);
        let ranked = routed.ranked_place(expected);
        self.requests += 1;
        let loaded = routed.decision.loaded();
        self.loaded_right += usize::from(loaded == Some(expected));
        self.loaded_wrong += usize::from(loaded.is_some_and(|other| other != expected));
        self.ranked_first += within(ranked, 1);
        self.ranked_third += within(ranked, 3);
        self.shown_first += within(shown, 1);
        self.shown_third += within(shown, 3);
    }
}
