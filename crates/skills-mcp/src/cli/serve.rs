//! `serve`: MCP on standard input and output.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
    sync::Arc,
};

use super::{Context, Failure, NO_SOURCE};
use crate::{
    event::Sink,
    store::Cause,
    surface::TREE,
    transport::{self, Handler},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let store = Arc::new(context.store()?);
    for source in store.sources() {
        tracing::info!(source = &**source.name(), path = %source.path().display(), "serving");
    }
    if store.sources().is_empty() {
        tracing::warn!("no source is named, so there are no skills: {NO_SOURCE}");
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
        let scanned = Arc::clone(&store);
        // Beside the handshake, so that the first answer does not wait for the disk.
        tokio::task::spawn_blocking(move || scanned.refresh(Cause::Start));
        transport::serve(Handler::new(store, sink, TREE)).await
    });
    tracing::info!("stopped: {ended}");
    // A read of standard input may still block a thread, and nothing is left to wait for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
