//! MCP over HTTP, with the real binary on a port of its choice: who is let in, what each sees, what is answered.

mod contained;
mod gate;
mod hidden_sources;
mod limited;
mod memory;
mod operations;
#[cfg(feature = "browse")]
mod pages;
mod protocol;

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Home, HttpAnswer, Listening, http_request};

use crate::support::server;

/// Tokens of the tests.
pub(crate) const EVERYTHING: &str = "token-of-ada-0123456789";
pub(crate) const UI_ONLY: &str = "token-of-ui-team-0123456789";

/// `serve --http` over this home on a free port of this machine.
pub(crate) fn serving(home: &Home, arguments: &[&str]) -> Command {
    let mut command = server(home);
    command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments);
    command
}

/// Writes a file for the owner only, and gives its path.
pub(crate) fn secret_file(home: &Home, name: &str, text: &str) -> String {
    home.write(name, text);
    let path = home.path().join(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_string_lossy().into_owned()
}

/// A server with two tokens: one for everything, one for the folder `ui`.
pub(crate) fn with_tokens(home: &Home, arguments: &[&str]) -> Listening {
    let text = format!("ada = {EVERYTHING}\nui-team = {UI_ONLY} ui\n");
    let file = secret_file(home, "tokens", &text);
    let mut command = serving(home, &["--token-file", &file]);
    command.args(arguments);
    Listening::start(command)
}

/// The metadata of a request of the stateless era.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A stateless request as JSON.
pub(crate) fn message(method: &str, params: &Value) -> Value {
    let mut params = params.as_object().unwrap().clone();
    let mut all = meta();
    let more = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    all.as_object_mut().unwrap().extend(more);
    params.insert("_meta".to_owned(), all);
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Sends a stateless request.
pub(crate) fn send(server: &Listening, token: &str, method: &str, params: &Value) -> HttpAnswer {
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).unwrap_or_default();
    let mut headers =
        vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)];
    if name.is_empty() {
        headers.pop();
    }
    send_raw(server, token, &headers, message(method, params).to_string().as_bytes())
}

/// Posts a body to `/mcp` with these headers beside the usual ones.
pub(crate) fn send_raw(
    server: &Listening,
    token: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> HttpAnswer {
    let (host, bearer) = (server.address().to_string(), format!("Bearer {token}"));
    let mut all = vec![
        ("Host", host.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    if !token.is_empty() {
        all.push(("Authorization", &bearer));
    }
    all.extend(headers);
    http_request(server.address(), "POST", "/mcp", &all, body).expect("an answer")
}

/// The JSON of an answer, also where it came as a stream of events.
pub(crate) fn json_of(answer: &HttpAnswer) -> Value {
    if let Ok(whole) = serde_json::from_str(&answer.body) {
        return whole;
    }
    let mut events = answer.body.lines().filter_map(|line| line.strip_prefix("data: {"));
    let last = events.next_back().unwrap_or_else(|| panic!("no JSON: {answer:?}"));
    serde_json::from_str(&format!("{{{last}")).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// Calls a tool without a handshake: its result. A protocol error fails the test.
pub(crate) fn call(server: &Listening, token: &str, tool: &str, arguments: &Value) -> Value {
    let answer = send(server, token, "tools/call", &json!({"name": tool, "arguments": arguments}));
    let json = json_of(&answer);
    json.get("result").cloned().unwrap_or_else(|| panic!("{tool} {arguments}: {answer:?}"))
}

/// The text of a tool's answer.
pub(crate) fn text(result: &Value) -> &str {
    result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_else(|| panic!("{result}"))
}

/// A session of the era with a handshake: its id.
pub(crate) fn session(server: &Listening, token: &str) -> String {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    });
    let answer = send_raw(server, token, &[], hello.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let id = id.unwrap_or_else(|| panic!("{answer:?}")).to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = in_session(server, token, &id, &ready);
    assert_eq!(answer.status, 202, "{answer:?}");
    id
}

/// Sends a message in a session.
pub(crate) fn in_session(server: &Listening, token: &str, id: &str, message: &Value) -> HttpAnswer {
    let headers = [("Mcp-Session-Id", id), ("MCP-Protocol-Version", "2025-11-25")];
    send_raw(server, token, &headers, message.to_string().as_bytes())
}
