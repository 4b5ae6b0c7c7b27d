//! [`ServerUse`], one row for every server: what it runs, who calls it, and whether others run something newer.
//!
//! A version has an order of its own. A commit has none that events know: the one that was first seen last is the newest.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    archive::{Evidence, Sighting},
    clock,
    tally::{Metric, Tally},
};

/// So many servers are listed, the latest; the others are counted.
const MAX_LISTED_SERVERS: usize = 300;

/// One server: the machine that events come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerUse {
    /// Its id.
    pub server: String,
    /// The version of its program; none where it does not say.
    pub version: Option<String>,
    /// Whether others run a newer one.
    pub older_version: bool,
    /// The commit of the skill that it served last, of those that come from one.
    pub commit: Option<String>,
    /// Whether others have served a newer one, and it has not.
    pub older_commit: bool,
    /// The clients that called it, the latest first.
    pub clients: Vec<String>,
    /// How often it was called.
    pub calls: u64,
    /// When it was called last, as ISO 8601.
    pub last_seen: String,
}

impl ServerUse {
    /// What is behind the newest, in words.
    pub fn behind(&self) -> Option<&'static str> {
        match (self.older_version, self.older_commit) {
            (true, true) => Some("older version and commit"),
            (true, false) => Some("older version"),
            (false, true) => Some("older commit"),
            (false, false) => None,
        }
    }
}

pub(super) fn of(evidence: &Evidence) -> Vec<ServerUse> {
    let calls = calls(&evidence.tally);
    // The latest sighting of a server comes first, and so does the server that was seen last.
    let mut order: Vec<&str> = Vec::new();
    let mut sightings: HashMap<&str, Vec<&Sighting>> = HashMap::new();
    for sighting in &evidence.sightings {
        let server = sighting.of.server_id.as_str();
        // One without calls was seen before the period and after it.
        if calls.contains_key(server) {
            let known = sightings.entry(server).or_default();
            if known.is_empty() {
                order.push(server);
            }
            known.push(sighting);
        }
    }
    order.truncate(MAX_LISTED_SERVERS);
    let rows = order
        .into_iter()
        .filter_map(|server| row(server, calls.get(server).copied()?, sightings.get(server)?));
    let mut rows: Vec<ServerUse> = rows.collect();
    mark_older_versions(&mut rows);
    mark_older_commits(&mut rows, &evidence.sightings);
    rows
}

/// How often each server was called.
fn calls(tally: &Tally) -> BTreeMap<&str, u64> {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, sum) in tally.iter().filter(|(key, _)| key.metric == Metric::Server) {
        *calls.entry(&key.subject).or_default() += sum.n;
    }
    calls
}

fn row(server: &str, calls: u64, sightings: &[&Sighting]) -> Option<ServerUse> {
    let latest = |name: fn(&Sighting) -> &String| {
        sightings.iter().map(|sighting| name(sighting)).find(|name| !name.is_empty()).cloned()
    };
    let mut clients: Vec<String> = Vec::new();
    for sighting in sightings {
        let client = &sighting.of.client;
        if !client.is_empty() && !clients.contains(client) {
            clients.push(client.clone());
        }
    }
    let last = u64::try_from(sightings.first()?.last).unwrap_or_default();
    Some(ServerUse {
        server: server.to_owned(),
        version: latest(|sighting| &sighting.of.version),
        older_version: false,
        commit: latest(|sighting| &sighting.of.commit),
        older_commit: false,
        clients,
        calls,
        last_seen: clock::timestamp_of(Duration::from_millis(last)),
    })
}

/// A version in its order: numbers, and what comes before a release is older than it. None of any other text.
fn order_of(version: &str) -> Option<(Vec<u64>, bool)> {
    let without_build = version.split('+').next()?;
    let (numbers, is_release) = match without_build.split_once('-') {
        Some((numbers, _)) => (numbers, false),
        None => (without_build, true),
    };
    let numbers: Option<Vec<u64>> = numbers.split('.').map(|part| part.parse().ok()).collect();
    Some((numbers?, is_release))
}

/// A program that does not say its version is older than all that do.
fn mark_older_versions(rows: &mut [ServerUse]) {
    let order = |row: &ServerUse| row.version.as_deref().map(order_of);
    let Some(newest) = rows.iter().filter_map(|row| order(row).flatten()).max() else { return };
    for row in rows {
        // A text that is no version has no order.
        row.older_version = match order(row) {
            None => true,
            Some(known) => known.is_some_and(|version| version < newest),
        };
    }
}

/// A server that has served the newest commit is not behind, whatever it served since: it may have several repositories.
fn mark_older_commits(rows: &mut [ServerUse], sightings: &[Sighting]) {
    let mut first_seen: BTreeMap<&str, i64> = BTreeMap::new();
    for Sighting { of, first, .. } in sightings.iter().filter(|seen| !seen.of.commit.is_empty()) {
        let known = first_seen.entry(&of.commit).or_insert(*first);
        *known = (*known).min(*first);
    }
    let newest = first_seen.into_iter().max_by_key(|(_, first)| *first);
    let Some((newest, _)) = newest else { return };
    let with_newest = sightings.iter().filter(|seen| seen.of.commit == newest);
    let with_newest: HashSet<&str> = with_newest.map(|seen| seen.of.server_id.as_str()).collect();
    for row in rows.iter_mut().filter(|row| row.commit.is_some()) {
        row.older_commit = !with_newest.contains(row.server.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_order_of_their_numbers() {
        let order = ["0.9.12", "0.10.0-rc.1", "0.10.0", "0.10.0+c0ffee", "1.0.0"].map(order_of);
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}");
        assert_eq!(order[2], order[3]);
        assert_eq!(["", "dev", "1.x", "v1"].map(order_of), [None, None, None, None]);
    }
}
