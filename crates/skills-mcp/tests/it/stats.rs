//! Statistics: a history read in pieces, by many threads and again says what counting one by one says; and what people
//! and agents are told of it.

use std::{collections::HashSet, fs};

use proptest::prelude::*;
use serde_json::{Value, json};
use skills_testkit::{
    Client, Home,
    events::{Events, skill_name},
};
use skills_usage::{
    archive::{Archive, Evidence, MAX_SKILL_EVENTS, Period, lines::LineArchive},
    event::RecordedEvent,
    report::UsageReport,
};

use crate::{
    recount,
    support::{ROOT_TREE, run, server},
};

const DAY: u64 = 86_400_000;
/// 2026-02-01 to 2026-02-28.
const DAYS: Period = Period { from: 20_485, to: 20_512 };

fn events(seed: u64, count: usize) -> Vec<String> {
    let millis = |day: i64| u64::try_from(day).unwrap() * DAY;
    Events::new(seed, count, millis(DAYS.from), millis(DAYS.to + 1)).collect()
}

/// The line with the check that the journal writes.
fn checked(line: &str) -> String {
    let text = line.strip_suffix('}').unwrap();
    format!("{text},\"check\":\"{:08x}\"}}", crc32fast::hash(text.as_bytes()))
}

fn counted_one_by_one(lines: &[String], period: Period) -> Evidence {
    counted_one_by_one_of(lines, period, None)
}

fn counted_one_by_one_of(lines: &[String], period: Period, client: Option<&str>) -> Evidence {
    let mut seen = HashSet::new();
    let read = lines.iter().filter_map(|line| RecordedEvent::read(line).ok());
    let each: Vec<RecordedEvent> = read.filter(|event| seen.insert(event.event_id)).collect();
    recount::evidence(&each, period, client)
}

/// What happens to a history.
#[derive(Debug, Clone)]
enum Step {
    /// So many new events.
    Write(usize),
    /// An old event again.
    Repeat(prop::sample::Index),
    /// Something that is no event.
    Junk(&'static str),
    /// The file becomes `.1`.
    Rotate,
    /// A report is asked for.
    Ask(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_usize..200).prop_map(Step::Write),
        2 => any::<prop::sample::Index>().prop_map(Step::Repeat),
        2 => prop::sample::select(vec!["{", "\0\0\0", "[]", "  ", "{\"type\":\"dreamt\",\"timestamp\":\"2026-02-03T00:00:00Z\",\"data\":{}}"])
            .prop_map(Step::Junk),
        1 => Just(Step::Rotate),
        3 => (0_i64..28).prop_map(Step::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_history_says_what_counting_one_by_one_says(
        seed in 0_u64..1_000,
        steps in prop::collection::vec(step(), 1..16),
    ) {
        let home = Home::new();
        let file = home.path().join("h.jsonl");
        let rotated = home.path().join("h.jsonl.1");
        let lines = LineArchive::new(&file);
        let mut new = events(seed, 3_000).into_iter();
        // What is in the two files.
        let (mut older, mut younger): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for step in steps.into_iter().chain([Step::Ask(27), Step::Ask(13), Step::Ask(27)]) {
            match step {
                Step::Write(count) => younger.extend(new.by_ref().take(count)),
                Step::Repeat(which) if !younger.is_empty() || !older.is_empty() => {
                    let all: Vec<&String> = older.iter().chain(&younger).collect();
                    younger.push(all[which.index(all.len())].clone());
                }
                Step::Junk(text) => younger.push(text.to_owned()),
                Step::Rotate if file.exists() => {
                    older = std::mem::take(&mut younger);
                    fs::rename(&file, &rotated).unwrap();
                }
                Step::Repeat(_) | Step::Rotate => continue,
                Step::Ask(day) => {
                    let period = Period { from: DAYS.from, to: DAYS.from + day };
                    let all: Vec<String> = older.iter().chain(&younger).cloned().collect();
                    for client in [None, Some("codex")] {
                        let expected = counted_one_by_one_of(&all, period, client);
                        recount::assert_same(&lines.evidence(period, client).unwrap(), &expected);
                    }
                    continue;
                }
            }
            append(&file, &younger);
        }
    }
}

/// Writes what is not in the file yet.
fn append(file: &std::path::Path, lines: &[String]) {
    use std::io::Write as _;
    let known = fs::read_to_string(file).unwrap_or_default().lines().count();
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    for line in lines.iter().skip(known) {
        writeln!(file, "{line}").unwrap();
    }
}

#[test]
fn a_large_history_is_read_by_all_threads_and_nothing_is_lost_between_them() {
    let home = Home::new();
    let mut lines = events(5, 20_000);
    // Long enough to reach over a piece, and too long to be an event.
    let long =
        lines[0].replace("\"context\":\"", &format!("\"context\":\"{}", "word ".repeat(150_000)));
    lines.insert(7_000, long);
    let copies: Vec<String> = lines.iter().step_by(7).cloned().collect();
    lines.extend(copies);
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        text.push_str(&if at % 2 == 0 { checked(line) } else { line.clone() });
        text.push('\n');
        if at == 9_000 {
            text.push_str(&"x".repeat(5 * 1024 * 1024));
            text.push('\n');
        }
    }
    home.write("h.jsonl", &text);
    let archive = LineArchive::new(home.path().join("h.jsonl"));
    recount::assert_same(&archive.evidence(DAYS, None).unwrap(), &counted_one_by_one(&lines, DAYS));
    assert_eq!(archive.unreadable(), 1);
    let skill = skill_name(0);
    let story = archive.story(&skill, DAYS, None, 20).unwrap();
    assert_eq!(story.recent.len(), 20);
    assert!(story.recent.iter().all(|recorded| recorded.event.skill() == Some(&skill)));
    assert!(story.recent.is_sorted_by(|newer, older| newer.timestamp >= older.timestamp));
    assert!(!story.days.is_empty());
    // A file shows no more events than a database would.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let story = runtime.block_on(Archive::Lines(archive).story(&skill, DAYS, None, 1_000)).unwrap();
    assert_eq!(story.recent.len(), MAX_SKILL_EVENTS);
}

#[test]
fn a_changed_line_does_not_count_and_an_unfinished_one_counts_when_it_is_whole() {
    let home = Home::new();
    let lines = events(9, 3);
    let changed = checked(&lines[1]).replace("dev-", "dev_");
    let (begun, rest) = lines[2].split_at(50);
    home.write("h.jsonl", format!("{}\n{changed}\n{begun}", checked(&lines[0])));
    let archive = LineArchive::new(home.path().join("h.jsonl"));
    recount::assert_same(
        &archive.evidence(DAYS, None).unwrap(),
        &counted_one_by_one(&lines[..1], DAYS),
    );
    assert_eq!(archive.unreadable(), 1);
    let whole = [lines[0].clone(), lines[2].clone()];
    // First without the end of its line, then with it.
    for end in ["", "\n"] {
        home.write("h.jsonl", format!("{}\n{changed}\n{begun}{rest}{end}", checked(&lines[0])));
        recount::assert_same(
            &archive.evidence(DAYS, None).unwrap(),
            &counted_one_by_one(&whole, DAYS),
        );
    }
    let none = LineArchive::new(home.path().join("none.jsonl"));
    assert!(none.evidence(DAYS, None).unwrap().tally.is_empty());
    let folder = LineArchive::new(home.path());
    assert!(folder.evidence(DAYS, None).unwrap_err().to_string().contains("not a file"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let asked = runtime.block_on(Archive::Lines(archive).evidence(DAYS, None)).unwrap();
    recount::assert_same(&asked, &counted_one_by_one(&whole, DAYS));
}

const PERIOD: [&str; 4] = ["--since", "2026-02-01", "--until", "2026-02-28"];

/// A home with a history, without skills.
fn history(lines: &[String]) -> Home {
    let home = Home::new();
    home.write(".skills-mcp/analytics.jsonl", lines.join("\n") + "\n");
    home
}

fn stats(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let mut command = server(home);
    command.env_remove("SKILLS_DIR").args(["stats", "--no-default-dirs"]).args(arguments);
    run(&mut command)
}

#[test]
fn the_json_is_the_report_and_duplicates_count_once() {
    let mut lines = events(11, 2_000);
    let copies: Vec<String> = lines.iter().take(500).cloned().collect();
    lines.extend(copies);
    let home = history(&lines);
    let (code, out, err) = stats(&home, &[&PERIOD[..], &["--json"]].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    let said: UsageReport = serde_json::from_str(&out).unwrap();
    let today = i64::MAX;
    let known = UsageReport::of(&counted_one_by_one(&lines, DAYS), None, DAYS, today);
    assert_eq!(said, known);
    assert_eq!(said.totals.events, 2_000);
    assert!(said.advice.len() >= 3, "{:?}", said.advice);
}

#[test]
fn tables_are_csv_and_one_skill_can_be_asked_for() {
    let mut lines = events(11, 2_000);
    lines.push(r#"{"type":"no_match","timestamp":"2026-02-28T10:00:00Z","data":{"context":"=cmd|'/c calc'!A0, \"x\""}}"#.to_owned());
    let home = history(&lines);
    for table in ["skills", "misses", "scripts", "assets", "days", "patterns"] {
        let (code, out, err) = stats(&home, &[&PERIOD[..], &["--csv", table]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{table}");
        assert!(out.ends_with("\r\n") && out.lines().count() > 4, "{table}: {out}");
        if table == "misses" {
            assert!(out.contains("\"'=cmd|'/c calc'!A0, \"\"x\"\"\""), "{out}");
        }
    }
    let (_, out, _) = stats(&home, &[&PERIOD[..], &["--csv", "execution"]].concat());
    assert!(
        out.starts_with("server,claude,share,low,high\r\n") && out.lines().count() == 2,
        "{out}"
    );
    let skill = skill_name(0);
    let (_, out, _) = stats(&home, &[&PERIOD[..], &["--skill", &skill]].concat());
    assert!(
        out.contains(&skill) && out.contains("Latest") && !out.contains(&skill_name(1)),
        "{out}"
    );
    let (_, out, _) = stats(&home, &[&PERIOD[..], &["--skill", &skill, "--json"]].concat());
    let said: UsageReport = serde_json::from_str(&out).unwrap();
    assert_eq!(said.skills.len(), 1);
}

#[test]
fn c07_a_report_can_be_limited_to_one_client() {
    let lines = events(11, 2_000);
    let home = history(&lines);
    let of_codex = [&PERIOD[..], &["--client", "codex"]].concat();
    let (code, out, err) = stats(&home, &[&of_codex[..], &["--json"]].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    let said: UsageReport = serde_json::from_str(&out).unwrap();
    let evidence = counted_one_by_one_of(&lines, DAYS, Some("codex"));
    assert_eq!(said, UsageReport::of(&evidence, None, DAYS, i64::MAX));
    let caller = said.callers.iter().find(|caller| caller.name == "codex").unwrap();
    assert_eq!((said.totals.events, said.client.as_deref()), (caller.n, Some("codex")));
    let (_, out, _) = stats(&home, &of_codex);
    assert!(out.contains("only calls of codex") && !out.contains("claude-code"), "{out}");
    let skill = skill_name(0);
    let (_, out, _) = stats(&home, &[&of_codex[..], &["--skill", &skill]].concat());
    assert!(out.contains("only calls of codex") && out.contains("Latest"), "{out}");
    let (code, out, err) = stats(&home, &[&PERIOD[..], &["--client", "nope"]].concat());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("no client `nope`") && err.contains("claude-code"), "{err}");
    let (code, _, err) =
        stats(&home, &["--since", "2020-01-01", "--until", "2020-01-02", "--client", "codex"]);
    assert!(code == 2 && err.contains("names its client"), "{err}");
}

#[test]
fn c07_servers_are_a_section_and_a_table() {
    let home = history(&events(11, 2_000));
    let (_, out, _) = stats(&home, &PERIOD);
    assert!(out.contains("Servers") && out.contains("(older version)"), "{out}");
    let (_, out, _) = stats(&home, &[&PERIOD[..], &["--csv", "servers"]].concat());
    assert!(
        out.starts_with("server,version,older_version,commit,") && out.lines().count() == 41,
        "{out}"
    );
}

#[test]
fn what_is_on_the_shelf_and_not_used_is_named() {
    let home = Home::with(ROOT_TREE);
    let served = events(1, 1)[0].clone();
    home.write("elsewhere.jsonl", format!("{served}\nrubbish\n"));
    let (code, out, err) =
        run(server(&home).args(["stats", "--file", "elsewhere.jsonl"]).args(PERIOD));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Never served") && out.contains("ui/react/auth"), "{out}");
    assert!(!out.contains("ui/react/_index"), "{out}");
    assert!(err.starts_with("1 line of ") && err.contains("no events"), "{err}");
}

#[test]
fn a_history_that_is_not_there_or_has_no_event_is_a_mistake() {
    let home = Home::with(ROOT_TREE);
    home.write("notes.jsonl", "milk\n{\"bread\": 2}\n");
    home.write("empty.jsonl", "");
    for command in ["stats", "learn", "dashboard"] {
        let said = |file: &str| {
            let (code, out, err) = run(server(&home).args([command, "--file", file]));
            assert_eq!((code, out.as_str()), (2, ""), "{command} {file}: {err}");
            err
        };
        let err = said("nope.jsonl");
        assert!(err.contains("there is no file nope.jsonl") && err.contains("hint: "), "{err}");
        let err = said("notes.jsonl");
        assert!(err.contains("notes.jsonl has no events") && err.contains("hint: "), "{err}");
    }
    let (code, out, err) = run(server(&home).args(["stats", "--file", "empty.jsonl"]));
    assert!(code == 0 && out.contains("No events"), "{out}{err}");
}

#[test]
fn a_finding_names_the_skill_whose_file_it_is() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/lame.md",
        "---\nkeywords: [lame]\ndescription: Lame\nassets:\n  - file: gone.txt\n    description: Gone\n---\n# Lame\n",
    );
    home.write("skills/broken.md", "---\nkeywords: [a\n");
    let (code, out, err) = run(server(&home).args(["stats", "--json"]));
    assert_eq!(code, 0, "{err}");
    let said: UsageReport = serde_json::from_str(&out).unwrap();
    let findings = said.health.unwrap().findings;
    let of = |file: &str| findings.iter().find(|finding| finding.place.starts_with(file)).unwrap();
    assert_eq!(of("lame.md").skill.as_deref(), Some("lame"));
    assert_eq!(of("broken.md").skill, None);
}

#[test]
fn what_is_not_used_is_a_table_and_a_refusal_is_called_one() {
    let home = Home::with(ROOT_TREE);
    let refused = r#"{"type":"script_executed","timestamp":"2026-02-20T10:00:00Z","data":{"skill_path":"ui/react/auth","file":"setup.sh","success":false,"exit_code":null}}"#;
    home.write("h.jsonl", format!("{refused}\n"));
    let said = |arguments: &[&str]| {
        let (code, out, err) =
            run(server(&home).args(["stats", "--file", "h.jsonl"]).args(PERIOD).args(arguments));
        assert_eq!((code, err.as_str()), (0, ""));
        out
    };
    let never = said(&["--csv", "never-served"]);
    assert!(
        never.starts_with("skill,description\r\n") && never.contains("ui/react/auth"),
        "{never}"
    );
    let never = said(&["--csv", "never_fetched"]);
    assert!(never.starts_with("skill,file,description\r\n"), "{never}");
    let story = said(&["--skill", "ui/react/auth"]);
    assert!(story.contains("refused setup.sh") && !story.contains("failed setup.sh"), "{story}");
}

#[test]
fn where_there_are_no_events_the_way_to_them_is_told() {
    let home = Home::new();
    let (code, out, _) = stats(&home, &[]);
    assert!(
        code == 0 && out.contains("Analytics are off") && out.contains("analytics.jsonl"),
        "{out}"
    );
    let (code, out, _) = stats(&home, &["--set", "analytics.enabled=true"]);
    assert!(code == 0 && out.contains("Analytics are on"), "{out}");
    let (code, out, _) = stats(&home, &["--json"]);
    let said: UsageReport = serde_json::from_str(&out).unwrap();
    assert_eq!((code, said.totals.events, said.days.len()), (0, 0, 30));
}

#[test]
fn mistakes_are_answered_with_the_way_out() {
    let home = Home::new();
    for (arguments, code, hint) in [
        (&["--since", "yesterday"][..], 2, "2026-02-18"),
        (&["--since", "2026-03-01", "--until", "2026-02-01"], 2, "swap"),
        (&["--days", "0"], 2, "1..=3660"),
        (&["--store", "mysql://ann:secret@db/x"], 2, "sqlite:FILE"),
        (&["--from", "http://example.org"], 2, "https://"),
        (&["--from", "https://ann:secret@example.org"], 2, "no name or password"),
        (&["--from", "http://127.0.0.1:1"], 3, "skills-mcp collect"),
        (&["--csv", "everything"], 2, "skills"),
        (&["--json", "--csv", "days"], 2, "cannot be used"),
    ] {
        let (exit, out, err) = stats(&home, arguments);
        assert_eq!((exit, out.as_str()), (code, ""), "{arguments:?}: {err}");
        assert!(err.contains(hint) && !err.contains("secret"), "{arguments:?}: {err}");
    }
}

#[test]
fn a_collector_is_asked_with_the_token_and_its_report_shown() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let report = UsageReport::of(&counted_one_by_one(&events(2, 500), DAYS), None, DAYS, DAYS.to);
    let body = serde_json::to_string(&report).unwrap();
    let collector = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            if line.is_empty() {
                break;
            }
            asked.push(line.to_lowercase());
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        asked
    });
    let home = Home::new();
    let mut command = server(&home);
    command.env_remove("SKILLS_DIR").env("ANALYTICS_TOKEN", "canary");
    let (code, out, err) = run(command.args([
        "stats",
        "--json",
        "--days",
        "7",
        "--from",
        &format!("http://{address}"),
    ]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(serde_json::from_str::<UsageReport>(&out).unwrap(), report);
    let asked = collector.join().unwrap();
    assert_eq!(asked[0], "get /v1/stats?days=7 http/1.1");
    assert!(asked.contains(&"authorization: bearer canary".to_owned()), "{asked:?}");
}

#[test]
fn agents_are_offered_statistics_only_where_the_operator_says_so() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/config.yaml", "analytics: {tool: true}\n");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let lines: Vec<String> = Events::new(4, 4_000, now - 20 * DAY, now).collect();
    home.write(".skills-mcp/analytics.jsonl", lines.join("\n"));
    let names = |client: &mut Client| -> Vec<String> {
        let answer = client.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut command = server(&home);
    command.args(["--tools", "all"]);
    let mut without = Client::modern(command);
    assert!(!names(&mut without).contains(&"skill_stats".to_owned()));
    let refused = without.request("tools/call", json!({"name": "skill_stats", "arguments": {}}));
    assert!(refused["error"].is_object(), "{refused}");
    let mut command = server(&home);
    command.args(["--set", "analytics.tool=true"]);
    let mut with = Client::modern(command);
    assert_eq!(names(&mut with).last().unwrap(), "skill_stats");
    let reply = with.call("skill_stats", &json!({}));
    assert!(!reply.is_error && reply.text.len() < 7_000, "{}", reply.text);
    let said: Value = serde_json::from_str(&reply.text).unwrap();
    assert!(said["served"].as_u64().unwrap() > 1_000, "{said}");
    assert!(!said["fix_first"].as_array().unwrap().is_empty(), "{said}");
    assert!(said["skills"].as_array().unwrap().len() >= 5, "{said}");
    // The same as a resource, where the tool is and nowhere else.
    let listed = with.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "stats://skills", "{listed}");
    let read = with.request("resources/read", json!({"uri": "stats://skills"}));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let same: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(same["skills"], said["skills"]);
    let unknown = with.request("resources/read", json!({"uri": "stats://others"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let listed = without.request("resources/list", json!({}))["result"]["resources"].to_string();
    assert!(listed.contains("skill://") && !listed.contains("stats://"), "{listed:.500}");
    let read = without.request("resources/read", json!({"uri": "stats://skills"}));
    assert_eq!(read["error"]["code"], -32602, "{read}");
    let one = with.call("skill_stats", &json!({"days": 7, "skill": skill_name(0)}));
    let said: Value = serde_json::from_str(&one.text).unwrap();
    assert_eq!(said["skills"].as_array().unwrap().len(), 1);
    let refused =
        with.request("tools/call", json!({"name": "skill_stats", "arguments": {"days": 0}}));
    assert!(refused.to_string().contains("from 1 to 365"), "{refused}");
}

#[test]
fn a11_statistics_know_a_skill_by_both_of_its_names() {
    let home = Home::new();
    home.write(
        "skills/functions/SKILL.md",
        "---\nname: browserbase-functions\ndescription: d\n---\n",
    );
    let analytics = ["--set", "analytics.enabled=true", "--set", "analytics.tool=true"];
    let mut command = server(&home);
    command.args(analytics);
    let mut client = Client::legacy(command, "2025-11-25");
    client.call("report_usage", &json!({"skill_path": "functions", "useful": true}));
    client.close();
    let mut command = server(&home);
    command.args(analytics);
    let mut client = Client::legacy(command, "2025-11-25");
    for name in ["functions", "browserbase-functions", "Functions"] {
        let (code, out, err) = run(server(&home).args(["stats", "--json", "--skill", name]));
        assert_eq!(code, 0, "{name}: {err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["skills"][0]["skill"], "functions", "{name}: {out}");
        let reply = client.call("skill_stats", &json!({"skill": name}));
        let said: Value = serde_json::from_str(&reply.text).unwrap();
        assert_eq!(said["skills"][0]["skill"], "functions", "{name}: {said}");
    }
    let reply = client.call("skill_stats", &json!({"skill": "functionz"}));
    assert!(reply.is_error && reply.text.contains("functions"), "{}", reply.text);
    let (code, _, err) = run(server(&home).args(["stats", "--skill", "FUNCTIONZ"]));
    assert!(code == 2 && err.contains("did you mean functions?"), "{code} {err}");
}
