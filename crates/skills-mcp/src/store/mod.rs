//! What we know now: the current [`Snapshot`], replaced whole and never changed.
//!
//! The first scan runs beside the handshake, and calls wait for it. One refresh runs at a time, each with a
//! cause; a source that fails keeps what it gave last. Not here: how sources read, what a call does.

mod refresh;
mod snapshot;

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
pub use refresh::{Cause, Refreshed};
use skills_core::diagnostic::Diagnostic;
pub use snapshot::{ContentError, SkillFile, Snapshot, hex};
use tokio::sync::watch;

use crate::{config::Stack, source::Directory};

/// The sources and what they hold.
#[derive(Debug)]
pub struct Store {
    sources: Vec<Directory>,
    /// What was wrong with finding the sources themselves.
    standing: Vec<Diagnostic>,
    stack: Stack,
    current: ArcSwapOption<Snapshot>,
    ready: watch::Sender<bool>,
    /// Held by the refresh that runs, with what each source gave last.
    taken: Mutex<Vec<refresh::Taken>>,
}

impl Store {
    /// A store that has not looked yet.
    pub fn new(sources: Vec<Directory>, stack: Stack) -> Self {
        let taken = Mutex::new(Vec::new());
        Self {
            standing: Vec::new(),
            sources,
            stack,
            current: ArcSwapOption::empty(),
            ready: watch::Sender::new(false),
            taken,
        }
    }

    /// The same, with what was wrong with finding the sources.
    #[must_use]
    pub fn with_standing(mut self, standing: Vec<Diagnostic>) -> Self {
        self.standing = standing;
        self
    }

    /// The sources, first-named first.
    pub fn sources(&self) -> &[Directory] {
        &self.sources
    }

    /// The current snapshot; waits for the first one.
    pub async fn snapshot(&self) -> Arc<Snapshot> {
        loop {
            if let Some(snapshot) = self.current.load_full() {
                return snapshot;
            }
            // The sender lives in `self`, so waiting can only end with a value.
            let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
        }
    }
}
