//! Sums over all, and day by day.

use std::collections::{HashMap, HashSet};

use super::{Counted, Day, Days, Rate, Totals};
use crate::{
    archive::{Evidence, OTHERS, Period},
    clock,
    tally::{AMBIGUOUS_NAME, CountKey, CountSum, Metric, Tally},
};

/// No more days than this are listed one by one: a hundred years.
const MAX_REPORT_DAYS: i64 = 36_600;

/// All of a metric.
pub(super) fn sum(tally: &Tally, metric: Metric) -> CountSum {
    let mut sum = CountSum::default();
    tally.iter().filter(|(key, _)| key.metric == metric).for_each(|(_, more)| sum.add(*more));
    sum
}

/// Different subjects of a metric.
fn subjects(tally: &Tally, metric: Metric) -> u64 {
    let keys = tally.keys().filter(|key| key.metric == metric);
    keys.map(|key| &key.subject).collect::<HashSet<_>>().len() as u64
}

pub(super) fn of(evidence: &Evidence) -> Totals {
    let tally = &evidence.tally;
    let n = |metric| sum(tally, metric).n;
    let (loaded, offered) = (n(Metric::Loaded), n(Metric::Offered));
    let (searches, chosen) = (n(Metric::Searched), n(Metric::Chosen) + n(Metric::Taken));
    let none = n(Metric::Missed) + n(Metric::SearchedInVain);
    let requests = loaded + offered + n(Metric::Missed) + searches;
    let of_several =
        |key: &CountKey| key.metric == Metric::Misnamed && key.detail == AMBIGUOUS_NAME;
    let of_several = tally.iter().filter(|(key, _)| of_several(key)).map(|(_, sum)| sum.n).sum();
    let useful = n(Metric::Useful);
    Totals {
        events: n(Metric::Event),
        served: n(Metric::Served),
        skills_used: subjects(tally, Metric::Served),
        tokens: sum(tally, Metric::Served).total,
        searches,
        // What was asked for by its name has no score.
        loaded: Rate::of(loaded, requests),
        chosen,
        // A skill may be chosen although the answer doubted it.
        left: requests.saturating_sub(loaded + none + chosen),
        none,
        misnamed: n(Metric::Misnamed).saturating_sub(of_several),
        useful: Rate::of(useful, useful + n(Metric::Useless)),
        scripts_run: n(Metric::ScriptSucceeded) + n(Metric::ScriptFailed),
        servers: subjects(tally, Metric::Server),
    }
}

pub(super) fn period(period: Period, today: i64) -> Days {
    Days {
        from: date(period.from),
        to: date(period.to),
        days: u64::try_from(period.to.saturating_sub(period.from).saturating_add(1)).unwrap_or(0),
        unfinished: period.to >= today,
    }
}

/// A day in words.
fn date(day: i64) -> String {
    clock::day_of(day.saturating_mul(clock::DAY_MILLIS))
}

pub(super) fn days(evidence: &Evidence, period: Period) -> Vec<Day> {
    let sums: HashMap<(i64, Metric), CountSum> =
        evidence.days.iter().map(|(day, metric, sum)| ((*day, *metric), *sum)).collect();
    let first = period.from.max(period.to.saturating_sub(MAX_REPORT_DAYS - 1));
    let day = |day: i64| {
        let sum = |metric| sums.get(&(day, metric)).copied().unwrap_or_default();
        Day {
            date: date(day),
            served: sum(Metric::Served).n,
            misses: sum(Metric::Missed).n + sum(Metric::SearchedInVain).n,
            searches: sum(Metric::Searched).n,
            scripts: sum(Metric::ScriptSucceeded).n + sum(Metric::ScriptFailed).n,
            tokens: sum(Metric::Served).total,
        }
    };
    (first..=period.to).map(day).collect()
}

/// The clients that called, by name: those that gave none, or that were too many to be told apart, are not among them.
pub(super) fn callers(evidence: &Evidence) -> Vec<Counted> {
    let named = evidence.clients.iter().filter(|(name, _)| !name.is_empty() && name != OTHERS);
    named.map(|(name, n)| Counted { name: name.clone(), n: *n }).collect()
}

/// Skills served by client.
pub(super) fn clients(tally: &Tally) -> Vec<Counted> {
    let mut clients: HashMap<&str, u64> = HashMap::new();
    for (key, sum) in tally.iter().filter(|(key, _)| key.metric == Metric::Served) {
        *clients.entry(&key.detail).or_default() += sum.n;
    }
    most_first(clients.into_iter().map(|(name, n)| Counted { name: name.to_owned(), n }).collect())
}

/// The most frequent first; what is as frequent by name.
pub(super) fn most_first(mut counted: Vec<Counted>) -> Vec<Counted> {
    counted.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.name.cmp(&b.name)));
    counted
}
