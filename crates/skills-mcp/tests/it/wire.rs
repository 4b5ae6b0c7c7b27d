//! The protocol as it goes over the wire: both eras, what is malformed, and how a server ends.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT, TEST_TIMEOUT, files};

use crate::support::{ROOT_TREE, client, run, server, signal};

const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";
const TOOLS: [&str; 6] =
    ["get_skill", "list_skills", "get_asset", "run_script", "report_usage", "refresh_skills"];
const SERVER_INFO: &str = "/_meta/io.modelcontextprotocol~1serverInfo/name";

fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn tool_call(id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

fn tool_names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}

/// What a server said when it was given these bytes and then the end of its input.
struct Said {
    lines: Vec<String>,
    status: ExitStatus,
    log: String,
}

impl Said {
    /// The answer with this number, which must be there once.
    fn answer(&self, id: &Value) -> Value {
        let all = self.lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut found: Vec<Value> = all.filter(|answer| answer["id"] == *id).collect();
        assert_eq!(found.len(), 1, "{id}: {:?}", self.lines);
        found.remove(0)
    }
}

fn piped(mut command: Command, input: impl Into<Vec<u8>>) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.into());
    let writing = thread::spawn(move || drop(stdin.write_all(&input)));
    let lines = collected(child.stdout.take().unwrap());
    let log = collected(child.stderr.take().unwrap());
    let status = ended(&mut child);
    writing.join().unwrap();
    let lines = lines.join().unwrap();
    assert!(lines.is_empty() || lines.ends_with('\n'), "an answer without an end: {lines}");
    Said { lines: lines.lines().map(str::to_owned).collect(), status, log: log.join().unwrap() }
}

fn piped_lines(home: &Home, messages: &[Value]) -> Said {
    let lines: Vec<String> = messages.iter().map(|message| format!("{message}\n")).collect();
    piped(server(home), lines.concat())
}

fn collected(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

fn ended(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > TEST_TIMEOUT {
            child.kill().unwrap();
            panic!("the server does not leave");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

// Handshakes and eras.

// ANSWER-7
#[test]
fn p04_every_revision_with_a_handshake_is_answered_with_itself() {
    let home = Home::with(ROOT_TREE);
    for version in HANDSHAKES {
        let mut client = Client::spawn(server(&home));
        let answer = client.request("initialize", hello(version));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "skills-mcp");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["instructions"].as_str().unwrap().contains("get_skill"), "{version}");
        assert!(result["capabilities"]["tools"].is_object(), "{result}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(tool_names(&client.request("tools/list", json!({}))), TOOLS, "{version}");
        let reply = client.call("get_skill", &json!({"skill_path": "api/auth"}));
        assert_eq!(reply.json["skill_path"], "api/auth", "{version}");
    }
}

#[test]
fn p04_a_handshake_with_any_other_revision_is_answered_with_the_newest_that_has_one() {
    let home = Home::with(ROOT_TREE);
    for version in ["1999-01-01", STATELESS, "2031-01-01", "soon", ""] {
        let mut client = Client::spawn(server(&home));
        let answer = client.request("initialize", hello(version));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "asked for {version:?}");
        assert_eq!(client.request("ping", json!({}))["result"], json!({}), "{version:?}");
    }
}

#[test]
fn a_request_between_initialize_and_initialized_is_answered() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::spawn(server(&home));
    assert!(client.request("initialize", hello("2025-06-18")).get("result").is_some());
    assert_eq!(tool_names(&client.request("tools/list", json!({}))), TOOLS);
}

#[test]
fn discover_describes_the_server_without_a_handshake() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::modern(server(&home));
    let answer = client.request("server/discover", json!({}));
    let result = &answer["result"];
    let versions: Vec<&str> =
        result["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for version in HANDSHAKES.iter().chain([&STATELESS]) {
        assert!(versions.contains(version), "{version} is not in {versions:?}");
    }
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].as_u64().is_some(), "{result}");
    assert_eq!(result["cacheScope"], "private");
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert!(result["instructions"].as_str().unwrap().contains("get_skill"));
    assert_eq!(result.pointer(SERVER_INFO), Some(&json!("skills-mcp")));
}

// ANSWER-7
#[test]
fn stateless_requests_are_answered_without_a_handshake_and_say_who_answers() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::modern(server(&home));
    let listed = client.request("tools/list", json!({}));
    assert_eq!(tool_names(&listed), TOOLS);
    assert!(listed["result"]["ttlMs"].as_u64().is_some());
    assert_eq!(listed["result"]["cacheScope"], "private");
    let called = client.request(
        "tools/call",
        json!({"name": "get_skill", "arguments": {"skill_path": "ui/react/auth"}}),
    );
    let refused = client
        .request("tools/call", json!({"name": "get_skill", "arguments": {"skill_path": "none"}}));
    assert_eq!(called["result"]["isError"], false);
    assert_eq!(refused["result"]["isError"], true);
    for answer in [&listed, &called, &refused] {
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        assert_eq!(answer["result"].pointer(SERVER_INFO), Some(&json!("skills-mcp")), "{answer}");
    }
}

#[test]
fn results_after_a_handshake_carry_nothing_of_the_stateless_era() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let listed = client.request("tools/list", json!({}));
    let called = client.request("tools/call", json!({"name": "list_skills"}));
    for answer in [listed, called] {
        let result = answer["result"].as_object().unwrap();
        assert!(!result.contains_key("resultType"), "{result:?}");
        assert!(!result.contains_key("_meta"), "{result:?}");
    }
}

#[test]
fn a_stateless_request_after_a_handshake_is_answered_as_one() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let listed = client.request("tools/list", json!({"_meta": meta(STATELESS)}));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(client.request("tools/list", json!({}))["result"].get("resultType").is_none());
}

#[test]
fn p04_an_unsupported_stateless_revision_is_refused_with_those_supported() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::spawn(server(&home));
    for method in ["server/discover", "tools/list"] {
        let answer = client.request(method, json!({"_meta": meta("2099-01-01")}));
        assert_eq!(code(&answer), Some(-32022), "{method}: {answer}");
        assert_eq!(answer["error"]["data"]["requested"], "2099-01-01");
        let supported = answer["error"]["data"]["supported"].as_array().unwrap();
        assert!(supported.contains(&json!(STATELESS)), "{supported:?}");
    }
    let answer = client.request("tools/list", json!({"_meta": meta(STATELESS)}));
    assert_eq!(tool_names(&answer), TOOLS);
}

#[test]
fn p04_a_request_with_neither_handshake_nor_metadata_is_refused_and_the_server_lives() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::spawn(server(&home));
    let half = json!({"io.modelcontextprotocol/protocolVersion": STATELESS});
    let wrong = json!({
        "io.modelcontextprotocol/protocolVersion": 20_260_728,
        "io.modelcontextprotocol/clientCapabilities": "all",
    });
    for params in [json!({}), json!({"_meta": {}}), json!({"_meta": half}), json!({"_meta": wrong})]
    {
        for method in ["server/discover", "tools/list"] {
            let answer = client.request(method, params.clone());
            assert_eq!(code(&answer), Some(-32602), "{method} {params}: {answer}");
        }
    }
    let call = json!({"name": "list_skills"});
    assert_eq!(code(&client.request("tools/call", call)), Some(-32602));
    let answer = client.request("initialize", hello("2025-11-25"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn a_notification_or_a_response_as_the_first_message_does_not_end_the_server() {
    let home = Home::with(ROOT_TREE);
    let strays = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
        json!({"jsonrpc": "2.0", "method": "notifications/not/known", "params": {"x": [1]}}),
        json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 9, "error": {"code": -1, "message": "x"}}),
    ];
    for stray in &strays {
        let mut client = Client::spawn(server(&home));
        client.send(stray);
        client.send(stray);
        let answer = client.request("initialize", hello("2025-11-25"));
        assert_eq!(answer["result"]["serverInfo"]["name"], "skills-mcp", "after {stray}");
        let mut client = Client::modern(server(&home));
        client.send(stray);
        let answer = client.request("tools/list", json!({}));
        assert_eq!(answer["result"]["resultType"], "complete", "after {stray}");
    }
}

#[test]
fn a_notification_after_discover_does_not_end_the_server() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::modern(server(&home));
    assert_eq!(client.request("server/discover", json!({}))["result"]["resultType"], "complete");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/whatever"}));
    assert_eq!(tool_names(&client.request("tools/list", json!({}))), TOOLS);
    assert_eq!(client.request("server/discover", json!({}))["result"]["resultType"], "complete");
}

#[test]
fn p06_a_cancellation_of_what_was_not_asked_or_of_what_is_answered_changes_nothing() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let id = client.ask("ping", json!({}));
    client.answer(id);
    for cancelled in [json!(id), json!(id), json!(4711), json!("never")] {
        let params = json!({"requestId": cancelled, "reason": "changed my mind"});
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }
    let next = client.ask("ping", json!({}));
    assert_eq!(client.message()["id"], next);
}

// Malformed lines.

/// Sends a line and a ping: what is answered to the line, where anything is, and that the ping is.
fn answer_to(client: &mut Client, line: &[u8]) -> Option<Value> {
    client.send_raw(line);
    let ping = client.ask("ping", json!({}));
    let first = client.message();
    if first["id"] == ping {
        return None;
    }
    let second = client.message();
    assert_eq!((&second["id"], &second["result"]), (&json!(ping), &json!({})), "{second}");
    Some(first)
}

/// Lines that are no requests, and the code each is answered with.
fn malformed() -> Vec<(&'static str, Vec<u8>, i64)> {
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).into_bytes();
    let context = |text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"get_skill","arguments":{{"context":"{text}"}}}}}}"#)
            .into_bytes()
    };
    let deep =
        |open: &str, close: &str| (open.repeat(100_000) + &close.repeat(100_000)).into_bytes();
    vec![
        ("garbage", b"garbage".to_vec(), -32700),
        ("half an object", br#"{"jsonrpc":"2.0","id":1,"meth"#.to_vec(), -32700),
        ("two objects", br#"{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}"#.to_vec(), -32700),
        ("invalid UTF-8", b"\xff\xfe\x00".to_vec(), -32700),
        (
            "invalid UTF-8 in a text",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}".to_vec(),
            -32700,
        ),
        ("a lone surrogate", context(r"\ud800"), -32700),
        ("a raw NUL in a text", context("\0"), -32700),
        ("a number too large", ping("1e999"), -32700),
        ("brackets 100,000 deep", deep("[", "]"), -32700),
        ("objects 100,000 deep", deep("{\"a\":", "}"), -32700),
        ("a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_vec(), -32600),
        ("an empty batch", b"[]".to_vec(), -32600),
        ("a number", b"42".to_vec(), -32600),
        ("null", b"null".to_vec(), -32600),
        ("a null id", ping("null"), -32600),
        ("a fractional id", ping("1.5"), -32600),
        ("an id of 2^64", ping("18446744073709551616"), -32600),
        ("an id that is a list", ping("[1]"), -32600),
        ("an id that is true", ping("true"), -32600),
        ("another JSON-RPC", br#"{"jsonrpc":"1.0","method":"ping","id":{}}"#.to_vec(), -32600),
    ]
}

#[test]
fn p01_p03_malformed_lines_are_answered_with_their_code_and_the_next_request_is_served() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for (what, line, expected) in malformed() {
        let answer = answer_to(&mut client, &line).unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!(code(&answer), Some(expected), "{what}: {answer}");
        assert!(answer["id"].is_null(), "{what} has no number to answer to: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.len() < 200), "{what}");
    }
}

#[test]
fn p01_malformed_lines_before_any_handshake_are_answered_too() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::spawn(server(&home));
    for (what, line, expected) in malformed() {
        client.send_raw(&line);
        let answer = client.message();
        assert_eq!(code(&answer), Some(expected), "{what}: {answer}");
    }
    assert!(client.request("initialize", hello("2025-11-25")).get("result").is_some());
}

#[test]
fn p01_blank_lines_and_what_expects_no_answer_are_passed_over() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let quiet: [&[u8]; 7] = [
        b"",
        b"   \t ",
        b"\r",
        br#"{"jsonrpc":"2.0","method":"notifications/not/known","params":{"x":1}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"what"}"#,
        br#"{"jsonrpc":"2.0","id":77,"result":{"x":1}}"#,
        br#"{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"no"}}"#,
    ];
    for line in quiet {
        let answer = answer_to(&mut client, line);
        assert_eq!(answer, None, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn p03_a_request_of_another_json_rpc_is_refused_under_its_own_number() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for line in
        [&br#"{"jsonrpc":"1.0","id":"a1","method":"ping"}"#[..], br#"{"id":"a1","method":"ping"}"#]
    {
        let answer = answer_to(&mut client, line).unwrap();
        assert_eq!((code(&answer), &answer["id"]), (Some(-32600), &json!("a1")), "{answer}");
    }
}

#[test]
fn p03_odd_but_valid_requests_are_answered_under_their_own_number() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let long = "x".repeat(1_000_000);
    for id in [json!(0), json!(-7), json!(i64::MAX), json!(""), json!("é\u{1f600}\n"), json!(long)]
    {
        client.send(&request(id.clone(), "ping", &json!({})));
        let answer = client.message();
        assert!(answer["id"] == id && answer["result"] == json!({}), "{:.80}", answer.to_string());
    }
    client.send_raw(b"\xEF\xBB\xBF {\"jsonrpc\":\"2.0\",\"id\":\"bom\",\"method\":\"ping\"}\r");
    assert_eq!(client.message()["id"], "bom");
    client.send(&json!({"jsonrpc": "2.0", "id": "extra", "method": "ping", "x": {"y": [1]}}));
    assert_eq!(client.message()["id"], "extra");
}

#[test]
fn p01_a_line_of_5_mib_is_refused_and_the_next_request_is_served() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let long = tool_call("long", "get_skill", &json!({"context": "x".repeat(5 << 20)}));
    let answer = answer_to(&mut client, long.to_string().as_bytes()).unwrap();
    assert_eq!(code(&answer), Some(-32600), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("4194304 bytes"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn p01_a_line_that_does_not_end_costs_no_memory() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    client.call("list_skills", &json!({}));
    let before = crate::hostile::memory_kib(client.pid(), "VmHWM");
    let answer = answer_to(&mut client, &vec![b'x'; 64 << 20]).unwrap();
    assert_eq!(code(&answer), Some(-32600), "{answer}");
    // The kernel sums up the peak now and then, so that it may be a little below what was resident before.
    let grown = crate::hostile::memory_kib(client.pid(), "VmHWM").saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB");
}

// Malformed calls.

#[test]
fn p04_a_call_without_its_parts_is_malformed() {
    let home = Home::with(ROOT_TREE);
    let params = [
        json!({}),
        json!({"arguments": {}}),
        json!({"name": 5}),
        json!({"name": null, "arguments": {}}),
        json!({"name": "get_skill", "arguments": [1]}),
        json!({"name": "get_skill", "arguments": "context"}),
        json!({"name": "get_skill", "arguments": 1}),
    ];
    let mut client = client(&home);
    for params in &params {
        let answer = client.request("tools/call", params.clone());
        assert_eq!(code(&answer), Some(-32602), "{params}: {answer}");
    }
    client.send(&json!({"jsonrpc": "2.0", "id": "bare", "method": "tools/call"}));
    let answer = client.message();
    assert_eq!((code(&answer), &answer["id"]), (Some(-32602), &json!("bare")), "{answer}");
    let mut client = Client::modern(server(&home));
    for params in &params {
        let answer = client.request("tools/call", params.clone());
        assert_eq!(code(&answer), Some(-32602), "stateless, {params}: {answer}");
    }
}

// ANSWER-2, GET-1
#[test]
fn p04_wrong_arguments_are_malformed_and_the_message_names_them() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let missing = [
        ("get_skill", json!({}), "context"),
        ("get_asset", json!({}), "skill_path"),
        ("get_asset", json!({"skill_path": "api/auth"}), "file"),
        ("get_asset", json!({"file": "x"}), "skill_path"),
        ("report_usage", json!({"skill_path": "api/auth"}), "useful"),
        ("report_usage", json!({"useful": true}), "skill_path"),
    ];
    let unknown = [
        ("get_skill", json!({"context": "x", "contxt": "x"}), "contxt"),
        ("list_skills", json!({"root": "ui"}), "root"),
        ("get_asset", json!({"skill_path": "a", "file": "b", "cwd": "/"}), "cwd"),
        ("report_usage", json!({"skill_path": "a", "useful": true, "stars": 5}), "stars"),
        ("refresh_skills", json!({"force": true}), "force"),
    ];
    let wrong = [
        ("get_skill", json!({"context": 5}), "context"),
        ("get_skill", json!({"context": null}), "context"),
        ("get_skill", json!({"skill_path": ["ui"]}), "skill_path"),
        ("get_skill", json!({"context": "x", "include_assets": "yes"}), "include_assets"),
        ("list_skills", json!({"path": {"a": 1}}), "path"),
        ("get_asset", json!({"skill_path": "a", "file": true}), "file"),
        ("report_usage", json!({"skill_path": "a", "useful": "true"}), "useful"),
        ("report_usage", json!({"skill_path": "a", "useful": true, "comment": 1}), "comment"),
    ];
    for (tool, arguments, named) in missing.iter().chain(&unknown).chain(&wrong) {
        let (code, message) = client.refused(tool, arguments);
        assert_eq!(code, -32602, "{tool} {arguments}");
        assert!(message.contains(tool) && message.contains(named), "{arguments}: {message}");
    }
}

// ANSWER-2
#[test]
fn wrong_arguments_are_a_result_that_a_model_can_act_on_from_2025_11_25_on() {
    let home = Home::with(ROOT_TREE);
    let call = json!({"name": "get_skill", "arguments": {"context": 5}});
    let unknown = json!({"name": "no_such_tool", "arguments": {}});
    let flat = json!({"name": "skills_search", "arguments": {}});
    for (version, is_result) in [("2025-06-18", false), ("2025-11-25", true), (STATELESS, true)] {
        let mut command = server(&home);
        command.args(["--tools", "all"]);
        let mut client = match version {
            STATELESS => Client::modern(command),
            _ => Client::legacy(command, version),
        };
        let answer = client.request("tools/call", call.clone());
        let words = "get_skill: 'context' must be a string, not a number";
        if is_result {
            assert_eq!(answer["result"]["isError"], true, "{version}: {answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            let text: Value = serde_json::from_str(text).unwrap();
            assert!(text["message"].as_str().unwrap().contains(words), "{text}");
            let answer = client.request("tools/call", flat.clone());
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("skills_search needs query"), "{text}");
        } else {
            assert_eq!(code(&answer), Some(-32602), "{version}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
        }
        let answer = client.request("tools/call", unknown.clone());
        assert_eq!(code(&answer), Some(-32602), "{version}: {answer}");
    }
    // The other program keeps the error in every revision.
    home.write("x/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n");
    let mut sk = home.command(env!("CARGO_BIN_EXE_sk"));
    sk.args(["mcp-server", "--root", "x/skills"]);
    let mut client = Client::legacy(sk, "2025-11-25");
    let answer = client.request("tools/call", json!({"name": "skills.search", "arguments": {}}));
    assert_eq!(code(&answer), Some(-32602), "{answer}");
}

#[test]
fn p04_a_call_without_arguments_is_a_call_with_none() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for tool in ["list_skills", "refresh_skills"] {
        let answer = client.request("tools/call", json!({"name": tool}));
        assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
    }
}

// ANSWER-2
#[test]
fn p04_an_unknown_tool_is_malformed_and_the_message_names_those_there_are() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for tool in ["", "get_skills", "GET_SKILL", "remove_skill", "get_skill\0"] {
        let (code, message) = client.refused(tool, &json!({}));
        assert_eq!(code, -32602, "{tool}");
        assert!(message.contains("unknown tool"), "{message}");
        assert!(TOOLS.iter().all(|known| message.contains(known)), "{message}");
    }
}

#[test]
fn p04_methods_that_are_unknown_are_not_found() {
    let home = Home::with(ROOT_TREE);
    for mut client in [client(&home), Client::modern(server(&home))] {
        for method in ["tools/unknown", "get_skill", "", "skills/unknown", "resources/unknown"] {
            let answer = client.request(method, json!({}));
            assert_eq!(code(&answer), Some(-32601), "{method}: {answer}");
        }
        assert_eq!(tool_names(&client.request("tools/list", json!({}))), TOOLS);
    }
}

#[test]
fn p09_a_cursor_that_the_server_did_not_give_is_malformed() {
    let home = Home::with(ROOT_TREE);
    let legacy = client(&home);
    let modern = Client::modern(server(&home));
    for mut client in [legacy, modern] {
        for cursor in ["2", "-1", "", "bmV4dA==", &"x".repeat(1_000_000)] {
            let answer = client.request("tools/list", json!({"cursor": cursor}));
            assert_eq!(code(&answer), Some(-32602), "{cursor:.20}: {:.200}", answer.to_string());
        }
        let listed = client.request("tools/list", json!({}));
        assert_eq!(tool_names(&listed), TOOLS);
        assert!(listed["result"].get("nextCursor").is_none());
    }
}

// Many at once, and the same again.

// ANSWER-4
#[test]
fn p05_200_pipelined_calls_are_each_answered_once() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let calls = [
        ("get_skill", json!({"skill_path": "ui/react/auth"})),
        ("list_skills", json!({})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"})),
        ("get_skill", json!({"context": "quantum physics"})),
        ("refresh_skills", json!({})),
    ];
    let asked: BTreeSet<u64> = calls
        .iter()
        .cycle()
        .take(200)
        .map(|(tool, arguments)| {
            client.ask("tools/call", json!({"name": tool, "arguments": arguments}))
        })
        .collect();
    let answers: Vec<Value> = (0..200).map(|_| client.message()).collect();
    let answered: BTreeSet<u64> =
        answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(asked.len(), 200);
    assert_eq!(answered, asked);
    for answer in &answers {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

/// One of each kind of answer.
fn varied() -> Vec<Value> {
    let calls = [
        ("get_skill", json!({"context": "React login with oauth session"})),
        ("get_skill", json!({"context": "login session"})),
        ("get_skill", json!({"context": "quantum physics"})),
        ("get_skill", json!({"skill_path": "ui/react/auth", "include_assets": true})),
        ("get_skill", json!({"skill_path": "aut"})),
        ("list_skills", json!({})),
        ("list_skills", json!({"path": "ui"})),
        ("list_skills", json!({"path": "nowhere"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "assets/gone.ts"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": "../A.tsx"})),
        ("get_asset", json!({"skill_path": "ui/react/auth"})),
        ("report_usage", json!({"skill_path": "api/auth", "useful": true})),
        ("refresh_skills", json!({})),
        ("nothing", json!({})),
    ];
    let mut messages = vec![request(0, "initialize", &hello("2025-11-25"))];
    messages.extend((1..).zip(&calls).map(|(id, (tool, given))| tool_call(id, tool, given)));
    messages.push(request(100, "tools/list", &json!({})));
    messages.push(request(101, "no/such/method", &json!({})));
    messages.push(request(103, "prompts/list", &json!({})));
    messages.push(request(104, "prompts/get", &json!({"name": "api/auth"})));
    messages.push(request(105, "resources/templates/list", &json!({})));
    messages.push(request(106, "resources/read", &json!({"uri": "skill://none/SKILL.md"})));
    messages.push(request(107, "skills/get", &json!({"uri": "skill://none/SKILL.md"})));
    messages.push(request(102, "server/discover", &json!({"_meta": meta(STATELESS)})));
    messages
}

// ANSWER-5
#[test]
fn the_same_requests_give_the_same_bytes_whatever_the_order_of_files_on_disk() {
    let messages = varied();
    let here = Home::with(ROOT_TREE);
    let elsewhere = Home::new();
    elsewhere.write("skills/zz/not-a-skill.md", "# Removed before the server looks\n");
    for (path, text) in files(ROOT_TREE).into_iter().rev() {
        elsewhere.write(&format!("skills/{path}"), text);
    }
    std::fs::remove_dir_all(elsewhere.path().join("skills/zz")).unwrap();
    let mut answers = [&here, &here, &elsewhere].map(|home| piped_lines(home, &messages).lines);
    for lines in &mut answers {
        assert_eq!(lines.len(), messages.len(), "{lines:?}");
        // Answers may overtake each other.
        lines.sort();
    }
    let [first, second, third] = answers;
    assert_eq!(first, second, "one tree, two servers");
    assert_eq!(first, third, "two trees, made in opposite orders");
}

// ANSWER-5
#[test]
fn the_same_request_gives_the_same_bytes_twice() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for message in varied().iter().filter(|message| message["method"] == "tools/call") {
        let mut ask = || {
            client.send(message);
            client.message().to_string()
        };
        let (first, second) = (ask(), ask());
        assert_eq!(first, second);
    }
}

// Streams and endings.

// ANSWER-6
#[test]
fn p08_standard_output_carries_nothing_but_answers() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/broken.md", "---\nkeywords: [a\n");
    let mut command = server(&home);
    command.env("SKILLS_LOG", "trace").env("RUST_BACKTRACE", "1");
    let mut input: Vec<u8> = Vec::new();
    for message in varied() {
        input.extend(format!("{message}\n").into_bytes());
    }
    for (_, line, _) in malformed() {
        input.extend(line);
        input.push(b'\n');
    }
    let said = piped(command, input);
    assert_eq!(said.lines.len(), varied().len() + malformed().len());
    for line in &said.lines {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        assert!(message.get("result").is_some() != message.get("error").is_some(), "{line}");
    }
    assert!(said.log.contains("front-matter-unclosed"), "{}", said.log);
    assert!(said.log.contains("serve_inner"), "even what the SDK says is logged, elsewhere");
}

fn assert_clean_end((status, took, log): (ExitStatus, Duration, String), why: &str) {
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(took < PROMPT_TIMEOUT, "{took:?}");
    assert!(log.contains(why), "the log does not say `{why}`: {log}");
}

// EXIT-1
#[test]
fn c09_a_signal_ends_the_server_with_code_0_within_a_second_and_a_line_in_the_log() {
    let home = Home::with(ROOT_TREE);
    for name in ["TERM", "INT", "HUP"] {
        let why = format!("stopped: SIG{name}");
        let mut client = client(&home);
        client.call("list_skills", &json!({}));
        signal(&client, name);
        assert_clean_end(client.wait(), &why);
        let mut client = Client::spawn(server(&home));
        client.request("ping", json!({}));
        signal(&client, name);
        assert_clean_end(client.wait(), &why);
    }
}

// EXIT-1
#[test]
fn p07_the_end_of_input_ends_the_server_with_code_0_within_a_second_and_a_line_in_the_log() {
    let home = Home::with(ROOT_TREE);
    let why = "stopped: the client closed the connection";
    let mut shaken = client(&home);
    shaken.call("list_skills", &json!({}));
    assert_clean_end(shaken.close(), why);
    let mut stateless = Client::modern(server(&home));
    stateless.request("tools/list", json!({}));
    assert_clean_end(stateless.close(), why);
    assert_clean_end(Client::spawn(server(&home)).close(), why);
}

#[test]
fn a_server_without_any_input_ends_at_once() {
    let home = Home::with(ROOT_TREE);
    let mut command = server(&home);
    let (code, out, log) = run(command.stdin(Stdio::null()));
    assert_eq!((code, out.as_str()), (0, ""), "{log}");
    assert!(log.contains("stopped: the client closed the connection"), "{log}");
}

#[test]
fn p07_everything_asked_before_the_end_of_input_is_answered() {
    let home = Home::with(ROOT_TREE);
    let mut messages = vec![
        request("hello", "initialize", &hello("2025-11-25")),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let path = json!({"skill_path": "ui/react/auth"});
    messages.extend((1..=100).map(|id| tool_call(id, "get_skill", &path)));
    let said = piped_lines(&home, &messages);
    assert_eq!(said.status.code(), Some(0), "{}", said.log);
    assert_eq!(said.lines.len(), 101);
    for id in 1..=100 {
        assert_eq!(said.answer(&json!(id))["result"]["isError"], false, "{id}");
    }
}

#[test]
fn the_last_line_is_answered_though_it_does_not_end() {
    let home = Home::with(ROOT_TREE);
    let first = request("hello", "initialize", &hello("2025-11-25"));
    let last = tool_call("last", "get_skill", &json!({"skill_path": "api/auth"}));
    let said = piped(server(&home), format!("{first}\n{last}"));
    assert_eq!(said.answer(&json!("last"))["result"]["isError"], false);
    assert_eq!(said.status.code(), Some(0));
    let said = piped(server(&home), format!("{first}\n{{\"jsonrpc\":"));
    assert_eq!(said.lines.len(), 2, "half a message is answered as such: {:?}", said.lines);
    assert_eq!(code(&said.answer(&Value::Null)), Some(-32700));
}

#[test]
fn c09_a_client_that_reads_no_more_ends_the_server() {
    let home = Home::with(ROOT_TREE);
    let mut command = server(&home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let log = collected(child.stderr.take().unwrap());
    writeln!(stdin, "{}", request("hello", "initialize", &hello("2025-11-25"))).unwrap();
    let mut answer = String::new();
    stdout.read_line(&mut answer).unwrap();
    assert!(answer.contains("skills-mcp"), "{answer}");
    drop(stdout);
    // One request is enough, unless a process being forked at this moment still holds our end.
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() && asked.elapsed() < TEST_TIMEOUT {
        let _ = writeln!(stdin, "{}", request(1, "tools/list", &json!({})));
        thread::sleep(Duration::from_millis(20));
    }
    let status = child.try_wait().unwrap();
    child.kill().unwrap();
    drop(stdin);
    let log = log.join().unwrap();
    assert_eq!(status.map(|status| status.code()), Some(Some(0)), "{log}");
    assert!(log.contains("stopped: the client closed the connection"), "{log}");
}
