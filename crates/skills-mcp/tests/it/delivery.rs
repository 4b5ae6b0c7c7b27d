//! From a server's disk into a collector's database, both real: each event once, and what the collector does not keep is
//! told apart from what it does.

use std::collections::BTreeSet;

use rusqlite::Connection;
use serde_json::Value;
use skills_testkit::{Home, Listening};
use skills_usage::{
    event::RecordedEvent,
    journal::{JournalFolder, JournalWriter, SenderState},
    sender::{Round, Sender},
};

use crate::{
    journal::{
        ask, event, ids, own, send_the_rest, sending, settings, shake, unsent,
        written_by_the_killed,
    },
    support::{ROOT_TREE, eventually, run, server},
};

/// A collector that keeps events in a home of its own.
fn collector(home: &Home) -> (Listening, String) {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["collect", "--listen", "127.0.0.1:0"]);
    let collector = Listening::start(command);
    let url = format!("http://{}/v1/events", collector.address());
    (collector, url)
}

/// The numbers of the events in a collector's home; the database has each number once.
fn collected(home: &Home) -> BTreeSet<String> {
    let connection = Connection::open(home.path().join("events.db")).unwrap();
    let mut select = connection.prepare("SELECT body FROM events").unwrap();
    let bodies = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let number = |body: String| RecordedEvent::read(&body).unwrap().event_id.to_string();
    bodies.map(|body| number(body.unwrap())).collect()
}

/// How many events a collector has counted.
fn counted(collector: &Listening) -> u64 {
    let report: Value = serde_json::from_str(&collector.get("/v1/stats?days=2").body).unwrap();
    let events = report.pointer("/totals/events").and_then(Value::as_u64);
    events.unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn what_servers_recorded_is_in_the_collector_once_when_they_have_ended() {
    // A server that ends does not wait for a slow disk, and leaves what it could not send in time to the next.
    let (home, elsewhere, collector) = eventually("servers that end when all is sent", || {
        let (home, elsewhere) = (Home::with(ROOT_TREE), Home::new());
        let (collector, url) = collector(&elsewhere);
        for _ in 0..2 {
            let mut client = shake(sending(&home, &url));
            for _ in 0..3 {
                ask(&mut client);
            }
            eventually("some are sent while it serves", || (counted(&collector) > 0).then_some(()));
            ask(&mut client);
            assert!(client.close().0.success());
        }
        unsent(&home).is_empty().then_some((home, elsewhere, collector))
    });
    let kept = ids(&own(&home).join("analytics.jsonl"));
    assert_eq!(kept.len(), 8);
    assert_eq!((counted(&collector), collected(&elsewhere)), (8, kept));
}

#[test]
fn b01_what_killed_writers_have_written_is_in_a_real_collector() {
    let (home, elsewhere) = (Home::new(), Home::new());
    let (collector, url) = collector(&elsewhere);
    let written = written_by_the_killed(64, &home, &url);
    send_the_rest(&home, &url);
    let arrived = collected(&elsewhere);
    assert!(written.len() > 64, "only {} events", written.len());
    assert!(written.is_subset(&arrived), "{:?}", written.difference(&arrived).next());
    assert_eq!(counted(&collector), arrived.len() as u64, "each is counted once");
    assert_eq!(unsent(&home), Vec::<String>::new());
}

#[test]
fn what_a_collector_cannot_read_is_put_aside_and_what_is_too_old_for_it_is_counted() {
    let (home, elsewhere) = (Home::with(ROOT_TREE), Home::new());
    let (collector, url) = collector(&elsewhere);
    let at = |timestamp: &str| RecordedEvent { timestamp: timestamp.to_owned(), ..event("x") };
    let events =
        [event("x"), at("yesterday"), at("2020-01-01T00:00:00.000Z"), at("soon"), event("y")];
    let number = |place: usize| events[place].event_id.to_string();
    assert!(JournalWriter::new(Some(home.path())).write(&events, &settings(&url)));
    let folder = JournalFolder::new(home.path());
    assert_eq!(Sender::new(folder.clone(), || None).round(&url, |_| true), Round::Done);
    assert_eq!(collected(&elsewhere), BTreeSet::from([number(0), number(4)]));
    assert_eq!(ids(&folder.refused()), BTreeSet::from([number(1), number(3)]));
    let SenderState { expired, dropped, .. } = SenderState::read(&folder);
    assert_eq!((expired, dropped, folder.unsent()), (1, 0, 0));
    let (_, out, _) = run(server(&home).env("ANALYTICS_ENDPOINT", &url).args(["doctor", "--json"]));
    assert!(out.contains("0 dropped; 1 too old for the endpoint"), "{out}");
    let (_, log) = collector.stop();
    assert_eq!(log.matches("older than any that are kept").count(), 1, "{log}");
}

#[test]
fn a_server_says_once_what_a_collector_does_not_keep() {
    let (home, elsewhere) = (Home::with(ROOT_TREE), Home::new());
    let (_collector, url) = collector(&elsewhere);
    let at = |timestamp: &str| RecordedEvent { timestamp: timestamp.to_owned(), ..event("x") };
    let mut writer = JournalWriter::new(Some(home.path()));
    let folder = JournalFolder::new(home.path());
    let mut client = shake(sending(&home, &url));
    ask(&mut client);
    for round in 1..=2 {
        assert!(writer.write(&[at("yesterday"), at("2020-01-01T00:00:00Z")], &settings(&url)));
        eventually("they are sent", || (SenderState::read(&folder).expired == round).then_some(()));
    }
    let (_, _, log) = client.close();
    for said in ["cannot read some events (\"'yesterday'", "is the clock of this machine right?"] {
        assert_eq!(log.matches(said).count(), 1, "{said}: {log}");
    }
    assert_eq!(ids(&folder.refused()).len(), 2);
}
