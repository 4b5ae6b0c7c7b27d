//! Counts of many days and clients, and sightings, in little memory: each name is kept once, a count is a few numbers.

use std::{collections::HashMap, sync::Arc};

use super::{
    super::{
        Period, Sighting, is_of_a_skill, most_calls_first,
        sighting::{joined, latest, seen_with},
    },
    QuickHasher,
    chunk::day,
};
use crate::{
    event::BorrowedEvent,
    tally::{CountKey, CountSum, Metric, Tally, each},
};

/// A [`CountKey`] whose names are numbers.
type ShortKey = (Metric, u32, u32, u16);

/// What a server is [seen with](seen_with), whose names are numbers.
type ShortSighting = [u32; 4];

/// Counts by day and client, whose name is a number.
#[derive(Debug, Default)]
pub(super) struct DailyCounts {
    names: CountNames,
    days: HashMap<(i64, u32), HashMap<ShortKey, CountSum, QuickHasher>, QuickHasher>,
    sightings: HashMap<ShortSighting, (i64, i64), QuickHasher>,
    /// What the event before had: the next mostly has the same, and its names need not be looked up.
    before: ShortSighting,
}

/// How often and how much on each day: day, metric, sum.
type DaySums = Vec<(i64, Metric, CountSum)>;

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
    /// Adds what an event of this moment counts for.
    pub(super) fn add(&mut self, millis: i64, glance: &BorrowedEvent<'_>) {
        let names = &mut self.names;
        let call = glance.call();
        let sighting = &mut self.before;
        for (number, name) in sighting.iter_mut().zip(seen_with(call)) {
            if names.name(*number) != name {
                *number = names.number(name);
            }
        }
        let [_, client, ..] = *sighting;
        let span = self.sightings.entry(*sighting).or_insert((millis, millis));
        *span = joined(*span, (millis, millis));
        let counts = self.days.entry((day(millis), client)).or_default();
        each(&glance.event, call, |metric, subject, detail, bucket, total| {
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
        for (short, span) in other.sightings {
            let known = self.sightings.entry(short.map(here)).or_insert(span);
            *known = joined(*known, span);
        }
        for ((day, client), counts) in other.days {
            let sums = self.days.entry((day, here(client))).or_default();
            for ((metric, subject, detail, bucket), sum) in counts {
                sums.entry((metric, here(subject), here(detail), bucket)).or_default().add(sum);
            }
        }
    }

    /// The counts of each day of a period, of all clients or of one.
    fn within<'a>(
        &'a self,
        period: Period,
        client: Option<&str>,
    ) -> impl Iterator<Item = (i64, &'a HashMap<ShortKey, CountSum, QuickHasher>)> {
        // A client that no event names has no number, and no counts.
        let wanted = client.map(|client| self.names.known(client));
        let days = self.days.iter().filter(move |((day, client), _)| {
            period.has(*day) && wanted.is_none_or(|wanted| wanted == Some(*client))
        });
        days.map(|((day, _), counts)| (*day, counts))
    }

    /// The counts of a period, and those of all subjects together on each of its days.
    pub(super) fn of(&self, period: Period, client: Option<&str>) -> (Tally, DaySums) {
        let mut shorts: HashMap<ShortKey, CountSum, QuickHasher> = HashMap::default();
        let mut days: HashMap<(i64, Metric), CountSum> = HashMap::new();
        for (day, counts) in self.within(period, client) {
            for (short, sum) in counts {
                shorts.entry(*short).or_default().add(*sum);
                days.entry((day, short.0)).or_default().add(*sum);
            }
        }
        let tally = shorts.into_iter().map(|((metric, subject, detail, bucket), sum)| {
            let [subject, detail] = [subject, detail].map(|name| self.names.name(name).to_owned());
            (CountKey { metric, subject, detail, bucket }, sum)
        });
        (tally.collect(), in_order(days))
    }

    /// The counts of one skill on each day of a period.
    pub(super) fn of_skill(&self, skill: &str, period: Period, client: Option<&str>) -> DaySums {
        let Some(skill) = self.names.known(skill) else { return Vec::new() };
        let mut days: HashMap<(i64, Metric), CountSum> = HashMap::new();
        for (day, counts) in self.within(period, client) {
            for ((metric, subject, ..), sum) in counts {
                if *subject == skill && is_of_a_skill(*metric) {
                    days.entry((day, *metric)).or_default().add(*sum);
                }
            }
        }
        in_order(days)
    }

    /// The clients that called in a period and how often.
    pub(super) fn clients(&self, period: Period) -> Vec<(String, u64)> {
        let mut calls: HashMap<u32, u64> = HashMap::new();
        for ((_, client), counts) in self.days.iter().filter(|((day, _), _)| period.has(*day)) {
            let events = counts.iter().filter(|((metric, ..), _)| *metric == Metric::Event);
            *calls.entry(*client).or_default() += events.map(|(_, sum)| sum.n).sum::<u64>();
        }
        let named = calls.into_iter().map(|(client, n)| (self.names.name(client).to_owned(), n));
        most_calls_first(named.collect())
    }

    /// With what servers were seen in a period, with all clients or one.
    pub(super) fn sightings(&self, period: Period, client: Option<&str>) -> Vec<Sighting> {
        let wanted = client.map(|client| self.names.known(client));
        let seen = self
            .sightings
            .iter()
            .filter(|([_, client, ..], _)| wanted.is_none_or(|wanted| wanted == Some(*client)));
        let named = seen.map(|(short, (first, last))| {
            let of = short.map(|name| self.names.name(name)).into();
            Sighting { of, first: *first, last: *last }
        });
        latest(named.collect(), period)
    }

    /// The last day there is anything of.
    pub(super) fn newest(&self) -> Option<i64> {
        self.days.keys().map(|(day, _)| *day).max()
    }
}

fn in_order(days: HashMap<(i64, Metric), CountSum>) -> DaySums {
    let mut days: Vec<_> =
        days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    days
}
