//! [`MatchEvidence`]: the evidence for the first hit of a search, and how sure that makes it.
//!
//! Word scores cannot say that nothing fits, but together a few numbers say it well: how much of the request the first hit has and
//! how well, how well its clauses match, and how far it leads. They are in units of the rarest word, so that they mean the same for
//! twenty skills and for ten thousand. The thresholds were chosen on real requests, near misses and everyday prompts over catalogs of
//! 20 to 6,205 skills, each publisher left out once, and hold on a half that was kept closed; the bench `routing` prints what they do.

/// The first hit is compared with the second and with the last of these.
pub(super) const COMPARED_HITS: usize = 6;

/// How sure a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The first hit fits.
    Sure,
    /// One of the first hits probably fits.
    Several,
    /// Probably nothing fits.
    Unsure,
}

/// How much a request weighs, whatever it finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RequestWeights {
    /// The weight of a word that a single skill has: scores grow with it, and it grows with the number of skills.
    pub(super) rarest: f64,
    /// The score that a skill with nothing but the request would have at most.
    pub(super) possible: f64,
    /// How many of its words some skill has, without those that it quotes at length.
    pub(super) known: usize,
}

/// The first hit as it was scored.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstHit {
    pub(super) bm25: f64,
    pub(super) clauses: f64,
    /// The weight of the request's words that it has, anywhere.
    pub(super) matched: f64,
    pub(super) score: f64,
    /// The score of the second hit; 0 without one.
    pub(super) second: f64,
    /// The score of the last of [`COMPARED_HITS`]; 0 without one.
    pub(super) last: f64,
}

/// The evidence for the first hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatchEvidence {
    /// How well it matches, times the share of the request that it has.
    pub matched: f64,
    /// How well a skill could match at most.
    pub possible: f64,
    /// How well its clauses match.
    pub clauses: f64,
    /// The share of its score by which it leads the second hit.
    pub lead: f64,
    /// The share of its score by which it leads the sixth hit.
    pub group_lead: f64,
    /// How many words of the request some skill has.
    pub known: usize,
    /// Its score by words.
    bm25: f64,
}

impl MatchEvidence {
    /// Weighs the first hit.
    pub(super) fn new(first: FirstHit, weights: RequestWeights) -> Self {
        let lead = |other: f64| (first.score - other) / first.score;
        Self {
            matched: first.bm25 / weights.rarest * first.matched / weights.possible,
            possible: weights.possible / weights.rarest,
            clauses: first.clauses / weights.rarest,
            lead: lead(first.second),
            group_lead: lead(first.last),
            known: weights.known,
            bm25: first.bm25 / weights.rarest,
        }
    }
}

/// Evidence below this is weak, unless the request is short.
const WEAK_MATCH: f64 = 1.0;
/// The share of the possible evidence that is not weak: a short request has little to match.
const WEAK_SHARE: f64 = 0.4;
/// Clauses below this do not make up for weak evidence.
const WEAK_CLAUSES: f64 = 0.5;
/// Evidence and clauses that are enough to speak unasked.
const ENOUGH: [f64; 2] = [1.6, 0.3];
/// For a short request: the share of the possible evidence, the score by words alone, and the clauses.
const ENOUGH_OF_SHORT: [f64; 3] = [0.65, 1.0, 0.8];
/// The first hit leads the second by this share of its score.
const SURE_LEAD: f64 = 0.2;
/// The first hits lead the sixth by this share of the first one's score.
const GROUP_LEAD: f64 = 0.25;
/// More names than this are a list, not a hint.
pub const MAX_SUGGESTED: usize = 3;

impl MatchEvidence {
    /// Judges whether the first hit fits.
    pub fn certainty(&self) -> Certainty {
        let is_weak = self.matched < WEAK_MATCH.min(WEAK_SHARE * self.possible)
            || (self.matched < WEAK_MATCH && self.clauses < WEAK_CLAUSES);
        if is_weak {
            Certainty::Unsure
        } else if self.is_enough() && self.lead >= SURE_LEAD {
            Certainty::Sure
        } else {
            Certainty::Several
        }
    }

    /// Counts the first hits that are worth naming to somebody who did not ask: one, a few that come close to each other, or none.
    pub fn suggested(&self) -> usize {
        match self.certainty() {
            Certainty::Sure => 1,
            Certainty::Several if self.is_enough() && self.group_lead >= GROUP_LEAD => {
                MAX_SUGGESTED
            }
            Certainty::Several | Certainty::Unsure => 0,
        }
    }

    /// Whether there is enough to speak without being asked.
    fn is_enough(&self) -> bool {
        let [matched, clauses] = ENOUGH;
        let [share, bm25, short_clauses] = ENOUGH_OF_SHORT;
        (self.matched >= matched && self.clauses >= clauses)
            || (self.matched >= share * self.possible
                && self.bm25 >= bm25
                && self.clauses >= short_clauses)
    }
}

impl Certainty {
    /// Its word in answers, events and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Several => "several",
            Self::Unsure => "unsure",
        }
    }
}
