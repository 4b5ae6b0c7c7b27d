//! Counts of many days in little memory: each name is kept once, a count is a few numbers.

use std::{collections::HashMap, sync::Arc};

use super::super::{Period, is_of_a_skill};
use crate::{
    analytics::tally::{Key, Metric, Sum, Tally, each},
    event::Recorded,
};

/// A [`Key`] whose names are numbers.
type Short = (Metric, u32, u32, u16);

/// Counts by day.
#[derive(Debug, Default)]
pub(super) struct Counts {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    days: HashMap<i64, HashMap<Short, Sum>>,
}

impl Counts {
    /// Adds what an event of this day counts for.
    pub(super) fn add(&mut self, day: i64, recorded: &Recorded) {
        let counts = self.days.entry(day).or_default();
        let (numbers, names) = (&mut self.numbers, &mut self.names);
        each(recorded, |metric, subject, detail, bucket, total| {
            let short =
                (metric, number(numbers, names, subject), number(numbers, names, detail), bucket);
            counts.entry(short).or_default().add(Sum { n: 1, total });
        });
    }

    /// Adds what others counted.
    pub(super) fn merge(&mut self, other: Self) {
        let (numbers, names) = (&mut self.numbers, &mut self.names);
        let here: Vec<u32> = other.names.iter().map(|name| number(numbers, names, name)).collect();
        let here = |there: u32| here.get(there as usize).copied().unwrap_or_default();
        for (day, counts) in other.days {
            let sums = self.days.entry(day).or_default();
            for ((metric, subject, detail, bucket), sum) in counts {
                sums.entry((metric, here(subject), here(detail), bucket)).or_default().add(sum);
            }
        }
    }

    /// The counts of a period, and those of all subjects together on each of its days.
    pub(super) fn of(&self, period: Period) -> (Tally, Vec<(i64, Metric, Sum)>) {
        let mut shorts: HashMap<Short, Sum> = HashMap::new();
        let mut days: HashMap<(i64, Metric), Sum> = HashMap::new();
        for (day, counts) in self.days.iter().filter(|(day, _)| period.has(**day)) {
            for (short, sum) in counts {
                shorts.entry(*short).or_default().add(*sum);
                days.entry((*day, short.0)).or_default().add(*sum);
            }
        }
        let tally = shorts.into_iter().map(|((metric, subject, detail, bucket), sum)| {
            (Key { metric, subject: self.name(subject), detail: self.name(detail), bucket }, sum)
        });
        (tally.collect(), in_order(days))
    }

    /// The counts of one skill on each day of a period.
    pub(super) fn of_skill(&self, skill: &str, period: Period) -> Vec<(i64, Metric, Sum)> {
        let Some(skill) = self.numbers.get(skill) else { return Vec::new() };
        let mut days: HashMap<(i64, Metric), Sum> = HashMap::new();
        for (day, counts) in self.days.iter().filter(|(day, _)| period.has(**day)) {
            for ((metric, subject, ..), sum) in counts {
                if subject == skill && is_of_a_skill(*metric) {
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

    fn name(&self, number: u32) -> String {
        self.names.get(number as usize).map(|name| (**name).to_owned()).unwrap_or_default()
    }
}

fn number(numbers: &mut HashMap<Arc<str>, u32>, names: &mut Vec<Arc<str>>, name: &str) -> u32 {
    if let Some(known) = numbers.get(name) {
        return *known;
    }
    let (number, name) = (u32::try_from(names.len()).unwrap_or(u32::MAX), Arc::<str>::from(name));
    names.push(Arc::clone(&name));
    numbers.insert(name, number);
    number
}

fn in_order(days: HashMap<(i64, Metric), Sum>) -> Vec<(i64, Metric, Sum)> {
    let mut days: Vec<_> =
        days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    days
}
