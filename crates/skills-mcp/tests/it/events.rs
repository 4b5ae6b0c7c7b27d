//! Events, as the real binary records them: promised examples as golden files, every door, and what must never
//! be in one.

use std::{fs, io::ErrorKind, net::TcpListener, path::Path, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, Remote};
use skills_usage::event::RecordedEvent;

use crate::{
    git::{follower, refresh, says},
    journal::kept,
    support::{ROOT_TREE, agents, bundle, install_plugins, run, server, with_all_tools},
};

/// The content that the promised examples come from: their paths, their keywords, as many bytes and tokens.
const CONTENT: &str = "\
//- _root.md
---
keywords: [conventions]
description: Rules for everything
---
Be kind.
//- ui/_index.md
---
keywords: [interface]
description: Rules for user interfaces
---
Mind the keyboard.
//- ui/react/_index.md
---
keywords: [frontend, hook]
description: Rules for React
---
Functions, not classes.
//- deploy/docker.md
---
keywords: [nginx, reverse, proxy, docker, image, layer, volume, network, registry, tag, build, push, pull, compose, swarm, container, daemon, socket, entrypoint, healthcheck, port, label, stage, cache, prune]
description: Shipping with Docker
---
Small images.
//- ui/react/auth/scripts/validate-auth-config.ts
test \"$SKILL_ARG_CONFIG_PATH\" = auth.json
";

/// What its skill says of itself: three keywords of four, less thirty thousandths.
const AUTH: &str = "\
---
keywords: [react, composant, auth, sso]
description: Signing in with React
priority: -30
assets:
  - file: assets/AuthProvider.tsx.template
    description: A provider
    type: template
scripts:
  - file: scripts/validate-auth-config.ts
    description: Checks the configuration
    execution: server
    args: [{name: config_path, description: Which file}]
---
";

/// A server over this home that records, for the machine of the examples.
fn recording(home: &Home, settings: &[&str]) -> Command {
    let mut command = with_all_tools(server(home));
    command.env("USER", "machine-alice");
    listened_to(&mut command, settings);
    command
}

/// With analytics on.
fn listened_to(command: &mut Command, settings: &[&str]) {
    command.args(["--log", "debug", "--set", "analytics.enabled=true"]);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
}

/// What was recorded until the server left, oldest first.
fn recorded(home: &Home, client: Client) -> Vec<Value> {
    let (status, _, log) = client.close();
    assert_eq!(status.code(), Some(0), "{log}");
    let history = home.path().join(".skills-mcp/analytics.jsonl");
    let history = fs::read_to_string(history).unwrap_or_default();
    let read = |line: &str| {
        RecordedEvent::read(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let mut event: Value = serde_json::from_str(line).unwrap();
        event.as_object_mut().unwrap().remove("check").unwrap();
        event
    };
    history.lines().map(read).collect()
}

/// An event without what no two runs share; each of that is what it should be.
fn steady(mut event: Value) -> Value {
    let fields = event.as_object_mut().unwrap();
    let mut take = |name: &str| {
        let slot = fields.get_mut(name).unwrap_or_else(|| panic!("an event without {name}"));
        std::mem::replace(slot, json!(format!("<{name}>")))
    };
    let (time, number, latency) = (take("timestamp"), take("event_id"), take("latency_us"));
    assert_eq!(take("server_version"), env!("CARGO_PKG_VERSION"));
    let (time, number) = (time.as_str().unwrap(), number.as_str().unwrap());
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    assert!(number.len() == 36 && number.get(14..15) == Some("7"), "{number}");
    let micros = latency.as_u64().unwrap();
    assert!(micros > 0 && micros < 20_000_000, "{micros}");
    if let Some(duration) = event.pointer_mut("/data/duration_ms") {
        assert!(duration.as_u64().unwrap() < 20_000, "{duration}");
        *duration = json!("<duration_ms>");
    }
    event
}

fn golden(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Fails where the promised event has a field that ours has not, or has with another type, or, beside what no two runs share,
/// with another value.
fn has_all_of(ours: &Value, promised: &Value, at: &str) {
    if let Some(fields) = promised.as_object() {
        for (name, value) in fields {
            let own = ours.get(name).unwrap_or_else(|| panic!("no {at}/{name} in {ours}"));
            has_all_of(own, value, &format!("{at}/{name}"));
        }
    } else if ["/timestamp", "/data/duration_ms"].contains(&at) {
        assert_eq!(std::mem::discriminant(ours), std::mem::discriminant(promised), "{at}");
    } else {
        assert_eq!(ours, promised, "{at}");
    }
}

// EVENT-2
#[test]
fn event_3_five_events_have_every_promised_field_and_ours_beside() {
    let home = Home::with(CONTENT);
    home.write("skills/ui/react/auth.md", format!("{AUTH}{}\n", "auth ".repeat(783).trim_end()));
    home.write("skills/ui/react/auth/assets/AuthProvider.tsx.template", "x".repeat(2_340));
    let settings = ["scripts.runners={.ts: sh}"];
    let mut client = Client::legacy(recording(&home, &settings), "2025-11-25");
    let of = |more: Value| {
        let mut arguments = json!({"skill_path": "ui/react/auth"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (tool, arguments) in [
        ("get_skill", json!({"context": "créer un composant React avec auth"})),
        ("report_usage", of(json!({"useful": false, "comment": "Ne couvre pas le cas SSO"}))),
        ("get_skill", json!({"context": "configurer nginx en reverse proxy"})),
        ("get_asset", of(json!({"file": "assets/AuthProvider.tsx.template"}))),
        (
            "run_script",
            of(
                json!({"file": "scripts/validate-auth-config.ts", "args": {"config_path": "auth.json"}}),
            ),
        ),
    ] {
        let reply = client.call(tool, &arguments);
        assert!(!reply.is_error, "{tool}: {}", reply.text);
    }
    let events = recorded(&home, client);
    let promised = golden("promised_fields.json");
    assert_eq!(events.len(), promised.as_array().unwrap().len());
    for (event, one) in events.into_iter().zip(promised.as_array().unwrap()) {
        has_all_of(&event, one, "");
        let name = format!("{}.json", one["type"].as_str().unwrap());
        assert_eq!(steady(event), golden(&name), "{name}");
    }
}

/// A bundle whose folder is called otherwise than the bundle, and a tree beside it.
fn shelf() -> Home {
    let home = Home::with(ROOT_TREE);
    home.write("skills/office/pdf-tools/SKILL.md", bundle("pdf", "Fills in forms", "Take care."));
    home.write("skills/office/pdf-tools/form.txt", "a form");
    home
}

// EVENT-3
#[test]
fn every_door_tells_and_calls_a_skill_by_the_name_that_every_door_takes() {
    let home = shelf();
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    for (tool, arguments) in [
        ("skills_list", json!({})),
        ("skills_search", json!({"query": "fills in forms", "match": "ranked"})),
        ("skill", json!({"name": "PDF"})),
        ("get_skill", json!({"skill_path": "pdf"})),
        ("get_asset", json!({"skill_path": "office/pdf-tools", "file": "form.txt"})),
        ("report_usage", json!({"skill_path": "pdf", "useful": true})),
        ("run_script", json!({"skill_path": "pdf", "file": "scripts/none.sh", "args": {}})),
        ("skill", json!({"name": "ui/react/auth"})),
    ] {
        client.call(tool, &arguments);
    }
    let events = recorded(&home, client);
    let told: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event["tool"].as_str().unwrap(), event["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("skills_search", "skill_searched"),
            ("skill", "skill_served"),
            ("get_skill", "skill_served"),
            ("get_asset", "asset_served"),
            ("report_usage", "skill_feedback"),
            ("run_script", "script_executed"),
            ("skill", "skill_served"),
        ]
    );
    let [searched, loaded, asked, .., refused, tree] = events.as_slice() else { unreachable!() };
    assert_eq!(searched["data"]["shown"][0], "office/pdf-tools");
    assert_eq!(searched["data"]["context"], "fills in forms");
    assert!(searched["data"]["total"].as_u64() >= Some(1));
    assert!(searched["data"]["certainty"].is_string() && searched.get("skill_digest").is_none());
    for event in &events[1..6] {
        assert_eq!(event["data"]["skill_path"], "office/pdf-tools", "{event}");
        assert_eq!(event["skill_digest"], loaded["skill_digest"]);
        assert!(event.get("skill_commit").is_none(), "a folder has no commit");
    }
    assert_eq!(loaded["data"]["was_shown"], true);
    assert!(loaded["data"]["content_length_tokens"].as_u64().unwrap() > 5);
    assert!(asked["data"].get("was_shown").is_none(), "once per showing");
    assert_eq!(refused["data"]["exit_code"], Value::Null);
    assert_eq!(tree["data"]["inherited_from"], json!(["_root", "ui/_index", "ui/react/_index"]));
    assert_ne!(tree["skill_digest"], loaded["skill_digest"]);
    let (code, shown, _) = run(server(&home).args(["show", "office/pdf-tools", "--json"]));
    assert!(code == 0 && shown.contains("Take care."), "{shown}");
}

// EVENT-2
#[test]
fn c07_a_report_says_which_version_a_server_runs_and_who_called_it() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    client.call("get_skill", &json!({"skill_path": "ui/react/auth"}));
    let events = recorded(&home, client);
    assert_eq!(events.len(), 1);
    let (code, out, err) = run(server(&home).args(["stats", "--json", "--client", "testkit"]));
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let expected = json!([{
        "server": "dev-machine-alice", "version": env!("CARGO_PKG_VERSION"), "older_version": false,
        "commit": null, "older_commit": false, "clients": ["testkit"], "calls": 1,
        "last_seen": events[0]["timestamp"],
    }]);
    assert_eq!(report["servers"], expected);
    assert_eq!(report["callers"], json!([{"name": "testkit", "n": 1}]));
}

// EVENT-3
#[test]
fn what_is_inherited_says_who_declares_it() {
    let home = Home::with(
        "\
//- ops/_index.md
---
keywords: [ops]
description: Operations
scripts:
  - {file: scripts/up.sh, description: Up, execution: server}
  - {file: scripts/by-hand.sh, description: By hand, execution: claude}
---
Text.
//- ops/_index/scripts/up.sh
exit 3
//- ops/_index/scripts/by-hand.sh
exit 0
//- ops/web.md
---
keywords: [web]
description: The web
---
Text.
",
    );
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    for file in ["scripts/up.sh", "scripts/by-hand.sh"] {
        client.call("run_script", &json!({"skill_path": "ops/web.md", "file": file, "args": {}}));
    }
    client.call("get_asset", &json!({"skill_path": "ops/web", "file": "scripts/up.sh"}));
    let events = recorded(&home, client);
    let whose = |event: &Value| {
        let data = &event["data"];
        (data["skill_path"].clone(), data["declared_by"].clone(), data["exit_code"].clone())
    };
    let all: Vec<_> = events.iter().map(whose).collect();
    let (web, ops) = (json!("ops/web"), json!("ops/_index"));
    assert_eq!(
        all,
        [
            (web.clone(), ops.clone(), json!(3)),
            (web.clone(), ops.clone(), Value::Null),
            (web, ops, Value::Null)
        ]
    );
    assert_eq!(events[1]["data"]["execution_mode"], "claude");
}

// EVENT-3
#[test]
fn a_name_that_no_skill_has_and_a_name_that_several_have_are_events() {
    let home = Home::new();
    install_plugins(
        &home,
        &[
            ("office", &[("pdf", bundle("pdf", "One", "Text."))]),
            ("print", &[("pdf", bundle("pdf", "Two", "Text."))]),
        ],
    );
    let mut command = agents(&home, &[]);
    listened_to(&mut command, &[]);
    let mut client = Client::legacy(command, "2025-11-25");
    for name in ["pdf", "print:pdf", "print:pdf", "ofice:pdf", &"zz".repeat(5_000)] {
        client.call("skill", &json!({"name": name}));
    }
    let events = recorded(&home, client);
    let [several, chosen, again, missed, long] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        (&several["type"], &several["data"]),
        (
            &json!("ambiguous"),
            &json!({"context": "pdf", "candidates": ["office:pdf", "print:pdf"]})
        )
    );
    assert_eq!(chosen["data"]["skill_path"], "print:pdf");
    assert_eq!(chosen["data"]["was_ambiguous"], true);
    assert_eq!(again["data"]["was_ambiguous"], false);
    assert_eq!(
        (&missed["type"], &missed["data"]),
        (
            &json!("no_match"),
            &json!({"context": "ofice:pdf", "closest_candidate": "office:pdf", "closest_score": null})
        )
    );
    assert_eq!(long["data"]["context"].as_str().unwrap().len(), 200);
    assert_eq!(long["data"]["closest_candidate"], Value::Null);
}

// EVENT-2
#[test]
fn a_client_is_known_by_its_name_in_both_eras() {
    let home = Home::with(ROOT_TREE);
    let mut modern = Client::modern(recording(&home, &[]));
    modern.call("skills.search", &json!({"query": "login"}));
    let events = recorded(&home, modern);
    let who = |event: &Value| {
        [event["tool"].clone(), event["client_name"].clone(), event["client_version"].clone()]
    };
    assert_eq!(who(&events[0]), ["skills_search", "testkit", "1"]);

    let other = Home::with(ROOT_TREE);
    let mut legacy = Client::spawn(recording(&other, &[]));
    let info = json!({"name": format!("e\u{1b}[2Jvil\n{}", "n".repeat(500)), "version": "\u{7}"});
    legacy.request(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}),
    );
    legacy.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    legacy.call("get_skill", &json!({"context": "nginx"}));
    let events = recorded(&other, legacy);
    let name = format!("e[2Jvil{}", "n".repeat(57));
    assert_eq!(who(&events[0]), [json!("get_skill"), json!(name), Value::Null]);
}

// EVENT-2
#[test]
fn a_skill_of_a_repository_says_which_commit_it_is() {
    let text = |words: &str| {
        format!("//- skills/a.md\n---\nkeywords: [a]\ndescription: A\n---\n{words}\n")
    };
    let home = Home::new();
    let remote = Remote::with(&home, "team", &text("First."));
    let first = remote.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut command = follower(&home, &remote.url());
    listened_to(&mut command, &[]);
    let mut client = Client::legacy(command, "2025-11-25");
    says(&mut client, "a", "First.");
    let second = remote.commit(&text("Second."));
    refresh(&mut client);
    says(&mut client, "a", "Second.");
    let events = recorded(&home, client);
    let mut served = events.iter().filter(|event| event["type"] == "skill_served");
    let (one, other) = (served.next().unwrap(), served.next_back().unwrap());
    assert_eq!(
        [&one["skill_commit"], &other["skill_commit"]],
        [&json!(first), &json!(second.trim())]
    );
    assert_ne!(one["skill_digest"], other["skill_digest"]);
}

/// Words that must not be found where they are not wanted: of a request, of a name that is not there, of a script's
/// argument, of a folder to work in; and of a comment, which is said on purpose.
const CANARIES: [&str; 4] = ["canary-context", "canary-asked", "canary-argument", "canary-folder"];
const COMMENT: &str = "canary-comment";

/// A home whose skill has a script, and whose content wants all events.
fn aviary(endpoint: &str) -> Home {
    let home = shelf();
    home.write(
        "skills/tool.md",
        "---\nkeywords: [tool]\ndescription: A tool\nscripts:\n  - {file: scripts/x.sh, description: X, execution: server, args: [{name: key, description: K}]}\n---\nUse it.\n",
    );
    home.write("skills/tool/scripts/x.sh", "exit 0\n");
    home.write("project/canary-folder/.keep", "");
    home.write(
        "skills/config.yaml",
        format!("analytics: {{enabled: true, endpoint: '{endpoint}'}}\n"),
    );
    home
}

/// Every tool, each with a canary where one fits.
fn sing(client: &mut Client) {
    for (tool, arguments) in [
        ("get_skill", json!({"context": "canary-context nginx"})),
        ("get_skill", json!({"context": "canary-context login session"})),
        ("get_skill", json!({"context": "canary-context tool"})),
        ("get_skill", json!({"context": "canary-context", "skill_path": "tool"})),
        ("list_skills", json!({})),
        ("skills_list", json!({})),
        ("skills_search", json!({"query": "canary-context forms"})),
        ("skill", json!({"name": "canary-asked"})),
        ("skill", json!({"name": "pdf"})),
        ("get_asset", json!({"skill_path": "pdf", "file": "form.txt"})),
        (
            "run_script",
            json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {"key": "canary-argument"}, "cwd": "canary-folder"}),
        ),
        (
            "run_script",
            json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {"key": "canary-argument\0"}}),
        ),
        ("report_usage", json!({"skill_path": "tool", "useful": true, "comment": COMMENT})),
        ("refresh_skills", json!({})),
    ] {
        client.call(tool, &arguments);
    }
}

/// Every file below a folder that has one of these words in it.
pub(crate) fn files_with(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            let has = words.iter().any(|word| text.contains(word));
            found.extend(has.then(|| path.display().to_string()));
        }
    }
    found
}

// EVENT-1
#[test]
fn b09_with_analytics_off_nothing_is_kept_and_no_endpoint_is_called() {
    let endpoint = TcpListener::bind("127.0.0.1:0").unwrap();
    endpoint.set_nonblocking(true).unwrap();
    let home = aviary(&format!("http://{}/v1/events", endpoint.local_addr().unwrap()));
    let mut command = with_all_tools(server(&home));
    command.env("SKILLS_TRUST", "strict").args(["--log", "debug"]);
    command.current_dir(home.path().join("project"));
    let mut client = Client::legacy(command, "2025-11-25");
    sing(&mut client);
    let (_, _, log) = client.close();
    for canary in CANARIES {
        assert!(!log.contains(canary), "{canary}: {log}");
    }
    // REPORT-1: what is said of a skill is logged, with analytics off too.
    assert_eq!(log.matches(COMMENT).count(), 1, "{log}");
    assert!(!log.contains("recorded"), "{log}");
    assert_eq!(
        files_with(home.path(), &[&CANARIES[..], &[COMMENT]].concat()),
        Vec::<String>::new()
    );
    assert_eq!(kept(&home), Vec::<String>::new());
    let called = endpoint.accept().map_err(|error| error.kind());
    assert!(matches!(called, Err(ErrorKind::WouldBlock)), "{called:?}");
}

// EVENT-5
#[test]
fn b09_of_a_request_nothing_is_recorded_but_what_was_asked_for() {
    for (mode, heard) in [("full", true), ("tokens", true), ("off", false)] {
        let endpoint = TcpListener::bind("127.0.0.1:0").unwrap();
        endpoint.set_nonblocking(true).unwrap();
        let home = aviary(&format!("http://{}/v1/events", endpoint.local_addr().unwrap()));
        let mut command = recording(&home, &[&format!("analytics.context={mode}")]);
        command.env("SKILLS_TRUST", "strict").current_dir(home.path().join("project"));
        let mut client = Client::legacy(command, "2025-11-25");
        sing(&mut client);
        let events = recorded(&home, client);
        assert_eq!(events.len(), 12, "{events:?}");
        let all = serde_json::to_string(&events).unwrap();
        for never in ["canary-argument", "canary-folder", &*home.path().to_string_lossy()] {
            assert!(!all.contains(never), "{mode}: {never}: {all}");
        }
        assert!(all.contains(COMMENT), "said on purpose");
        let ran: Vec<&Value> =
            events.iter().filter_map(|event| event["data"].get("exit_code")).collect();
        assert_eq!(ran, [&json!(0), &Value::Null]);
        for canary in ["canary-context", "canary-asked"] {
            assert_eq!(all.contains(canary), heard, "{mode}: {all}");
        }
        let contexts: Vec<&Value> =
            events.iter().filter_map(|event| event["data"].get("context")).collect();
        let first = json!({"full": "canary-context login session", "tokens": "canary-context login session", "off": null});
        assert_eq!((contexts.len(), contexts[1]), (7, &first[mode]), "{mode}");
        let called = endpoint.accept().map_err(|error| error.kind());
        assert!(matches!(called, Err(ErrorKind::WouldBlock)), "{mode}: {called:?}");
    }
}

// EVENT-5
#[test]
fn tokens_are_words_without_an_order() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::legacy(recording(&home, &["analytics.context=tokens"]), "2025-11-25");
    client.call("get_skill", &json!({"context": "Please login the user to a session, the LOGIN"}));
    client.call("skills_search", &json!({"query": "Où est la session?"}));
    client.call("get_skill", &json!({"context": "the"}));
    let events = recorded(&home, client);
    let contexts: Vec<&Value> = events.iter().map(|event| &event["data"]["context"]).collect();
    assert_eq!(contexts, [&json!("login session user"), &json!("session"), &Value::Null]);
}

#[test]
fn b10_the_longest_comment_that_passes_is_one_short_line() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    // Every character that ends a line, a string or a terminal's patience somewhere.
    let nasty = "\0\u{1b}[2J\r\n\u{7f}\u{85}\u{2028}\u{202e}\"\\'}]é";
    let comment = |bytes: usize| {
        let one = serde_json::to_string(nasty).unwrap().len();
        nasty.repeat(bytes / one)
    };
    let rate = |comment: &str| json!({"name": "report_usage", "arguments": {"skill_path": "api/auth", "useful": true, "comment": comment}});
    client.ask("tools/call", rate(&comment(10_000_000)));
    let refused = client.message();
    assert!(refused["error"]["message"].as_str().unwrap().contains("is over"), "{refused}");
    let longest = comment(4 * 1024 * 1024 - 1_000);
    let answer = client.request("tools/call", rate(&longest));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let events = recorded(&home, client);
    assert_eq!(events.len(), 1, "{events:?}");
    let kept = events[0]["data"]["comment"].as_str().unwrap();
    assert_eq!(kept.chars().count(), 4_000);
    assert!(longest.starts_with(kept));
    let line = serde_json::to_string(&events[0]).unwrap();
    assert!(!line.bytes().any(|byte| byte < b' '), "one line, and nothing that is not text");
}
