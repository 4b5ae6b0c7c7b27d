//! Whether a search is sure enough to speak without being asked, as when a user submits a prompt.
//!
//! Word scores cannot say that nothing fits, but together four of them say it well: the first hit's own score and its clauses'
//! (in units of the rarest word, so that they mean the same for twenty skills and for ten thousand), the share of the request
//! that the hit covers (a long request has some word of everything), and how far it leads. The thresholds were chosen on real
//! requests, near misses and everyday prompts, over catalogs of 20 to 5,060 skills; the bench `hook` prints the curve.

use super::search::Ranking;

/// The first hit scores as much as a word that only one skill has, or more.
const MIN_BM25: f64 = 1.0;
/// It covers this share of the request.
const MIN_COVERAGE: f64 = 0.22;
/// Its clauses score so much, where it leads.
const MIN_CLAUSES: f64 = 0.5;
/// It leads the second by this share of its score.
const MIN_LEAD: f64 = 0.2;
/// Its clauses score so much, where others come close.
const MIN_TIED_CLAUSES: f64 = 0.8;
/// It leads the sixth by this share of its score, where others come close.
const MIN_TIED_LEAD: f64 = 0.25;
/// So many are suggested where the first ones come close.
const MAX_SUGGESTED: usize = 3;
/// A search must have this limit at least, for its suggestion to be the one of a longer one.
pub const SUGGESTION_LIMIT: usize = 6;

impl Ranking {
    /// How many of the first hits to suggest: none, one that leads, or a few that come close to each other.
    pub fn suggested(&self) -> usize {
        let weights = self.weights;
        let Some(first) = self.hits.first() else { return 0 };
        let lead = |place: usize| {
            let other = self.hits.get(place).map_or(0.0, |hit| hit.score);
            (first.score - other) / first.score
        };
        let covered = first.strength.bm25 >= MIN_BM25 * weights.rarest
            && first.strength.bm25 >= MIN_COVERAGE * weights.possible;
        let clauses = first.strength.clauses / weights.rarest;
        if covered && clauses >= MIN_CLAUSES && lead(1) >= MIN_LEAD {
            1
        } else if covered
            && clauses >= MIN_TIED_CLAUSES
            && lead(SUGGESTION_LIMIT - 1) >= MIN_TIED_LEAD
        {
            MAX_SUGGESTED.min(self.hits.len())
        } else {
            0
        }
    }
}
