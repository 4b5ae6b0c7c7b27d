//! [`RunSlots`]: how many scripts run at once.
//!
//! A run that has been answered may still hold its slot: what it left on disk is being removed, and a client must not be able to
//! leave more than a few workspaces behind. Such a slot is free in a moment, so a call waits for it, and one call only: each that
//! waits keeps a thread and a turn of the server. A slot of a script that runs is not waited for.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::RunError;

/// A call waits so long for the workspace of another run to be removed.
const SLOT_WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The runs of a server.
#[derive(Debug, Default)]
pub(super) struct RunSlots {
    taken: Mutex<TakenSlots>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct TakenSlots {
    /// All of them.
    all: usize,
    /// Those of runs that were answered.
    answered: usize,
    /// How many calls wait for one of those.
    waiting: usize,
}

/// One of the `scripts.max_concurrent` runs; dropping it lets the next one start.
#[derive(Debug)]
pub(super) struct RunSlot {
    slots: Arc<RunSlots>,
    is_answered: bool,
}

impl RunSlots {
    /// A slot, once one of this many is free. Blocks the calling thread while only a removal stands in the way that no other call
    /// waits for.
    pub(super) fn take(self: &Arc<Self>, max_concurrent: usize) -> Result<RunSlot, RunError> {
        let mut taken = self.lock();
        if taken.waiting < taken.answered {
            taken.waiting += 1;
            let is_full =
                |taken: &mut TakenSlots| taken.all >= max_concurrent && taken.answered > 0;
            let waited = self.freed.wait_timeout_while(taken, SLOT_WAIT_TIMEOUT, is_full);
            (taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
            taken.waiting -= 1;
        }
        if taken.all >= max_concurrent {
            return Err(RunError::Busy { max_concurrent });
        }
        taken.all += 1;
        Ok(RunSlot { slots: Arc::clone(self), is_answered: false })
    }

    fn lock(&self) -> MutexGuard<'_, TakenSlots> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunSlot {
    /// Notes that the run is being answered, and only its workspace is left.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "there a workspace is removed before the answer")
    )]
    pub(super) fn answered(mut self) -> Self {
        self.slots.lock().answered += 1;
        self.is_answered = true;
        self
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all -= 1;
        taken.answered -= usize::from(self.is_answered);
        drop(taken);
        self.slots.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_for_a_run_that_was_answered_and_not_for_one_that_runs() {
        let slots = Arc::new(RunSlots::default());
        let (first, second) = (slots.take(2).unwrap(), slots.take(2).unwrap());
        assert!(matches!(slots.take(2), Err(RunError::Busy { max_concurrent: 2 })));
        let first = first.answered();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| slots.take(2));
            while slots.lock().waiting == 0 {
                std::thread::yield_now();
            }
            // One call waits for one removal, and more would only keep threads.
            assert!(matches!(slots.take(2), Err(RunError::Busy { max_concurrent: 2 })));
            drop(first);
            assert!(waiting.join().unwrap().is_ok());
        });
        drop(second);
        let taken = slots.lock();
        assert_eq!((taken.all, taken.answered, taken.waiting), (0, 0, 0));
    }
}
