//! [`ScoreSums`]: a sum for each skill to which a term was added, and which terms those were.

const PAGE_LEN: usize = 1_024;

/// Pages of sums, allocated when first needed: a query for rare words touches few of many skills.
#[derive(Debug)]
pub(super) struct ScoreSums(Vec<Option<Box<[ScoreSum; PAGE_LEN]>>>);

/// The sum of one skill, and which terms added to it.
#[derive(Debug, Clone, Copy, Default)]
struct ScoreSum {
    sum: f64,
    mask: TermMask,
}

/// A set of query terms, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TermMask(u64);

impl TermMask {
    /// How many terms have a bit. Nearly every query has fewer.
    pub(super) const MAX_TERMS: usize = 64;

    /// The mask of one term; empty from [`Self::MAX_TERMS`] on.
    pub(super) fn of(number: usize) -> Self {
        Self(if number < Self::MAX_TERMS { 1 << number } else { 0 })
    }

    pub(super) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

impl ScoreSums {
    /// No sums, of numbers below `end`.
    pub(super) fn new(end: usize) -> Self {
        Self(vec![None; end.div_ceil(PAGE_LEN)])
    }

    #[inline]
    pub(super) fn add(&mut self, number: usize, mask: TermMask, value: f64) {
        if let Some(page) = self.0.get_mut(number / PAGE_LEN)
            && let Some(sum) = page
                .get_or_insert_with(|| Box::new([ScoreSum::default(); PAGE_LEN]))
                .get_mut(number % PAGE_LEN)
        {
            sum.sum += value;
            sum.mask.0 |= mask.0;
        }
    }

    /// Removes the sum of this number.
    pub(super) fn clear(&mut self, number: usize) {
        if let Some(Some(page)) = self.0.get_mut(number / PAGE_LEN)
            && let Some(sum) = page.get_mut(number % PAGE_LEN)
        {
            *sum = ScoreSum::default();
        }
    }

    /// To how many numbers something was added, and those with the greatest sums, at most `most` of them, in any
    /// order; of equals the smaller numbers.
    pub(super) fn best(&self, most: usize) -> (usize, Vec<(usize, f64)>) {
        let mut total = 0;
        let mut best = Vec::with_capacity(most * 2);
        // Sums must exceed this: numbers ascend, so of equal sums the earlier one is kept.
        let mut bar = 0.0;
        for (number, page) in self.0.iter().enumerate() {
            let sums = page.as_deref().map(<[ScoreSum; PAGE_LEN]>::as_slice).unwrap_or_default();
            for (number, ScoreSum { sum, .. }) in (number * PAGE_LEN..).zip(sums) {
                total += usize::from(*sum > 0.0);
                if *sum > bar {
                    if best.len() == most * 2 {
                        bar = shorten(&mut best, most).max(bar);
                    }
                    best.push((number, *sum));
                }
            }
        }
        shorten(&mut best, most);
        (total, best)
    }

    /// Which terms added to this number.
    pub(super) fn mask(&self, number: usize) -> TermMask {
        let page = self.0.get(number / PAGE_LEN).and_then(Option::as_deref);
        page.and_then(|page| page.get(number % PAGE_LEN)).map(|sum| sum.mask).unwrap_or_default()
    }
}

/// Keeps the best; returns the smallest sum kept, 0 if fewer than `most` were there.
fn shorten(best: &mut Vec<(usize, f64)>, most: usize) -> f64 {
    let mut smallest = 0.0;
    if let Some(last) = most.checked_sub(1).filter(|last| *last < best.len()) {
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        smallest = best.select_nth_unstable_by(last, order).1.1;
    }
    best.truncate(most);
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_to_is_found_and_kept() {
        let mut sums = ScoreSums::new(10_000);
        for (number, term, value) in [
            (9_999, 0, 1.0),
            (3, 5, 0.5),
            (9_999, 63, 2.0),
            (10_239, 64, 7.0),
            (20_000, 1, 9.0),
            (7, 1, 1.0),
        ] {
            sums.add(number, TermMask::of(term), value);
        }
        sums.clear(7);
        sums.clear(5_000);
        sums.clear(20_000);
        assert_eq!(sums.best(5), (3, vec![(3, 0.5), (9_999, 3.0), (10_239, 7.0)]));
        assert_eq!(sums.0.iter().flatten().count(), 2);
        for (number, expected) in
            [(3, vec![5]), (9_999, vec![0, 63]), (10_239, vec![]), (7, vec![])]
        {
            let terms: Vec<usize> =
                (0..70).filter(|term| sums.mask(number).has(TermMask::of(*term))).collect();
            assert_eq!(terms, expected, "{number}");
        }
    }

    #[test]
    fn the_best_are_those_that_sorting_would_put_first() {
        for (end, step) in [(10, 1), (3_000, 7), (5_000, 11)] {
            let mut sums = ScoreSums::new(end);
            let mut all: Vec<(usize, f64)> = Vec::new();
            for number in (0..end).step_by(3) {
                let value = f64::from(u16::try_from(number * step % 101).unwrap()) / 7.0;
                sums.add(number, TermMask::of(0), value);
                all.push((number, value));
            }
            all.retain(|(_, sum)| *sum > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            for most in [0, 1, 2, 10, 100, 10_000] {
                let (total, mut best) = sums.best(most);
                best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                assert_eq!(
                    (total, &*best),
                    (all.len(), &all[..most.min(all.len())]),
                    "{most} of {end}"
                );
            }
        }
    }
}
