//! Makes one listing of the folders that a walk visited, level by level. What stayed the same is shared with the listing
//! before. Not here: the walk.

use std::sync::Arc;

use skills_core::catalog::{FileEntry, Folder, Stamp};

use super::disk::FileIdentity;

/// A file by its name.
pub(super) type File = (Arc<str>, FileEntry);
/// A folder by its name.
type Below = (Arc<str>, Arc<Folder>);

/// A folder that was visited.
pub(super) struct Visited {
    pub(super) identity: FileIdentity,
    pub(super) parent: usize,
    pub(super) stamp: Stamp,
    pub(super) files: Vec<File>,
    pub(super) before: Option<Arc<Folder>>,
    pub(super) name: Arc<str>,
}

/// Puts folders into those that they are in, from the deepest level up.
pub(super) fn assembled(mut levels: Vec<Vec<Visited>>) -> Arc<Folder> {
    let mut below: Vec<(usize, Arc<str>, Arc<Folder>)> = Vec::new();
    while let Some(level) = levels.pop() {
        let mut inside: Vec<Vec<Below>> = vec![Vec::new(); level.len()];
        for (parent, name, folder) in below {
            if let Some(inside) = inside.get_mut(parent) {
                inside.push((name, folder));
            }
        }
        let folder = |(visited, inside): (Visited, Vec<Below>)| {
            let folder = Folder::new(visited.files, inside, visited.stamp);
            let same = visited.before.filter(|before| is_same(before, &folder));
            (visited.parent, visited.name, same.unwrap_or_else(|| Arc::new(folder)))
        };
        below = level.into_iter().zip(inside).map(folder).collect();
    }
    below.pop().map(|(_, _, folder)| folder).unwrap_or_default()
}

/// Whether two listings of a folder are the same; folders below them are, if they are the very same.
pub(super) fn is_same(before: &Folder, now: &Folder) -> bool {
    let same_file = |(a, b): (&File, &File)| a.0 == b.0 && a.1.is_same(b.1);
    let same_folder = |(a, b): (&Below, &Below)| Arc::ptr_eq(&a.1, &b.1) && a.0 == b.0;
    before.stamp == now.stamp
        && before.files().len() == now.files().len()
        && before.folders().len() == now.folders().len()
        && before.files().iter().zip(now.files()).all(same_file)
        && before.folders().iter().zip(now.folders()).all(same_folder)
}
