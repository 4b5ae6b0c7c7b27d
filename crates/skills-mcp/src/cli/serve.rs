//! `serve`: MCP on standard input and output.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Context, Failure, NO_SOURCE};
use crate::{
    analytics::recorder::Recorder,
    event::Sink,
    script::{self, Runs},
    store::{Store, keep, keep_synced},
    surface::Face,
    telemetry::Telemetry,
    transport::{self, Handler},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let store = context.serving_store()?;
    let face = context.face()?;
    serve(context, store, face)
}

/// Threads for what blocks: scripts, looks, calls that read much. A few would do; threads that are not needed end.
const MAX_THREADS: usize = 64;

/// Whoever has left is not kept waiting for longer.
const LEAVE: Duration = Duration::from_millis(900);
/// Of that, events may take so long to be written and sent.
const SEND: Duration = Duration::from_millis(500);

/// Serves this store under this face until the client leaves.
pub(super) fn serve(context: &Context, store: Store, face: Face) -> Result<ExitCode, Failure> {
    script::protect_process();
    let store = Arc::new(store);
    let sources = store.sources();
    let there = || sources.iter().filter(|source| source.is_there());
    for source in there() {
        let url = source.repository().map(|repository| repository.remote().to_string());
        tracing::info!(source = &**source.name(), path = %source.path().display(), url, "serving");
    }
    if !face.named && there().next().is_none() {
        tracing::warn!(
            "no source is named and no agent's directory is there, so there are no skills: {NO_SOURCE}"
        );
    }
    if stdin().is_terminal() {
        tracing::info!(
            "waiting for an MCP client on standard input; Ctrl-C ends it, `skills-mcp demo` shows what it does"
        );
    }
    let telemetry = Telemetry::start(&context.environment, &store);
    let recorder = recorder(context, &store);
    let (watching, recording) = (telemetry.clone(), recorder.clone());
    let server_id = store.settings().analytics.server_id(&context.environment);
    let sink = Sink::new(server_id, move |recorded| {
        watching.heard(&recorded);
        tracing::debug!(event = serde_json::to_string(&recorded).unwrap_or_default(), "recorded");
        recording.take(recorded);
    });
    // One client's messages and short calls have one thread, so that none of them changes threads; what blocks has others.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(MAX_THREADS)
        .enable_all()
        .build()?;
    let (ended, when) = runtime.block_on(async {
        tokio::spawn(keep(Arc::clone(&store)));
        tokio::spawn(keep_synced(Arc::clone(&store)));
        tokio::task::spawn_blocking(sweep);
        tokio::spawn(send_left(Arc::clone(&store), recorder.clone()));
        tokio::spawn(follow_settings(Arc::clone(&store), recorder.clone()));
        let runs = Runs::new(&context.environment);
        let handler = Handler::new(Arc::clone(&store), sink, face, runs);
        transport::serve(handler.watched(telemetry.clone())).await
    });
    store.stop_syncing();
    telemetry.close();
    recorder.settings_changed();
    recorder.close((when + LEAVE).min(Instant::now() + SEND));
    tracing::info!(late = store.late(), "stopped: {ended}");
    // A read of standard input may still block a thread, and nothing is left to wait for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Removes what earlier runs of scripts left, and says what stays.
fn sweep() {
    for stays in script::sweep() {
        tracing::warn!("{stays}");
    }
}

/// Sends what others have left, once it is known whether to.
async fn send_left(store: Arc<Store>, recorder: Recorder) {
    let snapshot = store.snapshot().await;
    let analytics = &snapshot.settings().analytics;
    if !analytics.enabled || analytics.endpoint.is_none() {
        return;
    }
    // Whatever is not looked at before the end is looked at by whoever comes next.
    let _ = tokio::task::spawn_blocking(move || recorder.send_left()).await;
}

/// Tells whoever sends events when what holds may have changed, also where no event does.
async fn follow_settings(store: Arc<Store>, recorder: Recorder) {
    let mut generations = store.generations();
    while generations.changed().await.is_ok() {
        recorder.settings_changed();
    }
}

/// Keeps and sends events as the content's settings say at their moment.
fn recorder(context: &Context, store: &Arc<Store>) -> Recorder {
    let store = Arc::clone(store);
    Recorder::new(context.environment.home.as_deref(), move || {
        store.known().map(|snapshot| snapshot.settings().analytics.clone())
    })
}
