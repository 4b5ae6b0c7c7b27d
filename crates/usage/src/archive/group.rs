//! Events that were brought → rows and counts, for any database.
//!
//! Batches that wait at the same time are written together. Rows are in the order of their numbers and counts in that of
//! their keys, so that two collectors on one database lock them in the same order and never wait for each other in a
//! circle. Only what was really new is counted.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::{
    ArchiveError, DAY, Keep, Sighting, Taken, limits, sighting::SightingSpans, text_kind_name,
};
use crate::{
    clock,
    event::RecordedEvent,
    tally::{CountKey, CountSum, Tally, count},
};

/// So many events are written together at most, give or take a batch.
const MAX_GROUP_EVENTS: usize = 10_000;
/// So many batches wait for the one that is written.
pub(super) const MAX_WAITING_BATCHES: usize = 64;

/// An event, as a database keeps it.
#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) id: Uuid,
    pub(super) at: i64,
    pub(super) received: i64,
    pub(super) pile: &'static str,
    pub(super) recorded: RecordedEvent,
    pub(super) body: String,
    /// Whose batch it came in.
    owner: usize,
}

/// The events of one request.
#[derive(Debug)]
pub(super) struct IncomingBatch {
    rows: Vec<EventRow>,
    expired: u64,
}

impl IncomingBatch {
    /// Makes rows of events. A clock that is ahead does not put events into the future: they are of the moment they
    /// came, as are those whose time cannot be read.
    pub(super) fn of(events: Vec<RecordedEvent>, received: i64, keep: Keep) -> Self {
        let oldest = keep.events_from(received);
        let brought = events.len();
        let rows = events.into_iter().filter_map(|recorded| row(recorded, received, oldest));
        let rows: Vec<EventRow> = rows.collect();
        let expired = (brought - rows.len()) as u64;
        Self { rows, expired }
    }
}

fn row(mut recorded: RecordedEvent, received: i64, oldest: i64) -> Option<EventRow> {
    let at = match clock::millis_of(&recorded.timestamp) {
        Some(at) if at <= received => at,
        _ => {
            let since_epoch = u64::try_from(received).unwrap_or_default();
            recorded.timestamp = clock::timestamp_of(std::time::Duration::from_millis(since_epoch));
            received
        }
    };
    if at < oldest {
        return None;
    }
    limits::cut(&mut recorded);
    let body = serde_json::to_string(&recorded).ok()?;
    let (id, pile) = (recorded.event_id, text_kind_name(&recorded.event));
    Some(EventRow { id, at, received, pile, recorded, body, owner: 0 })
}

/// Where the answer goes.
pub(super) type TakenReply<T> = oneshot::Sender<Result<T, ArchiveError>>;

/// Batches that are written together.
#[derive(Debug)]
pub(super) struct WriteGroup {
    /// In the order of their numbers, each number once.
    pub(super) rows: Vec<EventRow>,
    /// Of each batch, how many rows it brought and how many it lost to age.
    sizes: Vec<(u64, u64)>,
}

impl WriteGroup {
    /// Puts batches together. Of two rows with the same number the first is kept.
    pub(super) fn of(batches: Vec<IncomingBatch>) -> Self {
        let mut sizes = Vec::with_capacity(batches.len());
        let mut rows = Vec::new();
        for (owner, batch) in batches.into_iter().enumerate() {
            sizes.push((batch.rows.len() as u64, batch.expired));
            rows.extend(batch.rows.into_iter().map(|row| EventRow { owner, ..row }));
        }
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        Self { rows, sizes }
    }

    /// This batch and those that wait behind it, as far as there are any, with who waits for them.
    pub(super) fn gathered(
        first: (IncomingBatch, TakenReply<Taken>),
        mut next: impl FnMut() -> Option<(IncomingBatch, TakenReply<Taken>)>,
    ) -> (Self, Vec<TakenReply<Taken>>) {
        let mut events = first.0.rows.len();
        let (mut batches, mut answers) = (vec![first.0], vec![first.1]);
        while events < MAX_GROUP_EVENTS
            && let Some((batch, answer)) = next()
        {
            events += batch.rows.len();
            batches.push(batch);
            answers.push(answer);
        }
        (Self::of(batches), answers)
    }

    /// What the rows that were new, by their places, count for.
    pub(super) fn counts(&self, new: &[bool]) -> Vec<Count> {
        let unnamed: Arc<str> = "".into();
        let mut tallies: HashMap<(i64, &Arc<str>), Tally> = HashMap::new();
        for row in self.new_rows(new) {
            let client = row.recorded.client_name.as_ref().unwrap_or(&unnamed);
            count(tallies.entry((row.at.div_euclid(DAY), client)).or_default(), &row.recorded);
        }
        let counts = tallies.into_iter().flat_map(|((day, client), tally)| {
            let count = move |(key, sum)| Count { day, key, client: Arc::clone(client), sum };
            tally.into_iter().map(count)
        });
        let mut counts: Vec<Count> = counts.collect();
        counts.sort_unstable_by(|a, b| a.place().cmp(&b.place()));
        counts
    }

    /// With what the servers of the rows that were new were seen, in the order of their keys.
    pub(super) fn sightings(&self, new: &[bool]) -> Vec<Sighting> {
        let mut spans = SightingSpans::default();
        self.new_rows(new).for_each(|row| spans.add(row.at, row.recorded.call()));
        spans.in_order()
    }

    /// What became of each batch.
    pub(super) fn taken(&self, new: &[bool]) -> Vec<Taken> {
        let mut taken: BTreeMap<usize, Taken> = BTreeMap::new();
        for (owner, (brought, expired)) in self.sizes.iter().enumerate() {
            taken.insert(owner, Taken { new: 0, known: *brought, expired: *expired });
        }
        for row in self.new_rows(new) {
            if let Some(taken) = taken.get_mut(&row.owner) {
                taken.new += 1;
                taken.known -= 1;
            }
        }
        taken.into_values().collect()
    }

    fn new_rows(&self, new: &[bool]) -> impl Iterator<Item = &EventRow> {
        self.rows.iter().zip(new).filter(|(_, new)| **new).map(|(row, _)| row)
    }
}

/// Tells everybody who waits what became of their batch.
pub(super) fn answer(answers: Vec<TakenReply<Taken>>, result: Result<Vec<Taken>, ArchiveError>) {
    match result {
        Ok(taken) => {
            for (answer, taken) in answers.into_iter().zip(taken) {
                let _ = answer.send(Ok(taken));
            }
        }
        Err(error) => {
            for answer in answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

/// What is added to one count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) day: i64,
    pub(super) key: CountKey,
    /// Of which client; empty where it did not say its name.
    pub(super) client: Arc<str>,
    pub(super) sum: CountSum,
}

impl Count {
    /// Where it stands in the order of all.
    fn place(&self) -> (i64, &CountKey, &str) {
        (self.day, &self.key, &self.client)
    }
}

/// As databases keep numbers.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// As databases kept it.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_771_425_000_000; // 2026-02-18T14:30:00Z

    fn event(id: u128, timestamp: &str) -> RecordedEvent {
        let text = format!(
            r#"{{"type":"refresh","timestamp":"{timestamp}","event_id":"{}","data":{{}}}}"#,
            Uuid::from_u128(id)
        );
        RecordedEvent::read(&text).unwrap()
    }

    #[test]
    fn a_clock_ahead_is_set_right_and_what_is_too_old_is_left_out() {
        let events = vec![
            event(1, "2026-02-18T14:29:59.500Z"),
            event(2, "2099-01-01T00:00:00Z"),
            event(3, "2025-01-01T00:00:00Z"),
            event(4, "yesterday"),
        ];
        let batch = IncomingBatch::of(events, NOW, Keep { events: 90, counts: 1 });
        let at: Vec<(u128, i64, &str)> = batch
            .rows
            .iter()
            .map(|row| (row.id.as_u128(), NOW - row.at, &*row.recorded.timestamp))
            .collect();
        assert_eq!(
            at,
            [
                (1, 500, "2026-02-18T14:29:59.500Z"),
                (2, 0, "2026-02-18T14:30:00.000Z"),
                (4, 0, "2026-02-18T14:30:00.000Z")
            ]
        );
        assert_eq!(batch.expired, 1);
    }

    #[test]
    fn an_event_id_that_comes_twice_is_one_event_of_its_first_sender() {
        let batch = |ids: &[u128]| {
            let events = ids.iter().map(|id| event(*id, "2026-02-18T00:00:00Z")).collect();
            IncomingBatch::of(events, NOW, Keep::default())
        };
        let group = WriteGroup::of(vec![batch(&[5, 3, 5]), batch(&[3, 4])]);
        let ids: Vec<u128> = group.rows.iter().map(|row| row.id.as_u128()).collect();
        assert_eq!(ids, [3, 4, 5]);
        let taken = group.taken(&[true, true, false]);
        let brief = |taken: &Taken| (taken.new, taken.known, taken.expired);
        assert_eq!(taken.iter().map(brief).collect::<Vec<_>>(), [(1, 2, 0), (1, 1, 0)]);
        let counts = group.counts(&[true, true, false]);
        assert_eq!(counts.iter().map(|count| count.sum.n).collect::<Vec<_>>(), [2, 2]);
        assert!(counts.is_sorted_by_key(|count| (count.day, count.key.clone())));
    }
}
