//! [`RepositoryLock`]: one process at a time changes the storage of a repository.
//!
//! The lock is the system's: it is free as soon as its owner ends. The git that the owner started holds it too, through its
//! standard input, so that a git that outlives its server is waited for.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use super::storage::open_lock_file;

/// Held until it is dropped.
#[derive(Debug)]
pub(super) struct RepositoryLock(File);

impl RepositoryLock {
    /// Takes the lock if no other process holds it.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open_lock_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The same lock for a process that this one starts.
    pub(super) fn shared(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

/// Marks a generation as in use until this process ends or drops it.
#[derive(Debug)]
pub(super) struct GenerationLease(File);

impl GenerationLease {
    /// Where the disk has no locks, no generation is removed either, since that takes a lock.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let file = open_lock_file(path)?;
        match file.try_lock_shared() {
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for GenerationLease {
    fn drop(&mut self) {
        // A child that another thread is starting has a copy of the descriptor, which would keep the lock for a moment.
        let _ = self.0.unlock();
    }
}
