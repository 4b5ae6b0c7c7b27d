//! What an agent sees, word for word, and the events of its calls.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use skills_mcp::{
    config::{ConfigLayers, Environment, NamedDirectory, Trust},
    script::Runs,
    source::Directory,
    store::{Cause, Store},
    surface::{Dispatcher, Refusal, ServerProfile, TOOLS, ToolRequest},
};
use skills_testkit::{Client, Home};
use skills_usage::{event::Sink, telemetry::Telemetry};

use crate::support::{ROOT_TREE, client, server};

#[test]
fn the_list_of_tools_is_what_it_was() {
    let home = Home::with(ROOT_TREE);
    let answer = client(&home).request("tools/list", json!({}));
    insta::assert_json_snapshot!("tools_list", answer["result"]["tools"]);
}

#[test]
fn the_description_of_the_server_is_what_it_was() {
    let home = Home::with(ROOT_TREE);
    let mut client = Client::modern(server(&home));
    let mut result = client.request("server/discover", json!({}))["result"].clone();
    result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] = json!("<version>");
    insta::assert_json_snapshot!("discover", result);
}

// ANSWER-2
#[test]
fn schemas_take_nothing_they_do_not_name() {
    for tool in TOOLS {
        let schema = (tool.input)();
        assert_eq!(schema.get("type"), Some(&json!("object")), "{}", tool.name);
        assert_eq!(schema.get("additionalProperties"), Some(&json!(false)), "{}", tool.name);
    }
}

/// The tools in this very process, and the events of their calls.
struct Calls {
    dispatcher: Dispatcher,
    events: Arc<Mutex<Vec<Value>>>,
    _home: Home,
}

impl Calls {
    fn new() -> Self {
        let home = Home::with(ROOT_TREE);
        let named = NamedDirectory {
            name: "team".into(),
            path: home.skills(),
            origin: "--dir".into(),
            project: None,
        };
        let source = Directory::open(&named, Trust::Named).unwrap();
        let environment = Environment::default();
        let stack =
            ConfigLayers::read(&environment, &["analytics.enabled=true".to_owned()]).unwrap();
        let store = Arc::new(Store::new(vec![source], stack));
        store.refresh(Cause::Start);
        let events = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&events);
        let sink = Sink::new("dev-ada", "1.2.3", move |event| {
            listener.lock().unwrap().push(serde_json::to_value(event).unwrap());
        });
        let profile = ServerProfile::skills_mcp(true, Arc::default());
        let runs = Runs::new(&environment).supervised_by(env!("CARGO_BIN_EXE_skills-mcp").into());
        let dispatcher = Dispatcher::new(store, profile, runs, sink, Telemetry::default());
        Self { dispatcher, events, _home: home }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<String, Refusal> {
        let request = ToolRequest::new(tool, arguments.as_object().unwrap().clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.dispatcher.call(request)).map(|reply| reply.text.to_string())
    }

    /// The events since this was called last, their time and place checked and taken out.
    fn events(&self) -> Vec<Value> {
        let mut events = std::mem::take(&mut *self.events.lock().unwrap());
        for event in &mut events {
            let event = event.as_object_mut().unwrap();
            let timestamp = event.remove("timestamp").unwrap();
            assert!(
                timestamp.as_str().unwrap().ends_with('Z')
                    && timestamp.as_str().unwrap().len() == 24,
                "{timestamp}"
            );
            assert_eq!(event.remove("server_id").unwrap(), "dev-ada");
            assert_eq!(event.remove("server_version").unwrap(), "1.2.3");
            assert!(event.remove("tool").unwrap().is_string());
            assert!(event.remove("latency_us").unwrap().is_u64());
            let number = event.remove("event_id").unwrap();
            assert_eq!(number.as_str().unwrap().len(), 36, "{number}");
            let digest = event.remove("skill_digest");
            let digest = digest.as_ref().and_then(Value::as_str);
            let about_one = event.get("data").unwrap().get("skill_path").is_some();
            assert_eq!(digest.is_some(), about_one);
            assert!(digest.is_none_or(|it| it.starts_with("sha256:") && it.len() == 71));
        }
        events
    }
}

#[test]
fn event_3_every_tool_records_its_event() {
    let calls = Calls::new();
    calls.call("get_skill", &json!({"context": "nginx"})).unwrap();
    calls.call("get_skill", &json!({"context": "login session"})).unwrap();
    calls.call("get_skill", &json!({"skill_path": "ui/react/auth"})).unwrap();
    calls.call("get_skill", &json!({"context": "react hook component"})).unwrap();
    calls
        .call("get_asset", &json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"}))
        .unwrap();
    calls
        .call(
            "report_usage",
            &json!({"skill_path": "api/auth", "useful": false, "comment": "no SSO"}),
        )
        .unwrap();
    calls.call("refresh_skills", &json!({})).unwrap();
    let chain = json!(["_root", "ui/_index", "ui/react/_index"]);
    let mut events = calls.events();
    for event in &mut events {
        if let Some(tokens) = event["data"].get_mut("content_length_tokens") {
            assert!(tokens.as_u64().unwrap() > 20, "{tokens}");
            *tokens = json!("<tokens>");
        }
    }
    assert_eq!(
        events,
        [
            json!({"type": "no_match", "data": {"context": "nginx", "closest_candidate": null, "closest_score": null, "certainty": "unsure"}}),
            json!({"type": "ambiguous", "data": {"context": "login session", "candidates": ["api/auth", "ui/react/auth"], "certainty": "several"}}),
            json!({"type": "skill_served", "data": {
                "context": "login session", "skill_path": "ui/react/auth", "score": null, "matched_keywords": [],
                "was_ambiguous": true, "inherited_from": chain, "content_length_tokens": "<tokens>",
            }}),
            json!({"type": "skill_served", "data": {
                "context": "react hook component", "skill_path": "ui/react/_index", "score": 1.0,
                "matched_keywords": ["react", "component", "hook"], "matched_by": "both", "was_ambiguous": false,
                "inherited_from": ["_root", "ui/_index"], "content_length_tokens": "<tokens>",
            }}),
            json!({"type": "asset_served", "data": {
                "skill_path": "ui/react/auth", "file": "assets/A.tsx", "asset_type": "template",
                "is_inherited": false, "size_bytes": 20,
            }}),
            json!({"type": "skill_feedback", "data": {"skill_path": "api/auth", "useful": false, "comment": "no SSO"}}),
            json!({"type": "refresh", "data": {
                "mode": "local", "success": true, "commit_hash": null, "files_changed": null, "skills_reindexed": 5,
            }}),
        ]
    );
}

#[test]
fn what_is_refused_is_not_counted_as_served() {
    let calls = Calls::new();
    assert!(matches!(
        calls.call("get_skill", &json!({"skill_path": "nope"})),
        Err(Refusal::Tool(_))
    ));
    assert!(matches!(
        calls.call("get_asset", &json!({"skill_path": "api/auth", "file": "../x"})),
        Err(Refusal::Tool(_))
    ));
    assert!(matches!(calls.call("get_skill", &json!({})), Err(Refusal::Params(_))));
    assert!(matches!(
        calls.call("report_usage", &json!({"skill_path": "nope", "useful": true})),
        Err(Refusal::Tool(_))
    ));
    assert_eq!(calls.events(), Vec::<Value>::new());
}

// REPORT-1
#[test]
fn b10_a_comment_is_capped() {
    let calls = Calls::new();
    calls
        .call(
            "report_usage",
            &json!({"skill_path": "api/auth", "useful": true, "comment": "x".repeat(10_000_000)}),
        )
        .unwrap();
    assert_eq!(calls.events()[0]["data"]["comment"].as_str().unwrap().len(), 4_000);
}

// EVENT-4
#[test]
fn choosing_counts_as_ambiguous_only_right_after_the_offer() {
    let calls = Calls::new();
    let was_ambiguous = || calls.events().last().unwrap()["data"]["was_ambiguous"].clone();
    calls.call("get_skill", &json!({"skill_path": "api/auth"})).unwrap();
    assert_eq!(was_ambiguous(), false);
    calls.call("get_skill", &json!({"context": "login session"})).unwrap();
    calls.call("get_skill", &json!({"skill_path": "ui/_index"})).unwrap();
    assert_eq!(was_ambiguous(), false, "it was not among the candidates");
    calls.call("get_skill", &json!({"skill_path": "api/auth"})).unwrap();
    assert_eq!(was_ambiguous(), false, "the offer is forgotten");
}

// EVENT-1
#[test]
fn analytics_are_off_by_default_and_on_with_an_endpoint() {
    let home = Home::with(ROOT_TREE);
    for (endpoint, recorded) in [("", 0), ("http://127.0.0.1:9/x", 1)] {
        let mut command = server(&home);
        command.env("SKILLS_LOG", "debug").env("ANALYTICS_ENDPOINT", endpoint).env("USER", "ada");
        let mut client = Client::legacy(command, "2025-11-25");
        client.call("get_skill", &json!({"context": "nginx"}));
        let (_, _, log) = client.close();
        assert_eq!(log.matches("recorded").count(), recorded, "{log}");
        assert_eq!(log.contains("dev-ada"), recorded == 1);
    }
}
