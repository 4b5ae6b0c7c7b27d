//! Requests, bounded: how many, how long their heads and bodies take; and what every answer says.
//!
//! A stop lets what is being answered be answered. Not here: what is answered.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use hyper::{
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serde::Serialize;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Door, Refused,
    connections::{Connections, Place},
};

/// So many requests are worked on at once; the next one is asked to come again.
const REQUESTS: usize = 64;
/// As many again bring events: slow pages keep none of them out.
const EVENTS: (&str, usize) = ("/v1/events", REQUESTS);
/// A few more ask whether all is well.
const HEALTH: (&str, usize) = ("/healthz", 8);
/// So few bring a token by a form, which nobody has looked at yet.
const LOGIN: (&str, usize) = ("/login", 8);
/// A head that takes longer is none. A connection that nobody uses ends after it, too.
const HEAD: Duration = Duration::from_secs(15);
const HEAD_BYTES: usize = 64 * 1024;
/// A connection gets no older; whoever does not read what they asked for keeps no place.
const LIFE: Duration = Duration::from_mins(5);
/// What is being answered when we stop, or when a connection is old, has this long.
const LAST_CALL: Duration = Duration::from_secs(10);

/// What every answer says to a browser: believe the type, load nothing from elsewhere, tell nobody, keep nothing, and
/// let no other page have it.
const HEADERS: [(header::HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    // Nobody elsewhere is told. With `no-referrer` a browser would not say its origin to us either, and be refused.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// These routes behind this door: whoever is not let in is told so before anything of theirs is read.
pub fn guarded(routes: Router, door: Arc<Door>) -> Router {
    routes.layer(from_fn_with_state(door, enter))
}

async fn enter(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    match door.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refusal(refused),
    }
}

/// What somebody who is not let in is answered.
pub(super) fn refusal(refused: Refused) -> Response {
    let mut response = said(refused.status(), refused.reason());
    if refused == Refused::Token {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// An answer for somebody who should come again soon.
pub(super) fn later(reason: &str) -> Response {
    let mut response = said(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An answer that says what is wrong.
pub(super) fn said(status: StatusCode, reason: &str) -> Response {
    written(status, &json!({"error": reason}))
}

/// An answer for machines.
pub(super) fn written(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Room for requests, by what they are for.
struct Places {
    events: Semaphore,
    health: Semaphore,
    login: Semaphore,
    others: Semaphore,
}

impl Places {
    fn new() -> Self {
        Self {
            events: Semaphore::new(EVENTS.1),
            health: Semaphore::new(HEALTH.1),
            login: Semaphore::new(LOGIN.1),
            others: Semaphore::new(REQUESTS),
        }
    }

    fn of(&self, path: &str) -> &Semaphore {
        match path {
            path if path == EVENTS.0 => &self.events,
            path if path == HEALTH.0 => &self.health,
            path if path == LOGIN.0 => &self.login,
            _ => &self.others,
        }
    }
}

async fn bounded(State(places): State<Arc<Places>>, request: Request, next: Next) -> Response {
    match places.of(request.uri().path()).try_acquire() {
        Ok(_place) => next.run(request).await,
        Err(_) => later("too many requests at once"),
    }
}

async fn headed(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Serves these routes until it is told to stop, and what is being answered then to its end.
pub async fn serve(listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
    let places = Arc::new(Places::new());
    let routes = routes.layer(from_fn_with_state(places, bounded)).layer(from_fn(headed));
    let connections = Arc::new(Connections::default());
    let (stopping, _) = watch::channel(false);
    let mut open = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                // One without a place is closed.
                Ok((stream, from)) => if let Some(place) = connections.admit(from.ip()) {
                    open.spawn(converse(stream, routes.clone(), stopping.subscribe(), place));
                },
                // Out of descriptors, most likely: the system wants one back.
                Err(error) => {
                    tracing::warn!("no connection could be accepted: {error}");
                    connections.make_room();
                    sleep(Duration::from_millis(100)).await;
                }
            },
            // Those that ended are let go.
            Some(_) = open.join_next() => {}
        }
    }
    drop(listener);
    let _ = stopping.send(true);
    let _ = timeout(LAST_CALL, async { while open.join_next().await.is_some() {} }).await;
}

async fn converse(
    stream: TcpStream,
    routes: Router,
    mut stopping: watch::Receiver<bool>,
    place: Place,
) {
    let _ = stream.set_nodelay(true);
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(|request| {
        let (answering, answer) = (place.answering(), routes.call(request));
        async move {
            let _answering = answering;
            answer.await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // Whoever broke it off knows that they did.
        _ = &mut connection => {}
        () = place.displaced() => {}
        () = async {
            // Either is a reason to end.
            let _ = timeout(LIFE, stopping.wait_for(|stopping| *stopping)).await;
        } => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(LAST_CALL, connection).await;
        }
    }
}
