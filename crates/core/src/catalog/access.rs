//! [`Access`]: which skills a caller may see, and the catalog with only those.
//!
//! A caller that sees a part of the skills gets a catalog of its own: names are resolved as if no other skill existed, and so
//! no lookup, list or count can tell of one. Not here: who the caller is.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Catalog, Skill, SkillKind, Source,
    name::NameHash,
    skill::{ById, ByPlace, NameStatus},
    source::SourceFile,
};
use crate::{relpath::RelPath, sorted::Sorted};

/// What stands for every skill.
const EVERYTHING: &str = "*";

/// Which skills a caller may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every skill.
    #[default]
    All,
    /// Those that one of these names: a skill's path or name, a folder, or `source:` with any of them or nothing behind it.
    Only(Arc<[Arc<str>]>),
}

impl Access {
    /// Only the skills that one of these names; `*` names all. The same names in another order are the same access.
    pub fn only<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let mut only = BTreeSet::new();
        for name in names {
            match name.as_ref().trim().trim_end_matches('/') {
                EVERYTHING => return Self::All,
                "" => {}
                name => {
                    only.insert(Arc::from(name));
                }
            }
        }
        Self::Only(only.into_iter().collect())
    }

    /// Whether some skills may be hidden.
    pub fn is_limited(&self) -> bool {
        matches!(self, Self::Only(_))
    }

    fn allows(&self, source: &Source, skill: &Skill) -> bool {
        let Self::Only(names) = self else { return true };
        let path = skill.path.as_str();
        let allows = |name: &str| {
            let in_source =
                name.strip_prefix(&*source.name).and_then(|rest| rest.strip_prefix(':'));
            is_at_or_below(path, name)
                || in_source.is_some_and(|rest| rest.is_empty() || is_at_or_below(path, rest))
                || (skill.kind == SkillKind::Bundle && *skill.wanted == *name)
        };
        names.iter().any(|name| allows(name))
    }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Catalog {
    /// The catalog with only the skills that this access allows. Skills keep their ids. A tree skill still inherits from
    /// ancestors that are no skills of the new catalog.
    #[must_use]
    pub fn limited_to(&self, access: &Access) -> Self {
        let source = |skill: &Skill| self.sources.get(skill.source);
        let allowed: Vec<&Arc<Skill>> = (self.by_place.iter().map(|skill| &skill.0))
            .filter(|skill| source(skill).is_some_and(|source| access.allows(source, skill)))
            .collect();
        let whole = Some(self.whole.as_ref().unwrap_or(&self.by_id).clone());
        let mut limited = Self { end: self.end, whole, ..Self::default() };
        limited.sources = self
            .sources
            .iter()
            .enumerate()
            .map(|(number, source)| {
                let files: BTreeSet<&RelPath> = allowed
                    .iter()
                    .filter(|skill| skill.source == number)
                    .map(|skill| &skill.file)
                    .collect();
                source.with_only(&files)
            })
            .collect();
        limited.by_id.extend(allowed.iter().map(|skill| ById(Arc::clone(skill))));
        limited.by_place.extend(allowed.iter().map(|skill| ByPlace(Arc::clone(skill))));
        let mut names = Vec::new();
        for skill in &allowed {
            let hashes = limited.looked_up_by(skill).into_iter();
            names.extend(hashes.map(|hash| NameHash { hash, skill: skill.id }));
            limited.count(skill, true);
        }
        limited.names.extend(names);
        let allowed: Vec<Arc<Skill>> = allowed.into_iter().cloned().collect();
        limited.resolve_names(&allowed);
        limited.leave_out_hidden(self, &allowed);
        limited.add_ancestors(self, &allowed);
        limited
    }

    /// Adds the ancestors of these skills: to inherit from, and for nothing else.
    fn add_ancestors(&mut self, all: &Self, skills: &[Arc<Skill>]) {
        let mut above = Vec::new();
        let mut known = BTreeSet::new();
        for ancestor in skills.iter().flat_map(|skill| all.ancestors(skill)) {
            if self.skill_by_id(ancestor.id).is_none() && known.insert(ancestor.id) {
                let (name_status, notes) = (NameStatus::default(), Vec::new());
                above.push(ByPlace(Arc::new(Skill { notes, name_status, ..ancestor.clone() })));
            }
        }
        self.by_place.extend(above);
    }

    /// Which sources there are for a caller: all, or those with a skill that it may see.
    pub fn is_visible(&self, source: usize) -> bool {
        self.whole.is_none() || self.skills().any(|skill| skill.source == source)
    }

    /// What a skill is called in the catalog of all skills, whatever its caller calls it. Events of all callers name it so.
    pub fn recorded_identity<'a>(&'a self, skill: &'a Skill) -> &'a Arc<str> {
        let known = self.whole.as_ref().and_then(|all| all.find(|one| one.0.id.cmp(&skill.id)));
        known.map_or(&skill.identity, |known| &known.0.identity)
    }

    /// The same by what its caller calls it.
    pub fn recorded_name(&self, identity: &str) -> Arc<str> {
        let skill = self.whole.as_ref().and_then(|_| self.find(identity));
        skill.map_or_else(|| identity.into(), |skill| Arc::clone(self.recorded_identity(skill)))
    }
}

impl Source {
    /// The source with what is known of these files only.
    fn with_only(&self, files: &BTreeSet<&RelPath>) -> Self {
        let mut held: Sorted<Arc<SourceFile>> = Sorted::default();
        held.extend(self.held.iter().filter(|held| files.contains(&held.file)).cloned());
        Self { scan_findings: Arc::default(), held, ..self.clone() }
    }
}
