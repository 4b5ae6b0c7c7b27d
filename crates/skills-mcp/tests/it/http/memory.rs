//! What a client may make the server keep: handshakes, streams, and answers that it does not read.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, TEST_TIMEOUT};

use super::{EVERYTHING, call, secret_file, send, send_raw, serving, text};
use crate::support::{ROOT_TREE, bundle};

// HTTP-5
#[test]
fn what_is_kept_while_a_session_or_a_stream_is_open_is_limited() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &[]));
    let opened = |padding: usize| {
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"experimental": {"x": {"y": "x".repeat(padding)}}},
                "clientInfo": {"name": "test", "version": "1"},
            },
        });
        send_raw(&server, "", &[], hello.to_string().as_bytes())
    };
    assert_eq!(opened(60_000).status, 200);
    let refused = opened(70_000);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(refused.body.contains("an initialize request is over 65536 bytes"), "{refused:?}");
    let uris = vec![format!("skill://{}", "x".repeat(1_000)); 80];
    let listen = json!({"notifications": {"resourceSubscriptions": uris}});
    let refused = send(&server, "", "subscriptions/listen", &listen);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(refused.body.contains("subscriptions/listen request is over 65536"), "{refused:?}");
    // A request that is answered and forgotten may say more.
    let long = json!({"name": "get_skill", "arguments": {"context": "login ".repeat(20_000)}});
    assert_eq!(send(&server, "", "tools/call", &long).status, 200);
}

// HTTP-5. Parsed, small values take up to seventy times as much memory as their text.
#[test]
fn h05_a_body_of_many_small_values_is_refused_before_it_is_parsed() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &[]));
    let junk = |count: usize| Value::from(vec![json!({"": 1}); count]);
    let opened = |count: usize| {
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"experimental": {"x": {"y": junk(count)}}},
                "clientInfo": {"name": "test", "version": "1"},
            },
        });
        send_raw(&server, "", &[], hello.to_string().as_bytes())
    };
    assert_eq!(opened(450).status, 200);
    let refused = opened(8_800);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(
        refused.body.contains("an initialize request has over 1000 JSON values"),
        "{refused:?}"
    );
    let listen = json!({"notifications": {}, "_meta": {"junk": junk(8_700)}});
    let refused = send(&server, "", "subscriptions/listen", &listen);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(refused.body.contains("a subscriptions/listen request has over 1000"), "{refused:?}");
    // A call may say more, and texts count by their bytes alone.
    let called = |context: &str, count: usize| {
        let arguments = json!({"context": context});
        let call =
            json!({"name": "get_skill", "arguments": arguments, "_meta": {"junk": junk(count)}});
        send(&server, "", "tools/call", &call)
    };
    assert_eq!(called(&"[{,\"".repeat(60_000), 20_000).status, 200);
    let refused = called("login", 26_000);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(refused.body.contains("the body has over 50000 JSON values"), "{refused:?}");
}

const MAP_URI: &str = "skill://atlas/map.txt";
const MAP_BYTES: usize = 12 << 20;

/// A home with a file of 12 MiB.
fn atlas() -> Home {
    let home = Home::with(ROOT_TREE);
    home.write("skills/atlas/SKILL.md", bundle("atlas", "Maps of everything", "See map.txt."));
    home.write("skills/atlas/map.txt", "x".repeat(MAP_BYTES));
    home
}

/// Connections that asked for that file and do not read it, with the status of each answer.
fn unread(server: &Listening, token: &str, count: usize) -> Vec<(TcpStream, String)> {
    let host = server.address().to_string();
    let body = super::message("resources/read", &json!({"uri": MAP_URI})).to_string();
    let bearer =
        if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{bearer}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\nMcp-Name: {MAP_URI}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let asked: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let with_status = |mut stream: TcpStream| {
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (stream, String::from_utf8_lossy(&head[9..]).into_owned())
    };
    asked.into_iter().map(with_status).collect()
}

/// Reads the file.
fn assert_map_is_read(server: &Listening, token: &str) {
    let read = send(server, token, "resources/read", &json!({"uri": MAP_URI}));
    assert_eq!(read.status, 200, "{:.200}", read.body);
    let json: Value = serde_json::from_str(&read.body).unwrap();
    let text = json.pointer("/result/contents/0/text").and_then(Value::as_str).unwrap();
    assert_eq!(text.len(), MAP_BYTES);
}

// HTTP-5
#[test]
fn h07_large_answers_that_no_client_reads_take_a_limited_amount_of_memory() {
    let home = atlas();
    let server = Listening::start(serving(&home, &["--rate-limit", "0"]));
    let unread = unread(&server, "", 24);
    let statuses: Vec<&str> = unread.iter().map(|(_, status)| status.as_str()).collect();
    // 128 MiB hold ten of them.
    assert!(statuses.contains(&"503"), "{statuses:?}");
    assert!(statuses.iter().all(|status| ["200", "503"].contains(status)), "{statuses:?}");
    // Small answers are not kept waiting, and what is not read any more makes room.
    let found = call(&server, "", "get_skill", &json!({"skill_path": "ui/react/auth"}));
    assert!(text(&found).contains("Cookies, not tokens."), "{found}");
    drop(unread);
    assert_map_is_read(&server, "");
}

// HTTP-5
#[test]
fn h07_one_name_that_reads_no_answer_keeps_out_no_other() {
    let home = atlas();
    let tokens = format!("ada = {EVERYTHING}\neve = token-of-eve-0123456789\n");
    let file = secret_file(&home, "tokens", &tokens);
    let server = Listening::start(serving(&home, &["--rate-limit", "0", "--token-file", &file]));
    let unread = unread(&server, "token-of-eve-0123456789", 12);
    // A quarter of 128 MiB holds two of them.
    assert!(unread.iter().any(|(_, status)| status == "503"), "{unread:?}");
    assert_map_is_read(&server, EVERYTHING);
    drop(unread);
}
