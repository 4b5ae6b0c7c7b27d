//! The surface's values → the SDK's types.

use std::sync::Arc;

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, MetaObject, ToolAnnotations},
};

use serde_json::json;

use crate::surface::{AdvertisedTool, Refusal, Reply};

/// What a tool result says, and whether it says what went wrong.
#[derive(Debug)]
pub(super) struct ToolOutcome {
    pub(super) reply: Reply,
    pub(super) is_error: bool,
}

/// The outcome of a call: what a model can act on is a tool result, the rest a JSON-RPC error.
pub(super) fn outcome(answer: Result<Reply, Refusal>) -> Result<ToolOutcome, ErrorData> {
    let failed = |text: String| Ok(ToolOutcome { reply: Reply::text(text), is_error: true });
    match answer {
        Ok(reply) => Ok(ToolOutcome { reply, is_error: false }),
        Err(Refusal::Tool(message)) => failed(Refusal::text(&message)),
        Err(Refusal::Plain(message) | Refusal::Stale(message)) => failed(message),
        Err(refusal @ (Refusal::Params(_) | Refusal::NoResource { .. } | Refusal::Internal(_))) => {
            Err(error(refusal))
        }
    }
}

/// The same as the SDK's type.
pub(super) fn result(answer: Result<Reply, Refusal>) -> Result<CallToolResult, ErrorData> {
    let ToolOutcome { reply: Reply { text, structured, .. }, is_error } = outcome(answer)?;
    let content = vec![ContentBlock::text(&*text)];
    if is_error {
        return Ok(CallToolResult::error(content));
    }
    let mut result = CallToolResult::success(content);
    let invalid = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    let parsed = structured.map(|json| serde_json::from_str(json.get())).transpose();
    result.structured_content = parsed.map_err(invalid)?;
    Ok(result)
}

/// A refusal as a JSON-RPC error.
pub(super) fn error(refusal: Refusal) -> ErrorData {
    match refusal {
        Refusal::Params(message) | Refusal::Tool(message) | Refusal::Plain(message) => {
            ErrorData::invalid_params(message, None)
        }
        // The SDK gives clients without a handshake the code of invalid parameters.
        Refusal::NoResource { uri, message } => {
            ErrorData::resource_not_found(message, Some(json!({"uri": format!("{uri:.500}")})))
        }
        Refusal::Stale(message) => ErrorData::internal_error(message, None),
        Refusal::Internal(message) => {
            tracing::error!("{message}");
            ErrorData::internal_error(message, None)
        }
    }
}

/// A tool as `tools/list` has it.
pub(super) fn tool(advertised: &AdvertisedTool) -> rmcp::model::Tool {
    let tool = advertised.tool;
    let mut annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .idempotent(tool.idempotent)
        .open_world(tool.dangerous);
    if advertised.has_destructive_hint() {
        annotations = annotations.destructive(tool.dangerous);
    }
    let encoded = rmcp::model::Tool::new(
        advertised.name.clone(),
        advertised.description.clone(),
        Arc::new(advertised.input.clone()),
    )
    .with_title(tool.title)
    .with_annotations(annotations);
    let mut encoded = match &advertised.output {
        Some(output) => encoded.with_raw_output_schema(Arc::new(output.clone())),
        None => encoded,
    };
    encoded.meta = (!advertised.meta.is_empty()).then(|| MetaObject(advertised.meta.clone()));
    encoded
}
