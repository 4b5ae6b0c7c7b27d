//! Open files and folders on Linux: opens names below a handle, reads a handle's bytes, entries and location.
//!
//! Not here: which names may be opened ([`Root`](super::Root)).

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::PathBuf,
};

use rustix::{
    buffer::spare_capacity,
    fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlink},
    io::{Errno, read, retry_on_intr},
};

use super::{DiskError, link::FolderView};

/// Below the handle, links included.
pub(super) const WITHIN: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// Wherever links lead; what was opened is checked before it is used.
pub(super) const OUTWARD: ResolveFlags = ResolveFlags::NO_MAGICLINKS;
/// To read a file; opening a FIFO must not block.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Retries on `EAGAIN`, with which the kernel reports that a folder on the way was renamed meanwhile.
pub(super) fn open_at(
    folder: &OwnedFd,
    name: &str,
    flags: OFlags,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let mut tries = 0;
    loop {
        match openat2(folder, name, flags | OFlags::CLOEXEC, Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR) if tries < 16 => tries += 1,
            opened => return opened,
        }
    }
}

/// Opens the file or folder of a handle with other flags.
pub(super) fn reopen(handle: OwnedFd, flags: OFlags) -> Result<OwnedFd, DiskError> {
    if flags.contains(OFlags::PATH) {
        return Ok(handle);
    }
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(disk_error)
}

/// The bytes of an open regular file, at most `limit` of them.
pub(super) fn bytes_of(file: &OwnedFd, limit: usize) -> Result<Vec<u8>, DiskError> {
    let found = fstat(file).map_err(disk_error)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(DiskError::NotRegular);
    }
    let bytes = u64::try_from(found.st_size).unwrap_or(0);
    let cap = limit as u64;
    if bytes > cap {
        return Err(DiskError::TooLarge { limit, bytes });
    }
    let size = usize::try_from(bytes).unwrap_or(0);
    // Room for one byte more, so that one read shows that the file ends there, or that it has grown.
    let mut content = Vec::with_capacity(size + 1);
    loop {
        let room = content.capacity() - content.len();
        let read =
            retry_on_intr(|| read(file, spare_capacity(&mut content))).map_err(disk_error)?;
        if content.len() > limit {
            return Err(DiskError::TooLarge { limit, bytes: content.len() as u64 });
        }
        if read == 0 || (read < room && content.len() >= size) {
            return Ok(content);
        }
        content.reserve(1);
    }
}

/// A folder's handle, open for its path or for reading.
impl FolderView for OwnedFd {
    fn is_file(&self, path: &str) -> bool {
        let found = open_at(self, path, OFlags::PATH, WITHIN).and_then(fstat);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    fn entries(&self, limit: usize) -> Vec<(String, bool)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let Ok(listing) = open_at(self, ".", flags, WITHIN).and_then(Dir::new) else {
            return Vec::new();
        };
        let entry = |entry: rustix::fs::DirEntry| {
            let name = entry.file_name().to_str().ok().filter(|name| !matches!(*name, "." | ".."));
            let kind = entry.file_type();
            let may_be_folder =
                matches!(kind, FileType::Directory | FileType::Symlink | FileType::Unknown);
            name.map(|name| (name.to_owned(), may_be_folder))
        };
        listing.map_while(Result::ok).filter_map(entry).take(limit).collect()
    }

    fn bytes(&self, name: &str, limit: usize) -> Option<Vec<u8>> {
        bytes_of(&open_at(self, name, READ, WITHIN).ok()?, limit).ok()
    }
}

/// The real path of an open file.
pub(super) fn location(file: &OwnedFd) -> Result<PathBuf, DiskError> {
    let link =
        readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new()).map_err(disk_error)?;
    Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}

pub(super) fn disk_error(errno: Errno) -> DiskError {
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
