//! Lists a source: every folder and file below its root, bounded, in an order of its own.
//!
//! Level by level, each level on every core. A folder with the same stamp is not listed again; the result shares with the
//! listing before all that stayed the same.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
};

use skills_core::{
    catalog::{FileEntry, Folder, SkillPath, Stamp},
    diagnostic::{Code, Finding, escaped},
    relpath::RelPath,
};

use super::{
    assemble::{File, Visited, assembled},
    disk::{DiskError, EntryMetadata, FileIdentity, ListedEntry, Listing, Root},
    hint,
    parallel::map,
    watch::{Descriptor, Queue},
};

/// Deeper folders are not scanned. Answers nest as deep as folders do, and clients have limits of their own.
const MAX_DEPTH: usize = 256;
/// More entries than this are not scanned.
const MAX_ENTRIES: usize = 500_000;
/// And of these, no more than this through links.
const MAX_LINKED_ENTRIES: usize = 100_000;
/// One folder is scanned at most this often through links: links between folders multiply.
const MAX_VISITS: u32 = 16;
/// Tools' own folders, large and without skills.
const SKIPPED: &[&str] = &[".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"];

/// What the walk found, and what it ran into: file (as text) and finding.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) folder: Arc<Folder>,
    pub(super) findings: Vec<(String, Finding)>,
    /// The watches that were set.
    pub(super) watches: Vec<(Descriptor, RelPath)>,
    /// Links in what is watched, and what each leads to.
    pub(super) links: Vec<(RelPath, Option<FileIdentity>)>,
    /// Why not all of it is watched.
    pub(super) unwatched: Option<io::Error>,
    /// Whether folders were reached through links, links lead nowhere, or not all was scanned: then a part cannot be scanned
    /// by itself.
    pub(super) whole_only: bool,
}

/// A folder to scan.
struct Visit {
    path: RelPath,
    /// What it held the last time.
    before: Option<Arc<Folder>>,
    /// The number of the folder that it is in, on the level above.
    parent: usize,
    /// Reached through a link, by itself or further up.
    linked: bool,
}

/// What the scan of a folder came to.
enum ScannedFolder {
    /// It has the same stamp; these are its files.
    Same(FileIdentity, Vec<File>),
    Read(Listing),
    Refused(DiskError),
}

/// Walks a folder of a source and everything below it. `before` is what it held the last time.
pub(super) fn walk(
    root: &Root,
    path: &RelPath,
    before: Option<&Arc<Folder>>,
    queue: Option<&Queue>,
) -> Result<Walked, DiskError> {
    let mut walk = Walk::new(root, queue);
    let mut level =
        vec![Visit { path: path.clone(), before: before.cloned(), parent: 0, linked: false }];
    let mut levels: Vec<Vec<Visited>> = Vec::new();
    while !level.is_empty() {
        let scanned = map(&level, || (), |(), visit| scan_folder(root, queue, visit));
        let mut visited = Vec::with_capacity(level.len());
        let mut below = Vec::new();
        for (visit, scanned) in level.into_iter().zip(scanned) {
            // The first folder must be readable; each one below may fail by itself.
            if levels.is_empty()
                && let ScannedFolder::Refused(error) = scanned
            {
                return Err(error);
            }
            let number = visited.len();
            let parent = visit.parent;
            let added = walk.add(&visit, scanned, number, &levels, &mut below);
            if added.is_none()
                && let Some(above) = levels.last_mut().and_then(|above| above.get_mut(parent))
            {
                // Scanned again the next time, to repeat the finding or to find it fixed.
                above.stamp = Stamp::UNSURE;
            }
            visited.extend(added);
        }
        levels.push(visited);
        level = below;
    }
    walk.walked.folder = assembled(levels);
    Ok(walk.walked)
}

/// Scans one folder, on any thread.
fn scan_folder(root: &Root, queue: Option<&Queue>, visit: &Visit) -> ScannedFolder {
    if let Some(before) = &visit.before
        && let Some(glance) = root.metadata(&visit.path)
        && glance.stamp.is_same(before.stamp)
        && let Some(files) = glanced(root, &visit.path, before)
    {
        return ScannedFolder::Same(glance.identity, files);
    }
    root.list(&visit.path, queue).map_or_else(ScannedFolder::Refused, ScannedFolder::Read)
}

/// The files of a folder that holds the same names as before; none if one of them is not there.
fn glanced(root: &Root, path: &RelPath, before: &Folder) -> Option<Vec<File>> {
    let glance = |(name, _): &File| {
        let EntryMetadata { bytes, stamp, .. } = root.metadata(&path.child(name).ok()?)?;
        Some((Arc::clone(name), FileEntry::Regular { bytes, stamp }))
    };
    before.files().iter().map(glance).collect()
}

/// One walk: what it has found so far, and what it counts.
struct Walk<'a> {
    root: &'a Root,
    queue: Option<&'a Queue>,
    walked: Walked,
    entries: usize,
    /// Of these, through links.
    linked: usize,
    /// Whether there is a finding that there are too many.
    is_over_reported: bool,
    visits: HashMap<FileIdentity, u32>,
    /// Names that many files have, once each.
    names: HashSet<Arc<str>>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Root, queue: Option<&'a Queue>) -> Self {
        Self {
            root,
            queue,
            walked: Walked::default(),
            entries: 0,
            linked: 0,
            is_over_reported: false,
            visits: HashMap::new(),
            names: HashSet::new(),
        }
    }

    /// Adds what one folder held; `below` are the folders to visit next.
    fn add(
        &mut self,
        visit: &Visit,
        scanned: ScannedFolder,
        number: usize,
        levels: &[Vec<Visited>],
        below: &mut Vec<Visit>,
    ) -> Option<Visited> {
        let name = self.name(visit.path.name());
        let mut visited = Visited {
            identity: (0, 0),
            parent: visit.parent,
            stamp: Stamp::UNSURE,
            files: Vec::new(),
            before: visit.before.clone(),
            name,
        };
        let listing = match scanned {
            ScannedFolder::Same(identity, files) => {
                let before = visit.before.as_ref()?;
                visited.identity = identity;
                self.entries += files.len() + before.folders().len();
                visited.stamp = before.stamp;
                visited.files = files;
                for (name, folder) in before.folders() {
                    let path = visit.path.child(name).ok()?;
                    below.push(Visit {
                        path,
                        before: Some(Arc::clone(folder)),
                        parent: number,
                        linked: false,
                    });
                }
                return Some(visited);
            }
            ScannedFolder::Refused(error) => {
                self.refused(visit.path.as_str(), &error);
                return None;
            }
            ScannedFolder::Read(listing) => listing,
        };
        if let Some((code, message)) = self.met_before(visit, &listing, levels) {
            self.found(visit.path.as_str(), code, message);
            self.walked.whole_only = true;
            return None;
        }
        self.watched(&visit.path, listing.watch);
        visited.identity = listing.identity;
        visited.stamp = listing.stamp;
        for (name, listed) in listing.entries {
            if self.is_over(visit) {
                visited.stamp = Stamp::UNSURE;
                break;
            }
            let unusable = match name.to_str().map(|name| visit.path.child(name)) {
                Some(Ok(path)) => {
                    self.entry(visit, path, listed, number, &mut visited, below);
                    continue;
                }
                Some(Err(_)) => "the name holds control characters; not served",
                None => "the name is not UTF-8; not served",
            };
            let slash = if visit.path.is_root() { "" } else { "/" };
            let shown = format!("{}{slash}{}", visit.path, name.to_string_lossy());
            visited.stamp = Stamp::UNSURE;
            self.found(&shown, Code::NameUnusable, unusable);
        }
        Some(visited)
    }

    /// Whether a folder is too deep, or was visited before.
    fn met_before(
        &mut self,
        visit: &Visit,
        listing: &Listing,
        levels: &[Vec<Visited>],
    ) -> Option<(Code, String)> {
        if visit.path.segments().count() >= MAX_DEPTH {
            let message = format!("lies deeper than {MAX_DEPTH} folders; not scanned");
            return Some((Code::TooDeep, message));
        }
        if !visit.linked {
            return None;
        }
        self.walked.whole_only = true;
        if self.queue.is_some() && self.root.is_remote(&visit.path) {
            let error = io::Error::other("a link leads to a disk of another machine");
            self.walked.unwatched.get_or_insert(error);
        }
        let mut above = levels.iter().rev().scan(visit.parent, |number, level| {
            let visited = level.get(*number)?;
            *number = visited.parent;
            Some(visited.identity)
        });
        if above.any(|above| above == listing.identity) {
            let message = "a symbolic link to a folder above it; not followed".to_owned();
            return Some((Code::LinkLoop, message));
        }
        let visits = self.visits.entry(listing.identity).or_default();
        *visits += 1;
        (*visits > MAX_VISITS).then(|| {
            let message = "one of too many links to the same folder; not followed".to_owned();
            (Code::LinkLoop, message)
        })
    }

    fn entry(
        &mut self,
        visit: &Visit,
        path: RelPath,
        listed: ListedEntry,
        number: usize,
        visited: &mut Visited,
        below: &mut Vec<Visit>,
    ) {
        match listed {
            ListedEntry::File { bytes, stamp, linked } => {
                if linked {
                    // The folder's stamp does not change with the target of its link.
                    visited.stamp = Stamp::UNSURE;
                    let watch = self.queue.and_then(|queue| self.root.watch(&path, queue));
                    // What we may not read cannot be watched, and is not served either.
                    let matters = |watch: &io::Result<_>| match watch {
                        Ok(_) => true,
                        Err(error) => Queue::is_exhausted(error),
                    };
                    self.watched(&path, watch.filter(matters));
                    self.link(&path, true);
                }
                let name = self.name(path.name());
                visited.files.push((name, FileEntry::Regular { bytes, stamp }));
            }
            ListedEntry::Special => {
                // Reading it fails with a message.
                visited.stamp = Stamp::UNSURE;
                visited.files.push((self.name(path.name()), FileEntry::Special));
            }
            ListedEntry::Folder { .. } if is_skipped(path.name()) => {}
            ListedEntry::Folder { linked } => {
                if SkillPath::of_file(&path).is_some() {
                    let message = "is a folder named like a skill's file";
                    self.found(path.as_str(), Code::NotRegular, message);
                    visited.stamp = Stamp::UNSURE;
                }
                if linked {
                    visited.stamp = Stamp::UNSURE;
                    self.link(&path, true);
                }
                let linked = linked || visit.linked;
                let before =
                    visit.before.as_ref().and_then(|before| before.own_folder(path.name()));
                let before = before.filter(|_| !linked).cloned();
                below.push(Visit { path, before, parent: number, linked });
            }
            ListedEntry::Dangling(target) => {
                visited.stamp = Stamp::UNSURE;
                // It may lead somewhere once something else is there; then its target differs at the next comparison.
                self.walked.whole_only = true;
                self.link(&path, false);
                let target = target.display();
                let message = format!("is a symbolic link to `{target}`, which does not exist");
                let finding = Finding::whole(Code::Unreadable, message);
                let finding = finding.hint("remove the link, or correct it");
                self.walked.findings.push((escaped(path.as_str()), finding));
            }
            ListedEntry::Refused(error) => {
                visited.stamp = Stamp::UNSURE;
                // A link that leads nowhere may lead somewhere once something else is there.
                self.walked.whole_only |=
                    matches!(error, DiskError::NotFound | DiskError::Link(_) | DiskError::NotSkill);
                if matches!(error, DiskError::NotSkill) {
                    self.watch_refused(&path);
                }
                // What was missing a moment ago may be there by now; then the link's target differs at the next comparison.
                self.link(&path, !matches!(error, DiskError::NotFound));
                self.refused(path.as_str(), &error);
            }
        }
    }

    /// Whether there are too many entries; reported once.
    fn is_over(&mut self, visit: &Visit) -> bool {
        self.entries += 1;
        self.linked += usize::from(visit.linked);
        let message = if self.entries > MAX_ENTRIES {
            format!("more than {MAX_ENTRIES} files and folders; the rest is not scanned")
        } else if visit.linked && self.linked > MAX_LINKED_ENTRIES {
            format!(
                "links lead to more than {MAX_LINKED_ENTRIES} files and folders; the rest is not scanned"
            )
        } else {
            return false;
        };
        if !self.is_over_reported {
            self.is_over_reported = true;
            self.found("", Code::TooMany, message);
            self.walked.whole_only = true;
        }
        true
    }

    fn watched(&mut self, path: &RelPath, watch: Option<io::Result<Descriptor>>) {
        match watch {
            Some(Ok(watch)) => self.walked.watches.push((watch, path.clone())),
            Some(Err(error)) => self.walked.unwatched = Some(error),
            None => {}
        }
    }

    /// Watches what is no skill yet and may become one. If it cannot be watched, nothing else depends on it.
    fn watch_refused(&mut self, path: &RelPath) {
        let Some(queue) = self.queue else { return };
        for (path, watch) in self.root.watch_refused(path, queue) {
            self.watched(&path, Some(watch).filter(Result::is_ok));
        }
    }

    fn link(&mut self, path: &RelPath, somewhere: bool) {
        if self.queue.is_some() {
            let leads = if somewhere { self.root.target_identity(path) } else { None };
            self.walked.links.push((path.clone(), leads));
        }
    }

    /// Of a name that many files have, one copy is enough.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let known: Arc<str> = name.into();
        self.names.insert(Arc::clone(&known));
        known
    }

    fn refused(&mut self, file: &str, error: &DiskError) {
        let is_link = matches!(error, DiskError::Link(_) | DiskError::NotSkill);
        let code = if is_link { Code::LinkRefused } else { Code::Unreadable };
        self.found(file, code, error.to_string());
    }

    fn found(&mut self, file: &str, code: Code, message: impl Into<String>) {
        self.walked.findings.push((escaped(file), hint::finding(code, message)));
    }
}

/// Whether a folder of this name is skipped.
pub(super) fn is_skipped(name: &str) -> bool {
    SKIPPED.contains(&name)
}
