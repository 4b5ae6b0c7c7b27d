//! Signals → one future.

/// Waits for SIGINT, SIGTERM or SIGHUP and says which.
pub(super) async fn signal() -> &'static str {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        if let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
            (interrupt, terminate, hangup)
        {
            return tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
                _ = hangup.recv() => "SIGHUP",
            };
        }
    }
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}
