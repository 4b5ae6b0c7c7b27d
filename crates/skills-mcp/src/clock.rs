//! The only file that asks the time.

#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::time::Duration;

/// Now, as ISO 8601 in UTC with milliseconds: `2026-02-18T14:30:00.000Z`.
pub fn timestamp() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// How long ago 1970 began, by this machine's clock.
pub fn since_epoch() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
