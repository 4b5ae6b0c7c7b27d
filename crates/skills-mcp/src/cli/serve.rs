//! `serve`: MCP on standard input and output.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
};

use super::{Context, Failure, NO_SOURCE, memory};
use crate::{
    event::Sink,
    script::{self, Runs},
    store::{Store, keep, keep_synced},
    surface::Face,
    telemetry::Telemetry,
    transport::{self, Handler},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let store = context.store()?;
    let face = context.face()?;
    serve(context, store, face)
}

/// Threads for what blocks: scripts, looks, calls that read much. A few would do; threads that are not needed end.
const MAX_THREADS: usize = 64;

/// Serves this store under this face until the client leaves.
pub(super) fn serve(context: &Context, store: Store, face: Face) -> Result<ExitCode, Failure> {
    // First, since it starts everything anew.
    memory::share();
    script::guard();
    let store = Arc::new(store);
    let there = || store.sources().iter().filter(|source| source.is_there());
    for source in there() {
        let url = source.repository().map(|repository| repository.remote().to_string());
        tracing::info!(source = &**source.name(), path = %source.path().display(), url, "serving");
    }
    if there().next().is_none() {
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
    let listening = telemetry.clone();
    let sink = Sink::new(context.environment.server_id(), move |recorded| {
        listening.heard(&recorded);
        tracing::debug!(event = serde_json::to_string(&recorded).unwrap_or_default(), "recorded");
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_THREADS)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        tokio::spawn(keep(Arc::clone(&store)));
        tokio::spawn(keep_synced(Arc::clone(&store)));
        tokio::task::spawn_blocking(script::sweep);
        let runs = Runs::new(&context.environment);
        let handler = Handler::new(Arc::clone(&store), sink, face, runs);
        transport::serve(handler.watched(telemetry.clone())).await
    });
    store.stop_syncing();
    telemetry.close();
    tracing::info!(late = store.late(), "stopped: {ended}");
    // A read of standard input may still block a thread, and nothing is left to wait for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
