//! [`SenderState`]: what all processes of this user know of sending, and what was lost.

use std::io;

use serde::{Deserialize, Serialize};

use super::{disk, folder::JournalFolder};

/// A state is never larger.
const MAX_STATE_BYTES: u64 = 4096;

/// What is known. One that cannot be read is a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderState {
    /// How often in a row nothing could be sent.
    pub failures: u32,
    /// When that was last so: milliseconds since 1970.
    pub since: u64,
    /// Nothing is sent before then: milliseconds since 1970.
    pub not_before: u64,
    /// How many events a batch may have, where the endpoint finds more too large.
    pub batch: Option<usize>,
    /// How many events were dropped, since they will never be sent or are in no file: a full disk, too many
    /// unsent, or refused and long past.
    pub dropped: u64,
    /// How many are missing in the history, and nowhere else.
    pub unkept: u64,
    /// How many were older than the endpoint keeps any when it got them.
    pub expired: u64,
    /// How many lines of the buffer were no events.
    pub spoilt: u64,
}

impl SenderState {
    /// What is known now.
    pub fn read(folder: &JournalFolder) -> Self {
        let bytes = disk::read(&folder.state(), MAX_STATE_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes what is known, under a lock.
    pub fn change(folder: &JournalFolder, change: impl FnOnce(&mut Self)) -> io::Result<Self> {
        let path = folder.state();
        let _lock = disk::lock(&path)?;
        let mut state = Self::read(folder);
        change(&mut state);
        disk::replace(&path, &serde_json::to_vec(&state)?)?;
        Ok(state)
    }
}
