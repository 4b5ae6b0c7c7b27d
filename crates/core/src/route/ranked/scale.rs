//! How much an occurrence of a term counts: by field, less where the field is long, more where few skills have
//! the term.

use super::{counts::TermCounts, entry::FieldLengths, varint::to_u32};

/// The inverse document frequency of a term that `with` of `all` skills have, flattened.
pub(super) fn idf(all: usize, with: usize) -> f64 {
    const IDF_OFFSET: f64 = 2.0;
    let (all, with) = (f64::from(to_u32(all)), f64::from(to_u32(with)));
    libm::log(1.0 + (all - with + 0.5) / (with + 0.5)) + IDF_OFFSET
}

/// The weight of an occurrence in each field of an entry: the field's own, less where the field is long. Names are not scaled by
/// length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FieldScale {
    description: f64,
    body: f64,
}

impl FieldScale {
    const NAME_WEIGHT: f64 = 3.0;
    const DESCRIPTION_WEIGHT: f64 = 3.0;

    /// The weighted frequency of a term with these counts.
    pub(super) fn frequency(self, counts: TermCounts) -> f64 {
        let TermCounts { name, description, body } = counts;
        self.all([name, description].map(u32::from), u32::from(body))
    }

    /// The weighted frequency of a term that is in the body only.
    #[inline]
    pub(super) fn body(self, count: u32) -> f64 {
        self.body * f64::from(count)
    }

    /// The weighted frequency of a term that is so often in the name and the description, and in the body.
    #[inline]
    pub(super) fn all(self, [name, description]: [u32; 2], body: u32) -> f64 {
        Self::NAME_WEIGHT * f64::from(name)
            + self.description * f64::from(description)
            + self.body(body)
    }
}

/// The lengths of all entries' fields, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LengthTotals {
    entries: usize,
    description: u64,
    body: u64,
}

impl LengthTotals {
    pub(super) fn of(all: impl Iterator<Item = FieldLengths>) -> Self {
        let mut length_totals = Self::default();
        for lengths in all {
            length_totals.entries += 1;
            length_totals.description += u64::from(lengths.description);
            length_totals.body += u64::from(lengths.body);
        }
        length_totals
    }

    /// How many entries.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// The scale of an entry of these lengths.
    pub(super) fn scale(&self, lengths: FieldLengths) -> FieldScale {
        FieldScale {
            description: FieldScale::DESCRIPTION_WEIGHT
                / self.normal(lengths.description, self.description, 0.2),
            body: 1.0 / self.normal(lengths.body, self.body, 0.75),
        }
    }

    /// BM25's length normalisation: 1 for a field of mean length; `slope` says how much length matters.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    fn normal(&self, length: u32, sum: u64, slope: f64) -> f64 {
        let relative = f64::from(length) * self.entries as f64 / sum.max(1) as f64;
        1.0 - slope + slope * relative
    }
}
