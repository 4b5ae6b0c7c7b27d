//! [`Lock`]: one process at a time changes what is kept of a repository.
//!
//! The system holds it, not a number in a file: it is free as soon as its owner is gone, however it went. The git that the
//! owner started holds it too, through its standard input, so that a git that outlives us is waited for.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

/// Held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    /// Takes it if nobody else has it.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The same lock for a process that we start.
    pub(super) fn shared(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

/// Says that a generation is in use, for as long as this process lives.
#[derive(Debug)]
pub(super) struct Lease {
    #[expect(dead_code, reason = "holds the lock by being open")]
    file: File,
}

impl Lease {
    /// Where the disk cannot lock, nothing is removed either, since that takes a lock.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        match file.try_lock_shared() {
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
}
