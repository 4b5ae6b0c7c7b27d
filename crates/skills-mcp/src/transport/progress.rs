//! What a client is told while a call runs: how long it has been running, where it asked to hear of that.

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use tokio::sync::mpsc;

use crate::script::{Caller, Progress};

/// What is told while a call runs, and under which token.
pub(super) type Told = Option<(ProgressToken, mpsc::UnboundedReceiver<Progress>)>;

/// Who asks: may take the request back, and hears of progress where a token came with it.
pub(super) fn caller(context: &RequestContext<RoleServer>) -> (Caller, Told) {
    let cancelled = context.ct.clone();
    let Some(token) = context.meta.get_progress_token() else {
        return (Caller { cancelled, progress: None }, None);
    };
    let (progress, told) = mpsc::unbounded_channel();
    (Caller { cancelled, progress: Some(progress) }, Some((token, told)))
}

/// Waits for the answer and passes on what is told before it; nothing is told behind it.
pub(super) async fn answered_meanwhile<T>(
    running: impl Future<Output = T>,
    told: Told,
    context: &RequestContext<RoleServer>,
) -> T {
    let mut running = std::pin::pin!(running);
    let Some((token, mut told)) = told else { return running.await };
    loop {
        tokio::select! {
            answer = &mut running => return answer,
            Some(progress) = told.recv() => notify(&context.peer, &token, progress).await,
        }
    }
}

async fn notify(peer: &Peer<RoleServer>, token: &ProgressToken, progress: Progress) {
    let Progress { seconds, of } = progress;
    let param = ProgressNotificationParam::new(token.clone(), seconds)
        .with_total(of)
        .with_message(format!("running for {seconds} s of at most {of} s"));
    // A client that has gone is noticed by the answer.
    let _ = peer.notify_progress(param).await;
}
