//! `collect`: takes events over HTTP from many servers, keeps and counts them.

#![expect(clippy::disallowed_methods, reason = "this command listens on a port")]

use std::{
    io::Write as _,
    net::{SocketAddr, ToSocketAddrs as _},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use skills_http::{
    guard::{AccessTokens, GuardError, HttpGuard},
    serving::serve,
};
use skills_usage::{
    archive::{Address, Archive, ArchiveError, Keep},
    web::{CatalogPages, Collector, Pages, RESERVED, behind_login, keep_pruned, login, pages},
};
use tokio::net::TcpListener;

use super::counter::ArchiveCounter;
use crate::{
    browse::{self, Browser, WholeCatalog},
    cli::{Context, Failure, Output},
    config::secret,
    store::{Store, keep, keep_synced},
    transport,
    usage::served,
};

#[derive(clap::Args)]
#[command(
    after_help = "On an address other than loopback it starts only with COLLECT_TOKEN (several, separated \
    by commas, while one replaces another). Put a proxy that speaks TLS in front of it."
)]
pub(crate) struct CollectOptions {
    /// Where to listen; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787")]
    listen: String,
    /// Where events are kept: `sqlite:FILE`, a `postgres://` URL, or `postgres` for the URL in
    /// `DATABASE_URL` (every user of this machine can see a password in an argument)
    #[arg(long, value_name = "ARCHIVE", default_value = "sqlite:events.db")]
    store: String,
    /// Delete events and their texts after this many days
    #[arg(long, value_name = "DAYS", default_value_t = 90,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_days: u32,
    /// Delete counts after this many days; never before the events
    #[arg(long, value_name = "DAYS", default_value_t = 730,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_counts_days: u32,
    /// Another host name of this server, such as that of a proxy; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

pub(super) fn run(context: &Context, options: &CollectOptions) -> Result<ExitCode, Failure> {
    let listen = listen_address(&options.listen)?;
    let tokens = AccessTokens::parse(&secret("COLLECT_TOKEN").unwrap_or_default())?;
    let guard = Arc::new(HttpGuard::new(listen, &options.hosts, tokens)?);
    let address = archive_address(&options.store)?;
    let keep_for = Keep { events: options.keep_days, counts: options.keep_counts_days };
    let store = if context.named()?.is_empty() { None } else { Some(Arc::new(context.store()?)) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let stop = transport::logged_signal();
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::environment(format!("{listen}: {error}"))
                .with_hint("name another with --listen ADDRESS:PORT; port 0 picks a free port")
        })?;
        let archive = Arc::new(Archive::open(&address, keep_for).await?);
        if !listen.ip().is_loopback() {
            tracing::warn!(
                "{listen} speaks plain HTTP: put a proxy that speaks TLS in front of it"
            );
        }
        announce(listener.local_addr()?);
        tracing::info!("keeping events in {address} for {} days", options.keep_days);
        let pruning = tokio::spawn(keep_pruned(Arc::clone(&archive)));
        if let Some(store) = &store {
            tokio::spawn(keep(Arc::clone(store)));
            tokio::spawn(keep_synced(Arc::clone(store)));
        }
        let has_catalog = store.is_some();
        let shown = Pages {
            archive: Arc::clone(&archive),
            catalog: store.as_ref().map(served),
            catalog_pages: if has_catalog { CatalogPages::Beside } else { CatalogPages::Absent },
        };
        let counter = ArchiveCounter::new(Arc::clone(&archive), true);
        let collector = Collector::new(archive, Arc::clone(&guard));
        let statistics = pages(shown, Arc::clone(&guard));
        let mut routes = collector.routes().merge(statistics).merge(login(Arc::clone(&guard)));
        if let Some(store) = &store {
            let snapshots = Arc::new(WholeCatalog(Arc::clone(store)));
            let browser = Browser { snapshots, counter: Some(Arc::new(counter)) };
            routes = routes.merge(behind_login(browse::routes(browser), guard));
        }
        serve(listener, routes, &RESERVED, stop).await;
        pruning.abort();
        Ok(ExitCode::SUCCESS)
    });
    store.as_deref().map(Store::stop_syncing);
    // Whatever waits for something else than what was being answered is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The one line of output: the parent process reads which port it is.
fn announce(address: SocketAddr) {
    let mut out = Output::new();
    out.line(format!("listening on http://{address}"));
    let _ = std::io::stdout().flush();
}

pub(super) fn listen_address(text: &str) -> Result<SocketAddr, Failure> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        Failure::usage(
            format!("--listen is `{text}`"),
            "use an address and a port, such as 127.0.0.1:8787 or [::1]:0",
        )
    })
}

pub(super) fn archive_address(text: &str) -> Result<Address, Failure> {
    if text != "postgres" {
        return Ok(Address::parse(text)?);
    }
    let url = secret("DATABASE_URL").ok_or_else(|| {
        let hint = "set it to postgres://USER:PASSWORD@HOST/DATABASE";
        Failure::usage("--store is `postgres`, and DATABASE_URL is not set", hint)
    })?;
    Ok(Address::parse(&url)?)
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Address(_) | ArchiveError::NoFile(_) | ArchiveError::NoHistory(_) => {
                Self::usage(error.to_string(), error.hint())
            }
            ArchiveError::Failed { .. }
            | ArchiveError::Newer { .. }
            | ArchiveError::Older { .. } => {
                Self::environment(error.to_string()).with_hint(error.hint())
            }
        }
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        match error {
            GuardError::Open(_) => Self::usage(
                error.to_string(),
                "set COLLECT_TOKEN in the environment, such as to the output of `openssl rand -hex 32`, or listen on 127.0.0.1",
            ),
            GuardError::ShortToken => Self::usage(
                format!("COLLECT_TOKEN: {error}"),
                "use a long random one, such as the output of `openssl rand -hex 32`",
            ),
        }
    }
}
