//! Signals → one future.

/// Waits for SIGINT, SIGTERM or SIGHUP and says which. Signals are caught from the call on, not from the first wait.
#[cfg(unix)]
pub fn signal() -> impl Future<Output = &'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let caught =
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = caught else {
            return interrupted().await;
        };
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
            _ = hangup.recv() => "SIGHUP",
        }
    }
}

/// The same, and logs which.
pub fn logged_signal() -> impl Future<Output = ()> {
    let signal = signal();
    async {
        // Not inside of the macro: it does not wait for what it does not log.
        let name = signal.await;
        tracing::info!("stopping: {name}");
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub fn signal() -> impl Future<Output = &'static str> {
    interrupted()
}

async fn interrupted() -> &'static str {
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}
