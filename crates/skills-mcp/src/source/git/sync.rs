//! One sync: ask the remote, write a new commit, have it checked, move the pointer.
//!
//! One process of a user at a time syncs a repository; a process that waited for it uses its result. A mirror that git cannot
//! use is set aside and made again. After an error the pointer is where it was.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
    thread,
    time::{Duration, Instant},
};

use skills_core::diagnostic::escaped;

use super::{
    Generation, GitError, Manifest, Repository, Revision, SyncState, is_branch,
    lock::RepositoryLock,
    mirror::{FetchTarget, Mirror},
    quota::is_bulky,
    retention, state, storage,
};
use crate::paths::{is_folder, is_taken};

/// How often a lock is tried that another process holds.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// An unusable mirror is made again at most this often.
const MIRROR_REPLACEMENT_INTERVAL: Duration = Duration::from_hours(1);

/// What to sync, and within which limits.
#[derive(Clone, Copy)]
pub(crate) struct SyncRequest<'a> {
    /// The branch, where the URL names neither a branch nor a commit.
    pub(crate) branch: &'a str,
    /// Whether the remote's own default branch is followed where that branch is missing.
    pub(crate) or_default: bool,
    /// A commit to fetch instead of the branch.
    pub(crate) commit: Option<&'a str>,
    /// Whether to fetch only the content folder.
    pub(crate) sparse: bool,
    /// The remote is not asked where it was within this time.
    pub(crate) fresh_for: Duration,
    /// Whether the stored files are compared with git's hashes. If they differ, all are written again.
    pub(crate) verify: bool,
    /// How long to wait for another process that syncs.
    pub(crate) lock_timeout: Duration,
    /// How long the remote may take.
    pub(crate) remote_timeout: Duration,
    /// How many bytes all repositories may take together.
    pub(crate) max_total_bytes: u64,
    /// Whether a generation may be served; if not, why.
    pub(crate) check: &'a (dyn Fn(&Generation) -> Result<(), String> + Sync),
    /// Receives git's progress.
    pub(crate) progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// The result of a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The commit that is current now.
    pub commit: String,
    /// The repository's own branch, if it is followed because the usual one is missing.
    pub own_branch: Option<String>,
    /// The commit that was current before, if it was another.
    pub before: Option<String>,
    /// The files that differ between the two; all of them, if there was none before.
    pub changed: Vec<String>,
    /// Whether the remote was asked; not if another process had just asked it.
    pub asked: bool,
}

impl Repository {
    /// Syncs; blocks the calling thread. An error leaves everything as it was.
    pub(crate) fn sync(&self, request: &SyncRequest<'_>) -> Result<Synced, GitError> {
        let result = self.sync_or_wait(request);
        let error = match &result {
            Ok(_) => None,
            // Another process syncs, or this one ends: nothing is wrong with the repository.
            Err(GitError::Busy | GitError::Stopped) => self.last_error(),
            Err(error) => Some((error.to_string(), error.hint())),
        };
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
        result
    }

    /// Syncs, unless another process did lately or does so meanwhile.
    fn sync_or_wait(&self, request: &SyncRequest<'_>) -> Result<Synced, GitError> {
        let (asked_at, started) = (state::now(), Instant::now());
        self.storage.ensure()?;
        loop {
            if let Some(result) = self.recent_result(request, &self.state(), asked_at) {
                return result;
            }
            if let Some(lock) = self.lock()? {
                // Another process may have synced before the lock was taken.
                let known = self.state();
                return match self.recent_result(request, &known, asked_at) {
                    Some(result) => result,
                    None => self.sync_locked(request, &lock, known),
                };
            }
            if started.elapsed() >= request.lock_timeout {
                return Err(GitError::Busy);
            }
            if let Some(progress) = request.progress {
                progress("another process is syncing it; waiting for that one");
            }
            thread::sleep(LOCK_RETRY_INTERVAL);
        }
    }

    /// Takes the lock, if no other process holds it. Some network disks have no locks.
    fn lock(&self) -> Result<Option<RepositoryLock>, GitError> {
        let path = self.storage.lock();
        RepositoryLock::try_take(&path)
            .map_err(|error| GitError::Storage { path, why: format!("cannot be locked: {error}") })
    }

    /// The result of a sync that was recent enough, or that failed after this one was asked for.
    fn recent_result(
        &self,
        request: &SyncRequest<'_>,
        known: &SyncState,
        asked_at: u64,
    ) -> Option<Result<Synced, GitError>> {
        if request.commit.is_some() {
            return None;
        }
        let is_stored = |commit: &String| is_folder(&self.storage.generation(commit));
        let commit = self.commit().filter(is_stored);
        let is_whole = |commit: &Option<String>| {
            commit.as_ref().and_then(|it| self.stored(it, request)).is_some()
        };
        let synced = |commit| Synced {
            commit,
            own_branch: None,
            before: None,
            changed: Vec::new(),
            asked: false,
        };
        if matches!(self.remote.revision(), Revision::Commit(pinned) if commit.as_ref() == Some(pinned))
            && is_whole(&commit)
        {
            return commit.map(synced).map(Ok);
        }
        // A time in the future comes from a clock that was set back, and does not count.
        let is_since =
            |moment: u64, since: u64| (since..=state::now()).contains(&moment) && moment > 0;
        let fresh_for = u64::try_from(request.fresh_for.as_millis()).unwrap_or(0);
        let is_fresh = is_since(known.fetched_at, asked_at.saturating_sub(fresh_for));
        if is_fresh && known.error.is_none() && is_whole(&commit) {
            return commit.map(synced).map(Ok);
        }
        let failed = known.error.clone().filter(|_| is_since(known.tried_at, asked_at));
        failed.map(|(message, hint)| Err(GitError::Earlier { message, hint }))
    }

    fn sync_locked(
        &self,
        request: &SyncRequest<'_>,
        lock: &RepositoryLock,
        known: SyncState,
    ) -> Result<Synced, GitError> {
        self.storage.sweep();
        storage::make_folder(&self.pointer).map_err(|error| self.storage.disk_error(error))?;
        let before = self.commit().and_then(|commit| self.generation(&commit));
        let mut next = SyncState { tried_at: state::now(), error: None, ..known };
        next.branch = match self.target(request)? {
            FetchTarget::Branch(branch) => Some(branch.to_owned()),
            FetchTarget::Commit(_) => None,
        };
        let result = self.fetch_generation(request, lock).and_then(|fetched| {
            let commit = || fetched.0.commit().to_owned();
            (request.check)(&fetched.0)
                .map_err(|why| GitError::Refused { commit: commit(), why })?;
            Ok(fetched)
        });
        let (generation, own_branch) = match result {
            Ok(fetched) => fetched,
            Err(error) => {
                if !matches!(error, GitError::Stopped) {
                    next.error = Some((error.to_string(), error.hint()));
                    self.save_state(&next);
                }
                return Err(error);
            }
        };
        next.branch = own_branch.clone().or(next.branch);
        self.serve_rewritten(&generation);
        let moved = before.as_ref().is_none_or(|before| before.commit() != generation.commit());
        // What was pushed since the remote was asked is not fetched, and a request that came since must not count as served.
        next.fetched_at = next.tried_at;
        if moved {
            next.changed_at = next.fetched_at;
            let text = format!("{}\n", generation.commit());
            let replaced = self.storage.replace(&self.pointer.join("current"), &text);
            replaced.map_err(|error| self.storage.disk_error(error))?;
            // Its retention begins now.
            if let Some(before) = &before {
                storage::touch(&self.storage.lease(before.commit()));
            }
        }
        self.save_state(&next);
        retention::remove_old(&self.storage);
        let empty = Manifest::default();
        let old = before.as_ref().map_or(&empty, Generation::manifest);
        let changed = if moved { generation.manifest().differences(old) } else { Vec::new() };
        Ok(Synced {
            commit: generation.commit().to_owned(),
            own_branch,
            before: before.filter(|_| moved).map(|before| before.commit().to_owned()),
            changed,
            asked: true,
        })
    }

    /// What to fetch: as the request or the URL says, else as the settings do.
    fn target<'a>(&'a self, request: &SyncRequest<'a>) -> Result<FetchTarget<'a>, GitError> {
        let branch = match (request.commit, self.remote.revision()) {
            (Some(commit), _) => return Ok(FetchTarget::Commit(commit)),
            (None, Revision::Commit(commit)) => return Ok(FetchTarget::Commit(commit)),
            (None, Revision::Branch(branch)) => branch,
            (None, Revision::Configured) => request.branch,
        };
        // The settings may be those of the content, which were not checked.
        let wrong = || GitError::NoBranch { branch: escaped(branch), others: Vec::new() };
        is_branch(branch).then_some(FetchTarget::Branch(branch)).ok_or_else(wrong)
    }

    /// Fetches and writes the generation, and names the branch that is followed instead of a missing one. A mirror that git cannot
    /// use is made again.
    fn fetch_generation(
        &self,
        request: &SyncRequest<'_>,
        lock: &RepositoryLock,
    ) -> Result<(Generation, Option<String>), GitError> {
        let folder = self.storage.mirror();
        let bulky = is_bulky(&folder);
        let is_there = is_taken(&folder);
        let failed = if bulky {
            GitError::Broken("it holds more of the past than of the present".to_owned())
        } else if is_there {
            match self.fetch_with(&self.mirror(folder.clone(), request, lock), request) {
                Err(error) if error.is_broken_copy() => error,
                result => return result,
            }
        } else {
            GitError::Broken("there is none".to_owned())
        };
        let may_replace =
            || retention::may_replace_mirror(&self.storage, MIRROR_REPLACEMENT_INTERVAL);
        if is_there && !bulky && !may_replace() {
            return Err(failed);
        }
        let fresh = self.storage.unfinished("mirror");
        let result = self.fetch_with(&self.mirror(fresh.clone(), request, lock), request);
        if result.is_ok() {
            if bulky {
                self.storage.discard(&folder);
            } else if is_there {
                tracing::warn!(
                    source = &*self.name,
                    "the copy of the repository was unusable ({failed}); it was set aside and made again"
                );
                retention::set_mirror_aside(&self.storage);
            }
            storage::rename(&fresh, &folder).map_err(|error| self.storage.disk_error(error))?;
        } else {
            storage::remove(&fresh);
        }
        result
    }

    fn fetch_with(
        &self,
        mirror: &Mirror<'_>,
        request: &SyncRequest<'_>,
    ) -> Result<(Generation, Option<String>), GitError> {
        mirror.prepare()?;
        let target = self.target(request)?;
        let (commit, followed) = match mirror.fetch(target) {
            Err(missing @ GitError::NoBranch { .. })
                if request.or_default && *self.remote.revision() == Revision::Configured =>
            {
                let branch = mirror.default_branch()?.ok_or(missing)?;
                (mirror.fetch(FetchTarget::Branch(&branch))?, Some(branch))
            }
            fetched => (fetched?, None),
        };
        if let Some(branch) = followed.as_ref().filter(|_| self.state().branch != followed) {
            let (source, wanted) = (&*self.name, request.branch);
            tracing::warn!(
                source,
                "there is no branch `{wanted}`; the repository's own, `{branch}`, is followed"
            );
        }
        if let Some(generation) = self.stored(&commit, request) {
            return Ok((generation, followed));
        }
        let make_room = |bytes| self.make_room(&commit, bytes, request.max_total_bytes);
        Ok((Generation::write(mirror, &commit, &make_room)?, followed))
    }

    /// Serves a generation of the same commit that was written again, from the next scan on.
    fn serve_rewritten(&self, generation: &Generation) {
        let is_other = |serving: &Arc<Generation>| {
            serving.commit() == generation.commit() && serving.manifest() != generation.manifest()
        };
        if self.serving().is_some_and(|serving| is_other(&serving)) {
            self.serving.store(self.generation(generation.commit()).map(Arc::new));
        }
    }

    /// The stored generation of a commit, if it is as it was written or the request does not ask for that.
    fn stored(&self, commit: &str, request: &SyncRequest<'_>) -> Option<Generation> {
        let generation = self.generation(commit)?;
        if !request.verify {
            return Some(generation);
        }
        match self.edits(&generation) {
            Ok(edits) if edits.is_empty() => Some(generation),
            Ok(edits) => {
                let (source, files) = (&*self.name, edits.len());
                tracing::warn!(
                    source,
                    files,
                    "files of the local copy were changed; it is written again"
                );
                None
            }
            Err(error) => {
                let source = &*self.name;
                tracing::debug!(
                    source,
                    "the local copy cannot be checked, and is written again: {error}"
                );
                None
            }
        }
    }

    fn mirror<'a>(
        &'a self,
        folder: PathBuf,
        request: &SyncRequest<'a>,
        lock: &'a RepositoryLock,
    ) -> Mirror<'a> {
        Mirror {
            git: &self.git,
            storage: &self.storage,
            folder,
            remote: &self.remote,
            lock,
            timeout: request.remote_timeout,
            sparse: request.sparse,
            progress: request.progress,
        }
    }

    /// Saves the state for other processes and for `status`. Where that fails, they ask the remote themselves.
    fn save_state(&self, state: &SyncState) {
        if let Ok(text) = serde_json::to_string(state) {
            let _ = self.storage.replace(&self.pointer.join("state.json"), &text);
        }
    }

    /// The commit that the remote is at, for `status`.
    pub(crate) fn remote_head(
        &self,
        branch: &str,
        timeout: Duration,
    ) -> Result<Option<String>, GitError> {
        self.storage.ensure()?;
        let check = |_: &Generation| Ok(());
        let request = SyncRequest {
            branch,
            or_default: false,
            commit: None,
            sparse: false,
            fresh_for: Duration::ZERO,
            verify: false,
            lock_timeout: Duration::ZERO,
            remote_timeout: timeout,
            max_total_bytes: u64::MAX,
            check: &check,
            progress: None,
        };
        let lock = self.lock()?.ok_or(GitError::Busy)?;
        match self.target(&request)? {
            FetchTarget::Commit(commit) => Ok(Some(commit.to_owned())),
            FetchTarget::Branch(branch) => {
                let folder = self.storage.unfinished("asking");
                let mirror = self.mirror(folder.clone(), &request, &lock);
                let head = mirror.prepare().and_then(|()| mirror.head(branch));
                storage::remove(&folder);
                head
            }
        }
    }

    /// Saves the current commit as the one that `status` showed last; the one before.
    pub(crate) fn mark_seen(&self) -> Option<String> {
        let mut state = self.state();
        let before = state.seen.take();
        state.seen = self.commit();
        if state.seen != before
            && let Ok(Some(_lock)) = self.lock()
        {
            self.save_state(&state);
        }
        before
    }

    /// The generation of a commit, if it is stored.
    pub(crate) fn generation(&self, commit: &str) -> Option<Generation> {
        Generation::open(&self.storage, commit)
    }
}
