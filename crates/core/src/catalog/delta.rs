//! What changed between two catalogs, as an agent would notice it.

use std::{collections::BTreeMap, sync::Arc};

use super::{Catalog, Skill};

/// Identities of skills that came, went, or are not what they were, each sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// New ones.
    pub added: Vec<Arc<str>>,
    /// Gone ones.
    pub removed: Vec<Arc<str>>,
    /// Ones whose text, or whose files' presence, differs.
    pub changed: Vec<Arc<str>>,
}

impl Delta {
    /// Compares two catalogs.
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        let (before, after) = (by_identity(old), by_identity(new));
        let mut delta = Self::default();
        for (identity, skill) in &after {
            match before.get(identity) {
                None => delta.added.push(Arc::clone(identity)),
                Some(was) if !same(was, skill) => delta.changed.push(Arc::clone(identity)),
                Some(_) => {}
            }
        }
        delta.removed =
            before.keys().filter(|identity| !after.contains_key(*identity)).cloned().collect();
        delta
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn by_identity(catalog: &Catalog) -> BTreeMap<Arc<str>, &Skill> {
    catalog.skills().iter().map(|skill| (Arc::clone(&skill.identity), skill)).collect()
}

fn same(a: &Skill, b: &Skill) -> bool {
    let same_text =
        Arc::ptr_eq(&a.content, &b.content) || a.document().text() == b.document().text();
    same_text && a.asset_presence == b.asset_presence && a.script_presence == b.script_presence
}
