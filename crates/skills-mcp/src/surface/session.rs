//! [`Session`]: the little that is remembered about one caller between calls.
//!
//! No answer depends on it: only statistics want to know. Where clients cannot be distinguished, each call has a session of
//! its own.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many skills that searches showed are remembered, the latest ones.
const MAX_SHOWN: usize = 200;

/// What one caller did before.
#[derive(Debug, Default)]
pub struct Session {
    candidates: Mutex<Vec<String>>,
    shown: Mutex<VecDeque<Arc<str>>>,
    refusals: Mutex<HashMap<String, u64>>,
}

impl Session {
    /// Remembers what the caller was offered; nothing, where the last answer was not ambiguous.
    pub(super) fn offered(&self, candidates: &[String]) {
        *open(&self.candidates) = candidates.to_vec();
    }

    /// Whether the caller's last answer offered this skill. Asking forgets the offer.
    pub(super) fn chose(&self, skill: &str) -> bool {
        let offered = std::mem::take(&mut *open(&self.candidates));
        offered.iter().any(|candidate| candidate == skill)
    }

    /// Remembers what a search showed.
    pub(super) fn showed<'a>(&self, skills: impl Iterator<Item = &'a Arc<str>>) {
        let mut shown = open(&self.shown);
        for skill in skills {
            shown.retain(|known| known != skill);
            shown.push_back(Arc::clone(skill));
        }
        let over = shown.len().saturating_sub(MAX_SHOWN);
        shown.drain(..over);
    }

    /// Whether a search showed this skill since it was last asked for.
    pub(super) fn was_shown(&self, skill: &str) -> bool {
        let mut shown = open(&self.shown);
        let at = shown.iter().position(|known| **known == *skill);
        at.and_then(|at| shown.remove(at)).is_some()
    }

    /// How many times in a row this skill was called useless, this time included.
    pub(super) fn rated(&self, skill: &str, useful: bool) -> u64 {
        let mut refusals = open(&self.refusals);
        if useful {
            refusals.remove(skill);
            return 0;
        }
        let count = refusals.entry(skill.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

fn open<T>(remembered: &Mutex<T>) -> MutexGuard<'_, T> {
    remembered.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_search_showed_counts_once_and_the_latest_are_remembered() {
        let session = Session::default();
        let names: Vec<Arc<str>> = (0..250).map(|n| format!("s{n}").into()).collect();
        session.showed(names.iter());
        assert!(!session.was_shown("s0") && !session.was_shown("s49"), "too long ago");
        assert!(session.was_shown("s50") && session.was_shown("s249"));
        assert!(!session.was_shown("s249"), "once per showing");
        session.showed(names.iter().rev().take(1));
        session.showed(names.iter().rev().take(1));
        assert!(session.was_shown("s249") && !session.was_shown("s249"));
        assert!(open(&session.shown).len() <= MAX_SHOWN);
    }
}
