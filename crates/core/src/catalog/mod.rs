//! What the sources found → one immutable snapshot of skills, with diagnostics.
//!
//! In: [`Intake`]s in order of precedence. Out: a [`Catalog`] that everybody reads and nobody changes. Building
//! never fails. Not here: how files were found (the sources), which skill fits a request (route), what an
//! agent receives (resolve).

mod build;
mod delta;
mod intake;
mod layout;
mod lookup;
mod path;
mod skill;
mod tree;

use std::{collections::HashMap, sync::Arc};

pub use delta::Delta;
pub use intake::{Entry, Folder, Intake};
pub use layout::Layout;
pub use path::SkillPath;
pub use skill::{Presence, Skill, SkillId};
pub use tree::TreeNode;

use crate::diagnostic::Diagnostic;

/// Every skill that is served, at one moment.
#[derive(Debug, Default)]
pub struct Catalog {
    sources: Vec<Arc<str>>,
    /// By source, then by path.
    skills: Vec<Skill>,
    identities: HashMap<Arc<str>, SkillId>,
    /// Lower-cased identities; of two that differ in case only, the first in order.
    folded: HashMap<String, SkillId>,
    diagnostics: Vec<Diagnostic>,
}

impl Catalog {
    /// The sources' names, first-named first.
    pub fn sources(&self) -> &[Arc<str>] {
        &self.sources
    }

    /// All skills, by source and path.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// The skill with this number.
    pub fn skill(&self, id: SkillId) -> Option<&Skill> {
        self.skills.get(id.index())
    }

    /// The skill's ancestors, nearest first. They are always of the same source.
    pub fn ancestors<'a>(&'a self, skill: &Skill) -> impl Iterator<Item = &'a Skill> {
        std::iter::successors(self.parent(skill), |above| self.parent(above))
    }

    fn parent(&self, skill: &Skill) -> Option<&Skill> {
        skill.parent.and_then(|id| self.skill(id))
    }

    /// What is wrong with the content, by file and line.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}
