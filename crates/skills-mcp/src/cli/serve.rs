//! `serve`: MCP on standard input and output.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Context, Failure, NO_SOURCE, memory};
use crate::{
    script::{self, Runs},
    store::{Store, keep, keep_synced},
    surface::{Dispatcher, ServerProfile},
    transport::{self, Handler},
    usage::Recording,
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
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
    script::protect_process();
    let store = Arc::new(store);
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
    if stdin().is_terminal() {
        tracing::info!(
            "waiting for an MCP client on standard input; Ctrl-C ends it, `skills-mcp demo` shows what it does"
        );
    }
    let recording = Recording::start(&context.environment, &store);
    // One client's messages and short calls have one thread, so that none of them changes threads; what blocks has others.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let (ended, when) = runtime.block_on(async {
        tokio::spawn(keep(Arc::clone(&store)));
        tokio::spawn(keep_synced(Arc::clone(&store)));
        tokio::spawn(memory::keep_small(Arc::clone(&store)));
        tokio::task::spawn_blocking(sweep);
        recording.spawn();
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

/// Removes what earlier runs of scripts left, and says what stays.
fn sweep() {
    for stays in script::sweep() {
        tracing::warn!("{stays}");
    }
}
