//! `dashboard`: the page of what happened, on this machine or in an archive.

use std::{io::Write as _, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use tokio::net::TcpListener;

use super::{
    Context, Failure, Output,
    collect::{archive_address, listen_address},
    stats::history,
};
use crate::{
    analytics::archive::Archive,
    config::secret,
    source::Directory,
    store::{Store, keep, keep_synced},
    transport,
    web::{Door, Pages, Tokens, login, pages, serve},
};

#[derive(clap::Args)]
#[command(
    after_help = "On an address other than loopback it starts only with COLLECT_TOKEN. Put a proxy \
    that speaks TLS in front of it."
)]
pub(super) struct Options {
    /// Where to listen; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Show this history instead of the one that `analytics.file` names
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    file: Option<PathBuf>,
    /// Show what a collector keeps: `sqlite:FILE`, a `postgres://` URL, or `postgres` for the URL
    /// in `DATABASE_URL`
    #[arg(long, value_name = "ARCHIVE")]
    store: Option<String>,
    /// Another host name of this page, such as that of a proxy; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

pub(super) fn run(context: &Context, options: &Options) -> Result<ExitCode, Failure> {
    let store = context.store()?;
    // Where no source is there, nobody can say what is missing from it.
    let known = store.sources().iter().any(Directory::is_there);
    let store = known.then(|| Arc::new(store));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(show(context, options, store.clone()));
    store.as_deref().map(Store::stop_syncing);
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

async fn show(
    context: &Context,
    options: &Options,
    store: Option<Arc<Store>>,
) -> Result<(), Failure> {
    let listen = listen_address(&options.listen)?;
    let tokens = Tokens::parse(&secret("COLLECT_TOKEN").unwrap_or_default())?;
    let door = Arc::new(Door::new(listen, &options.hosts, tokens)?);
    let archive = Arc::new(archive(context, options).await?);
    let stop = transport::signal();
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::environment(format!("{listen}: {error}"))
            .with_hint("name another with --listen ADDRESS:PORT; port 0 picks a free port")
    })?;
    if let Some(store) = &store {
        tokio::spawn(keep(Arc::clone(store)));
        tokio::spawn(keep_synced(Arc::clone(store)));
    }
    // The one line of output: it can be clicked on, and whoever started us reads it.
    Output::new().line(format!("http://{}/", listener.local_addr()?));
    let _ = std::io::stdout().flush();
    let routes = pages(Pages { archive, store }, Arc::clone(&door)).merge(login(door));
    serve(listener, routes, async { tracing::info!("stopping: {}", stop.await) }).await;
    Ok(())
}

async fn archive(context: &Context, options: &Options) -> Result<Archive, Failure> {
    if let Some(store) = &options.store {
        return Ok(Archive::look(&archive_address(store)?).await?);
    }
    let settings = context.stack()?.settle(None).settings.analytics;
    let (archive, _) = history(context, options.file.as_deref(), &settings)?;
    Ok(archive)
}
