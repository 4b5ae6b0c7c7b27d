//! What evidence is, said in the plainest way: what tests compare with.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use super::{
    DAY, Evidence, MAX_RECENT_EVENTS, Period, TEXT_KINDS, most_calls_first, sighting, text_kind,
};
use crate::{
    clock,
    event::RecordedEvent,
    tally::{self, CountSum, Metric},
};

impl Evidence {
    /// What evidence is, said in the plainest way, of any events. Archives answer the same, quicker; tests compare.
    pub(crate) fn of(events: impl IntoIterator<Item = RecordedEvent>, period: Period) -> Self {
        let mut evidence = Self::default();
        let mut days: BTreeMap<(i64, Metric), CountSum> = BTreeMap::new();
        let (mut seen, mut recent) = (HashSet::new(), Vec::new());
        let mut clients: BTreeMap<String, u64> = BTreeMap::new();
        let events: Vec<RecordedEvent> = events.into_iter().collect();
        let mut sightings = sighting::SightingSpans::default();
        for recorded in &events {
            if let Some(millis) = clock::millis_of(&recorded.timestamp) {
                sightings.add(millis, recorded.call());
            }
        }
        evidence.sightings = sighting::latest(sightings.in_order(), period);
        for recorded in events {
            let Some(millis) = clock::millis_of(&recorded.timestamp) else { continue };
            let day = millis.div_euclid(DAY);
            if !period.has(day) || !seen.insert(recorded.event_id) {
                continue;
            }
            tally::count(&mut evidence.tally, &recorded);
            *clients
                .entry(recorded.client_name.as_deref().unwrap_or("").to_owned())
                .or_default() += 1;
            tally::each(&recorded.event, recorded.call(), |metric, _, _, _, total| {
                days.entry((day, metric)).or_default().add(CountSum { n: 1, total });
            });
            if let Some(kind) = text_kind(&recorded.event) {
                recent.push((millis, recorded.event_id, kind, recorded));
            }
        }
        recent.sort_by_key(|(millis, id, ..)| Reverse((*millis, *id)));
        let mut room = [MAX_RECENT_EVENTS; TEXT_KINDS.len()];
        for (_, _, kind, recorded) in recent {
            if let Some(room) = room.get_mut(kind).filter(|room| **room > 0) {
                *room -= 1;
                evidence.recent.push(recorded);
            }
        }
        evidence.clients = most_calls_first(clients.into_iter().collect());
        evidence.days = days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
        evidence
    }
}
