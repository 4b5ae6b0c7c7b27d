//! [`Source`]: what the catalog remembers of where skills come from.

use std::{cmp::Ordering, sync::Arc};

use super::{Folder, Origin, layout::Role};
use crate::{
    catalog::layout::in_resources,
    diagnostic::Finding,
    document::Parsed,
    relpath::RelPath,
    sorted::{Sorted, Sorts},
};

/// A source as the catalog was built from it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, unique among the sources.
    pub name: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Everything that lay below its root.
    pub root: Arc<Folder>,
    /// What the walk ran into: file, as text, and finding.
    pub(super) walked: Arc<[(String, Finding)]>,
    /// Every file that matters, by path.
    pub(super) held: Sorted<Arc<Held>>,
}

impl Source {
    /// Whether walking it ran into the same.
    pub fn has_same_walk(&self, other: &Self) -> bool {
        self.walked == other.walked
    }
}

/// A file that has a role, or about which there is something to say.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) file: RelPath,
    pub(super) role: Option<Role>,
    /// What is odd about its name or place.
    pub(super) layout: Vec<Finding>,
    /// What it says, where it has a role.
    pub(super) parsed: Option<Arc<Parsed>>,
}

impl Held {
    /// Everything wrong with the file itself.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        // Markdown among resources need not be a skill's; only if it is, that is worth a word.
        let parsed = self.parsed.iter().filter(|_| self.role != Some(Role::Resource));
        self.layout.iter().chain(parsed.flat_map(|parsed| &parsed.findings))
    }

    /// Whether it says the same, in the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Arc<Parsed>, b: &Arc<Parsed>| Arc::ptr_eq(a, b) || a.is_same(b);
        self.role == other.role
            && self.layout == other.layout
            && match (&self.parsed, &other.parsed) {
                (Some(a), Some(b)) => same(a, b),
                (a, b) => a.is_none() && b.is_none(),
            }
    }

    /// A file with this role that says this. A skill among resources is told so.
    pub(super) fn new(
        file: RelPath,
        role: Option<Role>,
        mut layout: Vec<Finding>,
        parsed: Option<Arc<Parsed>>,
    ) -> Self {
        let is_skill = parsed.as_ref().is_some_and(|parsed| parsed.skill.is_some());
        if role == Some(Role::Resource) && is_skill {
            layout.push(in_resources());
        }
        Self { file, role, layout, parsed }
    }
}

impl Sorts for Arc<Held> {
    fn order(&self, other: &Self) -> Ordering {
        self.file.cmp(&other.file)
    }
}
