//! MCP over HTTP: one server for many clients, each of which sees what it may see.
//!
//! A request passes the [`Gate`], its body is read within limits, and it is answered: a plain call of a tool right away
//! (`direct`), everything else by the SDK. Beside `/mcp` there are health, metrics, the sign-in metadata and the webhook. TLS is
//! left to a proxy. Not here: what a tool says, which options start the server.

mod direct;
mod endpoint;
mod gate;
mod hook;
mod in_progress;
mod json_weight;
mod metrics;
mod opening;
mod operations;
#[cfg(feature = "browse")]
mod pages;
mod revoked;
mod sessions;
mod sign_in;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    routing::{any, get, post},
};
use endpoint::McpEndpoint;
pub use gate::{Gate, GateSettings};
use hook::HookRequests;
use skills_http::{
    serving::{ConnectionLimits, ReservedRoute, ServingLimits, serve_within},
    webhook::WebhookSecret,
};
use tokio::net::TcpListener;

use super::Handler;

/// Where MCP is.
pub const MCP_PATH: &str = "/mcp";

const MAX_HTTP_CONNECTIONS: usize = 8_192;
/// Requests answered at once. One whose body comes slowly is among them, so there are as many as connections; the dispatcher
/// lets few run at a time.
const MAX_HTTP_REQUESTS: usize = MAX_HTTP_CONNECTIONS;
/// A proxy is one address, and so is a team behind one.
const MAX_HTTP_CONNECTIONS_OF_ADDRESS: usize = 4_096;
/// Clients keep connections open between calls.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// A stream that a client listens on may be open all day.
const MAX_STREAM_AGE: Duration = Duration::from_hours(12);
/// Streams end before anything else does; a moment for their last words.
const STREAM_END_DELAY: Duration = Duration::from_millis(200);
/// Calls in flight have so long to be answered when the server stops.
const CALLS_END_TIMEOUT: Duration = Duration::from_secs(8);

/// Health is asked for however busy the server is.
const RESERVED: [ReservedRoute; 3] = [
    ReservedRoute { path: "/healthz", max_requests: 16 },
    ReservedRoute { path: "/readyz", max_requests: 16 },
    ReservedRoute { path: "/metrics", max_requests: 4 },
];

/// Serves until `stop` is done: open streams end, calls in flight are answered, and no new ones are taken.
pub async fn serve_http(
    handler: Handler,
    listener: TcpListener,
    gate: Arc<Gate>,
    secret: Option<WebhookSecret>,
    stop: impl Future<Output = ()>,
) {
    let notifier = handler.notifier.clone();
    let hooks =
        HookRequests::new(Arc::clone(handler.dispatcher.store()), secret, Arc::clone(&gate));
    let syncing = tokio::spawn(Arc::clone(&hooks).run());
    let endpoint = Arc::new(McpEndpoint::new(handler, gate));
    let notifying = {
        let notifier = notifier.clone();
        tokio::spawn(async move { notifier.run().await })
    };
    let limits = ServingLimits {
        max_requests: MAX_HTTP_REQUESTS,
        reserved: &RESERVED,
        connections: ConnectionLimits {
            total: MAX_HTTP_CONNECTIONS,
            of_address: MAX_HTTP_CONNECTIONS_OF_ADDRESS,
        },
        head_timeout: IDLE_TIMEOUT,
        max_connection_age: MAX_STREAM_AGE,
    };
    let ending = Arc::clone(&endpoint);
    let stop = async {
        stop.await;
        notifier.close();
        tokio::spawn(async move {
            tokio::time::sleep(STREAM_END_DELAY).await;
            let _ = tokio::time::timeout(CALLS_END_TIMEOUT, ending.in_progress.none()).await;
            // What is left are streams of clients with a handshake, which have no end of their own.
            ending.close();
        });
    };
    serve_within(listener, routes(endpoint, hooks), &limits, stop).await;
    notifying.abort();
    syncing.abort();
}

fn routes(endpoint: Arc<McpEndpoint>, hooks: Arc<HookRequests>) -> Router {
    let mut routes = Router::new()
        .route(MCP_PATH, any(endpoint::answer))
        .route("/healthz", get(operations::health))
        .route("/readyz", get(operations::readiness))
        .route("/metrics", get(operations::metrics));
    if endpoint.gate.issuer().is_some() {
        routes = routes
            .route(sign_in::METADATA_PATH, get(sign_in::metadata))
            .route(&format!("{}{MCP_PATH}", sign_in::METADATA_PATH), get(sign_in::metadata));
    }
    #[cfg(feature = "browse")]
    let pages = {
        let dispatcher = Arc::clone(&endpoint.handler.dispatcher);
        pages::routes(dispatcher, Arc::clone(&endpoint.gate))
    };
    let routes = routes.with_state(endpoint);
    #[cfg(feature = "browse")]
    let routes = routes.merge(pages);
    if hooks.is_offered() {
        let hook = Router::new().route("/hooks/refresh", post(hook::receive)).with_state(hooks);
        return routes.merge(hook);
    }
    routes
}
