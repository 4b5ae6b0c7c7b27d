//! How much of the disk all repositories of a user may take together (`git.max_total_bytes`).
//!
//! To make room for a new commit, the oldest generation that is neither current nor in use is removed first. A commit for which
//! no room can be made is refused. How large one commit may be is not here (generation).

use std::{path::Path, sync::PoisonError, time::Duration};

use super::{
    Generation, GitError, Repository,
    generation::mib,
    lock::RepositoryLock,
    retention,
    storage::{self, PACK_FOLDER, RepositoryStorage},
};

/// A mirror that is smaller is not replaced for its size.
const MIN_BULKY_MIRROR_BYTES: u64 = 1024 * 1024 * 1024;

/// A generation on disk.
struct StoredGeneration {
    storage: RepositoryStorage,
    commit: String,
    bytes: u64,
    age: Duration,
    is_current: bool,
}

impl Repository {
    /// Makes room for a commit of this size. Only while this repository's lock is held.
    pub(super) fn make_room(&self, commit: &str, bytes: u64, limit: u64) -> Result<(), GitError> {
        let fits = |stored: &[StoredGeneration]| total(stored).saturating_add(bytes) <= limit;
        let mut stored = stored_generations(&self.storage);
        self.evict(&mut stored, &fits);
        // An update matters more than a folder that this process served before the current one.
        if !fits(&stored) && self.release_old() {
            self.evict(&mut stored, &fits);
        }
        if fits(&stored) {
            return Ok(());
        }
        Err(GitError::OverQuota {
            commit: commit.to_owned(),
            bytes: mib(bytes),
            stored: mib(total(&stored_generations(&self.storage))),
            limit: mib(limit),
            folder: self.storage.content().to_owned(),
        })
    }

    /// Removes the oldest generations until the rest fit; none, where all that may be removed would not be enough.
    fn evict(
        &self,
        stored: &mut Vec<StoredGeneration>,
        fits: &dyn Fn(&[StoredGeneration]) -> bool,
    ) {
        // The current ones first.
        stored.sort_by_key(|one| (!one.is_current, std::cmp::Reverse(one.age)));
        let mut at = stored.partition_point(|one| one.is_current);
        if !stored.get(..at).is_some_and(fits) {
            return;
        }
        while !fits(stored)
            && let Some(oldest) = stored.get(at)
        {
            if self.remove_if_unused(oldest) {
                stored.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Removes a generation that is not in use: whether it was removed. One of another repository only while no process syncs
    /// that one.
    fn remove_if_unused(&self, stored: &StoredGeneration) -> bool {
        let storage = &stored.storage;
        let is_own = storage.folder() == self.storage.folder();
        let lock = (!is_own).then(|| RepositoryLock::try_take(&storage.lock()).ok().flatten());
        if let Some(None) = lock {
            return false;
        }
        // It may have become current meanwhile.
        !retention::current_commits(storage).contains(&stored.commit)
            && retention::remove_unused(storage, &stored.commit)
    }

    /// Drops the leases of generations that this process served before the current one: whether there were any.
    fn release_old(&self) -> bool {
        let serving = self.serving();
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let before = leases.len();
        leases.retain(|commit, _| serving.as_ref().is_some_and(|one| one.commit() == commit));
        leases.len() < before
    }
}

/// Every generation of every repository of this home.
fn stored_generations(own: &RepositoryStorage) -> Vec<StoredGeneration> {
    let mut found = Vec::new();
    for storage in own.all() {
        let current = retention::current_commits(&storage);
        for commit in retention::commits(&storage) {
            let opened = Generation::open(&storage, &commit);
            found.push(StoredGeneration {
                bytes: opened.map_or(0, |generation| generation.manifest().disk_bytes()),
                age: storage::age(&storage.lease(&commit)).unwrap_or(Duration::MAX),
                is_current: current.contains(&commit),
                commit,
                storage: storage.clone(),
            });
        }
    }
    found
}

fn total(stored: &[StoredGeneration]) -> u64 {
    stored.iter().map(|one| one.bytes).fold(0, u64::saturating_add)
}

/// Whether a mirror holds more of earlier fetches than one fetch brings, so that a new mirror would be smaller.
pub(super) fn is_bulky(mirror: &Path) -> bool {
    let packs = storage::sizes(&mirror.join(PACK_FOLDER));
    let (all, largest) = (packs.iter().sum::<u64>(), packs.iter().copied().max().unwrap_or(0));
    all > MIN_BULKY_MIRROR_BYTES && largest < all / 2
}
