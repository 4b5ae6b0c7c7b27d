//! [`Skill`]: one skill as the catalog knows it.

use std::{cmp::Ordering, sync::Arc};

use super::SkillPath;
use crate::{
    diagnostic::Finding,
    document::{AssetDeclaration, Document, Fields, ScriptDeclaration, SkillDocument},
    relpath::RelPath,
    sorted::Sorts,
};

/// A skill's number. It stays the same for as long as the skill's file is there, and may then be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId(pub(super) u32);

impl SkillId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// From an index.
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// One skill: where it is, what it says, what belongs to it. Served, or in the shadow of another.
#[derive(Debug, Clone)]
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
    /// The name a bundle wants to be called by.
    pub(super) wanted: Arc<str>,
    pub(super) content: Arc<SkillDocument>,
    pub(super) asset_presence: Vec<Presence>,
    pub(super) script_presence: Vec<Presence>,
    /// What is wrong with what it says of itself and its files.
    pub(super) notes: Vec<Finding>,
    pub(super) standing: Standing,
}

/// How a skill stands to others that want the same name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Standing {
    /// The skill that has what this one wants.
    pub(super) winner: Option<SkillId>,
    /// Whether an agent can get it.
    pub(super) served: bool,
    /// Whether the winner is the same, byte by byte.
    pub(super) identical: bool,
    /// What is said of it.
    pub(super) finding: Option<Finding>,
}

impl Skill {
    /// What else a bundle is called than what is shown of it: its name beside its folder, or its folder beside its name.
    /// Both lead to it. None where they are the same.
    pub fn other_name(&self, shown: &str) -> Option<&str> {
        fn tail(name: &str) -> &str {
            name.rsplit(['/', ':']).next().unwrap_or_default()
        }
        let names = [&*self.label, self.path.name()];
        let mut others = names.into_iter().filter(|name| tail(name) != tail(shown));
        others.next().filter(|_| self.kind == Kind::Bundle)
    }

    /// Its front matter.
    pub fn fields(&self) -> &Fields {
        &self.content.fields
    }

    /// Its file.
    pub fn document(&self) -> &Document {
        &self.content.document
    }

    /// Declared assets, and whether they were there.
    pub fn assets(&self) -> impl Iterator<Item = (&AssetDeclaration, Presence)> {
        self.content.fields.assets.iter().zip(self.asset_presence.iter().copied())
    }

    /// Declared scripts, and whether they were there.
    pub fn scripts(&self) -> impl Iterator<Item = (&ScriptDeclaration, Presence)> {
        self.content.fields.scripts.iter().zip(self.script_presence.iter().copied())
    }

    /// Every file it declares.
    pub fn declared(&self) -> impl Iterator<Item = &RelPath> {
        let assets = self.assets().map(|(asset, _)| &asset.file);
        assets.chain(self.scripts().map(|(script, _)| &script.file))
    }

    /// Where a file of its resource folder lies below the source's root.
    pub fn resource(&self, file: &RelPath) -> Option<RelPath> {
        self.resources.as_ref().map(|folder| folder.join(file))
    }

    /// The same skill, with another content of its file.
    #[must_use]
    pub fn saying(&self, content: Arc<SkillDocument>) -> Self {
        Self { content, ..self.clone() }
    }

    /// What is wrong with it, beside what its text says.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.notes.iter().chain(&self.standing.finding)
    }

    /// By source; within it tree skills by path, then bundles by folder.
    pub(super) fn place(&self) -> (usize, Kind, &str) {
        let own = match (self.kind, &self.resources) {
            (Kind::Bundle, Some(folder)) => folder.as_str(),
            (Kind::Bundle | Kind::Tree, _) => self.path.as_str(),
        };
        (self.source, self.kind, own)
    }

    /// The same skill for whoever looks at it, whatever its number.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same_text = Arc::ptr_eq(&self.content, &other.content)
            || self.document().digest() == other.document().digest();
        same_text
            && self.asset_presence == other.asset_presence
            && self.script_presence == other.script_presence
    }
}

/// A skill in the list by number.
#[derive(Debug, Clone)]
pub(super) struct ById(pub(super) Arc<Skill>);

impl Sorts for ById {
    fn order(&self, other: &Self) -> Ordering {
        self.0.id.cmp(&other.0.id)
    }
}

/// A skill in the list by place.
#[derive(Debug, Clone)]
pub(super) struct ByPlace(pub(super) Arc<Skill>);

impl Sorts for ByPlace {
    fn order(&self, other: &Self) -> Ordering {
        self.0.place().cmp(&other.0.place())
    }
}
