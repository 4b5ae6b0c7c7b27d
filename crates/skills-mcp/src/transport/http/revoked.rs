//! [`until_revoked`]: a stream ends when the token of its client is taken away, replaced or limited otherwise.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::header::CONTENT_TYPE,
    response::Response,
};
use skills_http::bearer::Principal;

use super::gate::Gate;

/// The answer, which ends early where it is a stream and its client may not have it any more.
pub(super) fn until_revoked(
    gate: &Gate,
    principal: Option<&Principal>,
    answer: Response,
) -> Response {
    let is_stream = || {
        let kind = answer.headers().get(CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    };
    let Some(principal) = principal.filter(|_| is_stream()) else { return answer };
    let revoked = Some(Box::pin(gate.revoked(principal.clone())) as Pin<Box<_>>);
    answer.map(|inner| Body::new(RevocableBody { inner, revoked }))
}

struct RevocableBody {
    inner: Body,
    /// None once it has ended.
    revoked: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        if let Some(revoked) = &mut self.revoked
            && revoked.as_mut().poll(cx).is_ready()
        {
            // The SDK hears that no client listens any more.
            *self = Self { inner: Body::empty(), revoked: None };
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }
}
