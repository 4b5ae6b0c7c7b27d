//! Sums by number, kept only where something was added, and which terms added to them.

const PAGE: usize = 1_024;

/// Pages of sums, made when they are first needed: a request for rare words touches a few of many skills.
#[derive(Debug)]
pub(super) struct Sums(Vec<Option<Box<[Sum; PAGE]>>>);

/// What was added up under a number, and by which terms.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    marks: Mark,
}

/// Which terms something has: one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    /// How many terms can be told apart. Nearly every request has fewer.
    pub(super) const MOST: usize = 64;

    /// The mark of one term; nothing from [`Self::MOST`] on.
    pub(super) fn of(number: usize) -> Self {
        Self(if number < Self::MOST { 1 << number } else { 0 })
    }

    pub(super) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

impl Sums {
    /// No sums, of numbers below `end`.
    pub(super) fn new(end: usize) -> Self {
        Self(vec![None; end.div_ceil(PAGE)])
    }

    #[inline]
    pub(super) fn add(&mut self, number: usize, mark: Mark, value: f64) {
        if let Some(page) = self.0.get_mut(number / PAGE)
            && let Some(sum) =
                page.get_or_insert_with(|| Box::new([Sum::default(); PAGE])).get_mut(number % PAGE)
        {
            sum.sum += value;
            sum.marks.0 |= mark.0;
        }
    }

    /// As if nothing had been added under this number.
    pub(super) fn clear(&mut self, number: usize) {
        if let Some(Some(page)) = self.0.get_mut(number / PAGE)
            && let Some(sum) = page.get_mut(number % PAGE)
        {
            *sum = Sum::default();
        }
    }

    /// To how many numbers something was added, and those with the greatest sums, at most `most` of them, in any
    /// order; of equals the smaller numbers.
    pub(super) fn best(&self, most: usize) -> (usize, Vec<(usize, f64)>) {
        let mut total = 0;
        let mut best = Vec::with_capacity(most * 2);
        // What a sum must be above: numbers ascend, so an equal one would come too late.
        let mut bar = 0.0;
        for (number, page) in self.0.iter().enumerate() {
            let sums = page.as_deref().map(<[Sum; PAGE]>::as_slice).unwrap_or_default();
            for (number, Sum { sum, .. }) in (number * PAGE..).zip(sums) {
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

    /// The marks of what was added under this number.
    pub(super) fn marks(&self, number: usize) -> Mark {
        let page = self.0.get(number / PAGE).and_then(Option::as_deref);
        page.and_then(|page| page.get(number % PAGE)).map(|sum| sum.marks).unwrap_or_default()
    }
}

/// Keeps the best; the smallest sum of those kept, 0 if there may be more of them.
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
        let mut sums = Sums::new(10_000);
        for (number, term, value) in [
            (9_999, 0, 1.0),
            (3, 5, 0.5),
            (9_999, 63, 2.0),
            (10_239, 64, 7.0),
            (20_000, 1, 9.0),
            (7, 1, 1.0),
        ] {
            sums.add(number, Mark::of(term), value);
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
                (0..70).filter(|term| sums.marks(number).has(Mark::of(*term))).collect();
            assert_eq!(terms, expected, "{number}");
        }
    }

    #[test]
    fn the_best_are_those_that_sorting_would_put_first() {
        for (end, step) in [(10, 1), (3_000, 7), (5_000, 11)] {
            let mut sums = Sums::new(end);
            let mut all: Vec<(usize, f64)> = Vec::new();
            for number in (0..end).step_by(3) {
                let value = f64::from(u16::try_from(number * step % 101).unwrap()) / 7.0;
                sums.add(number, Mark::of(0), value);
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
