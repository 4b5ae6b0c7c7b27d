//! [`Base`]: an immutable index, and how the next one is merged from it.

use serde::{Deserialize, Serialize};

use super::{
    dictionary::{Dictionary, Removals},
    entry::{FieldLengths, SearchEntry},
    outlines::{Outline, OutlineWriter, Outlines},
    scale::{FieldScale, LengthTotals},
};

/// The index over skills by number. It keeps no entries: the terms of a skill are in the posting lists, and the little
/// that is needed skill by skill is in the outlines.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredBase")]
pub(super) struct Base {
    pub(super) dictionary: Dictionary,
    pub(super) outlines: Outlines,
    /// Computed once: the innermost loop of a search reads them.
    #[serde(skip)]
    pub(super) scales: Vec<FieldScale>,
    #[serde(skip)]
    pub(super) length_totals: LengthTotals,
}

/// What is stored of a base: the rest follows from it.
#[derive(Deserialize)]
struct StoredBase {
    dictionary: Dictionary,
    outlines: Outlines,
}

impl From<StoredBase> for Base {
    fn from(StoredBase { dictionary, outlines }: StoredBase) -> Self {
        let length_totals =
            LengthTotals::of(outlines.iter().flatten().map(|outline| outline.lengths));
        let scales = outlines.scales(length_totals);
        Self { dictionary, outlines, scales, length_totals }
    }
}

/// Where the next base takes the skill of a number from.
#[derive(Debug, Clone)]
enum MergeInput<'a> {
    Outline(Outline<'a>),
    Entry(&'a SearchEntry),
}

impl MergeInput<'_> {
    fn lengths(&self) -> FieldLengths {
        match self {
            Self::Outline(outline) => outline.lengths,
            Self::Entry(entry) => entry.lengths(),
        }
    }
}

impl Base {
    /// One more than the greatest number.
    pub(super) fn end(&self) -> usize {
        self.outlines.end()
    }

    /// Whether there is a skill of this number.
    pub(super) fn has(&self, number: usize) -> bool {
        self.outlines.get(number).is_some()
    }

    /// The base with these changes applied: the same as one built from all entries at once, without needing their texts.
    pub(super) fn merged<'a>(
        &self,
        changes: impl Iterator<Item = (usize, Option<&'a SearchEntry>)>,
    ) -> Self {
        let mut inputs: Vec<Option<MergeInput<'_>>> =
            self.outlines.iter().map(|outline| outline.map(MergeInput::Outline)).collect();
        for (number, entry) in changes {
            if number >= inputs.len() && entry.is_some() {
                inputs.resize(number + 1, None);
            }
            if let Some(input) = inputs.get_mut(number) {
                *input = entry.map(MergeInput::Entry);
            }
        }
        // Trailing holes are dropped, so that equal contents make equal bases.
        let end = inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        inputs.truncate(end);
        let dictionary = self.listed(&inputs);
        let length_totals = LengthTotals::of(inputs.iter().flatten().map(MergeInput::lengths));
        let outlines = self.outlined(&inputs, &dictionary, length_totals.entries());
        let scales = outlines.scales(length_totals);
        Self { dictionary, outlines, scales, length_totals }
    }

    /// The same skills under other numbers: `numbers` has the new one of each.
    pub(super) fn renumbered(&self, numbers: &[Option<usize>]) -> Self {
        let outlines = self.outlines.renumbered(numbers);
        let scales = outlines.scales(self.length_totals);
        let dictionary = self.dictionary.renumbered_skills(numbers);
        Self { dictionary, outlines, scales, length_totals: self.length_totals }
    }

    fn listed(&self, inputs: &[Option<MergeInput<'_>>]) -> Dictionary {
        let stays = |number| matches!(inputs.get(number), Some(Some(MergeInput::Outline(_))));
        let is_gone = |number| self.has(number) && !stays(number);
        let mut gone: Vec<bool> = (0..self.end()).map(is_gone).collect();
        // Most merges only add, and need not look for what is gone in every list.
        if !gone.contains(&true) {
            gone.clear();
        }
        let mut needed = vec![false; self.dictionary.len()];
        let mut fresh = Vec::new();
        for (number, input) in (0..).zip(inputs) {
            match input {
                Some(MergeInput::Entry(entry)) => fresh.push((number, *entry)),
                Some(MergeInput::Outline(outline)) => {
                    for term in outline.offered() {
                        if let Some(needed) = needed.get_mut(term) {
                            *needed = true;
                        }
                    }
                }
                None => {}
            }
        }
        self.dictionary.merged(Removals { gone: &gone, needed: &needed }, &fresh)
    }

    fn outlined(
        &self,
        inputs: &[Option<MergeInput<'_>>],
        dictionary: &Dictionary,
        all: usize,
    ) -> Outlines {
        let numbers = self.dictionary.renumbered(dictionary);
        let mut writer = OutlineWriter::new(dictionary, all);
        for input in inputs {
            match input {
                Some(MergeInput::Entry(entry)) => writer.entry(entry),
                Some(MergeInput::Outline(outline)) => writer.outline(outline, &numbers),
                None => writer.hole(),
            }
        }
        writer.finish()
    }
}
