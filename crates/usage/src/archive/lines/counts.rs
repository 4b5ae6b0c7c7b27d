//! Counts of many days in little memory: each name is kept once, a count is a few numbers.

use std::{collections::HashMap, sync::Arc};

use super::{
    super::{Period, is_of_a_skill},
    QuickHasher,
};
use crate::{
    event::BorrowedEvent,
    tally::{CountKey, CountSum, Metric, Tally, each},
};

/// A [`CountKey`] whose names are numbers.
type ShortKey = (Metric, u32, u32, u16);

/// Counts by day.
#[derive(Debug, Default)]
pub(super) struct DailyCounts {
    names: CountNames,
    days: HashMap<i64, HashMap<ShortKey, CountSum, QuickHasher>, QuickHasher>,
}

/// Names and their numbers. The empty one, which most counts have for a detail, is zero and not kept.
#[derive(Debug, Default)]
struct CountNames {
    numbers: HashMap<Arc<str>, u32, QuickHasher>,
    names: Vec<Arc<str>>,
}

impl CountNames {
    /// The number of a name, which is known from now on.
    fn number(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let name = Arc::<str>::from(name);
        self.names.push(Arc::clone(&name));
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name, number);
        number
    }

    /// The number of a name, if it has one.
    fn known(&self, name: &str) -> Option<u32> {
        if name.is_empty() { Some(0) } else { self.numbers.get(name).copied() }
    }

    fn name(&self, number: u32) -> &str {
        let at = (number as usize).checked_sub(1);
        at.and_then(|at| self.names.get(at)).map_or("", |name| name)
    }
}

impl DailyCounts {
    /// Adds what an event of this day counts for.
    pub(super) fn add(&mut self, day: i64, glance: &BorrowedEvent<'_>) {
        let counts = self.days.entry(day).or_default();
        let names = &mut self.names;
        each(&glance.event, glance.call(), |metric, subject, detail, bucket, total| {
            let short = (metric, names.number(subject), names.number(detail), bucket);
            counts.entry(short).or_default().add(CountSum { n: 1, total });
        });
    }

    /// Adds what others counted.
    pub(super) fn merge(&mut self, other: Self) {
        let names = &mut self.names;
        let here: Vec<u32> = other.names.names.iter().map(|name| names.number(name)).collect();
        let here = |there: u32| {
            let at = (there as usize).checked_sub(1);
            at.and_then(|at| here.get(at)).copied().unwrap_or_default()
        };
        for (day, counts) in other.days {
            let sums = self.days.entry(day).or_default();
            for ((metric, subject, detail, bucket), sum) in counts {
                sums.entry((metric, here(subject), here(detail), bucket)).or_default().add(sum);
            }
        }
    }

    /// The counts of a period, and those of all subjects together on each of its days.
    pub(super) fn of(&self, period: Period) -> (Tally, Vec<(i64, Metric, CountSum)>) {
        let mut shorts: HashMap<ShortKey, CountSum, QuickHasher> = HashMap::default();
        let mut days: HashMap<(i64, Metric), CountSum> = HashMap::new();
        for (day, counts) in self.days.iter().filter(|(day, _)| period.has(**day)) {
            for (short, sum) in counts {
                shorts.entry(*short).or_default().add(*sum);
                days.entry((*day, short.0)).or_default().add(*sum);
            }
        }
        let tally = shorts.into_iter().map(|((metric, subject, detail, bucket), sum)| {
            let [subject, detail] = [subject, detail].map(|name| self.names.name(name).to_owned());
            (CountKey { metric, subject, detail, bucket }, sum)
        });
        (tally.collect(), in_order(days))
    }

    /// The counts of one skill on each day of a period.
    pub(super) fn of_skill(&self, skill: &str, period: Period) -> Vec<(i64, Metric, CountSum)> {
        let Some(skill) = self.names.known(skill) else { return Vec::new() };
        let mut days: HashMap<(i64, Metric), CountSum> = HashMap::new();
        for (day, counts) in self.days.iter().filter(|(day, _)| period.has(**day)) {
            for ((metric, subject, ..), sum) in counts {
                if *subject == skill && is_of_a_skill(*metric) {
                    days.entry((*day, *metric)).or_default().add(*sum);
                }
            }
        }
        in_order(days)
    }

    /// The last day there is anything of.
    pub(super) fn newest(&self) -> Option<i64> {
        self.days.keys().max().copied()
    }
}

fn in_order(days: HashMap<(i64, Metric), CountSum>) -> Vec<(i64, Metric, CountSum)> {
    let mut days: Vec<_> =
        days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    days
}
