//! [`Folder`]: a source's files as the scan listed them. Changed copies share every folder that did not change.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::relpath::RelPath;

/// A folder as it was listed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// Its files, by name.
    files: Vec<(Arc<str>, FileEntry)>,
    /// Its folders, by name.
    folders: Vec<(Arc<str>, Arc<Folder>)>,
    /// The stamp of the folder itself.
    pub stamp: Stamp,
}

/// A file of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileEntry {
    /// A regular file.
    Regular {
        /// Its size when it was listed.
        bytes: u64,
        /// Its stamp when it was listed.
        stamp: Stamp,
    },
    /// A FIFO, socket or device: never opened.
    Special,
}

/// A fingerprint of a file's metadata. It differs where the content differs, unless the disk's clock is too coarse.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(u64);

impl Stamp {
    /// Too little is known: the content may be the same as before, or not.
    pub const UNSURE: Self = Self(0);

    /// The stamp of these numbers.
    pub fn of(known: &[i128]) -> Self {
        let mut hasher = DefaultHasher::new();
        known.hash(&mut hasher);
        Self(hasher.finish().max(1))
    }

    /// Whether the content is certainly the same.
    pub fn is_same(self, other: Self) -> bool {
        self == other && self != Self::UNSURE
    }
}

impl FileEntry {
    /// Its size when it was listed; zero for what is never opened.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Regular { bytes, .. } => bytes,
            Self::Special => 0,
        }
    }

    /// Whether the content is certainly the same.
    pub fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Regular { bytes: a, stamp: x }, Self::Regular { bytes: b, stamp: y }) => {
                a == b && x.is_same(y)
            }
            (Self::Special, Self::Special) => true,
            (Self::Regular { .. }, Self::Special) | (Self::Special, Self::Regular { .. }) => false,
        }
    }

    /// Whether the content certainly differs.
    fn is_changed_from(self, before: Self) -> bool {
        match (self, before) {
            (Self::Regular { bytes: a, stamp: x }, Self::Regular { bytes: b, stamp: y }) => {
                a != b || (y != Stamp::UNSURE && x != y)
            }
            (Self::Special, Self::Special) => false,
            (Self::Regular { .. }, Self::Special) | (Self::Special, Self::Regular { .. }) => true,
        }
    }
}

/// An item of a folder.
#[derive(Debug, Clone)]
pub enum FolderItem {
    /// Anything but a folder.
    File(FileEntry),
    /// A folder with everything below it.
    Folder(Arc<Folder>),
}

impl Folder {
    /// A folder of these files and folders, in any order; names are those of one directory, so each occurs once.
    pub fn new(
        mut files: Vec<(Arc<str>, FileEntry)>,
        mut folders: Vec<(Arc<str>, Arc<Self>)>,
        stamp: Stamp,
    ) -> Self {
        files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        folders.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        files.shrink_to_fit();
        folders.shrink_to_fit();
        Self { files, folders, stamp }
    }

    /// Whether every stamp in it is known.
    pub fn is_sure(&self) -> bool {
        let is_sure = |entry: &FileEntry| match entry {
            FileEntry::Regular { stamp, .. } => *stamp != Stamp::UNSURE,
            FileEntry::Special => true,
        };
        self.files.iter().all(|(_, entry)| is_sure(entry))
            && self.folders.iter().all(|(_, folder)| folder.is_sure())
    }

    /// Its files, by name.
    pub fn files(&self) -> &[(Arc<str>, FileEntry)] {
        &self.files
    }

    /// Its folders, by name.
    pub fn folders(&self) -> &[(Arc<str>, Arc<Self>)] {
        &self.folders
    }

    /// The file of this name in it.
    pub fn own_file(&self, name: &str) -> Option<FileEntry> {
        let found = self.files.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.files.get(found).map(|(_, entry)| *entry)
    }

    /// The folder of this name in it.
    pub fn own_folder(&self, name: &str) -> Option<&Arc<Self>> {
        let found = self.folders.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.folders.get(found).map(|(_, folder)| folder)
    }

    /// The folder at this path below this one.
    pub fn folder(&self, path: &RelPath) -> Option<&Self> {
        path.segments().try_fold(self, |folder, name| folder.own_folder(name).map(|below| &**below))
    }

    /// The file at this path below this one.
    pub fn file(&self, path: &RelPath) -> Option<FileEntry> {
        let (folder, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let mut names = folder.split('/').filter(|name| !name.is_empty());
        names
            .try_fold(self, |folder, name| folder.own_folder(name).map(|below| &**below))?
            .own_file(name)
    }

    /// Every file at or below this folder, by path.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths = Vec::new();
        self.collect(&RelPath::root(), &mut paths);
        paths
    }

    fn collect(&self, path: &RelPath, paths: &mut Vec<RelPath>) {
        paths.extend(self.files.iter().filter_map(|(name, _)| path.child(name).ok()));
        for (name, below) in &self.folders {
            if let Ok(below_path) = path.child(name) {
                below.collect(&below_path, paths);
            }
        }
    }

    /// The folder without these files and folders below it, and without folders that are empty then.
    pub(super) fn without(&self, left_out: &HashSet<RelPath>) -> Self {
        self.without_below(&RelPath::root(), left_out)
    }

    fn without_below(&self, path: &RelPath, left_out: &HashSet<RelPath>) -> Self {
        let kept = |name: &str| path.child(name).ok().filter(|path| !left_out.contains(path));
        let files = self.files.iter().filter(|(name, _)| kept(name).is_some()).cloned().collect();
        let folder = |(name, below): &(Arc<str>, Arc<Self>)| {
            let below = below.without_below(&kept(name)?, left_out);
            let is_empty = below.files.is_empty() && below.folders.is_empty();
            (!is_empty).then(|| (Arc::clone(name), Arc::new(below)))
        };
        let folders = self.folders.iter().filter_map(folder).collect();
        Self { files, folders, stamp: self.stamp }
    }

    /// Whether something at any depth certainly differs. A stamp that is unknown now counts as a change; one that was
    /// unknown before does not, because the change was reported then.
    pub fn is_changed_from(&self, before: &Self) -> bool {
        let mut files = self.files.iter().zip(&before.files);
        let mut folders = self.folders.iter().zip(&before.folders);
        self.files.len() != before.files.len()
            || self.folders.len() != before.folders.len()
            || files.any(|(now, was)| now.0 != was.0 || now.1.is_changed_from(was.1))
            || folders.any(|(now, was)| {
                now.0 != was.0 || (!Arc::ptr_eq(&now.1, &was.1) && now.1.is_changed_from(&was.1))
            })
    }

    /// Sets or removes the item at a path; missing folders on the way are created. Copies that share folders with this
    /// one stay as they are.
    pub fn put(&mut self, path: &RelPath, node: Option<FolderItem>) {
        let mut folder = self;
        for name in path.folder().segments() {
            let at = match folder.folders.binary_search_by(|(own, _)| (**own).cmp(name)) {
                Ok(found) => found,
                Err(missing) => {
                    folder.folders.insert(missing, (name.into(), Arc::default()));
                    missing
                }
            };
            folder.stamp = Stamp::UNSURE;
            let Some((_, below)) = folder.folders.get_mut(at) else { return };
            folder = Arc::make_mut(below);
        }
        folder.stamp = Stamp::UNSURE;
        folder.put_own(path.name(), node);
    }

    fn put_own(&mut self, name: &str, node: Option<FolderItem>) {
        let file = self.files.binary_search_by(|(own, _)| (**own).cmp(name));
        let folder = self.folders.binary_search_by(|(own, _)| (**own).cmp(name));
        match (file, &node) {
            (Ok(at), Some(FolderItem::File(entry))) => {
                if let Some((_, own)) = self.files.get_mut(at) {
                    *own = *entry;
                }
            }
            (Ok(at), _) => drop(self.files.remove(at)),
            (Err(at), Some(FolderItem::File(entry))) => {
                self.files.insert(at, (name.into(), *entry));
            }
            (Err(_), _) => {}
        }
        match (folder, node) {
            (Ok(at), Some(FolderItem::Folder(new))) => {
                if let Some((_, own)) = self.folders.get_mut(at) {
                    *own = new;
                }
            }
            (Ok(at), _) => drop(self.folders.remove(at)),
            (Err(at), Some(FolderItem::Folder(new))) => self.folders.insert(at, (name.into(), new)),
            (Err(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_changed_copy_shares_the_folders_beside_the_change() {
        let file = || Some(FolderItem::File(FileEntry::Special));
        let mut root = Folder::default();
        for name in ["a/b/x", "a/c/y", "d/z"] {
            root.put(&path(name), file());
        }
        let before = root.clone();
        root.put(&path("a/b/new"), file());
        let folder = |root: &Folder, name: &str| Arc::as_ptr(root.own_folder(name).unwrap());
        assert_eq!(folder(&root, "d"), folder(&before, "d"));
        assert_ne!(folder(&root, "a"), folder(&before, "a"));
        assert!(before.file(&path("a/b/new")).is_none());
        root.put(&path("a/b/new"), None);
        root.put(&path("a/c"), file());
        let names: Vec<String> = root.paths().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a/c", "a/b/x", "d/z"]);
    }

    #[test]
    fn a13_a_folder_is_changed_by_any_file_and_not_by_knowing_more_of_it() {
        let with = |stamp, bytes| {
            let mut root = Folder::default();
            root.put(&path("a/b"), Some(FolderItem::File(FileEntry::Regular { bytes, stamp })));
            root
        };
        let (one, two) = (Stamp::of(&[1]), Stamp::of(&[2]));
        assert!(!with(one, 5).is_changed_from(&with(one, 5)));
        assert!(with(two, 5).is_changed_from(&with(one, 5)));
        assert!(with(one, 6).is_changed_from(&with(one, 5)));
        assert!(with(Stamp::UNSURE, 5).is_changed_from(&with(one, 5)));
        assert!(!with(one, 5).is_changed_from(&with(Stamp::UNSURE, 5)));
        let mut more = with(one, 5);
        more.put(&path("a/c/d"), Some(FolderItem::File(FileEntry::Special)));
        assert!(more.is_changed_from(&with(one, 5)) && with(one, 5).is_changed_from(&more));
    }

    #[test]
    fn what_is_unsure_is_never_the_same() {
        let file = |stamp| FileEntry::Regular { bytes: 1, stamp };
        assert!(file(Stamp::of(&[1])).is_same(file(Stamp::of(&[1]))));
        assert!(!file(Stamp::of(&[1])).is_same(file(Stamp::of(&[2]))));
        assert!(!file(Stamp::UNSURE).is_same(file(Stamp::UNSURE)));
    }
}
