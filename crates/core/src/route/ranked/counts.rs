//! [`PackedTerms`]: the terms of a skill and how often it has each, in few bytes.

use super::{
    term::{PackedTerm, TermHash},
    varint::{VarInts, push_varint},
};

/// Where a term was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Name,
    Description,
    /// In a clause. Its terms are those of the description, except where cutting the clause out made a new word.
    Clause,
    Body,
}

/// A term in a field, in eight bytes: a skill has a thousand of them, and they are sorted by term, then by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldTerm(u64);

impl FieldTerm {
    pub(super) fn new(term: TermHash, field: Field) -> Self {
        Self(term.tag(field as u8))
    }

    pub(super) fn term(self) -> TermHash {
        TermHash::untag(self.0).0
    }

    pub(super) fn field(self) -> Field {
        match TermHash::untag(self.0).1 {
            0 => Field::Name,
            1 => Field::Description,
            2 => Field::Clause,
            _ => Field::Body,
        }
    }
}

/// How often a skill has a term, by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TermCounts {
    pub(super) name: u16,
    pub(super) description: u16,
    pub(super) body: u16,
}

impl TermCounts {
    pub(super) const NONE: Self = Self { name: 0, description: 0, body: 0 };

    pub(super) fn of(fields: impl Iterator<Item = Field>) -> Self {
        let mut counts = Self::NONE;
        for field in fields {
            let count = match field {
                Field::Name => &mut counts.name,
                Field::Description => &mut counts.description,
                Field::Body => &mut counts.body,
                Field::Clause => continue,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Whether no other field has it.
    pub(super) fn only_body(self) -> bool {
        Self { body: 0, ..self } == Self::NONE
    }

    /// Most terms occur in the body only: one byte then.
    fn write(self, bytes: &mut Vec<u8>) {
        let elsewhere = !self.only_body();
        push_varint(bytes, u32::from(self.body) << 1 | u32::from(elsewhere));
        if elsewhere {
            for count in [self.name, self.description] {
                push_varint(bytes, u32::from(count));
            }
        }
    }

    fn read(numbers: &mut VarInts<'_>) -> Option<Self> {
        let body = numbers.next()?;
        let mut counts = Self { body: u16::try_from(body >> 1).ok()?, ..Self::NONE };
        if body & 1 == 1 {
            for count in [&mut counts.name, &mut counts.description] {
                *count = u16::try_from(numbers.next()?).ok()?;
            }
        }
        Some(counts)
    }
}

/// Terms, ascending, and how often a skill has each.
#[derive(Debug)]
pub(super) struct PackedTerms {
    terms: Box<[PackedTerm]>,
    /// In the order of the terms.
    counts: Box<[u8]>,
}

impl PackedTerms {
    /// Packs terms, which must ascend.
    pub(super) fn new(found: &[(TermHash, TermCounts)]) -> Self {
        let mut counts = Vec::new();
        for (_, count) in found {
            count.write(&mut counts);
        }
        Self { terms: found.iter().map(|(term, _)| term.pack()).collect(), counts: counts.into() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TermHash> {
        self.terms.iter().copied().map(TermHash::unpack)
    }

    pub(super) fn counted(&self) -> impl Iterator<Item = (TermHash, TermCounts)> {
        let mut counts = VarInts(&self.counts);
        self.iter().map_while(move |term| Some((term, TermCounts::read(&mut counts)?)))
    }

    /// The position of a term, if it is here.
    pub(super) fn place(&self, term: TermHash) -> Option<usize> {
        self.terms.binary_search_by_key(&term, |packed| TermHash::unpack(*packed)).ok()
    }

    /// Calls `found` with the number of each of `wanted`, which must ascend, that is here.
    pub(super) fn find(
        &self,
        wanted: &[(TermHash, usize)],
        found: &mut impl FnMut(usize, TermCounts),
    ) {
        let mut rest = &*self.terms;
        let mut counts = VarInts(&self.counts);
        // How many terms `rest` is ahead of `counts`.
        let mut ahead = 0;
        for (term, number) in wanted {
            let term = term.pack();
            let skipped = gallop(rest, |other| *other < term);
            rest = rest.get(skipped..).unwrap_or_default();
            ahead += skipped;
            if rest.first() == Some(&term) {
                let own = (0..=ahead).map_while(|_| TermCounts::read(&mut counts)).last();
                (rest, ahead) = (rest.get(1..).unwrap_or_default(), 0);
                found(*number, own.unwrap_or_default());
            }
        }
    }

    /// About how many bytes of posting lists the skill takes.
    pub(super) fn listed_len(&self) -> usize {
        self.terms.len() + self.counts.len()
    }
}

/// How many leading items of an ascending slice are `before` the sought one; fast if they are few.
fn gallop<T>(ascending: &[T], before: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while ascending.get(reach - 1).is_some_and(&before) {
        reach *= 2;
    }
    let start = reach / 2;
    let near = ascending.get(start..reach.min(ascending.len())).unwrap_or_default();
    start + near.partition_point(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn galloping_is_partitioning() {
        for length in 0..20 {
            let numbers: Vec<usize> = (0..length).collect();
            for sought in 0..=length {
                assert_eq!(gallop(&numbers, |number| *number < sought), sought, "in {length}");
            }
        }
    }

    #[test]
    fn what_was_found_comes_back() {
        let fields = [Field::Name, Field::Description, Field::Clause, Field::Body];
        let found = fields.map(|field| FieldTerm::new(TermHash::new("x"), field));
        assert!(found.is_sorted());
        assert_eq!(
            found.map(|found| (found.term(), found.field())),
            fields.map(|field| (TermHash::new("x"), field))
        );
    }

    #[test]
    fn counts_come_back() {
        let table = [
            (TermCounts { body: 1, ..TermCounts::NONE }, 1),
            (TermCounts { body: 63, ..TermCounts::NONE }, 1),
            (TermCounts { body: 64, ..TermCounts::NONE }, 2),
            (TermCounts { body: u16::MAX, ..TermCounts::NONE }, 3),
            (TermCounts { name: 1, description: 2, body: 4 }, 3),
            (TermCounts::NONE, 1),
        ];
        for (counts, bytes) in table {
            let terms = PackedTerms::new(&[(TermHash::new("x"), counts)]);
            assert!(terms.counted().eq([(TermHash::new("x"), counts)]));
            assert_eq!(terms.counts.len(), bytes, "{counts:?}");
        }
    }

    #[test]
    fn wanted_terms_are_found_with_their_counts() {
        let mut own: Vec<(TermHash, TermCounts)> = (0..40)
            .map(|n| {
                (
                    TermHash::new(&n.to_string()),
                    TermCounts { name: n % 3, body: n, ..TermCounts::NONE },
                )
            })
            .collect();
        own.sort_unstable_by_key(|(term, _)| *term);
        let terms = PackedTerms::new(&own);
        for step in 1..9 {
            let mut wanted: Vec<(TermHash, usize)> =
                (0..60).step_by(step).map(|n| (TermHash::new(&n.to_string()), n)).collect();
            wanted.sort_unstable();
            let mut found = Vec::new();
            terms.find(&wanted, &mut |number, counts| found.push((number, counts)));
            let there = wanted.iter().filter_map(|(term, number)| {
                let counts = own.iter().find(|(other, _)| other == term)?.1;
                Some((*number, counts))
            });
            assert!(there.eq(found), "every {step}");
        }
    }
}
