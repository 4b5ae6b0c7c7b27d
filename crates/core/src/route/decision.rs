//! [`Decision`]: what `get_skill` does with a request, by the keyword formula and the ranked search together.
//!
//! The formula is right where authors chose keywords with care and requests are short, the ranked search nearly everywhere else.
//! A skill is loaded where both agree or the ranked search has enough evidence alone; else the best of both are offered. The
//! thresholds were chosen on one half of 2,000 real requests over 50 to 1,145 skills and hold on the other. Not here: how a
//! decision is worded.

use super::{
    Deciders, Exclusions, Matching, RouteVerdict, Router, own_name,
    ranked::{Certainty, MatchEvidence, RankedIndex},
    search,
    verdict::KeywordHit,
};
use crate::catalog::{Catalog, SkillId};

/// The engine that decided for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// The request is its path.
    Path,
    /// The keyword formula alone.
    Keywords,
    /// The keyword formula and the ranked search, which agree.
    Both,
    /// The ranked search alone.
    Ranked,
}

impl DecidedBy {
    /// Its word in answers, events and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Keywords => "keywords",
            Self::Both => "both",
            Self::Ranked => "ranked",
        }
    }
}

/// Which skill a request loads, or which ones it is offered.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// A skill is loaded. The hit is the keyword formula's, also where the formula did not decide.
    Load(KeywordHit, DecidedBy),
    /// Skills are offered, or there is none to offer.
    Offer(SkillOffer),
}

/// The skills that are offered for a request that loads none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillOffer {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// Whether the keyword formula has a match: one skill, or several.
    pub has_match: bool,
    /// Whether probably none of them fits.
    pub is_unsure: bool,
    /// Without a match, the nearest skill by the formula, or else by the ranked search with a score of 0.
    pub closest: Option<KeywordHit>,
}

/// A skill that is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its keywords that matched and its score by the formula, none and 0 where no keyword matched.
    pub hit: KeywordHit,
    /// `Ranked` where the ranked search has it, `Keywords` where the formula alone does.
    pub by: DecidedBy,
}

/// Evidence times lead that suffices where the formula has the same skill.
const MIN_SURE_AGREED: f64 = 0.25;
/// Evidence times lead that suffices for the ranked search alone.
const MIN_SURE_ALONE: f64 = 0.4;
/// How well the description's clauses must match for the ranked search to decide alone.
const MIN_CLAUSES_ALONE: f64 = 0.5;
/// A request with fewer words that skills have says too little for the ranked search to decide alone.
const MIN_KNOWN_WORDS: usize = 4;
/// The share of the possible evidence that suffices for the formula's single match: requests in the author's words.
const MIN_SHARE_MATCHED: f64 = 0.5;

/// Whether the first hit is loaded that the formula has, too.
fn agrees(evidence: &MatchEvidence, is_single: bool) -> bool {
    evidence.lead * evidence.matched >= MIN_SURE_AGREED
        || (is_single && evidence.matched >= MIN_SHARE_MATCHED * evidence.possible)
}

/// Whether the first hit is loaded whatever the formula says.
fn suffices(evidence: &MatchEvidence) -> bool {
    evidence.lead * evidence.matched >= MIN_SURE_ALONE
        && evidence.clauses >= MIN_CLAUSES_ALONE
        && evidence.known >= MIN_KNOWN_WORDS
}

impl Router {
    /// Decides which skill a request loads, or which ones it is offered.
    pub fn decide<'a>(
        &self,
        catalog: &Catalog,
        ranked: impl FnOnce() -> &'a RankedIndex,
        request: &str,
        matching: &Matching,
    ) -> Decision {
        if let Some(skill) = catalog.at_path(request) {
            return Decision::Load(KeywordHit::named(skill.id), DecidedBy::Path);
        }
        let keywords = self.keywords_in(request);
        if matching.deciders == Deciders::Keywords {
            return Decision::by_keywords(keywords.verdict(catalog, matching, |_| true));
        }
        let exclusions = Exclusions::new(request);
        let is_left =
            |id: SkillId| catalog.skill(id).is_some_and(|skill| !exclusions.has(own_name(skill)));
        let verdict = keywords.verdict(catalog, matching, is_left);
        let shown = matching.shown();
        let ranking = search(catalog, ranked(), request, shown);
        let order = ranking.hits.iter().map(|hit| SkillId::at(hit.entry));
        let (Some(evidence), Some(first)) = (ranking.evidence, order.clone().next()) else {
            return Decision::by_keywords(verdict);
        };
        let hits = verdict.hits();
        let is_single = matches!(verdict, RouteVerdict::Match(_));
        let is_root = || catalog.skill(first).is_some_and(|skill| skill.path.is_root());
        if hits.iter().any(|hit| hit.skill == first) && agrees(&evidence, is_single) {
            return Decision::Load(keywords.hit(catalog, first), DecidedBy::Both);
        }
        if suffices(&evidence) && !is_root() {
            return Decision::Load(keywords.hit(catalog, first), DecidedBy::Ranked);
        }
        let mut candidates: Vec<Candidate> = order
            .take(shown)
            .map(|skill| Candidate { hit: keywords.hit(catalog, skill), by: DecidedBy::Ranked })
            .collect();
        let unranked = |hit: &&KeywordHit| candidates.iter().all(|one| one.hit.skill != hit.skill);
        let unranked: Vec<&KeywordHit> = hits.iter().filter(unranked).collect();
        let free = shown.saturating_sub(candidates.len());
        candidates.extend(unranked.into_iter().take(free).map(Candidate::by_keywords));
        let has_match = !hits.is_empty();
        let closest = match verdict {
            RouteVerdict::NoMatch { closest } => {
                closest.or_else(|| Some(KeywordHit::unmatched(first)))
            }
            RouteVerdict::Match(_) | RouteVerdict::Ambiguous(_) => None,
        };
        let is_unsure = evidence.certainty() == Certainty::Unsure;
        Decision::Offer(SkillOffer { candidates, has_match, is_unsure, closest })
    }
}

impl Decision {
    /// Does what the formula says.
    fn by_keywords(verdict: RouteVerdict) -> Self {
        let offer = match verdict {
            RouteVerdict::Match(hit) => return Self::Load(hit, DecidedBy::Keywords),
            RouteVerdict::Ambiguous(hits) => SkillOffer {
                candidates: hits.iter().map(Candidate::by_keywords).collect(),
                has_match: true,
                ..SkillOffer::default()
            },
            RouteVerdict::NoMatch { closest } => SkillOffer { closest, ..SkillOffer::default() },
        };
        Self::Offer(offer)
    }

    /// The skills that an agent gets to see, best first: the one that is loaded, or those that are offered.
    pub fn shown(&self) -> impl Iterator<Item = SkillId> {
        let (loaded, offered) = match self {
            Self::Load(hit, _) => (Some(hit), [].as_slice()),
            Self::Offer(offer) => (None, offer.candidates.as_slice()),
        };
        let offered = offered.iter().map(|candidate| &candidate.hit);
        loaded.into_iter().chain(offered).map(|hit| hit.skill)
    }

    /// The skill that is loaded.
    pub fn loaded(&self) -> Option<SkillId> {
        match self {
            Self::Load(hit, _) => Some(hit.skill),
            Self::Offer(_) => None,
        }
    }
}

impl Candidate {
    fn by_keywords(hit: &KeywordHit) -> Self {
        Self { hit: hit.clone(), by: DecidedBy::Keywords }
    }
}
