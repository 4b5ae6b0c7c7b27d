//! How long tests wait: for a condition, never for a moment, and with limits that a busy machine meets.
//!
//! The only place with such limits. A test that needs its own has found something that takes time by itself.

use std::{
    thread,
    time::{Duration, Instant},
};

/// What has not happened by then does not happen: the test has failed.
pub const LIMIT: Duration = Duration::from_mins(2);

/// What waits for nothing is over by then, also on a machine that stalls; what waits for an endpoint, a remote or a lock
/// that does not answer is not: those are given 10 seconds or more.
pub const PROMPT: Duration = Duration::from_secs(8);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Looks again and again until there is something to see; the test fails after [`LIMIT`].
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(started.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        thread::sleep(PAUSE);
    }
}

/// Waits until something holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}
