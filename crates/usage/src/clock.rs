//! The only file that asks the time; what moments and waits are made of.

#![expect(clippy::disallowed_methods, reason = "only this file asks the time")]

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
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

/// A random share from 0 to 1, by which waits that began together end apart.
pub fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// A day, in milliseconds.
pub const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// How many days ago 1970 began, in UTC.
pub fn today() -> i64 {
    i64::try_from(since_epoch().as_millis()).unwrap_or_default() / DAY_MILLIS
}

/// A moment as ISO 8601 → milliseconds since 1970 began.
pub fn millis_of(timestamp: &str) -> Option<i64> {
    as_we_write_it(timestamp.as_bytes())
        .or_else(|| timestamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond))
}

/// The same of what [`timestamp`] writes, quickly. None of anything else, and of what is no moment.
fn as_we_write_it(text: &[u8]) -> Option<i64> {
    const SHAPE: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let text: &[u8; 24] = text.try_into().ok()?;
    let fits = |(digit, shape): (&u8, &u8)| {
        if *shape == b'0' { digit.is_ascii_digit() } else { digit == shape }
    };
    if !text.iter().zip(SHAPE).all(fits) {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = text.iter().take(to).skip(from);
        digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    // The last days that there are end somewhere within the last year.
    if !(1..=9_998).contains(&year) || !(1..=last).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Years are taken to begin in March, so that the day that not all have is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    // Day 719,469 of this count is the first of 1970.
    let seconds = (((days - 719_469) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000 + number(20, 23))
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

    // SEND-6
    #[test]
    fn b05_jitter_is_a_share_and_scattered() {
        let shares: Vec<f64> = (0..100).map(|_| jitter()).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        assert!(shares.iter().any(|share| *share > 0.5) && shares.iter().any(|s| *s < 0.5));
    }

    #[test]
    fn the_quick_way_and_the_general_one_agree() {
        let general =
            |text: &str| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond);
        // From the year 1 to 9998, by steps that meet all days of a year and all parts of a day.
        let mut millis = -62_135_596_800_000_i64;
        let mut quick = 0;
        while millis < 253_370_764_800_000 {
            let text = format!("{:.3}", jiff::Timestamp::from_millisecond(millis).unwrap());
            assert_eq!(as_we_write_it(text.as_bytes()), Some(millis), "{text}");
            assert_eq!(general(&text), Some(millis));
            millis += 6_311_347_091;
            quick += 1;
        }
        assert!(quick > 40_000);
        for (month, day) in (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day))) {
            for year in ["0000", "0001", "1900", "1970", "2000", "2023", "2024", "9998", "9999"] {
                let text = format!("{year}-{month:02}-{day:02}T23:59:60.999Z");
                assert_eq!(millis_of(&text), general(&text), "{text}");
                let text = text.replace(":60.", ":59.");
                assert_eq!(millis_of(&text), general(&text), "{text}");
            }
        }
        for odd in ["24:00:00", "23:60:00", "23:59:61", "2a:00:00", "00 00:00"] {
            let text = format!("2026-02-18T{odd}.000Z");
            assert_eq!(millis_of(&text), general(&text), "{text}");
        }
        assert_eq!(millis_of("2026-02-18T14:30:00.5+01:00"), Some(1_771_421_400_500));
        assert_eq!(millis_of("2026-02-18"), None);
    }
}
