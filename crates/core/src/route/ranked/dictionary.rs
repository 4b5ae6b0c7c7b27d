//! Which skills have a term, and how often: [`Dictionary`], one list a term, and how it becomes the next one.

use std::ops::Range;

use super::{
    counts::Counts,
    entry::Entry,
    lists::{List, write},
    numbers::narrow,
    term::Term,
};

const SHELVES: usize = 256;

/// The skills of every term. Terms are numbered in ascending order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Dictionary {
    /// Where the terms start that share their upper eight bits, and behind the last where they end.
    shelves: Vec<u32>,
    /// The lower bits of each term, ascending on its shelf.
    keys: Vec<u32>,
    /// Where each term's list starts in `lists`.
    starts: Vec<u32>,
    lists: Vec<u8>,
}

/// What leaves a dictionary and what stays though no list says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving<'a> {
    /// By skill: whether it is gone.
    pub(super) gone: &'a [bool],
    /// By term: whether a clause has it. Cutting a clause out can make a word that no field has; its list is
    /// empty then, but it needs a number.
    pub(super) needed: &'a [bool],
}

impl Leaving<'_> {
    fn is_gone(self, skill: usize) -> bool {
        self.gone.get(skill) == Some(&true)
    }
}

/// One term of one fresh entry, before lists are made.
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
    /// This dictionary without the skills that are gone and with fresh ones, which must ascend.
    ///
    /// Entries' terms ascend, so all entries are read side by side, some shelves at a time; what is in work then
    /// fits a cache.
    pub(super) fn merged(&self, leaving: Leaving<'_>, fresh: &[(u32, &Entry)]) -> Self {
        const AT_A_TIME: usize = 8;
        /// A shelf of common words can be a hundred times longer; its room is given back.
        const USUAL_LENGTH: usize = 8_192;
        let bytes: usize = fresh.iter().map(|(_, entry)| entry.listed_len()).sum();
        let mut next =
            Self { lists: Vec::with_capacity(self.lists.len() + bytes), ..Self::default() };
        let mut readers = Vec::with_capacity(fresh.len() * 2);
        for (number, entry) in fresh {
            readers.extend(entry.terms().map(|terms| (u64::from(*number), terms.peekable())));
        }
        let mut shelves = [const { Vec::new() }; AT_A_TIME];
        for first in (0..SHELVES).step_by(AT_A_TIME) {
            for (number, reader) in &mut readers {
                let near = |(term, _): &(Term, Counts)| place(*term).0 < first + AT_A_TIME;
                while let Some((term, counts)) = reader.next_if(near) {
                    let (place, key) = place(term);
                    if let Some(shelf) = shelves.get_mut(place - first) {
                        shelf.push(Posting { order: u64::from(key) << 32 | *number, counts });
                    }
                }
            }
            for (place, shelf) in (first..).zip(&mut shelves) {
                shelf.sort_unstable_by_key(|posting| posting.order);
                next.shelve(self, self.shelf(place), leaving, shelf);
                shelf.clear();
                shelf.shrink_to(USUAL_LENGTH);
            }
        }
        next.shelves.push(narrow(next.keys.len()));
        next.keys.shrink_to_fit();
        next.starts.shrink_to_fit();
        next.lists.shrink_to_fit();
        next
    }

    /// Appends a shelf: old terms and fresh ones, in order.
    fn shelve(
        &mut self,
        old: &Self,
        mut ordinals: Range<usize>,
        leaving: Leaving<'_>,
        fresh: &[Posting],
    ) {
        self.shelves.push(narrow(self.keys.len()));
        let mut work = Vec::new();
        for added in fresh.chunk_by(|a, b| a.key() == b.key()) {
            let key = added.first().map(Posting::key).unwrap_or_default();
            let known = old.keys.get(ordinals.clone()).unwrap_or_default();
            let before = known.partition_point(|known| *known < key);
            let same = known.get(before) == Some(&key);
            let at = ordinals.start + before;
            self.keep(old, ordinals.start..at, leaving, &mut work);
            if same {
                old.remaining(at, leaving, &mut work);
            }
            work.extend(
                added
                    .iter()
                    .filter(|posting| posting.counts != Counts::NONE)
                    .map(|posting| (posting.number(), posting.counts)),
            );
            self.list_under(key, &mut work);
            ordinals.start = at + usize::from(same);
        }
        self.keep(old, ordinals, leaving, &mut work);
    }

    /// Appends old terms to which nothing fresh comes.
    fn keep(
        &mut self,
        old: &Self,
        ordinals: Range<usize>,
        leaving: Leaving<'_>,
        work: &mut Vec<(u32, Counts)>,
    ) {
        for ordinal in ordinals {
            let Some(key) = old.keys.get(ordinal) else { continue };
            let mut loses = false;
            let list = old.list(ordinal);
            let all = list.len() as usize;
            list.numbers(|skill| loses |= leaving.is_gone(skill));
            if loses {
                old.remaining(ordinal, leaving, work);
            }
            let needed = leaving.needed.get(ordinal) == Some(&true);
            if loses && (needed || !work.is_empty()) {
                self.list_under(*key, work);
            } else if !loses && (needed || all > 0) {
                self.keys.push(*key);
                self.starts.push(narrow(self.lists.len()));
                self.lists.extend_from_slice(old.bytes(ordinal));
            }
        }
    }

    /// Appends a term and its list, and leaves `work` empty.
    fn list_under(&mut self, key: u32, work: &mut Vec<(u32, Counts)>) {
        work.sort_unstable_by_key(|(skill, _)| *skill);
        self.keys.push(key);
        self.starts.push(narrow(self.lists.len()));
        write(&mut self.lists, work);
        work.clear();
    }

    /// The skills of a term that are not gone.
    fn remaining(&self, ordinal: usize, leaving: Leaving<'_>, work: &mut Vec<(u32, Counts)>) {
        self.list(ordinal).postings(|skill, counts| {
            if !leaving.is_gone(skill as usize) {
                work.push((skill, counts));
            }
        });
    }

    /// The numbers that this dictionary's terms have in `next`, by their numbers here; any number for a term
    /// that `next` does not have.
    pub(super) fn renumbered(&self, next: &Self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.keys.len());
        for shelf in 0..SHELVES {
            let mut theirs = next.shelf(shelf);
            for key in self.keys.get(self.shelf(shelf)).unwrap_or_default() {
                let mut known = next.keys.get(theirs.clone()).unwrap_or_default().iter();
                theirs.start += known.position(|other| other >= key).unwrap_or(theirs.len());
                numbers.push(narrow(theirs.start));
            }
        }
        numbers
    }

    /// How many terms it has.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of a term.
    pub(super) fn find(&self, term: Term) -> Option<usize> {
        let (place, key) = place(term);
        let near = self.shelf(place);
        let found = self.keys.get(near.clone())?.binary_search(&key).ok()?;
        Some(near.start + found)
    }

    /// The skills that have the term of this number.
    pub(super) fn list(&self, ordinal: usize) -> List<'_> {
        List::new(self.bytes(ordinal)).unwrap_or_default()
    }

    fn bytes(&self, ordinal: usize) -> &[u8] {
        let start = self.starts.get(ordinal).map_or(usize::MAX, |start| *start as usize);
        let end = self.starts.get(ordinal + 1).map_or(self.lists.len(), |end| *end as usize);
        self.lists.get(start..end).unwrap_or_default()
    }

    /// The numbers of the terms on a shelf.
    fn shelf(&self, number: usize) -> Range<usize> {
        let end = |number: usize| self.shelves.get(number).map_or(0, |end| *end as usize);
        end(number)..end(number + 1)
    }
}
