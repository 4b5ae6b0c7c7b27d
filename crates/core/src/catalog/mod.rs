//! What the sources found → one immutable snapshot of skills, with diagnostics.
//!
//! In: [`SourceScan`]s, one source at a time. Out: an immutable [`Catalog`]; the next one shares with it all that stayed
//! the same. Building never fails. Not here: how files were found (the sources), which
//! skill fits a request (route), what an agent receives (resolve).

mod access;
mod build;
mod delta;
mod folder;
mod layout;
mod lookup;
mod name;
mod own_files;
mod path;
mod precedence;
mod published;
mod scan;
mod skill;
mod source;
mod topics;
mod tree;
mod update;

use std::{collections::BTreeMap, sync::Arc};

pub use access::Access;
pub use delta::Delta;
pub use folder::{FileEntry, Folder, FolderItem, Stamp};
pub use layout::Scope;
pub use lookup::NameMatch;
pub use path::SkillPath;
pub use published::{MAX_PUBLISHED_BYTES, MAX_PUBLISHED_FILES};
pub use scan::{Origin, SourceScan};
pub use skill::{Presence, ShadowedCopy, Skill, SkillId, SkillKind};
pub use source::Source;
pub use topics::topics;
pub use tree::TreeNode;
pub use update::SourceUpdate;

use crate::{
    diagnostic::{Diagnostic, Finding, Severity},
    relpath::RelPath,
    sorted::Sorted,
};

/// Every skill that is served, at one moment.
#[derive(Debug, Default, Clone)]
pub struct Catalog {
    sources: Vec<Source>,
    by_id: Sorted<skill::ById>,
    by_place: Sorted<skill::ByPlace>,
    names: Sorted<name::NameHash>,
    /// One more than the greatest id ever used.
    end: usize,
    /// Ids below `end` that no skill has.
    free: Vec<SkillId>,
    /// What belongs to the bundle of a folder of a source, where that is not all of the folder.
    own_folders: BTreeMap<(usize, RelPath), Arc<Folder>>,
    served: usize,
    bundles: usize,
    /// Every skill there is, where this holds only what one caller may see.
    whole: Option<Sorted<skill::ById>>,
}

impl Catalog {
    /// The sources, first-named first.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// All skills that are served: by source; within it tree skills by path, then bundles by folder.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.by_place.iter().map(|skill| &*skill.0).filter(|skill| skill.name_status.served)
    }

    /// How many skills are served.
    pub fn len(&self) -> usize {
        self.served
    }

    /// Whether none is served.
    pub fn is_empty(&self) -> bool {
        self.served == 0
    }

    /// How many of the skills that are served are bundles.
    pub fn bundles(&self) -> usize {
        self.bundles
    }

    /// Every skill's id is below this.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The skill with this id, if it is served.
    pub fn skill(&self, id: SkillId) -> Option<&Skill> {
        self.skill_by_id(id).filter(|skill| skill.name_status.served).map(|skill| &**skill)
    }

    fn skill_by_id(&self, id: SkillId) -> Option<&Arc<Skill>> {
        self.by_id.find(|skill| skill.0.id.cmp(&id)).map(|skill| &skill.0)
    }

    fn skill_by_place(&self, place: (usize, SkillKind, &str)) -> Option<&Arc<Skill>> {
        self.by_place.find(|skill| skill.0.place().cmp(&place)).map(|skill| &skill.0)
    }

    /// Skills that do not have the name or path they claim, because an earlier one has it.
    pub fn shadowed(&self) -> Vec<ShadowedCopy> {
        let copy = |skill: &skill::ByPlace| {
            let skill = &skill.0;
            Some(ShadowedCopy {
                label: match skill.kind {
                    SkillKind::Tree => skill.path.as_str().into(),
                    SkillKind::Bundle => Arc::clone(&skill.wanted),
                },
                source: skill.source,
                file: skill.file.clone(),
                winner: skill.name_status.winner?,
                identical: skill.name_status.identical,
                served_as: skill.name_status.served.then(|| Arc::clone(&skill.label)),
            })
        };
        self.by_place.iter().filter_map(copy).collect()
    }

    /// The skill's ancestors, nearest first. They are always of the same source.
    pub fn ancestors<'a>(&'a self, skill: &Skill) -> impl Iterator<Item = &'a Skill> {
        std::iter::successors(self.parent(skill), |above| self.parent(above))
    }

    /// A parent that does not exist is skipped for its own parent.
    fn parent(&self, skill: &Skill) -> Option<&Skill> {
        if skill.kind == SkillKind::Bundle {
            return None;
        }
        let mut above = std::iter::successors(skill.path.parent(), SkillPath::parent);
        above.find_map(|path| {
            self.skill_by_place((skill.source, SkillKind::Tree, path.as_str()))
                .map(|skill| &**skill)
        })
    }

    /// What is wrong with the content, by file and line.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic = |(source, file, finding): (&Source, &str, &Finding)| {
            finding.clone().in_file(&source.name, file)
        };
        let mut diagnostics: Vec<Diagnostic> = self.findings().map(diagnostic).collect();
        diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        diagnostics
    }

    /// How many findings there are of this severity. Every refresh counts, so this does not make diagnostics of them.
    pub fn findings_count(&self, severity: Severity) -> usize {
        self.findings().filter(|(_, _, finding)| finding.code.severity() == severity).count()
    }

    /// The same in no order: source, file and finding.
    fn findings(&self) -> impl Iterator<Item = (&Source, &str, &Finding)> {
        let scan_findings = self.sources.iter().flat_map(|source| {
            let scan_findings =
                source.scan_findings.iter().map(|(file, finding)| (file.as_str(), finding));
            let held = source.held.iter().filter(|held| held.has_findings()).flat_map(|held| {
                held.findings(source).map(move |finding| (held.file.as_str(), finding))
            });
            let unread = source.unread().map(|finding| ("", finding));
            scan_findings
                .chain(held)
                .chain(unread)
                .map(move |(file, finding)| (source, file, finding))
        });
        let skills = self.by_place.iter().filter_map(|skill| {
            let source = self.sources.get(skill.0.source)?;
            let findings = skill.0.findings();
            Some(findings.map(move |finding| (source, skill.0.file.as_str(), finding)))
        });
        scan_findings.chain(skills.flatten())
    }
}
