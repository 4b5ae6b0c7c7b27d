//! What is answered: both eras, errors with their codes, sessions, the end of the server.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening, TEST_TIMEOUT, http_request, wait_until};

use super::{
    EVERYTHING, UI_ONLY, call, in_session, json_of, message, send, send_raw, serving, session,
    text, with_tokens,
};
use crate::support::{ROOT_TREE, bundle, run};

#[test]
fn an_answer_begins_with_a_message_in_every_revision_with_a_handshake() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &[]));
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let answer = send_raw(&server, "", &[], body.to_string().as_bytes());
        let first = answer.body.lines().find_map(|line| line.strip_prefix("data:"));
        let first = first.unwrap_or(&answer.body).trim();
        let message: Value = serde_json::from_str(first).unwrap_or_else(|_| panic!("{answer:?}"));
        assert_eq!(message["result"]["protocolVersion"], revision, "{answer:?}");
    }
}

// HTTP-1
#[test]
fn p01_p03_p04_whatever_is_wrong_has_its_code_and_the_server_lives() {
    let home = Home::with(ROOT_TREE);
    let server = Listening::start(serving(&home, &["--rate-limit", "0"]));
    let modern = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "get_skill"),
    ];
    let deep = "[".repeat(50_000);
    let lone = r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#;
    for (body, status, code) in [
        (&b"garbage"[..], 400, -32700),
        (b"{\"jsonrpc\":", 400, -32700),
        (b"\xff\xfe\x00", 400, -32700),
        (deep.as_bytes(), 400, -32700),
        (lone.as_bytes(), 400, -32700),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 400, -32600),
        (b"42", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}", 400, -32700),
        (b"{}", 400, -32600),
        (b"", 400, -32700),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        for headers in [&modern[..], &[]] {
            let answer = send_raw(&server, "", headers, body);
            assert_eq!(answer.status, status, "{shown}: {answer:?}");
            assert_eq!(json_of(&answer)["error"]["code"], code, "{shown}: {answer:?}");
        }
    }
    let code = |method: &str, params: Value| {
        let answer = send(&server, "", method, &params);
        (answer.status, json_of(&answer)["error"]["code"].clone())
    };
    assert_eq!(code("no/such", json!({})), (404, json!(-32601)));
    assert_eq!(code("tools/call", json!({"name": "no_such"})), (200, json!(-32602)));
    let wrong = json!({"name": "get_skill", "arguments": {"x": 1}});
    let answer = json_of(&send(&server, "", "tools/call", &wrong));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let body = message("tools/call", &json!({"name": "get_skill", "arguments": {}})).to_string();
    let mismatch = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "other"),
    ];
    for headers in [&mismatch[..], &mismatch[..2], &mismatch[..1]] {
        let answer = send_raw(&server, "", headers, body.as_bytes());
        assert_eq!(
            (answer.status, &json_of(&answer)["error"]["code"]),
            (400, &json!(-32020)),
            "{answer:?}"
        );
    }
    let found = call(&server, "", "get_skill", &json!({"skill_path": "api/auth"}));
    assert!(text(&found).contains("Check every call."));
    // Other methods than those of the protocol.
    let host = server.address().to_string();
    let put = http_request(server.address(), "PUT", "/mcp", &[("Host", &host)], b"").unwrap();
    assert_eq!(put.status, 405);
    assert_eq!(server.get("/elsewhere").status, 404);
}

// HTTP-1
#[test]
fn a_plain_call_is_answered_as_the_sdk_answers_it_to_the_byte() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/pdf/SKILL.md", bundle("pdf", "Fill in PDF forms", "Use pdftk."));
    let mut command = serving(&home, &[]);
    command.env("SKILLS_TOOLS", "all");
    let server = Listening::start(command);
    for (tool, arguments) in [
        ("get_skill", json!({"skill_path": "ui/react/auth"})),
        ("get_skill", json!({"context": "sign in with react"})),
        ("get_skill", json!({"skill_path": "no/such"})),
        ("get_skill", json!({"wrong": true})),
        ("skill", json!({"name": "pdf"})),
        ("skill", json!({"name": "gone"})),
        ("skills_search", json!({"query": "forms"})),
        ("skills.search", json!({"query": "forms", "match": "all"})),
        ("skills_list", json!({})),
        ("list_skills", json!({})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"})),
        ("no_such_tool", json!({})),
    ] {
        let direct =
            send(&server, "", "tools/call", &json!({"name": tool, "arguments": arguments}));
        // One more word in the metadata, and the call goes the long way.
        let params =
            json!({"name": tool, "arguments": arguments, "_meta": {"org.example/more": 1}});
        let long = send(&server, "", "tools/call", &params);
        assert_eq!((direct.status, &direct.body), (long.status, &long.body), "{tool} {arguments}");
    }
}

// FRESH-1
#[test]
fn an_answer_is_given_again_only_while_its_file_is_as_it_was() {
    let home = Home::new();
    let text_of = |colour: &str| bundle("tea", &format!("Brews {colour} tea."), "Boil water.");
    home.write("skills/tea/SKILL.md", text_of("green"));
    // A file that changed within a second of being seen is read at every call.
    thread::sleep(Duration::from_millis(1_100));
    let server = Listening::start(serving(&home, &["--tools", "all"]));
    let load = || text(&call(&server, "", "skill", &json!({"name": "tea"}))).to_owned();
    let search = || call(&server, "", "skills_search", &json!({"query": "brew tea"})).to_string();
    let (first, found) = (load(), search());
    assert!(first.contains("Brews green tea.") && found.contains("green"), "{first} {found}");
    assert_eq!((load(), search()), (first, found));
    // As many bytes, by a program that keeps the file open.
    let path = home.path().join("skills/tea/SKILL.md");
    let mut writer = fs::OpenOptions::new().write(true).open(path).unwrap();
    writer.write_all(text_of("black").as_bytes()).unwrap();
    assert!(load().contains("Brews black tea."));
    drop(writer);
    assert!(load().contains("Brews black tea.") && search().contains("black"));
}

// HTTP-6
#[test]
fn a_session_belongs_to_the_principal_that_opened_it() {
    let home = Home::with(ROOT_TREE);
    let server = with_tokens(&home, &[]);
    let id = session(&server, EVERYTHING);
    let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "get_skill", "arguments": {"skill_path": "api/auth"}}});
    let own = in_session(&server, EVERYTHING, &id, &list);
    assert!(text(&json_of(&own)["result"]).contains("Check every call."), "{own:?}");
    let (stolen, unknown) =
        (in_session(&server, UI_ONLY, &id, &list), in_session(&server, UI_ONLY, "no-such", &list));
    assert_eq!((stolen.status, &stolen.body), (404, &unknown.body), "{stolen:?}");
    let (host, bearer) = (server.address().to_string(), format!("Bearer {UI_ONLY}"));
    let headers = [
        ("Host", &*host),
        ("Authorization", &*bearer),
        ("Mcp-Session-Id", &*id),
        ("Accept", "text/event-stream"),
    ];
    for method in ["GET", "DELETE"] {
        let answer = http_request(server.address(), method, "/mcp", &headers, b"").unwrap();
        assert_eq!(answer.status, 404, "{method}: {answer:?}");
    }
    assert_eq!(in_session(&server, EVERYTHING, &id, &list).status, 200, "it is still open");
    let bearer = format!("Bearer {EVERYTHING}");
    let headers = [("Host", &*host), ("Authorization", &*bearer), ("Mcp-Session-Id", &*id)];
    let ended = http_request(server.address(), "DELETE", "/mcp", &headers, b"").unwrap();
    assert_eq!(ended.status, 204, "{ended:?}");
    wait_until("the session is over", || in_session(&server, EVERYTHING, &id, &list).status == 404);
}

// HTTP-5, HTTP-6
#[test]
fn a_session_is_initialized_once() {
    let home = Home::with(ROOT_TREE);
    let server = with_tokens(&home, &[]);
    let id = session(&server, EVERYTHING);
    let hello = json!({"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let refused = in_session(&server, EVERYTHING, &id, &hello);
    let json = json_of(&refused);
    assert_eq!((refused.status, &json["error"]["code"]), (400, &json!(-32600)), "{refused:?}");
    assert_eq!(json["id"], "again");
    assert_eq!(in_session(&server, UI_ONLY, &id, &hello).status, 404, "another's does not exist");
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(in_session(&server, EVERYTHING, &id, &ping).status, 200, "it is still open");
}

const SLOW_SCRIPT: &str = "\
//- jobs.md
---
keywords: [jobs]
description: Slow jobs
scripts:
  - file: scripts/slow.sh
    description: Takes its time
    execution: server
    args: []
---
Run it.
//- jobs/scripts/slow.sh
pwd
ls -A
sleep 3
echo finished
";

// HTTP-6
#[test]
fn two_requests_of_a_session_with_one_id_are_not_answered_at_once() {
    let home = Home::with(&SLOW_SCRIPT.replace("sleep 3", "sleep 60"));
    let server = Listening::start(serving(&home, &["--allow-scripts"]));
    let id = session(&server, "");
    let call = |id: &str, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let list = |id: &str| call(id, "list_skills", json!({}));
    let script = json!({"skill_path": "jobs", "file": "scripts/slow.sh", "args": {}});
    let (host, body) = (server.address().to_string(), call("same", "run_script", script));
    let body = body.to_string();
    let mut running = TcpStream::connect(server.address()).unwrap();
    write!(
        running,
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let pid = server.pid().to_string();
    wait_until("the script runs", || run(Command::new("pgrep").args(["-P", &pid])).0 == 0);
    // Also when its client has hung up: it may come back for the answer.
    drop(running);
    let refused = in_session(&server, "", &id, &list("same"));
    let json = json_of(&refused);
    assert_eq!((refused.status, &json["error"]["code"]), (400, &json!(-32600)), "{refused:?}");
    assert_eq!(json["id"], "same");
    for _ in 0..50 {
        assert_eq!(in_session(&server, "", &id, &list("other")).status, 200, "one at a time");
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "same"}});
    assert_eq!(in_session(&server, "", &id, &cancel).status, 202);
    let is_free = || in_session(&server, "", &id, &list("same")).status == 200;
    wait_until("the id is free again", is_free);
}

// HTTP-7
#[test]
fn scripts_run_only_where_the_operator_allows_it_and_never_where_the_client_says() {
    let home = Home::with(SLOW_SCRIPT);
    let arguments = json!({"skill_path": "jobs", "file": "scripts/slow.sh", "args": {}});
    let closed = Listening::start(serving(&home, &[]));
    let refused = call(&closed, "", "run_script", &arguments);
    assert_eq!(refused["isError"], true);
    assert!(
        text(&refused).contains("--allow-scripts") && text(&refused).contains("get_asset"),
        "{refused}"
    );
    let tools = json_of(&send(&closed, "", "tools/list", &json!({}))).to_string();
    assert!(!tools.contains("\"run_script\""), "{tools}");
    let server = Listening::start(serving(&home, &["--allow-scripts"]));
    let tools = json_of(&send(&server, "", "tools/list", &json!({}))).to_string();
    assert!(tools.contains("\"run_script\""), "{tools}");
    let mut elsewhere = arguments.clone();
    elsewhere["cwd"] = json!("/tmp");
    let refused = call(&server, "", "run_script", &elsewhere);
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("private folder"), "{refused}");
    let ran: Value =
        serde_json::from_str(text(&call(&server, "", "run_script", &arguments))).unwrap();
    assert_eq!(ran["success"], true, "{ran}");
    let said = ran["stdout"].as_str().unwrap();
    assert!(said.ends_with("finished\n") && said.lines().count() == 2, "an empty folder: {said}");
    assert!(!ran["note"].to_string().contains("cwd"), "{ran}");
    let place = home.path().to_string_lossy().into_owned();
    assert!(!said.contains(&*home.skills().to_string_lossy()), "{said} {place}");
}

// HTTP-6, HTTP-7
#[test]
fn a_script_that_is_refused_tells_clients_on_other_machines_no_path_and_no_setting() {
    let arguments = json!({"skill_path": "jobs", "file": "scripts/slow.sh", "args": {}});
    for (settings, reason) in [
        ("scripts:\n  enabled: false\n", "config.yaml"),
        ("scripts:\n  runners:\n    .sh: /nonexistent/sh\n", "/nonexistent/sh"),
    ] {
        let home = Home::with(SLOW_SCRIPT);
        home.write(".config/skills-mcp/config.yaml", settings);
        let server = Listening::start(serving(&home, &["--allow-scripts"]));
        let refused = call(&server, "", "run_script", &arguments);
        assert_eq!(refused["isError"], true);
        assert!(text(&refused).contains("in its log"), "{refused}");
        let (_, log) = server.stop();
        assert!(!text(&refused).contains(reason) && log.contains(reason), "{refused} {log}");
    }
}

// HTTP-8
#[test]
fn a_call_in_flight_is_answered_and_a_stream_gets_its_end_when_the_server_stops() {
    let home = Home::with(SLOW_SCRIPT);
    let server = Listening::start(serving(&home, &["--allow-scripts"]));
    let (address, host) = (server.address(), server.address().to_string());
    let open = |method: &'static str, params: Value| {
        let (host, body) = (host.clone(), message(method, &params).to_string());
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let name = if name.is_empty() { name } else { format!("Mcp-Name: {name}\r\n") };
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        thread::spawn(move || {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        })
    };
    let listening =
        open("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let running = open(
        "tools/call",
        json!({"name": "run_script", "arguments": {"skill_path": "jobs", "file": "scripts/slow.sh", "args": {}}}),
    );
    let pid = server.pid().to_string();
    let is_running = || run(Command::new("pgrep").args(["-P", &pid])).0 == 0;
    wait_until("the script runs", is_running);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    let ran = running.join().unwrap();
    assert!(ran.starts_with("HTTP/1.1 200") && ran.contains("finished"), "{ran} {log}");
    let heard = listening.join().unwrap();
    assert!(heard.contains("notifications/subscriptions/acknowledged"), "{heard}");
    assert!(heard.contains("\"result\""), "its last word: {heard}");
}
