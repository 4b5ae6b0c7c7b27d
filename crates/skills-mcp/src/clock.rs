//! The only file that asks the time.

#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::time::Duration;

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
pub fn event_id() -> uuid::Uuid {
    uuid::Uuid::now_v7()
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
