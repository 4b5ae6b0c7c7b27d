//! What is known of the sources between two refreshes.

use std::time::Instant;

use skills_core::diagnostic::Diagnostic;

use super::{LivePlugins, STALE};
use crate::source::{Followed, Watch};

/// What is known of the sources between looks.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) followed: Vec<Followed>,
    /// The plugins, where they are served.
    pub(super) plugins: Option<LivePlugins>,
    pub(super) watch: Option<Watch>,
    /// What is wrong with each source as a whole.
    pub(super) failures: Vec<Option<Diagnostic>>,
    /// Why the system tells of nothing.
    pub(super) unwatched: Option<String>,
    pub(super) looked: Option<Instant>,
    /// When the last look began, and the last one at everything.
    pub(super) began: Option<Instant>,
    pub(super) began_whole: Option<Instant>,
}

impl State {
    /// Whether somebody has looked, at everything or at what changed, since this moment: whatever was on disk then is
    /// known.
    pub(super) fn has_looked_since(&self, asked: Instant, whole: bool) -> bool {
        let began = if whole { self.began_whole } else { self.began };
        began.is_some_and(|began| began >= asked)
    }

    /// Whether what is not watched was looked at lately.
    pub(super) fn is_current(&self, now: Instant) -> bool {
        let lately = self.looked.is_some_and(|looked| now.duration_since(looked) < STALE);
        let plugins = || self.plugins.as_ref().is_none_or(LivePlugins::is_watched);
        lately || (self.followed.iter().all(Followed::is_watched) && plugins())
    }

    /// Whether links lead where they did.
    pub(super) fn has_same_links(&self) -> bool {
        self.followed.iter().all(Followed::has_same_links)
    }

    /// Nobody tells any more. Watches that are left would only be missing elsewhere.
    pub(super) fn stop_watching(&mut self) {
        self.watch = None;
        self.followed.iter_mut().for_each(Followed::unwatched);
        self.plugins.iter_mut().for_each(LivePlugins::unwatched);
    }
}
