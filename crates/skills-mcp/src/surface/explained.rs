//! [`ExplainedSearch`]: what a request finds, as an agent would find it, and why. `try` and the page show the same one.

use serde::Serialize;
use skills_core::{
    catalog::SkillId,
    route::{KeywordHit, RouteVerdict, ranked::SearchHit},
};

use super::Siblings;
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
    /// The places of hits in the order of their families, without those that say nearly the same as another.
    #[serde(skip)]
    shown: Vec<usize>,
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
    /// How many past requests it was loaded for, where that counts.
    pub learned_from: usize,
    /// The hit of the same family that comes first.
    pub sibling_of: Option<&'a str>,
    /// What tells it apart from the others of its family.
    pub differs_by: Option<String>,
    /// Hits that say nearly the same.
    pub nearly_the_same: Vec<&'a str>,
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
        let ranking = snapshot.search(request, limit);
        let siblings = Siblings::of_hits(snapshot, &ranking.hits);
        let skill = |hit: &SearchHit| snapshot.catalog.skill(SkillId::at(hit.entry));
        let labels: Vec<&str> = ranking
            .hits
            .iter()
            .map(|hit| skill(hit).map(|skill| &*skill.label).unwrap_or_default())
            .collect();
        let mut hits: Vec<ExplainedHit<'a>> =
            ranking.hits.into_iter().filter_map(|hit| explained(snapshot, hit)).collect();
        let mut shown = Vec::new();
        let mut first = None;
        for sibling in siblings.members() {
            shown.push(sibling.place);
            if sibling.is_first {
                first = labels.get(sibling.place).copied();
            }
            let Some(hit) = hits.get_mut(sibling.place) else { continue };
            hit.sibling_of = first.filter(|_| !sibling.is_first);
            hit.differs_by.clone_from(&sibling.differs_by);
            let same = sibling.duplicates.iter().filter_map(|place| labels.get(*place).copied());
            hit.nearly_the_same = same.collect();
        }
        Self {
            request,
            total: ranking.total,
            confident: ranking.confident,
            hits,
            get_skill: ExplainedRoute::of(snapshot, request),
            shown,
        }
    }

    /// The places of hits in the order of their families, without those that say nearly the same as another.
    pub fn shown_places(&self) -> impl Iterator<Item = usize> {
        self.shown.iter().copied()
    }
}

fn explained(snapshot: &Snapshot, hit: SearchHit) -> Option<ExplainedHit<'_>> {
    let skill = snapshot.catalog.skill(SkillId::at(hit.entry))?;
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
        learned_from: snapshot.learned_from(skill),
        sibling_of: None,
        differs_by: None,
        nearly_the_same: Vec::new(),
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
