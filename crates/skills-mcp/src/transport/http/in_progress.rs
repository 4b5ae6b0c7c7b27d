//! [`InProgress`]: how many requests are being answered, to the last byte of their answers. [`until_sent`] keeps anything as long.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use tokio::sync::watch;

/// The number of requests that are being answered. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct InProgress(Arc<watch::Sender<usize>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct OneInProgress(Arc<watch::Sender<usize>>);

impl InProgress {
    pub(super) fn begin(&self) -> OneInProgress {
        self.0.send_modify(|count| *count += 1);
        OneInProgress(Arc::clone(&self.0))
    }

    /// Waits until there is none.
    pub(super) async fn none(&self) {
        // The sender lives as long as this does.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for OneInProgress {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Keeps something until the last byte of this answer is sent.
pub(super) fn until_sent<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    response.map(|inner| Body::new(KeepingBody { inner, _kept: kept }))
}

struct KeepingBody<T> {
    inner: Body,
    _kept: T,
}

impl<T: Unpin> HttpBody for KeepingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn what_goes_with_an_answer_is_kept_until_the_answer_is_done_with() {
        let kept = Arc::new(());
        let answer = until_sent("text".into_response(), Arc::clone(&kept));
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(answer);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
