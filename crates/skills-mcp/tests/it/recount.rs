//! What an archive should say of events, counted by hand, event by event.

use std::{cmp::Reverse, collections::BTreeMap};

use skills_usage::{
    archive::{Evidence, MAX_RECENT_EVENTS, MAX_SIGHTINGS, Period, Sighting, Story},
    clock,
    event::{Event, RecordedEvent},
    tally::{CountSum, Metric, Tally, count},
};

use crate::usage::DAY;

fn at(event: &RecordedEvent) -> i64 {
    clock::millis_of(&event.timestamp).unwrap()
}

/// The events of a period, newest first.
fn within(events: &[RecordedEvent], period: Period) -> Vec<RecordedEvent> {
    let day = |event: &RecordedEvent| at(event).div_euclid(DAY);
    let mut found: Vec<RecordedEvent> = events
        .iter()
        .filter(|event| (period.from..=period.to).contains(&day(event)))
        .cloned()
        .collect();
    found.sort_by_key(|event| Reverse((at(event), event.event_id)));
    found
}

fn by_day(
    events: &[RecordedEvent],
    counted: impl Fn(&Metric, &str) -> bool,
) -> Vec<(i64, Metric, CountSum)> {
    let mut days: BTreeMap<(i64, Metric), CountSum> = BTreeMap::new();
    for event in events {
        let mut tally = Tally::new();
        count(&mut tally, event);
        for (key, sum) in tally.into_iter().filter(|(key, _)| counted(&key.metric, &key.subject)) {
            days.entry((at(event).div_euclid(DAY), key.metric)).or_default().add(sum);
        }
    }
    days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect()
}

/// Which of the lists of recent events this one is in.
fn list(event: &Event) -> Option<&str> {
    match event {
        Event::SkillSearched(search) if !search.shown.is_empty() => None,
        Event::SkillServed(served) if served.context.is_none() => None,
        Event::AssetServed(_) | Event::ScriptExecuted(_) | Event::Refresh(_) => None,
        Event::NoMatch(_)
        | Event::Ambiguous(_)
        | Event::SkillServed(_)
        | Event::SkillSearched(_)
        | Event::SkillFeedback(_) => Some(event.kind()),
    }
}

/// The evidence of a period, of one client where one is named.
pub(crate) fn evidence(events: &[RecordedEvent], period: Period, client: Option<&str>) -> Evidence {
    let mut called: BTreeMap<String, u64> = BTreeMap::new();
    for event in within(events, period) {
        *called.entry(event.client_name.as_deref().unwrap_or("").to_owned()).or_default() += 1;
    }
    let mut clients: Vec<(String, u64)> = called.into_iter().collect();
    clients.sort_by_key(|(_, calls)| Reverse(*calls));
    let own: Vec<RecordedEvent> = of_client(events, client);
    let sightings = sightings(&own, period);
    let events = within(&own, period);
    let mut tally = Tally::new();
    for event in &events {
        count(&mut tally, event);
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let recent = events.iter().filter(|event| {
        list(&event.event).is_some_and(|list| {
            let seen = seen.entry(list).or_default();
            *seen += 1;
            *seen <= MAX_RECENT_EVENTS
        })
    });
    let (days, recent) = (by_day(&events, |_, _| true), recent.cloned().collect());
    Evidence { client: client.map(str::to_owned), clients, sightings, tally, days, recent }
}

/// The events of one client, where one is named.
pub(crate) fn of_client(events: &[RecordedEvent], client: Option<&str>) -> Vec<RecordedEvent> {
    let is_its = |event: &&RecordedEvent| {
        client.is_none_or(|client| event.client_name.as_deref() == Some(client))
    };
    events.iter().filter(is_its).cloned().collect()
}

/// With what servers were seen, from the first event to the last.
fn sightings(events: &[RecordedEvent], period: Period) -> Vec<Sighting> {
    let mut seen: BTreeMap<[String; 4], (i64, i64)> = BTreeMap::new();
    for event in events {
        let optional =
            |name: &Option<std::sync::Arc<str>>| name.as_deref().unwrap_or("").to_owned();
        let commit = event.skill_commit.clone().unwrap_or_default();
        let (client, version) = (optional(&event.client_name), optional(&event.server_version));
        let span = seen
            .entry([event.server_id.to_string(), client, version, commit])
            .or_insert((at(event), at(event)));
        *span = (span.0.min(at(event)), span.1.max(at(event)));
    }
    let (from, to) = (period.from * DAY, (period.to + 1) * DAY);
    let mut sightings: Vec<Sighting> = Vec::new();
    for ([server_id, client, version, commit], (first, last)) in seen {
        if last >= from && first < to {
            let mut sighting = Sighting { first, last, ..Sighting::default() };
            sighting.of.server_id = server_id;
            sighting.of.client = client;
            sighting.of.version = version;
            sighting.of.commit = commit;
            sightings.push(sighting);
        }
    }
    // Stable: those of one moment stay in the order of their names.
    sightings.sort_by_key(|sighting| Reverse(sighting.last));
    sightings.truncate(MAX_SIGHTINGS);
    sightings
}

/// The story of a skill.
pub(crate) fn story(events: &[RecordedEvent], skill: &str, period: Period, limit: usize) -> Story {
    let events = within(events, period);
    let others = [Metric::Event, Metric::Server, Metric::Latency];
    let days = by_day(&events, |metric, subject| subject == skill && !others.contains(metric));
    let about = events.into_iter().filter(|event| event.event.skill() == Some(skill));
    Story { days, recent: about.take(limit).collect() }
}

/// Both say the same.
pub(crate) fn assert_same(one: &Evidence, other: &Evidence) {
    assert_eq!((&one.client, &one.clients), (&other.client, &other.clients));
    assert_eq!(one.sightings, other.sightings);
    assert_eq!(one.tally, other.tally);
    assert_eq!(one.days, other.days);
    assert_eq!(one.recent.len(), other.recent.len());
    for (one, other) in one.recent.iter().zip(&other.recent) {
        assert_eq!(one, other);
    }
}
