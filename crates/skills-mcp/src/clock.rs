//! The only file that asks the time.

#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

/// Now, as ISO 8601 in UTC with milliseconds: `2026-02-18T14:30:00.000Z`.
pub fn timestamp() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
