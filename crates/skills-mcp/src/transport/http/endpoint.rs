//! [`McpEndpoint`]: `/mcp`. Checks a request, reads its body within limits, and has it answered.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use rmcp::{
    ErrorData,
    model::{RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use skills_http::serving::{error, unavailable};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    direct,
    gate::{AdmittedCaller, Gate},
    in_progress::{InProgress, until_sent},
    json_weight::JsonWeight,
    opening::Opening,
    revoked::until_revoked,
    sessions::{self, Sessions},
};
use crate::transport::{Handler, lines};

/// No request of ours needs more.
const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_BODY_VALUES: usize = 50_000;
/// What a client says when it opens a session or a stream is kept for as long as that is open, so it may say no more.
const MAX_KEPT_BODY_BYTES: usize = 64 * 1024;
const MAX_KEPT_BODY_VALUES: usize = 1_000;
/// A body that takes longer to come is not waited for.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// A body of at most so many bytes is read at once, and one that takes no more memory is parsed at once: the number of
/// connections bounds these.
const SMALL_BODY_BYTES: usize = 16 * 1024;
/// Larger bodies share this much memory, in units of this size. A request takes units as its bytes come, so that those who
/// announce much and send little keep out no others.
const BODY_UNIT_BYTES: usize = 64 * 1024;
const MAX_BODY_UNITS: usize = 1_024;
/// Once they have come whole they share this much memory for what is parsed of them, until they are answered.
const MAX_PARSED_UNITS: usize = 2_048;
/// A request waits so long for others' bodies to be done with.
const BODY_TURN_TIMEOUT: Duration = Duration::from_secs(5);

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The place where MCP is answered.
pub(super) struct McpEndpoint {
    pub(super) handler: Handler,
    pub(super) gate: Arc<Gate>,
    pub(super) in_progress: InProgress,
    pub(super) sessions: Sessions,
    pub(super) manager: Arc<LocalSessionManager>,
    sdk: StreamableHttpService<Handler, LocalSessionManager>,
    bodies: Arc<Semaphore>,
    parsed: Arc<Semaphore>,
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
            bodies: Arc::new(Semaphore::new(MAX_BODY_UNITS)),
            parsed: Arc::new(Semaphore::new(MAX_PARSED_UNITS)),
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
        let length = content_length(&parts.headers);
        if length.is_some_and(|length| length > MAX_BODY_BYTES) {
            return Err(too_many_bytes("the body", MAX_BODY_BYTES));
        }
        let (body, weight, mut units) = match timeout(BODY_TIMEOUT, self.read(body)).await {
            Ok(read) => read?,
            Err(_) => return Err(error(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        };
        units.extend(self.room_for(&weight).await?);
        if let Some(call) = direct::read(&parts.headers, &body) {
            let meta = self.meta_of_server.as_deref();
            return Ok(direct::answer(&self.handler, call, by.access, meta).await);
        }
        let (opening, body) = prepared(body, &weight)?;
        if opening == Some(Opening::Session)
            && !self.sessions.have_room(&self.manager, by.principal.as_ref()).await
        {
            return Err(unavailable("too many sessions are open"));
        }
        self.check_session(&parts.headers, &by).await?;
        by.attach_to(&mut parts.extensions);
        let response = self.sdk(parts, Body::from(body)).await;
        if let Some(id) = response.headers().get(&SESSION_HEADER).and_then(|id| id.to_str().ok()) {
            self.sessions.opened(id, by.principal).await;
        }
        // The answer to a request that opens nothing may be under way while the request is still in memory.
        if opening.is_none() && is_event_stream(&response) {
            return Ok(until_sent(response, units));
        }
        Ok(response)
    }

    /// A whole body, and its share of the memory for bodies.
    async fn read(
        &self,
        mut body: Body,
    ) -> Result<(Vec<u8>, JsonWeight, Vec<OwnedSemaphorePermit>), Response> {
        let (mut whole, mut weight, mut units) = (Vec::new(), JsonWeight::default(), Vec::new());
        loop {
            let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            let bytes = match frame {
                None => return Ok((whole, weight, units)),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Err(error(StatusCode::BAD_REQUEST, "the body broke off")),
            };
            if whole.len() + bytes.len() > MAX_BODY_BYTES {
                return Err(too_many_bytes("the body", MAX_BODY_BYTES));
            }
            weight.take(&bytes);
            if weight.values() > MAX_BODY_VALUES {
                return Err(too_many_values("the body", MAX_BODY_VALUES));
            }
            whole.extend_from_slice(&bytes);
            while whole.len() > SMALL_BODY_BYTES + units.len() * BODY_UNIT_BYTES {
                units.push(turn(Arc::clone(&self.bodies).acquire_owned()).await?);
            }
        }
    }

    /// Waits until there is memory for what is parsed of a body.
    async fn room_for(
        &self,
        weight: &JsonWeight,
    ) -> Result<Option<OwnedSemaphorePermit>, Response> {
        let units = weight.memory().saturating_sub(SMALL_BODY_BYTES).div_ceil(BODY_UNIT_BYTES);
        match u32::try_from(units.min(MAX_PARSED_UNITS)) {
            Ok(0) | Err(_) => Ok(None),
            Ok(units) => turn(Arc::clone(&self.parsed).acquire_many_owned(units)).await.map(Some),
        }
    }

    /// A session of another's is answered as one that never was.
    async fn check_session(
        &self,
        headers: &HeaderMap,
        by: &AdmittedCaller,
    ) -> Result<(), Response> {
        let Some(id) = headers.get(&SESSION_HEADER) else { return Ok(()) };
        let id = id.to_str().unwrap_or_default();
        if self.sessions.is_of(id, by.principal.as_ref()).await {
            return Ok(());
        }
        Err(error(StatusCode::NOT_FOUND, "there is no such session; send initialize again"))
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
        let principal = by.principal.clone();
        let answered = endpoint.post(parts, body, by).await.unwrap_or_else(|refused| refused);
        let answered = until_revoked(&endpoint.gate, principal.as_ref(), answered);
        return until_sent(answered, one);
    }
    if let Err(refused) = endpoint.check_session(&parts.headers, &by).await {
        return refused;
    }
    by.attach_to(&mut parts.extensions);
    let answered = endpoint.sdk(parts, body).await;
    until_revoked(&endpoint.gate, by.principal.as_ref(), answered)
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Waits for a share of the memory for large bodies.
async fn turn(
    share: impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>>,
) -> Result<OwnedSemaphorePermit, Response> {
    match timeout(BODY_TURN_TIMEOUT, share).await {
        Ok(Ok(share)) => Ok(share),
        Ok(Err(_)) | Err(_) => Err(unavailable("too many large requests at once")),
    }
}

/// What a request opens, and the body that the SDK gets of it. The message itself is dropped here: the SDK parses the body again.
fn prepared(body: Vec<u8>, weight: &JsonWeight) -> Result<(Option<Opening>, Vec<u8>), Response> {
    let mut message = match lines::read(&body) {
        Ok(Some(message)) => message,
        Ok(None) if body.trim_ascii().is_empty() => {
            let error = ErrorData::parse_error("the body is empty", None);
            return Err(json_rpc_error(StatusCode::BAD_REQUEST, error, None));
        }
        Ok(None) => return Err(StatusCode::ACCEPTED.into_response()),
        Err(problem) => {
            let (error, id) = *problem;
            return Err(json_rpc_error(StatusCode::BAD_REQUEST, error, id));
        }
    };
    let Some(opening) = Opening::strip(&mut message) else { return Ok((None, body)) };
    if body.len() > MAX_KEPT_BODY_BYTES {
        return Err(too_many_bytes(opening.request(), MAX_KEPT_BODY_BYTES));
    }
    if weight.values() > MAX_KEPT_BODY_VALUES {
        return Err(too_many_values(opening.request(), MAX_KEPT_BODY_VALUES));
    }
    let stripped = serde_json::to_vec(&message).map_err(|_| {
        error(StatusCode::INTERNAL_SERVER_ERROR, "the request cannot be written as JSON")
    })?;
    Ok((Some(opening), stripped))
}

fn too_many_bytes(what: &str, most: usize) -> Response {
    error(StatusCode::PAYLOAD_TOO_LARGE, &format!("{what} is over {most} bytes"))
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
