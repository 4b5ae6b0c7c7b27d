//! How long the storage of a repository keeps what: a generation that no process uses for a day after it was replaced, a mirror
//! that was set aside until the next one is.

use std::{collections::HashSet, time::Duration};

use super::{
    is_commit,
    lock::RepositoryLock,
    storage::{self, RepositoryStorage},
};

/// How long a generation stays after it was replaced.
const GENERATION_RETENTION: Duration = Duration::from_hours(24);
/// The name of a mirror that was set aside.
const UNUSABLE_MIRROR: &str = "unusable-mirror.git";

/// Removes the generations that are not current, were replaced a day ago, and are not served by any process. Only while the
/// lock is held.
pub(super) fn remove_old(storage: &RepositoryStorage) {
    let current = current_commits(storage);
    for commit in commits(storage).filter(|commit| !current.contains(commit)) {
        if storage::age(&storage.lease(&commit)).is_none_or(|age| age > GENERATION_RETENTION) {
            remove_unused(storage, &commit);
        }
    }
}

/// The commits of all stored generations.
pub(super) fn commits(storage: &RepositoryStorage) -> impl Iterator<Item = String> {
    storage::names(&storage.generations()).into_iter().filter(|name| is_commit(name))
}

/// The commits that pointers lead to.
pub(super) fn current_commits(storage: &RepositoryStorage) -> HashSet<String> {
    let pointers = storage.pointers();
    storage::names(&pointers)
        .iter()
        .filter_map(|name| storage::read(&pointers.join(name).join("current")))
        .map(|commit| commit.trim_end().to_owned())
        .collect()
}

/// Removes a generation unless a process serves it: whether it was removed. Only while the lock is held.
pub(super) fn remove_unused(storage: &RepositoryStorage, commit: &str) -> bool {
    let lease = storage.lease(commit);
    let Ok(Some(_exclusive)) = RepositoryLock::try_take(&lease) else { return false };
    storage.discard(&storage.generation(commit));
    storage::remove(&lease);
    true
}

/// Whether no mirror was set aside within `interval`: a remote that breaks every mirror must not be cloned all the time.
pub(super) fn may_replace_mirror(storage: &RepositoryStorage, interval: Duration) -> bool {
    let head = storage.folder().join(UNUSABLE_MIRROR).join("HEAD");
    storage::age(&head).is_none_or(|age| age > interval)
}

/// Sets the mirror aside, so that a person can see what is wrong with it.
pub(super) fn set_mirror_aside(storage: &RepositoryStorage) {
    let aside = storage.folder().join(UNUSABLE_MIRROR);
    storage.discard(&aside);
    if storage::rename(&storage.mirror(), &aside).is_err() {
        storage.discard(&storage.mirror());
    }
    // The time of the replacement, even where the mirror could not be set aside.
    let _ = storage::make_folder(&aside);
    storage::touch(&aside.join("HEAD"));
}
