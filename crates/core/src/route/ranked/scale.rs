//! How much an occurrence of a term counts: by field, and less where the field is long.

use std::sync::Arc;

use super::entry::{Entry, Lengths};

/// What one occurrence counts in each field of an entry: the field's weight, less where the field is long.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scale {
    description: f64,
    headings: f64,
    body: f64,
}

impl Scale {
    /// Names are not scaled by length.
    const NAME: f64 = 3.0;

    /// For each entry.
    pub(super) fn of_all(entries: &[Arc<Entry>]) -> Box<[Self]> {
        let mean = |length: fn(Lengths) -> u32| {
            let sum: u64 = entries.iter().map(|entry| u64::from(length(entry.lengths()))).sum();
            Mean { sum, of: entries.len() }
        };
        let description = mean(|lengths| lengths.description);
        let headings = mean(|lengths| lengths.headings);
        let body = mean(|lengths| lengths.body);
        let scale = |lengths: Lengths| Self {
            description: 5.0 / description.normal(lengths.description, 0.2),
            headings: 0.5 / headings.normal(lengths.headings, 0.6),
            body: 1.0 / body.normal(lengths.body, 0.75),
        };
        entries.iter().map(|entry| scale(entry.lengths())).collect()
    }

    #[inline]
    pub(super) fn body(&self, count: u32) -> f64 {
        self.body * f64::from(count)
    }

    #[inline]
    pub(super) fn all(&self, [name, description, headings, body]: [u32; 4]) -> f64 {
        Self::NAME * f64::from(name)
            + self.description * f64::from(description)
            + self.headings * f64::from(headings)
            + self.body(body)
    }
}

/// The mean length of a field over all entries, those without it included.
struct Mean {
    sum: u64,
    of: usize,
}

impl Mean {
    /// How long a field is, 1 being the mean; `slope` says how much length matters.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    fn normal(&self, length: u32, slope: f64) -> f64 {
        let relative = f64::from(length) * self.of as f64 / self.sum.max(1) as f64;
        1.0 - slope + slope * relative
    }
}
