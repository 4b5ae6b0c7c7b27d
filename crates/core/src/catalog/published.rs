//! Which skills can be published as folders of files, byte by byte: every tree skill, rendered, and every bundle that conforms to
//! Agent Skills.
//!
//! A bundle that an earlier one shadows is published too, under another address; a copy of the same bytes is not. Not here:
//! addresses, digests and rendering (the server's surface).

use super::{Catalog, FileEntry, Folder, Skill, SkillId, SkillKind};
use crate::diagnostic::{Code, Finding};

/// A skill with more files is not published.
pub const MAX_PUBLISHED_FILES: usize = 512;
/// A skill with more bytes in its files is not published.
pub const MAX_PUBLISHED_BYTES: u64 = 16 * 1024 * 1024;

impl Catalog {
    /// Every skill that can be published: by source; within it tree skills by path, then bundles by folder.
    pub fn published(&self) -> impl Iterator<Item = &Skill> {
        self.by_place.iter().map(|skill| &*skill.0).filter(|skill| skill.is_published())
    }

    /// The published skill with this id, served by the tools or not.
    pub fn published_skill(&self, id: SkillId) -> Option<&Skill> {
        self.skill_by_id(id).map(|skill| &**skill).filter(|skill| skill.is_published())
    }
}

impl Skill {
    fn is_published(&self) -> bool {
        let status = &self.name_status;
        self.conforming && (status.served || (self.kind == SkillKind::Bundle && !status.identical))
    }

    /// Whether no earlier skill has its name or path.
    pub fn has_own_name(&self) -> bool {
        self.name_status.winner.is_none()
    }
}

/// The finding about a folder that is too large to be published, or that has a name which clients refuse in an address.
pub(super) fn unpublishable(folder: &Folder) -> Option<Finding> {
    let mut size = FolderSize::default();
    let message = match size.add(folder) {
        Err(Excess::Name(name)) => format!("the file name `{name}` holds a backslash"),
        Err(Excess::Size) => "more than 512 files or 16 MiB in its folder".to_owned(),
        Ok(()) => return None,
    };
    let finding = Finding::whole(Code::NotConforming, message);
    Some(finding.hint("resources and the Skills extension publish it once this is right"))
}

/// Why a folder cannot be published.
enum Excess {
    Size,
    Name(String),
}

/// How much a folder holds, counted up to the limits.
#[derive(Default)]
struct FolderSize {
    files: usize,
    bytes: u64,
}

impl FolderSize {
    fn add(&mut self, folder: &Folder) -> Result<(), Excess> {
        let names = folder.files().iter().map(|(name, _)| name);
        let mut names = names.chain(folder.folders().iter().map(|(name, _)| name));
        if let Some(name) = names.find(|name| name.contains('\\')) {
            return Err(Excess::Name(name.to_string()));
        }
        for (_, entry) in folder.files() {
            let FileEntry::Regular { bytes, .. } = entry else { continue };
            self.files += 1;
            self.bytes = self.bytes.saturating_add(*bytes);
            if self.files > MAX_PUBLISHED_FILES || self.bytes > MAX_PUBLISHED_BYTES {
                return Err(Excess::Size);
            }
        }
        folder.folders().iter().try_for_each(|(_, below)| self.add(below))
    }
}
