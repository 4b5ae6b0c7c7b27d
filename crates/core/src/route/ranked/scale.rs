//! How much an occurrence of a term counts: by field, less where the field is long, more where few skills have
//! the term.

use super::{counts::Counts, entry::Lengths, numbers::narrow};

/// What a term is worth that this many of all skills have: idf, flattened.
pub(super) fn worth(all: usize, with: usize) -> f64 {
    const FLATTENED: f64 = 2.0;
    let (all, with) = (f64::from(narrow(all)), f64::from(narrow(with)));
    libm::log(1.0 + (all - with + 0.5) / (with + 0.5)) + FLATTENED
}

/// What one occurrence counts in each field of an entry: the field's weight, less where the field is long.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Scale {
    body: f64,
    others: Others,
}

/// The same in the fields that few terms are in. Names are not scaled by length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Others {
    description: f64,
    headings: f64,
}

impl Scale {
    /// How much of a term an entry has.
    pub(super) fn of(&self, counts: Counts) -> f64 {
        let Counts { name, description, headings, body } = counts;
        self.others.with([name, description, headings].map(u32::from), self.body * f64::from(body))
    }
}

impl Others {
    const NAME: f64 = 3.0;

    #[inline]
    fn with(&self, [name, description, headings]: [u32; 3], body: f64) -> f64 {
        Self::NAME * f64::from(name)
            + self.description * f64::from(description)
            + self.headings * f64::from(headings)
            + body
    }
}

/// The scales of all entries, by number. Bodies are apart: most occurrences are in a body only, and so more of
/// them are at hand at a time.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scales {
    bodies: Vec<f64>,
    others: Vec<Others>,
}

impl Scales {
    /// How much of a term an entry has that has it in the body only.
    #[inline]
    pub(super) fn body(&self, number: usize, count: u32) -> Option<f64> {
        self.bodies.get(number).map(|scale| scale * f64::from(count))
    }

    /// How much of a term an entry has that has it in these fields.
    #[inline]
    pub(super) fn all(&self, number: usize, others: [u32; 3], body: u32) -> Option<f64> {
        let body = self.body(number, body)?;
        self.others.get(number).map(|scale| scale.with(others, body))
    }
}

impl FromIterator<Scale> for Scales {
    fn from_iter<I: IntoIterator<Item = Scale>>(scales: I) -> Self {
        let (bodies, others) =
            scales.into_iter().map(|Scale { body, others }| (body, others)).unzip();
        Self { bodies, others }
    }
}

/// How long the fields of all entries are, those without a field included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Means {
    entries: usize,
    description: u64,
    headings: u64,
    body: u64,
}

impl Means {
    pub(super) fn of(all: impl Iterator<Item = Lengths>) -> Self {
        let mut means = Self::default();
        for lengths in all {
            means.entries += 1;
            means.description += u64::from(lengths.description);
            means.headings += u64::from(lengths.headings);
            means.body += u64::from(lengths.body);
        }
        means
    }

    /// How many entries.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// What occurrences count in an entry of these lengths.
    pub(super) fn scale(&self, lengths: Lengths) -> Scale {
        let others = Others {
            description: 5.0 / self.normal(lengths.description, self.description, 0.2),
            headings: 0.5 / self.normal(lengths.headings, self.headings, 0.6),
        };
        Scale { body: 1.0 / self.normal(lengths.body, self.body, 0.75), others }
    }

    /// How long a field is, 1 being the mean; `slope` says how much length matters.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    fn normal(&self, length: u32, sum: u64, slope: f64) -> f64 {
        let relative = f64::from(length) * self.entries as f64 / sum.max(1) as f64;
        1.0 - slope + slope * relative
    }
}
