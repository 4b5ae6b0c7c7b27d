//! [`Outlines`]: what the second pass of a search needs of each skill, packed: its field lengths, the terms of its name,
//! description and clauses, and the clauses. Everything else about a skill is in the dictionary's posting lists.

use serde::{Deserialize, Serialize};

use super::{
    dictionary::Dictionary,
    entry::{Clause, FieldLengths, SearchEntry},
    scale::{FieldScale, LengthTotals, idf},
    varint::{VarInts, push_varint, to_u32},
};
use crate::packed::{bytes, numbers};

/// The outlines of all skills, by number.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outlines {
    /// Where each outline starts; one more item says where the last ends. A number without a skill has no bytes.
    #[serde(with = "numbers")]
    starts: Vec<u32>,
    #[serde(with = "bytes")]
    bytes: Vec<u8>,
}

/// One skill's outline.
#[derive(Debug, Clone, Default)]
pub(super) struct Outline<'a> {
    pub(super) lengths: FieldLengths,
    /// The dictionary's numbers of the terms offered, ascending: as steps.
    offered: VarInts<'a>,
    /// For each clause the length of its list, the list, and the sum of its terms' idf, which is left out for an empty
    /// list.
    clauses: VarInts<'a>,
}

impl<'a> Outline<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut numbers = VarInts(bytes);
        let [description, body, length] = numbers.several();
        let offered = numbers.within(length)?;
        let lengths = FieldLengths { description, body };
        (!bytes.is_empty()).then_some(Self { lengths, offered, clauses: numbers })
    }

    /// The dictionary's numbers of the terms offered, ascending.
    pub(super) fn offered(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.offered.clone().scan(0, |number, step| {
            *number += step as usize;
            Some(*number)
        })
    }

    /// The clauses as an entry has them, and the sum of the idf of each clause's terms.
    pub(super) fn clauses(&self) -> impl Iterator<Item = (Clause<'a>, f64)> + use<'a> {
        let mut numbers = self.clauses.clone();
        std::iter::from_fn(move || {
            let length = numbers.next()?;
            let clause = Clause(numbers.within(length)?);
            let total = if length > 0 { numbers.float()? } else { 0.0 };
            Some((clause, total))
        })
    }
}

impl Outlines {
    /// The outline of a skill; none if the number has no skill.
    pub(super) fn get(&self, number: usize) -> Option<Outline<'_>> {
        let (start, end) = (*self.starts.get(number)?, *self.starts.get(number + 1)?);
        Outline::new(self.bytes.get(start as usize..end as usize)?)
    }

    /// The outlines by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<Outline<'_>>> {
        (0..self.end()).map(|number| self.get(number))
    }

    /// One more than the greatest number.
    pub(super) fn end(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The scale of each, given the lengths of all together.
    pub(super) fn scales(&self, totals: LengthTotals) -> Vec<FieldScale> {
        let scale = |outline: Outline<'_>| totals.scale(outline.lengths);
        self.iter().map(|outline| outline.map(scale).unwrap_or_default()).collect()
    }

    /// The same outlines under other numbers: `numbers` has the new one of each.
    pub(super) fn renumbered(&self, numbers: &[Option<usize>]) -> Self {
        let end = numbers.iter().flatten().max().map_or(0, |last| last + 1);
        let mut places = vec![None; end];
        for (old, new) in numbers.iter().enumerate() {
            if let Some(place) = new.and_then(|new| places.get_mut(new)) {
                *place = Some(old);
            }
        }
        let mut next = Self { starts: vec![0], bytes: Vec::with_capacity(self.bytes.len()) };
        for old in places {
            let range =
                old.and_then(|old| Some(*self.starts.get(old)?..*self.starts.get(old + 1)?));
            let bytes =
                range.and_then(|range| self.bytes.get(range.start as usize..range.end as usize));
            next.bytes.extend_from_slice(bytes.unwrap_or_default());
            next.starts.push(to_u32(next.bytes.len()));
        }
        next
    }
}

/// Writes [`Outlines`], in the order of the numbers.
#[derive(Debug)]
pub(super) struct OutlineWriter<'a> {
    dictionary: &'a Dictionary,
    /// How many skills there are.
    all: usize,
    outlines: Outlines,
}

impl<'a> OutlineWriter<'a> {
    pub(super) fn new(dictionary: &'a Dictionary, all: usize) -> Self {
        Self { dictionary, all, outlines: Outlines { starts: vec![0], bytes: Vec::new() } }
    }

    /// A number without a skill.
    pub(super) fn hole(&mut self) {
        self.outlines.starts.push(to_u32(self.outlines.bytes.len()));
    }

    /// A skill whose terms the dictionary has.
    pub(super) fn entry(&mut self, entry: &SearchEntry) {
        let offered: Vec<usize> =
            entry.offered().filter_map(|term| self.dictionary.find(term)).collect();
        self.write(entry.lengths(), &offered, entry.clauses());
    }

    /// A skill from the previous outlines; `numbers` maps its terms' old numbers to new ones. Terms stay in their order,
    /// so clauses stay as they are, except for their sums of idf.
    pub(super) fn outline(&mut self, outline: &Outline<'_>, numbers: &[u32]) {
        let offered: Vec<usize> = outline
            .offered()
            .filter_map(|number| numbers.get(number).map(|number| *number as usize))
            .collect();
        self.write(outline.lengths, &offered, outline.clauses().map(|(clause, _)| clause));
    }

    fn write<'b>(
        &mut self,
        lengths: FieldLengths,
        offered: &[usize],
        clauses: impl Iterator<Item = Clause<'b>>,
    ) {
        let bytes = &mut self.outlines.bytes;
        let mut steps = Vec::with_capacity(offered.len() * 2);
        let mut last = 0;
        for number in offered {
            push_varint(&mut steps, to_u32(number - last));
            last = *number;
        }
        for number in [lengths.description, lengths.body, to_u32(steps.len())] {
            push_varint(bytes, number);
        }
        bytes.extend(steps);
        let idfs: Vec<f64> = offered
            .iter()
            .map(|number| idf(self.all, self.dictionary.list(*number).len() as usize))
            .collect();
        for clause in clauses {
            let steps = clause.0.0;
            push_varint(bytes, to_u32(steps.len()));
            bytes.extend_from_slice(steps);
            if !steps.is_empty() {
                bytes.extend(clause.sum(&idfs).to_le_bytes());
            }
        }
        self.hole();
    }

    pub(super) fn finish(mut self) -> Outlines {
        self.outlines.starts.shrink_to_fit();
        self.outlines.bytes.shrink_to_fit();
        self.outlines
    }
}
