//! [`RankedIndex`]: a base and what has changed since.
//!
//! Posting lists keep counts rather than impacts: an impact is a few multiplications away, and the list takes a third
//! of the memory. Not here: how lists become a ranking (`search`).

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    base::Base,
    entry::SearchEntry,
    scale::{FieldScale, idf},
};

/// The index over many skills, by number.
///
/// Numbers should be small: memory is taken for each up to the greatest, used or not. A clone is cheap.
#[derive(Debug, Clone, Default)]
pub struct RankedIndex {
    pub(super) base: Arc<Base>,
    /// What differs from the base, by number: a fresh skill, or `None` for a removed one.
    pub(super) changes: BTreeMap<usize, Option<Arc<FreshEntry>>>,
}

/// A skill that is not in the base yet. A search reads each.
///
/// Its scale and the weights of its clauses are computed once, against the base and itself but not the other fresh
/// skills: close enough until the next merge, which computes all of them anew.
#[derive(Debug)]
pub(super) struct FreshEntry {
    pub(super) entry: Arc<SearchEntry>,
    pub(super) scale: FieldScale,
    /// The sum of the idf of each clause's terms.
    pub(super) totals: Box<[f64]>,
}

impl FreshEntry {
    fn new(entry: Arc<SearchEntry>, base: &Base) -> Self {
        let all = base.length_totals.entries() + 1;
        let idfs: Vec<f64> = entry
            .offered()
            .map(|term| {
                let known = base.dictionary.find(term);
                idf(all, 1 + known.map_or(0, |term| base.dictionary.list(term).len() as usize))
            })
            .collect();
        let totals = entry.clauses().map(|clause| clause.sum(&idfs)).collect();
        Self { scale: base.length_totals.scale(entry.lengths()), totals, entry }
    }
}

impl Serialize for RankedIndex {
    /// The same whether changes are merged already or not.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.merged().base.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RankedIndex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let base = Arc::new(Base::deserialize(deserializer)?);
        Ok(Self { base, changes: BTreeMap::new() })
    }
}

impl RankedIndex {
    /// The same skills under other numbers, merged: `numbers` has the new one of each skill, and each but once.
    #[must_use]
    pub fn renumbered(&self, numbers: &[Option<usize>]) -> Self {
        let is_same = numbers.iter().enumerate().all(|(old, new)| new.is_none_or(|new| new == old));
        let merged = self.merged();
        if is_same {
            return merged;
        }
        Self { base: Arc::new(merged.base.renumbered(numbers)), changes: BTreeMap::new() }
    }

    /// Indexes entries by their positions; `None` is a number that no skill has. The entries are not kept.
    pub fn new(entries: impl IntoIterator<Item = Option<Arc<SearchEntry>>>) -> Self {
        let entries: Vec<Option<Arc<SearchEntry>>> = entries.into_iter().collect();
        let changes = entries.iter().map(Option::as_deref).enumerate();
        Self { base: Arc::new(Base::default().merged(changes)), changes: BTreeMap::new() }
    }

    /// The index with these skills replaced, added or removed. It shares the base with this one, so it costs as much as
    /// all changes since the base.
    ///
    /// Searches see the changes at once. Until [`Self::merged`], removed skills still count in document frequencies, as in
    /// every search engine that works in segments.
    #[must_use]
    pub fn with(
        &self,
        changes: impl IntoIterator<Item = (usize, Option<Arc<SearchEntry>>)>,
    ) -> Self {
        self.changed(&mut changes.into_iter())
    }

    /// Not generic, so that it is compiled with this crate's optimisation and not with its caller's.
    fn changed(
        &self,
        changes: &mut dyn Iterator<Item = (usize, Option<Arc<SearchEntry>>)>,
    ) -> Self {
        let mut next = self.clone();
        for (number, entry) in changes {
            match entry.map(|entry| Arc::new(FreshEntry::new(entry, &self.base))) {
                None if !self.base.has(number) => next.changes.remove(&number),
                fresh => next.changes.insert(number, fresh),
            };
        }
        next
    }

    /// How many numbers differ from the base. Each costs a search one or two microseconds.
    pub fn pending(&self) -> usize {
        self.changes.len()
    }

    /// Whether it is a clone of another, with nothing changed since.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.base, &other.base) && self.changes.is_empty() && other.changes.is_empty()
    }

    /// The same skills in a base of their own: exactly what [`Self::new`] makes of their entries.
    #[must_use]
    pub fn merged(&self) -> Self {
        if self.changes.is_empty() {
            return self.clone();
        }
        let changes = self
            .changes
            .iter()
            .map(|(number, fresh)| (*number, fresh.as_ref().map(|fresh| &*fresh.entry)));
        Self { base: Arc::new(self.base.merged(changes)), changes: BTreeMap::new() }
    }

    /// The index with these skills replaced, added or removed, in a base of its own: what [`Self::with`] and then
    /// [`Self::merged`] make, without making them ready for searches in between.
    #[must_use]
    pub fn merged_with(&self, changes: &[(usize, Option<Arc<SearchEntry>>)]) -> Self {
        if !self.changes.is_empty() || changes.is_empty() {
            return self.with(changes.iter().cloned()).merged();
        }
        // In the order of the numbers; of a number that is there twice the last counts.
        let changes: BTreeMap<usize, Option<&SearchEntry>> =
            changes.iter().map(|(number, entry)| (*number, entry.as_deref())).collect();
        Self { base: Arc::new(self.base.merged(changes.into_iter())), changes: BTreeMap::new() }
    }

    /// How many skills it has.
    pub fn len(&self) -> usize {
        let replaced = self.changes.keys().filter(|number| self.base.has(**number)).count();
        self.base.length_totals.entries() - replaced + self.fresh().count()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The skills that are not in the base yet, ascending.
    pub(super) fn fresh(&self) -> impl Iterator<Item = (usize, &FreshEntry)> {
        self.changes.iter().filter_map(|(number, fresh)| Some((*number, &**fresh.as_ref()?)))
    }

    /// One more than the greatest number.
    pub(super) fn end(&self) -> usize {
        let last = self.changes.last_key_value().map_or(0, |(number, _)| number + 1);
        last.max(self.base.end())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{SearchText, base::Base},
        *,
    };

    fn entry(name: &str, description: &str, body: &str) -> Arc<SearchEntry> {
        Arc::new(SearchEntry::new(&SearchText { name, description, body, clauses: &[] }))
    }

    #[test]
    fn numbers_that_differ_from_the_base_are_counted_once() {
        let tea = || Some(entry("tea", "", ""));
        let base = RankedIndex::new([tea(), None, tea()]);
        let table = [
            (vec![], 0, 2),
            (vec![(0, false)], 1, 1),
            (vec![(0, false), (0, true)], 1, 2),
            (vec![(1, false), (7, false)], 0, 2),
            (vec![(1, true), (7, true), (7, true)], 2, 4),
            (vec![(1, true), (7, true), (1, false), (7, false)], 0, 2),
            (vec![(0, false), (2, false)], 2, 0),
        ];
        for (script, pending, length) in table {
            let step = |index: RankedIndex, change: &(usize, bool)| {
                index.with([(change.0, change.1.then(tea).flatten())])
            };
            let index = script.iter().fold(base.clone(), step);
            let at_once =
                base.with(script.iter().map(|change| (change.0, change.1.then(tea).flatten())));
            assert_eq!((index.pending(), index.len()), (pending, length), "{script:?}");
            assert_eq!((at_once.pending(), at_once.len()), (pending, length), "{script:?}");
            assert_eq!((index.merged().pending(), index.merged().len()), (0, length));
            assert_eq!(index.is_empty(), length == 0);
        }
    }

    #[test]
    fn nothing_of_what_is_gone_remains() {
        let index =
            RankedIndex::new([Some(entry("tea", "Make tea (don't), or brew", "# hot\nwater"))]);
        assert_eq!(*index.with([(0, None)]).merged().base, Base::default().merged([].into_iter()));
    }

    proptest! {
        /// Words are few, so that lists are shared, and now and then there is one that a cut makes.
        #[test]
        fn what_is_merged_is_what_is_built_at_once(
            first in prop::collection::vec(prop::option::of("[a-d ,'#\n]{0,20}"), 0..8),
            scripts in prop::collection::vec(
                prop::collection::vec((0_usize..10, prop::option::of("[a-f ,'#\n]{0,20}")), 0..6),
                0..4,
            ),
        ) {
            let of = |text: &String| entry(text.get(..2).unwrap_or("x"), text, &text.replace(',', " z "));
            let mut last: Vec<_> = first.iter().map(|text| text.as_ref().map(of)).collect();
            let mut index = RankedIndex::new(last.iter().cloned());
            let (mut often, base) = (index.clone(), Arc::clone(&index.base));
            last.resize(10, None);
            for script in &scripts {
                let changes: Vec<_> =
                    script.iter().map(|(number, text)| (*number, text.as_ref().map(of))).collect();
                for (number, entry) in &changes {
                    last[*number].clone_from(entry);
                }
                let merged = index.merged_with(&changes);
                index = index.with(changes.iter().cloned());
                prop_assert_eq!(&*merged.base, &*index.merged().base);
                often = often.merged_with(&changes);
            }
            let built = RankedIndex::new(last);
            prop_assert!(Arc::ptr_eq(&index.base, &base));
            prop_assert_eq!(index.len(), built.len());
            prop_assert_eq!(&*index.merged().base, &*built.base);
            prop_assert_eq!(&*often.base, &*built.base);
        }

        #[test]
        fn what_is_renumbered_or_stored_is_what_is_built_at_once(
            texts in prop::collection::vec(prop::option::of("[a-d ,'#\n]{0,20}"), 0..8),
            order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let of = |text: &String| entry(text.get(..2).unwrap_or("x"), text, &text.replace(',', " z "));
            let index = RankedIndex::new(texts.iter().map(|text| text.as_ref().map(of)));
            let mut moved = vec![None; 8];
            let mut numbers = vec![None; texts.len()];
            for (old, text) in texts.iter().enumerate().filter(|(_, text)| text.is_some()) {
                moved[order[old]].clone_from(text);
                numbers[old] = Some(order[old]);
            }
            let built = RankedIndex::new(moved.iter().map(|text| text.as_ref().map(of)));
            let renumbered = index.renumbered(&numbers);
            prop_assert_eq!(&*renumbered.base, &*built.base);
            let stored = postcard::to_stdvec(&renumbered).unwrap();
            let back: RankedIndex = postcard::from_bytes(&stored).unwrap();
            prop_assert_eq!(&*back.base, &*built.base);
        }
    }
}
