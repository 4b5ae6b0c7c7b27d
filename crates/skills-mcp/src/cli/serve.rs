//! `serve`: MCP on standard input and output, or over HTTP (`serve_http`).

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Context, Failure, NO_SOURCE, memory, output::aside};
use crate::{
    script::{self, Runs},
    store::{Store, keep, keep_synced},
    surface::{Dispatcher, ServerProfile},
    transport::{self, Handler},
    usage::Recording,
};

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ServeOptions {
    #[cfg(feature = "http")]
    #[command(flatten)]
    http: super::serve_http::HttpOptions,
}

impl ServeOptions {
    /// Whether one client on the standard streams is served.
    #[cfg(feature = "http")]
    pub(super) fn is_on_streams(&self) -> bool {
        !self.http.is_chosen()
    }

    /// Without HTTP there is nothing else.
    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_self, reason = "with HTTP the options decide")]
    pub(super) fn is_on_streams(&self) -> bool {
        true
    }
}

pub(super) fn run(context: &Context, options: &ServeOptions) -> Result<ExitCode, Failure> {
    #[cfg(feature = "http")]
    if !options.is_on_streams() {
        return super::serve_http::run(context, &options.http);
    }
    #[cfg(not(feature = "http"))]
    let _ = options;
    let store = context.serving_store()?;
    let profile = context.profile()?;
    serve(context, store, profile)
}

/// Threads for what blocks: scripts, refreshes, calls that read much. A few would do; threads that are not needed end.
const MAX_BLOCKING_THREADS: usize = 64;

/// A client that has left does not wait longer for this process to end.
const EXIT_TIMEOUT: Duration = Duration::from_millis(900);
/// Of that, events may take so long to be written and sent.
const EVENTS_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves this store with this profile until the client leaves.
pub(super) fn serve(
    context: &Context,
    store: Store,
    profile: ServerProfile,
) -> Result<ExitCode, Failure> {
    let store = Arc::new(store);
    prepare(&store, &profile);
    if stdin().is_terminal() {
        aside(
            "waiting for an MCP client on standard input; Ctrl-C ends it, `skills-mcp` alone shows what is served",
        );
    }
    let recording = Recording::start(&context.environment, &store);
    // One client's messages and short calls have one thread, so that none of them changes threads; what blocks has others.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let (ended, when) = runtime.block_on(async {
        spawn_tasks(&store, &recording);
        let runs = Runs::new(&context.environment);
        let (sink, telemetry) = (recording.sink(), recording.telemetry());
        let dispatcher = Dispatcher::new(Arc::clone(&store), profile, runs, sink, telemetry);
        transport::serve(Handler::new(dispatcher)).await
    });
    store.stop_syncing();
    recording.close(|| (when + EXIT_TIMEOUT).min(Instant::now() + EVENTS_TIMEOUT));
    tracing::info!(late = store.late(), "stopped: {ended}");
    // A read of standard input may still block a thread, and nothing is left to wait for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Prepares this process, and says what is served.
pub(super) fn prepare(store: &Store, profile: &ServerProfile) {
    script::protect_process();
    let sources = store.sources();
    let there = || sources.iter().filter(|source| source.is_there());
    for source in there() {
        let url = source.repository().map(|repository| repository.remote().to_string());
        tracing::info!(source = &**source.name(), path = %source.path().display(), url, "serving");
    }
    if !profile.named && there().next().is_none() {
        tracing::warn!(
            "no source is named and no agent's directory is there, so there are no skills: {NO_SOURCE}"
        );
    }
}

/// Starts what runs beside the calls.
pub(super) fn spawn_tasks(store: &Arc<Store>, recording: &Recording) {
    tokio::spawn(keep(Arc::clone(store)));
    tokio::spawn(keep_synced(Arc::clone(store)));
    tokio::spawn(memory::keep_small(Arc::clone(store)));
    tokio::spawn(script::reap_orphans());
    tokio::task::spawn_blocking(sweep);
    recording.spawn();
}

/// Removes what earlier runs of scripts left, and says what stays.
fn sweep() {
    for stays in script::sweep() {
        tracing::warn!("{stays}");
    }
}
