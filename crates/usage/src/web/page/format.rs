//! Shares, durations and advice as a reader wants them. Pure.
//!
//! The exact number stands beside each of these in the page. Not here: counts, sizes and names (`skills_page::format`).

use std::borrow::Borrow;

pub(super) use skills_page::format::{
    Share, Whole, brief, bytes, count, parts, query, score, short, skill_address, three_digits,
};

use super::MAX_ROWS;
use crate::report::{AdviceKind, Rate};

/// So much of a commit is shown.
const SHORT_COMMIT_CHARS: usize = 12;
/// So many names are shown in one cell.
const MAX_LISTED_NAMES: usize = 4;

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

/// Whether there is more than is shown.
pub(super) fn more(all: impl Whole, shown: impl Whole) -> bool {
    all.whole() > shown.whole()
}

/// How much of a list is not shown even on a page of its own.
pub(super) fn beyond(all: impl Whole, shown: impl Whole) -> u64 {
    let shown = shown.whole();
    if shown == MAX_ROWS as u64 { all.whole().saturating_sub(shown) } else { 0 }
}

/// A moment to the minute.
pub(super) fn minute(timestamp: impl AsRef<str>) -> String {
    let timestamp = timestamp.as_ref();
    timestamp.get(..16).unwrap_or(timestamp).replace('T', " ")
}

/// As much of a commit as tells it from others.
pub(super) fn commit(hash: impl AsRef<str>) -> String {
    hash.as_ref().chars().take(SHORT_COMMIT_CHARS).collect()
}

/// Some names, and how many more there are.
pub(super) fn list(names: &[String]) -> String {
    let shown = names.get(..MAX_LISTED_NAMES).unwrap_or(names);
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
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
    fn durations_and_shares_read_well() {
        assert_eq!((millis(Some(12.4)), millis(2_345.0)), ("12 ms".into(), "2.35 s".into()));
        assert_eq!((micros(Some(950.0)), micros(12_345.0)), ("950 µs".into(), "12.3 ms".into()));
        assert_eq!(minute("2026-02-18T14:30:59.000Z"), "2026-02-18 14:30");
        assert_eq!(
            (minute("soon"), commit("0123456789abcdef")),
            ("soon".into(), "0123456789ab".into())
        );
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(
            (list(&names[..2]), list(&names)),
            ("a, b".into(), "a, b, c, d and 1 more".into())
        );
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
}
