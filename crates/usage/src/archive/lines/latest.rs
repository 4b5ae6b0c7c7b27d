//! The newest of many, in bounded memory: not the events, only where they stand.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    super::{MAX_RECENT_EVENTS, MAX_SKILL_EVENTS, TEXT_KINDS, text_kind},
    QuickHasher,
};
use crate::event::Event;

/// Where an event stands, and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventSpot {
    pub(super) millis: i64,
    pub(super) id: u128,
    /// Which of the files.
    pub(super) file: usize,
    pub(super) at: u64,
    pub(super) length: usize,
}

/// The newest of one kind; up to twice as many as are wanted, until they are trimmed.
#[derive(Debug, Default)]
pub(super) struct NewestSpots(Vec<EventSpot>);

impl NewestSpots {
    fn add(&mut self, spot: EventSpot, most: usize) {
        self.0.push(spot);
        if self.0.len() >= most * 2 {
            self.settle(most);
        }
    }

    fn settle(&mut self, most: usize) {
        if self.0.len() > most {
            self.0.select_nth_unstable_by_key(most, |spot| Reverse((spot.millis, spot.id)));
            self.0.truncate(most);
        }
    }

    fn merge(&mut self, other: Self, most: usize) {
        self.0.extend(other.0);
        self.settle(most);
    }
}

/// The newest of each client. Those of all clients are among them.
#[derive(Debug, Default)]
pub(super) struct LatestSpots(HashMap<String, ClientSpots, QuickHasher>);

/// A client's newest of each kind, and of each skill.
#[derive(Debug, Default)]
struct ClientSpots {
    kinds: [NewestSpots; TEXT_KINDS.len()],
    skills: HashMap<String, NewestSpots, QuickHasher>,
}

impl ClientSpots {
    fn add<S: AsRef<str>>(&mut self, event: &Event<S>, spot: EventSpot) {
        if let Some(kind) = text_kind(event).and_then(|kind| self.kinds.get_mut(kind)) {
            kind.add(spot, MAX_RECENT_EVENTS);
        }
        let Some(skill) = event.skill() else { return };
        if let Some(known) = self.skills.get_mut(skill) {
            known.add(spot, MAX_SKILL_EVENTS);
        } else {
            self.skills.entry(skill.to_owned()).or_default().add(spot, MAX_SKILL_EVENTS);
        }
    }

    fn merge(&mut self, other: Self) {
        for (here, there) in self.kinds.iter_mut().zip(other.kinds) {
            here.merge(there, MAX_RECENT_EVENTS);
        }
        for (skill, there) in other.skills {
            self.skills.entry(skill).or_default().merge(there, MAX_SKILL_EVENTS);
        }
    }
}

impl LatestSpots {
    /// Another event, of a call by this client.
    pub(super) fn add<S: AsRef<str>>(&mut self, event: &Event<S>, client: &str, spot: EventSpot) {
        if let Some(known) = self.0.get_mut(client) {
            known.add(event, spot);
        } else {
            self.0.entry(client.to_owned()).or_default().add(event, spot);
        }
    }

    /// What others met.
    pub(super) fn merge(&mut self, other: Self) {
        for (client, there) in other.0 {
            self.0.entry(client).or_default().merge(there);
        }
    }

    /// All clients, or one.
    fn of(&self, client: Option<&str>) -> impl Iterator<Item = &ClientSpots> {
        let wanted = move |name: &str| client.is_none_or(|client| client == name);
        self.0.iter().filter(move |(name, _)| wanted(name)).map(|(_, spots)| spots)
    }

    /// The newest of every kind, together, newest first.
    pub(super) fn kinds(&self, client: Option<&str>) -> Vec<EventSpot> {
        let mut spots = Vec::new();
        for kind in 0..TEXT_KINDS.len() {
            let of_kind = self.of(client).filter_map(|spots| spots.kinds.get(kind));
            spots.extend(newest(of_kind, MAX_RECENT_EVENTS));
        }
        spots.sort_unstable_by_key(|spot| Reverse((spot.millis, spot.id)));
        spots
    }

    /// The newest of a skill, newest first.
    pub(super) fn skill(&self, skill: &str, client: Option<&str>) -> Vec<EventSpot> {
        let of_skill = self.of(client).filter_map(|spots| spots.skills.get(skill));
        newest(of_skill, MAX_SKILL_EVENTS)
    }
}

/// The newest of several lists, newest first.
fn newest<'a>(lists: impl Iterator<Item = &'a NewestSpots>, most: usize) -> Vec<EventSpot> {
    let mut spots: Vec<EventSpot> = lists.flat_map(|list| &list.0).copied().collect();
    spots.sort_unstable_by_key(|spot| Reverse((spot.millis, spot.id)));
    spots.truncate(most);
    spots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{NoMatch, SkillFeedback};

    fn spot(millis: i64) -> EventSpot {
        EventSpot { millis, id: 0, file: 0, at: 0, length: 0 }
    }

    #[test]
    fn the_newest_stay_whatever_the_order_they_came_in() {
        let (mut one, mut other) = (LatestSpots::default(), LatestSpots::default());
        let many = i64::try_from(MAX_RECENT_EVENTS).unwrap() * 3;
        for at in 0..many {
            let to = if at % 2 == 0 { &mut one } else { &mut other };
            let client = if at % 3 == 0 { "codex" } else { "" };
            let missed = Event::NoMatch(NoMatch::<String>::default());
            to.add(&missed, client, spot((at * 7_919) % many));
            let feedback = SkillFeedback { skill_path: "a".to_owned(), ..Default::default() };
            to.add(&Event::SkillFeedback(feedback), client, spot(at));
        }
        one.merge(other);
        let kinds: Vec<i64> = one.kinds(None).iter().map(|spot| spot.millis).collect();
        assert_eq!(kinds.len(), MAX_RECENT_EVENTS * 2);
        assert!(kinds.is_sorted_by(|a, b| a >= b));
        assert_eq!(kinds.last(), Some(&(many - i64::try_from(MAX_RECENT_EVENTS).unwrap())));
        let skill: Vec<i64> = one.skill("a", None).iter().map(|spot| spot.millis).collect();
        assert!(skill.into_iter().eq((0..50).map(|at| many - 1 - at)));
        let of_codex = one.skill("a", Some("codex"));
        assert!(of_codex.len() == 50 && of_codex.iter().all(|spot| spot.millis % 3 == 0));
        assert!(one.skill("b", None).is_empty() && one.kinds(Some("cursor")).is_empty());
    }
}
