//! Lists a source: every folder and file below its root, bounded, in an order of its own.

use std::collections::HashMap;

use skills_core::{
    catalog::{Entry, Folder, SkillPath},
    diagnostic::{Code, Finding, escaped},
    relpath::RelPath,
};

use super::disk::{DiskError, Listed, Listing, Root};

/// Deeper folders are not looked at. Answers nest as deep as folders do, and clients have limits of their own.
const MAX_DEPTH: usize = 256;
/// More entries than this are not looked at.
const MAX_ENTRIES: usize = 500_000;
/// One folder is looked at this often, whatever links lead to it: links between folders multiply.
const MAX_VISITS: u32 = 8;
/// Tools' own folders, large and without skills.
const SKIPPED: &[&str] = &[".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"];

/// The way out of whatever a walk runs into.
const HINTS: &[(Code, &str)] = &[
    (Code::LinkRefused, "replace the link by the file, or link to a place this source may go to"),
    (Code::LinkLoop, "remove the link"),
    (Code::Unreadable, "mend its permissions, or move it away"),
    (Code::NameUnusable, "rename it, with letters, digits and hyphens"),
    (Code::NotRegular, "remove it, or put a regular file in its place"),
    (Code::TooDeep, "move it up"),
    (Code::TooMany, "split the source into several"),
];

/// What the walk found, and what it ran into: file (as text) and finding.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) folder: Folder,
    pub(super) findings: Vec<(String, Finding)>,
    entries: usize,
    visits: HashMap<(u64, u64), u32>,
}

/// Walks the whole source.
pub(super) fn walk(root: &Root) -> Result<Walked, DiskError> {
    let mut walked = Walked::default();
    // The root itself must be readable; everything below it may fail by itself.
    root.list(&RelPath::root())?;
    walked.folder = walked.visit(root, &RelPath::root(), &mut Vec::new());
    Ok(walked)
}

impl Walked {
    /// `above` holds the identities of the folders on the way here: meeting one again is a loop of links.
    fn visit(&mut self, root: &Root, path: &RelPath, above: &mut Vec<(u64, u64)>) -> Folder {
        let mut folder = Folder::default();
        let Some(mut listing) = self.list(root, path, above) else { return folder };
        above.push(listing.identity);
        // Whatever order the disk has, ours is by name.
        listing.entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, listed) in listing.entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                if self.entries == MAX_ENTRIES + 1 {
                    let message = format!(
                        "more than {MAX_ENTRIES} files and folders; the rest is not looked at"
                    );
                    self.found("", Code::TooMany, message);
                }
                break;
            }
            let unusable = match name.to_str().map(|name| path.child(name)) {
                Some(Ok(below)) => {
                    self.take(root, &mut folder, &below, listed, above);
                    continue;
                }
                Some(Err(_)) => "the name holds control characters; not served",
                None => "the name is not UTF-8; not served",
            };
            let slash = if path.is_root() { "" } else { "/" };
            let shown = format!("{path}{slash}{}", name.to_string_lossy());
            self.found(&shown, Code::NameUnusable, unusable);
        }
        above.pop();
        folder
    }

    /// The folder's entries, unless it lies too deep, cannot be read, or was met before.
    fn list(&mut self, root: &Root, path: &RelPath, above: &[(u64, u64)]) -> Option<Listing> {
        let (code, message) = if above.len() >= MAX_DEPTH {
            (Code::TooDeep, format!("lies deeper than {MAX_DEPTH} folders; not looked at"))
        } else {
            let listing = match root.list(path) {
                Ok(listing) => listing,
                Err(error) => {
                    self.refused(path.as_str(), &error);
                    return None;
                }
            };
            let visits = self.visits.entry(listing.identity).or_default();
            *visits += 1;
            if above.contains(&listing.identity) {
                (Code::LinkLoop, "a symbolic link to a folder above it; not followed".to_owned())
            } else if *visits > MAX_VISITS {
                (
                    Code::LinkLoop,
                    "one of too many links to the same folder; not followed".to_owned(),
                )
            } else {
                return Some(listing);
            }
        };
        self.found(path.as_str(), code, message);
        None
    }

    fn take(
        &mut self,
        root: &Root,
        folder: &mut Folder,
        path: &RelPath,
        listed: Listed,
        above: &mut Vec<(u64, u64)>,
    ) {
        let name: Box<str> = path.name().into();
        match listed {
            Listed::File { bytes } => {
                folder.files.insert(name, Entry::Regular { bytes });
            }
            Listed::Special => {
                // Whoever wants to read it will be told what it is.
                folder.files.insert(name, Entry::Special);
            }
            Listed::Folder if SKIPPED.contains(&path.name()) => {}
            Listed::Folder => {
                if SkillPath::of_file(path).is_some() {
                    self.found(
                        path.as_str(),
                        Code::NotRegular,
                        "is a folder named like a skill's file",
                    );
                }
                let below = self.visit(root, path, above);
                folder.folders.insert(name, below);
            }
            Listed::Refused(error) => self.refused(path.as_str(), &error),
        }
    }

    fn refused(&mut self, file: &str, error: &DiskError) {
        let code =
            if matches!(error, DiskError::Link(_)) { Code::LinkRefused } else { Code::Unreadable };
        self.found(file, code, error.to_string());
    }

    fn found(&mut self, file: &str, code: Code, message: impl Into<String>) {
        let mut finding = Finding::whole(code, message);
        finding.hint =
            HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| (*hint).to_owned());
        self.findings.push((escaped(file), finding));
    }
}
