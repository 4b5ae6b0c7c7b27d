//! The only file that asks the time.

#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use uuid::{ContextV7, Timestamp, Uuid};

/// What the last number of this process was made of.
static NUMBERS: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// Now, as ISO 8601 in UTC with milliseconds: `2026-02-18T14:30:00.000Z`.
pub fn timestamp() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// A moment so long after 1970 began, as ISO 8601 in UTC with milliseconds.
pub fn timestamp_of(since_epoch: Duration) -> String {
    let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(0);
    let moment = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{moment:.3}")
}

/// How long ago 1970 began, by this machine's clock.
pub fn since_epoch() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// A number that no other event has, and that grows with time: not even a clock that goes back repeats or reorders
/// those of one process.
pub fn event_id() -> Uuid {
    event_id_at(&NUMBERS.lock().unwrap_or_else(PoisonError::into_inner), since_epoch())
}

/// The next number, if it is this late. One that is earlier than the last one's time keeps that time and counts on.
fn event_id_at(numbers: &ContextV7, now: Duration) -> Uuid {
    // Only after the very first moment of 1970 does the count begin by chance.
    let now = now.max(Duration::from_millis(1));
    Uuid::new_v7(Timestamp::from_unix(numbers, now.as_secs(), now.subsec_nanos()))
}

/// A moment as ISO 8601 → milliseconds since 1970 began.
pub fn millis_of(timestamp: &str) -> Option<i64> {
    timestamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Milliseconds since 1970 began → the day in UTC, as `2026-02-18`.
pub fn day_of(millis: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    moment.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b06_numbers_of_one_process_grow_whatever_the_clock_does() {
        const YEAR: Duration = Duration::from_hours(365 * 24);
        let numbers = ContextV7::new();
        let now = Duration::from_millis(1_800_000_000_123);
        let back = |time| now.saturating_sub(time);
        let (day, zero) = (Duration::from_hours(24), Duration::ZERO);
        let clock = [now, now, back(YEAR), zero, back(day), now, now + YEAR, now];
        let made: Vec<Uuid> = clock
            .into_iter()
            .flat_map(|then| (0..1_000_u32).map(move |more| then + more * Duration::from_micros(1)))
            .map(|then| event_id_at(&numbers, then))
            .collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        let ahead = made.last().and_then(Uuid::get_timestamp).map(|time| time.to_unix().0);
        assert_eq!(ahead, Some((now + YEAR).as_secs()), "the latest time there was");
        // Two processes whose clocks say the same, even that it is 1970, do not make the same numbers.
        let first = |then| event_id_at(&ContextV7::new(), then);
        assert_ne!(first(Duration::ZERO), first(Duration::ZERO));
        let of_this_process: Vec<Uuid> = (0..10_000).map(|_| event_id()).collect();
        assert!(of_this_process.is_sorted_by(|a, b| a < b));
    }
}
