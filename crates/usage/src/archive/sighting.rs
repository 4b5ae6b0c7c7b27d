//! [`Sighting`]: with which client, program and commit a server was seen, and when. It says what each server runs now,
//! without a look at its events.
//!
//! Sightings can be merged in any order. They are kept as long as events. Not here: which version is the newest (`report`).

use std::{cmp::Reverse, collections::BTreeMap};

use super::Period;
use crate::event::EventCall;

/// So many are part of [`Evidence`](super::Evidence), the latest.
pub const MAX_SIGHTINGS: usize = 10_000;

/// A server, and something it was seen with. A name that no event has is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sighting {
    /// Which server, what called it, and what it was.
    pub of: SightingKey,
    /// When it was first seen so, in milliseconds since 1970 began.
    pub first: i64,
    /// When it was last seen so.
    pub last: i64,
}

/// What tells two [`Sighting`]s apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SightingKey {
    /// The server's id.
    pub server_id: String,
    /// The client that called it.
    pub client: String,
    /// The version of its program.
    pub version: String,
    /// The commit that a skill came from.
    pub commit: String,
}

impl From<[&str; 4]> for SightingKey {
    /// The names in the order of its fields.
    fn from(names: [&str; 4]) -> Self {
        let [server_id, client, version, commit] = names.map(str::to_owned);
        Self { server_id, client, version, commit }
    }
}

/// What a call's server is seen with: the names of a [`SightingKey`] in their order.
pub(super) fn seen_with(call: EventCall<'_>) -> [&str; 4] {
    let [client, version, commit] =
        [call.client_name, call.server_version, call.skill_commit].map(Option::unwrap_or_default);
    [call.server_id, client, version, commit]
}

/// From the first of two spans to the last.
pub(super) fn joined(one: (i64, i64), other: (i64, i64)) -> (i64, i64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Sightings as they are met, one by one; names are copied at the end.
#[derive(Debug, Default)]
pub(super) struct SightingSpans<'a>(BTreeMap<[&'a str; 4], (i64, i64)>);

impl<'a> SightingSpans<'a> {
    /// A call at this moment.
    pub(super) fn add(&mut self, at: i64, call: EventCall<'a>) {
        let span = self.0.entry(seen_with(call)).or_insert((at, at));
        *span = joined(*span, (at, at));
    }

    /// All of them, in the order of their keys.
    pub(super) fn in_order(self) -> Vec<Sighting> {
        let own =
            |(names, (first, last)): ([&str; 4], _)| Sighting { of: names.into(), first, last };
        self.0.into_iter().map(own).collect()
    }
}

/// Those that reach into a period, the latest first, as many as evidence has.
pub(super) fn latest(mut sightings: Vec<Sighting>, period: Period) -> Vec<Sighting> {
    let (from, to) = period.millis();
    sightings.retain(|sighting| sighting.last >= from && sighting.first < to);
    sightings.sort_unstable_by(|a, b| (Reverse(a.last), &a.of).cmp(&(Reverse(b.last), &b.of)));
    sightings.truncate(MAX_SIGHTINGS);
    sightings
}
