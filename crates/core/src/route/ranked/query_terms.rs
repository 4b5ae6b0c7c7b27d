//! [`QueryTerms`]: a query's terms looked up in an index: which skills have them and what that adds up to.

use super::{
    base::Base,
    clause_weights::ClauseWeights,
    index::{FreshEntry, RankedIndex},
    posting_list::PostingList,
    query::ParsedQuery,
    scale::{FieldScale, idf},
    term::TermHash,
};

/// BM25's k1: so many occurrences of a term, weighted by field, reach half of its largest possible impact.
const BM25_SATURATION: f64 = 3.0;

/// The weight of past requests: more than a description's, because people asked so.
const PAST_WEIGHT: f64 = 8.0;

/// The terms of a query that at least one skill has.
#[derive(Debug)]
pub(super) struct QueryTerms<'a> {
    index: &'a RankedIndex,
    /// In the query's order.
    wanted: Vec<QueryTerm<'a>>,
    /// The fresh skills that have any.
    fresh: Vec<FreshMatch>,
}

/// One term of a query.
#[derive(Debug)]
struct QueryTerm<'a> {
    term: TermHash,
    /// Its number among the query's terms.
    number: usize,
    /// Its number in the dictionary, if it is there.
    known: Option<usize>,
    /// The skills of the base that have it.
    list: PostingList<'a>,
    /// Its weight in the query times its idf.
    weight: f64,
    /// Its weight in a name, a clause or the coverage.
    clause_weight: f64,
}

/// A fresh skill that has terms of the query.
#[derive(Debug)]
struct FreshMatch {
    number: usize,
    /// The query's numbers of the terms that it has, and the weighted frequency of each.
    found: Vec<(usize, f64)>,
}

impl<'a> QueryTerms<'a> {
    /// How many skills have a term is counted over the base, removed skills included, and the fresh skills.
    pub(super) fn new(request: &ParsedQuery, index: &'a RankedIndex) -> Self {
        let mut with = vec![0; request.terms.len()];
        let fresh: Vec<_> = index.fresh().filter_map(|fresh| match_fresh(request, fresh)).collect();
        for (term, _) in fresh.iter().flat_map(|fresh| &fresh.found) {
            if let Some(with) = with.get_mut(*term) {
                *with += 1;
            }
        }
        let all = index.base.length_totals.entries() + index.fresh().count();
        let mut wanted = Vec::with_capacity(request.terms.len());
        for (number, ((term, count), fresh)) in request.terms.iter().zip(with).enumerate() {
            wanted.extend(QueryTerm::new(number, *term, *count, &index.base, [all, fresh]));
        }
        Self { index, wanted, fresh }
    }

    /// What a skill that consists of nothing but the query would score at most.
    pub(super) fn possible(&self, request: &ParsedQuery) -> f64 {
        let all = self.index.len();
        let known: f64 = self.wanted.iter().map(|wanted| wanted.weight).sum();
        let is_known = |number: &usize| self.wanted.iter().any(|wanted| wanted.number == *number);
        let unknown = request.terms.iter().enumerate().filter(|(number, _)| !is_known(number));
        known + unknown.map(|(_, (_, count))| count.sqrt() * idf(all, 0)).sum::<f64>()
    }

    /// The weight of those terms that `has` names by their numbers in the query.
    pub(super) fn weight(&self, has: impl Fn(usize) -> bool) -> f64 {
        self.wanted.iter().filter(|wanted| has(wanted.number)).map(|wanted| wanted.weight).sum()
    }

    /// How many words some skill has, without compounds and those of quoted passages.
    pub(super) fn known_words(&self, request: &ParsedQuery) -> usize {
        let count = |wanted: &QueryTerm<'_>| request.terms.get(wanted.number).map(|term| term.1);
        self.wanted.iter().filter(|wanted| count(wanted).is_some_and(|count| count >= 1.0)).count()
    }

    pub(super) fn clause_weights(&self) -> ClauseWeights {
        ClauseWeights::new(
            self.wanted.iter().map(|wanted| (wanted.term, wanted.known, wanted.clause_weight)),
        )
    }

    /// The BM25F of every skill, by number; the terms add up in the query's order.
    pub(super) fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.index.end()];
        for wanted in &self.wanted {
            wanted.add(&self.index.base.scales, &mut sums);
        }
        let mut replace = |number: usize, sum: f64| {
            if let Some(replaced) = sums.get_mut(number) {
                *replaced = sum;
            }
        };
        self.index.changes.keys().for_each(|number| replace(*number, 0.0));
        for FreshMatch { number, found } in &self.fresh {
            let impact = |(term, frequency): &(usize, f64)| {
                let at = self.wanted.partition_point(|wanted| wanted.number < *term);
                self.wanted.get(at).map_or(0.0, |wanted| wanted.impact(*frequency))
            };
            replace(*number, found.iter().map(impact).sum());
        }
        sums
    }

    /// Finds which terms these skills have, fewer than [`NO_PLACE`] of them, by one more walk over the lists.
    pub(super) fn matched_terms(&self, skills: impl Iterator<Item = usize>) -> MatchedTerms {
        let terms = self.wanted.last().map_or(0, |last| last.number + 1);
        let mut matched = MatchedTerms { terms, has: Vec::new() };
        let mut places = vec![NO_PLACE; self.index.base.end()];
        for (place, skill) in (0..NO_PLACE).zip(skills) {
            matched.has.resize(matched.has.len() + terms, false);
            if let Some(fresh) = self.fresh.iter().find(|fresh| fresh.number == skill) {
                fresh.found.iter().for_each(|(term, _)| matched.add(place, *term));
            } else if let Some(own) = places.get_mut(skill) {
                *own = place;
            }
        }
        for QueryTerm { number, list, .. } in &self.wanted {
            list.clone().numbers(|skill| match places.get(skill) {
                None | Some(&NO_PLACE) => {}
                Some(place) => matched.add(*place, *number),
            });
        }
        matched
    }

    /// The share of the query that a skill has, by its known terms.
    pub(super) fn coverage(&self, has: impl Fn(usize) -> bool) -> f64 {
        let sum = |wanted: &mut dyn Iterator<Item = &QueryTerm<'_>>| -> f64 {
            wanted.map(|wanted| wanted.clause_weight).sum()
        };
        let all = sum(&mut self.wanted.iter());
        let had = sum(&mut self.wanted.iter().filter(|wanted| has(wanted.number)));
        if all > 0.0 { had / all } else { 0.0 }
    }
}

/// The query's terms that a fresh skill has; `None` where it has none.
fn match_fresh(request: &ParsedQuery, (number, skill): (usize, &FreshEntry)) -> Option<FreshMatch> {
    let mut found = Vec::new();
    skill.entry.find(&request.ascending, |term, counts| {
        let past = request.terms.get(term).map_or(0.0, |(hash, _)| skill.entry.past(*hash));
        let frequency = skill.scale.frequency(counts) + PAST_WEIGHT * past;
        if frequency > 0.0 {
            found.push((term, frequency));
        }
    });
    (!found.is_empty()).then_some(FreshMatch { number, found })
}

impl<'a> QueryTerm<'a> {
    /// A term with its count in the query, out of `all` skills, `fresh` of the fresh ones having it; `None` if no skill
    /// has it.
    fn new(
        number: usize,
        term: TermHash,
        count: f64,
        base: &'a Base,
        [all, fresh]: [usize; 2],
    ) -> Option<Self> {
        let known = base.dictionary.find(term);
        let list = known.map(|known| base.dictionary.list(known)).unwrap_or_default();
        let with = list.len() as usize + fresh;
        let (weight, idf) = (count.sqrt(), idf(all, with));
        let (clause_weight, weight) = (idf * weight.min(1.0), weight * idf);
        (with > 0).then_some(Self { term, number, known, list, weight, clause_weight })
    }

    /// What this frequency of the term adds to a score.
    #[inline]
    fn impact(&self, frequency: f64) -> f64 {
        self.weight * frequency / (BM25_SATURATION + frequency)
    }

    /// Adds its impact to every skill of the base that has it. Half of a search's time is spent here, so the loop is
    /// kept in a function of its own.
    #[inline(never)]
    fn add(&self, scales: &[FieldScale], sums: &mut [f64]) {
        self.list.clone().each(scales, |skill, frequency| {
            if let Some(sum) = sums.get_mut(skill) {
                *sum += self.impact(frequency);
            }
        });
    }
}

/// No place among the skills whose terms are looked for.
const NO_PLACE: u8 = u8::MAX;

/// Which terms each of some skills has.
#[derive(Debug)]
pub(super) struct MatchedTerms {
    terms: usize,
    /// For each skill, for each term.
    has: Vec<bool>,
}

impl MatchedTerms {
    fn add(&mut self, place: u8, term: usize) {
        if let Some(has) = self.has.get_mut(usize::from(place) * self.terms + term) {
            *has = true;
        }
    }

    pub(super) fn has(&self, place: usize, term: usize) -> bool {
        term < self.terms && self.has.get(place * self.terms + term) == Some(&true)
    }
}
