//! A request against the index → a [`Ranking`].

use super::{
    clause_weights::ClauseWeights,
    entry::{Clause, SearchEntry},
    index::{FreshEntry, RankedIndex},
    query::ParsedQuery,
    query_terms::QueryTerms,
    scale::idf,
    sums::TermMask,
};

/// How many of the best by BM25 alone are compared by name and clauses too.
const MAX_CANDIDATES: usize = 100;
/// What the best matched name adds to a score.
const NAME_WEIGHT: f64 = 0.2;
/// What the best matched clauses add to a score.
const CLAUSE_WEIGHT: f64 = 0.4;
/// The first result is confident if it leads the second by this share of its score.
const CONFIDENT_LEAD: f64 = 0.1;

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranking {
    /// How many skills have any word of the request.
    pub total: usize,
    /// The first leads the second by a tenth or more. It says which one to read, not that it fits.
    pub confident: bool,
    /// How much the request weighs.
    pub weights: RequestWeights,
    /// Best first; ties go to the smaller number. At most a hundred.
    pub hits: Vec<SearchHit>,
}

impl Ranking {
    /// Orders hits of the same score by their places: numbers are given as skills come.
    pub fn order_ties<P: Ord>(&mut self, place: impl Fn(&SearchHit) -> P) {
        self.hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b))));
    }
}

/// How much a request weighs, whatever it finds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestWeights {
    /// The weight of a word that a single skill has: scores grow with it, and it grows with the number of skills.
    pub rarest: f64,
    /// The score that a skill with nothing but the request would have at most.
    pub possible: f64,
    /// How many of its words some skill has, without those that it quotes at length.
    pub known: usize,
}

/// How well a skill matches, before it is compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MatchStrength {
    /// BM25F.
    pub bm25: f64,
    /// The score of its clauses.
    pub clauses: f64,
    /// The weight of the request's words that it has, anywhere.
    pub matched: f64,
}

/// A skill that has some word of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// Its number in the index.
    pub entry: usize,
    /// The sum of the three terms; decides the order.
    pub score: f64,
    /// Words anywhere in the skill: 1 for the best.
    pub bm25: f64,
    /// How much of the name is in the request: 0.2 for the best.
    pub name: f64,
    /// How completely clauses are in the request: 0.4 for the best.
    pub clauses: f64,
    /// The request's words, lower-cased, that occur in the skill, in order.
    pub matched_terms: Vec<String>,
    /// The clause that matched best: `SearchText::clause` has its words.
    pub clause: Option<usize>,
    /// How well it matches by itself.
    pub strength: MatchStrength,
}

/// A skill in the second pass, with the three parts of its score.
#[derive(Debug, Clone, Copy, Default)]
struct RankedCandidate {
    entry: usize,
    bm25: f64,
    name: f64,
    clauses: f64,
    /// The scores before they are divided by the best.
    strength: MatchStrength,
    /// Which clause matched best.
    best: Option<usize>,
    /// Which terms it has.
    mask: TermMask,
}

impl RankedIndex {
    /// The skills that a request most likely asks for, at most `limit` of them.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let request = ParsedQuery::new(query);
        let query_terms = QueryTerms::new(&request, self);
        let sums = query_terms.sums();
        let (total, best) = sums.best(MAX_CANDIDATES);
        let (clause_weights, mut own) = (query_terms.clause_weights(), Vec::new());
        let candidate = |(entry, bm25)| {
            let found = RankedCandidate {
                entry,
                bm25,
                mask: sums.mask(entry),
                ..RankedCandidate::default()
            };
            self.compare(found, &clause_weights, &mut own)
        };
        let mut candidates: Vec<RankedCandidate> = best.into_iter().map(candidate).collect();
        normalise(&mut candidates);
        candidates
            .sort_by(|a, b| b.score().total_cmp(&a.score()).then_with(|| a.entry.cmp(&b.entry)));
        let confident = is_confident(&candidates);
        candidates.truncate(limit);
        let mask: Vec<_> = candidates.iter().map(|found| (found.entry, found.mask)).collect();
        let matched_terms = query_terms.matched_terms(&mask);
        let hit = |(place, found): (usize, &RankedCandidate)| {
            let has = |term| matched_terms.has(place, term);
            let strength = MatchStrength { matched: query_terms.weight(has), ..found.strength };
            found.hit(request.words(has), strength)
        };
        let weights = RequestWeights {
            rarest: idf(self.len(), 1),
            possible: query_terms.possible(&request),
            known: query_terms.known_words(&request),
        };
        Ranking {
            total,
            confident,
            weights,
            hits: candidates.iter().enumerate().map(hit).collect(),
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
    fn score(&self) -> f64 {
        self.bm25 + self.name + self.clauses
    }

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

    fn hit(&self, matched_terms: Vec<String>, strength: MatchStrength) -> SearchHit {
        SearchHit {
            entry: self.entry,
            score: self.score(),
            bm25: self.bm25,
            name: self.name,
            clauses: self.clauses,
            matched_terms,
            clause: self.best,
            strength,
        }
    }
}

/// Divides each part of the score by its best among the candidates.
fn normalise(candidates: &mut [RankedCandidate]) {
    let most = |term: fn(&RankedCandidate) -> f64| candidates.iter().map(term).fold(0.0, f64::max);
    let (bm25, name, clauses) =
        (most(|found| found.bm25), most(|found| found.name), most(|found| found.clauses));
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    for found in candidates {
        (found.strength.bm25, found.strength.clauses) = (found.bm25, found.clauses);
        found.bm25 = share(found.bm25, bm25);
        found.name = NAME_WEIGHT * share(found.name, name);
        found.clauses = CLAUSE_WEIGHT * share(found.clauses, clauses);
    }
}

fn is_confident(candidates: &[RankedCandidate]) -> bool {
    match candidates {
        [] => false,
        [_] => true,
        [first, second, ..] => first.score() - second.score() >= CONFIDENT_LEAD * first.score(),
    }
}
