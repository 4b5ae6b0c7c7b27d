//! Work on every core: the same on many small items, or two things at once; and what threads prepare once and use again.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Fewer items than this are not worth a second thread.
const MIN_PARALLEL_ITEMS: usize = 64;
/// A thread takes so many items at a time.
const CHUNK_ITEMS: usize = 32;
/// More threads than this would only wait for the disk, or for each other.
const MAX_THREADS: usize = 8;

/// What threads prepared, for those of the next call.
#[derive(Debug)]
pub struct PreparedThreads<S>(Mutex<Vec<S>>);

impl<S> Default for PreparedThreads<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> PreparedThreads<S> {
    fn idle(&self) -> MutexGuard<'_, Vec<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `make` gives for each item, in their order. Each thread prepares itself once.
pub fn map<T: Sync, U: Send, S: Send>(
    items: &[T],
    prepare: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, &T) -> U + Sync,
) -> Vec<U> {
    map_prepared(items, &PreparedThreads::default(), prepare, make)
}

/// The same with what the threads of an earlier call prepared.
pub fn map_prepared<T: Sync, U: Send, S: Send>(
    items: &[T],
    prepared: &PreparedThreads<S>,
    prepare: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, &T) -> U + Sync,
) -> Vec<U> {
    let threads = if items.len() < MIN_PARALLEL_ITEMS { 1 } else { max_threads() };
    let next = AtomicUsize::new(0);
    let work = || {
        let idle = prepared.idle().pop();
        let mut own = idle.unwrap_or_else(&prepare);
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(CHUNK_ITEMS, Ordering::Relaxed);
            let Some(rest) = items.get(first..).filter(|rest| !rest.is_empty()) else {
                prepared.idle().push(own);
                return done;
            };
            let chunk = rest.iter().take(CHUNK_ITEMS);
            done.push((first, chunk.map(|item| make(&mut own, item)).collect::<Vec<U>>()));
        }
    };
    let mut parts = thread::scope(|scope| {
        // If no thread can be started, the others do its work.
        let another = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(another).collect();
        let mut parts = work();
        for other in others {
            // A thread that panics takes its caller with it, as if the caller had done the work.
            parts.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        parts
    });
    parts.sort_unstable_by_key(|(first, _)| *first);
    parts.into_iter().flat_map(|(_, chunk)| chunk).collect()
}

/// How many threads there may be. The system is asked once, since that takes longer than reading a skill.
fn max_threads() -> usize {
    static MAX: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS));
    *MAX
}

/// Does both, the first on a thread of its own. If no thread can be started, one after the other.
pub fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, &first).ok();
        let second = second();
        let first = match other {
            Some(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => first(),
        };
        (first, second)
    })
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

    #[test]
    fn a_thread_uses_what_an_earlier_one_prepared() {
        let (prepared, made) = (PreparedThreads::default(), AtomicUsize::new(0));
        let prepare = || made.fetch_add(1, Ordering::Relaxed);
        for _ in 0..5 {
            map_prepared(&[1, 2, 3], &prepared, prepare, |_, item| *item);
        }
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn both_are_done_at_the_same_time() {
        let (send, receive) = std::sync::mpsc::channel();
        let first = || send.send(1).is_ok();
        // The second ends only after the first has begun.
        assert_eq!(both(first, || receive.recv().ok()), (true, Some(1)));
    }
}
