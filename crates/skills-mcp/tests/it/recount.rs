//! What an archive should say of events, counted by hand, event by event.

use std::{cmp::Reverse, collections::BTreeMap};

use skills_usage::{
    archive::{Evidence, MAX_RECENT_EVENTS, Period, Story},
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

/// The evidence of a period.
pub(crate) fn evidence(events: &[RecordedEvent], period: Period) -> Evidence {
    let events = within(events, period);
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
    Evidence { tally, days: by_day(&events, |_, _| true), recent: recent.cloned().collect() }
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
    assert_eq!(one.tally, other.tally);
    assert_eq!(one.days, other.days);
    assert_eq!(one.recent.len(), other.recent.len());
    for (one, other) in one.recent.iter().zip(&other.recent) {
        assert_eq!(one, other);
    }
}
