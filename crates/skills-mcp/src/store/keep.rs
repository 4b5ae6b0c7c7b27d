//! Keeps a store up to date beside the calls: takes in what the system tells of, and looks at everything now and then.

use std::{
    future,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep_until},
};

use super::{Cause, Store};
use crate::source::Queue;

/// How long until the next look after one that failed.
const PATIENCE: Duration = Duration::from_secs(30);
/// Changes come in bursts; they are taken in once it is quiet for so long, unless a call asks for them before.
#[cfg(target_os = "linux")]
const QUIET: Duration = Duration::from_millis(20);
/// However long the burst, what is told so far is taken in after this.
#[cfg(target_os = "linux")]
const LONGEST: Duration = Duration::from_millis(500);
/// The queue holds some sixteen thousand events, and loses the rest.
#[cfg(target_os = "linux")]
const MUCH: usize = 128 * 1024;
/// Each skill that changed since the index was made whole costs every search a little.
const MANY: usize = 64;
/// Looking at everything takes at most one part in so many of a core, for as long as nobody calls. A machine may have
/// dozens of servers that nobody talks to.
const SHARE: u32 = 2_000;
/// It is done this often at least.
const SELDOM: Duration = Duration::from_mins(5);

/// How long an index may stay inexact.
const EXACT_AFTER: Duration = Duration::from_secs(30);

/// Looks at the sources now, so that the first answer does not wait for the disk, and from then on for as long as it
/// is polled. The ranked index is made ready too, before a search waits for it, and beside the looks: among a hundred
/// thousand skills that takes seconds, in which changes are taken in all the same.
pub async fn keep(store: Arc<Store>) {
    tokio::join!(keep_looking(&store), keep_indexed(&store));
}

async fn keep_looking(store: &Arc<Store>) {
    store.watch();
    let mut next = Instant::now() + look(store, Cause::Start).await;
    loop {
        let queue = store.queue.load_full();
        let keeping = Arc::clone(store);
        // A look that panics is one that found nothing; the next may fare better.
        tokio::select! {
            () = sleep_until(next) => next = Instant::now() + look(store, Cause::Periodic).await,
            () = told(queue) => {
                let _ = spawn_blocking(move || keeping.catch_up(Cause::Told)).await;
            }
        }
    }
}

/// Calls and looks take changes in, and leave the index to this.
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
        let most = tokio::select! {
            _ = generations.changed() => {
                exact_at.get_or_insert(Instant::now() + EXACT_AFTER);
                MANY
            }
            () = exact => {
                exact_at = None;
                0
            }
        };
        let indexing = Arc::clone(store);
        let _ = spawn_blocking(move || indexing.index(most)).await;
    }
}

/// Looks at everything; how long to wait for the next time.
async fn look(store: &Arc<Store>, cause: Cause) -> Duration {
    let looking = Arc::clone(store);
    let looked = spawn_blocking(move || {
        let refreshed = looking.refresh(cause);
        (refreshed.took, Duration::from_secs(refreshed.snapshot.settings().refresh.scan_seconds))
    });
    let (took, usual) = looked.await.unwrap_or((Duration::ZERO, PATIENCE));
    spread(usual.max((took * SHARE).min(SELDOM)))
}

/// About this long, by chance: servers that were started together do not look together.
fn spread(usual: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish() % 1_000;
    usual.mul_f64(0.75) + usual.mul_f64(0.5) * u32::try_from(chance).unwrap_or(0) / 1_000
}

/// Waits until the system has told of changes and the burst is over, or too much of it is waiting.
#[cfg(target_os = "linux")]
async fn told(queue: Option<Arc<Queue>>) {
    use tokio::{
        io::{Interest, unix::AsyncFd},
        time::sleep,
    };

    let Some(queue) = queue else { return future::pending().await };
    let shared = Shared(Arc::clone(&queue));
    #[expect(
        deprecated,
        reason = "unsound with a descriptor that may be closed; this one is owned"
    )]
    let Ok(events) = AsyncFd::with_interest(shared, Interest::READABLE) else {
        return future::pending().await;
    };
    loop {
        match events.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => return future::pending().await,
        }
        let started = Instant::now();
        let mut before = 0;
        loop {
            let waiting = queue.waiting();
            if waiting == 0 {
                // A call has taken it.
                break;
            }
            if waiting == before || waiting > MUCH || started.elapsed() > LONGEST {
                return;
            }
            before = waiting;
            sleep(QUIET).await;
        }
    }
}

/// A queue as the runtime wants it.
#[cfg(target_os = "linux")]
struct Shared(Arc<Queue>);

#[cfg(target_os = "linux")]
impl std::os::fd::AsRawFd for Shared {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        std::os::fd::AsFd::as_fd(&*self.0).as_raw_fd()
    }
}

#[cfg(not(target_os = "linux"))]
async fn told(_: Option<Arc<Queue>>) {
    future::pending::<()>().await;
}
