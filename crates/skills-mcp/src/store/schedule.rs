//! Sends the refresher its requests while no call does: for events of the watch, and for everything now and then. Makes the
//! index beside that.

use std::{future, sync::Arc, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep_until},
};

#[cfg(target_os = "linux")]
use super::Debouncer;
use super::{Cause, Store, refresher::RefreshScope};
use crate::{clock, source::Queue};

/// How long until the next refresh after one that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// Events come in bursts, which are refreshed together, unless a call needs them before.
#[cfg(target_os = "linux")]
const EVENT_DEBOUNCE: Debouncer =
    Debouncer { delay: Duration::from_millis(20), max_delay: Duration::from_millis(500) };
/// How often the queue is asked during a burst.
#[cfg(target_os = "linux")]
const EVENT_SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
/// The queue holds some sixteen thousand events, and loses the rest; beyond so many bytes it is emptied at once.
#[cfg(target_os = "linux")]
const MAX_QUEUED_BYTES: usize = 128 * 1024;
/// Each skill that changed since the index was exact costs every search a little; beyond so many it is made exact at once.
const MAX_PENDING_SKILLS: usize = 64;
/// How long an index may stay inexact.
const INEXACT_INDEX_TIMEOUT: Duration = Duration::from_secs(30);
/// Without calls, refreshing everything takes at most one part in so many of a core: a machine may have dozens of idle
/// servers.
const PERIODIC_SHARE: u32 = 2_000;
/// But everything is refreshed at least this often.
const MAX_PERIODIC_INTERVAL: Duration = Duration::from_mins(5);

/// Refreshes now, so that the first answer does not wait for the disk, and from then on for as long as it is polled. The
/// ranked index is made beside that, before a search waits for it: among a hundred thousand skills that takes seconds, in
/// which changes are published all the same.
pub async fn keep(store: Arc<Store>) {
    tokio::join!(keep_refreshed(&store), keep_indexed(&store));
}

async fn keep_refreshed(store: &Store) {
    store.watch();
    let mut next = Instant::now() + refresh_all(store, Cause::Start).await;
    loop {
        tokio::select! {
            () = sleep_until(next) => next = Instant::now() + refresh_all(store, Cause::Periodic).await,
            () = changed(store.publisher.queue()) => {
                // A refresh that panicked is followed by one of everything.
                let _ = store.refreshed(RefreshScope::Changes, Cause::Change).await;
            }
        }
    }
}

/// Makes the index ready after the first refresh, and exact after changes.
async fn keep_indexed(store: &Arc<Store>) {
    let mut generations = store.generations();
    let mut exact_at = None;
    loop {
        let exact = async {
            match exact_at {
                Some(at) => sleep_until(at).await,
                None => future::pending().await,
            }
        };
        let max_pending = tokio::select! {
            _ = generations.changed() => {
                exact_at.get_or_insert(Instant::now() + INEXACT_INDEX_TIMEOUT);
                MAX_PENDING_SKILLS
            }
            () = exact => {
                exact_at = None;
                0
            }
        };
        let store = Arc::clone(store);
        let work = move || {
            store.index(max_pending);
            store.save();
        };
        let _ = spawn_blocking(work).await;
    }
}

/// Refreshes everything; how long to wait until the next time.
async fn refresh_all(store: &Store, cause: Cause) -> Duration {
    let refreshed = store.refreshed(RefreshScope::All, cause).await;
    let usual = refreshed.map(|refreshed| {
        let seconds = refreshed.snapshot.settings().refresh.scan_seconds;
        let share = (refreshed.took * PERIODIC_SHARE).min(MAX_PERIODIC_INTERVAL);
        Duration::from_secs(seconds).max(share)
    });
    spread(usual.unwrap_or(RETRY_INTERVAL))
}

/// About this long, by chance: servers that were started together do not refresh together.
fn spread(usual: Duration) -> Duration {
    usual.mul_f64(0.75 + 0.5 * clock::jitter())
}

/// Waits until the watch has reported changes and the burst is over, or too much of it is waiting.
#[cfg(target_os = "linux")]
async fn changed(queue: Option<Arc<Queue>>) {
    use tokio::{
        io::{Interest, unix::AsyncFd},
        time::sleep,
    };

    let Some(queue) = queue else { return future::pending().await };
    let shared = SharedQueue(Arc::clone(&queue));
    #[expect(
        deprecated,
        reason = "unsound with a descriptor that may be closed; this one is owned"
    )]
    let Ok(events) = AsyncFd::with_interest(shared, Interest::READABLE) else {
        return future::pending().await;
    };
    // What a call has refreshed is not in the queue any more.
    let goes_on = || (1..=MAX_QUEUED_BYTES).contains(&queue.waiting());
    loop {
        match events.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => return future::pending().await,
        }
        if goes_on() {
            let more = || async {
                sleep(EVENT_SAMPLE_INTERVAL).await;
                let ready = events.readable().await;
                ready.map(|mut ready| ready.clear_ready()).is_ok() && goes_on()
            };
            EVENT_DEBOUNCE.wait(more).await;
        }
        if queue.waiting() > 0 {
            return;
        }
    }
}

/// A queue as the runtime wants it.
#[cfg(target_os = "linux")]
struct SharedQueue(Arc<Queue>);

#[cfg(target_os = "linux")]
impl std::os::fd::AsRawFd for SharedQueue {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        std::os::fd::AsFd::as_fd(&*self.0).as_raw_fd()
    }
}

#[cfg(not(target_os = "linux"))]
async fn changed(_: Option<Arc<Queue>>) {
    future::pending::<()>().await;
}
