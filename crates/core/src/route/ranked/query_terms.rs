//! [`QueryTerms`]: a query's terms looked up in an index: which skills have them and what that adds up to.

use super::{
    base::Base,
    clause_weights::ClauseWeights,
    index::{FreshEntry, RankedIndex},
    posting_list::PostingList,
    query::ParsedQuery,
    scale::{FieldScales, idf},
    sums::{ScoreSums, TermMask},
    term::TermHash,
};

/// BM25's k1: so many occurrences of a term, weighted by field, reach half of its largest possible impact.
const BM25_SATURATION: f64 = 3.0;

/// The weight of past requests: as much as a description's.
const PAST_WEIGHT: f64 = 5.0;

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
    /// What it adds to a name or a clause.
    clause_weight: f64,
    /// Its bit in the sums; empty where there are more terms than bits.
    mask: TermMask,
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
        assign_masks(&mut wanted);
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

    /// Every skill that has a term, with its sum; the terms add up in the query's order.
    pub(super) fn sums(&self) -> ScoreSums {
        let mut sums = ScoreSums::new(self.index.end());
        for wanted in &self.wanted {
            wanted.add(&self.index.base.scales, &mut sums);
        }
        for number in self.index.changes.keys() {
            sums.clear(*number);
        }
        for FreshMatch { number, found } in &self.fresh {
            for (term, frequency) in found {
                let at = self.wanted.partition_point(|wanted| wanted.number < *term);
                if let Some(wanted) = self.wanted.get(at) {
                    sums.add(*number, wanted.mask, wanted.impact(*frequency));
                }
            }
        }
        sums
    }

    /// Which terms these skills have, given their masks. Terms without a bit have short lists, which are read once more.
    pub(super) fn matched_terms(&self, skills: &[(usize, TermMask)]) -> MatchedTerms {
        let terms = self.wanted.last().map_or(0, |last| last.number + 1);
        let mut matched = MatchedTerms { terms, has: vec![false; terms * skills.len()] };
        for (place, (_, mask)) in skills.iter().enumerate() {
            for wanted in self.wanted.iter().filter(|wanted| mask.has(wanted.mask)) {
                matched.add(place, wanted.number);
            }
        }
        let unmasked = || self.wanted.iter().filter(|wanted| wanted.mask == TermMask::default());
        if unmasked().next().is_none() {
            return matched;
        }
        let mut places = vec![None; self.index.base.end()];
        for (place, (skill, _)) in skills.iter().enumerate() {
            if let Some(fresh) = self.fresh.iter().find(|fresh| fresh.number == *skill) {
                fresh.found.iter().for_each(|(term, _)| matched.add(place, *term));
            } else if let Some(own) = places.get_mut(*skill) {
                *own = Some(place);
            }
        }
        for QueryTerm { number, list, .. } in unmasked() {
            list.clone().numbers(|skill| {
                if let Some(Some(place)) = places.get(skill) {
                    matched.add(*place, *number);
                }
            });
        }
        matched
    }
}

/// The query's terms that a fresh skill has; `None` where it has none.
fn match_fresh(request: &ParsedQuery, (number, skill): (usize, &FreshEntry)) -> Option<FreshMatch> {
    let mut found = Vec::new();
    skill.entry.find(&request.ascending, |term, counts| {
        let past = request.terms.get(term).map_or(0.0, |(hash, _)| skill.entry.past(*hash));
        let frequency = skill.scale.of(counts) + PAST_WEIGHT * past;
        if frequency > 0.0 {
            found.push((term, frequency));
        }
    });
    (!found.is_empty()).then_some(FreshMatch { number, found })
}

/// Assigns a bit to each term, to those with the longest lists where there are not enough.
fn assign_masks(wanted: &mut [QueryTerm<'_>]) {
    let mut longest: Vec<&mut QueryTerm<'_>> = wanted.iter_mut().collect();
    if longest.len() > TermMask::MAX_TERMS {
        longest.sort_by_key(|wanted| std::cmp::Reverse(wanted.list.len()));
    }
    for (number, wanted) in longest.into_iter().enumerate() {
        wanted.mask = TermMask::of(number);
    }
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
        let mask = TermMask::default();
        (with > 0).then_some(Self { term, number, known, list, weight, clause_weight, mask })
    }

    /// What this frequency of the term adds to a score.
    #[inline]
    fn impact(&self, frequency: f64) -> f64 {
        self.weight * frequency / (BM25_SATURATION + frequency)
    }

    /// Adds its impact to every skill of the base that has it. Half of a search's time is spent here, so the loop is
    /// kept in a function of its own.
    #[inline(never)]
    fn add(&self, scales: &FieldScales, sums: &mut ScoreSums) {
        self.list.clone().each(scales, |skill, frequency| {
            sums.add(skill, self.mask, self.impact(frequency));
        });
    }
}

/// Which terms each of some skills has.
#[derive(Debug)]
pub(super) struct MatchedTerms {
    terms: usize,
    /// For each skill, for each term.
    has: Vec<bool>,
}

impl MatchedTerms {
    fn add(&mut self, place: usize, term: usize) {
        if let Some(has) = self.has.get_mut(place * self.terms + term) {
            *has = true;
        }
    }

    pub(super) fn has(&self, place: usize, term: usize) -> bool {
        term < self.terms && self.has.get(place * self.terms + term) == Some(&true)
    }
}
