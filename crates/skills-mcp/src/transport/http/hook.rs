//! [`HookRequests`]: a git host reports a push, and the repositories are synced.
//!
//! Many reports are one sync: they are gathered for a moment, and one sync runs at a time. Nothing of a report is used but that it came.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use serde_json::json;
use skills_http::{
    log_limit::LogLimit,
    rate::RatedClient,
    serving::{error, json},
    webhook::{BodySignature, WebhookSecret},
};
use tokio::{sync::Notify, task::spawn_blocking, time::sleep, time::timeout};

use super::gate::{Gate, REFUSALS_LOG_INTERVAL, address};
use crate::store::{Cause, Store, Urgency};

/// Reports of large pushes are long; a longer one is refused.
const MAX_REPORT_BYTES: usize = 8 * 1024 * 1024;
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Reports that come within this time are one.
const HOOK_DEBOUNCE: Duration = Duration::from_millis(500);
/// While another sync runs, the next is tried after this.
const HOOK_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The reports of git hosts.
pub(super) struct HookRequests {
    store: Arc<Store>,
    secret: Option<WebhookSecret>,
    gate: Arc<Gate>,
    reported: Notify,
    refused: LogLimit,
}

impl HookRequests {
    pub(super) fn new(
        store: Arc<Store>,
        secret: Option<WebhookSecret>,
        gate: Arc<Gate>,
    ) -> Arc<Self> {
        let refused = LogLimit::every(REFUSALS_LOG_INTERVAL);
        Arc::new(Self { store, secret, gate, reported: Notify::new(), refused })
    }

    /// Whether there is a secret to know a git host by.
    pub(super) fn is_offered(&self) -> bool {
        self.secret.is_some()
    }

    /// Syncs after every report, for as long as it is polled.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            self.reported.notified().await;
            sleep(HOOK_DEBOUNCE).await;
            loop {
                let store = Arc::clone(&self.store);
                let synced = spawn_blocking(move || {
                    if store.repositories().next().is_none() {
                        store.refresh(Cause::Asked);
                        return true;
                    }
                    store.sync(Urgency::Now, None).is_some()
                });
                // A sync that ran already may have asked the remote before the push.
                if synced.await.unwrap_or(true) {
                    break;
                }
                sleep(HOOK_RETRY_DELAY).await;
            }
        }
    }
}

/// The signature of a report, made as it comes: until it is known who sends it, nothing of it is kept. None for one that is too
/// long or breaks off.
async fn signature_of(mut body: Body, secret: &WebhookSecret) -> Option<BodySignature> {
    let (mut signature, mut bytes) = (secret.sign(), 0);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let part = frame.ok()?.into_data().unwrap_or_default();
        bytes += part.len();
        if bytes > MAX_REPORT_BYTES {
            return None;
        }
        signature.add(&part);
    }
    Some(signature)
}

/// Takes one report.
pub(super) async fn receive(State(hooks): State<Arc<HookRequests>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(refused) = hooks.gate.refuse_rate(&RatedClient::at(address(&parts))) {
        return refused;
    }
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let (signature, token) = (header("x-hub-signature-256"), header("x-gitlab-token"));
    let known = match (&hooks.secret, signature, token) {
        (Some(secret), Some(signature), _) => {
            // A signature is over the whole body.
            match timeout(REPORT_TIMEOUT, signature_of(body, secret)).await {
                Ok(Some(made)) => made.is(signature),
                Ok(None) => {
                    return error(
                        StatusCode::PAYLOAD_TOO_LARGE,
                        "the report is too long, or broke off",
                    );
                }
                Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the report took too long"),
            }
        }
        (Some(secret), None, Some(token)) => secret.is(token),
        (Some(_), None, None) | (None, _, _) => false,
    };
    if !known {
        if let Some(times) = hooks.refused.count(1) {
            tracing::warn!(
                times,
                "a report to the webhook was refused: it does not know the secret"
            );
        }
        let reason = "the report is not signed with the secret of this webhook";
        return error(StatusCode::UNAUTHORIZED, reason);
    }
    hooks.reported.notify_one();
    json(StatusCode::ACCEPTED, &json!({"accepted": true}))
}
