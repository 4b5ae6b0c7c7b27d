//! [`PostingList`]: the skills that have one term, packed by [`write()`].
//!
//! Three groups, each in ascending order: skills that have the term once in the body and nowhere else, those that
//! have it there several times, and those that have it elsewhere too. Most are in the first and take a byte
//! each; each group has a loop of its own, without a branch by kind.

use super::{
    counts::TermCounts,
    scale::FieldScale,
    varint::{VarInts, push_varint, to_u32},
};

/// A byte of this value or more means that the counts of name and description do not fit it and follow.
const UNPACKED_COUNTS: u32 = 0x80;

/// The skills that have one term.
#[derive(Debug, Clone, Default)]
pub(super) struct PostingList<'a> {
    once: u32,
    often: u32,
    elsewhere: u32,
    numbers: VarInts<'a>,
}

/// How often a skill has the term.
#[derive(Debug, Clone, Copy)]
enum FieldCounts {
    /// In the body, and nowhere else.
    Body(u32),
    /// In name and description, and in the body.
    All([u32; 2], u32),
}

/// Appends a list of skills, which must ascend.
pub(super) fn write(bytes: &mut Vec<u8>, postings: &[(u32, TermCounts)]) {
    let group = |wanted: fn(&TermCounts) -> bool| {
        postings.iter().filter(move |(_, counts)| wanted(counts)).copied()
    };
    let once = group(|counts| counts.only_body() && counts.body == 1);
    let often = group(|counts| counts.only_body() && counts.body != 1);
    let elsewhere = group(|counts| !counts.only_body());
    let (more, others) = (often.clone().count(), elsewhere.clone().count());
    // Half of all terms have a single skill: two bits instead of two zero counts.
    let groups = u32::from(more > 0) << 1 | u32::from(others > 0);
    push_varint(bytes, to_u32(once.clone().count()) << 2 | groups);
    for count in [more, others].into_iter().filter(|count| *count > 0) {
        push_varint(bytes, to_u32(count));
    }
    write_group(bytes, once, |_, _| ());
    write_group(bytes, often, |bytes, counts| push_varint(bytes, u32::from(counts.body)));
    write_group(bytes, elsewhere, write_counts);
}

fn write_group(
    bytes: &mut Vec<u8>,
    group: impl Iterator<Item = (u32, TermCounts)>,
    write_counts: fn(&mut Vec<u8>, TermCounts),
) {
    let mut last = 0;
    for (number, counts) in group {
        push_varint(bytes, number - last);
        write_counts(bytes, counts);
        last = number;
    }
}

fn write_counts(bytes: &mut Vec<u8>, counts: TermCounts) {
    let [name, description, body] = [counts.name, counts.description, counts.body].map(u32::from);
    if name < 1 << 2 && description < 1 << 5 {
        push_varint(bytes, name | description << 2);
        push_varint(bytes, body);
    } else {
        for number in [UNPACKED_COUNTS, body, name, description] {
            push_varint(bytes, number);
        }
    }
}

impl<'a> PostingList<'a> {
    /// The list that starts these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut numbers = VarInts(bytes);
        let first = numbers.next()?;
        let often = if first & 0b10 == 0 { 0 } else { numbers.next()? };
        let elsewhere = if first & 0b01 == 0 { 0 } else { numbers.next()? };
        Some(Self { once: first >> 2, often, elsewhere, numbers })
    }

    /// How many skills.
    pub(super) fn len(&self) -> u32 {
        self.once + self.often + self.elsewhere
    }

    /// Visits each skill's number with its weighted frequency of the term.
    #[inline]
    pub(super) fn each(self, scales: &[FieldScale], mut visit: impl FnMut(usize, f64)) {
        self.walk(|number, occurrences| {
            if let Some(scale) = scales.get(number) {
                visit(
                    number,
                    match occurrences {
                        FieldCounts::Body(count) => scale.body(count),
                        FieldCounts::All(others, body) => scale.all(others, body),
                    },
                );
            }
        });
    }

    /// Visits each skill's number.
    pub(super) fn numbers(self, mut visit: impl FnMut(usize)) {
        self.walk(|number, _| visit(number));
    }

    /// Visits what [`write()`] was given, in the order of the groups.
    pub(super) fn postings(self, mut visit: impl FnMut(u32, TermCounts)) {
        let to_u16 = |count| u16::try_from(count).unwrap_or(u16::MAX);
        self.walk(|number, occurrences| {
            let counts = match occurrences {
                FieldCounts::Body(body) => TermCounts { body: to_u16(body), ..TermCounts::NONE },
                FieldCounts::All(others, body) => {
                    let [name, description] = others.map(to_u16);
                    TermCounts { name, description, body: to_u16(body) }
                }
            };
            visit(to_u32(number), counts);
        });
    }

    /// A loop for each group: a query may visit a hundred thousand skills, and in each loop the compiler knows the
    /// case.
    #[inline]
    fn walk(self, mut visit: impl FnMut(usize, FieldCounts)) {
        let mut numbers = self.numbers;
        let mut number = 0;
        for _ in 0..self.once {
            number += numbers.next().unwrap_or_default() as usize;
            visit(number, FieldCounts::Body(1));
        }
        number = 0;
        for _ in 0..self.often {
            let [step, count] = numbers.several();
            number += step as usize;
            visit(number, FieldCounts::Body(count));
        }
        number = 0;
        for _ in 0..self.elsewhere {
            let [step, packed, body] = numbers.several();
            number += step as usize;
            let others = if packed < UNPACKED_COUNTS {
                [packed & 0b11, packed >> 2]
            } else {
                numbers.several()
            };
            visit(number, FieldCounts::All(others, body));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: TermCounts = TermCounts { body: 1, ..TermCounts::NONE };

    fn check(postings: &[(u32, TermCounts)], bytes: usize) {
        let mut written = Vec::new();
        write(&mut written, postings);
        assert_eq!(written.len(), bytes, "{postings:?}");
        let list = PostingList::new(&written).unwrap();
        assert_eq!(list.len() as usize, postings.len());
        let mut numbers = Vec::new();
        list.clone().numbers(|number| numbers.push(to_u32(number)));
        numbers.sort_unstable();
        assert!(numbers.iter().eq(postings.iter().map(|(number, _)| number)));
        let mut back = Vec::new();
        list.postings(|number, counts| back.push((number, counts)));
        back.sort_unstable_by_key(|(number, _)| *number);
        assert_eq!(back, postings);
    }

    #[test]
    fn lists_come_back() {
        let often = TermCounts { body: 9, ..TermCounts::NONE };
        let all = TermCounts { name: 3, description: 31, body: 127 };
        check(&[], 1);
        check(&[(0, ONCE)], 2);
        check(&[(300, ONCE), (301, ONCE)], 4);
        check(&[(3, often)], 4);
        check(&[(3, all)], 5);
        check(&[(1, all), (2, ONCE), (4, often), (1_000, all), (1_001, often), (70_000, ONCE)], 19);
    }

    #[test]
    fn counts_of_any_size_come_back() {
        for (name, description, bytes) in [(4, 0, 8), (0, 32, 8), (u16::MAX, u16::MAX, 12)] {
            check(&[(7, TermCounts { name, description, body: 0 })], bytes);
        }
        check(&[(7, TermCounts { body: u16::MAX, ..TermCounts::NONE })], 6);
    }

    #[test]
    fn a_list_cut_short_is_no_list() {
        assert!(PostingList::new(&[]).is_none());
        assert!(PostingList::new(&[0b11, 1]).is_none());
    }
}
