//! Sums by number, kept only where something was added.

const PAGE: usize = 256;

/// Pages of sums, made when they are first needed: a request for rare words touches a few of many skills.
#[derive(Debug)]
pub(super) struct Sums(Vec<Option<Box<[f64; PAGE]>>>);

impl Sums {
    /// No sums, of numbers below `end`.
    pub(super) fn new(end: usize) -> Self {
        Self(vec![None; end.div_ceil(PAGE)])
    }

    #[inline]
    pub(super) fn add(&mut self, number: usize, value: f64) {
        if let Some(page) = self.0.get_mut(number / PAGE)
            && let Some(sum) =
                page.get_or_insert_with(|| Box::new([0.0; PAGE])).get_mut(number % PAGE)
        {
            *sum += value;
        }
    }

    /// The numbers to which something was added, ascending, and their sums.
    pub(super) fn found(&self) -> impl Iterator<Item = (usize, f64)> {
        let pages = self.0.iter().enumerate();
        pages
            .filter_map(|(number, page)| Some((number, page.as_deref()?)))
            .flat_map(|(number, page)| (number * PAGE..).zip(page.iter().copied()))
            .filter(|(_, sum)| *sum > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_to_is_found_and_kept() {
        let mut sums = Sums::new(10_000);
        for (number, value) in [(9_999, 1.0), (3, 0.5), (9_999, 2.0), (10_239, 7.0), (20_000, 9.0)]
        {
            sums.add(number, value);
        }
        assert!(sums.found().eq([(3, 0.5), (9_999, 3.0), (10_239, 7.0)]));
        assert_eq!(sums.0.iter().flatten().count(), 2);
    }
}
