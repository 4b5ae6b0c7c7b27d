//! [`Backoff`]: when to try again. Pure: the time and the chance come from outside.
//!
//! The clock may be set at any time. A wait that began later than now, or ends later than any may, was written
//! by another clock and does not count; so a jump costs one try too many and nothing else.

use std::time::Duration;

/// The first wait is at most this, the next twice as long, and so on.
const MIN_WAIT: Duration = Duration::from_secs(1);
/// But no more than this.
const MAX_BACKOFF: Duration = Duration::from_mins(15);
/// The endpoint may ask for more, but whatever it says, no wait is longer.
const MAX_WAIT: Duration = Duration::from_hours(24);
/// A clock that is set right by less than this has not jumped.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);

/// What is known of the last tries. Times are milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    /// How many failed in a row.
    pub(super) failures: u32,
    /// When the last one did.
    pub(super) since: u64,
    /// No try before then.
    pub(super) not_before: u64,
}

impl Backoff {
    /// How long there is still to wait.
    pub(super) fn pending(self, now: u64) -> Option<Duration> {
        if self.since > now.saturating_add(super::millis(CLOCK_TOLERANCE)) {
            return None;
        }
        let wait = Duration::from_millis(self.not_before.checked_sub(now)?);
        (!wait.is_zero() && wait <= MAX_WAIT).then_some(wait)
    }

    /// One more failure. `chance` is from 0 to 1: those who failed together come back one by one.
    pub(super) fn failed(self, now: u64, chance: f64, retry_after: Option<&str>) -> Self {
        let longest = MIN_WAIT.saturating_mul(2_u32.saturating_pow(self.failures)).min(MAX_BACKOFF);
        let wait = longest.mul_f64(chance.clamp(0.0, 1.0)).max(MIN_WAIT);
        let asked = retry_after.and_then(|text| asked(text, now)).unwrap_or_default();
        let wait = wait.max(asked).min(MAX_WAIT);
        Self {
            failures: self.failures.saturating_add(1),
            since: now,
            not_before: now.saturating_add(super::millis(wait)),
        }
    }
}

/// A `Retry-After`: seconds, or a date.
fn asked(text: &str, now: u64) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond();
    Some(Duration::from_millis(u64::try_from(moment).ok()?.saturating_sub(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;
    const HOUR: u64 = 3_600_000;
    const YEAR: u64 = 365 * 24 * HOUR;

    // SEND-6
    #[test]
    fn b05_waits_grow_to_a_quarter_of_an_hour_and_are_scattered() {
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..14 {
            backoff = backoff.failed(NOW, 1.0, None);
            waits.push((backoff.not_before - NOW) / 1000);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]);
        let half = backoff.failed(NOW, 0.5, None);
        assert_eq!(half.not_before - NOW, 450_000);
        assert_eq!(backoff.failed(NOW, 0.0, None).not_before - NOW, 1000, "a second at least");
        let many = Backoff { failures: u32::MAX, ..Backoff::default() };
        assert_eq!(many.failed(NOW, 1.0, None).not_before - NOW, 900_000);
    }

    #[test]
    fn b05_an_endpoint_that_is_down_for_seven_days_is_asked_seldom_and_then_at_once() {
        let (mut now, mut backoff, mut tries) = (NOW, Backoff::default(), 0);
        let mut chances = [0.1, 0.9, 0.5, 1.0, 0.0, 0.7].into_iter().cycle();
        while now < NOW + 7 * 24 * HOUR {
            backoff = backoff.failed(now, chances.next().unwrap(), None);
            tries += 1;
            let wait = backoff.pending(now).expect("there is always a wait");
            now += u64::try_from(wait.as_millis()).unwrap();
            assert_eq!(backoff.pending(now), None);
        }
        assert!((600..2_000).contains(&tries), "{tries}");
    }

    // SEND-6
    #[test]
    fn b05_the_endpoint_may_ask_for_more_up_to_a_day() {
        let waits = |text: &str| Backoff::default().failed(NOW, 1.0, Some(text)).not_before - NOW;
        assert_eq!(waits("120"), 120_000);
        assert_eq!(waits("0"), 1000);
        assert_eq!(waits("7200"), 2 * HOUR);
        assert_eq!(waits("999999999999"), 24 * HOUR);
        assert_eq!(waits("Fri, 15 Jan 2027 08:05:00 GMT"), 300_000);
        assert_eq!(waits("Wed, 21 Oct 2015 07:28:00 GMT"), 1000);
        assert_eq!(waits("Fri, 15 Jan 2055 08:05:00 GMT"), 24 * HOUR);
        for nonsense in ["", "soon", "-1", "1e9", "\u{0}", "99999999999999999999999"] {
            assert_eq!(waits(nonsense), 1000, "{nonsense}");
        }
    }

    #[test]
    fn b06_a_clock_that_jumps_neither_stops_sending_nor_makes_it_race() {
        let failed = Backoff { failures: 12, ..Backoff::default() }.failed(NOW, 1.0, None);
        assert_eq!(failed.pending(NOW), Some(MAX_BACKOFF));
        // Back a year, and to 1970: what was written then means nothing now.
        for now in [NOW - YEAR, 0, NOW - 2 * HOUR] {
            assert_eq!(failed.pending(now), None, "{now}");
            let again = failed.failed(now, 1.0, None);
            assert_eq!(again.pending(now), Some(MAX_BACKOFF), "one try, then the wait as before");
        }
        // What the endpoint asked for likewise, but for a clock that is only set right a little.
        let asked = Backoff::default().failed(NOW, 1.0, Some("86400"));
        assert_eq!(asked.pending(NOW - HOUR / 2), None);
        assert_eq!(asked.pending(NOW + HOUR), Some(Duration::from_hours(23)));
        let short = Backoff::default().failed(NOW, 1.0, Some("600"));
        assert_eq!(short.pending(NOW - 1_000), Some(Duration::from_secs(601)));
        // A version that does not yet write when it began.
        assert_eq!(Backoff { since: 0, ..short }.pending(NOW), Some(Duration::from_mins(10)));
        // Forward ten years.
        assert_eq!(failed.pending(NOW + 10 * YEAR), None);
        let again = failed.failed(NOW + 10 * YEAR, 1.0, None);
        assert_eq!(again.pending(NOW + 10 * YEAR), Some(MAX_BACKOFF));
        assert_eq!(Backoff { failures: 1, not_before: u64::MAX, since: 0 }.pending(NOW), None);
        assert_eq!(
            Backoff { failures: 1, not_before: 5, since: 5 }
                .failed(u64::MAX, 1.0, None)
                .pending(u64::MAX),
            None
        );
    }
}
