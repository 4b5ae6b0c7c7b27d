//! Gives back memory after the start, after changes, and after a burst of calls.
//!
//! Not here: how memory is given back (`skills-memory`).

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::store::{Debouncer, Store};

/// Snapshots and bursts of calls that follow each other are waited for, but not for long: what they free adds up.
const BUSY_DEBOUNCE: Debouncer =
    Debouncer { delay: Duration::from_millis(100), max_delay: Duration::from_secs(1) };

/// A server is idle when nothing was published and no burst came for so long.
const IDLE_DELAY: Duration = Duration::from_secs(1);

/// Gives back memory for as long as it is polled: soon after the start, however busy the server is then, soon after changes and
/// bursts, and once more when the server is idle, since the few calls with which a client begins are no burst.
pub(super) async fn keep_small(store: Arc<Store>) {
    let mut next = pin!(next_activity(&store));
    sleep(BUSY_DEBOUNCE.delay).await;
    loop {
        give_back().await;
        if timeout(IDLE_DELAY, next.as_mut()).await.is_err() {
            give_back().await;
            next.as_mut().await;
        }
        BUSY_DEBOUNCE.wait(|| next_activity(&store)).await;
        next.set(next_activity(&store));
    }
}

/// Ends with the first snapshot or burst of calls after this call: whether there may be more.
fn next_activity(store: &Store) -> impl Future<Output = bool> + use<> {
    let (mut generations, mut bursts) = (store.generations(), store.bursts());
    async move {
        tokio::select! {
            published = generations.changed() => published.is_ok(),
            called = bursts.changed() => called.is_ok(),
        }
    }
}

/// Taking the allocator's locks for a moment must not hold up the thread that answers.
async fn give_back() {
    let _ = spawn_blocking(skills_memory::give_back).await;
}
