//! Many small things of one kind, done on every core.

use std::{
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Fewer than this are not worth a second thread.
const FEW: usize = 64;
/// A thread takes so many at a time.
const HANDFUL: usize = 32;
/// More threads than this would only wait for the disk, or for each other.
const MOST: usize = 8;

/// What `make` gives for each item, in their order. Each thread prepares itself once.
pub fn map<T: Sync, U: Send, S>(
    items: &[T],
    prepare: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, &T) -> U + Sync,
) -> Vec<U> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
    let threads = if items.len() < FEW { 1 } else { cores };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut prepared = prepare();
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(HANDFUL, Ordering::Relaxed);
            let Some(rest) = items.get(first..).filter(|rest| !rest.is_empty()) else {
                return done;
            };
            let handful = rest.iter().take(HANDFUL);
            done.push((first, handful.map(|item| make(&mut prepared, item)).collect::<Vec<U>>()));
        }
    };
    let mut parts = thread::scope(|scope| {
        // Where there is no room for another thread, those that there are do it.
        let another = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(another).collect();
        let mut parts = work();
        for other in others {
            // A thread that panics takes the whole look with it, as it would have alone.
            parts.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    });
    parts.sort_unstable_by_key(|(first, _)| *first);
    parts.into_iter().flat_map(|(_, handful)| handful).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_made_once_and_in_order() {
        for count in [0, 1, 31, 64, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            assert!(
                map(&items, || (), |(), item| item * 2)
                    .into_iter()
                    .eq((0..count).map(|item| item * 2))
            );
        }
    }
}
