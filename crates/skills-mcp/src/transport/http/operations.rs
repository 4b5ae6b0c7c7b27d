//! What those who run the server ask it: whether it lives, whether it is ready, and its counts.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use skills_http::serving::{error, json};

use super::{endpoint::McpEndpoint, metrics};
use crate::store::Store;

/// Whether the process answers at all.
pub(super) async fn health() -> Response {
    json(StatusCode::OK, &json!({"status": "ok"}))
}

/// Whether skills are served: the catalog is there, and with it what each repository gave. The age is of the sync that is the
/// longest ago.
pub(super) async fn readiness(State(endpoint): State<Arc<McpEndpoint>>) -> Response {
    let store = endpoint.handler.dispatcher.store();
    let is_empty = store.repositories().any(|(_, _, repository)| repository.commit().is_none());
    let is_ready = store.known().is_some() && !is_empty;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let age = sync_ages(store).into_iter().map(|(_, age)| age.as_secs()).max();
    json(status, &json!({"ready": is_ready, "last_sync_seconds": age}))
}

/// How long ago each repository was synced.
pub(super) fn sync_ages(store: &Store) -> Vec<(Arc<str>, Duration)> {
    let age = |(_, source, repository): (
        _,
        &crate::source::Directory,
        &Arc<crate::source::git::Repository>,
    )| { Some((Arc::clone(source.name()), repository.state().age()?)) };
    store.repositories().filter_map(age).collect()
}

/// The counts, for those who may see everything.
pub(super) async fn metrics(
    State(endpoint): State<Arc<McpEndpoint>>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    match endpoint.gate.admit(&parts).await {
        Err(refused) => refused,
        Ok(by) if by.access.is_limited() => {
            let reason = "counts are of all skills, and this token is limited to some";
            error(StatusCode::FORBIDDEN, reason)
        }
        Ok(_) => {
            let sessions = endpoint.sessions.count(&endpoint.manager).await;
            let text = metrics::text(&endpoint.handler.dispatcher, sessions);
            ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
        }
    }
}
