//! `serve`: MCP on standard input and output.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use super::{Context, Failure, NO_SOURCE};
use crate::{
    event::Sink,
    script::{self, Runs},
    store::{Cause, Store},
    surface::Face,
    transport::{self, Handler},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let store = context.store()?;
    let face = context.face()?;
    serve(context, store, face)
}

/// Serves this store under this face until the client leaves.
pub(super) fn serve(context: &Context, store: Store, face: Face) -> Result<ExitCode, Failure> {
    let store = Arc::new(store);
    let there = || store.sources().iter().filter(|source| source.is_there());
    for source in there() {
        tracing::info!(source = &**source.name(), path = %source.path().display(), "serving");
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
    let sink = Sink::new(context.environment.server_id(), |recorded| {
        tracing::debug!(event = serde_json::to_string(&recorded).unwrap_or_default(), "recorded");
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::spawn(look_again(Arc::clone(&store), !face.rescan));
        tokio::task::spawn_blocking(script::sweep);
        let runs = Runs::new(&context.environment);
        transport::serve(Handler::new(store, sink, face, runs)).await
    });
    tracing::info!("stopped: {ended}");
    // A read of standard input may still block a thread, and nothing is left to wait for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// How long until the next look after one that failed.
const PATIENCE_SECONDS: u64 = 30;

/// Looks at the sources now, beside the handshake, so that the first answer does not wait for the disk; and then every
/// so often. The ranked index is made ready too, before somebody waits for it.
async fn look_again(store: Arc<Store>, periodically: bool) {
    let mut cause = Cause::Start;
    loop {
        let looking = Arc::clone(&store);
        let looked = tokio::task::spawn_blocking(move || {
            let snapshot = looking.refresh(cause).snapshot;
            snapshot.ranked();
            snapshot.settings().refresh.scan_seconds
        });
        // A look that panics is one that found nothing; the next may fare better.
        let seconds = looked.await.unwrap_or(PATIENCE_SECONDS);
        if !periodically {
            return;
        }
        cause = Cause::Periodic;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}
