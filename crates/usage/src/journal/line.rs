//! One event ↔ one line: JSON with a `check` as its last member, by which a torn or damaged line is known.

use crate::event::RecordedEvent;

/// No event has a longer line.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;

const CHECK_PREFIX: &str = r#","check":""#;
const CHECK_SUFFIX: &str = "\"}";
const CHECK_DIGITS: usize = 8;

/// An event's line, without its end of line. None where it cannot be written, or would be too long to be read again.
pub fn checked(recorded: &RecordedEvent) -> Option<String> {
    let mut line = serde_json::to_string(recorded).ok()?;
    line.pop().filter(|end| *end == '}')?;
    let check = crc32fast::hash(line.as_bytes());
    let line = format!("{line}{CHECK_PREFIX}{check:08x}{CHECK_SUFFIX}");
    (line.len() < MAX_LINE_BYTES).then_some(line)
}

/// Whether a line is as it was written. One without a check may be: others do not write it.
pub(crate) fn verified(line: &str) -> bool {
    parts(line).is_none_or(|(text, check)| matches(text, check))
}

/// The event of a line that is as it was written, without the check.
pub(crate) fn unchecked(line: &str) -> Option<String> {
    let (text, check) = parts(line)?;
    matches(text, check).then(|| format!("{text}}}"))
}

/// Digits are lower-case, as they are written, so that no damage to the check itself passes either.
fn matches(text: &str, check: &str) -> bool {
    check.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
        && u32::from_str_radix(check, 16) == Ok(crc32fast::hash(text.as_bytes()))
}

/// What the check is of, and the check.
fn parts(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_end().strip_suffix(CHECK_SUFFIX)?;
    let (text, check) = rest.split_at_checked(rest.len().checked_sub(CHECK_DIGITS)?)?;
    Some((text.strip_suffix(CHECK_PREFIX)?, check))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"type":"skill_feedback","timestamp":"2026-02-18T14:30:00.000Z","data":{"skill_path":"ui/é","useful":true,"comment":null},"server_id":"dev-ada","event_id":"019c7138-1e40-7000-8000-000000000001"}"#;

    #[test]
    fn a_line_is_its_event_and_a_check() {
        let event = RecordedEvent::read(EVENT).unwrap();
        let line = checked(&event).unwrap();
        assert_eq!(line.len(), serde_json::to_string(&event).unwrap().len() + 19);
        assert!(verified(&line) && verified(&format!("{line}\n")));
        assert_eq!(
            RecordedEvent::read(&line),
            Ok(event.clone()),
            "the check is no part of the event"
        );
        assert_eq!(unchecked(&line), Some(serde_json::to_string(&event).unwrap()));
        assert!(verified(EVENT), "others write no check");
        assert_eq!(unchecked(EVENT), None);
    }

    #[test]
    fn b07_no_flipped_bit_and_no_torn_end_makes_another_event() {
        let line = checked(&RecordedEvent::read(EVENT).unwrap()).unwrap();
        let whole = unchecked(&line);
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let read = String::from_utf8(bytes).ok().and_then(|line| unchecked(&line));
                assert!(read.is_none() || read == whole, "byte {at}, bit {bit}: {read:?}");
            }
            let torn = line.get(..at).unwrap_or_default();
            assert_eq!(unchecked(torn), None, "{torn}");
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let mut event = RecordedEvent::read(EVENT).unwrap();
        event.server_id = "x".repeat(MAX_LINE_BYTES).into();
        assert_eq!(checked(&event), None);
    }
}
