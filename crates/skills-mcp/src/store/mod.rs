//! What we know now: the current [`Snapshot`], replaced whole and never changed.
//!
//! The first look runs beside the handshake, and calls wait for it. After that whoever asks for a [fresh](Store::fresh)
//! snapshot gets every change that was on disk before: where the system tells of changes the queue is empty, or is
//! emptied first; elsewhere sources are looked at anew once a second. One look runs at a time; a source that fails
//! keeps what it gave last. Not here: how sources read, what a call does.

mod keep;
mod look;
mod plugins;
mod report;
mod snapshot;
mod state;
mod sync;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
pub use keep::keep;
use plugins::LivePlugins;
pub use report::{Cause, Refreshed};
pub use snapshot::{ContentError, SkillFile, Snapshot, clause_of, hex};
pub use sync::{Fetched, Outcome, Urgency, keep_synced};
use tokio::{sync::watch, task::spawn_blocking, time::timeout};

use crate::{
    config::{ConfigLayers, ConsentFile, PinnedValues, ResolvedConfig, Settings},
    source::{Directory, PluginRecords, Queue},
};

/// A call waits this long, if need be, for sources of which nobody tells to be looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Sources of which nobody tells are looked at again by a call that comes this long after the last look.
const STALE: Duration = Duration::from_secs(1);

/// The sources and what they hold.
#[derive(Debug)]
pub struct Store {
    /// The sources that stay the same, first-named first.
    sources: Vec<Directory>,
    /// These, and after them the plugins' that are installed and enabled.
    serving: ArcSwap<Vec<Directory>>,
    stack: ConfigLayers,
    current: ArcSwapOption<Snapshot>,
    /// How many snapshots there have been.
    generations: watch::Sender<u64>,
    /// Held by the look that runs, with what each source gave last.
    state: Mutex<state::State>,
    /// Where the system tells of changes; none where it does not.
    queue: ArcSwapOption<Queue>,
    /// Whether the system tells of changes in all sources.
    told: AtomicBool,
    /// Whose turn it is to look for a call.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// How many calls were answered before all changes were taken in.
    late: AtomicU64,
    /// Held by the sync that runs.
    syncing: Mutex<()>,
    /// Whether that sync is taking in what it fetched.
    taking_in: AtomicBool,
}

impl Store {
    /// A store that has not looked yet, and looks when it is told to.
    pub fn new(sources: Vec<Directory>, stack: ConfigLayers) -> Self {
        Self {
            serving: ArcSwap::from_pointee(sources.clone()),
            sources,
            stack,
            current: ArcSwapOption::empty(),
            generations: watch::Sender::new(0),
            state: Mutex::default(),
            queue: ArcSwapOption::empty(),
            told: AtomicBool::new(false),
            turn: Arc::default(),
            late: AtomicU64::new(0),
            syncing: Mutex::default(),
            taking_in: AtomicBool::new(false),
        }
    }

    /// The same, with the plugins that these records tell of: at any time, so they are read again when they change.
    #[must_use]
    pub fn with_plugins(mut self, records: PluginRecords) -> Self {
        let mut plugins = LivePlugins::new(records);
        self.serving.store(Arc::new(plugins.read(&self.sources)));
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.plugins = Some(plugins);
        self
    }

    /// The sources of this moment, first-named first.
    pub fn sources(&self) -> Arc<Vec<Directory>> {
        self.serving.load_full()
    }

    /// The current snapshot; waits for the first one.
    pub async fn snapshot(&self) -> Arc<Snapshot> {
        loop {
            if let Some(snapshot) = self.current.load_full() {
                return snapshot;
            }
            // The sender lives in `self`, so waiting can only end with a value.
            let _ = self.generations().wait_for(|generation| *generation > 0).await;
        }
    }

    /// The operator's settings, without what content says.
    pub fn settings(&self) -> Settings {
        self.stack.resolve(None).settings
    }

    /// What is on record for the sources.
    pub fn consent(&self) -> &ConsentFile {
        &self.stack.consent
    }

    /// What a source asks for, as far as the record of consent lets it.
    pub fn settled(&self, source: &Directory) -> ResolvedConfig {
        self.stack.resolve_source(source.served().as_ref())
    }

    /// What a source asks for now of what needs consent; none where it asks for nothing or its file cannot be read.
    pub fn asked(&self, source: &Directory) -> Option<PinnedValues> {
        self.stack.resolve(source.served().as_ref()).pins
    }

    /// The current snapshot, if there is one yet. Nobody looks or waits.
    pub fn known(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }

    /// A snapshot with every change that was on disk when it was asked for, or a second before where nobody tells of
    /// changes. Waiting for that has an end, and is counted when it comes to it.
    pub async fn fresh(self: &Arc<Self>) -> Arc<Snapshot> {
        if let Some(snapshot) = self.up_to_date().or_else(|| self.behind_a_sync()) {
            return snapshot;
        }
        let known = self.snapshot().await;
        let patience = Duration::from_millis(known.settings().refresh.patience_ms);
        let told = self.told.load(Ordering::Relaxed);
        let patience = if told { patience } else { patience.max(LOOK) };
        match timeout(patience, self.caught_up()).await {
            Ok(Some(snapshot)) => snapshot,
            // It panicked, and was logged by whoever catches panics; what we have is what we have.
            Ok(None) => known,
            Err(_) => {
                let late = self.late.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::warn!(late, "answered before all changes were taken in");
                self.snapshot().await
            }
        }
    }

    /// Takes in what has changed. Those who wait for the same look wait here, not each on a thread of its own; and the
    /// next look starts when this one has ended, whoever has stopped waiting for it.
    async fn caught_up(self: &Arc<Self>) -> Option<Arc<Snapshot>> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(snapshot) = self.up_to_date() {
            return Some(snapshot);
        }
        let store = Arc::clone(self);
        let looking = spawn_blocking(move || {
            let _turn = turn;
            store.catch_up(Cause::Call)
        });
        looking.await.ok()
    }

    /// The current snapshot, if nothing has changed since. Asks the queue first and who is at work last: what is not in
    /// the queue any more is with them.
    fn up_to_date(&self) -> Option<Arc<Snapshot>> {
        let told = self.queue.load().as_ref().is_some_and(|queue| queue.waiting() > 0);
        if told {
            return None;
        }
        let state = self.state.try_lock().ok()?;
        let known = state.is_current(Instant::now())
            && state.has_same_links()
            && state.plugins.as_ref().is_none_or(LivePlugins::are_same);
        drop(state);
        let snapshot = self.current.load_full()?;
        let in_place = || snapshot.is_in_place(&self.serving.load(), self.stack.consent_stamp());
        (known && in_place()).then_some(snapshot)
    }

    /// The current snapshot, while the sync of this very server takes in what it fetched: a commit is there when it is
    /// indexed, and nobody waits for that. Only where nothing but repositories is served; a change in a directory is
    /// waited for.
    fn behind_a_sync(&self) -> Option<Arc<Snapshot>> {
        let alone = || self.sources.iter().all(|source| source.repository().is_some());
        let taking_in = self.taking_in.load(Ordering::Acquire) && alone();
        self.current.load_full().filter(|_| taking_in)
    }

    /// How many calls were answered before all changes were taken in.
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Whether the system tells of changes.
    pub fn is_told(&self) -> bool {
        self.queue.load().is_some()
    }

    /// How many snapshots there have been, zero before the first: whoever waits on it hears of each new one.
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.generations.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{NamedDirectory, NamedRepository, Trust},
        source::git::{Installed, Repository},
    };

    /// Whether a call is answered without waiting while a look at what a sync has fetched goes on: a call that waits runs into
    /// its limit, and is counted as late.
    async fn is_answered_at_once(sources: Vec<Directory>, taking_in: bool) -> bool {
        let store = Arc::new(Store::new(sources, ConfigLayers::default()));
        store.refresh(Cause::Start);
        store.taking_in.store(taking_in, Ordering::Release);
        let looking = Arc::clone(&store);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let look = spawn_blocking(move || {
            let _state = looking.state.lock().unwrap();
            begun.send(()).unwrap();
            ends.recv().unwrap();
        });
        begins.await.unwrap();
        store.fresh().await;
        end.send(()).unwrap();
        look.await.unwrap();
        store.late() == 0
    }

    #[tokio::test]
    async fn nobody_waits_for_what_a_sync_takes_in_but_for_what_changed_in_a_directory() {
        let home = tempfile::tempdir().unwrap();
        let url = format!("file://{}", home.path().join("remote").display());
        let named = NamedRepository { name: "team".into(), url, origin: "--repo" };
        let git = Arc::new(Installed::default());
        let repository = Repository::open(&named, Some(home.path()), None, git).unwrap();
        let repository = Arc::new(repository);
        let repository = || Directory::of_repository(Arc::clone(&repository));
        let path = home.path().to_path_buf();
        let named = NamedDirectory { name: "own".into(), path, origin: "--dir" };
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
        let named = NamedDirectory { name: "own".into(), path: home.skills(), origin: "--dir" };
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
}
