//! `dashboard`: the pages of the catalog, and of what happened on this machine or in an archive.

#![expect(clippy::disallowed_methods, reason = "this command listens on a port")]

use std::{io::Write as _, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use skills_http::{
    guard::{AccessTokens, HttpGuard},
    serving::serve,
};
use skills_usage::{
    archive::Archive,
    web::{CatalogPages, Pages, RESERVED, behind_login, login, pages},
};
use tokio::net::TcpListener;

use super::{
    browser,
    collect::{archive_address, listen_address},
    counter::ArchiveCounter,
    stats::history,
};
use crate::{
    browse::{self, Browser, WholeCatalog},
    cli::{Context, Failure, Output, ask::is_terminal, log, output::aside},
    config::secret,
    source::Directory,
    store::{Cause, Store, keep, keep_synced},
    transport,
    usage::served,
};

#[derive(clap::Args)]
#[command(
    after_help = "On an address other than loopback it starts only with COLLECT_TOKEN. Put a proxy \
    that speaks TLS in front of it."
)]
pub(crate) struct DashboardOptions {
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
    /// Do not open the browser; it is opened on a terminal only
    #[arg(long)]
    no_open: bool,
}

pub(super) fn run(context: &Context, options: &DashboardOptions) -> Result<ExitCode, Failure> {
    let store = context.store()?;
    // Without a source there is nothing that could be missing.
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
    options: &DashboardOptions,
    store: Option<Arc<Store>>,
) -> Result<(), Failure> {
    let listen = listen_address(&options.listen)?;
    let tokens = AccessTokens::parse(&secret("COLLECT_TOKEN").unwrap_or_default())?;
    let guard = Arc::new(HttpGuard::new(listen, &options.hosts, tokens)?);
    let (archive, is_recorded) = archive(context, options).await?;
    let archive = Arc::new(archive);
    let stop = transport::logged_signal();
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::environment(format!("{listen}: {error}"))
            .with_hint("name another with --listen ADDRESS:PORT; port 0 picks a free port")
    })?;
    if let Some(store) = &store {
        // What is wrong with the skills is logged before the address, which would be lost between warnings.
        let first = Arc::clone(store);
        let _ = tokio::task::spawn_blocking(move || first.refresh(Cause::Start)).await;
        tokio::spawn(keep(Arc::clone(store)));
        tokio::spawn(keep_synced(Arc::clone(store)));
    }
    announce(context, options, &format!("http://{}/", listener.local_addr()?))?;
    let catalog_pages = match (&store, is_recorded) {
        (None, _) => CatalogPages::Absent,
        (Some(_), true) => CatalogPages::Beside,
        (Some(_), false) => CatalogPages::BeforeNothing,
    };
    let counter = ArchiveCounter::new(Arc::clone(&archive), is_recorded);
    let shown = Pages { archive, catalog: store.as_ref().map(served), catalog_pages };
    let mut routes = pages(shown, Arc::clone(&guard)).merge(login(Arc::clone(&guard)));
    if let Some(store) = store {
        let snapshots = Arc::new(WholeCatalog(store));
        let browser = Browser { snapshots, counter: Some(Arc::new(counter)) };
        routes = routes.merge(behind_login(browse::routes(browser), guard));
    }
    serve(listener, routes, &RESERVED, stop).await;
    Ok(())
}

/// The one line of output: it can be clicked on, and the parent process reads it. A person at a terminal gets the page too.
fn announce(context: &Context, options: &DashboardOptions, address: &str) -> Result<(), Failure> {
    log::flush();
    Output::new().line(address);
    let _ = std::io::stdout().flush();
    if !options.no_open && is_terminal() {
        let roots = context.layers()?.resolve(None).settings.scripts.roots;
        let opened = browser::open(&context.environment, &roots, address);
        aside(if opened { "opened in your browser; Ctrl-C ends it" } else { "Ctrl-C ends it" });
    }
    Ok(())
}

/// Where the events are, and whether there should be any: the operator named the place, or turned analytics on.
async fn archive(
    context: &Context,
    options: &DashboardOptions,
) -> Result<(Archive, bool), Failure> {
    if let Some(store) = &options.store {
        return Ok((Archive::look(&archive_address(store)?).await?, true));
    }
    let settings = context.layers()?.resolve(None).settings.analytics;
    let (archive, _) = history(context, options.file.as_deref(), &settings)?;
    Ok((archive, settings.enabled || options.file.is_some()))
}
