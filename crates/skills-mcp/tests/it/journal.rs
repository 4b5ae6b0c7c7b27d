//! Events on disk and on their way: what is lost when processes are killed, disks are full, endpoints misbehave and files
//! are damaged. Nothing, or a number that says how much.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_mcp::config::{Analytics, Settings};
use skills_testkit::{Client, Endpoint, EndpointBehaviour, Home, PROMPT_TIMEOUT, wait_until};
use skills_usage::{
    clock,
    event::{Event, RecordedEvent, SkillFeedback},
    journal::{JournalFolder, JournalWriter, SenderState, checked},
    sender::{Round, Sender},
};

use crate::{
    events::files_with,
    support::{ROOT_TREE, after, eventually, ordinary, run, server},
    tunnel::{HOST, Tunnel},
};

/// The sender leaves a second between two requests, and four after a `Retry-After` of that length. A busy machine notices
/// requests late.
const SOON: Duration = Duration::from_millis(700);

pub(crate) fn event(comment: &str) -> RecordedEvent {
    RecordedEvent {
        event: Event::SkillFeedback(SkillFeedback {
            skill_path: "a".to_owned(),
            useful: true,
            comment: Some(comment.to_owned()),
        }),
        timestamp: clock::timestamp(),
        server_id: "dev-ada".into(),
        server_version: None,
        event_id: clock::event_id(),
        tool: None,
        client_name: None,
        client_version: None,
        skill_digest: None,
        skill_commit: None,
        latency_us: None,
    }
}

pub(crate) fn settings(url: &str) -> Analytics {
    let endpoint = Some(url.to_owned());
    Analytics { enabled: true, endpoint, ..Settings::default().analytics }
}

/// A server that sends its events there, every second.
pub(crate) fn sending(home: &Home, url: &str) -> Command {
    let mut command = server(home);
    command.env("ANALYTICS_ENDPOINT", url).args(["--set", "analytics.interval_seconds=1"]);
    command
}

pub(crate) fn shake(command: Command) -> Client {
    Client::legacy(command, "2025-11-25")
}

/// Makes one event: a request that nothing matches.
pub(crate) fn ask(client: &mut Client) {
    let asked = Instant::now();
    client.call("get_skill", &json!({"context": "nginx"}));
    assert!(asked.elapsed() < PROMPT_TIMEOUT, "a call waits for the journal");
}

pub(crate) fn own(home: &Home) -> PathBuf {
    home.path().join(".skills-mcp")
}

/// The names of what is kept there, but for the records of consent and of folders that scripts may change, and the cache of the
/// scan, which have nothing to do with events.
pub(crate) fn kept(home: &Home) -> Vec<String> {
    let files = fs::read_dir(own(home)).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let is_other = |name: &String| name.starts_with("trust.") || name == "cache";
    names.filter(|name| !is_other(name)).collect()
}

/// The numbers of the events in a file.
pub(crate) fn ids(file: &Path) -> BTreeSet<String> {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let read = |line: &str| RecordedEvent::read(line).ok().map(|event| event.event_id.to_string());
    text.lines().filter_map(read).collect()
}

/// How many events were dropped, and how many lines were none, by the file that says so.
fn counted(folder: &Path) -> (u64, u64) {
    let text = fs::read_to_string(folder.join("analytics-sender.json")).unwrap_or_default();
    let state: SenderState = serde_json::from_str(&text).unwrap_or_default();
    (state.dropped, state.spoilt)
}

/// The names of files that hold unsent events.
pub(crate) fn unsent(home: &Home) -> Vec<String> {
    let files = fs::read_dir(own(home)).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("analytics-buffer.")).collect()
}

/// Waits until everything was taken by the endpoint, and no copy is kept for another try: that may be later, and a server that
/// ends does not wait for a slow disk.
fn wait_until_sent(home: &Home) {
    wait_until("nothing is left to send", || unsent(home).is_empty());
}

// B-01

const WRITER: &str = "JOURNAL_TEST_WRITER";

/// No test but what the next one starts and kills: it writes and sends until then.
#[test]
fn b01_a_writer_that_is_killed() {
    let (Ok(url), Some(home)) = (env::var(WRITER), env::var_os("HOME")) else { return };
    let settings = settings(&url);
    let folder = JournalFolder::new(Path::new(&home));
    thread::spawn(move || {
        let mut sender = Sender::new(folder, || None);
        loop {
            sender.round(&url, |_| true);
            thread::sleep(Duration::from_millis(20));
        }
    });
    let mut writer = JournalWriter::new(Some(Path::new(&home)));
    loop {
        let event = event("x");
        assert!(writer.write(std::slice::from_ref(&event), &settings));
        println!("written {}", event.event_id);
        thread::sleep(Duration::from_millis(5));
    }
}

/// So many writers into this home that send there, sixteen at a time, each killed at some moment: the numbers of what they
/// said they had written.
pub(crate) fn written_by_the_killed(kills: usize, home: &Home, url: &str) -> BTreeSet<String> {
    let written = Mutex::new(BTreeSet::new());
    let left = AtomicUsize::new(kills);
    thread::scope(|scope| {
        for number in 0..16_u64 {
            let (written, left) = (&written, &left);
            scope.spawn(move || {
                let mut chance = number + 1;
                while left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                    .is_ok()
                {
                    let mut command = home.command(env::current_exe().unwrap());
                    command.args([
                        "--exact",
                        "--nocapture",
                        "journal::b01_a_writer_that_is_killed",
                    ]);
                    command.env(WRITER, url).stdin(Stdio::null()).stderr(Stdio::null());
                    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
                    chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    thread::sleep(Duration::from_millis(30 + (chance >> 33) % 400));
                    child.kill().unwrap();
                    let said = child.wait_with_output().unwrap().stdout;
                    let said = String::from_utf8_lossy(&said);
                    // A line that was cut off is no promise.
                    let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                    let ids = whole.filter_map(|line| line.split("written ").nth(1));
                    written.lock().unwrap().extend(ids.map(|id| id.trim().to_owned()));
                }
            });
        }
    });
    written.into_inner().unwrap()
}

/// Sends what the killed have left.
pub(crate) fn send_the_rest(home: &Home, url: &str) {
    let folder = JournalFolder::new(home.path());
    let mut sender = Sender::new(folder.clone(), || None);
    wait_until("the rest is sent", || {
        sender.round(url, |_| true) == Round::Done && folder.unsent() == 0
    });
}

/// `KILLS=10000` is the long run.
// SEND-3
#[test]
fn b01_sixteen_writers_killed_at_any_moment_lose_nothing_they_have_written() {
    let kills = env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(160);
    let home = Home::new();
    let endpoint = Endpoint::start();
    let started = Instant::now();
    let written = written_by_the_killed(kills, &home, &endpoint.url());
    let killed = started.elapsed();
    send_the_rest(&home, &endpoint.url());
    let arrived = endpoint.ids();
    let copies = endpoint.events().len() - arrived.len();
    println!(
        "{kills} kills in {killed:?}: {} written, {} arrived, {copies} copies, {:?} dropped and spoilt",
        written.len(),
        arrived.len(),
        counted(&own(&home)),
    );
    assert!(written.len() > kills, "only {} events", written.len());
    assert!(written.is_subset(&arrived), "{:?}", written.difference(&arrived).next());
    assert!(written.is_subset(&ids(&own(&home).join("analytics.jsonl"))));
    assert!(endpoint.copies_agree());
    assert_eq!(counted(&own(&home)).0, 0, "nothing is dropped where there is room");
    assert_eq!(unsent(&home), Vec::<String>::new());
}

// Findings.

/// Says of a skill whether it helped, in a session of its own; its log.
fn rate(home: &Home, arguments: &[&str], useful: bool) -> String {
    let mut command = server(home);
    command.args(arguments);
    let mut client = shake(command);
    let reply = client.call("report_usage", &json!({"skill_path": "api/auth", "useful": useful}));
    assert!(!reply.is_error, "{}", reply.text);
    let (status, _, log) = client.close();
    assert!(status.success(), "{log}");
    log
}

// REPORT-2
#[test]
fn a03_the_third_useless_in_a_row_is_warned_of_over_sessions_and_shown_in_statistics() {
    const WARNING: &str = "reported as not useful several times in a row";
    let home = Home::with(ROOT_TREE);
    let on = ["--set", "analytics.enabled=true"];
    let logs: Vec<String> = (0..4).map(|_| rate(&home, &on, false)).collect();
    let warned: Vec<bool> = logs.iter().map(|log| log.contains(WARNING)).collect();
    assert_eq!(warned, [false, false, true, true], "{logs:?}");
    assert!(logs[3].contains("WARN") && logs[3].contains("in_a_row=4"), "{}", logs[3]);
    assert!(logs[3].contains("api/auth"), "{}", logs[3]);
    let stats = |arguments: &[&str]| {
        let (code, out, err) = run(server(&home).arg("stats").args(arguments));
        assert_eq!(code, 0, "{err}");
        out
    };
    let said = stats(&[]);
    assert!(said.contains("The last 4 in a row said that it did not help."), "{said}");
    let report: Value = serde_json::from_str(&stats(&["--json"])).unwrap();
    assert_eq!(report["skills"][0]["useless_in_a_row"], 4, "{report}");
    assert_eq!(report["advice"][0]["kind"], "improve_skill", "{report}");
    // One good word ends it.
    assert!(!rate(&home, &on, true).contains(WARNING));
    assert!(!rate(&home, &on, false).contains(WARNING));
    assert!(!stats(&[]).contains("in a row"));
    // Where nothing is recorded, a session counts for itself and nothing is kept.
    let other = Home::with(ROOT_TREE);
    let mut client = shake(server(&other));
    for _ in 0..3 {
        client.call("report_usage", &json!({"skill_path": "api/auth", "useful": false}));
    }
    let (_, _, log) = client.close();
    assert_eq!(log.matches(WARNING).count(), 1, "{log}");
    assert_eq!(kept(&other), Vec::<String>::new());
}

/// An address without a listener.
fn dead_address() -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}/v1/events")
}

// SEND-1
#[test]
fn a07_while_an_endpoint_is_dead_its_events_are_in_the_buffer_and_doctor_says_how_many() {
    let home = Home::with(ROOT_TREE);
    let url = dead_address();
    let folder = JournalFolder::new(home.path());
    let mut client = shake(sending(&home, &url));
    for round in 1..=3_u32 {
        ask(&mut client);
        wait_until("it was tried again", || SenderState::read(&folder).failures >= round);
    }
    client.close();
    assert_eq!(unsent(&home), ["analytics-buffer.jsonl"], "nowhere else");
    let buffer = own(&home).join("analytics-buffer.jsonl");
    assert_eq!(ids(&buffer).len(), 3);
    assert_eq!(ids(&buffer), ids(&own(&home).join("analytics.jsonl")));
    let (_, out, _) = run(server(&home).env("ANALYTICS_ENDPOINT", &url).args(["doctor", "--json"]));
    assert!(out.contains(&format!("3 unsent in {}", buffer.display())), "{out}");
    // What comes while the first are sent, and what is set aside because it is full, is counted as well.
    fs::rename(&buffer, own(&home).join(format!("analytics-buffer.{}.jsonl", clock::event_id())))
        .unwrap();
    assert!(JournalWriter::new(Some(home.path())).write(&[event("x")], &settings(&url)));
    let (_, out, _) = run(server(&home).env("ANALYTICS_ENDPOINT", &url).args(["doctor", "--json"]));
    let said = format!("4 unsent in {} and 1 file beside it", buffer.display());
    assert!(out.contains(&said), "{out}");
    let endpoint = Endpoint::start();
    SenderState::change(&folder, |state| *state = SenderState::default()).unwrap();
    send_the_rest(&home, &endpoint.url());
    assert_eq!((endpoint.ids().len(), unsent(&home)), (4, Vec::new()));
}

#[test]
fn a07_events_that_come_while_a_batch_is_on_its_way_are_neither_lost_nor_sent_twice() {
    let home = Home::new();
    let endpoint = Endpoint::start();
    let settings = settings(&endpoint.url());
    let done = std::sync::atomic::AtomicBool::new(false);
    let written = thread::scope(|scope| {
        scope.spawn(|| {
            let mut sender = Sender::new(JournalFolder::new(home.path()), || None);
            while !done.load(Ordering::SeqCst) {
                sender.round(&endpoint.url(), |_| true);
            }
        });
        let mut writer = JournalWriter::new(Some(home.path()));
        let mut written = BTreeSet::new();
        while endpoint.posted().len() < 20 {
            for _ in 0..50 {
                let event = event("x");
                assert!(writer.write(std::slice::from_ref(&event), &settings));
                written.insert(event.event_id.to_string());
            }
        }
        done.store(true, Ordering::SeqCst);
        written
    });
    send_the_rest(&home, &endpoint.url());
    assert_eq!(endpoint.ids(), written);
    assert_eq!(endpoint.events().len(), written.len(), "each came once");
    assert_eq!(unsent(&home), Vec::<String>::new());
}

#[test]
fn a08_the_end_of_a_server_sends_also_right_after_an_endpoint_is_well_again() {
    // Sending at the end has half a second: a machine that stalls for as long is given another try.
    wait_until("both events when the server ends", || {
        let home = Home::with(ROOT_TREE);
        let endpoint = Endpoint::start();
        endpoint.behave(EndpointBehaviour::Status(503));
        let mut client = shake(sending(&home, &endpoint.url()));
        ask(&mut client);
        wait_until("it fails", || SenderState::read(&JournalFolder::new(home.path())).failures > 0);
        endpoint.behave(EndpointBehaviour::Take);
        wait_until("the first", || endpoint.ids().len() == 1);
        ask(&mut client);
        client.close();
        endpoint.ids().len() == 2 && unsent(&home).is_empty()
    });
}

// SEND-6
#[test]
fn a08_an_outage_is_warned_of_once_when_it_begins_and_once_when_it_ends() {
    let home = Home::with(ROOT_TREE);
    let url = dead_address();
    let folder = JournalFolder::new(home.path());
    let mut client = shake(sending(&home, &url));
    ask(&mut client);
    wait_until("three tries", || SenderState::read(&folder).failures > 2);
    let log = client.log();
    let line = log.lines().find(|line| line.contains("events wait, since 127.0.0.1")).unwrap();
    assert!(line.contains("WARN") && line.contains("analytics-buffer.jsonl"), "{line}");
    // The endpoint comes back where it was.
    let endpoint = Endpoint::at(url.trim_start_matches("http://").trim_end_matches("/v1/events"));
    wait_until("it is sent", || endpoint.ids().len() == 1);
    wait_until("that is said", || client.log().contains("events are sent again"));
    let (_, _, log) = client.close();
    assert_eq!(log.matches("events wait").count(), 1, "{log}");
    assert_eq!(log.matches("events are sent again").count(), 1, "{log}");
    let line = log.lines().find(|line| line.contains("events are sent again")).unwrap();
    assert!(line.contains("sent=1") && line.contains("failed_tries="), "{line}");
}

// B-04

const OWN_WORLD: &[&str] = &["unshare", "--user", "--map-root-user", "--mount"];

/// The journal's folder as the server sees it, in its own world.
fn seen_by(client: &Client, home: &Home) -> PathBuf {
    let own = own(home);
    Path::new(&format!("/proc/{}/root", client.pid())).join(own.strip_prefix("/").unwrap())
}

/// One event while the disk takes none, five after it was mended: each is there or counted.
fn assert_counts_and_recovers(lines: &str, mend: impl Fn(&Client, &Path)) {
    let home = Home::with(ROOT_TREE);
    fs::create_dir_all(own(&home)).unwrap();
    let mut command = server(&home);
    command.env("ANALYTICS_ENDPOINT", "http://127.0.0.1:9/x");
    let mut client = shake(after(&command, OWN_WORLD, lines));
    ask(&mut client);
    wait_until("it is dropped", || client.log().contains("events are dropped and counted"));
    let folder = seen_by(&client, &home);
    mend(&client, &folder);
    for _ in 0..5 {
        ask(&mut client);
    }
    let kept = || ids(&folder.join("analytics.jsonl")).len();
    eventually("each is kept or counted", || {
        (kept() + usize::try_from(counted(&folder).0).unwrap() == 6).then_some(())
    });
    assert_eq!(kept(), 5, "what came after is kept");
    assert_eq!(ids(&folder.join("analytics-buffer.jsonl")).len(), 5);
    let (status, took, log) = client.close();
    assert!(status.success() && took < PROMPT_TIMEOUT, "{took:?} {log}");
    assert_eq!(log.matches("events are dropped and counted").count(), 1, "{log}");
    assert!(log.contains("events are written again") && log.contains("dropped=1"), "{log}");
}

// SEND-4
#[test]
fn b04_a_full_disk_costs_events_that_are_counted_and_no_call() {
    let lines = "mount -t tmpfs -o size=64k none $HOME/.skills-mcp
        cat /dev/zero > $HOME/.skills-mcp/ballast 2>/dev/null || true";
    assert_counts_and_recovers(lines, |_, folder| fs::remove_file(folder.join("ballast")).unwrap());
}

#[test]
fn b04_a_disk_that_cannot_be_written_costs_events_that_are_counted_and_no_call() {
    let lines = "mount -t tmpfs -o size=1m none $HOME/.skills-mcp
        mount -o remount,ro $HOME/.skills-mcp";
    assert_counts_and_recovers(lines, |client, _| {
        let pid = client.pid().to_string();
        let inside =
            format!("mount -o remount,rw $(awk '/skills-mcp/ {{print $5}}' /proc/{pid}/mountinfo)");
        let mut enter = Command::new("nsenter");
        enter.args(["--user", "--mount", "--target", &pid, "sh", "-ec", &inside]);
        let (code, _, complaint) = run(&mut enter);
        assert_eq!(code, 0, "{complaint}");
    });
}

#[test]
fn b04_a_folder_that_is_deleted_is_made_again() {
    let home = Home::with(ROOT_TREE);
    let mut client = shake(sending(&home, "http://127.0.0.1:9/x"));
    for round in 1..=3 {
        ask(&mut client);
        let kept = || ids(&own(&home).join("analytics.jsonl"));
        assert_eq!(
            eventually("an event", || Some(kept()).filter(|ids| !ids.is_empty())).len(),
            1,
            "{round}"
        );
        // The server may write the event to its buffer meanwhile.
        eventually("the folder is gone", || fs::remove_dir_all(own(&home)).ok());
    }
    let (status, _, log) = client.close();
    assert!(status.success() && !log.contains("are dropped"), "{log}");
}

#[test]
fn without_a_home_it_is_said_once_and_calls_work() {
    let home = Home::with(ROOT_TREE);
    let mut command = server(&home);
    command.env_remove("HOME").args(["--set", "analytics.enabled=true"]);
    let mut client = shake(command);
    ask(&mut client);
    ask(&mut client);
    let (status, _, log) = client.close();
    assert!(status.success(), "{log}");
    assert_eq!(log.matches("there is no home folder").count(), 1, "{log}");
    assert!(log.contains("no file counts them dropped=2"), "{log}");
}

#[test]
fn no_name_leads_to_a_file_that_a_program_would_read() {
    let home = Home::with(ROOT_TREE);
    home.write(".profile", "PATH=/bin\n");
    let mut command = server(&home);
    command.args(["--set", "analytics.enabled=true", "--set", "analytics.file=~/.profile"]);
    let mut client = shake(command);
    ask(&mut client);
    let (_, _, log) = client.close();
    assert!(log.contains("must end in .jsonl"), "{log}");
    assert_eq!(fs::read_to_string(home.path().join(".profile")).unwrap(), "PATH=/bin\n");
    assert_eq!(counted(&own(&home)).0, 1);
}

// Settings.

#[test]
fn an_event_is_kept_as_the_content_says_once_agreed_to_unless_trust_is_strict() {
    let home = Home::with(ROOT_TREE);
    let say = |file: &str| {
        home.write("config.yaml", format!("analytics: {{enabled: true, file: '{file}'}}\n"));
    };
    say("one.jsonl");
    let mut strict = server(&home);
    strict.env("SKILLS_TRUST", "strict");
    let mut client = shake(strict);
    ask(&mut client);
    client.close();
    assert_eq!(kept(&home), Vec::<String>::new());
    let mut client = shake(server(&home));
    ask(&mut client);
    say("two.jsonl");
    ask(&mut client);
    let (code, ..) = run(server(&home).arg("trust"));
    assert_eq!(code, 1, "another file waits for consent");
    assert!(!own(&home).join("two.jsonl").exists());
    let (code, _, err) = run(server(&home).args(["trust", "--yes"]));
    assert_eq!(code, 0, "{err}");
    eventually("the other file", || {
        ask(&mut client);
        own(&home).join("two.jsonl").exists().then_some(())
    });
    client.close();
    assert!(!ids(&own(&home).join("one.jsonl")).is_empty());
    assert!(!ids(&own(&home).join("two.jsonl")).is_empty());
}

#[test]
fn doctor_says_how_events_fare() {
    let home = Home::with(ROOT_TREE);
    let said = |command: &mut Command| {
        let (_, out, err) = run(command.args(["doctor", "--json"]));
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
        said["analytics"].as_str().unwrap().to_owned()
    };
    // It serves for a moment to see how that goes, which is no reason to send.
    let told = |url: &str| {
        let mut command = server(&home);
        command.env("ANALYTICS_ENDPOINT", url);
        command
    };
    assert_eq!(said(&mut server(&home)), "off");
    let url = "http://127.0.0.1:9/canary-path";
    assert!(JournalWriter::new(Some(home.path())).write(&[event("x")], &settings(url)));
    let kept = own(&home).join("analytics.jsonl");
    assert_eq!(
        said(&mut told(url)),
        format!(
            "on; kept in {}; sent to 127.0.0.1; 1 unsent in {}; 0 dropped",
            kept.display(),
            own(&home).join("analytics-buffer.jsonl").display()
        )
    );
    // What the history could not take is sent all the same.
    let mut writer = JournalWriter::new(Some(home.path()));
    let elsewhere = Analytics { file: "notes.txt".to_owned(), ..settings(url) };
    assert!(!writer.write(&[event("y")], &elsewhere));
    writer.settle();
    let line = said(&mut told(url));
    assert!(line.ends_with("; 0 dropped; 1 not kept in the history"), "{line}");
}

#[test]
fn a_history_that_cannot_be_written_is_said_to_be_that_and_no_more() {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    let mut command = sending(&home, &endpoint.url());
    command.args(["--set", "analytics.file=notes.txt"]);
    let mut client = shake(command);
    ask(&mut client);
    ask(&mut client);
    let (_, _, log) = client.close();
    assert_eq!(log.matches("not kept in the history, but will be sent").count(), 1, "{log}");
    assert!(!log.contains("dropped and counted"), "{log}");
    assert_eq!((endpoint.ids().len(), counted(&own(&home)).0), (2, 0));
}

// Off, and the end.

// EVENT-1
#[test]
fn without_analytics_there_is_no_file_and_no_thread() {
    let home = Home::with(ROOT_TREE);
    let threads = |client: &Client| -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", client.pid())).unwrap().flatten();
        let names =
            tasks.map(|task| fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.filter(|name| ["journal\n", "sender\n"].contains(&name.as_str())).collect()
    };
    let mut client = shake(server(&home));
    ask(&mut client);
    assert_eq!(threads(&client), Vec::<String>::new());
    client.close();
    // The record of consent is there, analytics or not.
    let files = || kept(&home);
    assert_eq!(files(), Vec::<String>::new());
    let mut client = shake(sending(&home, "http://127.0.0.1:9/x"));
    assert_eq!((threads(&client).len(), files().len()), (0, 0), "nor before an event");
    ask(&mut client);
    eventually("both threads", || (threads(&client).len() == 2).then_some(()));
    client.close();
    assert_eq!(ids(&own(&home).join("analytics.jsonl")).len(), 1);
}

#[test]
fn what_others_have_left_is_sent_without_waiting_for_an_event() {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    assert!(JournalWriter::new(Some(home.path())).write(&[event("x")], &settings(&endpoint.url())));
    // A server with analytics off leaves it there.
    let mut client = shake(server(&home));
    ask(&mut client);
    let tasks = fs::read_dir(format!("/proc/{}/task", client.pid())).unwrap().flatten();
    let mut names = tasks.map(|task| fs::read_to_string(task.path().join("comm")).unwrap());
    assert!(!names.any(|name| ["journal\n", "sender\n"].contains(&name.as_str())));
    client.close();
    assert_eq!((endpoint.posted().len(), unsent(&home).len()), (0, 1));
    let client = shake(sending(&home, &endpoint.url()));
    eventually("it is sent", || (endpoint.ids().len() == 1).then_some(()));
    wait_until_sent(&home);
    client.close();
    assert_eq!(unsent(&home), Vec::<String>::new());
}

// SEND-1
#[test]
fn files_are_for_their_owner_and_without_an_endpoint_there_is_only_the_history() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::with(ROOT_TREE);
    let mut command = server(&home);
    command.args(["--set", "analytics.enabled=true"]);
    let mut client = shake(command);
    ask(&mut client);
    client.close();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut files: Vec<_> =
        fs::read_dir(own(&home)).unwrap().flatten().map(|file| file.path()).collect();
    files.sort();
    let cache = own(&home).join("cache");
    files.retain(|file| *file != cache);
    let names = ["analytics.jsonl", "trust.json", "trust.lock"].map(|name| own(&home).join(name));
    assert_eq!(files, names);
    for cached in fs::read_dir(&cache).into_iter().flatten().flatten() {
        assert_eq!((mode(&cache), mode(&cached.path())), (0o700, 0o600));
    }
    assert_eq!(mode(&own(&home)), 0o700);
    let mut client = shake(sending(&home, "http://127.0.0.1:9/x"));
    ask(&mut client);
    client.close();
    for file in fs::read_dir(own(&home)).unwrap().flatten().filter(|file| file.path() != cache) {
        assert_eq!(mode(&file.path()), 0o600, "{}", file.path().display());
    }
}

// SEND-1
#[test]
fn the_end_of_a_server_sends_what_there_is_and_is_not_held_up() {
    for (behaviour, arrives) in [
        (EndpointBehaviour::Take, true),
        (EndpointBehaviour::Hang, false),
        (EndpointBehaviour::Drip, false),
    ] {
        // It has half a second to send; a machine that stalls for as long is given another try.
        let (home, endpoint) = eventually("as an endpoint behaves", || {
            let home = Home::with(ROOT_TREE);
            let endpoint = Endpoint::start();
            endpoint.behave(behaviour.clone());
            let mut command = server(&home);
            command.env("ANALYTICS_ENDPOINT", endpoint.url());
            let mut client = shake(command);
            ask(&mut client);
            let (status, took, log) = client.close();
            assert!(status.success() && took < PROMPT_TIMEOUT, "{behaviour:?}: {took:?} {log}");
            let as_expected = endpoint.ids().len() == usize::from(arrives);
            (as_expected && unsent(&home).is_empty() == arrives).then_some((home, endpoint))
        });
        endpoint.behave(EndpointBehaviour::Take);
        let mut client = shake(sending(&home, &endpoint.url()));
        ask(&mut client);
        eventually("both", || (endpoint.ids().len() == 2).then_some(()));
        wait_until_sent(&home);
        client.close();
        assert_eq!(unsent(&home), Vec::<String>::new());
    }
}

#[test]
fn send_2_a_request_is_as_promised_and_a_token_stays_a_secret() {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    let mut command = sending(&home, &endpoint.url());
    command.env("ANALYTICS_TOKEN", "canary-token").env("SKILLS_LOG", "trace").env("USER", "ada");
    // No proxy hears of what stays on this machine.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
    let mut client = shake(command);
    ask(&mut client);
    let posted = eventually("a request", || endpoint.posted().first().cloned());
    let (_, _, log) = client.close();
    assert_eq!(posted.line, "POST /v1/events HTTP/1.1");
    let header = |name: &str| posted.headers.get(name).map(String::as_str);
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("authorization"), Some("Bearer canary-token"));
    assert!(header("idempotency-key").is_some_and(|key| key.len() == 64));
    let events = posted.events();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["type"], &events[0]["server_id"]),
        (&json!("no_match"), &json!("dev-ada"))
    );
    assert_eq!(events[0].get("check"), None);
    let body: Value = serde_json::from_str(&posted.body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1);
    assert!(!log.contains("canary"), "{log}");
    assert_eq!(files_with(&own(&home), &["canary"]), Vec::<String>::new());
}

// SEND-2
#[test]
fn an_endpoint_that_content_names_gets_its_own_events_and_no_token() {
    let home = Home::with(ROOT_TREE);
    let mut operators = sending(&home, "http://127.0.0.1:9/x");
    operators.env("ANALYTICS_TOKEN", "canary-token");
    let mut client = shake(operators);
    ask(&mut client);
    client.close();
    let left = || -> BTreeSet<String> {
        unsent(&home).iter().flat_map(|name| ids(&own(&home).join(name))).collect()
    };
    let waiting = left();
    assert_eq!(waiting.len(), 1);
    // The operator's endpoint is down; then a directory is served that names one of its own.
    let tunnel = Tunnel::start(&home);
    let theirs = &tunnel.endpoint;
    let config = format!("analytics: {{enabled: true, endpoint: 'https://{HOST}/v1/events'}}\n");
    home.write("theirs/config.yaml", config);
    home.write("theirs/a.md", "---\nkeywords: [login]\ndescription: d\n---\nx\n");
    let mut contents = tunnel.before(server(&home));
    contents.env("SKILLS_DIR", home.path().join("theirs"));
    contents.args(["--set", "analytics.interval_seconds=1"]).env("ANALYTICS_TOKEN", "canary-token");
    let mut client = shake(contents);
    ask(&mut client);
    let posted = eventually("its own event", || theirs.posted().first().cloned());
    let (_, _, log) = client.close();
    assert_eq!(posted.headers.get("authorization"), None);
    assert!(theirs.ids().is_disjoint(&waiting), "those of the operator's endpoint wait for it");
    assert_eq!(theirs.ids().len(), 1);
    assert_eq!(left(), waiting);
    assert!(log.contains("sets analytics.endpoint to"), "{log}");
    assert!(log.contains("sets analytics.enabled to true"), "{log}");
}

// SEND-2
#[test]
fn a_token_is_not_sent_for_all_to_read() {
    let home = Home::with(ROOT_TREE);
    let mut command = sending(&home, "http://events.example.org/canary-path");
    command.env("ANALYTICS_TOKEN", "canary-token");
    let mut client = shake(command);
    ask(&mut client);
    let folder = JournalFolder::new(home.path());
    wait_until("a second try", || SenderState::read(&folder).failures > 1);
    let (_, _, log) = client.close();
    assert_eq!(log.matches("use https").count(), 1, "{log}");
    assert!(!log.contains("canary"), "{log}");
    assert_eq!(ids(&own(&home).join("analytics-buffer.jsonl")).len(), 1);
}

// B-05

/// What an endpoint does to seven events before it takes them; the server's log, and what came when.
fn weathered(behaviour: &EndpointBehaviour) -> (String, Vec<Instant>, Home) {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    endpoint.behave(behaviour.clone());
    let mut client = shake(sending(&home, &endpoint.url()));
    for _ in 0..7 {
        ask(&mut client);
    }
    wait_until("a request", || !endpoint.posted().is_empty());
    if !matches!(behaviour, EndpointBehaviour::AtMost(_)) {
        endpoint.behave(EndpointBehaviour::Take);
    }
    wait_until(&format!("all of it after {behaviour:?}"), || endpoint.ids().len() == 7);
    wait_until_sent(&home);
    let (_, _, log) = client.close();
    assert_eq!(unsent(&home), Vec::<String>::new());
    assert_eq!(counted(&own(&home)), (0, 0));
    (log, endpoint.posted().iter().map(|posted| posted.at).collect(), home)
}

#[test]
fn b05_whatever_an_endpoint_does_its_events_arrive_once_it_is_well() {
    let other = Endpoint::start();
    let table = [
        (EndpointBehaviour::Status(500), "status 500"),
        (EndpointBehaviour::Status(408), "status 408"),
        (EndpointBehaviour::RetryAfter(429, "4".to_owned()), "status 429"),
        (EndpointBehaviour::RetryAfter(503, "soon".to_owned()), "status 503"),
        (EndpointBehaviour::AtMost(2), ""),
        (EndpointBehaviour::Hang, "does not take them"),
        (EndpointBehaviour::Drip, "does not take them"),
        (EndpointBehaviour::Garbage, "does not take them"),
        (EndpointBehaviour::Close, "does not take them"),
        (EndpointBehaviour::Redirect(other.url()), "status 307"),
        (EndpointBehaviour::Status(401), "ANALYTICS_TOKEN"),
        (EndpointBehaviour::Status(404), "set analytics.endpoint"),
    ];
    thread::scope(|scope| {
        for (behaviour, said) in &table {
            scope.spawn(move || {
                let (log, came, _home) = weathered(behaviour);
                for (one, next) in came.iter().zip(came.iter().skip(1)) {
                    let gap = next.duration_since(*one);
                    assert!(gap > SOON, "{behaviour:?}: {gap:?}");
                }
                if matches!(behaviour, EndpointBehaviour::RetryAfter(429, _)) {
                    assert!(came[1].duration_since(came[0]) > 4 * SOON);
                }
                assert!(came.len() < 15, "{behaviour:?}: {}", came.len());
                let warnings = log.matches("events wait").count();
                assert_eq!(warnings, usize::from(!said.is_empty()), "{behaviour:?}: {log}");
                assert!(log.contains(said), "{behaviour:?}: {log}");
                let again = log.matches("events are sent again").count();
                assert_eq!(again, warnings, "{behaviour:?}: {log}");
            });
        }
    });
    assert_eq!(other.posted().len(), 0, "no redirect is followed");
}

// SEND-5
#[test]
fn b05_what_is_refused_for_good_is_put_aside_and_holds_nothing_up() {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    endpoint.behave(EndpointBehaviour::Status(422));
    let mut client = shake(sending(&home, &endpoint.url()));
    ask(&mut client);
    let refused = own(&home).join("analytics-refused.jsonl");
    eventually("it is put aside", || (ids(&refused).len() == 1).then_some(()));
    endpoint.behave(EndpointBehaviour::Take);
    ask(&mut client);
    eventually("the next", || (endpoint.ids().len() == 1).then_some(()));
    wait_until_sent(&home);
    let (_, _, log) = client.close();
    assert!(log.contains("refuses events for good (status 422)"), "{log}");
    assert!(endpoint.ids().is_disjoint(&ids(&refused)));
    assert_eq!(unsent(&home), Vec::<String>::new());
}

#[test]
fn b05_a_file_closed_to_all_goes_when_there_is_too_much_and_is_counted_by_its_size() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    const MIB: u64 = 1 << 20;
    let home = Home::with(ROOT_TREE);
    fs::create_dir_all(own(&home)).unwrap();
    let sized = |name: &str, bytes| {
        let path = own(&home).join(name);
        fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        path
    };
    let closed = sized(&format!("analytics-buffer.{}.jsonl", clock::event_id()), 64 * MIB);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Full: the next event moves it aside, and then there is too much.
    let buffer = sized("analytics-buffer.jsonl", 4 * MIB);
    if fs::metadata(home.path()).unwrap().uid() == 0 {
        for path in [&own(&home), &buffer] {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    let mut command = server(&home);
    command.args(["--set", "analytics.enabled=true"]);
    command.args(["--set", "analytics.endpoint=http://127.0.0.1:9/x"]);
    let mut command = ordinary(&home, command);
    command.env("SKILLS_DIR", home.skills());
    let mut client = shake(command);
    ask(&mut client);
    eventually("it is counted", || (counted(&own(&home)).0 == 64 * MIB / 512).then_some(()));
    let (_, _, log) = client.close();
    assert!(!closed.exists());
    assert!(log.contains("counted by their size") && log.contains("guessed=131072"), "{log}");
}

#[test]
fn b05_after_an_outage_there_is_one_request_a_second() {
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    endpoint.behave(EndpointBehaviour::Status(503));
    let events: Vec<RecordedEvent> = (0..1_700).map(|_| event("waits")).collect();
    assert!(JournalWriter::new(Some(home.path())).write(&events, &settings(&endpoint.url())));
    let mut clients: Vec<Client> = (0..3).map(|_| shake(sending(&home, &endpoint.url()))).collect();
    clients.iter_mut().for_each(ask);
    eventually("a request", || endpoint.posted().first().cloned());
    endpoint.behave(EndpointBehaviour::Take);
    wait_until("all", || endpoint.ids().len() == 1_703);
    for client in clients {
        client.close();
    }
    let posted = endpoint.posted();
    let taken: Vec<_> = posted.iter().filter(|posted| posted.status == Some(200)).collect();
    assert!((4..=8).contains(&taken.len()), "{}", taken.len());
    for (one, next) in posted.iter().zip(posted.iter().skip(1)).take(posted.len().saturating_sub(4))
    {
        assert!(next.at.duration_since(one.at) > SOON);
    }
    assert!(
        taken.iter().all(|posted| posted.events().len() <= 500 && posted.body.len() <= 1 << 20)
    );
    assert_eq!(endpoint.events().len(), 1_703, "each came once");
}

#[test]
fn b05_an_endpoint_whose_certificate_is_none_gets_nothing_and_costs_nothing() {
    let home = Home::new();
    let endpoint = Endpoint::start();
    assert!(JournalWriter::new(Some(home.path())).write(&[event("x")], &settings(&endpoint.url())));
    let mut sender = Sender::new(JournalFolder::new(home.path()), || None);
    let wrong = endpoint.url().replace("http://", "https://");
    assert!(matches!(sender.round(&wrong, |_| true), Round::Later(_)));
    assert_eq!(endpoint.ids().len(), 0);
    assert!(matches!(sender.round(&endpoint.url(), |_| true), Round::Later(_)), "it waits");
    eventually("a second later", || {
        (sender.round(&endpoint.url(), |_| true) == Round::Done).then_some(())
    });
    assert_eq!(endpoint.ids().len(), 1);
}

// B-07

fn good(comment: &str) -> String {
    format!("{}\n", checked(&event(comment)).unwrap())
}

/// What is wrong with a segment, what is in it, how many events of it arrive, and how many lines are none.
fn damaged() -> Vec<(&'static str, String, usize, u64)> {
    let flipped = good("flipped").replace("flipped", "flippee");
    let torn = good("torn").get(..100).unwrap().to_owned();
    let newer = good("newer").replace("skill_feedback", "skill_dreamt");
    let long = format!("{{\"type\":\"{}\"}}\n", "x".repeat(2_000_000));
    vec![
        ("whole", good("1") + &good("2"), 2, 0),
        ("empty lines", format!("\n{}\n\n", good("1")), 1, 0),
        ("torn end", good("1") + &torn, 1, 1),
        ("end without a newline", (good("1") + &good("2")).trim_end().to_owned(), 2, 0),
        ("torn middle", format!("{torn}\n{}", good("1")), 1, 1),
        ("zeros", format!("{}{}\n{}", good("1"), "\0".repeat(4096), good("2")), 2, 1),
        ("zeros at the end", good("1") + &"\0".repeat(4096), 1, 1),
        ("flipped bit", good("1") + &flipped + &good("2"), 2, 1),
        ("another format", good("1") + &newer + "[1]\nhello\n", 1, 3),
        ("a long line", good("1") + &long + &good("2"), 2, 1),
        ("only zeros", "\0".repeat(4096), 0, 1),
        ("nothing", String::new(), 0, 0),
    ]
}

#[test]
fn b07_damaged_files_cost_the_damaged_lines_and_nothing_else() {
    let home = Home::with(ROOT_TREE);
    let (mut arrive, mut spoilt) = (0, 0);
    let segment = || own(&home).join(format!("analytics-buffer.{}.jsonl", clock::event_id()));
    fs::create_dir_all(own(&home)).unwrap();
    for (_, text, events, lines) in &damaged() {
        fs::write(segment(), text).unwrap();
        arrive += events;
        spoilt += lines;
    }
    // A line of a gigabyte, and bytes that are no text.
    let mut endless = fs::File::create(segment()).unwrap();
    endless.set_len(1 << 30).unwrap();
    endless.seek(SeekFrom::End(0)).unwrap();
    endless.write_all(format!("\n{}", good("after a gigabyte")).as_bytes()).unwrap();
    drop(endless);
    fs::write(segment(), [b"\xff\xfe\n", good("x").as_bytes()].concat()).unwrap();
    let (arrive, spoilt) = (arrive + 2, spoilt + 2);
    // A cursor that leads nowhere, one of a segment that has gone, and what is not ours.
    let wrong = segment();
    fs::write(&wrong, good("cursor")).unwrap();
    fs::write(wrong.with_extension("sent"), "99999999\n").unwrap();
    fs::write(wrong.with_extension("sent.new"), "12").unwrap();
    fs::write(segment().with_extension("sent"), "12\n").unwrap();
    fs::write(own(&home).join("analytics-sender.json"), "{not json").unwrap();
    let foreign = [
        "analytics-buffer.v2.seg",
        "analytics-buffer.old.jsonl",
        "analytics-buffer-2.jsonl",
        "notes",
    ];
    for name in foreign {
        fs::write(own(&home).join(name), "mine").unwrap();
    }
    let endpoint = Endpoint::start();
    let folder = JournalFolder::new(home.path());
    let mut sender = Sender::new(folder.clone(), || None);
    let mut pauses = 0;
    let round = sender.round(&endpoint.url(), |_| {
        pauses += 1;
        true
    });
    assert_eq!(round, Round::Done);
    assert_eq!(endpoint.events().len(), arrive + 1);
    assert_eq!(counted(&own(&home)), (0, spoilt));
    assert!(pauses > 5);
    for name in foreign {
        assert_eq!(fs::read_to_string(own(&home).join(name)).unwrap(), "mine");
    }
    let mut left = unsent(&home);
    left.sort();
    assert_eq!(left, ["analytics-buffer.old.jsonl", "analytics-buffer.v2.seg"]);
}

#[test]
fn b07_a_server_lives_with_damaged_files_in_little_memory() {
    let home = Home::with(ROOT_TREE);
    fs::create_dir_all(own(&home)).unwrap();
    let endless = fs::File::create(own(&home).join("analytics-buffer.jsonl")).unwrap();
    endless.set_len(1 << 30).unwrap();
    fs::write(own(&home).join("analytics.jsonl"), "\0\0{\"type\":").unwrap();
    let endpoint = Endpoint::start();
    let mut client = shake(sending(&home, &endpoint.url()));
    ask(&mut client);
    ask(&mut client);
    wait_until("both", || endpoint.ids().len() == 2);
    let status = fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: usize = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 200_000, "{most} kB");
    client.close();
    assert_eq!(ids(&own(&home).join("analytics.jsonl")).len(), 2);
}

// B-08

/// `SERVERS=200` is the long run.
// SEND-3
#[test]
fn b08_many_servers_of_one_event_each_leave_nothing_behind() {
    let servers = env::var("SERVERS").ok().and_then(|servers| servers.parse().ok()).unwrap_or(40);
    let home = Home::with(ROOT_TREE);
    let endpoint = Endpoint::start();
    let left = AtomicUsize::new(servers);
    let started = Instant::now();
    let live = || {
        let mut command = server(&home);
        command.env("ANALYTICS_ENDPOINT", endpoint.url());
        let mut client = shake(command);
        ask(&mut client);
        assert!(client.close().0.success());
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                    .is_ok()
                {
                    live();
                }
            });
        }
    });
    // A server that ends while another sends may leave its event to the next.
    let mut lived = servers;
    wait_until("all are sent", || {
        live();
        lived += 1;
        endpoint.ids().len() == lived
    });
    println!("{servers} servers in {:?}, {} requests", started.elapsed(), endpoint.posted().len());
    assert_eq!(ids(&own(&home).join("analytics.jsonl")).len(), lived);
    assert_eq!(unsent(&home), Vec::<String>::new());
}
