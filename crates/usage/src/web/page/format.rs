//! Numbers and names as a reader wants them. Pure.
//!
//! The exact number stands beside each of these in the page.

use std::borrow::Borrow;

use super::MAX_ROWS;
use crate::report::{AdviceKind, Rate};

/// `1234567` → `1,234,567`.
pub(super) fn count(n: impl Whole) -> String {
    let digits = n.whole().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A large number in three digits: `1.23 M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn short(n: impl Whole) -> String {
    let n = n.whole();
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| n >= *size) else {
        return count(n);
    };
    // Thousands are shortened from ten thousand on.
    let size = if unit == "k" { 1_000 } else { size };
    format!("{} {unit}", three_digits(n as f64 / size as f64))
}

fn three_digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A size in bytes.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn bytes(n: impl Whole) -> String {
    let n = n.whole();
    match n {
        ..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{} KiB", three_digits(n as f64 / 1024.0)),
        _ => format!("{} MiB", three_digits(n as f64 / 1_048_576.0)),
    }
}

/// A share in whole percent.
pub(super) fn percent(share: impl Share) -> String {
    share.share().map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// The range of the true share, in percent.
pub(super) fn range(rate: &Rate) -> String {
    rate.percents().map(|(low, high)| format!("{low:.0}–{high:.0} %")).unwrap_or_default()
}

/// The number itself.
pub(super) fn raw(share: impl Share) -> String {
    share.share().map(|share| share.to_string()).unwrap_or_default()
}

/// How far along a track a share stands.
pub(super) fn at(share: impl Share) -> String {
    format!("{:.1}%", share.share().unwrap_or(0.0).clamp(0.0, 1.0) * 100.0)
}

/// How much of a track is between the ends of a range.
pub(super) fn between(rate: &Rate) -> String {
    let Rate { low, high, .. } = rate;
    at(Some(high.unwrap_or(0.0) - low.unwrap_or(0.0)))
}

/// How much of a track a number fills.
#[expect(clippy::cast_precision_loss, reason = "a pixel is shown")]
pub(super) fn part(n: impl Whole, most: impl Whole) -> String {
    at(Some(n.whole() as f64 / most.whole().max(1) as f64))
}

/// A score.
pub(super) fn score(score: impl Share) -> String {
    score.share().map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"))
}

/// A duration in milliseconds.
pub(super) fn millis(duration: impl Share) -> String {
    match duration.share() {
        None => "–".to_owned(),
        Some(millis @ ..1_000.0) => format!("{millis:.0} ms"),
        Some(millis) => format!("{} s", three_digits(millis / 1_000.0)),
    }
}

/// A duration in microseconds.
pub(super) fn micros(duration: impl Share) -> String {
    match duration.share() {
        None => "–".to_owned(),
        Some(micros @ ..1_000.0) => format!("{micros:.0} µs"),
        Some(micros @ ..1_000_000.0) => format!("{} ms", three_digits(micros / 1_000.0)),
        Some(micros) => format!("{} s", three_digits(micros / 1_000_000.0)),
    }
}

/// A whole number, however a template hands it over.
pub(super) trait Whole {
    fn whole(&self) -> u64;
}

impl Whole for u64 {
    fn whole(&self) -> u64 {
        *self
    }
}

impl Whole for usize {
    fn whole(&self) -> u64 {
        *self as u64
    }
}

impl<T: Whole> Whole for &T {
    fn whole(&self) -> u64 {
        (*self).whole()
    }
}

/// Something that may be a number: templates hand values over as they come.
pub(super) trait Share {
    fn share(&self) -> Option<f64>;
}

impl Share for f64 {
    fn share(&self) -> Option<f64> {
        Some(*self)
    }
}

impl<T: Share> Share for Option<T> {
    fn share(&self) -> Option<f64> {
        self.as_ref().and_then(T::share)
    }
}

impl<T: Share> Share for &T {
    fn share(&self) -> Option<f64> {
        (*self).share()
    }
}

/// Whether there is more than is shown.
pub(super) fn more(all: impl Whole, shown: impl Whole) -> bool {
    all.whole() > shown.whole()
}

/// How much of a list is not shown even on a page of its own.
pub(super) fn beyond(all: impl Whole, shown: impl Whole) -> u64 {
    let shown = shown.whole();
    if shown == MAX_ROWS as u64 { all.whole().saturating_sub(shown) } else { 0 }
}

/// As part of a query.
pub(super) fn query(text: impl AsRef<str>) -> String {
    use std::fmt::Write as _;
    text.as_ref().bytes().fold(String::new(), |mut query, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            query.push(char::from(byte));
        } else {
            let _ = write!(query, "%{byte:02X}");
        }
        query
    })
}

/// So much of a text is enough to know it by.
const MAX_BRIEF_CHARS: usize = 160;

/// The beginning of a text, on one line.
pub(super) fn brief(text: impl AsRef<str>) -> String {
    let line = text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().nth(MAX_BRIEF_CHARS).is_none() {
        return line;
    }
    let cut: String = line.chars().take(MAX_BRIEF_CHARS).collect();
    format!("{}…", cut.trim_end())
}

/// A part of a sentence.
pub(super) struct SentencePart<'a> {
    /// Whether it stood between backticks.
    pub(super) code: bool,
    pub(super) text: &'a str,
}

/// A sentence, with what is to be typed set apart.
pub(super) fn parts(text: &str) -> impl Iterator<Item = SentencePart<'_>> {
    // A backtick that none follows is only a backtick.
    let paired = text.matches('`').count().is_multiple_of(2);
    let separator = if paired { '`' } else { '\u{0}' };
    let parts = text.split(separator).enumerate();
    parts
        .map(|(at, text)| SentencePart { code: at % 2 == 1, text })
        .filter(|part| !part.text.is_empty())
}

/// A kind of advice in words.
pub(super) fn kind(kind: impl Borrow<AdviceKind>) -> &'static str {
    match kind.borrow() {
        AdviceKind::WriteSkill => "Write a skill",
        AdviceKind::AddKeywords => "Add keywords",
        AdviceKind::ImproveSkill => "Improve the text",
        AdviceKind::RetitleSkill => "Say it better",
        AdviceKind::FixScript => "Fix the script",
        AdviceKind::FixFile => "Mend the file",
        AdviceKind::RemoveSkill => "Remove or announce",
    }
}

/// Its colour, which never stands alone.
pub(super) fn kind_class(kind: impl Borrow<AdviceKind>) -> &'static str {
    match kind.borrow() {
        AdviceKind::FixFile | AdviceKind::FixScript => "bad",
        AdviceKind::WriteSkill | AdviceKind::AddKeywords => "new",
        AdviceKind::ImproveSkill | AdviceKind::RetitleSkill => "warn",
        AdviceKind::RemoveSkill => "quiet",
    }
}

/// The part of the page that says more where no skill does.
pub(super) fn kind_place(kind: impl Borrow<AdviceKind>) -> &'static str {
    match kind.borrow() {
        AdviceKind::WriteSkill | AdviceKind::AddKeywords => "#missed",
        AdviceKind::ImproveSkill | AdviceKind::RetitleSkill => "#skills",
        AdviceKind::FixScript => "#scripts",
        AdviceKind::FixFile => "#health",
        AdviceKind::RemoveSkill => "#never",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0_u64, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [9_999_u64, 10_000, 1_234_567, 250_000_000].map(short),
            ["9,999", "10.0 k", "1.23 M", "250 M"]
        );
        assert_eq!([10_u64, 2_048, 5_242_880].map(bytes), ["10 B", "2.00 KiB", "5.00 MiB"]);
        assert_eq!((millis(Some(12.4)), millis(2_345.0)), ("12 ms".into(), "2.35 s".into()));
        assert_eq!((micros(Some(950.0)), micros(12_345.0)), ("950 µs".into(), "12.3 ms".into()));
        assert_eq!((percent(0.826), percent(None::<f64>)), ("83 %".to_owned(), "–".to_owned()));
    }

    #[test]
    fn a15_interval_is_the_same_on_the_page_and_on_a_terminal() {
        for of in 10..200 {
            for n in 0..=of {
                let rate = Rate::of(n, of);
                let on_page = range(&rate).replace('–', "-");
                assert_eq!(rate.to_string(), format!("{n} of {of}, {on_page}"));
                let (low, high) = rate.percents().unwrap();
                let share = rate.share.unwrap() * 100.0;
                assert!(low <= share + 0.01 && share <= high + 0.01, "{n} of {of}: {low}-{high}");
            }
        }
        let exact = Rate { low: Some(0.29), high: Some(0.57), ..Rate::of(40, 80) };
        assert_eq!(range(&exact), "29–57 %", "what is whole stays as it is");
        assert_eq!(range(&Rate::of(1, 2)), "");
    }

    #[test]
    fn a_query_holds_any_name() {
        assert_eq!(query("ui/react auth&x=1\"é"), "ui/react%20auth%26x%3D1%22%C3%A9");
    }

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!(brief("one\n two"), "one two");
        assert_eq!(brief("x".repeat(500)).chars().count(), MAX_BRIEF_CHARS + 1);
    }
}
