//! How long tests wait: for a condition, never for a fixed time, and with timeouts that a busy machine meets.
//!
//! The only place with such timeouts. A test that needs its own has found something slow.

use std::{
    thread,
    time::{Duration, Instant},
};

/// A condition that does not hold by then fails the test.
pub const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// A step that waits for nothing ends by then, also on a machine that stalls; one that waits for an endpoint, a remote or
/// a lock that does not answer does not: those have timeouts of 10 seconds or more.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(8);

/// The pause between two checks of a condition.
const POLL_PAUSE: Duration = Duration::from_millis(10);

/// Calls `check` until it returns something; the test fails after [`TEST_TIMEOUT`].
pub fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(started.elapsed() < TEST_TIMEOUT, "not within {TEST_TIMEOUT:?}: {what}");
        thread::sleep(POLL_PAUSE);
    }
}

/// Waits until something holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}
