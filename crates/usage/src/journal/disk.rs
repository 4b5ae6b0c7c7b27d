//! The only module that opens the journal's files: locked, appended to by whole lines, replaced by a rename.
//!
//! A lock is on a file, not on a name: a process that has waited for one checks whether the name still means that file, since its
//! holder may have moved it away. Files are for their owner only.

#![expect(clippy::disallowed_methods, reason = "only this module opens the journal's files")]

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    ops::Deref,
    path::{Path, PathBuf},
};

/// So often a file may be moved away while this process waits for its lock.
const MAX_LOCK_TRIES: usize = 1_000;

/// A file under an exclusive lock, which ends when this value is dropped.
///
/// Closing the file would not always end it: a child that another thread is starting has a copy of every descriptor
/// until it runs its program, and the lock lives as long as one copy.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If this fails, the lock ends when the last copy of the descriptor is closed.
        let _ = self.0.unlock();
    }
}

/// A file of this name under an exclusive lock. It is made where there is none, with its folder.
pub(crate) fn lock(path: &Path) -> io::Result<LockedFile> {
    for _ in 0..MAX_LOCK_TRIES {
        let file = open_or_make(path)?;
        step();
        file.lock()?;
        if is_at(&file, path) {
            return Ok(LockedFile(file));
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// The same for a file that is there; none where there is none.
pub(crate) fn lock_existing(path: &Path) -> io::Result<Option<LockedFile>> {
    for _ in 0..MAX_LOCK_TRIES {
        let file = match options().open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        step();
        file.lock()?;
        if is_at(&file, path) {
            return Ok(Some(LockedFile(file)));
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// The same for a file that is there, and only if no other process has it.
pub(crate) fn lock_if_free(path: &Path) -> io::Result<Option<LockedFile>> {
    let file = match options().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    try_lock(file, path)
}

/// The same for a file that is only read, and may belong to another user.
pub(crate) fn read_lock_if_free(path: &Path) -> io::Result<Option<LockedFile>> {
    match File::open(path) {
        Ok(file) => try_lock(file, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The same for a file that is made where there is none.
pub(crate) fn make_and_lock_if_free(path: &Path) -> io::Result<Option<LockedFile>> {
    try_lock(open_or_make(path)?, path)
}

fn try_lock(file: File, path: &Path) -> io::Result<Option<LockedFile>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(LockedFile(file)).filter(|file| is_at(file, path))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// No link is followed and no FIFO is waited for: a name in the folder is a plain file or an error.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}

fn open_or_make(path: &Path) -> io::Result<File> {
    let open = || options().create(true).open(path);
    step();
    let file = open().or_else(|error| match path.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
            open()
        }
        _ => Err(error),
    })?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Whether the name means this very file.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let which = |found: fs::Metadata| (found.dev(), found.ino());
    let (held, named) = (file.metadata().map(which).ok(), fs::metadata(path).map(which).ok());
    held.is_some() && held == named
}

/// Elsewhere a file that is open cannot be renamed.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Appends whole lines with one write, all of them or none.
pub(crate) fn append(file: &LockedFile, lines: &[u8]) -> io::Result<()> {
    let mut file: &File = file;
    let old = file.metadata()?.len();
    let mut torn = [b'\n'];
    if old > 0 {
        file.seek(SeekFrom::Start(old - 1))?;
        file.read_exact(&mut torn)?;
    }
    // A process was killed in the middle of a line; the line stays, and ends here.
    let ended = (torn != [b'\n']).then(|| [b"\n", lines].concat());
    let lines = ended.as_deref().unwrap_or(lines);
    step();
    let written = loop {
        match file.write(lines) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    match written {
        Ok(written) if written == lines.len() => Ok(()),
        Ok(_) => {
            file.set_len(old)?;
            Err(io::ErrorKind::StorageFull.into())
        }
        Err(error) => {
            // What is left of it is torn, and known as such.
            let _ = file.set_len(old);
            Err(error)
        }
    }
}

/// What was written survives a power cut. A file that has gone needs no more.
pub(crate) fn settle(path: &Path) -> io::Result<()> {
    step();
    match File::open(path) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Replaces a small file whole. Only who holds a lock that stands for it may.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = with_suffix(path, ".new");
    step();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        step();
        file.write_all(text)
    });
    written.and_then(|()| rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// The same name with something behind it.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Gives a file another name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step();
    fs::rename(from, to)
}

/// Removes a file; one that has gone is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    step();
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A file for reading; none where there is none.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The first bytes of a file; none where there is no file.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(most).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(bytes)
}

/// The names and sizes of the files in a folder, by name; none where there is no folder.
pub(crate) fn listed(folder: &Path) -> io::Result<Vec<(String, u64)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let file = |entry: fs::DirEntry| {
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((entry.file_name().into_string().ok()?, found.len()))
    };
    let mut files: Vec<_> = entries.flatten().filter_map(file).collect();
    files.sort();
    Ok(files)
}

/// Nothing, but for tests that end the process at every single step.
#[cfg(not(test))]
fn step() {}

#[cfg(test)]
use crate::kill_points::step;

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn a_lock_ends_although_a_child_that_is_being_started_has_a_copy_of_its_descriptor() {
        let home = Home::new();
        let path = home.path().join("journal.jsonl");
        let held = lock(&path).unwrap();
        let copy = held.try_clone().unwrap();
        assert!(lock_if_free(&path).unwrap().is_none());
        drop(held);
        assert!(lock_if_free(&path).unwrap().is_some());
        drop(copy);
    }
}
