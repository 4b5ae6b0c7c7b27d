//! Removes a tree by making it flat.
//!
//! A folder that is not empty is moved up to the top of the tree before it is emptied, so that every path is one name long,
//! however deep the tree was. Each folder is moved at most once. At most three handles are open: the top, a stream of its
//! names, and the folder being emptied. Links are removed, never followed; another device is never entered.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    process,
    time::Instant,
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
const MAX_NAME_ATTEMPTS: usize = 16;

/// Removes everything below a folder, then the folder. A tree that another process is removing is left to that process.
pub(super) fn remove(root: &Path, deadline: Instant) -> io::Result<()> {
    let (top, top_stat) = match open_folder(CWD, root) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // Two servers may find the same tree; the second would fail over what the first is removing.
    if flock(&top, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Ok(());
    }
    let mut removal = Removal { top, top_stat, deadline, moved: 0, removed: 0, failure: None };
    removal.clear()?;
    match unlinkat(CWD, root, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(removal.failure.unwrap_or(error).into()),
    }
}

struct Removal {
    top: OwnedFd,
    top_stat: Stat,
    deadline: Instant,
    /// How many folders were moved up, which numbers their names.
    moved: u64,
    /// How many entries were removed.
    removed: u64,
    /// The first thing that could not be removed.
    failure: Option<Errno>,
}

impl Removal {
    /// Lists the top again until a whole pass removes nothing: then it is empty, or what is left cannot be removed.
    fn clear(&mut self) -> io::Result<()> {
        loop {
            let before = (self.removed, self.moved);
            let mut names = Dir::read_from(&self.top)?;
            while let Some(entry) = names.read() {
                let entry = entry?;
                if is_content(&entry) && !self.unlink(None, &entry)? {
                    let mut next = Some(entry.file_name().to_owned());
                    while let Some(folder) = next {
                        next = self.empty(&folder)?;
                    }
                }
            }
            if before == (self.removed, self.moved) {
                return Ok(());
            }
        }
    }

    /// Removes a file or an empty folder; false for a folder that is not empty.
    fn unlink(&mut self, folder: Option<BorrowedFd<'_>>, entry: &DirEntry) -> io::Result<bool> {
        check_deadline(self.deadline)?;
        let folder = folder.unwrap_or(self.top.as_fd());
        let mut result = Err(Errno::ISDIR);
        if entry.file_type() != FileType::Directory {
            result = unlinkat(folder, entry.file_name(), AtFlags::empty());
        }
        // Not every file system gives the type, and the error for a folder depends on the system.
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

    /// Empties a folder of the top: removes its files, moves its folders up, and removes it. Returns one of the moved folders to
    /// be emptied next, so that a chain of folders takes one pass.
    fn empty(&mut self, name: &CStr) -> io::Result<Option<CString>> {
        let (folder, found) = match open_folder(&self.top, name) {
            Ok(folder) => folder,
            Err(error) => {
                self.failed(error);
                return Ok(None);
            }
        };
        if found.st_dev != self.top_stat.st_dev {
            self.failed(Errno::XDEV);
            return Ok(None);
        }
        let mut last = None;
        let mut names = Dir::new(folder)?;
        while let Some(entry) = names.read() {
            let entry = entry?;
            let folder = names.fd()?;
            if is_content(&entry) && !self.unlink(Some(folder), &entry)? {
                last = self.move_up(folder, entry.file_name()).or(last);
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
    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> Option<CString> {
        for _ in 0..MAX_NAME_ATTEMPTS {
            self.moved += 1;
            let new = CString::new(format!(".removed-{}-{}", process::id(), self.moved)).ok()?;
            let result = match renameat(folder, name, &self.top, &new) {
                // A folder that its owner may not write to cannot change its parent.
                Err(Errno::ACCESS) => {
                    open_folder(folder, name).and_then(|_| renameat(folder, name, &self.top, &new))
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

fn check_deadline(deadline: Instant) -> io::Result<()> {
    if Instant::now() > deadline {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long"));
    }
    Ok(())
}

fn is_content(entry: &DirEntry) -> bool {
    !matches!(entry.file_name().to_bytes(), b"." | b"..")
}

/// Opens a folder that is not a link; one that its owner may not read gets its permissions first.
pub(crate) fn readable_folder(parent: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            permit(&parent, name)?;
            openat(&parent, name, flags, Mode::empty())
        }
        folder => folder,
    }
}

/// The same, with all permissions of its owner.
fn open_folder(parent: impl AsFd, name: impl Arg + Copy) -> Result<(OwnedFd, Stat), Errno> {
    let folder = readable_folder(parent, name)?;
    let found = fstat(&folder)?;
    if Mode::from_raw_mode(found.st_mode) & Mode::RWXU != Mode::RWXU {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok((folder, found))
}

/// Gives the owner all permissions on a folder that cannot be opened. Goes through a handle, because the name could be a link
/// by now.
#[cfg(target_os = "linux")]
fn permit(parent: impl AsFd, name: impl Arg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(parent, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn permit(parent: impl AsFd, name: impl Arg) -> Result<(), Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
