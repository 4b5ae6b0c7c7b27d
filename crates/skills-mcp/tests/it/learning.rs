//! Learning from use: past requests in the search of this machine, and proposals for everybody.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, eventually};

use crate::support::{bundle, run, server, with_all_tools};

/// Two skills that a request about "standup" tells nothing of, and others.
fn home() -> Home {
    let home = Home::with("");
    for (name, about) in [
        ("meeting-notes", "Write meeting notes from a transcript"),
        ("status-report", "Write a weekly status report for the team"),
        ("release-notes", "Write release notes from merged pull requests"),
        ("pdf-forms", "Fill PDF forms"),
    ] {
        home.write(&format!("skills/{name}/SKILL.md"), bundle(name, about, "Steps."));
    }
    home
}

const REQUEST: &str = "write the standup summary";

fn recording(home: &Home, settings: &[&str]) -> Command {
    let mut command = with_all_tools(server(home));
    command.args(["--set", "analytics.enabled=true"]);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    command
}

fn first(client: &mut Client) -> String {
    let found = client.call("skills_search", &json!({"query": REQUEST}));
    let first = found.text.lines().nth(1).unwrap_or_default().to_owned();
    first.trim_start_matches("- ").split(':').next().unwrap_or_default().to_owned()
}

/// A history in which the request showed several skills, and this one was loaded.
fn loaded(home: &Home, skill: &str) {
    let mut client = Client::legacy(recording(home, &[]), "2025-11-25");
    assert_ne!(first(&mut client), skill);
    client.call("skill", &json!({"name": skill}));
    let (status, _, log) = client.close();
    assert!(status.success(), "{log}");
    let history = fs::read_to_string(home.path().join(".skills-mcp/analytics.jsonl")).unwrap();
    let served = history.lines().find(|line| line.contains("skill_served")).unwrap();
    let served: Value = serde_json::from_str(served).unwrap();
    assert_eq!(served.pointer("/data/context"), Some(&json!(REQUEST)));
}

// LEARN-1
#[test]
fn the_prompt_hook_and_get_skill_know_what_a_skill_was_loaded_for() {
    let home = home();
    loaded(&home, "status-report");
    let hinted = |learn: &str| {
        let mut command = recording(&home, &[&format!("matching.learn={learn}")]);
        command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let prompt = json!({"prompt": REQUEST, "session_id": "", "cwd": home.path()}).to_string();
        child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    eventually("the hook speaks", || hinted("true").contains("status-report").then_some(()));
    assert!(!hinted("false").contains("status-report"));
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    eventually("get_skill has it first", || {
        let found = client.call("get_skill", &json!({"context": REQUEST})).json;
        let first = found["skill_path"].as_str().or(found["candidates"][0]["skill_path"].as_str());
        (first == Some("status-report")).then_some(())
    });
}

// LEARN-1, EVENT-7
#[test]
fn a_skill_that_was_loaded_for_a_request_is_found_by_it() {
    let home = home();
    loaded(&home, "status-report");
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    eventually("the request finds what was loaded for it", || {
        (first(&mut client) == "status-report").then_some(())
    });
    drop(client);
    let tried = |settings: &[&str]| {
        let mut command = server(&home);
        command.args(["--set", "analytics.enabled=true"]);
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        run(command.args(["try", REQUEST])).1
    };
    let out = tried(&[]);
    assert!(
        out.contains("1. status-report") && out.contains("   learned from: 1 request\n"),
        "{out}"
    );
    for setting in ["matching.learn=false", "analytics.enabled=false", "analytics.context=tokens"] {
        let out = tried(&[setting]);
        assert!(
            !out.contains("learned from") && !out.contains("1. status-report"),
            "{setting}: {out}"
        );
    }
    // Another machine with the same history ranks alike.
    let other = self::home();
    let history = fs::read(home.path().join(".skills-mcp/analytics.jsonl")).unwrap();
    other.write(".skills-mcp/analytics.jsonl", history);
    let mut command = server(&other);
    command.args(["--set", "analytics.enabled=true", "try", REQUEST]);
    assert_eq!(run(&mut command).1, out_of(&home));
    // What the history forgets is forgotten.
    fs::remove_file(home.path().join(".skills-mcp/analytics.jsonl")).unwrap();
    let out = tried(&[]);
    assert!(!out.contains("learned from") && !out.contains("1. status-report"), "{out}");
}

fn out_of(home: &Home) -> String {
    run(server(home).args(["--set", "analytics.enabled=true", "try", REQUEST])).1
}

// LEARN-1
#[test]
fn a_load_that_was_called_useless_teaches_nothing() {
    let home = home();
    let mut client = Client::legacy(recording(&home, &[]), "2025-11-25");
    first(&mut client);
    client.call("skill", &json!({"name": "status-report"}));
    client.call("report_usage", &json!({"skill_path": "status-report", "useful": false}));
    client.close();
    let out = out_of(&home);
    assert!(!out.contains("learned from"), "{out}");
}

/// A history of this many loads each.
fn history(home: &Home, loads: &[(&str, &str)]) {
    let today = skills_mcp::clock::today() * 86_400;
    let line = |(number, (skill, request)): (usize, &(&str, &str))| {
        let kind = if skill.is_empty() { "no_match" } else { "skill_served" };
        let data = match *skill {
            "" => json!({"context": request}),
            skill => json!({"context": request, "skill_path": skill}),
        };
        let at = skills_mcp::clock::timestamp_of(std::time::Duration::from_secs(
            u64::try_from(today).unwrap() + number as u64,
        ));
        json!({"type": kind, "timestamp": at, "server_id": "a", "tool": "get_skill", "data": data})
            .to_string()
    };
    let lines: Vec<String> = loads.iter().enumerate().map(line).collect();
    home.write(".skills-mcp/analytics.jsonl", lines.join("\n") + "\n");
}

const LOADS: &[(&str, &str)] = &[
    ("status-report", "write the standup summary"),
    ("status-report", "write the standup summary"),
    ("status-report", "standup: write what we did yesterday"),
    ("release-notes", "write release notes from merged pull requests"),
    ("", "zebra migration across the savanna"),
    ("", "how does a zebra migration start"),
];

fn learn(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    run(server(home).arg("learn").args(arguments))
}

fn git(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let mut command = home.command("git");
    run(command.current_dir(home.skills()).args(arguments))
}

// LEARN-2, LEARN-3
#[test]
fn proposed_examples_come_with_evidence_and_as_a_patch_that_git_applies() {
    let home = home();
    history(&home, LOADS);
    home.write("skills/routing.yaml", "- {request: write notes of a meeting, expect: meeting-notes}\n- {request: summary of the standup, expect: status-report}\n");
    assert_eq!(run(server(&home).arg("test")).0, 1, "a request finds another skill");
    let (code, out, err) = learn(&home, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    insta::assert_snapshot!("learned_proposals", out);
    let before = fs::read_to_string(home.skills().join("status-report/SKILL.md")).unwrap();
    let (code, patch, err) = learn(&home, &["--patch"]);
    assert_eq!((code, err.as_str()), (0, ""));
    home.write("learn.patch", &patch);
    git(&home, &["init", "-q"]);
    let (code, _, err) = git(&home, &["apply", "--verbose", "../learn.patch"]);
    assert_eq!(code, 0, "{err}\n{patch}");
    let after = fs::read_to_string(home.skills().join("status-report/SKILL.md")).unwrap();
    let added =
        "examples:\n  - write the standup summary\n  - \"standup: write what we did yesterday\"\n";
    assert_eq!(after.replace(added, ""), before, "{after}");
    // What was learned is there for every machine, without a history.
    let (code, out, _) = run(server(&home).arg("test"));
    assert_eq!(code, 0, "{out}");
    // And nothing more is proposed for it.
    let (_, out, _) = learn(&home, &["--json"]);
    let left: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(left["proposals"], json!([]), "{left}");
}

// LEARN-2
#[test]
fn a_collectors_archive_gives_the_same_proposals() {
    let home = home();
    history(&home, LOADS);
    let file = home.path().join(".skills-mcp/analytics.jsonl");
    let events: Vec<_> = fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(|line| skills_mcp::event::RecordedEvent::read(line).unwrap())
        .collect();
    let archive = format!("sqlite:{}", home.path().join("collected.db").display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use skills_usage::archive::{Address, Archive, Keep};
        let archive =
            Archive::open(&Address::parse(&archive).unwrap(), Keep::default()).await.unwrap();
        archive.take(events).await.unwrap();
    });
    let (_, own, _) = learn(&home, &["--json"]);
    fs::remove_file(file).unwrap();
    let (code, collected, err) = learn(&home, &["--json", "--store", &archive]);
    assert_eq!((code, collected), (0, own), "{err}");
    let (code, out, _) = learn(&home, &[]);
    assert_eq!(code, 0);
    assert!(out.contains("the history has no text of a request"), "{out}");
}

// LEARN-2
#[test]
fn the_page_shows_the_same_proposals() {
    let home = home();
    let mut loads = LOADS.to_vec();
    loads.push(("status-report", "standup <b>summary</b> for the team meeting notes"));
    history(&home, &loads);
    let mut command = server(&home);
    command.arg("dashboard");
    let page = skills_testkit::Listening::start(command);
    let overview = page.get("/?days=90").body;
    assert!(overview.contains("href=\"/proposals?days=90\""), "{overview}");
    let proposals = page.get("/proposals?days=90");
    assert_eq!(proposals.status, 200);
    assert!(
        proposals.body.contains("status-report/SKILL.md: add to <code>examples</code>"),
        "{}",
        proposals.body
    );
    assert!(proposals.body.contains("<q>write the standup summary</q>"), "{}", proposals.body);
    assert!(!proposals.body.contains("<b>summary"), "{}", proposals.body);
}
