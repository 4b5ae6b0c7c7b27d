//! A request against the index → a [`Ranking`].

use std::cmp::Ordering;

use super::{
    clause_weights::ClauseWeights,
    entry::{Clause, SearchEntry},
    evidence::{COMPARED_HITS, Certainty, FirstHit, MatchEvidence, RequestWeights},
    index::{FreshEntry, RankedIndex},
    query::ParsedQuery,
    query_terms::QueryTerms,
    scale::idf,
};

/// How many of the best by BM25 alone are compared by name, clauses and coverage too.
const MAX_CANDIDATES: usize = 100;
/// The weight of a name that is in the request as a whole.
const NAME_WEIGHT: f64 = 0.2;
/// The weight of the clauses that match best.
const CLAUSE_WEIGHT: f64 = 0.25;
/// The weight of having every word of the request.
const COVERAGE_WEIGHT: f64 = 0.2;

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranking {
    /// How many skills have any word of the request.
    pub total: usize,
    /// The evidence for the first hit; `None` if there is no hit.
    pub evidence: Option<MatchEvidence>,
    /// Best first. At most a hundred.
    pub hits: Vec<SearchHit>,
}

impl Ranking {
    /// Judges whether the first hit fits; nothing does where nothing is found.
    pub fn certainty(&self) -> Certainty {
        self.evidence.map_or(Certainty::Unsure, |evidence| evidence.certainty())
    }

    /// Counts the first hits that are worth naming to somebody who did not ask.
    pub fn suggested(&self) -> usize {
        self.evidence.map_or(0, |evidence| evidence.suggested()).min(self.hits.len())
    }
}

/// A skill that has some word of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// Its number in the index.
    pub entry: usize,
    /// The sum of the four terms; decides the order.
    pub score: f64,
    /// Words anywhere in the skill: 1 for the best.
    pub bm25: f64,
    /// How much of the name is in the request: 0.2 for all of it.
    pub name: f64,
    /// How completely clauses are in the request: 0.25 for the best.
    pub clauses: f64,
    /// How much of the request the skill has: 0.2 for all of it.
    pub coverage: f64,
    /// The request's words, lower-cased, that occur in the skill, in order.
    pub matched_terms: Vec<String>,
    /// The clause that matched best: `SearchText::clause` has its words.
    pub clause: Option<usize>,
}

/// Which skills a search considers, and how it orders equals, by their numbers.
#[expect(missing_debug_implementations, reason = "functions have nothing to show")]
#[derive(Clone, Copy)]
pub struct SearchScope<'a> {
    /// Whether a skill may be a hit.
    pub has: &'a dyn Fn(usize) -> bool,
    /// The order of skills with one score.
    pub order: &'a dyn Fn(usize, usize) -> Ordering,
}

/// A skill in the second pass, with the parts of its score as they were found.
#[derive(Debug, Clone, Copy, Default)]
struct RankedCandidate {
    entry: usize,
    /// Its place among the best by BM25.
    place: usize,
    score: f64,
    bm25: f64,
    name: f64,
    clauses: f64,
    coverage: f64,
    /// Which clause matched best.
    best: Option<usize>,
}

/// The best of a part of the score among the candidates.
struct Best {
    bm25: f64,
    clauses: f64,
}

impl RankedIndex {
    /// Finds the skills that a request most likely asks for, at most `limit` of them; ties go to the smaller number.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let all = SearchScope { has: &|_| true, order: &|a, b| a.cmp(&b) };
        self.search_in(query, limit, all)
    }

    /// Finds the skills of a scope that a request most likely asks for, at most `limit` of them.
    pub fn search_in(&self, query: &str, limit: usize, scope: SearchScope<'_>) -> Ranking {
        let request = ParsedQuery::new(query);
        let query_terms = QueryTerms::new(&request, self);
        let (total, found) = most(&query_terms.sums());
        let matched_terms = query_terms.matched_terms(found.iter().map(|(entry, _)| *entry));
        let (clause_weights, mut own) = (query_terms.clause_weights(), Vec::new());
        let candidate = |(place, (entry, bm25))| {
            let coverage = query_terms.coverage(|term| matched_terms.has(place, term));
            let found = RankedCandidate { entry, place, bm25, coverage, ..Default::default() };
            self.compare(found, &clause_weights, &mut own)
        };
        let mut candidates: Vec<RankedCandidate> =
            found.into_iter().enumerate().map(candidate).collect();
        let best = Best::new(&candidates);
        for found in &mut candidates {
            found.score = best.score(found);
        }
        candidates.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| (scope.order)(a.entry, b.entry))
        });
        let candidates: Vec<RankedCandidate> = candidates
            .into_iter()
            .filter(|found| (scope.has)(found.entry))
            .take(limit.max(COMPARED_HITS))
            .collect();
        let score_at = |place: usize| candidates.get(place).map_or(0.0, |found| found.score);
        let first = candidates.first().map(|first| FirstHit {
            bm25: first.bm25,
            clauses: first.clauses,
            matched: query_terms.weight(|term| matched_terms.has(first.place, term)),
            score: first.score,
            second: score_at(1),
            last: score_at(COMPARED_HITS - 1),
        });
        let weights = RequestWeights {
            rarest: idf(self.len(), 1),
            possible: query_terms.possible(&request),
            known: query_terms.known_words(&request),
        };
        let hit = |found: &RankedCandidate| {
            best.hit(found, request.words(|term| matched_terms.has(found.place, term)))
        };
        Ranking {
            total,
            evidence: first.map(|first| MatchEvidence::new(first, weights)),
            hits: candidates.iter().take(limit).map(hit).collect(),
        }
    }

    /// Scores name and clauses. `own` is a buffer for the weights of the skill's terms.
    fn compare(
        &self,
        mut found: RankedCandidate,
        clause_weights: &ClauseWeights,
        own: &mut Vec<f64>,
    ) -> RankedCandidate {
        own.clear();
        if let Some(fresh) = self.changes.get(&found.entry) {
            if let Some(FreshEntry { entry, totals, .. }) = fresh.as_deref() {
                own.extend(entry.offered().map(|term| clause_weights.of_term(term)));
                found.compare(own, entry.clauses().zip(totals.iter().copied()));
            }
        } else if let Some(outline) = self.base.outlines.get(found.entry) {
            own.extend(outline.offered().map(|term| clause_weights.of_number(term)));
            found.compare(own, outline.clauses());
        }
        found
    }
}

impl RankedCandidate {
    /// Scores clauses, each with the sum of its terms' idf, by the weights of the skill's terms.
    fn compare<'a>(&mut self, own: &[f64], clauses: impl Iterator<Item = (Clause<'a>, f64)>) {
        let (mut squares, mut most) = (0.0, 0.0);
        for (number, (clause, total)) in clauses.enumerate() {
            let clause_weight = clause.sum(own);
            if clause_weight <= 0.0 {
                continue;
            }
            if number == SearchEntry::NAME_CLAUSE {
                self.name = clause_weight / total;
                continue;
            }
            // What matched, times the share of the clause that it is: a short phrase wholly there is worth more
            // than words scattered over a long one. As squares, several add up and a long list does not win.
            let gain = clause_weight * clause_weight / total;
            squares += gain * gain;
            if gain > most {
                most = gain;
                self.best = Some(number);
            }
        }
        self.clauses = squares.sqrt();
    }
}

impl Best {
    fn new(candidates: &[RankedCandidate]) -> Self {
        let most =
            |part: fn(&RankedCandidate) -> f64| candidates.iter().map(part).fold(0.0, f64::max);
        Self { bm25: most(|found| found.bm25), clauses: most(|found| found.clauses) }
    }

    /// Weighs the parts of a score: words and clauses against the best, name and coverage as they are.
    fn weighed(&self, found: &RankedCandidate) -> [f64; 4] {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        [
            share(found.bm25, self.bm25),
            NAME_WEIGHT * found.name,
            CLAUSE_WEIGHT * share(found.clauses, self.clauses),
            COVERAGE_WEIGHT * found.coverage,
        ]
    }

    fn score(&self, found: &RankedCandidate) -> f64 {
        self.weighed(found).iter().sum()
    }

    fn hit(&self, found: &RankedCandidate, matched_terms: Vec<String>) -> SearchHit {
        let [bm25, name, clauses, coverage] = self.weighed(found);
        SearchHit {
            entry: found.entry,
            score: found.score,
            bm25,
            name,
            clauses,
            coverage,
            matched_terms,
            clause: found.best,
        }
    }
}

/// Counts the skills that have a sum, and returns those with the greatest ones; of equals those with the smaller numbers.
fn most(sums: &[f64]) -> (usize, Vec<(usize, f64)>) {
    let all = sums.iter().copied().enumerate().filter(|(_, sum)| *sum > 0.0);
    let mut found: Vec<(usize, f64)> = all.collect();
    let total = found.len();
    if total > MAX_CANDIDATES {
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        found.select_nth_unstable_by(MAX_CANDIDATES - 1, order);
        found.truncate(MAX_CANDIDATES);
    }
    (total, found)
}
