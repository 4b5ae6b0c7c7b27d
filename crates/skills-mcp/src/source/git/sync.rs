//! One sync: ask the remote, write what is new, have it checked, move the pointer.
//!
//! One process of a user at a time does it, and whoever waited for that one takes what it brought. A copy that git cannot
//! use is set aside and made again. Whatever goes wrong, the pointer stays where it was.

use std::{
    path::PathBuf,
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use skills_core::diagnostic::escaped;

use super::{
    Generation, GitError, Repository, State, Wanted, is_branch, keep,
    lock::Lock,
    mirror::{Fetched, Mirror},
    place,
    room::is_bulky,
    state,
};

/// How often a lock that somebody else has is asked for.
const AGAIN: Duration = Duration::from_millis(50);
/// A copy is made again at most this often.
const RENEWED: Duration = Duration::from_hours(1);

/// What a sync is asked for.
#[expect(missing_debug_implementations, reason = "what checks a generation cannot be shown")]
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The branch, where the URL names neither a branch nor a commit.
    pub branch: &'a str,
    /// A commit to take instead, whatever the branch is at.
    pub commit: Option<&'a str>,
    /// Whether files outside the content stay on the server.
    pub sparse: bool,
    /// What was fetched so long ago is good enough.
    pub fresh_for: Duration,
    /// How long another process is waited for.
    pub patience: Duration,
    /// How long the remote is waited for.
    pub timeout: Duration,
    /// How many bytes all repositories may take together.
    pub max_total_bytes: u64,
    /// Whether a generation may be served; if not, why.
    pub check: &'a (dyn Fn(&Generation) -> Result<(), String> + Sync),
    /// Who hears how it gets on.
    pub progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// What a sync came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The commit that is current now.
    pub commit: String,
    /// The commit that was current before, if it was another.
    pub before: Option<String>,
    /// The files that differ between the two; all of them, if there was none before.
    pub changed: Vec<String>,
    /// Whether the remote was asked; not if somebody just had.
    pub asked: bool,
}

impl Repository {
    /// Syncs; blocks while it does. An error leaves everything as it was.
    pub fn sync(&self, ask: &Ask<'_>) -> Result<Synced, GitError> {
        let result = self.sync_in_turn(ask);
        let trouble = match &result {
            Ok(_) => None,
            // Somebody else is at it, or nobody any more: nothing is wrong with the repository.
            Err(GitError::Busy | GitError::Stopped) => self.trouble(),
            Err(error) => Some((error.to_string(), error.hint())),
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        result
    }

    fn sync_in_turn(&self, ask: &Ask<'_>) -> Result<Synced, GitError> {
        let (asked, started) = (state::now(), Instant::now());
        let enough = asked.saturating_sub(u64::try_from(ask.fresh_for.as_millis()).unwrap_or(0));
        self.place.ensure()?;
        loop {
            // What somebody did while we waited is what we came for.
            let known = self.state();
            let at_hand =
                ask.commit.is_none().then(|| self.at_hand(&known, enough, asked)).flatten();
            if let Some(synced) = at_hand {
                return synced;
            }
            if let Some(lock) = self.lock()? {
                // It may have been done between the look and the lock.
                let known = self.state();
                if let Some(synced) =
                    ask.commit.is_none().then(|| self.at_hand(&known, enough, asked)).flatten()
                {
                    return synced;
                }
                return self.sync_alone(ask, &lock, known);
            }
            if started.elapsed() >= ask.patience {
                return Err(GitError::Busy);
            }
            if let Some(progress) = ask.progress {
                progress("another process is syncing it; waiting for that one");
            }
            thread::sleep(AGAIN);
        }
    }

    /// Takes the lock, if nobody else has it. Some disks of other machines have none to give.
    fn lock(&self) -> Result<Option<Lock>, GitError> {
        let path = self.place.lock();
        Lock::take(&path)
            .map_err(|error| GitError::Place { path, why: format!("cannot be locked: {error}") })
    }

    /// What is good enough as it is: fetched lately, or tried in vain since we asked.
    fn at_hand(&self, known: &State, enough: u64, asked: u64) -> Option<Result<Synced, GitError>> {
        let commit = self.commit().filter(|commit| self.place.generation(commit).is_dir());
        let synced = |commit| Synced { commit, before: None, changed: Vec::new(), asked: false };
        if matches!(self.remote.wanted(), Wanted::Commit(pinned) if commit.as_ref() == Some(pinned))
        {
            return commit.map(synced).map(Ok);
        }
        // A time in the future is a clock that was set back, and says nothing.
        let lately =
            |moment: u64, since: u64| (since..=state::now()).contains(&moment) && moment > 0;
        if lately(known.fetched_at, enough) && commit.is_some() && known.error.is_none() {
            return commit.map(synced).map(Ok);
        }
        let failed = known.error.clone().filter(|_| lately(known.tried_at, asked));
        failed.map(|(message, hint)| Err(GitError::Earlier { message, hint }))
    }

    fn sync_alone(&self, ask: &Ask<'_>, lock: &Lock, known: State) -> Result<Synced, GitError> {
        self.place.sweep();
        place::make_folder(&self.pointer).map_err(|error| self.place.disk(error))?;
        let before = self.commit().and_then(|commit| Generation::open(&self.place, &commit));
        let mut next = State { tried_at: state::now(), error: None, ..known };
        next.branch = match self.fetched(ask)? {
            Fetched::Branch(branch) => Some(branch.to_owned()),
            Fetched::Commit(_) => None,
        };
        let result = self.brought(ask, lock).and_then(|generation| {
            let commit = || generation.commit().to_owned();
            (ask.check)(&generation).map_err(|why| GitError::Refused { commit: commit(), why })?;
            Ok(generation)
        });
        let generation = match result {
            Ok(generation) => generation,
            Err(error) => {
                if !matches!(error, GitError::Stopped) {
                    next.error = Some((error.to_string(), error.hint()));
                    self.remember(&next);
                }
                return Err(error);
            }
        };
        let moved = before.as_ref().is_none_or(|before| before.commit() != generation.commit());
        next.fetched_at = state::now();
        if moved {
            next.changed_at = next.fetched_at;
            let text = format!("{}\n", generation.commit());
            let replaced = self.place.replace(&self.pointer.join("current"), &text);
            replaced.map_err(|error| self.place.disk(error))?;
            // Its day begins now.
            if let Some(before) = &before {
                place::touch(&self.place.lease(before.commit()));
            }
        }
        self.remember(&next);
        keep::remove_old(&self.place);
        let empty = super::Manifest::default();
        let old = before.as_ref().map_or(&empty, Generation::manifest);
        let changed = if moved { generation.manifest().differences(old) } else { Vec::new() };
        Ok(Synced {
            commit: generation.commit().to_owned(),
            before: before.filter(|_| moved).map(|before| before.commit().to_owned()),
            changed,
            asked: true,
        })
    }

    /// What is to be fetched: as the URL says, else as the settings do.
    fn fetched<'a>(&'a self, ask: &Ask<'a>) -> Result<Fetched<'a>, GitError> {
        let branch = match (ask.commit, self.remote.wanted()) {
            (Some(commit), _) => return Ok(Fetched::Commit(commit)),
            (None, Wanted::Commit(commit)) => return Ok(Fetched::Commit(commit)),
            (None, Wanted::Branch(branch)) => branch,
            (None, Wanted::Settings) => ask.branch,
        };
        // The settings may be the content's, which nobody has checked.
        let wrong = || GitError::NoBranch { branch: escaped(branch), others: Vec::new() };
        is_branch(branch).then_some(Fetched::Branch(branch)).ok_or_else(wrong)
    }

    /// The generation that is wanted, on disk. A copy that git cannot use is made again.
    fn brought(&self, ask: &Ask<'_>, lock: &Lock) -> Result<Generation, GitError> {
        let folder = self.place.mirror();
        let bulky = is_bulky(&folder);
        let there = folder.exists() || folder.is_symlink();
        let failed = if bulky {
            GitError::Broken("it holds more of the past than of the present".to_owned())
        } else if there {
            match self.brought_by(&self.mirror(folder.clone(), ask, lock), ask) {
                Err(error) if error.is_broken_copy() => error,
                result => return result,
            }
        } else {
            GitError::Broken("there is none".to_owned())
        };
        if there && !bulky && !keep::may_renew(&self.place, RENEWED) {
            return Err(failed);
        }
        let fresh = self.place.unfinished("mirror");
        let result = self.brought_by(&self.mirror(fresh.clone(), ask, lock), ask);
        if result.is_ok() {
            if bulky {
                self.place.discard(&folder);
            } else if there {
                tracing::warn!(
                    source = &*self.name,
                    "the copy of the repository was unusable ({failed}); it was set aside and made again"
                );
                keep::set_aside(&self.place);
            }
            std::fs::rename(&fresh, &folder).map_err(|error| self.place.disk(error))?;
        } else {
            place::remove(&fresh);
        }
        result
    }

    fn brought_by(&self, mirror: &Mirror<'_>, ask: &Ask<'_>) -> Result<Generation, GitError> {
        mirror.ready()?;
        let commit = mirror.fetch(self.fetched(ask)?)?;
        if let Some(generation) = Generation::open(&self.place, &commit) {
            return Ok(generation);
        }
        let make_room = |bytes| self.make_room(&commit, bytes, ask.max_total_bytes);
        Generation::write(mirror, &commit, &make_room)
    }

    fn mirror<'a>(&'a self, folder: PathBuf, ask: &Ask<'a>, lock: &'a Lock) -> Mirror<'a> {
        Mirror {
            git: &*self.git,
            place: &self.place,
            folder,
            remote: &self.remote,
            lock,
            timeout: ask.timeout,
            sparse: ask.sparse,
            progress: ask.progress,
        }
    }

    /// For the other processes, and for `status`. Where it cannot be written they will ask for themselves.
    pub(super) fn remember(&self, state: &State) {
        if let Ok(text) = serde_json::to_string(state) {
            let _ = self.place.replace(&self.pointer.join("state.json"), &text);
        }
    }

    /// The commit that the remote is at, for `status`.
    pub fn remote_head(&self, branch: &str, timeout: Duration) -> Result<Option<String>, GitError> {
        self.place.ensure()?;
        let check = |_: &Generation| Ok(());
        let ask = Ask {
            branch,
            commit: None,
            sparse: false,
            fresh_for: Duration::ZERO,
            patience: Duration::ZERO,
            timeout,
            max_total_bytes: u64::MAX,
            check: &check,
            progress: None,
        };
        let lock = self.lock()?;
        let lock = lock.ok_or(GitError::Busy)?;
        match self.fetched(&ask)? {
            Fetched::Commit(commit) => Ok(Some(commit.to_owned())),
            Fetched::Branch(branch) => {
                let folder = self.place.unfinished("asking");
                let mirror = self.mirror(folder.clone(), &ask, &lock);
                let head = mirror.ready().and_then(|()| mirror.head(branch));
                place::remove(&folder);
                head
            }
        }
    }

    /// Remembers that somebody has seen what is current; what they had seen before.
    pub fn see(&self) -> Option<String> {
        let mut state = self.state();
        let before = state.seen.take();
        state.seen = self.commit();
        if state.seen != before
            && let Ok(Some(_lock)) = Lock::take(&self.place.lock())
        {
            self.remember(&state);
        }
        before
    }

    /// The manifest of a commit that is still on disk.
    pub fn generation(&self, commit: &str) -> Option<Generation> {
        Generation::open(&self.place, commit)
    }
}
