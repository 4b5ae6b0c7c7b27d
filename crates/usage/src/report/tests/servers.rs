//! What a report says of servers and clients.

use super::*;

/// A skill served so many minutes before the end of the last day.
fn from(server: &str, minutes: i64, version: Option<&str>, commit: Option<&str>) -> RecordedEvent {
    let mut recorded = event(minutes, "skill_served", &served("ui/react", None));
    recorded.server_id = server.into();
    recorded.server_version = version.map(Into::into);
    recorded.skill_commit = commit.map(str::to_owned);
    recorded
}

fn row<'a>(report: &'a UsageReport, server: &str) -> &'a ServerUse {
    report.servers.iter().find(|row| row.server == server).unwrap()
}

#[test]
fn c07_each_server_has_what_it_runs_and_what_is_behind_the_newest_is_said() {
    let mut events = vec![
        // Came back from a long absence with what it had: seen last, and still behind.
        from("dev-ada", 9_000, Some("0.9.0"), Some("aaa")),
        from("dev-ada", 5, Some("0.9.0"), Some("aaa")),
        from("dev-bob", 8_000, Some("0.9.0"), Some("aaa")),
        from("dev-bob", 100, Some("0.10.0"), Some("bbb")),
        from("dev-cid", 60, None, None),
        // Two repositories: the newest commit is among those it has served.
        from("dev-dot", 90, Some("0.10.0"), Some("bbb")),
        from("dev-dot", 20, Some("0.10.0"), Some("aaa")),
    ];
    events[3].client_name = Some("claude-code".into());
    let report = report(events);
    let servers: Vec<&str> = report.servers.iter().map(|row| row.server.as_str()).collect();
    assert_eq!(servers, ["dev-ada", "dev-dot", "dev-cid", "dev-bob"], "by when they were seen");
    let ada = row(&report, "dev-ada");
    assert_eq!(ada.behind(), Some("older version and commit"));
    assert_eq!(
        (ada.calls, ada.version.as_deref(), ada.commit.as_deref()),
        (2, Some("0.9.0"), Some("aaa"))
    );
    let bob = row(&report, "dev-bob");
    assert_eq!((bob.behind(), bob.commit.as_deref()), (None, Some("bbb")));
    assert_eq!(bob.clients, ["claude-code", "codex"]);
    assert!(bob.last_seen.starts_with("2026-02-16T22:19:59"), "{}", bob.last_seen);
    assert_eq!(row(&report, "dev-cid").behind(), Some("older version"), "it says none");
    assert_eq!(row(&report, "dev-dot").behind(), None);
    assert_eq!((report.totals.servers, report.servers_left_out()), (4, 0));
}

#[test]
fn where_nothing_is_known_nothing_is_behind() {
    let report = report(vec![from("a", 1, None, None), from("b", 2, Some("dev"), None)]);
    assert!(report.servers.iter().all(|row| row.behind().is_none()), "{:?}", report.servers);
}

#[test]
fn many_servers_are_listed_as_far_as_a_reader_goes_and_the_rest_is_counted() {
    let events = (0..350).map(|number| from(&format!("dev-{number}"), number, None, None));
    let report = report(events.collect());
    assert_eq!((report.servers.len(), report.servers_left_out()), (300, 50));
    assert_eq!(report.servers[0].server, "dev-0");
}

#[test]
fn clients_that_called_are_named_most_first_and_those_without_a_name_are_not() {
    let mut events = times(3, "no_match", &miss("x", None));
    events.extend(times(2, "skill_served", &served("ui/react", None)));
    events[0].client_name = Some("claude-code".into());
    events[1].client_name = None;
    let report = report(events);
    let callers: Vec<(&str, u64)> =
        report.callers.iter().map(|caller| (caller.name.as_str(), caller.n)).collect();
    assert_eq!(callers, [("codex", 3), ("claude-code", 1)]);
    assert!(report.has_caller("codex") && !report.has_caller(""));
}

#[test]
fn what_one_client_does_not_use_is_not_advised_to_be_removed() {
    let events = times(60, "skill_served", &served("ui/react", Some("react form")));
    let evidence = Evidence::of(events, period());
    let removes = |evidence: &Evidence| {
        let report = UsageReport::of(evidence, Some(&catalog()), period(), REPORT_DAY);
        report.advice.iter().any(|advice| advice.kind == AdviceKind::RemoveSkill)
    };
    assert!(removes(&evidence));
    assert!(!removes(&Evidence { client: Some("codex".to_owned()), ..evidence }));
}
