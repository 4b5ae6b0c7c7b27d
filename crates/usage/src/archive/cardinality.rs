//! [`CardinalityLimit`]: a client that sends events can make names up, and every one would be a
//! row for two years and a line of every report.
//!
//! A metric has so many of a day, and a report so many of a period; the rest are counted together, under [`OTHERS`].
//! So are the clients of a day beyond [`MAX_DAY_CLIENTS`]: each would multiply the counts of a day.
//! Sums stay whole. Collectors on one database count their rows each for itself, now and then, so a day may have
//! somewhat more.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::group::Count;
use crate::tally::{CountKey, CountSum, Metric, Tally};

/// A metric has so many different counts of one day, and of one period.
pub(super) const MAX_COUNTS: usize = 10_000;
/// So many new counts are added before the rows are counted again: other collectors write, too.
const MAX_UNCHECKED_COUNTS: usize = 1_000;
/// So many clients of a day have counts of their own.
const MAX_DAY_CLIENTS: usize = 100;
/// The clients of so many days are remembered.
const MAX_REMEMBERED_DAYS: usize = 400;
/// Days and metrics.
const MAX_REMEMBERED: usize = 10_000;
/// The name that stands for all beyond the limit.
pub(crate) const OTHERS: &str = "(others)";

/// How many counts of a day and metric may be new before the rows are counted.
#[derive(Debug, Default)]
pub(super) struct CardinalityLimit(HashMap<(i64, Metric), usize>);

/// Counts in order → those of each day and metric.
pub(super) fn parts(counts: Vec<Count>) -> Vec<Vec<Count>> {
    let mut parts: Vec<Vec<Count>> = Vec::new();
    for count in counts {
        match parts.last_mut() {
            Some(part) if of(part) == Some((count.day, count.key.metric)) => part.push(count),
            _ => parts.push(vec![count]),
        }
    }
    parts
}

fn of(part: &[Count]) -> Option<(i64, Metric)> {
    part.first().map(|count| (count.day, count.key.metric))
}

impl CardinalityLimit {
    /// Whether a part fits, as far as is known; then it is counted as added.
    pub(super) fn has_room(&mut self, part: &[Count]) -> bool {
        let Some(room) = of(part).and_then(|of| self.0.get_mut(&of)) else { return false };
        let left = room.checked_sub(part.len());
        *room = left.unwrap_or(*room);
        left.is_some()
    }

    /// So many rows are there: how many more may come, where that is less than the part has.
    pub(super) fn found(&mut self, part: &[Count], rows: usize) -> Option<usize> {
        let of = of(part)?;
        if self.0.len() >= MAX_REMEMBERED {
            self.0.clear();
        }
        let free = MAX_COUNTS.saturating_sub(rows);
        let left = free.checked_sub(part.len());
        self.0.insert(of, left.unwrap_or(0).min(MAX_UNCHECKED_COUNTS));
        if left.is_some() { None } else { Some(free) }
    }
}

/// A part that does not fit: what is known stays, so much of the rest too, all others are one. In order again.
pub(super) fn folded(part: Vec<Count>, known: &[bool], mut free: usize) -> Vec<Count> {
    let day = part.first().map_or(0, |count| count.day);
    let mut sums: BTreeMap<(CountKey, Arc<str>), CountSum> = BTreeMap::new();
    for (place, Count { key, client, sum, .. }) in part.into_iter().enumerate() {
        let known = known.get(place).copied().unwrap_or(false);
        let key = if known || free > 0 { key } else { others(&key) };
        if !known {
            free = free.saturating_sub(1);
        }
        sums.entry((key, client)).or_default().add(sum);
    }
    sums.into_iter().map(|((key, client), sum)| Count { day, key, client, sum }).collect()
}

/// The clients that have counts of their own, by day, as far as is known.
#[derive(Debug, Default)]
pub(super) struct ClientLimit(HashMap<i64, HashSet<Arc<str>>>);

impl ClientLimit {
    /// The days of these counts whose clients are not all known: for each, the database is asked.
    pub(super) fn unknown_days(&self, counts: &[Count]) -> Vec<i64> {
        let unknown = counts.iter().filter(|count| !self.knows(count)).map(|count| count.day);
        let mut days: Vec<i64> = unknown.collect();
        days.dedup();
        days
    }

    fn knows(&self, count: &Count) -> bool {
        count.client.is_empty()
            || self.0.get(&count.day).is_some_and(|known| known.contains(&count.client))
    }

    /// These are the clients of a day.
    pub(super) fn found(&mut self, day: i64, clients: impl IntoIterator<Item = String>) {
        if self.0.len() >= MAX_REMEMBERED_DAYS {
            self.0.clear();
        }
        let named = clients.into_iter().filter(|client| !client.is_empty()).map(Arc::from);
        self.0.entry(day).or_default().extend(named);
    }

    /// Counts in order, those of clients beyond the limit under [`OTHERS`]. In order again.
    pub(super) fn fitted(&mut self, counts: Vec<Count>) -> Vec<Count> {
        let others: Arc<str> = OTHERS.into();
        let (mut fitting, mut is_cut) = (Vec::with_capacity(counts.len()), false);
        for mut count in counts {
            let known = self.0.entry(count.day).or_default();
            if !count.client.is_empty() && !known.contains(&count.client) {
                if known.len() < MAX_DAY_CLIENTS {
                    known.insert(Arc::clone(&count.client));
                } else {
                    count.client = Arc::clone(&others);
                    is_cut = true;
                }
            }
            fitting.push(count);
        }
        if !is_cut {
            return fitting;
        }
        let mut sums: BTreeMap<(i64, CountKey, Arc<str>), CountSum> = BTreeMap::new();
        for Count { day, key, client, sum } in fitting {
            sums.entry((day, key, client)).or_default().add(sum);
        }
        let counts = sums.into_iter();
        counts.map(|((day, key, client), sum)| Count { day, key, client, sum }).collect()
    }
}

/// How long things took is kept: there are few answers to that.
fn others(key: &CountKey) -> CountKey {
    let (subject, detail) = (OTHERS.to_owned(), String::new());
    CountKey { metric: key.metric, subject, detail, bucket: key.bucket }
}

/// The largest counts of each metric, of any number that each come once.
#[derive(Debug, Default)]
pub(super) struct LargestCounts {
    kept: HashMap<Metric, Vec<(CountKey, CountSum)>>,
    others: Tally,
}

impl LargestCounts {
    pub(super) fn add(&mut self, key: CountKey, sum: CountSum) {
        if key.subject == OTHERS {
            self.others.entry(others(&key)).or_default().add(sum);
            return;
        }
        let kept = self.kept.entry(key.metric).or_default();
        kept.push((key, sum));
        if kept.len() >= 2 * MAX_COUNTS {
            fold(kept, &mut self.others);
        }
    }

    pub(super) fn tally(mut self) -> Tally {
        let mut tally = Tally::new();
        for mut kept in self.kept.into_values() {
            fold(&mut kept, &mut self.others);
            tally.extend(kept);
        }
        tally.extend(self.others);
        tally
    }
}

/// Leaves the largest; of two that are equal, the one that comes first by its name.
fn fold(kept: &mut Vec<(CountKey, CountSum)>, rest: &mut Tally) {
    if kept.len() <= MAX_COUNTS {
        return;
    }
    kept.select_nth_unstable_by(MAX_COUNTS, |(one, a), (other, b)| {
        b.n.cmp(&a.n).then_with(|| one.cmp(other))
    });
    for (key, sum) in kept.drain(MAX_COUNTS..) {
        rest.entry(others(&key)).or_default().add(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(subject: usize) -> CountKey {
        let (subject, detail) = (format!("s{subject:06}"), String::new());
        CountKey { metric: Metric::Shown, subject, detail, bucket: 0 }
    }

    fn part(names: std::ops::Range<usize>) -> Vec<Count> {
        names.map(|name| of_client(name, "")).collect()
    }

    fn of_client(name: usize, client: &str) -> Count {
        Count { day: 1, key: key(name), client: client.into(), sum: CountSum { n: 1, total: 2 } }
    }

    #[test]
    fn clients_beyond_the_limit_of_a_day_are_counted_together_and_those_known_stay() {
        let mut clients = ClientLimit::default();
        let mut counts: Vec<Count> = ["ann", "", "bob"].map(|name| of_client(0, name)).into();
        assert_eq!(clients.unknown_days(&counts), [1]);
        clients.found(1, (0..MAX_DAY_CLIENTS - 1).map(|number| format!("known-{number}")));
        counts.extend(["cid", "known-7"].map(|name| of_client(1, name)));
        let fitted = clients.fitted(counts);
        let names: Vec<(&str, &str, u64)> =
            fitted.iter().map(|count| (&*count.key.subject, &*count.client, count.sum.n)).collect();
        assert_eq!(
            names,
            [
                ("s000000", "", 1),
                ("s000000", OTHERS, 1),
                ("s000000", "ann", 1),
                ("s000001", OTHERS, 1),
                ("s000001", "known-7", 1)
            ]
        );
        assert!(clients.unknown_days(&[of_client(2, "ann"), of_client(2, "")]).is_empty());
    }

    #[test]
    fn room_is_granted_little_by_little_and_what_is_known_needs_none() {
        let mut cardinality = CardinalityLimit::default();
        assert!(!cardinality.has_room(&part(0..1)), "the rows were never counted");
        assert_eq!(cardinality.found(&part(0..10), 0), None);
        assert!(cardinality.has_room(&part(0..MAX_UNCHECKED_COUNTS)));
        assert!(!cardinality.has_room(&part(0..1)), "used up");
        assert_eq!(cardinality.found(&part(0..10), MAX_COUNTS - 9), Some(9));
        assert_eq!(cardinality.found(&part(0..10), 2 * MAX_COUNTS), Some(0));
        let known: Vec<bool> = (0..10).map(|place| place >= 8).collect();
        let folded = folded(part(0..10), &known, 3);
        let subjects: Vec<&str> = folded.iter().map(|count| &*count.key.subject).collect();
        assert_eq!(subjects, [OTHERS, "s000000", "s000001", "s000002", "s000008", "s000009"]);
        assert_eq!(folded.first().unwrap().sum, CountSum { n: 5, total: 10 });
    }

    #[test]
    fn the_largest_stay_and_the_sum_is_that_of_all() {
        let mut largest = LargestCounts::default();
        for name in 0..3 * MAX_COUNTS + 5 {
            largest.add(key(name), CountSum { n: name as u64, total: 1 });
        }
        let tally = largest.tally();
        assert_eq!(tally.len(), MAX_COUNTS + 1);
        assert!(
            tally.contains_key(&key(3 * MAX_COUNTS + 4))
                && tally.contains_key(&key(2 * MAX_COUNTS + 5))
        );
        assert!(!tally.contains_key(&key(2 * MAX_COUNTS + 4)));
        assert_eq!(tally.values().map(|sum| sum.total).sum::<u64>(), 3 * MAX_COUNTS as u64 + 5);
    }
}
