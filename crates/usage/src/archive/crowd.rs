//! How many different counts there are at most: whoever may send events can make names up, and every one would be a
//! row for two years and a line of every report.
//!
//! A metric has so many of a day, and a report so many of a period; the rest are counted together, under [`OTHERS`].
//! Sums stay whole. Collectors on one database count their rows each for itself, now and then, so a day may have
//! somewhat more.

use std::collections::{BTreeMap, HashMap};

use super::group::Count;
use crate::tally::{Key, Metric, Sum, Tally};

/// A metric has so many different counts of one day, and of one period.
pub(super) const MOST: usize = 10_000;
/// Whoever found that much room does not look again before it is used up: others write, too.
const GRANT: usize = 1_000;
/// Days and metrics whose room is remembered.
const REMEMBERED: usize = 10_000;
/// What stands for all that there is no room for.
const OTHERS: &str = "(others)";

/// How many counts can be new before somebody must look how many there are.
#[derive(Debug, Default)]
pub(super) struct Crowd(HashMap<(i64, Metric), usize>);

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

impl Crowd {
    /// Whether there is room for a part, as far as is known; then it is taken.
    pub(super) fn has_room(&mut self, part: &[Count]) -> bool {
        let Some(room) = of(part).and_then(|of| self.0.get_mut(&of)) else { return false };
        let left = room.checked_sub(part.len());
        *room = left.unwrap_or(*room);
        left.is_some()
    }

    /// So many rows are there: how many more may come, where that is less than the part has.
    pub(super) fn found(&mut self, part: &[Count], rows: usize) -> Option<usize> {
        let of = of(part)?;
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        let free = MOST.saturating_sub(rows);
        let left = free.checked_sub(part.len());
        self.0.insert(of, left.unwrap_or(0).min(GRANT));
        if left.is_some() { None } else { Some(free) }
    }
}

/// A part that has no room: what is known stays, so much of the rest too, all others are one. In order again.
pub(super) fn folded(part: Vec<Count>, known: &[bool], mut free: usize) -> Vec<Count> {
    let day = part.first().map_or(0, |count| count.day);
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    for (place, Count { key, sum, .. }) in part.into_iter().enumerate() {
        let known = known.get(place).copied().unwrap_or(false);
        let key = if known || free > 0 { key } else { others(&key) };
        if !known {
            free = free.saturating_sub(1);
        }
        sums.entry(key).or_default().add(sum);
    }
    sums.into_iter().map(|(key, sum)| Count { day, key, sum }).collect()
}

/// How long things took is kept: there are few answers to that.
fn others(key: &Key) -> Key {
    let (subject, detail) = (OTHERS.to_owned(), String::new());
    Key { metric: key.metric, subject, detail, bucket: key.bucket }
}

/// The largest counts of each metric, of any number that each come once.
#[derive(Debug, Default)]
pub(super) struct Largest {
    kept: HashMap<Metric, Vec<(Key, Sum)>>,
    others: Tally,
}

impl Largest {
    pub(super) fn add(&mut self, key: Key, sum: Sum) {
        if key.subject == OTHERS {
            self.others.entry(others(&key)).or_default().add(sum);
            return;
        }
        let kept = self.kept.entry(key.metric).or_default();
        kept.push((key, sum));
        if kept.len() >= 2 * MOST {
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
fn fold(kept: &mut Vec<(Key, Sum)>, rest: &mut Tally) {
    if kept.len() <= MOST {
        return;
    }
    kept.select_nth_unstable_by(MOST, |(one, a), (other, b)| {
        b.n.cmp(&a.n).then_with(|| one.cmp(other))
    });
    for (key, sum) in kept.drain(MOST..) {
        rest.entry(others(&key)).or_default().add(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(subject: usize) -> Key {
        let (subject, detail) = (format!("s{subject:06}"), String::new());
        Key { metric: Metric::Shown, subject, detail, bucket: 0 }
    }

    fn part(names: std::ops::Range<usize>) -> Vec<Count> {
        names.map(|name| Count { day: 1, key: key(name), sum: Sum { n: 1, total: 2 } }).collect()
    }

    #[test]
    fn room_is_granted_little_by_little_and_what_is_known_needs_none() {
        let mut crowd = Crowd::default();
        assert!(!crowd.has_room(&part(0..1)), "nobody has looked");
        assert_eq!(crowd.found(&part(0..10), 0), None);
        assert!(crowd.has_room(&part(0..GRANT)));
        assert!(!crowd.has_room(&part(0..1)), "used up");
        assert_eq!(crowd.found(&part(0..10), MOST - 9), Some(9));
        assert_eq!(crowd.found(&part(0..10), 2 * MOST), Some(0));
        let known: Vec<bool> = (0..10).map(|place| place >= 8).collect();
        let folded = folded(part(0..10), &known, 3);
        let subjects: Vec<&str> = folded.iter().map(|count| &*count.key.subject).collect();
        assert_eq!(subjects, [OTHERS, "s000000", "s000001", "s000002", "s000008", "s000009"]);
        assert_eq!(folded.first().unwrap().sum, Sum { n: 5, total: 10 });
    }

    #[test]
    fn the_largest_stay_and_the_sum_is_that_of_all() {
        let mut largest = Largest::default();
        for name in 0..3 * MOST + 5 {
            largest.add(key(name), Sum { n: name as u64, total: 1 });
        }
        let tally = largest.tally();
        assert_eq!(tally.len(), MOST + 1);
        assert!(tally.contains_key(&key(3 * MOST + 4)) && tally.contains_key(&key(2 * MOST + 5)));
        assert!(!tally.contains_key(&key(2 * MOST + 4)));
        assert_eq!(tally.values().map(|sum| sum.total).sum::<u64>(), 3 * MOST as u64 + 5);
    }
}
