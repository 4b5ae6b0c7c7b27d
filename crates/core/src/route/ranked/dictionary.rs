//! [`Dictionary`]: a posting list for each term, and how the next dictionary is merged from it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    counts::TermCounts,
    entry::SearchEntry,
    posting_list::{PostingList, write},
    term::TermHash,
    varint::to_u32,
};
use crate::packed::{bytes, numbers};

const BUCKET_COUNT: usize = 256;

/// The skills of every term. Terms are numbered in ascending order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Dictionary {
    /// For each value of a term's upper eight bits, where its terms start; one more item says where the last ends.
    #[serde(with = "numbers")]
    buckets: Vec<u32>,
    /// The lower bits of each term, ascending in its bucket.
    #[serde(with = "numbers")]
    keys: Vec<u32>,
    /// Where each term's list starts in `lists`.
    #[serde(with = "numbers")]
    starts: Vec<u32>,
    #[serde(with = "bytes")]
    lists: Vec<u8>,
}

/// Which skills leave a dictionary, and which terms stay though their list is empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removals<'a> {
    /// By skill: whether it is gone. Empty where none is.
    pub(super) gone: &'a [bool],
    /// By term: whether a clause has it. Cutting a clause out can make a word that no field has; its list is
    /// empty, but the term needs a number.
    pub(super) needed: &'a [bool],
}

impl Removals<'_> {
    fn is_gone(self, skill: usize) -> bool {
        self.gone.get(skill) == Some(&true)
    }
}

/// One term of one fresh entry, before lists are made.
#[derive(Debug, Clone, Copy)]
struct Posting {
    /// The term's key, then the entry's number: what lists are ordered by.
    order: u64,
    counts: TermCounts,
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

/// A term's bucket, and its key there.
fn place(term: TermHash) -> (usize, u32) {
    let [bucket, key @ ..] = term.pack();
    (usize::from(bucket), u32::from_be_bytes(key))
}

impl Dictionary {
    /// This dictionary without the removed skills and with fresh ones, which must ascend.
    ///
    /// Entries' terms ascend, so all entries are read side by side, some buckets at a time, which fit a cache.
    pub(super) fn merged(&self, removals: Removals<'_>, fresh: &[(u32, &SearchEntry)]) -> Self {
        const BUCKETS_AT_A_TIME: usize = 8;
        /// A bucket of common words can be a hundred times longer; its memory is given back.
        const MAX_KEPT_POSTINGS: usize = 8_192;
        let bytes: usize = fresh.iter().map(|(_, entry)| entry.listed_len()).sum();
        let mut next =
            Self { lists: Vec::with_capacity(self.lists.len() + bytes), ..Self::default() };
        let mut readers = Vec::with_capacity(fresh.len() * 2);
        for (number, entry) in fresh {
            readers.extend(entry.terms().map(|terms| (u64::from(*number), terms.peekable())));
        }
        let mut buckets = [const { Vec::new() }; BUCKETS_AT_A_TIME];
        for first in (0..BUCKET_COUNT).step_by(BUCKETS_AT_A_TIME) {
            for (number, reader) in &mut readers {
                let near =
                    |(term, _): &(TermHash, TermCounts)| place(*term).0 < first + BUCKETS_AT_A_TIME;
                while let Some((term, counts)) = reader.next_if(near) {
                    let (place, key) = place(term);
                    if let Some(bucket) = buckets.get_mut(place - first) {
                        bucket.push(Posting { order: u64::from(key) << 32 | *number, counts });
                    }
                }
            }
            for (place, bucket) in (first..).zip(&mut buckets) {
                bucket.sort_unstable_by_key(|posting| posting.order);
                next.append_bucket(self, self.bucket(place), removals, bucket);
                bucket.clear();
                bucket.shrink_to(MAX_KEPT_POSTINGS);
            }
        }
        next.buckets.push(to_u32(next.keys.len()));
        next.keys.shrink_to_fit();
        next.starts.shrink_to_fit();
        next.lists.shrink_to_fit();
        next
    }

    /// The same terms of skills under other numbers: `numbers` has the new one of each.
    pub(super) fn renumbered_skills(&self, numbers: &[Option<usize>]) -> Self {
        let mut next = Self {
            buckets: self.buckets.clone(),
            keys: self.keys.clone(),
            starts: Vec::with_capacity(self.starts.len()),
            lists: Vec::with_capacity(self.lists.len()),
        };
        let mut work = Vec::new();
        for ordinal in 0..self.len() {
            work.clear();
            self.list(ordinal).postings(|number, counts| {
                if let Some(Some(new)) = numbers.get(number as usize) {
                    work.push((to_u32(*new), counts));
                }
            });
            work.sort_unstable_by_key(|(number, _)| *number);
            next.starts.push(to_u32(next.lists.len()));
            write(&mut next.lists, &work);
        }
        next
    }

    /// Appends a bucket: old terms and fresh ones, in order.
    fn append_bucket(
        &mut self,
        old: &Self,
        mut ordinals: Range<usize>,
        removals: Removals<'_>,
        fresh: &[Posting],
    ) {
        self.buckets.push(to_u32(self.keys.len()));
        let mut work = Vec::new();
        for added in fresh.chunk_by(|a, b| a.key() == b.key()) {
            let key = added.first().map(Posting::key).unwrap_or_default();
            let known = old.keys.get(ordinals.clone()).unwrap_or_default();
            let before = known.partition_point(|known| *known < key);
            let same = known.get(before) == Some(&key);
            let at = ordinals.start + before;
            self.keep(old, ordinals.start..at, removals, &mut work);
            if same {
                old.remaining(at, removals, &mut work);
            }
            work.extend(
                added
                    .iter()
                    .filter(|posting| posting.counts != TermCounts::NONE)
                    .map(|posting| (posting.number(), posting.counts)),
            );
            self.list_under(key, &mut work);
            ordinals.start = at + usize::from(same);
        }
        self.keep(old, ordinals, removals, &mut work);
    }

    /// Appends old terms to which nothing fresh comes.
    fn keep(
        &mut self,
        old: &Self,
        ordinals: Range<usize>,
        removals: Removals<'_>,
        work: &mut Vec<(u32, TermCounts)>,
    ) {
        for ordinal in ordinals {
            let Some(key) = old.keys.get(ordinal) else { continue };
            let mut loses = false;
            let list = old.list(ordinal);
            let all = list.len() as usize;
            if !removals.gone.is_empty() {
                list.numbers(|skill| loses |= removals.is_gone(skill));
            }
            if loses {
                old.remaining(ordinal, removals, work);
            }
            let needed = removals.needed.get(ordinal) == Some(&true);
            if loses && (needed || !work.is_empty()) {
                self.list_under(*key, work);
            } else if !loses && (needed || all > 0) {
                self.keys.push(*key);
                self.starts.push(to_u32(self.lists.len()));
                self.lists.extend_from_slice(old.bytes(ordinal));
            }
        }
    }

    /// Appends a term and its list, and leaves `work` empty.
    fn list_under(&mut self, key: u32, work: &mut Vec<(u32, TermCounts)>) {
        work.sort_unstable_by_key(|(skill, _)| *skill);
        self.keys.push(key);
        self.starts.push(to_u32(self.lists.len()));
        write(&mut self.lists, work);
        work.clear();
    }

    /// Adds the skills of a term that are not removed to `work`.
    fn remaining(&self, ordinal: usize, removals: Removals<'_>, work: &mut Vec<(u32, TermCounts)>) {
        self.list(ordinal).postings(|skill, counts| {
            if !removals.is_gone(skill as usize) {
                work.push((skill, counts));
            }
        });
    }

    /// The numbers that this dictionary's terms have in `next`, by their numbers here; arbitrary for a term that
    /// `next` does not have.
    pub(super) fn renumbered(&self, next: &Self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.keys.len());
        for bucket in 0..BUCKET_COUNT {
            let mut theirs = next.bucket(bucket);
            for key in self.keys.get(self.bucket(bucket)).unwrap_or_default() {
                let mut known = next.keys.get(theirs.clone()).unwrap_or_default().iter();
                theirs.start += known.position(|other| other >= key).unwrap_or(theirs.len());
                numbers.push(to_u32(theirs.start));
            }
        }
        numbers
    }

    /// How many terms it has.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of a term.
    pub(super) fn find(&self, term: TermHash) -> Option<usize> {
        let (place, key) = place(term);
        let near = self.bucket(place);
        let found = self.keys.get(near.clone())?.binary_search(&key).ok()?;
        Some(near.start + found)
    }

    /// The skills that have the term of this number.
    pub(super) fn list(&self, ordinal: usize) -> PostingList<'_> {
        PostingList::new(self.bytes(ordinal)).unwrap_or_default()
    }

    fn bytes(&self, ordinal: usize) -> &[u8] {
        let start = self.starts.get(ordinal).map_or(usize::MAX, |start| *start as usize);
        let end = self.starts.get(ordinal + 1).map_or(self.lists.len(), |end| *end as usize);
        self.lists.get(start..end).unwrap_or_default()
    }

    /// The numbers of the terms in a bucket.
    fn bucket(&self, number: usize) -> Range<usize> {
        let end = |number: usize| self.buckets.get(number).map_or(0, |end| *end as usize);
        end(number)..end(number + 1)
    }
}
