//! Scans single names of a source, which the watch has reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
};

use skills_core::{
    catalog::{FileEntry, FolderItem, SkillPath, Stamp},
    diagnostic::escaped,
    relpath::RelPath,
};

use super::ScannedSource;
use crate::source::{
    disk::{DiskError, ListedEntry},
    walk::is_skipped,
    watch::{Watch, is_at_or_below},
};

impl ScannedSource {
    /// Scans single names: a file is read again, a folder walked.
    pub(super) fn scan_paths(
        &mut self,
        number: usize,
        paths: &[RelPath],
        mut watch: Option<&mut Watch>,
    ) -> Option<io::Error> {
        let root = Arc::clone(self.root.as_ref()?);
        let mut scanned: BTreeMap<&RelPath, ScannedPath> = BTreeMap::new();
        let mut done: Option<&RelPath> = None;
        for path in paths {
            let inside = done.is_some_and(|done| is_at_or_below(path, done));
            let above = self.folder.folder(&path.folder());
            let (false, Some(above)) = (inside, above) else { continue };
            let was_folder = above.own_folder(path.name()).is_some();
            let was_there = was_folder || above.own_file(path.name()).is_some();
            let listed = root.entry_at(path).filter(|listed| !is_ignored(path, listed));
            // A file that came and went in between is no change.
            self.changes += u64::from(was_there || listed.is_some());
            if was_folder && let Some(watch) = &mut watch {
                watch.forget(number, path);
            }
            let found = ScannedPath::of(path, listed.as_ref());
            done = if matches!(found, ScannedPath::Folder) { Some(path) } else { done };
            scanned.insert(path, found);
        }
        self.forget_below(&scanned.keys().copied().cloned().collect());
        let mut trouble = None;
        let mut unusual: Vec<&RelPath> = Vec::new();
        for (path, found) in scanned {
            match found {
                ScannedPath::Gone => self.put(path, None),
                ScannedPath::File(entry) => self.put(path, Some(FolderItem::File(entry))),
                ScannedPath::Unusual if self.has_folder_of(path) => unusual.push(path),
                ScannedPath::Folder if self.has_folder_of(path) => {
                    match self.rewalk(&root, number, path, watch.as_deref_mut()) {
                        Ok(unwatched) => trouble = trouble.or(unwatched),
                        // Removed meanwhile: the next event reports it.
                        Err(DiskError::NotFound) => self.put(path, None),
                        // Not readable, which is a finding of the walk of its folder.
                        Err(_) => unusual.push(path),
                    }
                }
                // The folder that it was in is gone; what is there now is reported by the next events.
                ScannedPath::Unusual | ScannedPath::Folder => {}
            }
        }
        // Each folder is walked once, though any number of links in it may lead to the one file that was written.
        let folders: BTreeSet<RelPath> = unusual.iter().map(|path| path.folder()).collect();
        for folder in folders.iter().filter(|folder| !is_inside_one(folder, &folders)) {
            if let Ok(unwatched) = self.rewalk(&root, number, folder, watch.as_deref_mut()) {
                trouble = trouble.or(unwatched);
            } else {
                let gone = unusual.iter().filter(|path| is_at_or_below(path, folder));
                gone.for_each(|path| self.put(path, None));
            }
        }
        self.give_up(number, trouble.as_ref(), watch);
        trouble
    }

    /// Puts what was found at a path in its place, unless the folder that it is in is gone.
    fn put(&mut self, path: &RelPath, item: Option<FolderItem>) {
        if self.has_folder_of(path) {
            Arc::make_mut(&mut self.folder).put(path, item);
        }
    }

    fn has_folder_of(&self, path: &RelPath) -> bool {
        self.folder.folder(&path.folder()).is_some()
    }

    /// Forgets the findings and links of these paths and of everything below them.
    fn forget_below(&mut self, paths: &BTreeSet<RelPath>) {
        let shown: BTreeSet<String> = paths.iter().map(|path| escaped(path.as_str())).collect();
        self.findings.retain(|(file, _)| {
            let mut above = file.match_indices('/').filter_map(|(at, _)| file.get(..at));
            !shown.contains(&**file) && !above.any(|above| shown.contains(above))
        });
        self.links.retain(|(link, _)| !paths.contains(link) && !is_inside_one(link, paths));
    }
}

/// What a scan of a single name found.
enum ScannedPath {
    Gone,
    File(FileEntry),
    /// A folder, to be walked.
    Folder,
    /// Whatever is out of the ordinary is found by walking the folder that it is in.
    Unusual,
}

impl ScannedPath {
    fn of(path: &RelPath, listed: Option<&ListedEntry>) -> Self {
        match listed {
            None => Self::Gone,
            // The watch reported it, so it is read again, whatever its times say.
            Some(ListedEntry::File { bytes, linked: false, .. }) => {
                Self::File(FileEntry::Regular { bytes: *bytes, stamp: Stamp::UNSURE })
            }
            // A folder named like a skill's file is a finding of its folder's walk.
            Some(ListedEntry::Folder { linked: false }) if SkillPath::of_file(path).is_none() => {
                Self::Folder
            }
            Some(
                ListedEntry::File { .. }
                | ListedEntry::Folder { .. }
                | ListedEntry::Special
                | ListedEntry::Dangling(_)
                | ListedEntry::Refused(_),
            ) => Self::Unusual,
        }
    }
}

/// Whether one of these is a folder above a path.
fn is_inside_one(path: &RelPath, folders: &BTreeSet<RelPath>) -> bool {
    let mut path = path.clone();
    while !path.is_root() {
        path = path.folder();
        if folders.contains(&path) {
            return true;
        }
    }
    false
}

/// Whether a path leads to or through a tool's own folder; a file may be called as it likes.
fn is_ignored(path: &RelPath, listed: &ListedEntry) -> bool {
    let is_folder = matches!(listed, ListedEntry::Folder { .. });
    path.folder().segments().any(is_skipped) || (is_folder && is_skipped(path.name()))
}
