//! The same names without the feature `usage`: no event is made, kept or sent.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use skills_usage::{event::Sink, settings::Analytics, telemetry::Telemetry};

use super::served;
use crate::{config::Environment, source::Directory, store::Store};

/// No events are recorded.
#[derive(Debug)]
pub struct Recording {
    telemetry: Telemetry,
    store: Arc<Store>,
}

impl Recording {
    /// Records nothing.
    pub fn start(environment: &Environment, store: &Arc<Store>) -> Self {
        let telemetry = Telemetry::start(&environment.variables, &served(store));
        Self { telemetry, store: Arc::clone(store) }
    }

    /// A sink that drops events.
    pub fn sink(&self) -> Sink {
        Sink::silent()
    }

    /// Where spans and metrics would go.
    pub fn telemetry(&self) -> Telemetry {
        self.telemetry.clone()
    }

    /// Warns once where the settings ask for statistics.
    pub fn spawn(&self) {
        tokio::spawn(warn_of_settings(Arc::clone(&self.store)));
    }

    /// There is nothing to write.
    pub fn close(&self, _sent_until: impl FnOnce() -> Instant) {}
}

async fn warn_of_settings(store: Arc<Store>) {
    let snapshot = store.snapshot().await;
    let analytics = &snapshot.settings().analytics;
    if analytics.enabled || analytics.tool {
        tracing::warn!(
            "analytics.enabled or analytics.tool is set, and this program is built without statistics, so no event is recorded: build it with `--features usage`"
        );
    }
}

/// Nothing: there is no history to learn from.
pub fn learn_now(_: &Environment, _: &Store) {}

/// Never: there is no history to learn from.
pub fn learns(_: &Environment, _: &Store, _: &[Directory]) -> bool {
    false
}

/// Nothing: there is nothing to say of events.
pub fn outlook(_: Option<&Path>, _: &Analytics) -> Option<String> {
    None
}

/// None.
pub fn history(_: Option<PathBuf>, _: &Analytics) -> Option<Arc<History>> {
    None
}

/// There is no history.
#[derive(Debug)]
pub enum History {}
