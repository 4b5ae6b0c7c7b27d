//! [`Delta`]: what changed between two catalogs, as far as an agent would notice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Catalog, Skill, SkillId};
use crate::diagnostic::Diagnostic;

/// Identities of skills that were added, removed or changed, each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// New skills.
    pub added: Vec<Arc<str>>,
    /// Removed skills.
    pub removed: Vec<Arc<str>>,
    /// Skills whose text, or whose files' presence, differs.
    pub changed: Vec<Arc<str>>,
    /// Diagnostics that are new.
    pub found: Vec<Diagnostic>,
    /// The ids of all skills that differ in any way, for the indexes over them.
    pub numbers: Vec<SkillId>,
}

impl Delta {
    /// Compares two catalogs of the same sources.
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        Self::of(old.not_shared_with(new), new.not_shared_with(old))
    }

    /// Compares what some skills were with what they are.
    pub(super) fn of<'a>(
        old: impl Iterator<Item = &'a Arc<Skill>>,
        new: impl Iterator<Item = &'a Arc<Skill>>,
    ) -> Self {
        let (before, after) = (by_identity(old), by_identity(new));
        let mut delta = Self::default();
        for (identity, skill) in &after {
            match before.get(identity) {
                None => delta.added.push(Arc::clone(identity)),
                Some(was) if !was.is_same(skill) => delta.changed.push(Arc::clone(identity)),
                Some(_) => {}
            }
        }
        delta.removed =
            before.keys().filter(|identity| !after.contains_key(*identity)).cloned().collect();
        delta
    }

    /// Whether nothing changed that an agent would notice.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// This change and one that came after it, of another source.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.added.extend(later.added);
        self.removed.extend(later.removed);
        self.changed.extend(later.changed);
        self.found.extend(later.found);
        self.numbers.extend(later.numbers);
        self
    }
}

impl Catalog {
    /// The ids of the skills that differ from an older catalog of the same sources.
    pub fn changed_since(&self, old: &Self) -> BTreeSet<SkillId> {
        let changed = self.not_shared_with(old).chain(old.not_shared_with(self));
        changed.map(|skill| skill.id).collect()
    }

    /// The skills that another catalog does not share with this one.
    fn not_shared_with<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Arc<Skill>> {
        let shared = |skill: &&Arc<Skill>| {
            other.skill_by_id(skill.id).is_some_and(|other| Arc::ptr_eq(other, skill))
        };
        self.by_id.iter().map(|skill| &skill.0).filter(move |skill| !shared(skill))
    }
}

fn by_identity<'a>(
    skills: impl Iterator<Item = &'a Arc<Skill>>,
) -> BTreeMap<Arc<str>, &'a Arc<Skill>> {
    let served = skills.filter(|skill| skill.name_status.served);
    served.map(|skill| (Arc::clone(&skill.identity), skill)).collect()
}
