//! `dashboard`: the page of what happened on this machine.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc};

use tokio::net::TcpListener;

use super::{Context, Failure, Output};
use crate::{
    analytics::archive::{Archive, lines::Lines},
    source::Directory,
    store::{Store, keep},
    web::page::{Pages, router},
};

#[derive(clap::Args)]
pub(super) struct Options {
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The history to show, instead of `analytics.file`
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) fn run(context: &Context, options: &Options) -> Result<ExitCode, Failure> {
    let file = match &options.file {
        Some(file) => file.clone(),
        None => PathBuf::from(context.stack()?.settle(None).settings.analytics.file),
    };
    let store = context.store()?;
    let known = store.sources().iter().any(Directory::is_there);
    let store = known.then(|| Arc::new(store));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(options.listen, Archive::Lines(Lines::new(file)), store))?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn serve(
    listen: SocketAddr,
    archive: Archive,
    store: Option<Arc<Store>>,
) -> Result<(), Failure> {
    let listener = TcpListener::bind(listen).await?;
    if let Some(store) = &store {
        tokio::spawn(keep(Arc::clone(store)));
    }
    Output::new().line(format!("http://{}/", listener.local_addr()?));
    let pages = Arc::new(Pages { archive: Arc::new(archive), store });
    axum::serve(listener, router(pages)).await?;
    Ok(())
}
