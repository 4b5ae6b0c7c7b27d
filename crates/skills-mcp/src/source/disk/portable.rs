//! The door where there is no `openat2`: `cap-std` resolves paths below the root's handle.

#![cfg_attr(
    target_os = "linux",
    expect(unreachable_pub, reason = "on Linux this door is only tested")
)]

use std::{
    collections::hash_map::DefaultHasher,
    ffi::OsStr,
    hash::{Hash as _, Hasher as _},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, Metadata},
};
use skills_core::relpath::RelPath;

use super::{DiskError, Links, Listed, Listing, secret::is_secret};

/// A source's folder, open.
#[derive(Debug)]
pub struct Root {
    folder: Dir,
    path: PathBuf,
    /// The source below that folder. Links may lead anywhere below the folder, not only below the source.
    inside: RelPath,
    links: Links,
}

impl Root {
    /// Opens a folder that the operator named; links on the way to it are the operator's.
    pub fn open(path: &Path, links: Links) -> Result<Self, DiskError> {
        Self::within(path, RelPath::root(), links)
    }

    /// Opens a source `inside` a folder that its links may not leave.
    pub fn within(boundary: &Path, inside: RelPath, links: Links) -> Result<Self, DiskError> {
        let path = boundary.canonicalize().map_err(said)?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority()).map_err(said)?;
        Ok(Self { folder, path, inside, links })
    }

    /// The file's bytes, at most `limit` of them.
    pub fn read(&self, path: &RelPath, limit: usize) -> Result<Vec<u8>, DiskError> {
        let (folder, name) = self.resolve(path)?;
        // Looked at before it is opened, because opening a FIFO would wait for ever.
        let found = folder.metadata(&name).map_err(said)?;
        if !found.is_file() {
            return Err(DiskError::NotRegular);
        }
        if found.len() > limit as u64 {
            return Err(DiskError::TooLarge { limit, bytes: found.len() });
        }
        let file = folder.open(&name).map_err(said)?;
        if !file.metadata()?.is_file() {
            return Err(DiskError::NotRegular);
        }
        let mut content = Vec::new();
        file.take(limit as u64 + 1).read_to_end(&mut content)?;
        if content.len() > limit {
            return Err(DiskError::TooLarge { limit, bytes: content.len() as u64 });
        }
        Ok(content)
    }

    /// What lies in a folder.
    #[cfg_attr(test, expect(dead_code, reason = "tests on Linux walk through the other door"))]
    pub(in crate::source) fn list(&self, path: &RelPath) -> Result<Listing, DiskError> {
        let (folder, name) = self.resolve(path)?;
        let mut hasher = DefaultHasher::new();
        folder.canonicalize(&name).map_err(said)?.hash(&mut hasher);
        let mut entries = Vec::new();
        for entry in folder.read_dir(&name).map_err(said)? {
            let entry = entry.map_err(said)?;
            let found = entry.metadata().map_err(said)?;
            let listed = if found.is_symlink() {
                self.linked(path, &entry.file_name())
            } else {
                kind(&found)
            };
            entries.push((entry.file_name(), listed));
        }
        Ok(Listing { identity: (0, hasher.finish()), entries })
    }

    fn linked(&self, folder: &RelPath, name: &OsStr) -> Listed {
        let resolved = match name.to_str().and_then(|name| folder.child(name).ok()) {
            Some(path) => self.resolve(&path),
            None => Err(DiskError::NotFound),
        };
        match resolved.and_then(|(folder, name)| folder.metadata(name).map_err(said)) {
            Ok(found) => kind(&found),
            Err(error) => Listed::Refused(error),
        }
    }

    /// A folder's handle and a name below it that holds no link left to judge.
    fn resolve(&self, path: &RelPath) -> Result<(Dir, PathBuf), DiskError> {
        let path = self.inside.join(path);
        let name = PathBuf::from(if path.is_root() { "." } else { path.as_str() });
        if self.links == Links::Refuse {
            self.refuse_links(&name)?;
        }
        match self.folder.canonicalize(&name) {
            Ok(inside) if inside.as_os_str().is_empty() => {
                Ok((self.folder.try_clone()?, ".".into()))
            }
            Ok(inside) => Ok((self.folder.try_clone()?, inside)),
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && self.links == Links::Follow =>
            {
                self.follow(&name)
            }
            Err(error) => Err(said(error)),
        }
    }

    fn refuse_links(&self, name: &Path) -> Result<(), DiskError> {
        for part in name.ancestors().filter(|part| !part.as_os_str().is_empty()) {
            if self.folder.symlink_metadata(part).map_err(said)?.is_symlink() {
                return Err(DiskError::Link("somewhere, and links are not allowed here"));
            }
        }
        Ok(())
    }

    /// Follows a link that leaves the root, unless it leads to a secret.
    fn follow(&self, name: &Path) -> Result<(Dir, PathBuf), DiskError> {
        let target = self.path.join(name).canonicalize().map_err(said)?;
        if is_secret(&target, &self.path) {
            return Err(DiskError::Link("to credentials or system files"));
        }
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(DiskError::NotFound);
        };
        let folder = Dir::open_ambient_dir(folder, ambient_authority()).map_err(said)?;
        Ok((folder, name.into()))
    }
}

fn kind(found: &Metadata) -> Listed {
    if found.is_file() {
        Listed::File { bytes: found.len() }
    } else if found.is_dir() {
        Listed::Folder
    } else {
        Listed::Special
    }
}

fn said(error: io::Error) -> DiskError {
    let is = |kind| error.kind() == kind;
    if is(io::ErrorKind::NotFound) || is(io::ErrorKind::NotADirectory) {
        DiskError::NotFound
    } else if is(io::ErrorKind::PermissionDenied) {
        DiskError::Link("outside its source")
    } else if error.to_string().contains("symbolic link") {
        // The kind of this error is not stable yet.
        DiskError::Link("in a circle")
    } else {
        DiskError::Io(error)
    }
}
