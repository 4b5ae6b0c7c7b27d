//! [`ExplainedSearch`]: what a request finds, as an agent would find it, and why. `try` and the page show the same one.

use serde::Serialize;
use skills_core::{
    catalog::SkillId,
    route::{Decision, KeywordHit, RouteVerdict, ranked::SearchHit},
};

use super::{HitForm, Siblings};
use crate::store::{Snapshot, clause_of};

/// What a request finds.
#[derive(Debug, Serialize)]
pub struct ExplainedSearch<'a> {
    /// The request.
    pub request: &'a str,
    /// How many skills the ranked search finds.
    pub total: usize,
    /// How sure the ranked search is: `sure`, `several` or `unsure`.
    pub certainty: &'static str,
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
    /// The part of its description that a model is shown.
    pub about: String,
    /// The sum of the four that follow.
    pub score: f64,
    /// For words anywhere in it.
    pub words: f64,
    /// For its name.
    pub name: f64,
    /// For its clauses.
    pub clauses: f64,
    /// For how much of the request it has.
    pub coverage: f64,
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

/// The decision of `get_skill`, and the verdict of the keyword formula.
#[derive(Debug, Serialize)]
pub struct ExplainedRoute<'a> {
    /// The skill that it loads.
    pub loads: Option<&'a str>,
    /// Whether that is refused, because only its user starts it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// The engine that decided for it: `path`, `keywords`, `ranked` or `both`.
    pub by: Option<&'static str>,
    /// The skills that it offers instead.
    pub offers: Vec<&'a str>,
    /// Whether it says first that probably none of them fits.
    pub unsure: bool,
    /// `match`, `ambiguous` or `no_match`, by the formula.
    pub keywords: &'static str,
    /// The skills that the formula chooses among; the closest one where it finds none.
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
        let certainty = ranking.certainty().word();
        let mut hits: Vec<ExplainedHit<'a>> = ranking
            .hits
            .into_iter()
            .enumerate()
            .filter_map(|(place, hit)| explained(snapshot, place, hit))
            .collect();
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
            certainty,
            hits,
            get_skill: ExplainedRoute::of(snapshot, request),
            shown,
        }
    }

    /// The places of hits in the order of their families, without those that say nearly the same as another.
    pub fn shown_places(&self) -> impl Iterator<Item = usize> {
        self.shown.iter().copied()
    }

    /// Says in words how sure the ranked search is.
    pub fn judgement(&self) -> &'static str {
        match (self.certainty, &*self.hits) {
            ("sure", _) => "the first fits",
            ("several", [_]) => "it may fit",
            ("several", _) => "one of the first probably fits",
            _ => "probably none fits",
        }
    }
}

fn explained(snapshot: &Snapshot, place: usize, hit: SearchHit) -> Option<ExplainedHit<'_>> {
    let skill = snapshot.catalog.skill(SkillId::at(hit.entry))?;
    Some(ExplainedHit {
        skill: &skill.label,
        identity: &skill.identity,
        about: HitForm::LONGEST.about(place, &skill.fields().description),
        score: hit.score,
        words: hit.bm25,
        name: hit.name,
        clauses: hit.clauses,
        coverage: hit.coverage,
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
        let decision = snapshot.decide(request);
        let identity = |skill| catalog.skill(skill).map(|skill| &*skill.identity);
        let (by, unsure) = match &decision {
            Decision::Load(_, by) => (Some(by.word()), false),
            Decision::Offer(offer) => (None, offer.is_unsure),
        };
        let shown: Vec<&str> = decision.shown().filter_map(identity).collect();
        let (keywords, hits) = match snapshot.keywords(request) {
            RouteVerdict::NoMatch { closest } => ("no_match", closest.into_iter().collect()),
            RouteVerdict::Match(hit) => ("match", vec![hit]),
            RouteVerdict::Ambiguous(hits) => ("ambiguous", hits),
        };
        let candidate = |hit: KeywordHit| {
            Some(ExplainedCandidate {
                skill_path: identity(hit.skill)?,
                score: hit.score.rounded(),
                matched_keywords: hit.matched,
            })
        };
        Self {
            loads: decision.loaded().and_then(identity),
            refused: decision
                .loaded()
                .and_then(|id| catalog.skill(id))
                .is_some_and(|skill| !skill.is_for_models()),
            by,
            offers: if by.is_some() { Vec::new() } else { shown },
            unsure,
            keywords,
            candidates: hits.into_iter().filter_map(candidate).collect(),
        }
    }

    /// Says in a sentence what `get_skill` does, and why.
    pub fn sentence(&self) -> String {
        match (self.loads, self.by, &*self.offers) {
            (Some(skill), ..) if self.refused => {
                format!("get_skill refuses {skill}: only its user starts it.")
            }
            (Some(skill), Some(by), _) => {
                let why = match by {
                    "path" => "the request is its path",
                    "keywords" => "the keyword formula decides for it",
                    "ranked" => "the evidence of the ranked search suffices",
                    _ => "the keyword formula and the ranked search agree",
                };
                format!("get_skill loads {skill}: {why}.")
            }
            (_, _, []) => "get_skill finds nothing.".to_owned(),
            (_, _, offers) => {
                let doubt =
                    if self.unsure { ", and says first that probably no skill fits" } else { "" };
                format!("get_skill loads nothing. It offers {}{doubt}.", offers.join(", "))
            }
        }
    }
}
