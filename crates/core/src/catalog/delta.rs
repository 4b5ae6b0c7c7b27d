//! What changed between two catalogs, as an agent would notice it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Catalog, Skill, SkillId};
use crate::diagnostic::Diagnostic;

/// Identities of skills that came, went, or are not what they were, each sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// New ones.
    pub added: Vec<Arc<str>>,
    /// Gone ones.
    pub removed: Vec<Arc<str>>,
    /// Ones whose text, or whose files' presence, differs.
    pub changed: Vec<Arc<str>>,
    /// What is wrong that was not before.
    pub found: Vec<Diagnostic>,
    /// The numbers of the skills that are not what they were; of no use to anybody but an index over them.
    pub numbers: Vec<SkillId>,
}

impl Delta {
    /// Compares two catalogs of the same sources.
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        Self::of(old.without_those_of(new), new.without_those_of(old))
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
    /// The numbers of the skills that are not what they were in another catalog of the same sources.
    pub fn changed_since(&self, old: &Self) -> BTreeSet<SkillId> {
        let changed = self.without_those_of(old).chain(old.without_those_of(self));
        changed.map(|skill| skill.id).collect()
    }

    /// The skills that another catalog does not share with this one.
    fn without_those_of<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Arc<Skill>> {
        let shared = |skill: &&Arc<Skill>| {
            other.numbered(skill.id).is_some_and(|other| Arc::ptr_eq(other, skill))
        };
        self.by_id.iter().map(|skill| &skill.0).filter(move |skill| !shared(skill))
    }
}

fn by_identity<'a>(
    skills: impl Iterator<Item = &'a Arc<Skill>>,
) -> BTreeMap<Arc<str>, &'a Arc<Skill>> {
    let served = skills.filter(|skill| skill.standing.served);
    served.map(|skill| (Arc::clone(&skill.identity), skill)).collect()
}
