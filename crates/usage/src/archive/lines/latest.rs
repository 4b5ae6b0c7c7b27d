//! The newest of many, in bounded memory: not the events, only where they stand.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    super::{PILES, RECENT, TOLD, pile},
    Quick,
};
use crate::event::Event;

/// Where an event stands, and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) millis: i64,
    pub(super) id: u128,
    /// Which of the files.
    pub(super) file: usize,
    pub(super) at: u64,
    pub(super) length: usize,
}

/// The newest of one kind; more than are wanted, until somebody cares.
#[derive(Debug, Default)]
pub(super) struct Newest(Vec<Spot>);

impl Newest {
    fn add(&mut self, spot: Spot, most: usize) {
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

    fn sorted(&self, most: usize) -> Vec<Spot> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by_key(|spot| Reverse((spot.millis, spot.id)));
        sorted.truncate(most);
        sorted
    }
}

/// The newest of each kind, and of each skill.
#[derive(Debug, Default)]
pub(super) struct Latest {
    kinds: [Newest; PILES.len()],
    skills: HashMap<String, Newest, Quick>,
}

impl Latest {
    /// Another event.
    pub(super) fn add<S: AsRef<str>>(&mut self, event: &Event<S>, spot: Spot) {
        if let Some(kind) = pile(event).and_then(|kind| self.kinds.get_mut(kind)) {
            kind.add(spot, RECENT);
        }
        let Some(skill) = event.skill() else { return };
        if let Some(known) = self.skills.get_mut(skill) {
            known.add(spot, TOLD);
        } else {
            self.skills.entry(skill.to_owned()).or_default().add(spot, TOLD);
        }
    }

    /// What others met.
    pub(super) fn merge(&mut self, other: Self) {
        for (here, there) in self.kinds.iter_mut().zip(other.kinds) {
            here.merge(there, RECENT);
        }
        for (skill, there) in other.skills {
            self.skills.entry(skill).or_default().merge(there, TOLD);
        }
    }

    /// The newest of every kind, together, newest first.
    pub(super) fn kinds(&self) -> Vec<Spot> {
        let mut spots: Vec<Spot> =
            self.kinds.iter().flat_map(|newest| newest.sorted(RECENT)).collect();
        spots.sort_unstable_by_key(|spot| Reverse((spot.millis, spot.id)));
        spots
    }

    /// The newest of a skill, newest first.
    pub(super) fn skill(&self, skill: &str) -> Vec<Spot> {
        self.skills.get(skill).map(|newest| newest.sorted(TOLD)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{NoMatch, SkillFeedback};

    fn spot(millis: i64) -> Spot {
        Spot { millis, id: 0, file: 0, at: 0, length: 0 }
    }

    #[test]
    fn the_newest_stay_whatever_the_order_they_came_in() {
        let (mut one, mut other) = (Latest::default(), Latest::default());
        let many = i64::try_from(RECENT).unwrap() * 3;
        for at in 0..many {
            let to = if at % 2 == 0 { &mut one } else { &mut other };
            to.add(&Event::NoMatch(NoMatch::<String>::default()), spot((at * 7_919) % many));
            let feedback = SkillFeedback { skill_path: "a".to_owned(), ..Default::default() };
            to.add(&Event::SkillFeedback(feedback), spot(at));
        }
        one.merge(other);
        let kinds: Vec<i64> = one.kinds().iter().map(|spot| spot.millis).collect();
        assert_eq!(kinds.len(), RECENT * 2);
        assert!(kinds.is_sorted_by(|a, b| a >= b));
        assert_eq!(kinds.last(), Some(&(many - i64::try_from(RECENT).unwrap())));
        let skill: Vec<i64> = one.skill("a").iter().map(|spot| spot.millis).collect();
        assert!(skill.into_iter().eq((0..50).map(|at| many - 1 - at)));
        assert!(one.skill("b").is_empty());
    }
}
