//! [`Base`]: an index that does not change, and how it becomes the next one.

use super::{
    dictionary::{Dictionary, Leaving},
    entry::{Entry, Lengths},
    outlines::{Outline, Outlines, Writer},
    scale::{Means, Scales},
};

/// The index over skills by number. It keeps no entries: the terms of a skill are in the lists, and the little that
/// is looked at skill by skill is in the outlines.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Base {
    pub(super) dictionary: Dictionary,
    pub(super) outlines: Outlines,
    /// Made once, because a search asks for them more often than for anything else.
    pub(super) scales: Scales,
    pub(super) means: Means,
}

/// What the next base has under a number.
#[derive(Debug, Clone)]
enum Source<'a> {
    Outline(Outline<'a>),
    Entry(&'a Entry),
}

impl Source<'_> {
    fn lengths(&self) -> Lengths {
        match self {
            Self::Outline(outline) => outline.lengths,
            Self::Entry(entry) => entry.lengths(),
        }
    }
}

impl Base {
    /// Behind the greatest number.
    pub(super) fn end(&self) -> usize {
        self.outlines.end()
    }

    /// Whether there is a skill of this number.
    pub(super) fn has(&self, number: usize) -> bool {
        self.outlines.get(number).is_some()
    }

    /// The base that has these instead of what it has under their numbers: the same as one made from all entries at
    /// once, but without their texts.
    pub(super) fn merged<'a>(
        &self,
        changes: impl Iterator<Item = (usize, Option<&'a Entry>)>,
    ) -> Self {
        let mut sources: Vec<Option<Source<'_>>> =
            self.outlines.iter().map(|outline| outline.map(Source::Outline)).collect();
        for (number, entry) in changes {
            if number >= sources.len() && entry.is_some() {
                sources.resize(number + 1, None);
            }
            if let Some(source) = sources.get_mut(number) {
                *source = entry.map(Source::Entry);
            }
        }
        // Holes at the end are no different from what is beyond it.
        let end = sources.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        sources.truncate(end);
        let dictionary = self.listed(&sources);
        let means = Means::of(sources.iter().flatten().map(Source::lengths));
        let scale = |source: &Source<'_>| means.scale(source.lengths());
        let scales = sources.iter().map(|source| source.as_ref().map(scale).unwrap_or_default());
        let scales = scales.collect();
        let outlines = self.outlined(&sources, &dictionary, means.entries());
        Self { dictionary, outlines, scales, means }
    }

    fn listed(&self, sources: &[Option<Source<'_>>]) -> Dictionary {
        let stays = |number| matches!(sources.get(number), Some(Some(Source::Outline(_))));
        let gone: Vec<bool> = (0..self.end()).map(|number| !stays(number)).collect();
        let mut needed = vec![false; self.dictionary.len()];
        let mut fresh = Vec::new();
        for (number, source) in (0..).zip(sources) {
            match source {
                Some(Source::Entry(entry)) => fresh.push((number, *entry)),
                Some(Source::Outline(outline)) => {
                    for term in outline.offered() {
                        if let Some(needed) = needed.get_mut(term) {
                            *needed = true;
                        }
                    }
                }
                None => {}
            }
        }
        self.dictionary.merged(Leaving { gone: &gone, needed: &needed }, &fresh)
    }

    fn outlined(
        &self,
        sources: &[Option<Source<'_>>],
        dictionary: &Dictionary,
        all: usize,
    ) -> Outlines {
        let numbers = self.dictionary.renumbered(dictionary);
        let mut writer = Writer::new(dictionary, all);
        for source in sources {
            match source {
                Some(Source::Entry(entry)) => writer.entry(entry),
                Some(Source::Outline(outline)) => writer.outline(outline, &numbers),
                None => writer.hole(),
            }
        }
        writer.finish()
    }
}
