//! [`Skill`]: one skill as the catalog knows it.

use std::{cmp::Ordering, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{FileEntry, SkillPath};
use crate::{
    diagnostic::Finding,
    document::{AssetDeclaration, Document, Fields, ScriptDeclaration, SkillDocument},
    relpath::RelPath,
    sorted::SortedItem,
};

/// A skill's id. It stays the same for as long as the skill's file exists, and may be reused afterwards.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SkillKind {
    /// A Markdown file in a tree; inherits from its ancestors.
    Tree,
    /// A folder with `SKILL.md`; stands alone, and everything in its folder belongs to it.
    Bundle,
}

/// A skill that does not have the name it claims, because an earlier one has it.
#[derive(Debug)]
pub struct ShadowedCopy {
    /// The name both have.
    pub label: Arc<str>,
    /// Which of the catalog's sources it comes from.
    pub source: usize,
    /// Its `SKILL.md` below that source's root.
    pub file: RelPath,
    /// The skill that has the name.
    pub winner: SkillId,
    /// Whether the two files are the same to the byte.
    pub identical: bool,
    /// The name under which this one is served, if it is.
    pub served_as: Option<Arc<str>>,
}

/// One skill: its file, its content, its resources. Served, or shadowed by another.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its id.
    pub id: SkillId,
    /// Which layout it comes from.
    pub kind: SkillKind,
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
    /// The plugin in a named source that it belongs to, by which its siblings name it.
    pub(super) plugin: Option<Arc<str>>,
    /// The name that the skill claims.
    pub(super) wanted: Arc<str>,
    pub(super) content: Arc<SkillDocument>,
    /// A bundle's files with the requests that its author tests it with, and how they looked when they were listed.
    pub evals: Vec<(RelPath, FileEntry)>,
    pub(super) asset_presence: Vec<Presence>,
    pub(super) script_presence: Vec<Presence>,
    /// Whether it, or what is rendered of it, conforms to Agent Skills with all its files.
    pub(super) conforming: bool,
    /// Findings about its name and its declared files.
    pub(super) notes: Vec<Finding>,
    pub(super) name_status: NameStatus,
}

/// How a skill's claim to its name ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NameStatus {
    /// The other skill that has the name or path this one claims.
    pub(super) winner: Option<SkillId>,
    /// Whether agents can load it.
    pub(super) served: bool,
    /// Whether the winner has the same text, byte by byte.
    pub(super) identical: bool,
    /// The finding about it.
    pub(super) finding: Option<Finding>,
}

impl Skill {
    /// The other name of a bundle: its name where its folder is shown, or its folder where its name is shown. Both load
    /// it. None where they are the same.
    pub fn other_name(&self, shown: &str) -> Option<&str> {
        fn tail(name: &str) -> &str {
            name.rsplit(['/', ':']).next().unwrap_or_default()
        }
        let names = [&*self.label, self.path.name()];
        let mut others = names.into_iter().filter(|name| tail(name) != tail(shown));
        others.next().filter(|_| self.kind == SkillKind::Bundle)
    }

    /// Its front matter.
    pub fn fields(&self) -> &Fields {
        &self.content.fields
    }

    /// Its content, shared by every catalog in which its file is the same.
    pub fn content(&self) -> &Arc<SkillDocument> {
        &self.content
    }

    /// Whether models are offered it and may load it; otherwise only its user starts it.
    pub fn is_for_models(&self) -> bool {
        self.content.fields.model_invocable
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

    /// The path of a file of its resource folder, below the source's root.
    pub fn resource(&self, file: &RelPath) -> Option<RelPath> {
        self.resources.as_ref().map(|folder| folder.join(file))
    }

    /// The same skill with other content.
    #[must_use]
    pub fn with_content(&self, content: Arc<SkillDocument>) -> Self {
        Self { content, ..self.clone() }
    }

    /// Its findings, without those about its text.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.notes.iter().chain(&self.name_status.finding)
    }

    /// The sort key: by source; within it tree skills by path, then bundles by folder.
    pub(super) fn place(&self) -> (usize, SkillKind, &str) {
        let own = match (self.kind, &self.resources) {
            (SkillKind::Bundle, Some(folder)) => folder.as_str(),
            (SkillKind::Bundle | SkillKind::Tree, _) => self.path.as_str(),
        };
        (self.source, self.kind, own)
    }

    /// Whether its evals certainly are these.
    pub fn has_same_evals(&self, others: &[(RelPath, FileEntry)]) -> bool {
        self.evals.len() == others.len()
            && self.evals.iter().zip(others).all(|(a, b)| a.0 == b.0 && a.1.is_same(b.1))
    }

    /// Whether both have the same content and files, whatever their ids.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same_text = Arc::ptr_eq(&self.content, &other.content)
            || self.document().digest() == other.document().digest();
        same_text
            && self.has_same_evals(&other.evals)
            && self.asset_presence == other.asset_presence
            && self.script_presence == other.script_presence
    }
}

/// A skill in the list by id.
#[derive(Debug, Clone)]
pub(super) struct ById(pub(super) Arc<Skill>);

impl SortedItem for ById {
    fn order(&self, other: &Self) -> Ordering {
        self.0.id.cmp(&other.0.id)
    }
}

/// A skill in the list by place.
#[derive(Debug, Clone)]
pub(super) struct ByPlace(pub(super) Arc<Skill>);

impl SortedItem for ByPlace {
    fn order(&self, other: &Self) -> Ordering {
        self.0.place().cmp(&other.0.place())
    }
}
