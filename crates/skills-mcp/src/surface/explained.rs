//! [`ExplainedSearch`]: what a request finds, as an agent would find it, and why. `try` and the page show the same one.

use serde::Serialize;
use skills_core::{
    catalog::{Catalog, SkillId},
    route::{KeywordHit, RouteVerdict, ranked::SearchHit},
};

use crate::store::{Snapshot, clause_of};

/// What a request finds.
#[derive(Debug, Serialize)]
pub struct ExplainedSearch<'a> {
    /// The request.
    pub request: &'a str,
    /// How many skills the ranked search finds.
    pub total: usize,
    /// Whether the first stands out.
    pub confident: bool,
    /// The best of them.
    pub hits: Vec<ExplainedHit<'a>>,
    /// What `get_skill` makes of the request.
    pub get_skill: ExplainedRoute<'a>,
}

/// A skill that the ranked search finds.
#[derive(Debug, Serialize)]
pub struct ExplainedHit<'a> {
    /// What the `skill` tool calls it.
    pub skill: &'a str,
    /// What tree tools call it.
    #[serde(skip)]
    pub identity: &'a str,
    /// What it says of itself.
    #[serde(skip)]
    pub description: &'a str,
    /// The sum of the three that follow.
    pub score: f64,
    /// For words anywhere in it.
    pub words: f64,
    /// For its name.
    pub name: f64,
    /// For its clauses.
    pub clauses: f64,
    /// The words of the request that occur in it.
    pub matched_terms: Vec<String>,
    /// The clause that fits best.
    pub clause: Option<String>,
}

/// What the keyword formula makes of a request.
#[derive(Debug, Serialize)]
pub struct ExplainedRoute<'a> {
    /// The skill whose path the request is; then keywords do not decide.
    pub path: Option<&'a str>,
    /// `match`, `ambiguous` or `no_match`.
    pub keywords: &'static str,
    /// The skills that it decides among; the closest one where it finds none.
    pub candidates: Vec<ExplainedCandidate<'a>>,
}

/// A skill that the keyword formula decides among.
#[derive(Debug, Serialize)]
pub struct ExplainedCandidate<'a> {
    /// What tree tools call it.
    pub skill_path: &'a str,
    /// Its score.
    pub score: f64,
    /// Its keywords that matched.
    pub matched_keywords: Vec<String>,
}

impl<'a> ExplainedSearch<'a> {
    /// What a request finds in a snapshot, at most `limit` skills.
    pub fn of(snapshot: &'a Snapshot, request: &'a str, limit: usize) -> Self {
        let catalog = &snapshot.catalog;
        let ranking = snapshot.search(request, limit);
        Self {
            request,
            total: ranking.total,
            confident: ranking.confident,
            hits: ranking.hits.into_iter().filter_map(|hit| explained(catalog, hit)).collect(),
            get_skill: ExplainedRoute::of(snapshot, request),
        }
    }
}

fn explained(catalog: &Catalog, hit: SearchHit) -> Option<ExplainedHit<'_>> {
    let skill = catalog.skill(SkillId::at(hit.entry))?;
    Some(ExplainedHit {
        skill: &skill.label,
        identity: &skill.identity,
        description: &skill.fields().description,
        score: hit.score,
        words: hit.bm25,
        name: hit.name,
        clauses: hit.clauses,
        clause: hit.clause.and_then(|clause| clause_of(skill, clause)),
        matched_terms: hit.matched_terms,
    })
}

impl<'a> ExplainedRoute<'a> {
    fn of(snapshot: &'a Snapshot, request: &str) -> Self {
        let catalog = &snapshot.catalog;
        let (keywords, hits) = match snapshot.route(request) {
            RouteVerdict::NoMatch { closest } => ("no_match", closest.into_iter().collect()),
            RouteVerdict::Match(hit) => ("match", vec![hit]),
            RouteVerdict::Ambiguous(hits) => ("ambiguous", hits),
        };
        let candidate = |hit: KeywordHit| {
            Some(ExplainedCandidate {
                skill_path: &catalog.skill(hit.skill)?.identity,
                score: hit.score.rounded(),
                matched_keywords: hit.matched,
            })
        };
        Self {
            path: catalog.at_path(request).map(|skill| &*skill.identity),
            keywords,
            candidates: hits.into_iter().filter_map(candidate).collect(),
        }
    }
}
