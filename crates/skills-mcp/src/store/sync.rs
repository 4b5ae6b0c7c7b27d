//! Syncs repositories beside the calls: at the start, every interval, and on request.
//!
//! A generation is checked before it becomes current, so that one that cannot be indexed is never served; then the pointer
//! moves, and the next refresh finds another folder in the source's place, as it would with any directory. Not here: how a
//! sync works (source).

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use skills_core::{
    catalog::{Catalog, SourceScan},
    yaml,
};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::{Cause, Snapshot, Store, refresher::RefreshScope};
use crate::{
    clock,
    config::{GitSettings, read_optional},
    source::{
        Directory, Links, Root,
        git::{Generation, GitError, Repository, SyncRequest, Synced, is_branch},
        read_skill,
    },
};

/// A repository without any generation is tried again after this long, and then after twice as long each time.
const FIRST_RETRY_INTERVAL: Duration = Duration::from_secs(15);
/// Most first clones are done by then.
const FIRST_CLONE_TIMEOUT: Duration = Duration::from_secs(2);
const FIRST_CLONE_PAUSE: Duration = Duration::from_millis(20);
/// How long a sync waits for one of another process.
const SYNC_LOCK_TIMEOUT: Duration = Duration::from_mins(10);

/// How urgent a sync is.
#[derive(Debug, Clone, Copy)]
pub enum Urgency<'a> {
    /// Whatever was fetched within the interval is good enough.
    Periodic,
    /// The remote is asked now, and the stored files are checked.
    Now,
    /// The same, at exactly these commits, by the sources' names.
    At(&'a HashMap<String, String>),
}

/// What became of one repository.
#[derive(Debug)]
pub struct Outcome {
    /// The repository.
    pub repository: Arc<Repository>,
    /// What its sync came to.
    pub result: Result<Synced, GitError>,
}

/// Called with the progress of a fetch.
pub type Fetched<'a> = Option<&'a (dyn Fn(&str) + Sync)>;

/// Whether a sync runs, and how far it is.
#[derive(Debug, Default)]
pub(super) struct SyncProgress {
    running: AtomicBool,
    /// What was fetched is checked, and becomes current or is being published.
    pub(super) publishing: AtomicBool,
}

/// A sync that runs, until it is dropped.
struct Running<'a>(&'a AtomicBool);

impl<'a> Running<'a> {
    /// None if a sync runs already.
    fn begin(running: &'a AtomicBool) -> Option<Self> {
        (!running.swap(true, Ordering::AcqRel)).then_some(Self(running))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Store {
    /// The repositories among the sources, with their numbers.
    pub fn repositories(&self) -> impl Iterator<Item = (usize, &Directory, &Arc<Repository>)> {
        let sources = self.fixed.iter().enumerate();
        sources.filter_map(|(number, source)| Some((number, source, source.repository()?)))
    }

    /// Syncs every repository, one after the other, and publishes what each fetched; none if a sync runs already.
    pub fn sync(&self, urgency: Urgency<'_>, progress: Fetched<'_>) -> Option<Vec<Outcome>> {
        let _running = Running::begin(&self.syncing.running)?;
        let outcomes: Vec<Outcome> = self
            .repositories()
            .map(|(number, source, repository)| Outcome {
                repository: Arc::clone(repository),
                result: self.sync_one(number, source, repository, urgency, progress),
            })
            .inspect(|_| self.publish_fetched())
            .collect();
        outcomes.iter().for_each(Outcome::log);
        Some(outcomes)
    }

    /// Publishes what a sync put in a source's place, before the next one starts.
    fn publish_fetched(&self) {
        if self.known().is_some() {
            self.refresh_blocking(RefreshScope::Changes, Cause::Change);
        }
        self.syncing.publishing.store(false, Ordering::Release);
    }

    /// The last snapshot, while a sync of this server publishes what it fetched: a commit is served once it is indexed, and
    /// no call waits for that. Only where all sources are repositories; calls wait for a change in a directory.
    pub(super) fn known_during_sync(&self) -> Option<Arc<Snapshot>> {
        let only_repositories = || self.fixed.iter().all(|source| source.repository().is_some());
        let publishing = self.syncing.publishing.load(Ordering::Acquire) && only_repositories();
        self.known().filter(|_| publishing)
    }

    fn sync_one(
        &self,
        number: usize,
        source: &Directory,
        repository: &Repository,
        urgency: Urgency<'_>,
        progress: Fetched<'_>,
    ) -> Result<Synced, GitError> {
        let git = self.git_settings(source);
        let check = |generation: &Generation| {
            self.check(number, source, generation)?;
            // What comes next is the pointer's move.
            self.syncing.publishing.store(true, Ordering::Release);
            Ok(())
        };
        let (fresh_for, commit) = match urgency {
            Urgency::Periodic => (self.interval(source), None),
            Urgency::Now => (Duration::ZERO, None),
            Urgency::At(commits) => {
                (Duration::ZERO, commits.get(&**source.name()).map(String::as_str))
            }
        };
        repository.sync(&SyncRequest {
            branch: &git.branch,
            or_default: git.is_default_branch,
            commit,
            sparse: git.sparse_checkout,
            fresh_for,
            verify: !matches!(urgency, Urgency::Periodic),
            lock_timeout: SYNC_LOCK_TIMEOUT,
            remote_timeout: Duration::from_secs(git.timeout_seconds),
            max_total_bytes: git.max_total_bytes,
            check: &check,
            progress,
        })
    }

    /// The `git.*` settings that hold for a source: those of its own content, beneath the operator's.
    pub fn git_settings(&self, source: &Directory) -> GitSettings {
        let operator = || self.settings().git;
        let git = self.config_of(source).settings.git;
        if is_branch(&git.branch) { git } else { GitSettings { branch: operator().branch, ..git } }
    }

    fn interval(&self, source: &Directory) -> Duration {
        let refresh = self.config_of(source).settings.refresh;
        Duration::from_mins(refresh.interval_minutes)
    }

    /// Whether a generation may be served: its settings can be read, and an index can be made of it.
    fn check(
        &self,
        number: usize,
        source: &Directory,
        generation: &Generation,
    ) -> Result<(), String> {
        for folder in [generation.content(), generation.folder().to_owned()] {
            let config = read_optional(&folder.join("config.yaml"));
            let Some(text) = config.map_err(|error| format!("config.yaml: {error}"))? else {
                continue;
            };
            let parsed = yaml::parse(&text);
            let parsed = parsed.map_err(|error| {
                format!("config.yaml:{}:{}: {}", error.at.line, error.at.column, error.message)
            })?;
            if !parsed.is_null() && parsed.entries().is_none() {
                return Err("config.yaml is not a map of settings".to_owned());
            }
        }
        let index = || {
            let root = Root::open(&generation.content(), Links::Refuse)
                .map_err(|error| error.to_string())?;
            let before = self.known();
            let empty = Catalog::default();
            let catalog = before.as_ref().map_or(&empty, |before| &before.catalog);
            let listed = catalog.sources().get(number).map(|known| Arc::clone(&known.root));
            let scan = SourceScan {
                source: Arc::clone(source.name()),
                origin: source.origin().clone(),
                scope: generation.manifest().scope(),
                root: generation.manifest().listing(&listed.unwrap_or_default()),
                scan_findings: generation.manifest().left_out().into(),
            };
            let number = number.min(catalog.sources().len());
            let update = catalog.update(number, &scan);
            let read = |(file, dialect): &_| Arc::new(read_skill(&root, file, *dialect).0);
            let parsed = update.files().iter().map(read).collect();
            let (_, delta) = catalog.with(update, parsed);
            tracing::debug!(changed = delta.numbers.len(), "a generation can be indexed");
            Ok(())
        };
        catch_unwind(AssertUnwindSafe(index))
            .unwrap_or_else(|_| Err("it cannot be indexed, which is a bug of ours".to_owned()))
    }

    /// Waits for the first clone of a repository while nothing else is served, but no longer than two seconds after the start: a first
    /// call should not be told to try again.
    pub async fn first_clone(&self, started: Instant) {
        let left = FIRST_CLONE_TIMEOUT.saturating_sub(started.elapsed());
        let cloned = async {
            while self.is_cloning(&*self.snapshot().await) {
                sleep(FIRST_CLONE_PAUSE).await;
            }
        };
        if !left.is_zero() {
            let _ = timeout(left, cloned).await;
        }
    }

    /// Whether nothing is served yet and the first sync of a repository neither failed nor is done.
    fn is_cloning(&self, snapshot: &Snapshot) -> bool {
        let is_coming = |repository: &Repository| {
            repository.serving().is_none() && repository.last_error().is_none()
        };
        snapshot.catalog.is_empty()
            && self.repositories().any(|(_, _, repository)| is_coming(repository))
    }

    /// What there is to say instead of an answer, while nothing has come of any repository yet.
    pub fn first_sync(&self, snapshot: &Snapshot) -> Option<String> {
        let empty = snapshot.catalog.is_empty();
        let (_, _, repository) = self
            .repositories()
            .find(|(_, _, repository)| empty && repository.serving().is_none())?;
        let remote = repository.remote();
        Some(match repository.last_error() {
            Some((error, hint)) => format!(
                "There are no skills yet: the first sync of {remote} failed: {error}. What to do: {hint}. It is tried again by itself; refresh_skills tries now."
            ),
            None => format!(
                "There are no skills yet: the first sync of {remote} is running. Try again in a few seconds."
            ),
        })
    }

    /// Ends every sync, and starts none any more.
    pub fn stop_syncing(&self) {
        self.repositories().for_each(|(_, _, repository)| repository.stop());
    }

    /// How long until the repositories are synced again.
    fn rest(&self, failures: u32) -> Duration {
        let bare = self.repositories().any(|(_, _, repository)| repository.commit().is_none());
        let left = |(_, source, repository): (usize, &Directory, &Arc<Repository>)| {
            let age = repository.state().age().filter(|_| repository.last_error().is_none());
            let interval = self.interval(source);
            // By chance a little longer, so that one of many servers is the first, and fetches for all.
            let late = interval.mul_f64(0.1 * clock::jitter());
            interval.saturating_sub(age.unwrap_or_default()) + late
        };
        let rest = self.repositories().map(left).min().unwrap_or(SYNC_LOCK_TIMEOUT);
        let soon = FIRST_RETRY_INTERVAL * 2_u32.saturating_pow(failures.min(10));
        if bare { rest.min(soon) } else { rest }
    }

    /// Whether repositories are synced on request only.
    fn is_only_asked(&self) -> bool {
        let enabled = |(_, source, _): (usize, &Directory, &Arc<Repository>)| {
            self.config_of(source).settings.refresh.enabled
        };
        !self.repositories().any(enabled)
    }
}

/// Syncs at once, and from then on for as long as it is polled.
pub async fn keep_synced(store: Arc<Store>) {
    if store.repositories().next().is_none() {
        return;
    }
    let mut failures = 0;
    loop {
        let syncing = Arc::clone(&store);
        let synced = spawn_blocking(move || {
            // A sync that was requested meanwhile is as good.
            let outcomes = syncing.sync(Urgency::Periodic, None).unwrap_or_default();
            outcomes.iter().all(|outcome| outcome.result.is_ok())
        });
        failures = if synced.await.unwrap_or(false) { 0 } else { failures + 1 };
        let bare = store.repositories().any(|(_, _, repository)| repository.commit().is_none());
        if store.is_only_asked() && !bare {
            return;
        }
        sleep(store.rest(failures - u32::from(failures > 0)).max(Duration::from_secs(1))).await;
    }
}

impl Outcome {
    fn log(&self) {
        let (source, url) = (&**self.repository.name(), self.repository.remote().to_string());
        match &self.result {
            Ok(synced) if synced.before.is_some() || !synced.changed.is_empty() => {
                tracing::info!(
                    source,
                    url,
                    commit = synced.commit,
                    files = synced.changed.len(),
                    "synced"
                );
            }
            Ok(synced) => tracing::debug!(source, url, commit = synced.commit, "nothing new"),
            Err(GitError::Stopped | GitError::Busy) => {}
            Err(error) => {
                let served = if self.repository.commit().is_some() {
                    "; what was fetched before is still served"
                } else {
                    ""
                };
                tracing::warn!(source, url, hint = error.hint(), "not synced: {error}{served}");
            }
        }
    }
}
