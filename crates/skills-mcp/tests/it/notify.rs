//! What clients are told without asking: that the list of tools says something else, to clients with a handshake and
//! on the streams of those without.
//!
//! Changes are brought about by a call, and would come to the same if the edit alone were noticed.

use std::{
    fs,
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT, wait_until};

use crate::support::{agents_client, bundle, eventually, listed_names, offered, run, server, sk};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";
/// Twice the quiet time and more: what has not come by then does not come.
const SILENCE: Duration = Duration::from_millis(1_300);

const BUNDLES: &str = "\
//- git/SKILL.md
---
name: git
description: Commit safely
---
Small steps.
//- pdf/SKILL.md
---
name: pdf
description: Fill in forms
---
Flatten it.
";

/// A client that has shaken hands and knows what there is.
fn legacy(home: &Home) -> Client {
    let mut client = Client::legacy(server(home), "2025-06-18");
    offered(&mut client);
    client
}

/// A client without a handshake that knows what there is.
fn modern(home: &Home) -> Client {
    let mut client = Client::modern(server(home));
    offered(&mut client);
    client
}

fn write(home: &Home, name: &str, description: &str, body: &str) {
    home.write(&format!("skills/{name}/SKILL.md"), bundle(name, description, body));
}

/// Has the server look now.
fn look(client: &mut Client) {
    let reply = client.call("refresh_skills", &json!({}));
    assert!(!reply.is_error, "{}", reply.text);
}

/// Waits for the news that something was changed, and that there is no more of it.
fn assert_told_once(client: &mut Client) -> Value {
    let news = client.notification(TOOLS_CHANGED);
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new(), "told once: {news}");
    news
}

fn assert_silence(client: &mut Client) {
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new());
}

/// Opens a stream; its number.
fn listen(client: &mut Client, filter: &Value) -> u64 {
    client.ask("subscriptions/listen", json!({"notifications": filter}))
}

fn cancel(client: &mut Client, id: u64) {
    let params = json!({"requestId": id});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
}

/// Checks what a stream is told first: what it will be told of.
fn assert_acknowledged(first: &Value, id: u64, honoured: &Value) {
    assert_eq!(first["method"], ACKNOWLEDGED, "{first}");
    assert_eq!(first.pointer(SUBSCRIPTION), Some(&json!(id)), "{first}");
    assert_eq!(first.pointer("/params/notifications"), Some(honoured), "{first}");
}

fn assert_final(answer: &Value, id: u64) {
    let result = &answer["result"];
    assert_eq!(
        (&answer["id"], &result["resultType"]),
        (&json!(id), &json!("complete")),
        "{answer}"
    );
    let meta =
        |what: &str| answer.pointer(&format!("/result/_meta/io.modelcontextprotocol~1{what}"));
    assert_eq!(meta("subscriptionId"), Some(&json!(id)), "{answer}");
    assert_eq!(meta("serverInfo/name"), Some(&json!("skills-mcp")), "{answer}");
}

fn assert_clean_end((status, took, log): (ExitStatus, Duration, String)) {
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(took < PROMPT_TIMEOUT, "streams are not waited out: {took:?} {log}");
    assert!(!log.contains("in flight"), "{log}");
}

fn tools() -> Value {
    json!({"toolsListChanged": true})
}

// Clients with a handshake.

// FRESH-6
#[test]
fn both_eras_are_promised_to_be_told() {
    let home = Home::with(BUNDLES);
    let tools = json!({"tools": {"listChanged": true}});
    let all = json!({
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
        "completions": {},
        "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "tools": {"listChanged": true},
    });
    for (command, declared) in [(server(&home), &all), (sk(&home, &[]), &tools)] {
        let mut client = Client::modern(command);
        let answer = client.request("server/discover", json!({}));
        assert_eq!(answer["result"]["capabilities"], *declared);
    }
    for (command, declared) in [(server(&home), &all), (sk(&home, &[]), &tools)] {
        let mut client = Client::spawn(command);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.request("initialize", hello);
        assert_eq!(answer["result"]["capabilities"], *declared);
    }
}

// FRESH-6
#[test]
fn a_burst_of_edits_is_told_once() {
    let (_home, mut client) = eventually("edits that follow each other in time", || {
        let home = Home::with(BUNDLES);
        let mut client = legacy(&home);
        let in_time = (0..5).all(|number| {
            let started = Instant::now();
            write(&home, &format!("new-{number}"), "Something new", "Do it.");
            look(&mut client);
            started.elapsed() < SILENCE / 4
        });
        in_time.then_some((home, client))
    });
    let news = assert_told_once(&mut client);
    assert_eq!(news, json!({"jsonrpc": "2.0", "method": TOOLS_CHANGED}), "as the SDKs expect it");
    let tools = offered(&mut client);
    let skill = tools.iter().find(|tool| tool["name"] == "skill").unwrap();
    assert_eq!(listed_names(skill["description"].as_str().unwrap()).len(), 7);
    let (_, _, log) = client.close();
    let line = log.lines().find(|line| line.contains(TOOLS_CHANGED)).unwrap_or_default();
    assert!(line.contains("skills: 5 added"), "the reason is in the log: {log}");
}

#[test]
fn every_later_change_is_told_too() {
    let home = Home::with(BUNDLES);
    let mut client = legacy(&home);
    let changes: [&dyn Fn(); 3] = [
        &|| write(&home, "git", "Commit boldly", "Small steps."),
        &|| write(&home, "new", "Something new", "Do it."),
        &|| fs::remove_dir_all(home.skills().join("pdf")).unwrap(),
    ];
    for change in changes {
        change();
        look(&mut client);
        client.notification(TOOLS_CHANGED);
    }
    assert_silence(&mut client);
}

// FRESH-7
#[test]
fn nothing_is_told_at_start() {
    let home = Home::with(BUNDLES);
    let mut client = Client::legacy(server(&home), "2025-06-18");
    assert_silence(&mut client);
    offered(&mut client);
    look(&mut client);
    assert_silence(&mut client);
}

// FRESH-6
#[test]
fn an_edit_that_no_list_shows_is_not_told() {
    let home = Home::with(BUNDLES);
    let mut client = legacy(&home);
    write(&home, "git", "Commit safely", "Even smaller steps.");
    look(&mut client);
    assert_silence(&mut client);
    assert!(client.call("skill", &json!({"name": "git"})).text.contains("Even smaller"));
    write(&home, "git", "Commit boldly", "Even smaller steps.");
    look(&mut client);
    assert_told_once(&mut client);
}

#[test]
fn an_edit_that_is_taken_back_in_time_is_not_told() {
    let home = Home::with(BUNDLES);
    let mut client = legacy(&home);
    for description in ["Commit boldly", "Commit safely"] {
        home.write(
            "skills/git/SKILL.md",
            format!("---\nname: git\ndescription: {description}\n---\nSmall steps.\n"),
        );
        look(&mut client);
    }
    assert_silence(&mut client);
}

// FRESH-7
#[test]
fn a_client_is_told_nothing_before_it_is_initialized() {
    let home = Home::with(BUNDLES);
    let mut client = Client::spawn(server(&home));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.request("initialize", hello);
    offered(&mut client);
    write(&home, "new", "Something new", "Do it.");
    look(&mut client);
    assert_silence(&mut client);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    // A client that says it twice is still one client.
    client.send(&initialized);
    client.send(&initialized);
    assert_silence(&mut client);
    write(&home, "newer", "Something newer", "Do it.");
    look(&mut client);
    assert_told_once(&mut client);
}

#[test]
fn what_the_periodic_look_finds_is_told() {
    let home = Home::with(BUNDLES);
    home.write("skills/config.yaml", "refresh:\n  scan_seconds: 1\n");
    let mut client = legacy(&home);
    write(&home, "new", "Something new", "Do it.");
    assert_told_once(&mut client);
}

// FRESH-6
#[test]
fn a_folder_that_appears_later_is_told_without_a_call() {
    let home = Home::new();
    let seldom = ["--set", "refresh.scan_seconds=3600"];
    let mut agents = agents_client(&home, &[&["--tools", "skill"][..], &seldom].concat());
    let mut command = sk(&home, &seldom);
    command.current_dir(home.path().join("project"));
    let mut sk = Client::legacy(command, "2025-03-26");
    offered(&mut agents);
    offered(&mut sk);
    let text = bundle("new", "Something new", "Do it.");
    for place in ["project/.claude/skills", "project/skills"] {
        home.write(&format!("{place}/new/SKILL.md"), &text);
    }
    agents.notification(TOOLS_CHANGED);
    sk.notification(TOOLS_CHANGED);
    // The same for a folder that goes, with the one it is in, and comes again.
    for (folder, client) in [(".claude", &mut agents), ("skills", &mut sk)] {
        let (at, away) = (home.path().join("project").join(folder), home.path().join("away"));
        fs::rename(&at, &away).unwrap();
        client.notification(TOOLS_CHANGED);
        fs::rename(&away, &at).unwrap();
        client.notification(TOOLS_CHANGED);
    }
}

// Streams.

// FRESH-7
#[test]
fn a_stream_is_told_first_what_it_will_be_told_and_then_only_that() {
    let home = Home::with(BUNDLES);
    let mut client = Client::modern(sk(&home, &["--root", "skills"]));
    offered(&mut client);
    let all = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["skill://git/SKILL.md"],
    });
    let id = listen(&mut client, &all);
    assert_acknowledged(&client.message(), id, &tools());
    assert_silence(&mut client);
    write(&home, "new", "Something new", "Do it.");
    client.call("skills.list", &json!({}));
    let news = assert_told_once(&mut client);
    assert_eq!(news.pointer(SUBSCRIPTION), Some(&json!(id)));
    assert_eq!(news["params"].as_object().unwrap().len(), 2, "{news}");
}

#[test]
fn a_stream_that_does_not_ask_for_tools_is_told_nothing() {
    let home = Home::with(BUNDLES);
    let mut client = modern(&home);
    for filter in [json!({}), json!({"toolsListChanged": false})] {
        let id = listen(&mut client, &filter);
        assert_acknowledged(&client.message(), id, &json!({}));
    }
    write(&home, "new", "Something new", "Do it.");
    look(&mut client);
    assert_silence(&mut client);
}

#[test]
fn without_a_stream_a_client_without_a_handshake_is_told_nothing() {
    let home = Home::with(BUNDLES);
    let mut client = modern(&home);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    write(&home, "new", "Something new", "Do it.");
    look(&mut client);
    assert_silence(&mut client);
}

#[test]
fn each_of_two_streams_is_told_until_it_is_cancelled_and_the_end_ends_the_rest() {
    let home = Home::with(BUNDLES);
    let mut client = modern(&home);
    let streams = [listen(&mut client, &tools()), listen(&mut client, &tools())];
    for _ in streams {
        client.notification(ACKNOWLEDGED);
    }
    let told = |client: &mut Client| {
        let news = client.notification(TOOLS_CHANGED);
        news.pointer(SUBSCRIPTION).and_then(Value::as_u64).unwrap()
    };
    write(&home, "new", "Something new", "Do it.");
    look(&mut client);
    let mut both = [told(&mut client), told(&mut client)];
    both.sort_unstable();
    assert_eq!(both, streams);
    let [first, second] = streams;
    cancel(&mut client, first);
    write(&home, "newer", "Something newer", "Do it.");
    look(&mut client);
    assert_eq!(told(&mut client), second);
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new(), "a cancelled stream is not answered");
    client.end_input();
    assert_final(&client.message(), second);
    assert_clean_end(client.wait());
}

#[test]
fn a_signal_ends_streams_with_their_final_result() {
    let home = Home::with(BUNDLES);
    for signal in ["TERM", "INT"] {
        let mut client = modern(&home);
        let id = listen(&mut client, &tools());
        assert_acknowledged(&client.message(), id, &tools());
        let (code, _, complaint) =
            run(Command::new("sh").args(["-c", &format!("kill -{signal} {}", client.pid())]));
        assert_eq!(code, 0, "{complaint}");
        assert_final(&client.message(), id);
        assert_clean_end(client.wait());
    }
}

#[test]
fn the_end_ends_a_stream_that_is_just_about_to_be_told() {
    let home = Home::with(BUNDLES);
    let mut client = modern(&home);
    let id = listen(&mut client, &tools());
    assert_acknowledged(&client.message(), id, &tools());
    write(&home, "new", "Something new", "Do it.");
    look(&mut client);
    client.end_input();
    assert_final(&client.answer(id), id);
    assert_clean_end(client.wait());
}

#[test]
fn a_stream_opened_with_the_last_words_is_acknowledged_and_ended() {
    let home = Home::with(BUNDLES);
    for _ in 0..5 {
        let mut client = Client::modern(server(&home));
        let id = listen(&mut client, &tools());
        client.end_input();
        assert_acknowledged(&client.message(), id, &tools());
        assert_final(&client.message(), id);
        assert_clean_end(client.wait());
    }
}

#[test]
fn streams_over_the_limit_are_refused_and_all_others_end_well() {
    const MOST: usize = 1_024;
    let home = Home::with(BUNDLES);
    wait_until("all streams end well", || {
        let mut client = modern(&home);
        let started = Instant::now();
        for _ in 0..MOST + 3 {
            listen(&mut client, &tools());
        }
        for _ in 0..MOST + 3 {
            client.notification(ACKNOWLEDGED);
        }
        let opened = started.elapsed();
        for _ in 0..3 {
            let refused = client.message();
            assert_eq!(refused["error"]["code"], -32600, "{refused}");
        }
        client.end_input();
        let ended = client.rest();
        for answer in &ended {
            assert_final(answer, answer["id"].as_u64().unwrap());
        }
        let (status, _, log) = client.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(ended.len() == MOST || log.contains("in flight"), "{}: {log}", ended.len());
        // They have 0.7 s to end. A machine that takes longer than this to open them does not end them in that time.
        ended.len() == MOST || opened > Duration::from_secs(2)
    });
}

#[test]
fn a_client_with_a_handshake_has_no_streams_but_may_open_one_as_a_later_one_does() {
    let home = Home::with(BUNDLES);
    let mut client = legacy(&home);
    let answer = client.request("subscriptions/listen", json!({"notifications": tools()}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let id = client.ask("subscriptions/listen", json!({"notifications": tools(), "_meta": meta}));
    assert_acknowledged(&client.message(), id, &tools());
    client.end_input();
    assert_final(&client.message(), id);
    assert_clean_end(client.wait());
}

// `sk mcp-server`.

#[test]
fn sk_6_every_change_is_told_with_a_short_reason() {
    let home = Home::with(BUNDLES);
    let mut client = Client::legacy(sk(&home, &[]), "2025-03-26");
    client.call("skills.list", &json!({}));
    assert_silence(&mut client);
    write(&home, "new", "Something new", "Do it.");
    write(&home, "git", "Commit safely", "Even smaller steps.");
    fs::remove_dir_all(home.skills().join("pdf")).unwrap();
    client.call("skills.list", &json!({}));
    let news = assert_told_once(&mut client);
    let params = json!({"reason": "skills: 1 added, 1 removed, 1 changed"});
    assert_eq!(news, json!({"jsonrpc": "2.0", "method": TOOLS_CHANGED, "params": params}));
    client.call("skills.search", &json!({"query": "steps"}));
    assert_silence(&mut client);
}

#[test]
fn sk_6_streams_are_told_the_reason_too() {
    let home = Home::with(BUNDLES);
    let mut client = Client::modern(sk(&home, &[]));
    client.call("skills.list", &json!({}));
    let id = listen(&mut client, &tools());
    assert_acknowledged(&client.message(), id, &tools());
    write(&home, "git", "Commit safely", "Even smaller steps.");
    client.call("skills.list", &json!({}));
    let news = assert_told_once(&mut client);
    assert_eq!(news["params"]["reason"], "skills: 1 changed");
    assert_eq!(news.pointer(SUBSCRIPTION), Some(&json!(id)));
}
