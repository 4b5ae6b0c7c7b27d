//! [`serve`]: requests with limits on their number and on the time their heads take, and the headers of every answer.
//!
//! On a stop, requests that are being answered are answered. Not here: what is answered.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use hyper::{
    body::Incoming,
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

pub use crate::connections::{ConnectionLimits, MAX_CONNECTIONS};
use crate::{
    answers::AnswerBudget,
    connections::{ConnectionSlot, Connections},
    guard::{GuardRefusal, HttpGuard},
    shares::RequestSender,
    slow::{SlowestReader, TimedStream},
};

/// Requests answered at once, besides those of [`ReservedRoute`]s; one more is refused with 503.
pub const MAX_REQUESTS: usize = 64;
/// A connection whose next head takes longer ends; so does one that is idle for as long.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A client that does not read its answers keeps its connection no longer.
const MAX_CONNECTION_AGE: Duration = Duration::from_mins(5);
/// For requests that are being answered when the server stops, or when a connection is too old.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Before the next connection is accepted, where one could not be.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// What every answer says to a browser: believe the type, load nothing from elsewhere, send other sites no referrer,
/// store nothing, and let no other page have it.
const HEADERS: [(header::HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    // With `no-referrer` a browser would not send its origin to this server either, and be refused.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A path with a limit of its own, so that other requests cannot keep these out.
#[derive(Debug, Clone, Copy)]
pub struct ReservedRoute {
    /// The path.
    pub path: &'static str,
    /// Requests for it that are answered at once.
    pub max_requests: usize,
}

/// These routes behind this guard: a request that it refuses is answered before its body is read.
pub fn guarded(routes: Router, guard: Arc<HttpGuard>) -> Router {
    routes.layer(from_fn_with_state(guard, check))
}

async fn check(State(guard): State<Arc<HttpGuard>>, request: Request, next: Next) -> Response {
    match guard.check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(refusal),
    }
}

/// The answer to a request that the guard refuses.
pub fn refused(refusal: GuardRefusal) -> Response {
    let mut response = error(refusal.status(), refusal.reason());
    if refusal == GuardRefusal::Token {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// An answer for a client that should try again soon.
pub fn unavailable(reason: &str) -> Response {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An answer that says what is wrong.
pub fn error(status: StatusCode, reason: &str) -> Response {
    json(status, &json!({"error": reason}))
}

/// An answer as JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// How many more requests are answered, by path.
struct RequestLimits {
    reserved: Vec<(&'static str, Semaphore)>,
    others: Semaphore,
}

impl RequestLimits {
    fn new(max_requests: usize, reserved: &[ReservedRoute]) -> Self {
        let limit = |route: &ReservedRoute| (route.path, Semaphore::new(route.max_requests));
        Self {
            reserved: reserved.iter().map(limit).collect(),
            others: Semaphore::new(max_requests),
        }
    }

    fn of(&self, path: &str) -> &Semaphore {
        let reserved = self.reserved.iter().find(|(reserved, _)| *reserved == path);
        reserved.map_or(&self.others, |(_, limit)| limit)
    }
}

/// Gives an answer the headers that it does not have.
fn add_headers(response: &mut Response) {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// What a server bears.
#[derive(Debug, Clone, Copy)]
pub struct ServingLimits<'a> {
    /// Requests answered at once, besides those of reserved routes.
    pub max_requests: usize,
    /// Paths with limits of their own.
    pub reserved: &'a [ReservedRoute],
    /// Open connections.
    pub connections: ConnectionLimits,
    /// A connection whose next head takes longer ends; so does one that is idle for as long.
    pub head_timeout: Duration,
    /// A connection that is older ends once its request is answered.
    pub max_connection_age: Duration,
}

/// A client that is slower with what is ready for it is cut off: 8 MiB take half an hour at most.
const SLOWEST_READER: SlowestReader =
    SlowestReader { bytes: 128 * 1024, within: Duration::from_secs(30) };

/// Where a request comes from, among its extensions.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// Serves these routes until `stop` is done, and then answers what is being answered.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    reserved: &[ReservedRoute],
    stop: impl Future<Output = ()>,
) {
    let limits = ServingLimits {
        max_requests: MAX_REQUESTS,
        reserved,
        connections: ConnectionLimits::default(),
        head_timeout: HEAD_TIMEOUT,
        max_connection_age: MAX_CONNECTION_AGE,
    };
    serve_within(listener, routes, &limits, stop).await;
}

/// The same within these limits.
pub async fn serve_within(
    listener: TcpListener,
    routes: Router,
    limits: &ServingLimits<'_>,
    stop: impl Future<Output = ()>,
) {
    let times = ConnectionTimes { head: limits.head_timeout, age: limits.max_connection_age };
    let connections = Arc::new(Connections::new(limits.connections));
    let limits = Arc::new(RequestLimits::new(limits.max_requests, limits.reserved));
    let answers = Arc::new(AnswerBudget::default());
    let (stopping, _) = watch::channel(false);
    let mut open = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                // A connection without a slot is closed.
                Ok((stream, from)) => if let Some(slot) = connections.admit(from.ip()) {
                    let stopping = stopping.subscribe();
                    let routes = TowerToHyperService::new(routes.clone());
                    let (limits, answers) = (Arc::clone(&limits), Arc::clone(&answers));
                    let served = ServedRoutes { routes, limits, answers };
                    open.spawn(serve_connection(stream, from.ip(), served, stopping, slot, times));
                },
                // Out of descriptors, most likely.
                Err(error) => {
                    tracing::warn!("no connection could be accepted: {error}");
                    connections.make_room();
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            Some(_) = open.join_next() => {}
        }
    }
    drop(listener);
    let _ = stopping.send(true);
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while open.join_next().await.is_some() {} }).await;
}

#[derive(Clone, Copy)]
struct ConnectionTimes {
    head: Duration,
    age: Duration,
}

/// What is served on a connection.
struct ServedRoutes {
    routes: TowerToHyperService<Router>,
    limits: Arc<RequestLimits>,
    answers: Arc<AnswerBudget>,
}

impl ServedRoutes {
    /// Answers one request. No layer around the routes: each would be cloned and boxed for every request.
    async fn answer(&self, request: hyper::Request<Incoming>, from: IpAddr) -> Response {
        let response = match self.limits.of(request.uri().path()).try_acquire() {
            Ok(_permit) => match self.routes.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(_) => unavailable("too many requests at once"),
        };
        // The routes know more of the sender than its address, where they ask for a name.
        let sender = response.extensions().get::<RequestSender>().cloned();
        let sender = sender.unwrap_or_else(|| RequestSender::at(from));
        let admitted = self.answers.admit(response, sender).await;
        let mut response = admitted.unwrap_or_else(|unread| unavailable(&unread.to_string()));
        add_headers(&mut response);
        response
    }
}

async fn serve_connection(
    stream: TcpStream,
    from: IpAddr,
    served: ServedRoutes,
    mut stopping: watch::Receiver<bool>,
    slot: ConnectionSlot,
    times: ConnectionTimes,
) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(PeerAddress(from));
        let (in_progress, answer) = (slot.start_request(), served.answer(request, from));
        async move {
            let _in_progress = in_progress;
            Ok::<_, Infallible>(answer.await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.head)
        .max_header_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(TimedStream::new(stream, SLOWEST_READER)), service);
    tokio::pin!(connection);
    tokio::select! {
        // A client that broke it off knows that it did.
        _ = &mut connection => {}
        () = slot.displaced() => {}
        () = async {
            // Either ends the connection.
            let _ = timeout(times.age, stopping.wait_for(|stopping| *stopping)).await;
        } => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(SHUTDOWN_TIMEOUT, connection).await;
        }
    }
}
