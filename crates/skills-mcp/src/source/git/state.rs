//! [`State`]: what is known of the last syncs of what somebody wants of a repository, for every process of this user.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock;

/// What happened last. Times are milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The branch that was fetched last, where it was one.
    pub branch: Option<String>,
    /// When the remote was last asked with success.
    pub fetched_at: u64,
    /// When it was last asked.
    pub tried_at: u64,
    /// When the commit last became another.
    pub changed_at: u64,
    /// Why the last try failed, with the way out.
    pub error: Option<(String, String)>,
    /// The commit that `skills-mcp status` showed last.
    pub seen: Option<String>,
}

impl State {
    /// How long ago the remote was asked with success; none if it never was, or in the future.
    pub fn age(&self) -> Option<Duration> {
        let fetched = Duration::from_millis(self.fetched_at);
        // A clock that was set back is no reason never to ask again.
        (self.fetched_at > 0).then(|| clock::since_epoch().checked_sub(fetched)).flatten()
    }

    /// When the remote was last asked with success, as ISO 8601.
    pub fn last_sync(&self) -> Option<String> {
        let fetched = Duration::from_millis(self.fetched_at);
        (self.fetched_at > 0).then(|| clock::timestamp_of(fetched))
    }
}

/// Now, as states have it.
pub(super) fn now() -> u64 {
    u64::try_from(clock::since_epoch().as_millis()).unwrap_or(u64::MAX)
}
