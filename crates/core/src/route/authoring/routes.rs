//! [`Routes`]: what requests find over one catalog.

use crate::{
    catalog::{Catalog, SkillId},
    route::{
        Decision, Matching, RouteVerdict, Router,
        ranked::{RankedIndex, Ranking},
        search,
    },
};

/// A catalog with its indexes.
#[derive(Debug, Clone)]
pub struct Routes<'a> {
    pub(super) catalog: &'a Catalog,
    router: Router,
    ranked: RankedIndex,
    matching: Matching,
}

/// The findings of both engines for a request.
#[derive(Debug, Clone)]
pub struct RoutedRequest {
    /// The decision of `get_skill`.
    pub decision: Decision,
    /// What the keyword formula says.
    pub verdict: RouteVerdict,
    /// What the ranked search finds.
    pub ranking: Ranking,
}

impl RoutedRequest {
    /// The skills that an agent gets to see, best first: the one that `get_skill` loads, or those that it offers.
    pub fn shown(&self) -> impl Iterator<Item = SkillId> {
        self.decision.shown()
    }

    /// The place of a skill in the ranked search, from 1.
    pub fn ranked_place(&self, skill: SkillId) -> Option<usize> {
        let mut ranked = self.ranking.hits.iter().map(|hit| SkillId::at(hit.entry));
        ranked.position(|found| found == skill).map(|place| place + 1)
    }
}

impl<'a> Routes<'a> {
    /// Over a catalog and its indexes.
    pub fn new(
        catalog: &'a Catalog,
        router: Router,
        ranked: RankedIndex,
        matching: Matching,
    ) -> Self {
        Self { catalog, router, ranked, matching }
    }

    /// The catalog.
    pub fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// Routes a request, with at most so many hits of the ranked search.
    pub fn route(&self, request: &str, limit: usize) -> RoutedRequest {
        let decision = self.router.decide(self.catalog, || &self.ranked, request, &self.matching);
        RoutedRequest {
            decision,
            verdict: self.router.route(self.catalog, request, &self.matching),
            ranking: search(self.catalog, &self.ranked, request, limit),
        }
    }
}
