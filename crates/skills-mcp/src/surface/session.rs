//! [`Session`]: the little that is remembered about one caller between calls.
//!
//! Nothing an answer depends on: only what statistics want to know. Where callers cannot be told apart, each
//! call has a session of its own.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// What one caller did before.
#[derive(Debug, Default)]
pub struct Session {
    candidates: Mutex<Vec<String>>,
    refusals: Mutex<HashMap<String, u32>>,
}

impl Session {
    /// Remembers what the caller was offered; nothing, where the last answer was not ambiguous.
    pub(super) fn offered(&self, candidates: Vec<String>) {
        *self.candidates.lock().unwrap_or_else(PoisonError::into_inner) = candidates;
    }

    /// Whether the caller's last answer offered this skill. Asking forgets the offer.
    pub(super) fn chose(&self, skill: &str) -> bool {
        let offered =
            std::mem::take(&mut *self.candidates.lock().unwrap_or_else(PoisonError::into_inner));
        offered.iter().any(|candidate| candidate == skill)
    }

    /// How many times in a row this skill was called useless, this time included.
    pub(super) fn rated(&self, skill: &str, useful: bool) -> u32 {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if useful {
            refusals.remove(skill);
            return 0;
        }
        let count = refusals.entry(skill.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }
}
