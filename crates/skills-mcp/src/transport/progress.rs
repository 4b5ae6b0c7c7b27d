//! [`Progressing`]: a call that may take long. Its client may cancel it, and is notified of its progress where it asked for that.

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use tokio::sync::mpsc;

use crate::script::{Caller, Progress};

/// A call whose client may cancel it and may want to know of its progress.
pub(super) struct Progressing<'a> {
    /// The client, as the surface knows it.
    pub(super) caller: Caller,
    peer: &'a Peer<RoleServer>,
    /// What the call reports, and the token that its client gave for that.
    reports: Option<(ProgressToken, mpsc::UnboundedReceiver<Progress>)>,
}

impl<'a> Progressing<'a> {
    /// The call of this request.
    pub(super) fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let cancelled = context.ct.clone();
        let (progress, reports) = match context.meta.get_progress_token() {
            Some(token) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Some(sender), Some((token, receiver)))
            }
            None => (None, None),
        };
        Self { caller: Caller { cancelled, progress }, peer: &context.peer, reports }
    }

    /// Waits for the answer and passes on what is reported before it; no report follows the answer.
    pub(super) async fn until<T>(self, answer: impl Future<Output = T>) -> T {
        let mut answer = std::pin::pin!(answer);
        let Some((token, mut reports)) = self.reports else { return answer.await };
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                Some(progress) = reports.recv() => notify(self.peer, &token, progress).await,
            }
        }
    }
}

async fn notify(peer: &Peer<RoleServer>, token: &ProgressToken, progress: Progress) {
    let Progress { seconds, of } = progress;
    let param = ProgressNotificationParam::new(token.clone(), seconds)
        .with_total(of)
        .with_message(format!("running for {seconds} s of at most {of} s"));
    // A client that has gone is noticed when the answer is sent.
    let _ = peer.notify_progress(param).await;
}
