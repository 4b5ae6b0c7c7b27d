//! [`Recording`] with the feature `usage`: events are kept, sent and counted as the settings of their moment say.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use skills_usage::{
    archive::lines::{LineArchive, tail, tail_stamp},
    event::{KeptContext, Sink},
    journal,
    learning::past_requests,
    recorder::Recorder,
    sender::TOKEN_VARIABLE,
    settings::Analytics,
    telemetry::Telemetry,
};

use super::served;
use crate::{
    config::{Environment, Settings, secret},
    source::Directory,
    store::{LearnedRequests, Store},
};

/// What happens to the events of one server.
#[derive(Debug)]
pub struct Recording {
    telemetry: Telemetry,
    recorder: Recorder,
    store: Arc<Store>,
    sink: Sink,
    home: Option<PathBuf>,
}

impl Recording {
    /// Records the events of this store.
    pub fn start(environment: &Environment, store: &Arc<Store>) -> Self {
        let telemetry = Telemetry::start(&environment.variables, &served(store));
        let known = Arc::clone(store);
        let settings = move || known.known().map(|snapshot| snapshot.settings().analytics.clone());
        let recorder =
            Recorder::new(environment.home.as_deref(), || secret(TOKEN_VARIABLE), settings);
        let (traced, recording) = (telemetry.clone(), recorder.clone());
        let server_id = environment.server_id(&store.settings().analytics);
        let sink = Sink::new(server_id, env!("CARGO_PKG_VERSION"), move |recorded| {
            traced.heard(&recorded);
            let event = || serde_json::to_string(&recorded).unwrap_or_default();
            tracing::debug!(event = event(), "recorded");
            recording.take(recorded);
        });
        Self { telemetry, recorder, store: Arc::clone(store), sink, home: environment.home.clone() }
    }

    /// Where events go.
    pub fn sink(&self) -> Sink {
        self.sink.clone()
    }

    /// Where spans and metrics go.
    pub fn telemetry(&self) -> Telemetry {
        self.telemetry.clone()
    }

    /// Starts the tasks beside the server: what other servers left unsent is sent, the sender follows the settings, and the
    /// search learns from the history.
    pub fn spawn(&self) {
        tokio::spawn(keep_learning(Arc::clone(&self.store), self.home.clone()));
        tokio::spawn(send_left(Arc::clone(&self.store), self.recorder.clone()));
        tokio::spawn(follow_settings(Arc::clone(&self.store), self.recorder.clone()));
    }

    /// Writes what was recorded, and sends until then.
    pub fn close(&self, sent_until: impl FnOnce() -> Instant) {
        self.telemetry.close();
        self.recorder.settings_changed();
        self.recorder.close(sent_until());
    }
}

/// Sends what others have left, once it is known whether to.
async fn send_left(store: Arc<Store>, recorder: Recorder) {
    let snapshot = store.snapshot().await;
    let analytics = &snapshot.settings().analytics;
    if !analytics.enabled || analytics.endpoint.is_none() {
        return;
    }
    // Events that are not sent before the end are sent by the next server.
    let _ = tokio::task::spawn_blocking(move || recorder.send_left()).await;
}

/// Tells the sender of every change of the settings, also without an event.
async fn follow_settings(store: Arc<Store>, recorder: Recorder) {
    let mut generations = store.generations();
    while generations.changed().await.is_ok() {
        recorder.settings_changed();
    }
}

/// How often a changed history is read.
const LEARNING_INTERVAL: Duration = Duration::from_mins(1);

/// Learns from the history, and from what is added to it, for as long as the settings say so.
async fn keep_learning(store: Arc<Store>, home: Option<PathBuf>) {
    let mut known: Option<(PathBuf, Option<u64>)> = None;
    loop {
        let settings = store.snapshot().await.settings().clone();
        let file = learned_file(&settings, home.as_deref());
        let found = file.map(|file| (file.clone(), tail_stamp(&file)));
        if found != known {
            let (store, file) = (Arc::clone(&store), found.as_ref().map(|(file, _)| file.clone()));
            let _ = tokio::task::spawn_blocking(move || learn(&store, file.as_deref())).await;
            known = found;
        }
        tokio::time::sleep(LEARNING_INTERVAL).await;
    }
}

/// The history that a search learns from; none where it does not.
fn learned_file(settings: &Settings, home: Option<&Path>) -> Option<PathBuf> {
    let analytics = &settings.analytics;
    let learns = settings.learns && analytics.enabled && analytics.context == KeptContext::Full;
    journal::history(analytics, home).filter(|_| learns)
}

/// Learns from this history; forgets what was learned where there is none.
fn learn(store: &Store, file: Option<&Path>) {
    let events = match file.map(tail).transpose() {
        Ok(events) => events.unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, "the history cannot be read, so nothing is learned from it");
            return;
        }
    };
    let learned = LearnedRequests::of(&past_requests(&events)).map(Arc::new);
    store.learn(learned.as_ref());
}

/// Has the store of a command learn what a server over it has learned.
pub fn learn_now(environment: &Environment, store: &Store) {
    let settings = store.known().map(|snapshot| snapshot.settings().clone());
    let file = settings.and_then(|settings| learned_file(&settings, environment.home.as_deref()));
    if file.is_some() {
        learn(store, file.as_deref());
    }
}

/// Whether there is a history that a search over these sources learns from.
pub fn learns(environment: &Environment, store: &Store, sources: &[Directory]) -> bool {
    let settings =
        sources.first().map_or_else(|| store.settings(), |first| store.config_of(first).settings);
    learned_file(&settings, environment.home.as_deref())
        .and_then(|file| tail_stamp(&file))
        .is_some()
}

/// Whether events are kept and sent, where, and how many wait.
pub fn outlook(home: Option<&Path>, settings: &Analytics) -> Option<String> {
    Some(skills_usage::outlook::outlook(home, settings))
}

/// The history that agents may ask for, where the operator lets them.
pub fn history(home: Option<PathBuf>, settings: &Analytics) -> Option<Arc<History>> {
    settings.tool.then(|| Arc::new(History { home, lines: Mutex::default() }))
}

/// The history of this machine.
#[derive(Debug)]
pub struct History {
    home: Option<PathBuf>,
    /// What is known of the file that was read last.
    lines: Mutex<Option<LineArchive>>,
}

impl History {
    /// The file of these settings; what was read of it before is not read again.
    pub fn lines(&self, settings: &Analytics) -> Option<LineArchive> {
        let file = journal::history(settings, self.home.as_deref())?;
        let mut known = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.file() != file) {
            *known = Some(LineArchive::new(file));
        }
        known.clone()
    }
}
