//! The current [`Snapshot`], replaced whole and never changed, and what keeps it up to date.
//!
//! [`Store`] is a handle: it answers calls from what is published, and sends requests to the `refresher`, which alone
//! scans, watches and publishes. The first refresh runs beside the handshake, and calls wait for it. A
//! [fresh](Store::fresh) snapshot has every change that was on disk before; where nothing is watched, a second before. A
//! source that fails keeps what it gave last. Not here: how sources are read, what a call does.

mod build;
mod cache;
mod debounce;
mod evals;
mod index;
mod learned;
mod limited;
mod plugins;
mod publisher;
mod refresher;
mod report;
mod scan;
mod schedule;
mod snapshot;
mod sync;

use std::{
    panic::resume_unwind,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Sender, channel},
    },
    time::Duration,
};

pub use cache::{Cache, CachedSearch, CachedSkill};
pub use debounce::Debouncer;
use index::Index;
pub use index::clause_of;
pub use learned::LearnedRequests;
use limited::LimitedSnapshots;
use plugins::LivePlugins;
use publisher::{Publisher, UNWATCHED_SCAN_INTERVAL};
use refresher::{RefreshRequest, RefreshScope, Refresher, Respond};
pub use report::{Cause, Refreshed};
pub use schedule::keep;
pub use snapshot::{ContentError, SkillFile, Snapshot};
use sync::SyncProgress;
pub use sync::{Fetched, Outcome, Urgency, keep_synced};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use crate::{
    config::{ConfigLayers, ConsentFile, PinnedValues, ResolvedConfig, Settings},
    source::{Directory, PluginRecords},
};

/// So many calls are a burst.
const CALLS_OF_A_BURST: u64 = 100;

/// The sources and what they hold.
#[derive(Debug)]
pub struct Store {
    /// The sources that stay the same, first-named first.
    fixed: Vec<Directory>,
    /// All sources as they were when the store was made.
    first: Arc<Vec<Directory>>,
    layers: Arc<ConfigLayers>,
    publisher: Arc<Publisher>,
    /// The refresher ends when this is dropped.
    requests: Sender<RefreshRequest>,
    /// How many calls were answered before all changes were published.
    late: AtomicU64,
    /// How many calls asked for a snapshot. Every so many wake those who wait on it.
    calls: watch::Sender<u64>,
    syncing: SyncProgress,
    /// What callers see that may see some of the skills.
    limited: LimitedSnapshots,
    /// Where what is known is kept for the next process.
    cache: Option<Cache>,
}

impl Store {
    /// A store that has not scanned its sources yet.
    pub fn new(sources: Vec<Directory>, layers: ConfigLayers) -> Self {
        Self::start(sources, None, layers, None)
    }

    /// The same with plugins, which may come and go: these records are read again when they change.
    pub fn with_plugins(
        sources: Vec<Directory>,
        records: PluginRecords,
        layers: ConfigLayers,
    ) -> Self {
        Self::start(sources, Some(records), layers, None)
    }

    /// The same with a cache in this home folder; plugins, where there are records of them.
    pub fn cached(
        sources: Vec<Directory>,
        records: Option<PluginRecords>,
        layers: ConfigLayers,
        home: Option<&Path>,
    ) -> Self {
        let (sources, notices) = Directory::each_place_once(sources);
        for notice in notices {
            tracing::warn!("{notice}");
        }
        Self::start(sources, records, layers, home)
    }

    fn start(
        sources: Vec<Directory>,
        records: Option<PluginRecords>,
        layers: ConfigLayers,
        home: Option<&Path>,
    ) -> Self {
        let (sender, requests) = channel();
        let (mut store, mut refresher) = Self::parts(sources, records, layers, sender);
        store.cache = home.and_then(|home| Cache::new(home, &refresher.sources));
        refresher.cache.clone_from(&store.cache);
        refresher.start(requests);
        store
    }

    /// Where what is known is kept for the next process.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    fn parts(
        sources: Vec<Directory>,
        records: Option<PluginRecords>,
        layers: ConfigLayers,
        requests: Sender<RefreshRequest>,
    ) -> (Self, Refresher) {
        let (layers, publisher) = (Arc::new(layers), Arc::new(Publisher::new()));
        let fixed = sources.clone();
        let refresher =
            Refresher::new(sources, records, Arc::clone(&layers), Arc::clone(&publisher));
        let store = Self {
            fixed,
            first: Arc::clone(&refresher.sources),
            layers,
            publisher,
            requests,
            late: AtomicU64::new(0),
            calls: watch::Sender::new(0),
            syncing: SyncProgress::default(),
            limited: LimitedSnapshots::default(),
            cache: None,
        };
        (store, refresher)
    }

    /// The sources of this moment, first-named first.
    pub fn sources(&self) -> Arc<Vec<Directory>> {
        let published = self.publisher.load();
        published
            .map_or_else(|| Arc::clone(&self.first), |published| Arc::clone(&published.sources))
    }

    /// The current snapshot; waits for the first one.
    pub async fn snapshot(&self) -> Arc<Snapshot> {
        loop {
            if let Some(snapshot) = self.known() {
                return snapshot;
            }
            // The publisher lives as long as the store, so that the wait ends only with a snapshot.
            let _ = self.generations().wait_for(|generation| *generation > 0).await;
        }
    }

    /// The operator's settings, without what content says.
    pub fn settings(&self) -> Settings {
        self.layers.resolve(None).settings
    }

    /// What is on record for the sources.
    pub fn consent(&self) -> &ConsentFile {
        &self.layers.consent
    }

    /// What a source asks for, as far as the record of consent lets it.
    pub fn config_of(&self, source: &Directory) -> ResolvedConfig {
        self.layers.resolve_source(source.served().as_ref())
    }

    /// What a source asks for now of what needs consent; none where it asks for nothing or its file cannot be read.
    pub fn asked(&self, source: &Directory) -> Option<PinnedValues> {
        self.layers.resolve(source.served().as_ref()).pins
    }

    /// The published snapshot, if there is one yet, current or not. Does not wait.
    pub fn known(&self) -> Option<Arc<Snapshot>> {
        self.publisher.snapshot()
    }

    /// A snapshot with every change that was on disk when it was asked for, or a second before where nothing is watched.
    /// A call that would wait longer than `refresh.patience_ms` gets the last snapshot, and is counted as late.
    pub async fn fresh(&self) -> Arc<Snapshot> {
        self.calls.send_if_modified(|calls| {
            *calls += 1;
            calls.is_multiple_of(CALLS_OF_A_BURST)
        });
        let current = self.publisher.current(&self.layers);
        if let Some(snapshot) = current.or_else(|| self.known_during_sync()) {
            return snapshot;
        }
        let known = self.snapshot().await;
        let patience = Duration::from_millis(known.settings().refresh.patience_ms);
        let watched = self.publisher.load().is_some_and(|published| published.watched);
        let patience = if watched { patience } else { patience.max(UNWATCHED_SCAN_INTERVAL) };
        match timeout(patience, self.refreshed(RefreshScope::Changes, Cause::Call)).await {
            Ok(Some(refreshed)) => refreshed.snapshot,
            // The refresh panicked; the last snapshot is all there is.
            Ok(None) => known,
            Err(_) => {
                let late = self.late.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::warn!(late, "answered before all changes were published");
                self.snapshot().await
            }
        }
    }

    /// How many calls were answered before all changes were published.
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Whether the kernel reports changes.
    pub fn is_watched(&self) -> bool {
        self.publisher.queue().is_some()
    }

    /// How many snapshots were published, zero before the first. Each new one wakes those who wait on it.
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.publisher.generations()
    }

    /// Wakes those who wait on it once in so many calls.
    pub fn bursts(&self) -> watch::Receiver<u64> {
        self.calls.subscribe()
    }

    /// Watches the sources from now on, if the system can.
    pub fn watch(&self) {
        // Without a refresher nothing is watched.
        let _ = self.requests.send(RefreshRequest::Watch);
    }

    /// How many folders are watched, or why not all are.
    pub fn watching(&self) -> Result<usize, String> {
        self.ask(RefreshRequest::WatchState).unwrap_or_else(|| Err("it was stopped".to_owned()))
    }

    /// Refreshes everything, and blocks until that is published.
    pub fn refresh(&self, cause: Cause) -> Refreshed {
        self.refresh_blocking(RefreshScope::All, cause)
    }

    fn refresh_blocking(&self, scope: RefreshScope, cause: Cause) -> Refreshed {
        let refreshed = self.ask(|reply| RefreshRequest::Refresh { scope, cause, reply });
        // A refresh that panics takes its caller with it, as if the caller had refreshed by itself.
        refreshed.unwrap_or_else(|| resume_unwind(Box::new("the refresh panicked")))
    }

    /// Refreshes, and waits until that is published; none if the refresh panicked.
    async fn refreshed(&self, scope: RefreshScope, cause: Cause) -> Option<Refreshed> {
        let (sender, refreshed) = oneshot::channel();
        // A call that does not wait any longer needs no answer.
        let reply: Respond<Refreshed> = Box::new(move |answer| drop(sender.send(answer)));
        self.requests.send(RefreshRequest::Refresh { scope, cause, reply }).ok()?;
        refreshed.await.ok()
    }

    /// Sends a request, and blocks until it is answered; none if the refresher panicked.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(Respond<T>) -> RefreshRequest,
    ) -> Option<T> {
        let (sender, answer) = channel();
        let reply: Respond<T> = Box::new(move |answer| drop(sender.send(answer)));
        self.requests.send(request(reply)).ok()?;
        answer.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{NamedDirectory, NamedRepository, Trust},
        source::git::{InstalledGit, Repository},
    };

    /// Whether a call is answered without waiting while a refresh goes on: a call that waits runs into its limit, and is
    /// counted as late.
    async fn is_answered_at_once(sources: Vec<Directory>, publishing: bool) -> bool {
        // Requests are never answered.
        let (requests, _waiting) = channel();
        let (store, mut refresher) = Store::parts(sources, None, ConfigLayers::default(), requests);
        refresher.refresh(RefreshScope::All, Cause::Start);
        store.syncing.publishing.store(publishing, Ordering::Release);
        store.publisher.begin();
        store.fresh().await;
        store.late() == 0
    }

    #[tokio::test]
    async fn calls_wait_for_a_change_in_a_directory_and_not_for_what_a_sync_fetched() {
        let home = tempfile::tempdir().unwrap();
        let url = format!("file://{}", home.path().join("remote").display());
        let named = NamedRepository {
            name: "team".into(),
            url,
            origin: "--repo".into(),
            of_project: false,
        };
        let git = Arc::new(InstalledGit::default());
        let repository = Repository::open(&named, Some(home.path()), None, git).unwrap();
        let repository = Arc::new(repository);
        let repository = || Directory::of_repository(Arc::clone(&repository));
        let path = home.path().to_path_buf();
        let named =
            NamedDirectory { name: "own".into(), path, origin: "--dir".into(), project: None };
        let directory = Directory::open(&named, Trust::default()).unwrap();
        assert!(is_answered_at_once(vec![repository()], true).await);
        assert!(!is_answered_at_once(vec![repository()], false).await);
        assert!(!is_answered_at_once(vec![repository(), directory], true).await);
    }

    #[test]
    fn a17_what_changes_while_the_index_is_made_is_found_by_it_without_making_it_again() {
        let home = skills_testkit::Home::new();
        let bundle = |name: &str, topic: &str| {
            let text = format!("---\nname: {name}\ndescription: All about {topic}\n---\n");
            home.write(&format!("skills/{name}/SKILL.md"), text);
        };
        bundle("old", "orchards");
        let named = NamedDirectory {
            name: "own".into(),
            path: home.skills(),
            origin: "--dir".into(),
            project: None,
        };
        let source = Directory::open(&named, Trust::default()).unwrap();
        let store = Store::new(vec![source], ConfigLayers::default());
        let before = store.refresh(Cause::Start).snapshot;
        bundle("new", "harbours");
        let after = store.refresh(Cause::Periodic).snapshot;
        assert!(!before.is_indexed() && !after.is_indexed());
        let indexed = after.indexed_by(before.ranked(), &before);
        for (topic, hits) in [("orchards", 1), ("harbours", 1), ("glaciers", 0)] {
            assert_eq!(indexed.search(topic, 5).hits.len(), hits, "{topic}");
        }
        assert_eq!(indexed.ranked().pending(), 1, "the rest was not read again");
        // The store does the same with its own: an index that is ready is not made again.
        store.index(0);
        let ready = store.known().unwrap();
        store.index(0);
        assert!(ready.is_indexed() && Arc::ptr_eq(&ready, &store.known().unwrap()));
    }

    #[test]
    fn the_index_is_made_of_what_the_scan_read() {
        let home = skills_testkit::Home::new();
        let write = |name: &str, word: &str| {
            let text = format!("---\nname: {name}\ndescription: A skill\n---\nAll about {word}.\n");
            home.write(&format!("skills/{name}/SKILL.md"), text);
        };
        // Two skills say the same, one of them under another name.
        write("first", "orchards");
        write("second", "orchards");
        let named = NamedDirectory {
            name: "own".into(),
            path: home.skills(),
            origin: "--dir".into(),
            project: None,
        };
        let source = Directory::open(&named, Trust::default()).unwrap();
        let store = Store::new(vec![source], ConfigLayers::default());
        let snapshot = store.refresh(Cause::Start).snapshot;
        // Texts that are not what was indexed are not used.
        write("first", "glaciers");
        write("second", "glaciers");
        assert_eq!(snapshot.search("orchards", 5).hits.len(), 2, "no file is read again");
    }
}
