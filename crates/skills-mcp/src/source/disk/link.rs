//! Where a link that leaves its root may lead: to a whole skill, to a folder of skills, or to a folder that the operator
//! allows.
//!
//! A list of forbidden folders is never complete, so the target must be a skill: a folder with a `SKILL.md`,
//! a folder whose own files or direct subfolders are skills, or one Markdown file with a skill's front matter. Not here:
//! opening anything; both implementations of [`Root`](super::Root) open the target first and check the handle.

use std::path::{Path, PathBuf};

use skills_core::document::{Dialect, Parsed};

use super::{DiskError, Links, secret::is_secret};
use crate::{
    config::Trust,
    paths::{expand_home, real_path_or_same},
};

/// How many entries of a folder are checked for skills.
const MAX_PROBED_ENTRIES: usize = 1_000;
/// How many of its Markdown files are read for that.
const MAX_PROBED_FILES: usize = 32;
/// A larger file does not count as a skill.
pub(super) const MAX_PROBED_BYTES: usize = 1024 * 1024;
/// The usual spellings of a bundle's file.
const BUNDLE_FILES: &[&str] = &["SKILL.md", "skill.md", "Skill.md"];
/// Names of folders that hold a skill's files and never skills.
const RESOURCE_FOLDERS: &[&str] = &["_index", "_root", "assets", "scripts"];

pub(super) const TO_SECRETS: &str =
    "to credentials, into a repository's own folder (.git) or to system files";
pub(super) const ABOVE: &str =
    "to its source, to the home folder, or to a folder above one of them";

/// Where links may lead, as the operator says.
#[derive(Debug, Default)]
pub struct LinkPolicy {
    /// Folders that links may lead to, whatever they hold.
    allow: Vec<PathBuf>,
    home: Option<PathBuf>,
    trust: Trust,
}

/// Where a link leads, seen from the root that holds the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// Below the root.
    Inside,
    /// To a folder that the operator allows.
    Allowed,
    /// To credentials, into the folder of a repository, or to system files.
    Secret,
    /// To a folder that holds the root or the home folder: following it would walk the whole disk.
    Above,
    /// Anywhere else: only a skill is followed there.
    Outside,
}

impl LinkPolicy {
    /// Links may lead to these folders (`links.allow`; `~` is the home folder), and to no folder that holds the home.
    pub(crate) fn new(allow: &[String], home: Option<&Path>, trust: Trust) -> Self {
        let folder = |named: &String| real_path_or_same(&expand_home(named, home));
        Self { allow: allow.iter().map(folder).collect(), home: home.map(real_path_or_same), trust }
    }

    /// How far the links of a source are followed, whose kind allows this much.
    pub(in crate::source) fn limit(&self, links: Links) -> Links {
        match links {
            Links::Follow if self.trust == Trust::Strict => Links::Inside,
            Links::Follow | Links::Inside | Links::Refuse => links,
        }
    }

    /// An error where a link in the folder `above` leads to this root, and may not.
    pub(super) fn check_root(&self, root: &Path, above: &Path) -> Result<(), DiskError> {
        match self.classify(root, above) {
            LinkTarget::Secret => Err(DiskError::Link(TO_SECRETS)),
            LinkTarget::Above => Err(DiskError::Link(ABOVE)),
            LinkTarget::Inside if root == above => Err(DiskError::Link(ABOVE)),
            LinkTarget::Inside | LinkTarget::Allowed | LinkTarget::Outside => Ok(()),
        }
    }

    /// Where a resolved path is, seen from a root.
    pub(super) fn classify(&self, path: &Path, root: &Path) -> LinkTarget {
        let holds_home = self.home.as_ref().is_some_and(|home| home.starts_with(path));
        if is_secret(path, root) {
            LinkTarget::Secret
        } else if path.starts_with(root) {
            LinkTarget::Inside
        } else if root.starts_with(path) || holds_home {
            LinkTarget::Above
        } else if self.allow.iter().any(|folder| path.starts_with(folder)) {
            LinkTarget::Allowed
        } else {
            LinkTarget::Outside
        }
    }
}

/// An open folder, read without leaving it.
pub(super) trait FolderView {
    /// Whether there is a regular file at this `/`-separated path; links may lead to one inside the folder.
    fn is_file(&self, path: &str) -> bool;
    /// The names of at most `limit` entries that are text, and whether each may be a folder.
    fn entries(&self, limit: usize) -> Vec<(String, bool)>;
    /// The file's bytes, if there are no more than the limit.
    fn bytes(&self, name: &str, limit: usize) -> Option<Vec<u8>>;
}

/// Whether a folder is a bundle.
pub(super) fn is_bundle(folder: &impl FolderView) -> bool {
    BUNDLE_FILES.iter().any(|file| folder.is_file(file))
}

/// Whether a folder holds skills, in its own files or right below it. Reads a bounded number of entries.
pub(super) fn holds_skills(folder: &impl FolderView) -> bool {
    if folder.is_file("_index.md") || folder.is_file("_root.md") {
        return true;
    }
    let mut files = 0;
    folder.entries(MAX_PROBED_ENTRIES).into_iter().any(|(name, may_be_folder)| {
        let mut kinds = BUNDLE_FILES.iter().chain(&["_index.md"]);
        if may_be_folder && kinds.any(|file| folder.is_file(&format!("{name}/{file}"))) {
            return true;
        }
        if !is_markdown(&name) || files == MAX_PROBED_FILES {
            return false;
        }
        files += 1;
        let bytes = folder.bytes(&name, MAX_PROBED_BYTES);
        bytes.is_some_and(|bytes| is_skill(bytes, Dialect::Tree))
    })
}

/// The dialect of the skill that a link of this name must lead to; none where no skill has such a name.
pub(super) fn dialect(link: &str, target: &Path) -> Option<Dialect> {
    let target = target.file_name()?.to_str()?;
    if !is_markdown(link) || !is_markdown(target) {
        return None;
    }
    Some(if is_bundle_file(link) { Dialect::Bundle } else { Dialect::Tree })
}

/// Whether these bytes are a skill.
pub(super) fn is_skill(bytes: Vec<u8>, dialect: Dialect) -> bool {
    Parsed::read(bytes, dialect).skill.is_some()
}

/// Whether the entry of this name, in a folder with these names, may be a folder of skills: everything in a bundle or in a
/// resource folder belongs to one skill.
pub(super) fn may_hold_skills<'a>(
    mut beside: impl Iterator<Item = &'a str>,
    name: Option<&str>,
) -> bool {
    let file = name.map(|name| format!("{name}.md"));
    !name.is_some_and(|name| RESOURCE_FOLDERS.contains(&name))
        && !beside.any(|other| is_bundle_file(other) || file.as_deref() == Some(other))
}

fn is_bundle_file(name: &str) -> bool {
    name.eq_ignore_ascii_case("SKILL.md")
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
