//! The work of a removal: a tree is made flat while it is removed.
//!
//! A folder that is not empty is moved up to the top of the tree before it is emptied, so that every path has one name,
//! however deep the tree was. Each folder is moved at most once. At most three handles are open: the top, a stream of
//! its names, and the folder being emptied. Links are removed, never followed; another device is never entered.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock,
        fstat, openat, renameat, unlinkat,
    },
    io::Errno,
    path::Arg,
};

/// How many names are tried for a folder that is moved up.
const NAME_ATTEMPTS: usize = 16;
/// How often a tree is asked for that another process removes.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Removes everything below a folder, then the folder; after another process that is at it, if there is one.
pub(super) fn remove(root: &Path, deadline: Instant) -> io::Result<()> {
    let (top, found) = match opened(CWD, root) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // Two servers may find the same tree; the one that comes second would stumble over the work of the first.
    while flock(&top, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        thread::sleep(LOCK_RETRY);
        in_time(deadline)?;
    }
    let mut removal = Removal { top, found, deadline, moved: 0, removed: 0, failure: None };
    removal.clear()?;
    match unlinkat(CWD, root, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(removal.failure.unwrap_or(error).into()),
    }
}

struct Removal {
    top: OwnedFd,
    /// What the top is, for its device.
    found: Stat,
    deadline: Instant,
    /// How many folders were moved up, which numbers their names.
    moved: u64,
    /// How many names are gone.
    removed: u64,
    /// The first thing that could not be removed.
    failure: Option<Errno>,
}

impl Removal {
    /// Goes over the top until a whole pass removes nothing: then it is empty, or what is left cannot be removed.
    fn clear(&mut self) -> io::Result<()> {
        loop {
            let before = (self.removed, self.moved);
            let mut names = Dir::read_from(&self.top)?;
            while let Some(entry) = names.read() {
                let entry = entry?;
                if is_content(&entry) && !self.unlinked(None, &entry)? {
                    let mut next = Some(entry.file_name().to_owned());
                    while let Some(folder) = next {
                        next = self.emptied(&folder)?;
                    }
                }
            }
            if before == (self.removed, self.moved) {
                return Ok(());
            }
        }
    }

    /// Removes what is not a folder, and empty folders; whether nothing more is to be done about this name.
    fn unlinked(&mut self, folder: Option<BorrowedFd<'_>>, entry: &DirEntry) -> io::Result<bool> {
        in_time(self.deadline)?;
        let folder = folder.unwrap_or(self.top.as_fd());
        let mut result = Err(Errno::ISDIR);
        if entry.file_type() != FileType::Directory {
            result = unlinkat(folder, entry.file_name(), AtFlags::empty());
        }
        // Not every file system tells the type; what an attempt on a folder fails with depends on the system.
        if matches!(result, Err(Errno::ISDIR | Errno::PERM)) {
            result = unlinkat(folder, entry.file_name(), AtFlags::REMOVEDIR);
            if matches!(result, Err(Errno::NOTEMPTY | Errno::EXIST)) {
                return Ok(false);
            }
        }
        match result {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => self.failed(error),
        }
        Ok(true)
    }

    /// Empties a folder of the top: removes its files, moves its folders up, and removes it. One of the moved folders is
    /// given back to be emptied next, so that a chain of folders takes one pass.
    fn emptied(&mut self, name: &CStr) -> io::Result<Option<CString>> {
        let (folder, found) = match opened(&self.top, name) {
            Ok(opened) => opened,
            Err(error) => {
                self.failed(error);
                return Ok(None);
            }
        };
        if found.st_dev != self.found.st_dev {
            self.failed(Errno::XDEV);
            return Ok(None);
        }
        let mut last = None;
        let mut names = Dir::new(folder)?;
        while let Some(entry) = names.read() {
            let entry = entry?;
            let folder = names.fd()?;
            if is_content(&entry) && !self.unlinked(Some(folder), &entry)? {
                last = self.moved_up(folder, entry.file_name()).or(last);
            }
        }
        match unlinkat(&self.top, name, AtFlags::REMOVEDIR) {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => self.failed(error),
        }
        Ok(last)
    }

    /// Moves a folder up to the top; its new name.
    fn moved_up(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> Option<CString> {
        for _ in 0..NAME_ATTEMPTS {
            self.moved += 1;
            let new = CString::new(format!(".removed-{}-{}", process::id(), self.moved)).ok()?;
            let result = match renameat(folder, name, &self.top, &new) {
                // A folder that its owner may not write to cannot change its parent.
                Err(Errno::ACCESS) => {
                    opened(folder, name).and_then(|_| renameat(folder, name, &self.top, &new))
                }
                result => result,
            };
            match result {
                Ok(()) => return Some(new),
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => {
                    self.moved -= 1;
                    self.failed(error);
                    return None;
                }
            }
        }
        None
    }

    fn failed(&mut self, error: Errno) {
        self.failure.get_or_insert(error);
    }
}

fn in_time(deadline: Instant) -> io::Result<()> {
    if Instant::now() > deadline {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long"));
    }
    Ok(())
}

fn is_content(entry: &DirEntry) -> bool {
    !matches!(entry.file_name().to_bytes(), b"." | b"..")
}

/// The handle of a folder, which is not a link; a folder that is closed to its owner is opened up.
pub fn readable_folder(parent: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(&parent, name)?;
            openat(&parent, name, flags, Mode::empty())
        }
        folder => folder,
    }
}

/// The same with every right of its owner on it.
fn opened(parent: impl AsFd, name: impl Arg + Copy) -> Result<(OwnedFd, Stat), Errno> {
    let folder = readable_folder(parent, name)?;
    let found = fstat(&folder)?;
    if Mode::from_raw_mode(found.st_mode) & Mode::RWXU != Mode::RWXU {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok((folder, found))
}

/// Gives the owner of a folder every right on it, where it cannot even be opened. The kernel is asked about a handle, as a
/// name could by then be a link to something else.
#[cfg(target_os = "linux")]
fn unlock(parent: impl AsFd, name: impl Arg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(parent, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn unlock(parent: impl AsFd, name: impl Arg) -> Result<(), Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
