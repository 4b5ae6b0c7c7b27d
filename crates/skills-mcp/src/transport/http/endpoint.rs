//! [`McpEndpoint`]: `/mcp`. Checks a request, reads its body within limits, and has it answered.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use skills_http::{
    bodies::{BodyBudget, BodyRefusal},
    serving::{error, unavailable},
};
use tokio_util::sync::CancellationToken;

use super::{
    direct,
    gate::{AdmittedCaller, Gate},
    in_progress::{InProgress, until_sent},
    json_weight::JsonWeight,
    opening::Opening,
    revoked::until_revoked,
    sessions::{self, SessionRequest, Sessions},
};
use crate::transport::{Handler, lines};

/// No request of ours needs more.
const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_BODY_VALUES: usize = 50_000;
/// What a client says when it opens a session or a stream is kept for as long as that is open, so it may say no more.
const MAX_KEPT_BODY_BYTES: usize = 64 * 1024;
const MAX_KEPT_BODY_VALUES: usize = 1_000;
/// Bodies that are not small share this much memory while they come, and until they are answered. A principal with a token has a
/// quarter at most.
const BODY_MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// Once they have come whole they share this much for what is parsed of them.
const PARSED_MEMORY_BYTES: usize = 128 * 1024 * 1024;

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The place where MCP is answered.
pub(super) struct McpEndpoint {
    pub(super) handler: Handler,
    pub(super) gate: Arc<Gate>,
    pub(super) in_progress: InProgress,
    pub(super) sessions: Sessions,
    pub(super) manager: Arc<LocalSessionManager>,
    sdk: StreamableHttpService<Handler, LocalSessionManager>,
    bodies: BodyBudget,
    parsed: BodyBudget,
    /// Who answers, as every result of the stateless era says it.
    meta_of_server: Option<Box<RawValue>>,
    /// Ends every stream of the SDK.
    closing: CancellationToken,
}

impl McpEndpoint {
    pub(super) fn new(handler: Handler, gate: Arc<Gate>) -> Self {
        let closing = CancellationToken::new();
        // Hosts and origins are the gate's.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_sse_retry(sessions::SSE_RETRY)
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(closing.clone());
        let manager = Arc::new(sessions::manager());
        let each = handler.clone();
        let sdk =
            StreamableHttpService::new(move || Ok(each.clone()), Arc::clone(&manager), config);
        let meta = handler.modern_meta();
        let meta_of_server = meta.and_then(|meta| to_raw_value(&meta).ok());
        Self {
            handler,
            gate,
            in_progress: InProgress::default(),
            sessions: Sessions::default(),
            manager,
            sdk,
            bodies: BodyBudget::new(BODY_MEMORY_BYTES),
            parsed: BodyBudget::new(PARSED_MEMORY_BYTES),
            meta_of_server,
            closing,
        }
    }

    /// Ends what has no end of its own.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    async fn post(
        &self,
        mut parts: Parts,
        body: Body,
        by: AdmittedCaller,
    ) -> Result<Response, Response> {
        let sender = by.sender();
        let read = self.bodies.read(body, MAX_BODY_BYTES, &sender).await;
        let (body, share) = read.map_err(BodyRefusal::into_response)?;
        let weight = JsonWeight::of(&body);
        if weight.values() > MAX_BODY_VALUES {
            return Err(too_many_values("the body", MAX_BODY_VALUES));
        }
        let parsed = self.parsed.take(weight.memory(), &sender).await;
        let parsed = parsed.map_err(BodyRefusal::into_response)?;
        if let Some(call) = direct::read(&parts.headers, &body) {
            let meta = self.meta_of_server.as_deref();
            return Ok(direct::answer(&self.handler, call, by.access, meta).await);
        }
        let message = prepared(body, &weight).map_err(|refused| *refused)?;
        self.check_session(&parts.headers, &by).await?;
        if let Some(session) = session_in(&parts.headers) {
            let request = self.begin_in(session, &message).await.map_err(|reason| {
                let error = ErrorData::invalid_request(reason, None);
                json_rpc_error(StatusCode::BAD_REQUEST, error, message.id.clone())
            })?;
            // The SDK keeps this until its handler is done, also where the client has hung up.
            request.map(|request| parts.extensions.insert(request));
        } else if message.opening == Some(Opening::Session)
            && !self.sessions.have_room(&self.manager, by.principal.as_ref()).await
        {
            return Err(unavailable("too many sessions are open"));
        }
        by.attach_to(&mut parts.extensions);
        let response = self.sdk(parts, Body::from(message.body)).await;
        if let Some(id) = response.headers().get(&SESSION_HEADER).and_then(|id| id.to_str().ok()) {
            self.sessions.opened(id, by.principal).await;
        }
        // The answer to a request that opens nothing may be under way while the request is still in memory.
        if message.opening.is_none() && is_event_stream(&response) {
            return Ok(until_sent(response, (share, parsed)));
        }
        Ok(response)
    }

    /// A session of another's is answered as one that never was.
    async fn check_session(
        &self,
        headers: &HeaderMap,
        by: &AdmittedCaller,
    ) -> Result<(), Response> {
        let Some(id) = session_in(headers) else { return Ok(()) };
        if self.sessions.is_of(id, by.principal.as_ref()).await {
            return Ok(());
        }
        Err(error(StatusCode::NOT_FOUND, "there is no such session; send initialize again"))
    }

    /// Begins to answer a message in its session; none where it is no request.
    async fn begin_in(
        &self,
        session: &str,
        message: &PreparedMessage,
    ) -> Result<Option<SessionRequest>, &'static str> {
        if message.opening == Some(Opening::Session) {
            // The SDK would take it, and what one session may subscribe to would be counted anew.
            return Err("this session is initialized already; without its id a new one opens");
        }
        let Some(id) = &message.id else { return Ok(None) };
        let begun = self.sessions.begin(session, id).await;
        begun.map(Some).ok_or("another request of this session with this id is being answered")
    }

    async fn sdk(&self, parts: Parts, body: Body) -> Response {
        self.sdk.handle(Request::from_parts(parts, body)).await.map(Body::new)
    }
}

/// Answers one request.
pub(super) async fn answer(State(endpoint): State<Arc<McpEndpoint>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let by = match endpoint.gate.admit(&parts).await {
        Ok(by) => by,
        Err(refused) => return refused,
    };
    if parts.method == Method::POST {
        let one = endpoint.in_progress.begin();
        let (principal, sender) = (by.principal.clone(), by.sender());
        let mut answered = endpoint.post(parts, body, by).await.unwrap_or_else(|refused| refused);
        answered.extensions_mut().insert(sender);
        let answered = until_revoked(&endpoint.gate, principal.as_ref(), answered);
        return until_sent(answered, one);
    }
    if let Err(refused) = endpoint.check_session(&parts.headers, &by).await {
        return refused;
    }
    by.attach_to(&mut parts.extensions);
    let ends_session = parts.method == Method::DELETE;
    let mut answered = endpoint.sdk(parts, body).await;
    if ends_session && answered.status() == StatusCode::ACCEPTED {
        // The session has ended by now. The Python SDK takes the SDK's 202 for a failure.
        *answered.status_mut() = StatusCode::NO_CONTENT;
    }
    answered.extensions_mut().insert(by.sender());
    until_revoked(&endpoint.gate, by.principal.as_ref(), answered)
}

/// The session that a request names.
fn session_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(&SESSION_HEADER).map(|id| id.to_str().unwrap_or_default())
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// A message for the SDK, which parses it again.
struct PreparedMessage {
    /// What it opens.
    opening: Option<Opening>,
    /// Its id, where it is a request.
    id: Option<RequestId>,
    body: Vec<u8>,
}

/// The message in a body, without what is not used of it while what it opens is open.
fn prepared(body: Vec<u8>, weight: &JsonWeight) -> Result<PreparedMessage, Box<Response>> {
    let mut message = match lines::read(&body) {
        Ok(Some(message)) => message,
        Ok(None) if body.trim_ascii().is_empty() => {
            let error = ErrorData::parse_error("the body is empty", None);
            return Err(json_rpc_error(StatusCode::BAD_REQUEST, error, None).into());
        }
        Ok(None) => return Err(StatusCode::ACCEPTED.into_response().into()),
        Err(problem) => {
            let (error, id) = *problem;
            return Err(json_rpc_error(StatusCode::BAD_REQUEST, error, id).into());
        }
    };
    let id = if let ClientJsonRpcMessage::Request(request) = &message {
        Some(request.id.clone())
    } else {
        None
    };
    let Some(opening) = Opening::strip(&mut message) else {
        return Ok(PreparedMessage { opening: None, id, body });
    };
    if body.len() > MAX_KEPT_BODY_BYTES {
        let reason = format!("{} is over {MAX_KEPT_BODY_BYTES} bytes", opening.request());
        return Err(error(StatusCode::PAYLOAD_TOO_LARGE, &reason).into());
    }
    if weight.values() > MAX_KEPT_BODY_VALUES {
        return Err(too_many_values(opening.request(), MAX_KEPT_BODY_VALUES).into());
    }
    let body = serde_json::to_vec(&message).map_err(|_| {
        error(StatusCode::INTERNAL_SERVER_ERROR, "the request cannot be written as JSON")
    })?;
    Ok(PreparedMessage { opening: Some(opening), id, body })
}

fn too_many_values(what: &str, most: usize) -> Response {
    let reason = format!("{what} has over {most} JSON values; send fewer at once");
    error(StatusCode::PAYLOAD_TOO_LARGE, &reason)
}

/// A JSON-RPC error as an answer of its own.
fn json_rpc_error(status: StatusCode, error: ErrorData, id: Option<RequestId>) -> Response {
    json_rpc(status, &ServerJsonRpcMessage::error(error, id), 0)
}

/// A JSON-RPC message of about so many bytes as an answer.
pub(super) fn json_rpc(status: StatusCode, message: &impl Serialize, bytes: usize) -> Response {
    let mut text = Vec::with_capacity(bytes);
    if serde_json::to_writer(&mut text, message).is_err() {
        return error(StatusCode::INTERNAL_SERVER_ERROR, "the answer cannot be written as JSON");
    }
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
