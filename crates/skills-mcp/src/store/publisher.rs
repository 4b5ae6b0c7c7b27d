//! [`Publisher`]: where the refresher publishes, and where calls read without a lock.
//!
//! # Why a call misses nothing
//!
//! A call is answered from the published snapshot at once if it finds, in this order: the watch queue empty, the refresher
//! idle, and what the watch does not report (see [`Published::is_current`]) as it was. Let a change be on disk before that.
//! 1. The kernel queued an event for it before the call that made the change returned. The queue is empty now, so the
//!    refresher has taken the event out.
//! 2. The refresher marks itself busy before it empties the queue, and idle only after it has published what it found. The
//!    call asks after it has seen the empty queue; so if it sees the refresher idle, the refresh that took the event out
//!    has published.
//! 3. The call loads the published state last. It is the one of that refresh, or a later one.
//!
//! A refresh that panics leaves the refresher busy, so that no call trusts what it may have lost. Not here: who refreshes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::Snapshot;
use crate::{
    config::ConfigLayers,
    source::{Directory, LinkTargets, Queue, RecordStamps},
};

/// A call scans sources that are not watched if their last scan is older than this.
pub(super) const UNWATCHED_SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// The current snapshot, and everything that a call compares to know whether it is still current. Immutable.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) snapshot: Arc<Snapshot>,
    /// The sources that the snapshot was made of, first-named first.
    pub(super) sources: Arc<Vec<Directory>>,
    /// What the links of each source led to.
    pub(super) links: Vec<LinkTargets>,
    /// What the plugins' records looked like, where plugins are served.
    pub(super) plugins: Option<RecordStamps>,
    /// Whether the kernel reports changes in all sources.
    pub(super) watched: bool,
    /// When everything that is not watched was last scanned; none where everything is watched.
    pub(super) unwatched_scanned_at: Option<Instant>,
}

impl Published {
    /// Whether everything that the watch does not report is as it was.
    fn is_current(&self, layers: &ConfigLayers) -> bool {
        let recent = |scanned: Instant| scanned.elapsed() < UNWATCHED_SCAN_INTERVAL;
        self.unwatched_scanned_at.is_none_or(recent)
            && self.links.iter().all(LinkTargets::are_same)
            && self.plugins.as_ref().is_none_or(RecordStamps::are_same)
            && self.snapshot.is_in_place(&self.sources, layers.consent_stamp())
    }
}

/// What the refresher and the store share.
#[derive(Debug)]
pub(super) struct Publisher {
    published: ArcSwapOption<Published>,
    /// The kernel's queue of events; none where nothing is watched.
    queue: ArcSwapOption<Queue>,
    /// Whether events were taken out of the queue that are not in what is published.
    busy: AtomicBool,
    /// How many snapshots were published.
    generations: watch::Sender<u64>,
}

impl Publisher {
    pub(super) fn new() -> Self {
        Self {
            published: ArcSwapOption::empty(),
            queue: ArcSwapOption::empty(),
            busy: AtomicBool::new(false),
            generations: watch::Sender::new(0),
        }
    }

    /// The published state, if it is current. The order of the three questions is what the proof rests on.
    pub(super) fn current(&self, layers: &ConfigLayers) -> Option<Arc<Snapshot>> {
        if self.queue.load().as_ref().is_some_and(|queue| queue.waiting() > 0) {
            return None;
        }
        if self.busy.load(Ordering::SeqCst) {
            return None;
        }
        let published = self.published.load();
        let published = published.as_ref()?;
        published.is_current(layers).then(|| Arc::clone(&published.snapshot))
    }

    /// The published state, current or not; none before the first.
    pub(super) fn load(&self) -> Option<Arc<Published>> {
        self.published.load_full()
    }

    /// The published snapshot, current or not; none before the first.
    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.published.load().as_ref().map(|published| Arc::clone(&published.snapshot))
    }

    pub(super) fn queue(&self) -> Option<Arc<Queue>> {
        self.queue.load_full()
    }

    /// How many snapshots were published, zero before the first. Each new one wakes those who wait on it.
    pub(super) fn generations(&self) -> watch::Receiver<u64> {
        self.generations.subscribe()
    }

    /// The refresher is about to empty the queue.
    pub(super) fn begin(&self) {
        self.busy.store(true, Ordering::SeqCst);
    }

    /// The refresher has published what it took out of the queue.
    pub(super) fn end(&self) {
        self.busy.store(false, Ordering::SeqCst);
    }

    /// Publishes what a refresh came to.
    pub(super) fn publish(&self, next: Published) {
        let snapshot = Arc::clone(&next.snapshot);
        let before = self.published.swap(Some(Arc::new(next)));
        if before.is_none_or(|before| !Arc::ptr_eq(&before.snapshot, &snapshot)) {
            self.generations.send_modify(|generation| *generation += 1);
        }
    }

    pub(super) fn set_queue(&self, queue: Option<Arc<Queue>>) {
        self.queue.store(queue);
    }
}
