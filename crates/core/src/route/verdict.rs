//! [`RouteVerdict`]: no match, one match, or candidates to choose from; and the arithmetic behind it.

use crate::catalog::SkillId;

/// Whether the keyword formula decides alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deciders {
    /// The formula and the ranked search.
    Both,
    /// The formula.
    Keywords,
}

impl Deciders {
    /// Reads a word of the configuration.
    pub fn from_word(word: &str) -> Self {
        if word == "keywords" { Self::Keywords } else { Self::Both }
    }
}

/// The thresholds, from the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matching {
    /// Base scores below this do not count.
    pub min_score: f64,
    /// Whether the formula decides alone.
    pub deciders: Deciders,
    /// How many candidates are offered; at least two, since one is no choice.
    pub max_results: usize,
    /// A gap between the first two below this is ambiguous.
    pub ambiguity_threshold: f64,
}

impl Default for Matching {
    fn default() -> Self {
        Self { deciders: Deciders::Both, min_score: 0.2, max_results: 5, ambiguity_threshold: 0.1 }
    }
}

impl Matching {
    /// How many candidates are offered.
    pub(super) fn shown(&self) -> usize {
        self.max_results.max(MIN_CANDIDATES)
    }
}

/// A score in billionths: sums and comparisons are exact, so that 0.6 − 0.5 is 0.1 at the edges too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Score(i64);

const SCORE_UNIT: f64 = 1e9;

impl Score {
    /// The nearest score to a number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float beyond the range saturates, which is what a score should do"
    )]
    pub fn new(number: f64) -> Self {
        Self((number * SCORE_UNIT).round() as i64)
    }

    /// Matched keywords over all keywords.
    pub fn share(matched: usize, total: usize) -> Self {
        let (matched, total) =
            (i64::try_from(matched).unwrap_or(i64::MAX), i64::try_from(total).unwrap_or(i64::MAX));
        // Rounded to the nearest, as `new` does.
        Self((matched.saturating_mul(1_000_000_000).saturating_add(total / 2)) / total.max(1))
    }

    /// This score with a skill's priority added.
    #[must_use]
    pub(super) fn with_priority(self, priority: f64) -> Self {
        Self(self.0.saturating_add(Self::new(priority * 0.001).0))
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As answers show it: four decimals.
    #[expect(
        clippy::cast_precision_loss,
        reason = "scores are small, and shown with four decimals"
    )]
    pub fn rounded(self) -> f64 {
        (self.0 as f64 / SCORE_UNIT * 1e4).round() / 1e4
    }
}

/// A skill that matches at least one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordHit {
    /// Which.
    pub skill: SkillId,
    /// Matched keywords over all keywords.
    pub base: Score,
    /// The base with priority; decides the order.
    pub score: Score,
    /// The keywords that matched, as the author wrote them, in their order.
    pub matched: Vec<String>,
}

impl KeywordHit {
    /// A skill that no keyword led to.
    pub(super) fn unmatched(skill: SkillId) -> Self {
        Self { skill, base: Score::default(), score: Score::default(), matched: Vec::new() }
    }

    /// A skill that was named.
    pub(super) fn named(skill: SkillId) -> Self {
        let whole = Score::share(1, 1);
        Self { skill, base: whole, score: whole, matched: Vec::new() }
    }
}

/// The result of matching a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteVerdict {
    /// Nothing reaches the minimum; the nearest that matched anything at all, if any.
    NoMatch {
        /// The best of those below the minimum.
        closest: Option<KeywordHit>,
    },
    /// One skill stands out.
    Match(KeywordHit),
    /// Several are too close to call, best first.
    Ambiguous(Vec<KeywordHit>),
}

impl RouteVerdict {
    /// The skills that match, best first.
    pub(super) fn hits(&self) -> &[KeywordHit] {
        match self {
            Self::NoMatch { .. } => &[],
            Self::Match(hit) => std::slice::from_ref(hit),
            Self::Ambiguous(hits) => hits,
        }
    }
}

/// An ambiguous answer offers at least a choice of two.
const MIN_CANDIDATES: usize = 2;

/// A skill that has some matched keyword.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoredSkill {
    pub(super) skill: SkillId,
    pub(super) base: Score,
    pub(super) score: Score,
}

/// Ranks the hits, in any order, and applies the thresholds. `place` breaks ties and is called only for those.
pub(super) fn judge<P: Ord>(
    mut hits: Vec<ScoredSkill>,
    matching: &Matching,
    place: impl Fn(SkillId) -> P,
) -> RankedVerdict {
    let min = Score::new(matching.min_score);
    let nearest = hits.iter().map(|hit| (hit.base, hit.score)).max();
    let closest = hits.iter().filter(|hit| Some((hit.base, hit.score)) == nearest);
    let closest = closest.copied().min_by_key(|hit| place(hit.skill));
    hits.retain(|hit| hit.base >= min);
    let shown = matching.shown();
    // One more than is shown, to see whether the first stands out.
    let most = shown + 1;
    if hits.len() > most {
        let (_, last, _) = hits.select_nth_unstable_by(most - 1, |a, b| b.score.cmp(&a.score));
        let bound = last.score;
        hits.retain(|hit| hit.score >= bound);
    }
    hits.sort_by_cached_key(|hit| (std::cmp::Reverse(hit.score), place(hit.skill)));
    match hits.as_slice() {
        [] => RankedVerdict::NoMatch(closest),
        [first, second, ..]
            if first.score.minus(second.score) < Score::new(matching.ambiguity_threshold) =>
        {
            hits.truncate(shown);
            RankedVerdict::Ambiguous(hits)
        }
        [first, ..] => RankedVerdict::Match(*first),
    }
}

/// A verdict before the matched keywords are spelled out, which only the winners need.
pub(super) enum RankedVerdict {
    NoMatch(Option<ScoredSkill>),
    Match(ScoredSkill),
    Ambiguous(Vec<ScoredSkill>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_equal_to_the_threshold_is_not_ambiguous() {
        assert_eq!(Score::share(6, 10).minus(Score::share(5, 10)), Score::new(0.1));
        assert_eq!(Score::share(7, 10).minus(Score::share(6, 10)), Score::new(0.1));
        assert!(Score::share(1, 5) >= Score::new(0.2));
    }

    // ROUTE-3
    #[test]
    fn scores_show_four_decimals() {
        assert!((Score::share(1, 3).rounded() - 0.3333).abs() < 1e-12);
        assert!((Score::share(7, 8).with_priority(10.0).rounded() - 0.885).abs() < 1e-12);
    }
}
