//! [`Refusal`]: every way a call can fail, and which of them a model can act on.

use serde_json::json;

/// A call that is not answered as asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The model can act on it: a tool result with `isError`.
    Tool(String),
    /// The same for tools that answer in plain text.
    Plain(String),
    /// The request is malformed: a JSON-RPC error -32602.
    Params(String),
    /// There is no such resource: a JSON-RPC error, -32602 or, for clients with a handshake, -32002.
    NoResource {
        /// The address that was asked for.
        uri: String,
        /// Says which resources there are.
        message: String,
    },
    /// A skill's text is not what was indexed, because its file is being written. Worth another try.
    Stale(String),
    /// Our fault: a JSON-RPC error -32603.
    Internal(String),
}

impl Refusal {
    /// A refusal that says what was asked, what is true and what to try.
    pub fn tool(message: impl Into<String>) -> Self {
        Self::Tool(message.into())
    }

    /// The client waits no longer.
    pub(super) fn cancelled() -> Self {
        Self::Plain("the request was cancelled".to_owned())
    }

    /// The text block of a tool error.
    pub fn text(message: &str) -> String {
        json!({"error": true, "message": message}).to_string()
    }
}
