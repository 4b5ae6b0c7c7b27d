//! Where a link that leaves its root may lead: to a whole skill, to a folder of skills, or to a folder that the operator
//! allows.
//!
//! A list of forbidden places is never complete, so the target must show that it is a skill: a folder with a `SKILL.md`,
//! a folder whose own files or direct subfolders are skills, or one Markdown file with a skill's front matter. Not here:
//! opening anything; both implementations of [`Root`](super::Root) open the target first and judge what they hold.

use std::path::{Path, PathBuf};

use skills_core::document::{Dialect, Parsed};

use super::secret::is_secret;

/// So many entries of a folder are looked at to find out whether it holds skills.
const MAX_PROBED_ENTRIES: usize = 1_000;
/// So many of its Markdown files are read for that.
const MAX_PROBED_FILES: usize = 32;
/// A larger file is not taken for a skill.
pub(super) const MAX_PROBED_BYTES: usize = 1024 * 1024;
/// The usual spellings of a bundle's file.
const BUNDLE_FILES: &[&str] = &["SKILL.md", "skill.md", "Skill.md"];
/// Names of folders that hold a skill's files and never skills.
const RESOURCE_FOLDERS: &[&str] = &["_index", "_root", "assets", "scripts"];

pub(super) const TO_SECRETS: &str = "to credentials or system files";
pub(super) const ABOVE: &str =
    "to its source, to the home folder, or to a folder above one of them";

/// The operator's part in where links may lead.
#[derive(Debug, Default)]
pub struct LinkPolicy {
    /// Folders that links may lead to, whatever lies there.
    allow: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// What the place that a link leads to is to the root that the link lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Below the root.
    Inside,
    /// In a folder that the operator allows.
    Allowed,
    /// Among credentials or system files.
    Secret,
    /// A folder that holds the root or the home folder: following it would walk the disk.
    Above,
    /// Anywhere else: only a skill is followed there.
    Outside,
}

impl LinkPolicy {
    /// Links may lead to these folders (`links.allow`; `~` is the home folder), and to no folder that holds the home.
    pub fn new(allow: &[String], home: Option<&Path>) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let folder = |named: &String| match (named.strip_prefix('~'), home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(named),
        };
        Self {
            allow: allow.iter().map(folder).map(real).collect(),
            home: home.map(|home| real(home.to_path_buf())),
        }
    }

    /// What a resolved place is to this root.
    pub(super) fn judge(&self, place: &Path, root: &Path) -> Target {
        let is_home = self.home.as_ref().is_some_and(|home| home.starts_with(place));
        if is_secret(place, root) {
            Target::Secret
        } else if place.starts_with(root) {
            Target::Inside
        } else if root.starts_with(place) || is_home {
            Target::Above
        } else if self.allow.iter().any(|folder| place.starts_with(folder)) {
            Target::Allowed
        } else {
            Target::Outside
        }
    }
}

/// An open folder, looked at without leaving it.
pub(super) trait View {
    /// Whether there is a regular file at this `/`-separated path; links may lead to one inside the folder.
    fn is_file(&self, path: &str) -> bool;
    /// The names of at most so many entries that are text, and whether each may be a folder.
    fn entries(&self, most: usize) -> Vec<(String, bool)>;
    /// The file's bytes, if there are no more than the limit.
    fn bytes(&self, name: &str, limit: usize) -> Option<Vec<u8>>;
}

/// Whether a folder is a bundle.
pub(super) fn is_bundle(folder: &impl View) -> bool {
    BUNDLE_FILES.iter().any(|file| folder.is_file(file))
}

/// Whether a folder holds skills, in its own files or right below it. Bounded, however large the folder is.
pub(super) fn holds_skills(folder: &impl View) -> bool {
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

/// What the file that a link of this name leads to must be to be followed; none where no skill is called so.
pub(super) fn dialect(link: &str, target: &Path) -> Option<Dialect> {
    let target = target.file_name()?.to_str()?;
    if !is_markdown(link) || !is_markdown(target) {
        return None;
    }
    Some(if is_bundle_file(link) { Dialect::Bundle } else { Dialect::Tree })
}

/// Whether these bytes are a skill's.
pub(super) fn is_skill(bytes: Vec<u8>, dialect: Dialect) -> bool {
    Parsed::read(bytes, dialect).skill.is_some()
}

/// Whether the entry of this name, in a folder with these names, may be a folder of skills: everything in a bundle is
/// the bundle's, and what lies in a resource folder belongs to a skill.
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
