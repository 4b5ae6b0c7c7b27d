//! The plain call of a tool in the stateless era, answered without the SDK's machinery for connections.
//!
//! The SDK starts a task, a transport and channels for each request, which costs more than most calls. What is answered here is
//! a `tools/call` that needs nothing of that: it asks for no progress, and its headers say what its body says. It is decoded
//! into the same request, goes to the same dispatcher and is encoded by the same types; everything else, and whatever is
//! not exactly as expected, goes to the SDK. A test compares the answers of both.

use std::{borrow::Cow, time::Instant};

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use rmcp::model::{ErrorCode, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Deserialize;
use serde_json::{Map, Value};
use skills_core::catalog::Access;
use tokio_util::sync::CancellationToken;

use super::endpoint::json_rpc;
use crate::{
    script::Caller,
    surface::ToolRequest,
    transport::{Handler, encode, handler::CLIENT_INFO},
};

const METHOD: &str = "tools/call";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// All that the metadata of a plain call have.
const PLAIN_META: [&str; 3] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO];

/// A call that can be answered right away.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectCall<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    #[serde(borrow)]
    params: DirectParams<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(rename = "_meta")]
    meta: Map<String, Value>,
}

/// The call in a request, if it is a plain one.
pub(super) fn read<'a>(headers: &HeaderMap, body: &'a [u8]) -> Option<DirectCall<'a>> {
    let modern = ProtocolVersion::V_2026_07_28;
    let is_plain = one(headers, "mcp-protocol-version")? == modern.as_str()
        && one(headers, "mcp-method")? == METHOD
        && one(headers, header::CONTENT_TYPE.as_str())?.starts_with("application/json")
        && accepts_both(one(headers, header::ACCEPT.as_str())?);
    let name = one(headers, "mcp-name").filter(|_| is_plain)?;
    let call: DirectCall<'_> = serde_json::from_slice(body).ok()?;
    let meta = &call.params.meta;
    let is_expected = call.jsonrpc == "2.0"
        && call.method == METHOD
        && call.params.name == name
        && meta.get(PROTOCOL_VERSION).and_then(Value::as_str) == Some(modern.as_str())
        && meta
            .get(CLIENT_CAPABILITIES)
            .is_some_and(|known| known.as_object().is_some_and(Map::is_empty))
        && meta.keys().all(|key| PLAIN_META.contains(&key.as_str()));
    is_expected.then_some(call)
}

/// A header that is there exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn accepts_both(accept: &str) -> bool {
    accept.contains("application/json") && accept.contains("text/event-stream")
}

/// Answers a call. One whose client breaks off is cancelled.
pub(super) async fn answer(handler: &Handler, call: DirectCall<'_>, access: Access) -> Response {
    let received = Instant::now();
    let DirectCall { id, params: DirectParams { name, arguments, meta }, .. } = call;
    let info = |key: &str| meta.get(CLIENT_INFO)?.get(key)?.as_str();
    let client = || Some((info("name")?.to_owned(), info("version")?.to_owned()));
    let cancelled = CancellationToken::new();
    let _broken_off = cancelled.clone().drop_guard();
    let request = ToolRequest {
        tool: &name,
        arguments,
        client_name: info("name").map(Cow::Borrowed),
        client: &client,
        caller: Caller { cancelled, progress: None },
        access,
        received,
    };
    let result = encode::result(handler.dispatcher.call(request).await);
    let (status, message) = match result {
        Ok(mut result) => {
            result.meta = handler.modern_meta();
            let result = ServerResult::CallToolResult(result);
            (StatusCode::OK, ServerJsonRpcMessage::response(result, id))
        }
        Err(error) => {
            let is_unknown = error.code == ErrorCode::METHOD_NOT_FOUND;
            let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::OK };
            (status, ServerJsonRpcMessage::error(error, Some(id)))
        }
    };
    json_rpc(status, &message)
}
