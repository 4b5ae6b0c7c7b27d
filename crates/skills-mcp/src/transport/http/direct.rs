//! The plain call of a tool in the stateless era, answered without the SDK's machinery for connections.
//!
//! The SDK starts a task, a transport and channels for each request, which costs more than most calls. What is answered here is
//! a `tools/call` that needs nothing of that: it asks for no progress, and its headers say what its body says. It is decoded
//! into the same request, goes to the same dispatcher and is encoded member by member as the SDK does; everything else, and whatever is
//! not exactly as expected, goes to the SDK. A test compares the answers of both.

use std::{borrow::Cow, time::Instant};

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use rmcp::model::{ErrorCode, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use skills_core::catalog::Access;
use tokio_util::sync::CancellationToken;

use super::endpoint::json_rpc;
use crate::{
    script::Caller,
    surface::{Reply, ToolRequest},
    transport::{
        Handler,
        encode::{self, ToolOutcome},
        handler::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION},
    },
};

const METHOD: &str = "tools/call";
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
        && meta.get(CLIENT_CAPABILITIES).is_some_and(Value::is_object)
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
pub(super) async fn answer(
    handler: &Handler,
    call: DirectCall<'_>,
    access: Access,
    meta_of_server: Option<&RawValue>,
) -> Response {
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
        corrects: handler.publishes(),
        received,
    };
    match encode::outcome(handler.dispatcher.call(request).await) {
        Ok(outcome) => {
            let response = DirectResponse::new(&id, &outcome, meta_of_server);
            // Escaping adds little to most texts.
            let Reply { text, structured, .. } = &outcome.reply;
            let structured = structured.as_ref().map_or(0, |json| json.get().len());
            let bytes = text.len() + text.len() / 8 + structured + ENVELOPE_BYTES;
            json_rpc(StatusCode::OK, &response, bytes)
        }
        Err(error) => {
            let is_unknown = error.code == ErrorCode::METHOD_NOT_FOUND;
            let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::OK };
            json_rpc(status, &ServerJsonRpcMessage::error(error, Some(id)), ENVELOPE_BYTES)
        }
    }
}

/// An answer takes about so many bytes beside its text and its structured content.
const ENVELOPE_BYTES: usize = 512;

/// A tool result, member by member as the SDK writes it, but from what the answer already has in its hands.
#[derive(Serialize)]
struct DirectResponse<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: DirectResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DirectResult<'a> {
    result_type: &'static str,
    content: [DirectText<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a RawValue>,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct DirectText<'a> {
    r#type: &'static str,
    text: TextForm<'a>,
}

/// A text, or what it is as JSON where that is known.
#[derive(Serialize)]
#[serde(untagged)]
enum TextForm<'a> {
    Encoded(&'a RawValue),
    Plain(&'a str),
}

impl<'a> DirectResponse<'a> {
    fn new(id: &'a RequestId, outcome: &'a ToolOutcome, meta: Option<&'a RawValue>) -> Self {
        let Reply { text, structured, encoded } = &outcome.reply;
        let result = DirectResult {
            result_type: "complete",
            content: [DirectText {
                r#type: "text",
                text: match encoded.as_deref() {
                    Some(encoded) => TextForm::Encoded(encoded),
                    None => TextForm::Plain(text),
                },
            }],
            structured_content: structured.as_deref(),
            is_error: outcome.is_error,
            meta,
        };
        Self { jsonrpc: "2.0", id, result }
    }
}
