//! The page in a real Chromium: read, looked at and walked through by keyboard, with what people write and with what
//! no author should.
//!
//! Wants `node`, `npm` and `/usr/bin/chromium`; what it fetches goes into the build's own folder.

use std::{
    fs,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use skills_testkit::{
    Home, Listening,
    events::{Events, skill_name, timestamp},
};

use crate::tools::NODE;

const DAY: u64 = 86_400_000;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// Hostile names, requests and comments.
const HOSTILE: &str = "\"'><script>document.title='owned'</script><img src=//evil.example/x onerror=alert(1)>\u{202e}\u{1b}[2J";

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// A line of a history.
fn line(number: u64, kind: &str, at: u64, data: &Value) -> String {
    let recorded = json!({"type": kind, "data": data, "timestamp": timestamp(at), "server_id": HOSTILE,
        "event_id": format!("0198c0de-0000-7000-8000-{number:012}"), "tool": "get_skill", "client_name": HOSTILE, "latency_us": 300});
    recorded.to_string()
}

/// Hostile text in the name of a skill, in requests, comments, files and clients.
fn hostile(now: u64) -> Vec<String> {
    (0..40)
        .flat_map(|number| {
            let at = now - number * 3_600_000;
            let served = json!({"context": HOSTILE, "skill_path": HOSTILE, "score": 0.5, "content_length_tokens": 900});
            let said = json!({"skill_path": HOSTILE, "useful": number % 3 == 0, "comment": HOSTILE});
            let asked = json!({"context": format!("{HOSTILE} nginx proxy"), "closest_candidate": HOSTILE, "closest_score": 0.1});
            let asset = json!({"skill_path": HOSTILE, "file": HOSTILE, "asset_type": HOSTILE, "size_bytes": 10});
            let script = json!({"skill_path": HOSTILE, "file": HOSTILE, "success": false, "exit_code": 1, "duration_ms": 20});
            [
                line(number * 10, "skill_served", at, &served),
                line(number * 10 + 1, "skill_feedback", at, &said),
                line(number * 10 + 2, "no_match", at, &asked),
                line(number * 10 + 3, "asset_served", at, &asset),
                line(number * 10 + 4, "script_executed", at, &script),
            ]
        })
        .collect()
}

/// Sixty skills, one with a hostile text, one that cannot be read.
fn home(events: &[String]) -> Home {
    let home = Home::new();
    for rank in 0..60 {
        let name = skill_name(rank);
        let about = format!("How we do {name}, with the checks that have to pass");
        let files = "assets:\n  - file: templates/example.tsx\n    description: An example\nscripts:\n  - file: setup.sh\n    description: Prepares it\n    execution: server\n";
        home.write(
            &format!("skills/{name}.md"),
            format!("---\nkeywords: [one, two]\ndescription: {about}\n{files}---\n# {name}\n\nDo it well.\n"),
        );
    }
    let text = json!(HOSTILE).to_string();
    home.write(
        "skills/hostile.md",
        format!("---\nkeywords: [{text}]\ndescription: {text}\n---\n{HOSTILE}</pre>\n"),
    );
    home.write("skills/broken.md", "---\nkeywords: [a\n");
    home.write("history.jsonl", events.join("\n") + "\n");
    home
}

fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills()).args(arguments);
    command.arg("--file").arg(home.path().join("history.jsonl"));
    command
}

/// Looks at the page of these events, and at a skill's own; what was complained of, and how many numbers were compared.
/// Without events, also at the page that asks for a token.
fn looked_at(name: &str, events: &[String], views: &str, skills: &[&str]) -> Value {
    let home = home(events);
    let stats = command(&home, &["stats", "--json", "--days", "30"]).output().unwrap();
    assert!(stats.status.success(), "{}", String::from_utf8_lossy(&stats.stderr));
    home.write("report.json", &stats.stdout);
    let page = Listening::start(command(&home, &["dashboard", "--listen", "127.0.0.1:0"]));
    let mut asking = command(&home, &["dashboard", "--listen", "127.0.0.1:0"]);
    asking.env("COLLECT_TOKEN", TOKEN);
    let asking = events.is_empty().then(|| Listening::start(asking));
    let login = asking.as_ref().map(|asking| format!("http://{}/", asking.address()));
    let tools = &*NODE;
    let shots = tools.join(format!("shots-{name}"));
    fs::create_dir_all(&shots).unwrap();
    let node = Command::new("node")
        .arg("page.mjs")
        .arg(format!("http://{}/", page.address()))
        .arg(home.path().join("report.json"))
        .arg(&shots)
        .arg(views)
        .args(skills)
        .env("TOKEN", TOKEN)
        .env("LOGIN", login.unwrap_or_default())
        .current_dir(tools)
        .output()
        .expect("node is installed: apt-get install nodejs");
    let said = String::from_utf8_lossy(&node.stdout).into_owned();
    assert!(node.status.success(), "{said}{}", String::from_utf8_lossy(&node.stderr));
    serde_json::from_str(said.trim()).expect("one line of JSON")
}

#[test]
fn people_see_the_page_on_every_screen_by_day_and_by_night_and_by_keyboard() {
    let now = now();
    let events: Vec<String> = Events::new(3, 4_000, now - 40 * DAY, now).collect();
    let seen = looked_at("usual", &events, "all", &[&skill_name(0)]);
    assert_eq!(seen["complaints"], json!([]));
    assert_eq!(seen["views"], 12);
    assert!(seen["numbers"].as_u64() > Some(1_000) && seen["links"].as_u64() > Some(100), "{seen}");
}

#[test]
fn hostile_text_is_only_text() {
    let seen = looked_at("hostile", &hostile(now()), "few", &[HOSTILE, "hostile"]);
    assert_eq!(seen["complaints"], json!([]));
    assert!(seen["numbers"].as_u64() > Some(50), "{seen}");
}

#[test]
fn a_page_of_nothing_is_a_page_and_so_is_the_one_that_asks_for_the_token() {
    let seen = looked_at("empty", &[], "few", &[&skill_name(0)]);
    assert_eq!(seen["complaints"], json!([]));
}
