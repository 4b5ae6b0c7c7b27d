//! Gives back memory once the server is idle: after the start, after changes, and after a burst of calls.
//!
//! Not here: how memory is given back (`skills-memory`).

use std::{sync::Arc, time::Duration};

use tokio::task::spawn_blocking;

use crate::store::{Debouncer, Store};

/// A server is idle when nothing was published and few calls came for so long.
const IDLE_DEBOUNCE: Debouncer =
    Debouncer { delay: Duration::from_secs(1), max_delay: Duration::from_mins(1) };

/// Gives back memory for as long as it is polled.
pub(super) async fn keep_small(store: Arc<Store>) {
    let (mut generations, mut bursts) = (store.generations(), store.bursts());
    loop {
        // The store is ours too and holds both senders, so that waiting ends only with something new.
        tokio::select! {
            _ = generations.changed() => {}
            _ = bursts.changed() => {}
        }
        let another = || {
            let (mut generations, mut bursts) = (generations.clone(), bursts.clone());
            generations.mark_unchanged();
            bursts.mark_unchanged();
            async move {
                tokio::select! {
                    published = generations.changed() => published.is_ok(),
                    called = bursts.changed() => called.is_ok(),
                }
            }
        };
        IDLE_DEBOUNCE.wait(another).await;
        generations.mark_unchanged();
        bursts.mark_unchanged();
        // Taking the allocator's locks for a moment must not hold up the thread that answers.
        let _ = spawn_blocking(skills_memory::give_back).await;
    }
}
