//! [`Repository`]: a git repository that somebody named, kept as immutable generations of which one is current.
//!
//! What is served is a folder of plain files, as with any directory; only who makes it and when it becomes another differs.
//! A sync fetches, writes the commit beside what is there, has it checked, and moves one pointer. Not here: when to sync
//! (store), and who hears of it (surface).

mod error;
mod generation;
mod keep;
mod lock;
mod manifest;
mod mirror;
mod place;
mod program;
mod room;
mod said;
mod settings;
mod state;
mod sync;
mod token;
mod tools;
mod url;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwapOption;
pub use error::GitError;
pub use generation::Generation;
use lock::Lease;
pub use manifest::Manifest;
use place::Place;
pub use program::{Call, Git, Installed, Take};
pub use state::State;
pub use sync::{Ask, Synced};
use thiserror::Error;
use url::short_digest;
pub use url::{Remote, UrlError, Wanted, is_branch, is_commit};

use crate::{
    config::NamedRepository,
    source::disk::{Identity, identity},
};

/// A repository that is followed.
pub struct Repository {
    name: Arc<str>,
    remote: Remote,
    /// Its address with what is wanted of it, by whomever: what it is called in the record of consent.
    consent_name: String,
    place: Place,
    /// What somebody wants of it has a pointer of its own.
    pointer: PathBuf,
    git: Arc<dyn Git>,
    /// The generation that the last look found.
    serving: ArcSwapOption<Generation>,
    /// Those that this process has served. Agents go on using the folders they were given.
    leases: Mutex<HashMap<String, Lease>>,
    /// Why the last sync of this process failed.
    trouble: Mutex<Option<(String, String)>>,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").field("remote", &self.remote).finish_non_exhaustive()
    }
}

/// A repository that is not followed at all.
#[derive(Debug, Error)]
pub enum RepositoryError {
    /// A URL that we do not take.
    #[error("{origin}: the URL {error}")]
    Url {
        /// The variable or flag that names it.
        origin: &'static str,
        /// Why not.
        error: UrlError,
    },
    /// A branch that git would not take either.
    #[error("SKILLS_BRANCH or git.branch: `{0}` cannot be a branch")]
    Branch(String),
    /// Nowhere to keep it.
    #[error("{origin}: there is no home folder to keep the repository in")]
    NoHome {
        /// The variable or flag that names it.
        origin: &'static str,
    },
}

impl RepositoryError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { error, .. } => error.hint(),
            Self::Branch(_) => "name a branch such as main or team/skills",
            Self::NoHome { .. } => "set HOME",
        }
    }
}

impl Repository {
    /// Checks what was named. Nothing is started or looked at yet. `branch` is what the operator says, where they do: else the
    /// content may, and what it comes to has a pointer of its own.
    pub fn open(
        named: &NamedRepository,
        home: Option<&Path>,
        branch: Option<&str>,
        git: Arc<dyn Git>,
    ) -> Result<Self, RepositoryError> {
        let origin = named.origin;
        let remote =
            Remote::parse(&named.url).map_err(|error| RepositoryError::Url { origin, error })?;
        if let Some(branch) = branch.filter(|branch| !is_branch(branch)) {
            return Err(RepositoryError::Branch(branch.escape_debug().to_string()));
        }
        let home = home.ok_or(RepositoryError::NoHome { origin })?;
        let place = Place::new(home, &remote.key());
        let wanted = match (remote.wanted(), branch) {
            (Wanted::Commit(commit), _) => format!("commit-{commit}"),
            (Wanted::Settings, None) => "default".to_owned(),
            (Wanted::Branch(branch), _) => format!("branch-{}", short_digest(branch)),
            (Wanted::Settings, Some(branch)) => format!("branch-{}", short_digest(branch)),
        };
        let consent_name = match branch.filter(|_| *remote.wanted() == Wanted::Settings) {
            Some(branch) => format!("{}#{branch}", remote.url()),
            None => remote.to_string(),
        };
        let pointer = place.wanted().join(wanted);
        Ok(Self {
            name: named.name.as_str().into(),
            remote,
            consent_name,
            place,
            pointer,
            git,
            serving: ArcSwapOption::empty(),
            leases: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// Its name among the sources.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its address, and what of it is wanted.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// What it is called in the record of consent: one name for one branch or commit of it.
    pub fn consent_name(&self) -> &str {
        &self.consent_name
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }

    /// The commit that the pointer leads to now.
    pub fn commit(&self) -> Option<String> {
        let commit = place::read(&self.pointer.join("current"))?;
        let commit = commit.trim_end();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Which folder of content the pointer leads to now.
    pub fn identity(&self) -> Option<Identity> {
        identity(&self.place.generation(&self.commit()?).join("skills"))
    }

    /// The generation that the last look found: whatever is read beside its files belongs to the same commit.
    pub fn serving(&self) -> Option<Arc<Generation>> {
        self.serving.load_full()
    }

    /// The generation that the pointer leads to, which from now on is served, and stays for as long as we live.
    pub(super) fn serve(&self) -> Option<Arc<Generation>> {
        let commit = self.commit()?;
        if let Some(serving) = self.serving().filter(|serving| serving.commit() == commit) {
            return Some(serving);
        }
        // First held, then looked at: nobody removes what is held.
        let lease = Lease::take(&self.place.lease(&commit)).ok();
        let generation = Arc::new(Generation::open(&self.place, &commit)?);
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.extend(lease.map(|lease| (commit, lease)));
        self.serving.store(Some(Arc::clone(&generation)));
        Some(generation)
    }

    /// What is known of the last syncs, of any process.
    pub fn state(&self) -> State {
        let state = place::read(&self.pointer.join("state.json"));
        state.and_then(|state| serde_json::from_str(&state).ok()).unwrap_or_default()
    }

    /// Why the last sync failed, with the way out; none if it did not.
    pub fn trouble(&self) -> Option<(String, String)> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is left of earlier commits and cannot be removed; a sentence about each.
    pub fn left_behind(&self) -> Vec<String> {
        self.place.left_behind()
    }

    /// Ends what runs for it, and starts nothing more.
    pub fn stop(&self) {
        self.git.stop();
    }
}
