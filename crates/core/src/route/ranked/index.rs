//! [`Ranked`]: which skills have a term, and what terms and clauses are worth among all of them.
//!
//! Lists keep counts rather than impacts: an impact is a few multiplications away, and the list takes a third
//! of the memory. How lists become a ranking is told in `search`.

use std::sync::Arc;

use super::{
    dictionary::{Dictionary, List},
    entry::Entry,
    numbers::narrow,
    scale::Scale,
    term::Term,
};

/// The index over many entries, in the order given.
#[derive(Debug)]
pub struct Ranked {
    entries: Box<[Arc<Entry>]>,
    scales: Box<[Scale]>,
    dictionary: Dictionary,
    /// For each entry, where its numbers start in `totals`.
    starts: Box<[u32]>,
    /// What the terms of each clause are worth together, entry after entry.
    totals: Box<[f64]>,
}

impl Ranked {
    /// Indexes entries.
    pub fn new(entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let entries: Box<[Arc<Entry>]> = entries.into_iter().collect();
        let scales = Scale::of_all(&entries);
        let dictionary = Dictionary::new(&entries);
        let mut ranked =
            Self { entries, scales, dictionary, starts: Box::default(), totals: Box::default() };
        ranked.weigh_clauses();
        ranked
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn weigh_clauses(&mut self) {
        let mut starts = Vec::with_capacity(self.entries.len());
        let mut totals = Vec::new();
        for entry in &self.entries {
            starts.push(narrow(totals.len()));
            let worth = |term| self.worth(self.list(term).len());
            let worths: Vec<f64> = entry.offered().map(worth).collect();
            for clause in entry.clauses() {
                totals.push(clause.places().filter_map(|place| worths.get(place)).sum());
            }
        }
        self.starts = starts.into();
        self.totals = totals.into();
    }

    pub(super) fn entry(&self, number: usize) -> Option<&Entry> {
        self.entries.get(number).map(|entry| &**entry)
    }

    /// What the clauses of an entry are worth, in their order.
    pub(super) fn totals(&self, number: usize) -> impl Iterator<Item = f64> {
        let start = self.starts.get(number).map_or(usize::MAX, |start| *start as usize);
        self.totals.get(start..).unwrap_or_default().iter().copied()
    }

    pub(super) fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// The skills that have a term.
    pub(super) fn list(&self, term: Term) -> List<'_> {
        self.dictionary.list(term)
    }

    /// What a term is worth that this many skills have: idf, flattened.
    pub(super) fn worth(&self, skills: u32) -> f64 {
        const FLATTENED: f64 = 2.0;
        let (all, with) = (f64::from(narrow(self.entries.len())), f64::from(skills));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln() + FLATTENED
    }
}
