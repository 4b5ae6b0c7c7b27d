//! [`Root`] where there is no `openat2`: `cap-std` resolves paths below the root's handle.

#![cfg_attr(
    target_os = "linux",
    expect(unreachable_pub, dead_code, reason = "on Linux this file is only tested")
)]
#![expect(clippy::disallowed_methods, reason = "this file resolves paths of content")]

use std::{
    collections::hash_map::DefaultHasher,
    ffi::OsStr,
    hash::{Hash as _, Hasher as _},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, Metadata},
    time::SystemTime,
};
use skills_core::{catalog::Stamp, document::Dialect, relpath::RelPath};

use super::{
    DiskError, EntryMetadata, FileIdentity, LinkPolicy, Links, ListedEntry, Listing,
    link::{self, FolderView, LinkTarget, MAX_PROBED_BYTES},
    secret::is_secret,
    stamp,
};
use crate::source::watch::{Descriptor, Queue};

/// A source's folder, open.
#[derive(Debug)]
pub struct Root {
    folder: Dir,
    path: PathBuf,
    /// The source below that folder. Links may lead anywhere below the folder, not only below the source.
    inside: RelPath,
    links: Links,
    policy: Arc<LinkPolicy>,
}

impl Root {
    /// Opens a folder that the operator named; links on the way to it are the operator's.
    pub fn open(path: &Path, links: Links) -> Result<Self, DiskError> {
        Self::within(path, RelPath::root(), links)
    }

    /// Opens a source `inside` a folder that its links may not leave.
    pub fn within(boundary: &Path, inside: RelPath, links: Links) -> Result<Self, DiskError> {
        let path = boundary.canonicalize().map_err(disk_error)?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority()).map_err(disk_error)?;
        Ok(Self { folder, path, inside, links, policy: Arc::default() })
    }

    /// An error where the last part of the path to this root is a link that leads to credentials, or above itself: content may
    /// put such a link in place of the folder that the operator named.
    pub fn reached_by(self, path: &Path) -> Result<Self, DiskError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(self) };
        let above = above.canonicalize().map_err(disk_error)?;
        if self.path != above.join(name) {
            self.policy.check_root(&self.path, &above)?;
        }
        Ok(self)
    }

    /// Sets the operator's policy on links.
    #[must_use]
    pub fn with_policy(mut self, policy: Arc<LinkPolicy>) -> Self {
        self.policy = policy;
        self
    }

    /// The folder at a path of this root, as a root of its own.
    pub fn descend(self, path: &RelPath) -> Result<Self, DiskError> {
        let (above, name) = self.resolve(path)?;
        let folder = above.open_dir(name).map_err(disk_error)?;
        let path = self.path.join(self.inside.join(path).as_str());
        let path = path.canonicalize().map_err(disk_error)?;
        Ok(Self { folder, path, inside: RelPath::root(), ..self })
    }

    /// The file's bytes, at most `limit` of them.
    pub fn read(&self, path: &RelPath, limit: usize) -> Result<Vec<u8>, DiskError> {
        let (folder, name) = self.resolve(path)?;
        bytes_of(&folder, &name, limit)
    }

    /// When a file was last modified, in seconds since 1970 began.
    pub fn modified(&self, path: &RelPath) -> Option<i64> {
        let (folder, name) = self.resolve(path).ok()?;
        let modified = folder.metadata(&name).ok()?.modified().ok()?.into_std();
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    }

    /// The entries of a folder.
    pub(in crate::source) fn list(
        &self,
        path: &RelPath,
        _: Option<&Queue>,
    ) -> Result<Listing, DiskError> {
        let (folder, name) = self.resolve(path)?;
        let mut hasher = DefaultHasher::new();
        folder.canonicalize(&name).map_err(disk_error)?.hash(&mut hasher);
        let stamp = fingerprint(&folder.metadata(&name).map_err(disk_error)?);
        let mut entries = Vec::new();
        for entry in folder.read_dir(&name).map_err(disk_error)? {
            let entry = entry.map_err(disk_error)?;
            let found = entry.metadata().map_err(disk_error)?;
            let listed = if found.is_symlink() {
                self.linked_entry(path, &entry.file_name())
                    .of_link(|| folder.read_link_contents(name.join(entry.file_name())).ok())
            } else {
                listed_entry(&found, false)
            };
            entries.push((entry.file_name(), listed));
        }
        Ok(Listing { identity: (0, hasher.finish()), stamp, watch: None, entries })
    }

    /// The entry at a path, if there is one.
    pub(in crate::source) fn entry_at(&self, path: &RelPath) -> Option<ListedEntry> {
        if path.is_root() {
            return Some(ListedEntry::Folder { linked: false });
        }
        let (folder, name) = self.resolve(&path.folder()).ok()?;
        let found = folder.symlink_metadata(name.join(path.name())).ok()?;
        Some(if found.is_symlink() {
            self.linked_entry(&path.folder(), OsStr::new(path.name()))
                .of_link(|| folder.read_link_contents(name.join(path.name())).ok())
        } else {
            listed_entry(&found, false)
        })
    }

    /// The metadata at a path, links not followed. A hint, to compare with an earlier one.
    pub(in crate::source) fn metadata(&self, path: &RelPath) -> Option<EntryMetadata> {
        let path = self.inside.join(path);
        let name = if path.is_root() { "." } else { path.as_str() };
        let found = self.folder.symlink_metadata(name).ok()?;
        let identity = folder_identity(&self.path.join(name)).unwrap_or_default();
        Some(EntryMetadata { bytes: found.len(), stamp: fingerprint(&found), identity })
    }

    /// Only a watch needs it, and there is none here.
    #[expect(clippy::unused_self, reason = "the signature is that of Linux")]
    pub(in crate::source) fn target_identity(&self, _: &RelPath) -> Option<FileIdentity> {
        None
    }

    /// There is no watch here.
    #[expect(clippy::unused_self, reason = "the signature is that of Linux")]
    pub(in crate::source) fn watch(
        &self,
        _: &RelPath,
        _: &Queue,
    ) -> Option<io::Result<Descriptor>> {
        None
    }

    /// There is no watch here.
    #[expect(clippy::unused_self, reason = "the signature is that of Linux")]
    pub(in crate::source) fn watch_refused(
        &self,
        _: &RelPath,
        _: &Queue,
    ) -> Vec<(RelPath, io::Result<Descriptor>)> {
        Vec::new()
    }

    /// Only a watch needs it, and there is none here.
    #[expect(clippy::unused_self, reason = "the signature is that of Linux")]
    pub(in crate::source) fn is_remote(&self, _: &RelPath) -> bool {
        false
    }

    fn linked_entry(&self, folder: &RelPath, name: &OsStr) -> ListedEntry {
        let resolved = match name.to_str().and_then(|name| folder.child(name).ok()) {
            Some(path) => self.resolve(&path),
            None => Err(DiskError::NotFound),
        };
        match resolved.and_then(|(folder, name)| folder.metadata(name).map_err(disk_error)) {
            Ok(found) => listed_entry(&found, true),
            Err(error) => ListedEntry::Refused(error),
        }
    }

    /// A folder's handle and a path below it without links that leave it.
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
            Ok(inside) if inside != name && is_secret(&self.path.join(&inside), &self.path) => {
                Err(DiskError::Link(link::TO_SECRETS))
            }
            Ok(inside) => Ok((self.folder.try_clone()?, inside)),
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && self.links == Links::Follow =>
            {
                self.follow(&path)
            }
            Err(error) => Err(disk_error(error)),
        }
    }

    fn refuse_links(&self, name: &Path) -> Result<(), DiskError> {
        for part in name.ancestors().filter(|part| !part.as_os_str().is_empty()) {
            if self.folder.symlink_metadata(part).map_err(disk_error)?.is_symlink() {
                return Err(DiskError::Link("somewhere, and links are not allowed here"));
            }
        }
        Ok(())
    }

    /// Follows links, and checks where they lead.
    fn follow(&self, path: &RelPath) -> Result<(Dir, PathBuf), DiskError> {
        let target = self.path.join(path.as_str()).canonicalize().map_err(disk_error)?;
        match self.policy.classify(&target, &self.path) {
            LinkTarget::Secret => Err(DiskError::Link(link::TO_SECRETS)),
            LinkTarget::Above => Err(DiskError::Link(link::ABOVE)),
            LinkTarget::Inside | LinkTarget::Allowed => open_parent(&target),
            LinkTarget::Outside => self.follow_outside(path),
        }
    }

    /// Opens a path with a link that leaves the root; the folder that the link leads to is a root of its own.
    fn follow_outside(&self, path: &RelPath) -> Result<(Dir, PathBuf), DiskError> {
        let mut root_path = self.path.clone();
        let (mut walked, mut below) = (RelPath::root(), PathBuf::new());
        for segment in path.segments() {
            walked = walked.child(segment).map_err(|_| DiskError::NotFound)?;
            below.push(segment);
            let next = root_path.join(&below).canonicalize().map_err(disk_error)?;
            match self.policy.classify(&next, &root_path) {
                LinkTarget::Inside => continue,
                LinkTarget::Secret => return Err(DiskError::Link(link::TO_SECRETS)),
                LinkTarget::Above => return Err(DiskError::Link(link::ABOVE)),
                LinkTarget::Outside if self.path.starts_with(&next) => {
                    return Err(DiskError::Link(link::ABOVE));
                }
                LinkTarget::Allowed => {}
                LinkTarget::Outside => self.check_is_skill(&walked, &next)?,
            }
            root_path = next;
            below.clear();
        }
        if below.as_os_str().is_empty() {
            return open_parent(&root_path);
        }
        let root = Dir::open_ambient_dir(&root_path, ambient_authority()).map_err(disk_error)?;
        let inside = root.canonicalize(&below).map_err(disk_error)?;
        if is_secret(&root_path.join(&inside), &self.path) {
            return Err(DiskError::Link(link::TO_SECRETS));
        }
        Ok((root, inside))
    }

    /// An error unless the target of a link at this path is a whole skill or a folder of skills.
    fn check_is_skill(&self, path: &RelPath, target: &Path) -> Result<(), DiskError> {
        let (folder, name) = open_parent(target)?;
        let found = folder.metadata(&name).map_err(disk_error)?;
        let is_skill = if found.is_dir() {
            let folder = Dir::open_ambient_dir(target, ambient_authority()).map_err(disk_error)?;
            link::is_bundle(&folder)
                || (link::holds_skills(&folder) && self.may_hold_skills(path, true))
        } else {
            link::dialect(path.name(), target).is_some_and(|dialect| {
                let in_place = dialect == Dialect::Bundle || self.may_hold_skills(path, false);
                let bytes = || bytes_of(&folder, &name, MAX_PROBED_BYTES);
                in_place && bytes().is_ok_and(|bytes| link::is_skill(bytes, dialect))
            })
        };
        if is_skill { Ok(()) } else { Err(DiskError::NotSkill) }
    }

    /// Whether a folder of skills, or else a skill's own file, may be at this path.
    fn may_hold_skills(&self, path: &RelPath, is_folder: bool) -> bool {
        let above = path.folder();
        let listed = self.path.join(above.as_str()).canonicalize().ok();
        let folder = listed.and_then(|path| Dir::open_ambient_dir(path, ambient_authority()).ok());
        let may = folder.is_some_and(|folder| {
            let names = FolderView::entries(&folder, usize::MAX);
            let name = is_folder.then_some(path.name());
            link::may_hold_skills(names.iter().map(|(name, _)| name.as_str()), name)
        });
        may && (above.is_root() || self.may_hold_skills(&above, true))
    }
}

/// The folder of a resolved path, and the path's name in it.
fn open_parent(target: &Path) -> Result<(Dir, PathBuf), DiskError> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(DiskError::NotFound);
    };
    let folder = Dir::open_ambient_dir(folder, ambient_authority()).map_err(disk_error)?;
    Ok((folder, name.into()))
}

/// The bytes of a regular file, at most `limit` of them.
fn bytes_of(folder: &Dir, name: &Path, limit: usize) -> Result<Vec<u8>, DiskError> {
    // Checked before it is opened, because opening a FIFO would block.
    let found = folder.metadata(name).map_err(disk_error)?;
    if !found.is_file() {
        return Err(DiskError::NotRegular);
    }
    if found.len() > limit as u64 {
        return Err(DiskError::TooLarge { limit, bytes: found.len() });
    }
    let file = folder.open(name).map_err(disk_error)?;
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

impl FolderView for Dir {
    fn is_file(&self, path: &str) -> bool {
        self.metadata(path).is_ok_and(|found| found.is_file())
    }

    fn entries(&self, limit: usize) -> Vec<(String, bool)> {
        let entry = |entry: cap_std::fs::DirEntry| {
            let kind = entry.file_type().ok()?;
            let name = entry.file_name().into_string().ok()?;
            Some((name, kind.is_dir() || kind.is_symlink()))
        };
        let listing = Dir::entries(self).into_iter().flatten();
        listing.map_while(Result::ok).filter_map(entry).take(limit).collect()
    }

    fn bytes(&self, name: &str, limit: usize) -> Option<Vec<u8>> {
        bytes_of(self, Path::new(name), limit).ok()
    }
}

/// The folder that a path leads to now, if any.
pub(in crate::source) fn folder_identity(path: &Path) -> Option<FileIdentity> {
    let path = path.canonicalize().ok().filter(|path| path.is_dir())?;
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    Some((0, hasher.finish()))
}

/// The fingerprint of the file that a path leads to, if any.
pub(in crate::source) fn stamp_of(path: &Path) -> Option<Stamp> {
    let folder = Dir::open_ambient_dir(path.parent()?, ambient_authority()).ok()?;
    folder.metadata(path.file_name()?).ok().map(|found| fingerprint(&found))
}

fn listed_entry(found: &Metadata, linked: bool) -> ListedEntry {
    if found.is_file() {
        ListedEntry::File { bytes: found.len(), stamp: fingerprint(found), linked }
    } else if found.is_dir() {
        ListedEntry::Folder { linked }
    } else {
        ListedEntry::Special
    }
}

fn fingerprint(found: &Metadata) -> Stamp {
    let modified = found.modified().ok();
    let since = |time: SystemTime| time.into_std().duration_since(UNIX_EPOCH).ok();
    let modified = modified.and_then(since).unwrap_or_default();
    let nanos = i128::try_from(modified.as_nanos()).unwrap_or(0);
    stamp(modified, &[i128::from(found.len()), nanos])
}

fn disk_error(error: io::Error) -> DiskError {
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
