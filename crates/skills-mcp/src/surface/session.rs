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
/// So much of a request is remembered.
const MAX_REMEMBERED_CHARS: usize = 2_000;

/// What one caller did before.
#[derive(Debug, Default)]
pub struct Session {
    candidates: Mutex<OfferedCandidates>,
    /// The skills that searches showed, each with the query that it was last shown for.
    shown: Mutex<VecDeque<(Arc<str>, Arc<str>)>>,
    refusals: Mutex<HashMap<String, u64>>,
}

/// The skills of an ambiguous answer, and the request that they were offered for.
#[derive(Debug, Default)]
struct OfferedCandidates {
    skills: Vec<String>,
    /// None where a name was asked for, and not a task.
    request: Option<Arc<str>>,
}

impl Session {
    /// Remembers what the caller was offered, and for which request; nothing, where the last answer was not ambiguous.
    pub(super) fn offered(&self, candidates: &[String], request: Option<&str>) {
        let request = request.map(remembered);
        *open(&self.candidates) = OfferedCandidates { skills: candidates.to_vec(), request };
    }

    /// Whether the caller's last answer offered this skill, and for which request. Asking forgets the offer.
    pub(super) fn chose(&self, skill: &str) -> (bool, Option<Arc<str>>) {
        let offered = std::mem::take(&mut *open(&self.candidates));
        let is_offered = offered.skills.iter().any(|candidate| candidate == skill);
        (is_offered, offered.request.filter(|_| is_offered))
    }

    /// Remembers what a search showed.
    pub(super) fn showed<'a>(&self, query: &str, skills: impl Iterator<Item = &'a Arc<str>>) {
        let query = remembered(query);
        let mut shown = open(&self.shown);
        for skill in skills {
            shown.retain(|(known, _)| known != skill);
            shown.push_back((Arc::clone(skill), Arc::clone(&query)));
        }
        let over = shown.len().saturating_sub(MAX_SHOWN);
        shown.drain(..over);
    }

    /// The query for which a search showed this skill since it was last asked for.
    pub(super) fn was_shown(&self, skill: &str) -> Option<Arc<str>> {
        let mut shown = open(&self.shown);
        let at = shown.iter().position(|(known, _)| **known == *skill);
        at.and_then(|at| shown.remove(at)).map(|(_, query)| query)
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

/// The beginning of a request: so much says what was asked for.
fn remembered(request: &str) -> Arc<str> {
    request.chars().take(MAX_REMEMBERED_CHARS).collect::<String>().into()
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
        session.showed("many", names.iter());
        let shown = |skill: &str| session.was_shown(skill).is_some();
        assert!(!shown("s0") && !shown("s49"), "too long ago");
        assert!(shown("s50") && shown("s249"));
        assert!(!shown("s249"), "once per showing");
        session.showed("one", names.iter().rev().take(1));
        session.showed("one again", names.iter().rev().take(1));
        assert_eq!(session.was_shown("s249").as_deref(), Some("one again"));
        assert!(!shown("s249"));
        assert!(open(&session.shown).len() <= MAX_SHOWN);
    }
}
