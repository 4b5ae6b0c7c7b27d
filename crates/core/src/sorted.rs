//! [`Sorted`]: a sorted list whose changed copies share what did not change.
//!
//! A catalog is replaced whole and never changed, yet most of it stays the same from one to the next. Its large tables
//! are lists in pages: a copy with one item changed copies one page and the list of pages. Not here: what the items
//! are and how they are ordered ([`SortedItem`]).

use std::{cmp::Ordering, sync::Arc};

/// An item of a sorted list.
pub(crate) trait SortedItem {
    /// Which comes first. Two items that compare equal are the same item, and the list holds one of them.
    fn order(&self, other: &Self) -> Ordering;
}

/// A page has at most this many items.
const MAX_PAGE_ITEMS: usize = 256;
/// A list that gets more new items than one part in so many of what it has is made anew.
const REBUILT_SHARE: usize = 4;

/// A sorted list. Cloning it costs nothing; changing the clone leaves this one as it is.
#[derive(Debug)]
pub(crate) struct Sorted<T> {
    /// None of them is empty.
    pages: Arc<Vec<Arc<Vec<T>>>>,
    len: usize,
}

impl<T> Clone for Sorted<T> {
    fn clone(&self) -> Self {
        Self { pages: Arc::clone(&self.pages), len: self.len }
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self { pages: Arc::default(), len: 0 }
    }
}

impl<T> Sorted<T> {
    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All items in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.pages.iter().flat_map(|page| page.iter())
    }

    /// The item that `place` calls equal.
    pub(crate) fn find(&self, place: impl Fn(&T) -> Ordering) -> Option<&T> {
        let page = self.pages.get(self.page_of(&place))?;
        page.get(page.binary_search_by(place).ok()?)
    }

    /// The items that `place` calls equal; they are neighbours.
    pub(crate) fn matching<F: Fn(&T) -> Ordering>(
        &self,
        place: F,
    ) -> impl Iterator<Item = &T> + use<'_, T, F> {
        let first = self.page_of(&place);
        let start = self
            .pages
            .get(first)
            .map_or(0, |page| page.partition_point(|item| place(item) == Ordering::Less));
        let pages = self.pages.iter().skip(first);
        pages
            .flat_map(|page| page.iter())
            .skip(start)
            .take_while(move |item| place(item) == Ordering::Equal)
    }

    /// The first page that is not wholly before the place.
    fn page_of(&self, place: &impl Fn(&T) -> Ordering) -> usize {
        let before =
            |page: &Arc<Vec<T>>| page.last().is_some_and(|last| place(last) == Ordering::Less);
        self.pages.partition_point(before)
    }
}

impl<T: SortedItem + Clone> Sorted<T> {
    /// Inserts an item; returns the one it replaces.
    pub(crate) fn insert(&mut self, item: T) -> Option<T> {
        let place = |other: &T| other.order(&item);
        let number = self.page_of(&place).min(self.pages.len().saturating_sub(1));
        let pages = Arc::make_mut(&mut self.pages);
        let Some(page) = pages.get_mut(number) else {
            pages.push(Arc::new(vec![item]));
            self.len = 1;
            return None;
        };
        let page = Arc::make_mut(page);
        match page.binary_search_by(place) {
            Ok(found) => page.get_mut(found).map(|old| std::mem::replace(old, item)),
            Err(missing) => {
                page.insert(missing, item);
                self.len += 1;
                if page.len() > MAX_PAGE_ITEMS {
                    let mut rest = page.split_off(MAX_PAGE_ITEMS / 2);
                    rest.shrink_to_fit();
                    pages.insert(number + 1, Arc::new(rest));
                }
                None
            }
        }
    }

    /// Removes the item that `place` calls equal.
    pub(crate) fn remove(&mut self, place: impl Fn(&T) -> Ordering) -> Option<T> {
        let number = self.page_of(&place);
        let found = self.pages.get(number)?.binary_search_by(place).ok()?;
        let pages = Arc::make_mut(&mut self.pages);
        let page = Arc::make_mut(pages.get_mut(number)?);
        let item = page.remove(found);
        self.len -= 1;
        if page.is_empty() {
            pages.remove(number);
        }
        Some(item)
    }

    /// Puts in many at once, in whatever order.
    pub(crate) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        let items: Vec<T> = items.into_iter().collect();
        if items.len() < self.len / REBUILT_SHARE {
            for item in items {
                self.insert(item);
            }
            return;
        }
        let mut all: Vec<T> = self.iter().cloned().chain(items).collect();
        // Of equal ones the last counts, as if they came one by one.
        all.reverse();
        all.sort_by(T::order);
        all.dedup_by(|a, b| a.order(b) == Ordering::Equal);
        self.len = all.len();
        let mut pages = Vec::with_capacity(all.len().div_ceil(MAX_PAGE_ITEMS));
        let mut all = all.into_iter().peekable();
        while all.peek().is_some() {
            pages.push(Arc::new(all.by_ref().take(MAX_PAGE_ITEMS).collect()));
        }
        self.pages = Arc::new(pages);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl SortedItem for (u16, u8) {
        fn order(&self, other: &Self) -> Ordering {
            self.0.cmp(&other.0)
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_and_copies_stay_as_they_were(
            first in prop::collection::vec((0_u16..1500, any::<u8>()), 0..900),
            steps in prop::collection::vec((any::<bool>(), 0_u16..1500, any::<u8>()), 0..200),
        ) {
            let mut model: BTreeMap<u16, u8> = first.iter().copied().collect();
            let mut sorted = Sorted::default();
            sorted.extend(first);
            let kept = (sorted.clone(), model.clone());
            for (put, key, value) in steps {
                if put {
                    prop_assert_eq!(
                        sorted.insert((key, value)).map(|old| old.1),
                        model.insert(key, value)
                    );
                } else {
                    prop_assert_eq!(
                        sorted.remove(|item| item.0.cmp(&key)).map(|old| old.1),
                        model.remove(&key)
                    );
                }
                let found = sorted.find(|item| item.0.cmp(&key)).map(|item| item.1);
                prop_assert_eq!(found, model.get(&key).copied());
            }
            for (sorted, model) in [(&sorted, &model), (&kept.0, &kept.1)] {
                prop_assert_eq!(sorted.len(), model.len());
                prop_assert!(sorted.iter().copied().eq(model.iter().map(|(k, v)| (*k, *v))));
                for tens in 0..150 {
                    let near = sorted.matching(|item| (item.0 / 10).cmp(&tens));
                    prop_assert!(near.map(|item| item.0).eq(
                        model.range(tens * 10..tens * 10 + 10).map(|(key, _)| *key)
                    ));
                }
            }
        }
    }

    #[test]
    fn a_changed_copy_shares_the_other_pages() {
        let mut sorted = Sorted::default();
        sorted.extend((0..5_000).map(|key| (key, 0)));
        let mut copy = sorted.clone();
        copy.insert((1_000, 1));
        let shared = sorted.pages.iter().zip(copy.pages.iter());
        assert_eq!(shared.filter(|(a, b)| !Arc::ptr_eq(a, b)).count(), 1);
    }
}
