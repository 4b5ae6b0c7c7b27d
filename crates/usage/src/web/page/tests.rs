//! What pages say of a fixed report, and that nothing that others wrote becomes part of their markup.

use serde_json::{Value, json};
use skills_page::frame::{Frame, PageGroup};

use super::{
    PageScope,
    overview::{ReportSection, all, overview},
    skill::{SkillPageData, skill},
};
use crate::{
    archive::{Evidence, Story},
    event::RecordedEvent,
    report::UsageReport,
    tally::{CountSum, Metric},
};

/// Markup, quotes, a change of direction, an escape sequence, an end of a comment.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)> \u{202e}evil\u{1b}[2J --> {{7*7}} </pre></title>";

const FRAME: Frame = Frame { statistics: true, skills: true, here: Some(PageGroup::Statistics) };

fn rate(n: u64, of: u64, shares: Option<[f64; 3]>) -> Value {
    let [share, low, high] = shares.map_or([None; 3], |shares| shares.map(Some));
    json!({"n": n, "of": of, "share": share, "low": low, "high": high})
}

/// A small team's week.
fn sample() -> Value {
    let most = Some([0.8, 0.67, 0.89]);
    let skill = |name: &str, served: u64| {
        json!({"skill": name, "known": name != "gone", "served": served, "tokens": served * 1_500, 
            "loaded": served, "useful": rate(40, 50, most), "useless_in_a_row": 3, "shown": 9,
            "taken": rate(4, 9, None), "tied": 2, "chosen": 1, "nearly": 1})
    };
    let day = |date: &str, served: u64| json!({"date": date, "served": served, "misses": 2, "searches": 5, "scripts": 1, "tokens": served * 1_500});
    json!({
        "period": {"from": "2026-02-16", "to": "2026-02-18", "days": 3, "unfinished": true},
        "totals": {"events": 1_234, "served": 60, "skills_used": 2, "tokens": 90_000, "searches": 15,
            "loaded": rate(60, 70, Some([0.857, 0.757, 0.92])), "chosen": 4, "left": 2, "none": 6,
            "useful": rate(3, 4, None), "scripts_run": 30, "servers": 2},
        "advice": [
            {"kind": "write_skill", "subject": "nginx proxy", "seen": "4 requests found nothing.", "action": "Write a skill about nginx proxy.", "skill": null},
            {"kind": "fix_script", "subject": "check.sh", "seen": "9 of 30 runs failed.", "action": "Run it by hand.", "skill": "ui/auth"},
            {"kind": "fix_file", "subject": "bad.md", "seen": "It gives no skill.", "action": "Close the front matter.", "skill": null},
        ],
        "days": [day("2026-02-16", 30), day("2026-02-17", 20), day("2026-02-18", 10)],
        "skills": [skill("ui/auth", 50), skill("gone", 10)],
        "never_served": [{"skill": "api/old", "file": null, "description": "Nobody asks"}],
        "misses": [{"terms": ["nginx", "proxy"], "requests": 4, "examples": ["configure nginx reverse proxy"],
            "nearest": "ui/auth", "nearest_score": 0.125, "keywords": ["nginx"]},
            {"terms": ["kafka"], "requests": 2, "examples": ["kafka lag"], "nearest": null, "nearest_score": null, "keywords": []}],
        "misses_looked_at": {"n": 6, "of": 97_751},
        "patterns": [{"skill": "ui/auth", "requests": 40, "terms": [{"name": "login", "n": 33}]}],
        "assets": [{"skill": "ui/auth", "file": "A.tsx", "fetched": 12, "bytes": 24_000}],
        "never_fetched": [{"skill": "ui/auth", "file": "B.tsx", "description": "A second one"}],
        "scripts": [{"skill": "ui/auth", "file": "check.sh", "runs": 30, "failed": rate(9, 30, Some([0.3, 0.167, 0.479])),
            "refused": 1, "fetched": 2, "p50_ms": 120.4, "p95_ms": 2_210.0}],
        "execution": {"server": 30, "claude": 2, "share": rate(30, 32, Some([0.94, 0.8, 0.98]))},
        "callers": [{"name": "claude-code", "n": 900}, {"name": "codex", "n": 300}],
        "servers": [
            {"server": "dev-ada", "version": "0.10.0", "older_version": false, "commit": "c0ffee0123456789", "older_commit": false,
                "clients": ["claude-code", "codex"], "calls": 1_000, "last_seen": "2026-02-18T14:30:59.000Z"},
            {"server": "dev-bob", "version": null, "older_version": true, "commit": null, "older_commit": false,
                "clients": [], "calls": 234, "last_seen": "2026-02-17T09:00:00.000Z"}],
        "latency": [{"tool": "get_skill", "calls": 70, "p50_us": 350.0, "p95_us": 1_200.0, "p99_us": null}],
        "clients": [{"name": "claude-code", "n": 55}, {"name": "", "n": 5}],
        "health": {"skills": 3, "errors": 1, "warnings": 1, "findings": [
            {"severity": "error", "code": "front-matter-open", "place": "bad.md:1", "message": "it does not end", "hint": "close it with ---"},
            {"severity": "warning", "code": "file-missing", "place": "ui/auth.md:3", "message": "it is not there", "hint": "", "skill": "ui/auth"}]},
    })
}

fn recorded() -> Vec<Value> {
    let of = |kind: &str, id: u64, data: Value| {
        json!({"type": kind, "data": data, "timestamp": "2026-02-17T09:30:00.000Z", "server_id": "dev-a",
            "event_id": format!("0198c0de-0000-7000-8000-{id:012}"), "client_name": "claude-code"})
    };
    vec![
        of(
            "skill_served",
            1,
            json!({"context": "add a login form", "skill_path": "ui/auth", "score": 0.8}),
        ),
        of(
            "no_match",
            2,
            json!({"context": "nginx please", "closest_candidate": "ui/auth", "closest_score": 0.1}),
        ),
        of("ambiguous", 3, json!({"context": "session", "candidates": ["ui/auth", "api/old"]})),
        of(
            "skill_feedback",
            4,
            json!({"skill_path": "ui/auth", "useful": false, "comment": "out of date"}),
        ),
    ]
}

/// Every page of a report and its events.
fn pages(report: Value, events: &[Value], name: &str) -> Vec<String> {
    pages_of(&PageScope::of_all(7), report, events, name)
}

fn pages_of(scope: &PageScope, report: Value, events: &[Value], name: &str) -> Vec<String> {
    let report: UsageReport = serde_json::from_value(report).unwrap();
    let recent: Vec<RecordedEvent> =
        events.iter().map(|event| RecordedEvent::read(&event.to_string()).unwrap()).collect();
    let days = vec![
        (20_501, Metric::Served, CountSum { n: 30, total: 1 }),
        (20_502, Metric::Missed, CountSum { n: 2, total: 0 }),
    ];
    let story = Story { days, recent: Vec::new() };
    let evidence = Evidence { recent, ..Evidence::default() };
    let page = SkillPageData {
        name,
        scope,
        report: &report,
        evidence: &evidence,
        story: &story,
        catalog: None,
        frame: FRAME,
    };
    let mut pages = vec![overview(&report, scope, FRAME).unwrap(), skill(&page).unwrap()];
    for list in [
        "advice", "skills", "never", "misses", "patterns", "assets", "scripts", "clients",
        "servers", "health",
    ] {
        pages.push(all(&report, ReportSection::of(list).unwrap(), list, scope, FRAME).unwrap());
    }
    pages
}

/// The same with every text of others replaced.
fn with_texts(value: Value, text: &str) -> Value {
    match value {
        Value::String(_) => Value::String(text.to_owned()),
        Value::Array(values) => values.into_iter().map(|value| with_texts(value, text)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                // Ours, and read by us.
                let ours = [
                    "kind",
                    "severity",
                    "type",
                    "date",
                    "timestamp",
                    "event_id",
                    "period",
                    "last_seen",
                ];
                let value =
                    if ours.contains(&name.as_str()) { value } else { with_texts(value, text) };
                (name, value)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Tags with the names of their attributes, in order: all of a page but its words.
fn markup(page: &str) -> Vec<String> {
    let mut rest = page;
    let mut tags = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        tags.push(tag.split('"').step_by(2).collect());
        rest = after;
    }
    tags
}

#[test]
fn a_report_on_a_page() {
    let pages = pages(sample(), &recorded(), "ui/auth");
    insta::assert_snapshot!("overview", pages[0]);
    insta::assert_snapshot!("skill", pages[1]);
}

#[test]
fn every_row_leads_somewhere() {
    let page = &pages(sample(), &recorded(), "ui/auth")[0];
    let rows: Vec<&str> = page.split("<li").collect();
    let kafka = rows.iter().find(|row| row.contains("kafka lag")).unwrap();
    assert!(kafka.contains("href=\"/all?of=misses&amp;days=7#group-1\""), "{kafka}");
    let finding = rows.iter().find(|row| row.contains("file-missing")).unwrap();
    assert!(finding.contains("href=\"/skill?name=ui/auth&amp;days=7\""), "{finding}");
    assert!(page.contains("Words that lead to a skill") && page.contains("97,751"), "{page}");
}

#[test]
fn c07_a_page_of_one_client_says_so_and_every_link_keeps_it_but_those_to_others() {
    let scope = PageScope { days: 7, client: Some("codex".to_owned()) };
    for page in pages_of(&scope, sample(), &recorded(), "ui/auth") {
        assert!(page.contains("Only calls of <strong>codex</strong>."), "{page}");
        assert!(page.contains("days=7\">Show all clients</a>"), "{page}");
        for link in page.split("href=\"").skip(1) {
            let address = link.split('"').next().unwrap();
            let ours = ["/?", "/all?", "/skill?", "/proposals?"].iter();
            let is_ours = ours.into_iter().any(|start| address.starts_with(start));
            let kept = address.contains("client=codex") || address.contains("client=claude-code");
            let leads_away = link.split('<').next().unwrap().ends_with(">Show all clients")
                || address == "/?days=30";
            assert!(!is_ours || kept != leads_away, "{address}: {link:.80}");
        }
    }
    let all = &pages(sample(), &recorded(), "ui/auth")[0];
    assert!(all.contains("href=\"/?days=7&#38;client=codex\">codex <data value=\"300\""), "{all}");
    assert!(!all.contains("Only calls of"), "{all}");
}

#[test]
fn c07_a_server_that_is_behind_is_marked_in_words() {
    let page = &pages(sample(), &recorded(), "ui/auth")[0];
    let row = |server: &str| {
        let rows = page.split("<tr").find(|row| row.contains(server));
        rows.unwrap_or_else(|| panic!("{server}: {page}"))
    };
    assert!(row("dev-bob").contains(">older version</span>"), "{page}");
    let ada = row("dev-ada");
    assert!(!ada.contains("older"), "{ada}");
    assert!(ada.contains("2026-02-18 14:30") && ada.contains(">c0ffee012345</code>"), "{ada}");
}

#[test]
fn requests_that_led_to_a_skill_are_its_own() {
    let mut events = recorded();
    let mut other = events[0].clone();
    other["data"] = json!({"context": "draw a logo", "skill_path": "ui/logo", "score": 0.8});
    other["event_id"] = json!("0198c0de-0000-7000-8000-000000000009");
    events.push(other);
    let page = &pages(sample(), &events, "ui/auth")[1];
    assert!(page.contains("add a login form") && !page.contains("draw a logo"), "{page}");
}

#[test]
fn c07_the_same_request_is_shown_once_with_how_often_it_was_made() {
    let mut events = recorded();
    let first = events[0].clone();
    for number in 20..31 {
        let mut again = first.clone();
        again["event_id"] = json!(format!("0198c0de-0000-7000-8000-{number:012}"));
        events.push(again);
    }
    let page = &pages(sample(), &events, "ui/auth")[1];
    assert_eq!(page.matches("add a login form").count(), 1, "{page}");
    assert!(page.contains("×12"), "{page}");
}

#[test]
fn nothing_that_anybody_wrote_becomes_markup() {
    let harmless = pages(with_texts(sample(), "word"), &recorded_with("word"), "word");
    let hostile = pages(with_texts(sample(), HOSTILE), &recorded_with(HOSTILE), HOSTILE);
    assert_eq!(harmless.len(), hostile.len());
    for (harmless, hostile) in harmless.iter().zip(&hostile) {
        assert_eq!(markup(harmless), markup(hostile));
        assert!(!hostile.contains("<script"), "{hostile}");
        assert!(hostile.contains("&#60;script&#62;"), "it is shown");
        assert!(!hostile.contains(['\u{202e}', '\u{1b}', '\0']));
        assert!(hostile.contains("\\u{202e}evil\\u{1b}[2J"), "what is not seen is spelled out");
    }
}

fn recorded_with(text: &str) -> Vec<Value> {
    recorded().into_iter().map(|event| with_texts(event, text)).collect()
}

#[test]
fn pages_need_nothing_from_elsewhere_and_hold_no_styles_or_scripts() {
    for page in pages(sample(), &recorded(), "ui/auth") {
        for tag in markup(&page) {
            let names: Vec<&str> = tag.split([' ', '=']).collect();
            assert!(!names.contains(&"style") && names[0] != "script", "{tag}");
            assert!(!names.iter().any(|name| name.starts_with("on")), "{tag}");
        }
        for (_, address) in
            page.match_indices("href=\"").map(|(at, _)| page.split_at(at + "href=\"".len()))
        {
            assert!(address.starts_with(['/', '#']) && !address.starts_with("//"), "{address:.40}");
        }
    }
}

#[test]
fn an_empty_report_says_what_to_do() {
    let report = UsageReport::default();
    let page = overview(&report, &PageScope::of_all(30), FRAME).unwrap();
    assert!(page.contains("Nothing was counted in these days"), "{page}");
    assert!(page.contains("enabled: true"), "{page}");
    assert!(page.contains("--dir PATH"), "no catalog is known: {page}");
}
