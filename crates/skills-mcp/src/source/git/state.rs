//! [`SyncState`]: the last syncs of one branch or commit of a repository, shared by all processes of this user.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock;

/// The last syncs. Times are milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SyncState {
    /// The branch that was fetched last, where it was one.
    pub(crate) branch: Option<String>,
    /// When the remote was last asked with success.
    pub(crate) fetched_at: u64,
    /// When it was last asked.
    pub(crate) tried_at: u64,
    /// When the commit last became another.
    pub(crate) changed_at: u64,
    /// Why the last try failed, and what to do.
    pub(crate) error: Option<(String, String)>,
    /// The commit that `skills-mcp status` showed last.
    pub(crate) seen: Option<String>,
}

impl SyncState {
    /// How long ago the remote was asked with success; none if it never was, or in the future.
    pub(crate) fn age(&self) -> Option<Duration> {
        let fetched = Duration::from_millis(self.fetched_at);
        (self.fetched_at > 0).then(|| clock::since_epoch().checked_sub(fetched)).flatten()
    }

    /// When the remote was last asked with success, as ISO 8601.
    pub(crate) fn last_sync(&self) -> Option<String> {
        let fetched = Duration::from_millis(self.fetched_at);
        (self.fetched_at > 0).then(|| clock::timestamp_of(fetched))
    }
}

/// Now, in milliseconds since 1970.
pub(super) fn now() -> u64 {
    u64::try_from(clock::since_epoch().as_millis()).unwrap_or(u64::MAX)
}
