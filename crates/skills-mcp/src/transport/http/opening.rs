//! [`Opening`]: requests that leave something open behind their answer, and what is kept of them meanwhile.
//!
//! The SDK keeps a handshake for as long as its session is open, and the metadata of a stream's request for as long as the
//! stream is. So they are brought down to what is used before the SDK sees them. Not here: how many may be open.

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, GetMeta as _, Implementation,
    InitializeRequestParams,
};
use serde_json::Value;

use crate::transport::handler::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION};

/// The metadata that are used.
const KEPT_META: [&str; 3] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO];

/// So much of a client's name and of its version is kept. Events keep as much, and no client of the table has a longer name.
const MAX_KEPT_CLIENT_CHARS: usize = 64;

/// What a request opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Session,
    Stream,
}

impl Opening {
    /// What this message opens, if anything. All that is not used while that is open is taken out of it.
    pub(super) fn strip(message: &mut ClientJsonRpcMessage) -> Option<Self> {
        let ClientJsonRpcMessage::Request(message) = message else { return None };
        let opening = if let ClientRequest::InitializeRequest(hello) = &mut message.request {
            hello.params = used(&hello.params);
            Self::Session
        } else if matches!(message.request, ClientRequest::SubscriptionsListenRequest(_)) {
            Self::Stream
        } else {
            return None;
        };
        let meta = message.request.get_meta_mut();
        meta.retain(|key, _| KEPT_META.contains(&key.as_str()));
        if let Some(Value::Object(capabilities)) = meta.get_mut(CLIENT_CAPABILITIES) {
            capabilities.clear();
        }
        if let Some(Value::Object(client)) = meta.get_mut(CLIENT_INFO) {
            client.retain(|key, value| {
                let Value::String(text) = value else { return false };
                *text = kept(text);
                key == "name" || key == "version"
            });
        }
        Some(opening)
    }

    /// The request, in words.
    pub(super) fn request(self) -> &'static str {
        match self {
            Self::Session => "an initialize request",
            Self::Stream => "a subscriptions/listen request",
        }
    }
}

/// What is used of a handshake: who the client is, and not all that it may say of itself.
fn used(hello: &InitializeRequestParams) -> InitializeRequestParams {
    let client = &hello.client_info;
    let client = Implementation::new(kept(&client.name), kept(&client.version));
    InitializeRequestParams::new(ClientCapabilities::default(), client)
        .with_protocol_version(hello.protocol_version.clone())
}

/// What is kept of a name or a version.
fn kept(text: &str) -> String {
    text.chars().take(MAX_KEPT_CLIENT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stripped(message: Value) -> (Option<Opening>, Value) {
        let mut message: ClientJsonRpcMessage = serde_json::from_value(message).unwrap();
        let opening = Opening::strip(&mut message);
        (opening, serde_json::to_value(message).unwrap())
    }

    #[test]
    fn h07_a_handshake_is_kept_as_who_the_client_is() {
        let (opening, kept) = stripped(json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "_meta": {"progressToken": 1, "junk": [1, 2, 3]},
                "protocolVersion": "2025-11-25",
                "capabilities": {"roots": {}, "experimental": {"x": {"y": [1, 2, 3]}}},
                "clientInfo": {"name": "test", "version": "1", "title": "T", "icons": [{"src": "x"}]},
            },
        }));
        assert_eq!(opening, Some(Opening::Session));
        assert_eq!(
            kept,
            json!({
                "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": {
                    "_meta": {},
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"},
                },
            })
        );
    }

    #[test]
    fn h07_a_streams_request_is_kept_as_what_it_asks_for_and_who_asks() {
        let (opening, kept) = stripped(json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {
                "notifications": {"resourceSubscriptions": ["skill://a/SKILL.md"]},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {"experimental": {"x": [1, 2]}},
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1", "x": [1]},
                    "junk": [1, 2, 3],
                },
            },
        }));
        assert_eq!(opening, Some(Opening::Stream));
        assert_eq!(
            kept,
            json!({
                "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
                "params": {
                    "notifications": {"resourceSubscriptions": ["skill://a/SKILL.md"]},
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    },
                },
            })
        );
    }

    #[test]
    fn h07_a_long_name_and_a_long_version_are_kept_as_their_beginnings() {
        let (long, kept) = ("é".repeat(20_000), "é".repeat(MAX_KEPT_CLIENT_CHARS));
        let client = json!({"name": long, "version": long});
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        });
        let listen = json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {"notifications": {}, "_meta": {CLIENT_INFO: client}},
        });
        let kept = json!({"name": kept, "version": kept});
        assert_eq!(stripped(hello).1["params"]["clientInfo"], kept);
        assert_eq!(stripped(listen).1["params"]["_meta"][CLIENT_INFO], kept);
    }

    #[test]
    fn a_request_that_opens_nothing_stays_as_it_is() {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "get_skill", "arguments": {"context": "x"}, "_meta": {"junk": [1]}},
        });
        let (opening, same) = stripped(call.clone());
        assert_eq!((opening, same), (None, call));
    }
}
