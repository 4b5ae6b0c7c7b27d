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
mod source;
mod tree;

pub use delta::Delta;
pub use intake::{Entry, Folder, Intake, Origin};
pub use layout::{Layout, Scope};
pub use lookup::Named;
pub use path::SkillPath;
pub use skill::{Kind, Presence, ShadowedCopy, Skill, SkillId};
pub use source::Source;
pub use tree::TreeNode;

use crate::diagnostic::Diagnostic;

/// Every skill that is served, at one moment.
#[derive(Debug, Default)]
pub struct Catalog {
    sources: Vec<Source>,
    /// By source; within it tree skills by path, then bundles by folder.
    skills: Vec<Skill>,
    /// Bundles that are not served because an earlier one has their name.
    shadowed: Vec<ShadowedCopy>,
    names: lookup::Names,
    diagnostics: Vec<Diagnostic>,
}

impl Catalog {
    /// The sources, first-named first.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Bundles that are there and not served, because an earlier one has their name.
    pub fn shadowed(&self) -> &[ShadowedCopy] {
        &self.shadowed
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

    /// The folder of a skill's own files, as it was listed.
    pub fn files(&self, skill: &Skill) -> Option<&Folder> {
        self.sources.get(skill.source)?.root.folder(skill.resources.as_ref()?)
    }

    /// What is wrong with the content, by file and line.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}
