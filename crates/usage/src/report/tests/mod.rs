//! Every number of a report, from events made by hand.

mod advice;
mod servers;

use serde_json::{Value, json};

use super::*;
use crate::event::RecordedEvent;

const REPORT_DAY: i64 = 20_500;

fn period() -> Period {
    Period { from: REPORT_DAY - 29, to: REPORT_DAY }
}

/// One event, so many minutes before the end of the last day.
fn event(minutes: i64, kind: &str, data: &Value) -> RecordedEvent {
    let millis = (REPORT_DAY + 1) * 86_400_000 - minutes * 60_000 - 1;
    let timestamp = crate::clock::timestamp_of(std::time::Duration::from_millis(
        u64::try_from(millis).unwrap(),
    ));
    let text = json!({
        "type": kind, "timestamp": timestamp, "server_id": "dev-ada", "data": data,
        "tool": "get_skill", "client_name": "codex", "latency_us": 100,
    });
    let mut recorded = RecordedEvent::read(&text.to_string()).unwrap();
    // Events of one minute and kind would be copies.
    recorded.event_id = uuid::Uuid::now_v7();
    recorded
}

fn times(n: i64, kind: &str, data: &Value) -> Vec<RecordedEvent> {
    (0..n).map(|at| event(at, kind, data)).collect()
}

fn served(skill: &str, context: Option<&str>) -> Value {
    json!({"skill_path": skill, "context": context, "score": context.map(|_| 0.5), "content_length_tokens": 100})
}

fn miss(context: &str, nearest: Option<&str>) -> Value {
    json!({"context": context, "closest_candidate": nearest, "closest_score": nearest.map(|_| 0.15)})
}

fn catalog() -> CatalogSummary {
    let skill = |name: &str, description: &str, keywords: &[&str], files: &[&str]| CatalogSkill {
        name: name.to_owned(),
        description: description.to_owned(),
        keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        inherited: name.ends_with("_index"),
    };
    let finding = |severity: &str, place: &str| HealthFinding {
        severity: severity.to_owned(),
        place: place.to_owned(),
        message: "no closing line".to_owned(),
        ..HealthFinding::default()
    };
    let health = Health {
        skills: 4,
        errors: 1,
        warnings: 1,
        findings: vec![finding("error", "broken.md:1"), finding("warning", "a.md")],
    };
    let skills = vec![
        skill("ops/_index", "Operations", &["ops"], &[]),
        skill(
            "ops/web",
            "Web servers and their certificates",
            &["apache"],
            &["site.conf", "check.sh"],
        ),
        skill("ui/react", "React", &["react"], &[]),
        skill("ui/vue", "Vue", &["vue"], &[]),
    ];
    CatalogSummary::new(skills, health)
}

fn report(events: Vec<RecordedEvent>) -> UsageReport {
    UsageReport::of(&Evidence::of(events, period()), Some(&catalog()), period(), REPORT_DAY)
}

#[test]
fn no_events_are_a_report_too() {
    let report = UsageReport::of(&Evidence::default(), None, period(), REPORT_DAY + 5);
    assert_eq!((report.days.len(), report.period.days), (30, 30));
    assert!(!report.period.unfinished && report.advice.is_empty());
    assert_eq!((report.never_served, report.health), (None, None));
    let json = serde_json::to_string(&self::report(Vec::new())).unwrap();
    assert!(serde_json::from_str::<UsageReport>(&json).unwrap().period.unfinished);
}

#[test]
fn skills_are_counted_scored_and_rated_and_the_unused_named() {
    let mut events = times(30, "skill_served", &served("ui/react", Some("react form")));
    events.extend(times(3, "skill_served", &served("ops/web", None)));
    events.extend(times(12, "skill_feedback", &json!({"skill_path": "ui/react", "useful": true})));
    events.push(event(500, "skill_feedback", &json!({"skill_path": "ui/react", "useful": false})));
    events.extend(times(20, "skill_searched", &json!({"shown": ["ops/web", "gone"], "total": 2})));
    let shown = json!({"skill_path": "ops/web", "was_shown": true, "content_length_tokens": 7});
    events.extend(times(5, "skill_served", &shown));
    events.push(event(
        1,
        "ambiguous",
        &json!({"context": "x", "candidates": ["ui/react", "ops/web"]}),
    ));
    let report = report(events);
    let row = |name: &str| report.skills.iter().find(|skill| skill.skill == name).unwrap();
    let names: Vec<&str> = report.skills.iter().map(|skill| skill.skill.as_str()).collect();
    assert_eq!(names, ["ui/react", "ops/web", "gone"]);
    let react = row("ui/react");
    assert_eq!((react.served, react.tokens, react.loaded, react.tied), (30, 3_000, 30, 1));
    assert_eq!(react.known, Some(true));
    assert_eq!((react.useful.n, react.useful.of, react.useless_in_a_row), (12, 13, 0));
    let web = row("ops/web");
    assert_eq!((web.served, web.tokens, web.loaded), (8, 335, 0));
    assert_eq!((web.shown, web.taken.n, web.taken.of, web.useful.share), (20, 5, 20, None));
    assert_eq!(row("gone").known, Some(false));
    // What others inherit from is not unused.
    let never: Vec<String> =
        report.never_served.clone().unwrap().into_iter().map(|unused| unused.skill).collect();
    assert_eq!(never, ["ui/vue"]);
    let totals = &report.totals;
    assert_eq!(
        (totals.events, totals.served, totals.skills_used, totals.tokens),
        (72, 38, 2, 3_335)
    );
    assert_eq!((totals.searches, totals.servers), (20, 1));
    assert_eq!((totals.loaded.n, totals.loaded.of), (30, 51));
    assert_eq!((totals.chosen, totals.left, totals.none), (5, 16, 0));
    assert_eq!(report.clients, [Counted { name: "codex".to_owned(), n: 38 }]);
    let today = report.days.last().unwrap();
    assert_eq!((today.served, today.searches, today.tokens), (38, 20, 3_335));
    assert_eq!(report.patterns[0].terms[0], Counted { name: "form".to_owned(), n: 30 });
}

#[test]
fn files_and_scripts_are_counted_for_the_skill_that_declares_them() {
    let mut events = times(
        4,
        "asset_served",
        &json!({"skill_path": "ui/react", "declared_by": "ops/web", "file": "site.conf", "asset_type": "template", "size_bytes": 10}),
    );
    events.extend(times(2, "asset_served", &json!({"skill_path": "ops/web", "file": "check.sh", "asset_type": "script", "size_bytes": 5})));
    let run = |success: bool, exit: Option<i32>, took: u64| json!({"skill_path": "ops/web", "file": "run.sh", "execution_mode": "server", "success": success, "exit_code": exit, "duration_ms": took});
    events.extend(times(15, "script_executed", &run(true, Some(0), 100)));
    events.extend(times(5, "script_executed", &run(false, Some(1), 900)));
    events.extend(times(3, "script_executed", &run(false, None, 0)));
    let report = report(events);
    assert_eq!(
        (report.assets[0].file.as_str(), report.assets[0].fetched, report.assets[0].bytes),
        ("site.conf", 4, 40)
    );
    let script = &report.scripts[0];
    assert_eq!((script.runs, script.failed.n, script.failed.of, script.refused), (20, 5, 20, 3));
    assert!((script.p50_ms.unwrap() / 100.0 - 1.0).abs() < 0.1, "{script:?}");
    assert!((script.p95_ms.unwrap() / 900.0 - 1.0).abs() < 0.1, "{script:?}");
    assert_eq!((report.scripts[1].file.as_str(), report.scripts[1].fetched), ("check.sh", 2));
    assert_eq!((report.execution.server, report.execution.claude), (20, 2));
    let never = report.never_fetched.as_deref().unwrap();
    assert!(never.is_empty(), "{never:?}");
    assert_eq!((report.latency[0].tool.as_str(), report.latency[0].calls), ("get_skill", 29));
    assert_eq!(report.latency[0].p99_us, None, "29 calls have no hundredth");
    assert!(report.advice.iter().any(|advice| advice.kind == AdviceKind::FixScript));
}

#[test]
fn requests_that_found_nothing_are_grouped_by_what_they_share() {
    let mut events = Vec::new();
    let proxies =
        ["nginx as a reverse proxy", "an nginx proxy for the api", "nginx proxies and tls"];
    for (at, context) in proxies.iter().cycle().take(12).enumerate() {
        events.push(event(i64::try_from(at).unwrap(), "no_match", &miss(context, Some("ops/web"))));
    }
    for (at, context) in ["kafka consumer lag", "kafka topics"].iter().cycle().take(10).enumerate()
    {
        let search = json!({"context": context, "shown": [], "total": 0});
        events.push(event(i64::try_from(at).unwrap(), "skill_searched", &search));
    }
    events.push(event(3, "no_match", &miss("draw a logo", None)));
    events.push(event(4, "no_match", &json!({"context": null})));
    events.extend(times(40, "skill_served", &served("ui/react", Some("a react form for the api"))));
    let report = report(events);
    let [nginx, kafka, logo] = report.misses.as_slice() else { panic!("{:?}", report.misses) };
    assert_eq!((nginx.terms[0].as_str(), nginx.requests), ("nginx", 12));
    assert!(nginx.terms.contains(&"proxy".to_owned()), "{:?}", nginx.terms);
    assert_eq!(nginx.examples, proxies);
    assert_eq!((nginx.nearest.as_deref(), nginx.nearest_score), (Some("ops/web"), Some(0.15)));
    assert_eq!(nginx.keywords, ["nginx", "proxy"]);
    assert_eq!((kafka.terms[0].as_str(), kafka.requests, &kafka.nearest), ("kafka", 10, &None));
    assert_eq!((logo.requests, logo.examples[0].as_str()), (1, "draw a logo"));
    let kinds: Vec<AdviceKind> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(
        kinds[..3],
        [AdviceKind::FixFile, AdviceKind::AddKeywords, AdviceKind::WriteSkill],
        "a file that is not served comes first"
    );
    assert_eq!(
        report.advice[1].seen,
        "12 requests about nginx, proxy found no skill; ops/web came nearest."
    );
    assert_eq!(
        report.advice[1].action,
        "If ops/web covers them, add to its keywords: nginx, proxy."
    );
    assert_eq!(report.totals.none, 24);
}

#[test]
fn c07_a_skill_that_scored_nothing_came_near_to_nothing() {
    let missed =
        json!({"context": "upgrade vue", "closest_candidate": "ops/web", "closest_score": 0.001});
    let report = report(times(12, "no_match", &missed));
    let [group] = report.misses.as_slice() else { panic!("{:?}", report.misses) };
    assert_eq!((&group.nearest, group.nearest_score, group.keywords.len()), (&None, None, 0));
    assert!(report.advice.iter().all(|advice| advice.kind != AdviceKind::AddKeywords));
}

#[test]
fn what_an_answer_doubts_fits_none_and_what_it_offers_is_chosen_or_left() {
    let offer = |certainty: &str| json!({"context": "kafka lag", "closest_candidate": "ops/web", "closest_score": 0.0, "certainty": certainty});
    let mut events = times(3, "no_match", &offer("several"));
    events.extend(times(2, "no_match", &offer("unsure")));
    events.push(event(
        50,
        "ambiguous",
        &json!({"context": "broker retention", "candidates": ["ui/react"], "certainty": "unsure"}),
    ));
    let searched = |certainty: &str| json!({"context": "vue transition", "shown": ["ui/vue"], "total": 1, "certainty": certainty});
    events.extend(times(4, "skill_searched", &searched("sure")));
    events.extend(times(2, "skill_searched", &searched("unsure")));
    events.push(event(60, "skill_served", &json!({"skill_path": "ui/vue", "was_shown": true})));
    events.push(event(
        61,
        "skill_served",
        &json!({"skill_path": "ops/web", "was_ambiguous": true}),
    ));
    let report = report(events);
    let totals = &report.totals;
    assert_eq!((totals.loaded.of, totals.chosen, totals.left, totals.none), (12, 2, 5, 5));
    assert_eq!(report.misses.iter().map(|group| group.requests).sum::<u64>(), 5);
    assert_eq!(report.misses_looked_at, SampleSize { n: 5, of: 5 });
}

/// The same, asked for by a name.
fn by_name(mut events: Vec<RecordedEvent>) -> Vec<RecordedEvent> {
    for event in &mut events {
        event.tool = Some("skill".into());
    }
    events
}

#[test]
fn a_misspelt_name_is_no_request_in_words() {
    let mut events = times(20, "skill_served", &served("ui/react", Some("react form")));
    events.extend(times(5, "no_match", &miss("nginx proxy", Some("ops/web"))));
    events.push(event(7, "ambiguous", &json!({"context": "x", "candidates": ["ui/react"]})));
    events.extend(by_name(times(30, "no_match", &miss("reakt", Some("ui/react")))));
    let several = json!({"context": "auth", "candidates": ["ui/react", "ui/vue"]});
    events.extend(by_name(times(4, "ambiguous", &several)));
    // Who does not say the tool asked in words.
    let mut old = event(9, "no_match", &miss("nginx proxy", None));
    old.tool = None;
    events.push(old);
    let report = report(events);
    let totals = &report.totals;
    assert_eq!((totals.loaded.n, totals.loaded.of), (20, 27));
    assert_eq!((totals.none, totals.left, totals.misnamed), (6, 1, 30));
    assert_eq!(report.days.last().unwrap().misses, 6);
    assert_eq!(report.misses.iter().map(|group| group.requests).collect::<Vec<_>>(), [6]);
    assert_eq!(report.misses_looked_at, SampleSize { n: 6, of: 6 });
    assert!(report.advice.iter().all(|advice| advice.kind == AdviceKind::FixFile));
    let react = report.skills.iter().find(|skill| skill.skill == "ui/react").unwrap();
    assert_eq!((react.nearly, react.tied), (0, 5));
}

#[test]
fn where_only_the_latest_were_looked_at_that_is_said_and_the_rest_is_taken_to_be_alike() {
    let mut evidence = Evidence::of(times(12, "no_match", &miss("kafka lag", None)), period());
    let many = crate::tally::CountSum { n: 108, total: 0 };
    evidence.tally.values_mut().for_each(|sum| sum.add(many));
    // More requests than kafka had among the latest, and fewer than it had in all.
    let bad = json!({"skill_path": "ui/react", "useful": false});
    let useless = Evidence::of(times(50, "skill_feedback", &bad), period());
    for (key, sum) in useless.tally {
        evidence.tally.entry(key).or_default().add(sum);
    }
    evidence.recent.extend(useless.recent);
    let report = UsageReport::of(&evidence, None, period(), REPORT_DAY);
    assert_eq!(report.misses_looked_at, SampleSize { n: 12, of: 120 });
    let kinds: Vec<AdviceKind> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(kinds, [AdviceKind::WriteSkill, AdviceKind::ImproveSkill]);
    assert_eq!(
        report.advice[0].seen,
        "12 of the latest 12 requests that found no skill are about kafka, lag."
    );
}

#[test]
fn a_refusal_is_no_use_and_of_an_unknown_skill_no_script() {
    let refused = |skill: &str, file: &str| json!({"skill_path": skill, "file": file, "success": false, "exit_code": null});
    let mut events = times(3, "script_executed", &refused("ops/web", "check.sh"));
    events.extend(times(3, "script_executed", &refused("../../etc", "passwd")));
    let gone = json!({"skill_path": "gone", "file": "a.sh", "success": true, "exit_code": 0});
    events.extend(times(2, "script_executed", &gone));
    let evidence = Evidence::of(events, period());
    let report = UsageReport::of(&evidence, Some(&catalog()), period(), REPORT_DAY);
    let scripts: Vec<&str> = report.scripts.iter().map(|script| script.skill.as_str()).collect();
    assert_eq!(scripts, ["gone", "ops/web"]);
    let never = report.never_fetched.unwrap();
    assert!(never.iter().any(|unused| unused.file.as_deref() == Some("check.sh")), "{never:?}");
    assert_eq!(UsageReport::of(&evidence, None, period(), REPORT_DAY).scripts.len(), 3);
}

#[test]
fn a_word_that_goes_with_every_subject_takes_none_of_them() {
    let subjects = [
        "nginx reverse proxy",
        "kafka consumer offsets",
        "terraform module",
        "svg logo",
        "german translation",
    ];
    let teams = ["testing", "mobile", "security", "docs", "data", "deploy", "api", "ops"];
    // All of them say "team", or half, or two of five.
    for (some, of) in [(1, 1), (1, 2), (2, 5)] {
        let mut events = times(400, "skill_served", &served("ui/react", Some("a react form")));
        for at in 0..200 {
            let (subject, team) = (subjects[at % 5], teams[at / 5 % 8]);
            let context = if at / 5 % of < some {
                format!("{subject} for the {team} team")
            } else {
                format!("{subject} for {team}")
            };
            let minutes = i64::try_from(at).unwrap();
            events.push(event(minutes, "no_match", &miss(&context, None)));
        }
        let mut groups: Vec<(String, u64)> = report(events)
            .misses
            .iter()
            .map(|group| {
                assert!(!group.terms.contains(&"team".to_owned()), "{:?}", group.terms);
                (group.terms[0].clone(), group.requests)
            })
            .collect();
        groups.sort();
        let named = ["german", "kafka", "nginx", "svg", "terraform"];
        assert_eq!(groups, named.map(|name| (name.to_owned(), 40)), "{some} of {of}");
    }
}

#[test]
fn feedback_in_a_row_counts_from_the_newest_back() {
    let says = |minutes, useful| {
        event(minutes, "skill_feedback", &json!({"skill_path": "a", "useful": useful}))
    };
    let report = report(vec![says(1, false), says(5, true), says(3, false), says(9, false)]);
    assert_eq!(report.skills[0].useless_in_a_row, 2);
}

#[test]
fn from_a_few_events_nothing_is_claimed() {
    let mut events = times(5, "no_match", &miss("nginx proxy", Some("ops/web")));
    events.extend(times(5, "skill_feedback", &json!({"skill_path": "ui/react", "useful": false})));
    let run = json!({"skill_path": "a", "file": "b.sh", "success": false, "exit_code": 1});
    events.extend(times(5, "script_executed", &run));
    events.extend(times(5, "skill_searched", &json!({"shown": ["ops/web"], "total": 1})));
    events.extend(times(9, "skill_served", &served("ui/vue", Some("a vue table"))));
    let chosen = json!({"skill_path": "ui/react", "was_ambiguous": true});
    events.extend(times(2, "skill_served", &chosen));
    let report = report(events);
    let group = &report.misses[0];
    assert_eq!((group.requests, group.keywords.len(), group.examples.len()), (5, 0, 1));
    assert!(report.patterns.is_empty(), "{:?}", report.patterns);
    let row = |name: &str| report.skills.iter().find(|skill| skill.skill == name).unwrap();
    assert_eq!(row("ui/vue").loaded, 9);
    assert_eq!(row("ui/react").chosen, 2);
    // The broken file is no claim: it is there. Nor is a streak: it happened.
    let kinds: Vec<AdviceKind> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(kinds, [AdviceKind::FixFile, AdviceKind::ImproveSkill]);
    assert_eq!(report.advice[1].seen, "The last 5 in a row said that it did not help.");
    assert_eq!(report.totals.useful.share, None);
    assert!(report.scripts[0].failed.share.is_none() && report.scripts[0].p50_ms.is_none());
}

#[test]
fn tokens_in_place_of_texts_are_grouped_as_well() {
    let report = report(times(10, "no_match", &miss("nginx reverse proxy", None)));
    assert_eq!(report.misses[0].terms, ["nginx", "reverse", "proxy"]);
}

#[test]
fn a_report_of_one_skill_has_only_its_rows() {
    let mut events = times(3, "skill_served", &served("ui/react", Some("react form")));
    events.extend(times(3, "skill_served", &served("ops/web", Some("apache"))));
    let narrowed = report(events).narrowed("ui/vue");
    assert!(narrowed.skills.is_empty() && narrowed.patterns.is_empty());
    assert_eq!(narrowed.never_served.unwrap()[0].skill, "ui/vue");
    assert_eq!(narrowed.totals.served, 6);
}
