//! [`Skill`]: one skill as the catalog knows it.

use std::sync::Arc;

use super::SkillPath;
use crate::{
    document::{AssetDeclaration, Document, Fields, ScriptDeclaration, SkillDocument},
    relpath::RelPath,
};

/// A skill's number in its catalog; of no meaning in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId(pub(super) u32);

impl SkillId {
    /// Its place among the catalog's skills.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a declared file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A regular file.
    Present,
    /// Nothing of that name.
    Missing,
    /// Something that is not a regular file.
    Special,
}

/// Which of the two layouts a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Markdown file in a tree; inherits from its ancestors.
    Tree,
    /// A folder with `SKILL.md`; stands alone, and everything in its folder belongs to it.
    Bundle,
}

/// A skill that does not have the name it wants, because an earlier one has it.
#[derive(Debug)]
pub struct ShadowedCopy {
    /// The name both have.
    pub label: Arc<str>,
    /// Which of the catalog's sources it comes from.
    pub source: usize,
    /// Its `SKILL.md` below that source's root.
    pub file: RelPath,
    /// The one that has the name.
    pub winner: SkillId,
    /// Whether the two files are the same to the byte.
    pub identical: bool,
    /// What this one is served as, where it is served all the same.
    pub served_as: Option<Arc<str>>,
}

/// One skill: where it is, what it says, what belongs to it.
#[derive(Debug)]
pub struct Skill {
    /// Its number.
    pub id: SkillId,
    /// Which layout it comes from.
    pub kind: Kind,
    /// Which of the catalog's sources it comes from.
    pub source: usize,
    /// What tree tools call it: its path, with `source:` before it where an earlier source has the same path; the
    /// name of a bundle in an agent's directory or plugin. Unique.
    pub identity: Arc<str>,
    /// What the `skill` tool calls it: a bundle's name, `plugin:name` for a plugin's; else its identity. Unique.
    pub label: Arc<str>,
    /// Its path in its source: for a bundle, its folder.
    pub path: SkillPath,
    /// Its file below the source's root.
    pub file: RelPath,
    /// Its resource folder below the source's root, where there is one; for a bundle, the bundle's own.
    pub resources: Option<RelPath>,
    pub(super) parent: Option<SkillId>,
    pub(super) content: Arc<SkillDocument>,
    pub(super) asset_presence: Vec<Presence>,
    pub(super) script_presence: Vec<Presence>,
}

impl Skill {
    /// The front matter's fields.
    pub fn fields(&self) -> &Fields {
        &self.content.fields
    }

    /// The file, split.
    pub fn document(&self) -> &Document {
        &self.content.document
    }

    /// The declared assets and whether each is there.
    pub fn assets(&self) -> impl Iterator<Item = (&AssetDeclaration, Presence)> {
        self.content.fields.assets.iter().zip(self.asset_presence.iter().copied())
    }

    /// The declared scripts and whether each is there.
    pub fn scripts(&self) -> impl Iterator<Item = (&ScriptDeclaration, Presence)> {
        self.content.fields.scripts.iter().zip(self.script_presence.iter().copied())
    }

    /// Every file it declares, as an asset or as a script.
    pub fn declared(&self) -> impl Iterator<Item = &RelPath> {
        let assets = self.assets().map(|(asset, _)| &asset.file);
        assets.chain(self.scripts().map(|(script, _)| &script.file))
    }

    /// Where a file of its resource folder lies below the source's root.
    pub fn resource(&self, file: &RelPath) -> Option<RelPath> {
        self.resources.as_ref().map(|folder| folder.join(file))
    }
}
