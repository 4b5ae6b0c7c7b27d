//! [`LogLimit`]: how often a line is logged that the senders of requests cause. Without it, requests that no token lets in
//! could fill the disk.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Counts what happens, and when it is time to log the count.
#[derive(Debug)]
pub struct LogLimit {
    interval: Duration,
    state: Mutex<LogCount>,
}

#[derive(Debug, Default)]
struct LogCount {
    /// What happened since the last line.
    count: u64,
    logged: Option<Instant>,
}

impl LogLimit {
    /// At most one line in this time.
    pub fn every(interval: Duration) -> Self {
        Self { interval, state: Mutex::default() }
    }

    /// It happened so many times more: how many times there are to log, if it is time.
    pub fn count(&self, more: u64) -> Option<u64> {
        self.count_at(more, Instant::now())
    }

    fn count_at(&self, more: u64, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += more;
        let is_recent = |logged| now.saturating_duration_since(logged) < self.interval;
        if state.count == 0 || state.logged.is_some_and(is_recent) {
            return None;
        }
        state.logged = Some(now);
        Some(std::mem::take(&mut state.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_logged_at_once_and_later_ones_together_when_it_is_time() {
        let (limit, start) = (LogLimit::every(Duration::from_hours(1)), Instant::now());
        let minutes = |n| start + Duration::from_mins(n);
        assert_eq!(limit.count_at(0, start), None);
        assert_eq!(limit.count_at(2, minutes(1)), Some(2));
        assert_eq!(limit.count_at(3, minutes(2)), None);
        assert_eq!(limit.count_at(4, minutes(60)), None);
        assert_eq!(limit.count_at(0, minutes(61)), Some(7));
        assert_eq!(limit.count_at(0, minutes(200)), None);
    }
}
