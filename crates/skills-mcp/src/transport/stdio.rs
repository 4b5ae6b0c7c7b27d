//! Serves one client on the standard streams until its input ends or a signal comes.

use std::{
    fmt,
    time::{Duration, Instant},
};

use rmcp::{ServiceExt as _, service::ServerInitializeError, transport::stdio_pipes};
use tokio_util::sync::CancellationToken;

use super::{Handler, Lines, shutdown, traced::Traced};

/// How long calls in flight may take to end once the client has gone.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client closed our input.
    Input,
    /// A signal.
    Signal(&'static str),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("the client closed the connection"),
            Self::Signal(name) => f.write_str(name),
        }
    }
}

/// Serves until the client leaves or a signal comes, and says when that was; calls in flight and open streams get a
/// moment to end.
pub async fn serve(handler: Handler) -> (Ended, Instant) {
    // Before anything is answered: a client may end us as soon as it hears of us.
    let signal = shutdown::signal();
    let (input, output) = stdio_pipes();
    let lines = Lines::new(input, output);
    let stop = CancellationToken::new();
    let ended = lines.ended();
    let notifier = handler.notifier.clone();
    let mut serving = tokio::spawn(run(handler, lines, stop.clone()));
    let why = tokio::select! {
        never = notifier.run() => match never {},
        _ = &mut serving => Ended::Input,
        () = ended.cancelled() => Ended::Input,
        name = signal => Ended::Signal(name),
    };
    let when = Instant::now();
    notifier.close();
    if matches!(why, Ended::Signal(_)) {
        stop.cancel();
    }
    if !serving.is_finished() && tokio::time::timeout(SHUTDOWN_TIMEOUT, serving).await.is_err() {
        tracing::warn!("leaving with calls in flight");
    }
    (why, when)
}

/// A notification or a response before the handshake makes the SDK give up; the client may still shake hands.
async fn run<R, W>(handler: Handler, lines: Lines<R, W>, stop: CancellationToken)
where
    R: tokio::io::AsyncRead + Unpin + Send + 'static,
    W: tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    loop {
        match Traced(handler.clone()).serve_with_ct(lines.clone(), stop.clone()).await {
            Ok(service) => {
                if let Err(error) = service.waiting().await {
                    tracing::error!("serving failed: {error}");
                }
                return;
            }
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {}
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return;
            }
            Err(error) => {
                tracing::error!("the handshake failed: {error}");
                return;
            }
        }
    }
}
