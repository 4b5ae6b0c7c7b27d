//! The door on Linux: `openat2` resolves every path below the root's handle, so that nothing that changes on
//! disk meanwhile can lead it elsewhere.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat2,
        readlink, statat,
    },
    io::Errno,
};
use skills_core::{catalog::Stamp, relpath::RelPath};

use super::{DiskError, Glance, Identity, Links, Listed, Listing, secret::is_secret, stamp};
use crate::source::watch::{Descriptor, Queue};

/// A source's folder, open.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
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
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(boundary, flags, Mode::empty()).map_err(said)?;
        Ok(Self { folder, inside, links })
    }

    /// The file's bytes, at most `limit` of them.
    pub fn read(&self, path: &RelPath, limit: usize) -> Result<Vec<u8>, DiskError> {
        let file = self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let found = fstat(&file).map_err(said)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(DiskError::NotRegular);
        }
        let bytes = u64::try_from(found.st_size).unwrap_or(0);
        let cap = limit as u64;
        if bytes > cap {
            return Err(DiskError::TooLarge { limit, bytes });
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        // One byte more than allowed, to notice a file that grows.
        std::fs::File::from(file).take(cap + 1).read_to_end(&mut content)?;
        if content.len() > limit {
            return Err(DiskError::TooLarge { limit, bytes: content.len() as u64 });
        }
        Ok(content)
    }

    /// What lies in a folder. It is watched before it is read, so that nothing gets in between.
    pub(in crate::source) fn list(
        &self,
        path: &RelPath,
        queue: Option<&Queue>,
    ) -> Result<Listing, DiskError> {
        let folder = self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let watch = queue.map(|queue| queue.add(&folder));
        let found = fstat(&folder).map_err(said)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(said)? {
            let entry = entry.map_err(said)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let listed = match entry.file_type() {
                FileType::Directory => Some(Listed::Folder { linked: false }),
                FileType::Symlink => Some(self.linked(path, name)),
                FileType::RegularFile | FileType::Unknown => self.entry(&folder, path, name),
                FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice => Some(Listed::Special),
            };
            entries.extend(listed.map(|listed| (name.to_os_string(), listed)));
        }
        let identity = (found.st_dev, found.st_ino);
        Ok(Listing { identity, stamp: fingerprint(&found), watch, entries })
    }

    /// What stands under one name; nothing may.
    pub(in crate::source) fn look(&self, path: &RelPath) -> Option<Listed> {
        if path.is_root() {
            return Some(Listed::Folder { linked: false });
        }
        let folder = self.resolve(&path.folder(), OFlags::PATH | OFlags::DIRECTORY).ok()?;
        self.entry(&folder, &path.folder(), OsStr::new(path.name()))
    }

    /// What is known of something without opening it, if it is no link; a hint, good for comparing.
    pub(in crate::source) fn glance(&self, path: &RelPath) -> Option<Glance> {
        let path = self.inside.join(path);
        let name = if path.is_root() { "." } else { path.as_str() };
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Glance {
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            stamp: fingerprint(&found),
            identity: (found.st_dev, found.st_ino),
        })
    }

    /// Which file or folder a name leads to now, wherever that is; good for comparing, and for nothing else.
    pub(in crate::source) fn leads(&self, path: &RelPath) -> Option<Identity> {
        let path = self.inside.join(path);
        let found = statat(&self.folder, path.as_str(), AtFlags::empty()).ok()?;
        Some((found.st_dev, found.st_ino))
    }

    /// Watches what a link leads to: its folder does not tell of that.
    pub(in crate::source) fn watch(
        &self,
        path: &RelPath,
        queue: &Queue,
    ) -> Option<io::Result<Descriptor>> {
        let target = self.resolve(path, OFlags::PATH).ok()?;
        Some(queue.add(&target))
    }

    /// Whether a folder lies on a disk of another machine, whose changes nobody tells us of.
    pub(in crate::source) fn is_remote(&self, path: &RelPath) -> bool {
        self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)
            .is_ok_and(|folder| fstatfs(&folder).is_ok_and(|disk| REMOTE.contains(&disk.f_type)))
    }

    fn entry(&self, folder: &OwnedFd, path: &RelPath, name: &OsStr) -> Option<Listed> {
        Some(match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
                self.linked(path, name)
            }
            Ok(found) => kind(&found, false),
            Err(Errno::NOENT | Errno::NOTDIR) => return None,
            Err(errno) => Listed::Refused(said(errno)),
        })
    }

    /// What a link in this folder leads to.
    fn linked(&self, folder: &RelPath, name: &OsStr) -> Listed {
        let resolved = match name.to_str().and_then(|name| folder.child(name).ok()) {
            Some(path) => self.resolve(&path, OFlags::PATH),
            None => Err(DiskError::NotFound),
        };
        match resolved.and_then(|target| fstat(&target).map_err(said)) {
            Ok(found) => kind(&found, true),
            Err(error) => Listed::Refused(error),
        }
    }

    fn resolve(&self, path: &RelPath, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let path = self.inside.join(path);
        let name = if path.is_root() { "." } else { path.as_str() };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = match self.links {
            Links::Refuse => self.open_at(name, flags, beneath | ResolveFlags::NO_SYMLINKS),
            Links::Inside => self.open_at(name, flags, beneath),
            Links::Follow => match self.open_at(name, flags, beneath | ResolveFlags::NO_SYMLINKS) {
                Err(Errno::LOOP) => return self.follow(name, flags),
                opened => opened,
            },
        };
        opened.map_err(said)
    }

    /// Follows links wherever they lead, and then looks where that is: by the handle, so that it cannot change.
    fn follow(&self, name: &str, flags: OFlags) -> Result<OwnedFd, DiskError> {
        let looked = self.open_at(name, OFlags::PATH, ResolveFlags::NO_MAGICLINKS).map_err(said)?;
        let place = location(&looked)?;
        if is_secret(&place, &location(&self.folder)?) {
            return Err(DiskError::Link("to credentials or system files"));
        }
        if flags.contains(OFlags::PATH) {
            return Ok(looked);
        }
        // The name was resolved twice, so the second handle must be what was looked at.
        let opened = self.open_at(name, flags, ResolveFlags::NO_MAGICLINKS).map_err(said)?;
        if location(&opened)? == place {
            Ok(opened)
        } else {
            Err(DiskError::Link("elsewhere every time"))
        }
    }

    /// `EAGAIN` means that something was renamed on the way while the kernel looked; it asks to be asked again.
    fn open_at(&self, name: &str, flags: OFlags, how: ResolveFlags) -> Result<OwnedFd, Errno> {
        let mut tries = 0;
        loop {
            match openat2(&self.folder, name, flags | OFlags::CLOEXEC, Mode::empty(), how) {
                Err(Errno::AGAIN | Errno::INTR) if tries < 16 => tries += 1,
                opened => return opened,
            }
        }
    }
}

/// Disks of other machines: NFS, SMB in its three spellings, FUSE, 9P, AFS, Ceph, the shared folders of virtual machines.
const REMOTE: &[i64] = &[
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

/// Which folder a path leads to now, and whether any.
pub fn identity(path: &Path) -> Option<Identity> {
    let found = rustix::fs::stat(path).ok()?;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    is_folder.then_some((found.st_dev, found.st_ino))
}

/// A fingerprint of the file that a path leads to, where there is one.
pub(in crate::source) fn stamp_of(path: &Path) -> Option<Stamp> {
    rustix::fs::stat(path).ok().map(|found| fingerprint(&found))
}

fn kind(found: &Stat, linked: bool) -> Listed {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Listed::File {
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            stamp: fingerprint(found),
            linked,
        },
        FileType::Directory => Listed::Folder { linked },
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Listed::Special,
    }
}

/// The time of the last change of any kind counts most: nobody can set it.
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

/// Where an open file really lies.
fn location(file: &OwnedFd) -> Result<PathBuf, DiskError> {
    use std::os::fd::AsRawFd as _;
    let link = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new()).map_err(said)?;
    Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}

fn said(errno: Errno) -> DiskError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => DiskError::NotFound,
        Errno::LOOP => DiskError::Link("in a circle, or is not allowed here"),
        Errno::XDEV => DiskError::Link("outside its source"),
        // A socket cannot be opened at all.
        Errno::NXIO | Errno::NODEV => DiskError::NotRegular,
        Errno::NOSYS => DiskError::Io(io::Error::other(
            "this kernel has no openat2; Linux 5.6 or newer is needed",
        )),
        errno => DiskError::Io(errno.into()),
    }
}
