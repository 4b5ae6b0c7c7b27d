//! Shares with how sure they are, and durations from buckets. Where there are too few, nothing is claimed.

use std::{collections::BTreeMap, fmt};

use super::{MIN_OBSERVATIONS, Rate};
use crate::tally::{CountSum, middle};

/// So many standard deviations hold 19 cases of 20.
const Z_95: f64 = 1.959_963_984_540_054;

impl Rate {
    /// So many of so many.
    pub fn of(n: u64, of: u64) -> Self {
        let n = n.min(of);
        if of < MIN_OBSERVATIONS {
            return Self { n, of, ..Self::default() };
        }
        let (share, all, z) = (real(n) / real(of), real(of), Z_95 * Z_95);
        let center = share + z / (2.0 * all);
        let spread = Z_95 * ((share * (1.0 - share) + z / (4.0 * all)) / all).sqrt();
        let bound = |at: f64| (at / (1.0 + z / all)).clamp(0.0, 1.0);
        // Rounding must not put the share itself outside.
        let (low, high) = (bound(center - spread).min(share), bound(center + spread).max(share));
        let [share, low, high] = [share, low, high].map(|part| Some(short(part)));
        Self { n, of, share, low, high }
    }

    /// The range of the true share in whole percent, for people: rounded outwards.
    pub(crate) fn percents(&self) -> Option<(f64, f64)> {
        // Hundredths of a percent are whole numbers, but for the last bit.
        let hundredths = |part: f64| (part * 10_000.0).round() / 100.0;
        Some((hundredths(self.low?).floor(), hundredths(self.high?).ceil()))
    }
}

/// `12 of 40, 18-45 %`, or that there are too few to say.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.percents() {
            Some((low, high)) => write!(f, "{} of {}, {low:.0}-{high:.0} %", self.n, self.of),
            None if self.of == 0 => f.write_str("none"),
            None => write!(f, "too few to say ({} of {})", self.n, self.of),
        }
    }
}

/// With four digits behind the point: more are noise, and do not survive being written and read.
pub(super) fn short(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// A count as a number with a point.
#[expect(clippy::cast_precision_loss, reason = "counts of events are far below 2^53")]
pub(super) fn real(count: u64) -> f64 {
    count as f64
}

/// How long things took.
#[derive(Debug, Default)]
pub(super) struct DurationSpread {
    buckets: BTreeMap<u16, u64>,
    n: u64,
}

impl DurationSpread {
    pub(super) fn add(&mut self, bucket: u16, sum: CountSum) {
        *self.buckets.entry(bucket).or_default() += sum.n;
        self.n += sum.n;
    }

    pub(super) fn n(&self) -> u64 {
        self.n
    }

    /// So many of a hundred took at most about this long; none where that would be said of too few.
    pub(super) fn percentile(&self, hundredths: u64) -> Option<f64> {
        // Of twenty the nineteenth is the 95th of a hundred; of fewer there is none.
        let needed = 100_u64.div_ceil(100_u64.saturating_sub(hundredths).max(1));
        if self.n < MIN_OBSERVATIONS.max(needed) {
            return None;
        }
        let rank = (self.n * hundredths).div_ceil(100).max(1);
        let mut below = 0;
        let found = self.buckets.iter().find(|(_, n)| {
            below += **n;
            below >= rank
        });
        found.map(|(bucket, _)| (middle(*bucket) * 10.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::bucket;

    #[test]
    fn a_share_comes_with_its_interval_and_few_are_no_share() {
        let rate = Rate::of(12, 40);
        assert_eq!(rate.share, Some(0.3));
        // By hand: (0.3 + 0.048) ± 1.96·√((0.21 + 0.024)/40), all over 1.096.
        assert!((rate.low.unwrap() - 0.1807).abs() < 0.001, "{rate:?}");
        assert!((rate.high.unwrap() - 0.4543).abs() < 0.001, "{rate:?}");
        assert_eq!(Rate::of(3, 5), Rate { n: 3, of: 5, ..Rate::default() });
        assert_eq!(Rate::of(9, 9).share, None);
        assert_eq!(Rate::of(0, 10).low, Some(0.0));
        assert_eq!(Rate::of(10, 10).high, Some(1.0));
        assert_eq!(Rate::of(15, 10).n, 10, "more than all are all");
    }

    #[test]
    fn a_rate_says_how_sure_it_is() {
        assert_eq!(Rate::of(12, 40).to_string(), "12 of 40, 18-46 %");
        assert_eq!(Rate::of(3, 5).to_string(), "too few to say (3 of 5)");
        assert_eq!(Rate::of(0, 0).to_string(), "none");
        assert_eq!(Rate::of(1_000, 1_000).to_string(), "1000 of 1000, 99-100 %");
    }

    #[test]
    fn percentiles_are_as_exact_as_their_buckets_and_need_enough() {
        let mut spread = DurationSpread::default();
        for duration in 1..=200 {
            spread.add(bucket(duration), CountSum { n: 1, total: duration });
        }
        for (hundredths, exact) in [(50, 100.0), (95, 190.0), (99, 198.0)] {
            let said = spread.percentile(hundredths).unwrap();
            assert!((said / exact - 1.0).abs() < 0.1, "{hundredths}: {said}");
        }
        let few = |n: u64| {
            let mut spread = DurationSpread::default();
            spread.add(bucket(7), CountSum { n, total: 7 * n });
            [50, 95, 99].map(|hundredths| spread.percentile(hundredths).is_some())
        };
        assert_eq!(few(9), [false; 3]);
        assert_eq!(few(10), [true, false, false]);
        assert_eq!(few(99), [true, true, false]);
        assert_eq!(few(100), [true; 3]);
    }
}
