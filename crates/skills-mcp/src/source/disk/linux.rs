//! [`Root`] on Linux: `openat2` resolves every path below the root's handle, so that no change on disk meanwhile can lead it
//! elsewhere.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, fstatfs, readlinkat,
        statat,
    },
    io::Errno,
};
use skills_core::{catalog::Stamp, document::Dialect, relpath::RelPath};

use super::{
    DiskError, EntryMetadata, FileIdentity, LinkPolicy, Links, ListedEntry, Listing,
    handle::{OUTWARD, READ, WITHIN, bytes_of, disk_error, location, open_at, reopen},
    link::{self, FolderView, LinkTarget, MAX_PROBED_BYTES},
    secret::is_secret,
    stamp,
};
use crate::source::watch::{Descriptor, Queue};

/// A source's folder, open.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// The source below that folder. Links may lead anywhere below the folder, not only below the source.
    inside: RelPath,
    links: Links,
    policy: Arc<LinkPolicy>,
    /// Whether a folder of skills may be at a path, as far as that was asked. Valid as long as the listing that this root was
    /// opened for: with links that leave it, every change opens the root anew.
    may_hold_skills: Mutex<HashMap<RelPath, bool>>,
}

/// A folder is listed in pieces of this size.
const LISTING_BUFFER_BYTES: usize = 8 * 1024;

/// So many folders right below the target of a refused link are watched, and the target itself.
const MAX_WATCHED_BELOW: usize = 32;

impl Root {
    /// Opens a folder that the operator named; links on the way to it are the operator's.
    pub fn open(path: &Path, links: Links) -> Result<Self, DiskError> {
        Self::within(path, RelPath::root(), links)
    }

    /// Opens a source `inside` a folder that its links may not leave.
    pub fn within(boundary: &Path, inside: RelPath, links: Links) -> Result<Self, DiskError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(boundary, flags, Mode::empty()).map_err(disk_error)?;
        Ok(Self {
            folder,
            inside,
            links,
            policy: Arc::default(),
            may_hold_skills: Mutex::default(),
        })
    }

    /// An error where the last part of the path to this root is a link that leads to credentials, or above itself: content may
    /// put such a link in place of the folder that the operator named.
    pub fn reached_by(self, path: &Path) -> Result<Self, DiskError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(self) };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = rustix::fs::open(above, flags, Mode::empty()).map_err(disk_error)?;
        let (above, place) = (location(&above)?, location(&self.folder)?);
        if place != above.join(name) {
            self.policy.check_root(&place, &above)?;
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
        let folder = self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(Self { folder, inside: RelPath::root(), may_hold_skills: Mutex::default(), ..self })
    }

    /// The file's bytes, at most `limit` of them.
    pub fn read(&self, path: &RelPath, limit: usize) -> Result<Vec<u8>, DiskError> {
        let file = self.resolve(path, READ)?;
        bytes_of(&file, limit)
    }

    /// When a file was last modified, in seconds since 1970 began.
    pub fn modified(&self, path: &RelPath) -> Option<i64> {
        let file = self.resolve(path, READ).ok()?;
        fstat(&file).ok().map(|found| found.st_mtime)
    }

    /// The entries of a folder. The watch starts before they are read, so that no change is missed.
    pub(in crate::source) fn list(
        &self,
        path: &RelPath,
        queue: Option<&Queue>,
    ) -> Result<Listing, DiskError> {
        let folder = self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let watch = queue.map(|queue| queue.add(&folder));
        let found = fstat(&folder).map_err(disk_error)?;
        let mut entries = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); LISTING_BUFFER_BYTES];
        let mut listing = RawDir::new(&folder, &mut buffer);
        while let Some(entry) = listing.next() {
            let entry = entry.map_err(disk_error)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = entry.file_type();
            let listed = if kind == FileType::Directory {
                Some(ListedEntry::Folder { linked: false })
            } else if kind == FileType::Symlink {
                Some(self.linked_entry(&folder, path, name))
            } else {
                self.entry(&folder, path, name)
            };
            entries.extend(listed.map(|listed| (name.to_os_string(), listed)));
        }
        let identity = (found.st_dev, found.st_ino);
        Ok(Listing { identity, stamp: fingerprint(&found), watch, entries })
    }

    /// The entry at a path, if there is one.
    pub(in crate::source) fn entry_at(&self, path: &RelPath) -> Option<ListedEntry> {
        if path.is_root() {
            return Some(ListedEntry::Folder { linked: false });
        }
        let folder = self.resolve(&path.folder(), OFlags::PATH | OFlags::DIRECTORY).ok()?;
        self.entry(&folder, &path.folder(), OsStr::new(path.name()))
    }

    /// The metadata at a path, links not followed. A hint, to compare with an earlier one.
    pub(in crate::source) fn metadata(&self, path: &RelPath) -> Option<EntryMetadata> {
        let path = self.inside.join(path);
        let name = if path.is_root() { "." } else { path.as_str() };
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(EntryMetadata {
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            stamp: fingerprint(&found),
            identity: (found.st_dev, found.st_ino),
        })
    }

    /// The file or folder that a path leads to now, wherever that is; only to compare with an earlier one.
    pub(in crate::source) fn target_identity(&self, path: &RelPath) -> Option<FileIdentity> {
        let path = self.inside.join(path);
        let found = statat(&self.folder, path.as_str(), AtFlags::empty()).ok()?;
        Some((found.st_dev, found.st_ino))
    }

    /// Watches the target of a link: a watch on the link's folder does not report its changes.
    pub(in crate::source) fn watch(
        &self,
        path: &RelPath,
        queue: &Queue,
    ) -> Option<io::Result<Descriptor>> {
        let target = self.resolve(path, OFlags::PATH).ok()?;
        Some(queue.add(&target))
    }

    /// Watches the target of a refused link: it may become a skill.
    pub(in crate::source) fn watch_refused(
        &self,
        path: &RelPath,
        queue: &Queue,
    ) -> Vec<(RelPath, io::Result<Descriptor>)> {
        let name = self.inside.join(path);
        let Ok(target) = open_at(&self.folder, name.as_str(), OFlags::PATH, OUTWARD) else {
            return Vec::new();
        };
        let mut watches = vec![(path.clone(), queue.add(&target))];
        let entries = target.entries(MAX_WATCHED_BELOW).into_iter();
        for (name, _) in entries.filter(|(_, may_be_folder)| *may_be_folder) {
            let folder = open_at(&target, &name, OFlags::PATH | OFlags::DIRECTORY, WITHIN).ok();
            let watch = folder.map(|folder| queue.add(&folder));
            watches.extend(path.child(&name).ok().zip(watch));
        }
        watches
    }

    /// Whether a folder is on a disk of another machine, whose changes the kernel does not report.
    pub(in crate::source) fn is_remote(&self, path: &RelPath) -> bool {
        self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY).is_ok_and(|folder| {
            fstatfs(&folder).is_ok_and(|disk| REMOTE_FILE_SYSTEMS.contains(&disk.f_type))
        })
    }

    fn entry(&self, folder: &OwnedFd, path: &RelPath, name: &OsStr) -> Option<ListedEntry> {
        Some(match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
                self.linked_entry(folder, path, name)
            }
            Ok(found) => listed_entry(&found, false),
            Err(Errno::NOENT | Errno::NOTDIR) => return None,
            Err(errno) => ListedEntry::Refused(disk_error(errno)),
        })
    }

    /// The target of a link in this folder.
    fn linked_entry(&self, folder: &OwnedFd, path: &RelPath, name: &OsStr) -> ListedEntry {
        let resolved = match name.to_str().and_then(|name| path.child(name).ok()) {
            Some(path) => self.resolve(&path, OFlags::PATH),
            None => Err(DiskError::NotFound),
        };
        match resolved.and_then(|target| fstat(&target).map_err(disk_error)) {
            Ok(found) => listed_entry(&found, true),
            Err(error) => ListedEntry::Refused(error).of_link(|| {
                let target = readlinkat(folder, name, Vec::new()).ok()?;
                Some(OsStr::from_bytes(target.as_bytes()).into())
            }),
        }
    }

    fn resolve(&self, path: &RelPath, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let whole = self.inside.join(path);
        let name = if whole.is_root() { "." } else { whole.as_str() };
        let plain = WITHIN | ResolveFlags::NO_SYMLINKS;
        let opened = match self.links {
            Links::Refuse => open_at(&self.folder, name, flags, plain),
            Links::Inside | Links::Follow => match open_at(&self.folder, name, flags, plain) {
                Err(Errno::LOOP) if self.links == Links::Inside => {
                    return self.follow_inside(&whole, flags);
                }
                Err(Errno::LOOP) => return self.follow(&whole, flags),
                opened => opened,
            },
        };
        opened.map_err(disk_error)
    }

    /// Follows links that stay inside the folder and do not lead to credentials.
    fn follow_inside(&self, path: &RelPath, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let target =
            open_at(&self.folder, path.as_str(), OFlags::PATH, WITHIN).map_err(disk_error)?;
        if is_secret(&location(&target)?, &location(&self.folder)?) {
            return Err(DiskError::Link(link::TO_SECRETS));
        }
        reopen(target, flags)
    }

    /// Follows links, and checks where they lead by the handle, which cannot change.
    fn follow(&self, path: &RelPath, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let target =
            open_at(&self.folder, path.as_str(), OFlags::PATH, OUTWARD).map_err(disk_error)?;
        match self.policy.classify(&location(&target)?, &location(&self.folder)?) {
            LinkTarget::Secret => Err(DiskError::Link(link::TO_SECRETS)),
            LinkTarget::Above => Err(DiskError::Link(link::ABOVE)),
            LinkTarget::Inside | LinkTarget::Allowed => reopen(target, flags),
            LinkTarget::Outside => self.follow_outside(path, flags),
        }
    }

    /// Opens a path with a link that leaves the root. The folder that the link leads to is a root of its own: it is opened once,
    /// checked by its handle, and the rest of the path is resolved below that handle.
    fn follow_outside(&self, path: &RelPath, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let source = location(&self.folder)?;
        let mut root = self.folder.try_clone()?;
        let mut root_path = source.clone();
        // The path so far in the source, and below the root that was reached.
        let (mut walked, mut below) = (RelPath::root(), String::new());
        for segment in path.segments() {
            walked = walked.child(segment).map_err(|_| DiskError::NotFound)?;
            below = if below.is_empty() { segment.into() } else { format!("{below}/{segment}") };
            let found = open_at(&root, &below, OFlags::PATH, OUTWARD).map_err(disk_error)?;
            let next = location(&found)?;
            match self.policy.classify(&next, &root_path) {
                LinkTarget::Inside => continue,
                LinkTarget::Secret => return Err(DiskError::Link(link::TO_SECRETS)),
                LinkTarget::Above => return Err(DiskError::Link(link::ABOVE)),
                LinkTarget::Outside if source.starts_with(&next) => {
                    return Err(DiskError::Link(link::ABOVE));
                }
                LinkTarget::Allowed => {}
                LinkTarget::Outside => self.check_is_skill(&walked, &found, &next)?,
            }
            (root, root_path) = (found, next);
            below.clear();
        }
        if below.is_empty() {
            return reopen(root, flags);
        }
        let target = open_at(&root, &below, OFlags::PATH, OUTWARD).map_err(disk_error)?;
        let last = location(&target)?;
        if is_secret(&last, &source) {
            return Err(DiskError::Link(link::TO_SECRETS));
        }
        if last.starts_with(&root_path) { reopen(target, flags) } else { Err(DiskError::NotSkill) }
    }

    /// An error unless the target of a link at this path is a whole skill or a folder of skills.
    fn check_is_skill(
        &self,
        path: &RelPath,
        target: &OwnedFd,
        target_path: &Path,
    ) -> Result<(), DiskError> {
        let kind = FileType::from_raw_mode(fstat(target).map_err(disk_error)?.st_mode);
        let is_skill = if kind == FileType::Directory {
            link::is_bundle(target)
                || (link::holds_skills(target) && self.may_hold_skills(path, true))
        } else {
            let dialect = link::dialect(path.name(), target_path);
            dialect.filter(|_| kind == FileType::RegularFile).is_some_and(|dialect| {
                let in_place = dialect == Dialect::Bundle || self.may_hold_skills(path, false);
                let bytes = || bytes_of(&reopen(target.try_clone()?, READ)?, MAX_PROBED_BYTES);
                in_place && bytes().is_ok_and(|bytes| link::is_skill(bytes, dialect))
            })
        };
        if is_skill { Ok(()) } else { Err(DiskError::NotSkill) }
    }

    /// Whether a folder of skills, or else a skill's own file, may be at this path.
    fn may_hold_skills(&self, path: &RelPath, is_folder: bool) -> bool {
        let known = || self.may_hold_skills.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(path) {
            return *known;
        }
        let above = path.folder();
        let parent = if path.is_root() { None } else { self.names(&above) };
        let may = parent.is_some_and(|names| {
            let name = is_folder.then_some(path.name());
            link::may_hold_skills(names.iter().map(String::as_str), name)
        });
        let may = may && (above.is_root() || self.may_hold_skills(&above, true));
        known().insert(path.clone(), may);
        may
    }

    /// The names in a folder that are text.
    fn names(&self, path: &RelPath) -> Option<Vec<String>> {
        let name = if path.is_root() { "." } else { path.as_str() };
        let plain = WITHIN | ResolveFlags::NO_SYMLINKS;
        let folder = match open_at(&self.folder, name, OFlags::PATH, plain) {
            Err(Errno::LOOP) => self.follow(path, OFlags::PATH).ok()?,
            opened => opened.ok()?,
        };
        Some(folder.entries(usize::MAX).into_iter().map(|(name, _)| name).collect())
    }
}

/// Disks of other machines: NFS, SMB in its three spellings, FUSE, 9P, AFS, Ceph, the shared folders of virtual machines.
const REMOTE_FILE_SYSTEMS: &[i64] = &[
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x6573_5546,
    0x0102_1997,
    0x5346_414f,
    0x00c3_6400,
    0x786f_4256,
];

/// The folder that a path leads to now, if any.
pub(in crate::source) fn folder_identity(path: &Path) -> Option<FileIdentity> {
    let found = rustix::fs::stat(path).ok()?;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    is_folder.then_some((found.st_dev, found.st_ino))
}

/// The fingerprint of the file that a path leads to, if any.
pub(in crate::source) fn stamp_of(path: &Path) -> Option<Stamp> {
    rustix::fs::stat(path).ok().map(|found| fingerprint(&found))
}

fn listed_entry(found: &Stat, linked: bool) -> ListedEntry {
    let kind = FileType::from_raw_mode(found.st_mode);
    if kind == FileType::RegularFile {
        let bytes = u64::try_from(found.st_size).unwrap_or(0);
        ListedEntry::File { bytes, stamp: fingerprint(found), linked }
    } else if kind == FileType::Directory {
        ListedEntry::Folder { linked }
    } else {
        ListedEntry::Special
    }
}

/// The time of the last change of any kind counts most, because no program can set it.
fn fingerprint(found: &Stat) -> Stamp {
    let seconds = u64::try_from(found.st_ctime).unwrap_or(0);
    let nanos = u32::try_from(found.st_ctime_nsec).unwrap_or(0);
    let known = [
        i128::from(found.st_dev),
        i128::from(found.st_ino),
        i128::from(found.st_mode),
        i128::from(found.st_size),
        i128::from(found.st_ctime),
        i128::from(found.st_ctime_nsec),
        i128::from(found.st_mtime),
        i128::from(found.st_mtime_nsec),
    ];
    stamp(Duration::new(seconds, nanos), &known)
}
