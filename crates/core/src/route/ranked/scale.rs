//! How much an occurrence of a term counts: by field, less where the field is long, more where few skills have
//! the term.

use super::{counts::TermCounts, entry::FieldLengths, varint::to_u32};

/// The inverse document frequency of a term that `with` of `all` skills have, flattened.
pub(super) fn idf(all: usize, with: usize) -> f64 {
    const IDF_OFFSET: f64 = 2.0;
    let (all, with) = (f64::from(to_u32(all)), f64::from(to_u32(with)));
    libm::log(1.0 + (all - with + 0.5) / (with + 0.5)) + IDF_OFFSET
}

/// The weight of one occurrence in each field of an entry: the field's own, less where the field is long.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FieldScale {
    body: f64,
    others: ShortFieldScale,
}

/// The same for description and headings, which few terms are in. Names are not scaled by length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ShortFieldScale {
    description: f64,
    headings: f64,
}

impl FieldScale {
    /// The weighted frequency of a term with these counts.
    pub(super) fn of(&self, counts: TermCounts) -> f64 {
        let TermCounts { name, description, headings, body } = counts;
        self.others.with([name, description, headings].map(u32::from), self.body * f64::from(body))
    }
}

impl ShortFieldScale {
    const NAME_WEIGHT: f64 = 3.0;

    #[inline]
    fn with(&self, [name, description, headings]: [u32; 3], body: f64) -> f64 {
        Self::NAME_WEIGHT * f64::from(name)
            + self.description * f64::from(description)
            + self.headings * f64::from(headings)
            + body
    }
}

/// The scales of all entries, by number. Bodies are apart: most occurrences are in a body only, and a cache line holds
/// more of them that way.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FieldScales {
    bodies: Vec<f64>,
    others: Vec<ShortFieldScale>,
}

impl FieldScales {
    /// The weighted frequency of a term that an entry has in the body only.
    #[inline]
    pub(super) fn body(&self, number: usize, count: u32) -> Option<f64> {
        self.bodies.get(number).map(|scale| scale * f64::from(count))
    }

    /// The weighted frequency of a term that an entry has in these fields.
    #[inline]
    pub(super) fn all(&self, number: usize, others: [u32; 3], body: u32) -> Option<f64> {
        let body = self.body(number, body)?;
        self.others.get(number).map(|scale| scale.with(others, body))
    }
}

impl FromIterator<FieldScale> for FieldScales {
    fn from_iter<I: IntoIterator<Item = FieldScale>>(scales: I) -> Self {
        let (bodies, others) =
            scales.into_iter().map(|FieldScale { body, others }| (body, others)).unzip();
        Self { bodies, others }
    }
}

/// The lengths of all entries' fields, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LengthTotals {
    entries: usize,
    description: u64,
    headings: u64,
    body: u64,
}

impl LengthTotals {
    pub(super) fn of(all: impl Iterator<Item = FieldLengths>) -> Self {
        let mut length_totals = Self::default();
        for lengths in all {
            length_totals.entries += 1;
            length_totals.description += u64::from(lengths.description);
            length_totals.headings += u64::from(lengths.headings);
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
        let others = ShortFieldScale {
            description: 5.0 / self.normal(lengths.description, self.description, 0.2),
            headings: 0.5 / self.normal(lengths.headings, self.headings, 0.6),
        };
        FieldScale { body: 1.0 / self.normal(lengths.body, self.body, 0.75), others }
    }

    /// BM25's length normalisation: 1 for a field of mean length; `slope` says how much length matters.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    fn normal(&self, length: u32, sum: u64, slope: f64) -> f64 {
        let relative = f64::from(length) * self.entries as f64 / sum.max(1) as f64;
        1.0 - slope + slope * relative
    }
}
