//! Which skills have a term, and how often: one list a term, packed.

use std::sync::Arc;

use super::{
    counts::Counts,
    entry::Entry,
    numbers::{Numbers, narrow, put},
    scale::Scale,
    term::Term,
};

/// The skills of every term.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    /// Where the terms start that share their upper eight bits, and behind the last where they end.
    shelves: Vec<u32>,
    /// The lower bits of each term, ascending on its shelf.
    keys: Vec<u32>,
    /// Where each term's list starts in `lists`.
    starts: Vec<u32>,
    /// How many skills have the term in the body only, and how many elsewhere too; then of each group every
    /// skill as the step from the one before and the counts.
    lists: Vec<u8>,
}

/// The skills that have one term.
#[derive(Debug, Clone, Default)]
pub(super) struct List<'a> {
    only_body: u32,
    elsewhere: u32,
    numbers: Numbers<'a>,
}

/// One term of one entry, before lists are made.
#[derive(Debug, Clone, Copy)]
struct Posting {
    /// The term's key, then the entry's number: what lists are ordered by.
    order: u64,
    counts: Counts,
}

impl Posting {
    fn key(&self) -> u32 {
        let [a, b, c, d, ..] = self.order.to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    fn number(&self) -> u32 {
        let [_, _, _, _, number @ ..] = self.order.to_be_bytes();
        u32::from_be_bytes(number)
    }
}

/// The shelf that a term stands on, and its key there.
fn place(term: Term) -> (usize, u32) {
    let [shelf, key @ ..] = term.pack();
    (usize::from(shelf), u32::from_be_bytes(key))
}

impl Dictionary {
    /// Entries' terms ascend, so all entries are read side by side, some shelves at a time; what is in work then
    /// fits a cache.
    pub(super) fn new(entries: &[Arc<Entry>]) -> Self {
        const SHELVES: usize = 256;
        const AT_A_TIME: usize = 8;
        let bytes = entries.iter().map(|entry| entry.listed_len()).sum();
        let mut dictionary = Self { lists: Vec::with_capacity(bytes), ..Self::default() };
        let mut readers = Vec::with_capacity(entries.len() * 2);
        for (number, entry) in (0_u64..).zip(entries) {
            readers.extend(entry.terms().map(|terms| (number, terms.peekable())));
        }
        let mut shelves = [const { Vec::new() }; AT_A_TIME];
        for first in (0..SHELVES).step_by(AT_A_TIME) {
            for (number, reader) in &mut readers {
                let near = |(term, _): &(Term, Counts)| place(*term).0 < first + AT_A_TIME;
                while let Some((term, counts)) = reader.next_if(near) {
                    let (shelf, key) = place(term);
                    if counts != Counts::NONE
                        && let Some(shelf) = shelves.get_mut(shelf - first)
                    {
                        shelf.push(Posting { order: u64::from(key) << 32 | *number, counts });
                    }
                }
            }
            for shelf in &mut shelves {
                shelf.sort_unstable_by_key(|posting| posting.order);
                dictionary.shelve(shelf);
                shelf.clear();
            }
        }
        dictionary.shelves.push(narrow(dictionary.keys.len()));
        dictionary.keys.shrink_to_fit();
        dictionary.starts.shrink_to_fit();
        dictionary.lists.shrink_to_fit();
        dictionary
    }

    /// Appends a shelf.
    fn shelve(&mut self, postings: &[Posting]) {
        self.shelves.push(narrow(self.keys.len()));
        for list in postings.chunk_by(|a, b| a.key() == b.key()) {
            self.keys.extend(list.first().map(Posting::key));
            self.starts.push(narrow(self.lists.len()));
            let only_body = list.iter().filter(|posting| posting.counts.only_body());
            let elsewhere = list.iter().filter(|posting| !posting.counts.only_body());
            put(&mut self.lists, narrow(only_body.clone().count()));
            put(&mut self.lists, narrow(elsewhere.clone().count()));
            self.write(only_body, |counts| [counts.body]);
            self.write(elsewhere, |counts| {
                [counts.name, counts.description, counts.headings, counts.body]
            });
        }
    }

    fn write<'a, const N: usize>(
        &mut self,
        postings: impl Iterator<Item = &'a Posting>,
        counts: fn(Counts) -> [u16; N],
    ) {
        let mut last = 0;
        for posting in postings {
            let number = posting.number();
            put(&mut self.lists, number - last);
            for count in counts(posting.counts) {
                put(&mut self.lists, u32::from(count));
            }
            last = number;
        }
    }

    /// The skills that have a term; none if it is unknown.
    pub(super) fn list(&self, term: Term) -> List<'_> {
        self.numbers(term).and_then(List::new).unwrap_or_default()
    }

    fn numbers(&self, term: Term) -> Option<Numbers<'_>> {
        let (at, key) = place(term);
        let first = *self.shelves.get(at)? as usize;
        let end = *self.shelves.get(at + 1)? as usize;
        let found = self.keys.get(first..end)?.binary_search(&key).ok()?;
        let start = *self.starts.get(first + found)? as usize;
        self.lists.get(start..).map(Numbers)
    }
}

impl<'a> List<'a> {
    fn new(mut numbers: Numbers<'a>) -> Option<Self> {
        Some(Self { only_body: numbers.next()?, elsewhere: numbers.next()?, numbers })
    }

    /// How many skills.
    pub(super) fn len(&self) -> u32 {
        self.only_body + self.elsewhere
    }

    /// Each skill's number and how much of the term it has. Two loops, because nearly all skills are in the
    /// first and a request may come to a hundred thousand of them.
    #[inline]
    pub(super) fn each(self, scales: &[Scale], mut visit: impl FnMut(usize, f64)) {
        let mut numbers = self.numbers;
        let mut number = 0;
        for _ in 0..self.only_body {
            let [step, count] = numbers.several();
            number += step as usize;
            if let Some(scale) = scales.get(number) {
                visit(number, scale.body(count));
            }
        }
        number = 0;
        for _ in 0..self.elsewhere {
            let [step, counts @ ..] = numbers.several::<5>();
            number += step as usize;
            if let Some(scale) = scales.get(number) {
                visit(number, scale.all(counts));
            }
        }
    }
}
