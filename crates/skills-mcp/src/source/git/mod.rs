//! [`Repository`]: a git repository that is a source, stored as immutable generations of which one is current.
//!
//! A generation is a folder of plain files, served like any directory. A sync fetches a commit, writes it as a new generation,
//! has it checked, and moves one pointer. Not here: when to sync (store), and who is notified (transport).

mod edits;
mod error;
mod failure;
mod generation;
mod history;
mod lock;
mod manifest;
mod memory;
mod messages;
mod mirror;
mod program;
mod quota;
mod retention;
mod settings;
mod ssh_config;
mod state;
mod storage;
mod sync;
mod token;
mod tools;
mod url;

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwapOption;
pub use error::GitError;
pub(crate) use generation::Generation;
pub use history::ServedCommit;
use lock::GenerationLease;
use manifest::Manifest;
pub(crate) use program::InstalledGit;
use state::SyncState;
use storage::RepositoryStorage;
pub(crate) use sync::SyncRequest;
pub use sync::Synced;
use thiserror::Error;
pub(crate) use url::{Remote, is_branch, is_commit};
use url::{Revision, UrlError, short_digest};

use crate::{
    config::NamedRepository,
    source::disk::{FileIdentity, folder_identity},
};

/// A repository that is a source.
pub struct Repository {
    name: Arc<str>,
    remote: Remote,
    /// Its name in the record of consent: the URL with the branch or commit.
    consent_name: String,
    storage: RepositoryStorage,
    /// The folder of the pointer to the current generation; each branch and commit that is wanted has its own.
    pointer: PathBuf,
    git: Arc<InstalledGit>,
    /// The generation that the last scan found.
    serving: ArcSwapOption<Generation>,
    /// Generations that this process has served. Agents go on using the folders they were given.
    leases: Mutex<HashMap<String, GenerationLease>>,
    /// Why the last sync of this process failed, and what to do.
    last_error: Mutex<Option<(String, String)>>,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").field("remote", &self.remote).finish_non_exhaustive()
    }
}

/// Why a repository cannot be a source.
#[derive(Debug, Error)]
pub(crate) enum RepositoryError {
    #[error("{origin}: the URL {error}")]
    Url {
        /// The variable, the flag or the line of a file that names it.
        origin: Cow<'static, str>,
        error: UrlError,
    },
    #[error("SKILLS_BRANCH or git.branch: `{0}` cannot be a branch")]
    Branch(String),
    #[error("{origin}: there is no home folder to keep the repository in")]
    NoHome {
        /// The variable, the flag or the line of a file that names it.
        origin: Cow<'static, str>,
    },
}

impl RepositoryError {
    /// What to do.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Url { error, .. } => error.hint(),
            Self::Branch(_) => "name a branch such as main or team/skills",
            Self::NoHome { .. } => "set HOME",
        }
    }
}

impl Repository {
    /// Checks the URL and the branch; starts nothing and reads nothing. `branch` is the one that the operator sets; without it
    /// the content may set one.
    pub(crate) fn open(
        named: &NamedRepository,
        home: Option<&Path>,
        branch: Option<&str>,
        git: Arc<InstalledGit>,
    ) -> Result<Self, RepositoryError> {
        let origin = named.origin.clone();
        let remote = Remote::parse(&named.url)
            .map_err(|error| RepositoryError::Url { origin: origin.clone(), error })?;
        let remote = if named.of_project { remote.of_others() } else { remote };
        if let Some(branch) = branch.filter(|branch| !is_branch(branch)) {
            return Err(RepositoryError::Branch(branch.escape_debug().to_string()));
        }
        let home = home.ok_or(RepositoryError::NoHome { origin })?;
        let storage = RepositoryStorage::new(home, &remote.key());
        let configured = branch.filter(|_| *remote.revision() == Revision::Configured);
        let pointer = match (remote.revision(), configured) {
            (Revision::Commit(commit), _) => format!("commit-{commit}"),
            (Revision::Configured, None) => "default".to_owned(),
            (Revision::Branch(branch), _) => format!("branch-{}", short_digest(branch)),
            (Revision::Configured, Some(branch)) => format!("branch-{}", short_digest(branch)),
        };
        let consent_name = match configured {
            Some(branch) => format!("{}#{branch}", remote.url()),
            None => remote.to_string(),
        };
        let pointer = storage.pointers().join(pointer);
        Ok(Self {
            name: named.name.as_str().into(),
            remote,
            consent_name,
            storage,
            pointer,
            git,
            serving: ArcSwapOption::empty(),
            leases: Mutex::default(),
            last_error: Mutex::default(),
        })
    }

    /// Its name among the sources.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its address, and the revision that the address names.
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Its name in the record of consent: one name for one branch or commit of it.
    pub(crate) fn consent_name(&self) -> &str {
        &self.consent_name
    }

    /// The folder it is stored in.
    pub(crate) fn folder(&self) -> &Path {
        self.storage.folder()
    }

    /// The commit that the pointer leads to now.
    pub(crate) fn commit(&self) -> Option<String> {
        let commit = storage::read(&self.pointer.join("current"))?;
        let commit = commit.trim_end();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Which folder of content the pointer leads to now.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        folder_identity(&self.storage.generation(&self.commit()?).join("skills"))
    }

    /// The generation that the last scan found: whatever is read beside its files belongs to the same commit.
    pub(crate) fn serving(&self) -> Option<Arc<Generation>> {
        self.serving.load_full()
    }

    /// The generation that the pointer leads to, which this process serves from now on and holds until it ends.
    pub(in crate::source) fn serve(&self) -> Option<Arc<Generation>> {
        let commit = self.commit()?;
        if let Some(serving) = self.serving().filter(|serving| serving.commit() == commit) {
            return Some(serving);
        }
        // The lease comes first: no process removes a generation with a lease.
        let lease = GenerationLease::take(&self.storage.lease(&commit)).ok();
        let generation = Arc::new(Generation::open(&self.storage, &commit)?);
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.extend(lease.map(|lease| (commit, lease)));
        self.serving.store(Some(Arc::clone(&generation)));
        Some(generation)
    }

    /// The last syncs, of any process.
    pub(crate) fn state(&self) -> SyncState {
        let state = storage::read(&self.pointer.join("state.json"));
        state.and_then(|state| serde_json::from_str(&state).ok()).unwrap_or_default()
    }

    /// Why the last sync of this process failed, and what to do; none if it did not.
    pub(crate) fn last_error(&self) -> Option<(String, String)> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is left of earlier commits and cannot be removed; a sentence about each.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        self.storage.left_behind()
    }

    /// Kills the git that runs for it, and starts no other.
    pub(crate) fn stop(&self) {
        self.git.stop();
    }
}
