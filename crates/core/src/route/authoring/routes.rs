//! [`Routes`]: what requests find over one catalog.

use crate::{
    catalog::{Catalog, SkillId},
    route::{
        Matching, RouteVerdict, Router,
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

/// What a request finds.
#[derive(Debug, Clone)]
pub struct RoutedRequest {
    /// The skill whose path the request is.
    pub at_path: Option<SkillId>,
    /// What the keyword formula says.
    pub verdict: RouteVerdict,
    /// What the ranked search finds.
    pub ranking: Ranking,
}

impl RoutedRequest {
    /// The skill that `get_skill` loads.
    pub fn decided(&self) -> Option<SkillId> {
        self.at_path.or(match &self.verdict {
            RouteVerdict::Match(hit) => Some(hit.skill),
            RouteVerdict::NoMatch { .. } | RouteVerdict::Ambiguous(_) => None,
        })
    }

    /// Whether the keyword formula offers several.
    pub fn is_ambiguous(&self) -> bool {
        self.at_path.is_none() && matches!(self.verdict, RouteVerdict::Ambiguous(_))
    }

    /// The skills that an agent gets to see, best first: the one that is decided for, else the candidates, else what the
    /// ranked search finds.
    pub fn shown(&self) -> Vec<SkillId> {
        match (self.decided(), &self.verdict) {
            (Some(skill), _) => vec![skill],
            (None, RouteVerdict::Ambiguous(hits)) => hits.iter().map(|hit| hit.skill).collect(),
            (None, RouteVerdict::NoMatch { .. } | RouteVerdict::Match(_)) => {
                self.ranked().collect()
            }
        }
    }

    /// The hits of the ranked search, best first.
    pub fn ranked(&self) -> impl Iterator<Item = SkillId> {
        self.ranking.hits.iter().map(|hit| SkillId::at(hit.entry))
    }

    /// The place of a skill in the ranked search, from 1.
    pub fn ranked_place(&self, skill: SkillId) -> Option<usize> {
        self.ranked().position(|found| found == skill).map(|place| place + 1)
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

    /// What a request finds, with at most so many hits of the ranked search.
    pub fn route(&self, request: &str, limit: usize) -> RoutedRequest {
        RoutedRequest {
            at_path: self.catalog.at_path(request).map(|skill| skill.id),
            verdict: self.verdict(request),
            ranking: search(self.catalog, &self.ranked, request, limit),
        }
    }

    /// What the keyword formula makes of a request.
    pub(super) fn verdict(&self, request: &str) -> RouteVerdict {
        self.router.route(self.catalog, request, &self.matching)
    }
}
