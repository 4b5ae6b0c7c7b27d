//! What evidence is, said in the plainest way: what tests compare with.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use super::{DAY, Evidence, PILES, Period, RECENT, pile};
use crate::{
    clock,
    event::Recorded,
    tally::{self, Metric, Sum},
};

impl Evidence {
    /// What evidence is, said in the plainest way, of any events. Archives answer the same, quicker; tests compare.
    pub(crate) fn of(events: impl IntoIterator<Item = Recorded>, period: Period) -> Self {
        let mut evidence = Self::default();
        let mut days: BTreeMap<(i64, Metric), Sum> = BTreeMap::new();
        let (mut seen, mut recent) = (HashSet::new(), Vec::new());
        for recorded in events {
            let Some(millis) = clock::millis_of(&recorded.timestamp) else { continue };
            let day = millis.div_euclid(DAY);
            if !period.has(day) || !seen.insert(recorded.event_id) {
                continue;
            }
            tally::count(&mut evidence.tally, &recorded);
            tally::each(&recorded.event, recorded.call(), |metric, _, _, _, total| {
                days.entry((day, metric)).or_default().add(Sum { n: 1, total });
            });
            if let Some(pile) = pile(&recorded.event) {
                recent.push((millis, recorded.event_id, pile, recorded));
            }
        }
        recent.sort_by_key(|(millis, id, ..)| Reverse((*millis, *id)));
        let mut room = [RECENT; PILES.len()];
        for (_, _, pile, recorded) in recent {
            if let Some(room) = room.get_mut(pile).filter(|room| **room > 0) {
                *room -= 1;
                evidence.recent.push(recorded);
            }
        }
        evidence.days = days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
        evidence
    }
}
