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

impl SightingKey {
    pub(super) fn of(call: EventCall<'_>) -> Self {
        let [client, version, commit] = [call.client_name, call.server_version, call.skill_commit]
            .map(|name| name.unwrap_or_default().to_owned());
        Self { server_id: call.server_id.to_owned(), client, version, commit }
    }
}

/// From the first of two spans to the last.
pub(super) fn joined(one: (i64, i64), other: (i64, i64)) -> (i64, i64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Sightings as they are met, one by one.
#[derive(Debug, Default)]
pub(super) struct SightingSpans(BTreeMap<SightingKey, (i64, i64)>);

impl SightingSpans {
    /// A call at this moment.
    pub(super) fn add(&mut self, at: i64, call: EventCall<'_>) {
        let span = self.0.entry(SightingKey::of(call)).or_insert((at, at));
        *span = joined(*span, (at, at));
    }

    /// All of them, in the order of their keys.
    pub(super) fn in_order(self) -> Vec<Sighting> {
        self.0.into_iter().map(|(of, (first, last))| Sighting { of, first, last }).collect()
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
