//! [`Family`]: hits that say much the same, and the clauses that tell each of them apart.
//!
//! Among thousands of skills the nearest rivals of the right one are its siblings: skills of one author about one subject, and
//! copies with small changes. Listed one by one they look alike, so they are put together, each with the clauses whose words
//! the others do not have. Similarity is the cosine of what two skills offer to be found by (name, description and their
//! authors' clauses), each word weighted by how rare it is. Not here: how a family is worded.

use std::collections::HashMap;

use super::{
    entry::{Clause, SearchEntry},
    index::{FreshEntry, RankedIndex},
    scale::idf,
    term::TermHash,
};

/// Two skills above this are siblings. Real siblings of one author share a third of their words; the nearest skill of most
/// skills shares less.
const SIBLING_COSINE: f64 = 0.3;
/// Two skills above this say nearly the same, and one of them is enough to describe both.
const NEAR_DUPLICATE_COSINE: f64 = 0.7;
/// So many clauses are named that tell a skill apart.
const MAX_TELLING_CLAUSES: usize = 3;
/// The whole name and the name as a clause come first among the clauses, and are shown anyway.
const NAME_CLAUSES: usize = SearchEntry::NAME_CLAUSE + 2;

/// Hits that are siblings of the first of them; most families have one member.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Family {
    /// In the order of the hits.
    pub members: Vec<FamilyMember>,
}

/// One skill of a family.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FamilyMember {
    /// Its place among the hits.
    pub place: usize,
    /// The clauses that tell it apart from the other members, most telling first: `SearchText::clause` has their words.
    /// None where it has no member beside it, or no word of its own.
    pub telling: Vec<usize>,
    /// The places of hits that say nearly the same.
    pub duplicates: Vec<usize>,
}

/// What a skill offers to be found by.
struct Offer<'a> {
    /// Each term by a number of its own and its idf, in the order that clauses refer to.
    terms: Vec<(u64, f64)>,
    /// The same, ascending by number.
    sorted: Vec<(u64, f64)>,
    /// The length of the vector of all idfs.
    norm: f64,
    clauses: Vec<(Clause<'a>, f64)>,
}

impl RankedIndex {
    /// Puts the skills of these numbers, best first, into families. Every place is in exactly one of them.
    pub fn families(&self, entries: &[usize]) -> Vec<Family> {
        self.grouped(entries, NEAR_DUPLICATE_COSINE)
    }

    /// The same where every skill is shown: near duplicates are members like the others.
    pub fn whole_families(&self, entries: &[usize]) -> Vec<Family> {
        self.grouped(entries, f64::INFINITY)
    }

    fn grouped(&self, entries: &[usize], near_duplicate_cosine: f64) -> Vec<Family> {
        let offers: Vec<Offer<'_>> = entries.iter().map(|entry| self.offer(*entry)).collect();
        let mut families: Vec<Family> = Vec::new();
        for (place, offer) in offers.iter().enumerate() {
            let cosine = |other: usize| offers.get(other).map_or(0.0, |other| offer.cosine(other));
            let mut members = families.iter_mut().flat_map(|family| &mut family.members);
            if let Some(same) = members.find(|member| cosine(member.place) > near_duplicate_cosine)
            {
                same.duplicates.push(place);
                continue;
            }
            let member = FamilyMember { place, ..FamilyMember::default() };
            let is_sibling = |family: &&mut Family| {
                family.members.first().is_some_and(|first| cosine(first.place) > SIBLING_COSINE)
            };
            match families.iter_mut().find(is_sibling) {
                Some(family) => family.members.push(member),
                None => families.push(Family { members: vec![member] }),
            }
        }
        for family in families.iter_mut().filter(|family| family.members.len() > 1) {
            tell_apart(family, &offers);
        }
        families
    }

    fn offer(&self, entry: usize) -> Offer<'_> {
        let all = self.base.length_totals.entries();
        let known = |number: usize| {
            let with = self.base.dictionary.list(number).len() as usize;
            (number as u64, idf(all, with.max(1)))
        };
        if let Some(fresh) = self.changes.get(&entry) {
            let Some(FreshEntry { entry, totals, .. }) = fresh.as_deref() else {
                return Offer::new(Vec::new(), Vec::new());
            };
            let term = |term: TermHash| match self.base.dictionary.find(term) {
                Some(number) => known(number),
                // Behind all numbers of the dictionary.
                None => (term.tag(0) | 1 << 63, idf(all, 1)),
            };
            let clauses = entry.clauses().zip(totals.iter().copied()).collect();
            return Offer::new(entry.offered().map(term).collect(), clauses);
        }
        let outline = self.base.outlines.get(entry).unwrap_or_default();
        Offer::new(outline.offered().map(known).collect(), outline.clauses().collect())
    }
}

impl<'a> Offer<'a> {
    fn new(terms: Vec<(u64, f64)>, clauses: Vec<(Clause<'a>, f64)>) -> Self {
        let mut sorted = terms.clone();
        sorted.sort_unstable_by_key(|(term, _)| *term);
        let norm = terms.iter().map(|(_, idf)| idf * idf).sum::<f64>().sqrt();
        Self { terms, sorted, norm, clauses }
    }

    fn cosine(&self, other: &Self) -> f64 {
        let mut theirs = other.sorted.iter().peekable();
        let mut shared = 0.0;
        for (term, idf) in &self.sorted {
            while theirs.next_if(|(other, _)| other < term).is_some() {}
            if theirs.next_if(|(other, _)| other == term).is_some() {
                shared += idf * idf;
            }
        }
        let norms = self.norm * other.norm;
        if norms > 0.0 { shared / norms } else { 0.0 }
    }
}

/// Finds the clauses of each member whose words no other member has.
fn tell_apart(family: &mut Family, offers: &[Offer<'_>]) {
    let mut having: HashMap<u64, usize> = HashMap::new();
    let own = |member: &FamilyMember| offers.get(member.place);
    for (term, _) in family.members.iter().filter_map(own).flat_map(|offer| &offer.terms) {
        *having.entry(*term).or_default() += 1;
    }
    for member in &mut family.members {
        let Some(offer) = own(member) else { continue };
        let alone =
            |(term, idf): &(u64, f64)| if having.get(term) == Some(&1) { *idf } else { 0.0 };
        let weights: Vec<f64> = offer.terms.iter().map(alone).collect();
        // As a request is compared with clauses: how much of its own the clause has, times the share that is.
        let gain = |(number, (clause, total)): (usize, &(Clause<'_>, f64))| {
            let weight = clause.clone().sum(&weights);
            (weight > 0.0).then_some((number, weight * weight / total))
        };
        let mut clauses: Vec<(usize, f64)> =
            offer.clauses.iter().enumerate().skip(NAME_CLAUSES).filter_map(gain).collect();
        clauses.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        clauses.truncate(MAX_TELLING_CLAUSES);
        member.telling = clauses.into_iter().map(|(number, _)| number).collect();
    }
}
