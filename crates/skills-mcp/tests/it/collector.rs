//! `collect`, from outside: what it takes, from whom, and that what it said it has it has.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::Mutex,
    thread,
    time::Instant,
};

use rusqlite::Connection;
use serde_json::{Value, json};
use skills_testkit::{Home, HttpAnswer, Listening, PROMPT_TIMEOUT, http_request, wait_until};
use skills_usage::{
    archive::{Address, Archive, Keep, MAX_SKILL_EVENTS, Taken},
    clock,
    event::RecordedEvent,
    tally::{Tally, count},
};

use crate::{
    recount,
    support::{eventually, run},
    usage::{DAY, Usage, batch, now, until_now},
};

const TOKEN: &str = "a-token-that-nobody-guesses";

fn collect(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["collect", "--listen", "127.0.0.1:0"]).args(arguments);
    command
}

fn started(home: &Home, arguments: &[&str]) -> Listening {
    Listening::start(collect(home, arguments))
}

fn json_of(answer: &HttpAnswer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// Accepted, known, expired, refused.
fn taken(answer: &HttpAnswer) -> (u64, u64, u64, usize) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = json_of(answer);
    let number = |name: &str| body.get(name).and_then(Value::as_u64).unwrap();
    let refused = body.get("refused").and_then(Value::as_array).unwrap().len();
    (number("accepted"), number("known"), number("expired"), refused)
}

/// The texts of all events in a file, and the sum of each count that is kept there.
fn kept(file: &Path) -> (Vec<RecordedEvent>, Tally) {
    let connection = Connection::open(file).unwrap();
    let mut select = connection.prepare("SELECT body FROM events ORDER BY event_id").unwrap();
    let bodies = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let events = bodies.map(|body| RecordedEvent::read(&body.unwrap()).unwrap()).collect();
    let mut tally = Tally::new();
    // All clients together.
    let select = "SELECT metric, subject, detail, bucket, SUM(n), SUM(total) FROM counts GROUP BY 1, 2, 3, 4";
    let mut select = connection.prepare(select).unwrap();
    let mut rows = select.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let word: String = row.get(0).unwrap();
        let metric = skills_usage::tally::Metric::of(&word).unwrap();
        let (subject, detail, bucket) =
            (row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap());
        let key = skills_usage::tally::CountKey { metric, subject, detail, bucket };
        let number = |column| u64::try_from(row.get::<_, i64>(column).unwrap()).unwrap();
        let sum = skills_usage::tally::CountSum { n: number(4), total: number(5) };
        tally.insert(key, sum);
    }
    (events, tally)
}

fn recounted(events: &[RecordedEvent]) -> Tally {
    let mut tally = Tally::new();
    for event in events {
        count(&mut tally, event);
    }
    tally
}

fn some(count: usize, seed: u64) -> Vec<Value> {
    let mut usage = Usage::new(seed);
    let now = now();
    (0..count)
        .map(|_| {
            let ago = i64::try_from(usage.0.below(60 * DAY.unsigned_abs())).unwrap();
            usage.event(now - ago)
        })
        .collect()
}

/// Five events of a server that numbers none (EVENT-6).
fn unnumbered() -> Vec<Value> {
    let event = |kind: &str, time: &str, data: Value| json!({"type": kind, "timestamp": time, "server_id": "dev-machine-alice", "data": data});
    vec![
        event(
            "skill_served",
            "2025-02-18T14:30:00Z",
            json!({"context": "créer un composant React avec auth", "skill_path": "ui/react/auth", "score": 0.72, "matched_keywords": ["react", "composant", "auth"], "was_ambiguous": false, "inherited_from": ["_root", "ui/_index", "ui/react/_index"], "content_length_tokens": 850}),
        ),
        event(
            "skill_feedback",
            "2025-02-18T14:35:00Z",
            json!({"skill_path": "ui/react/auth", "useful": false, "comment": "Ne couvre pas le cas SSO"}),
        ),
        event(
            "no_match",
            "2025-02-18T15:00:00Z",
            json!({"context": "configurer nginx en reverse proxy", "closest_candidate": "deploy/docker", "closest_score": 0.12}),
        ),
        event(
            "asset_served",
            "2025-02-18T14:32:00Z",
            json!({"skill_path": "ui/react/auth", "file": "assets/AuthProvider.tsx.template", "asset_type": "template", "is_inherited": false, "size_bytes": 2340}),
        ),
        event(
            "script_executed",
            "2025-02-18T14:33:00Z",
            json!({"skill_path": "ui/react/auth", "file": "scripts/validate-auth-config.ts", "execution_mode": "server", "success": true, "exit_code": 0, "duration_ms": 340, "args_provided": ["config_path"]}),
        ),
    ]
}

#[test]
fn send_7_a_batch_is_kept_once_however_often_it_comes_and_across_a_restart() {
    let home = Home::new();
    let forever = ["--keep-days", "36500"];
    let collector = started(&home, &forever);
    let posted = batch(&unnumbered());
    assert_eq!(taken(&collector.post("/v1/events", &posted)), (5, 0, 0, 0));
    assert_eq!(taken(&collector.post("/v1/events", &posted)), (0, 5, 0, 0));
    let (status, log) = collector.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopping: SIGTERM"), "{log}");
    let collector = started(&home, &forever);
    assert_eq!(taken(&collector.post("/v1/events", &posted)), (0, 5, 0, 0));
    drop(collector);
    let (events, counts) = kept(&home.path().join("events.db"));
    assert_eq!((events.len(), counts), (5, recounted(&events)));
    let wrote: Vec<Value> = unnumbered();
    for event in &events {
        let written = serde_json::to_value(event).unwrap();
        let brought = wrote.iter().find(|event| event["type"] == written["type"]).unwrap();
        for (name, value) in brought.as_object().unwrap() {
            assert_eq!(&written[name], value, "{name}");
        }
    }
}

// SEND-7
#[test]
fn one_bad_event_costs_no_other_and_what_is_no_batch_is_refused() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let mut events = some(3, 1);
    events.insert(
        0,
        json!({"type": "skill_dreamt", "timestamp": "2026-01-01T00:00:00Z", "data": {}}),
    );
    events.insert(2, json!(7));
    events.push(json!({"type": "refresh", "timestamp": "yesterday", "data": {}}));
    let answer = collector.post("/v1/events", &batch(&events));
    assert_eq!(taken(&answer), (3, 0, 0, 3));
    let refused = json_of(&answer)["refused"].clone();
    let places: Vec<u64> =
        refused.as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap()).collect();
    assert_eq!(places, [0, 2, 5]);
    assert!(refused[0]["reason"].as_str().unwrap().contains("skill_dreamt"), "{refused}");
    assert!(refused[2]["reason"].as_str().unwrap().contains("yesterday"), "{refused}");
    for bad in ["", "[]", "{}", "7", r#"{"events": 7}"#, r#"{"events": [1"#, "\u{0}"] {
        let answer = collector.post("/v1/events", bad);
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
        assert!(json_of(&answer)["error"].is_string());
    }
    assert_eq!(taken(&collector.post("/v1/events", r#"{"events": []}"#)), (0, 0, 0, 0));
}

#[test]
fn what_is_too_much_is_refused_and_what_is_too_long_is_cut() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let host = collector.address().to_string();
    let send = |kind: &[(&str, &str)], body: &str| {
        let mut headers = vec![("Host", &*host)];
        headers.extend(kind);
        http_request(collector.address(), "POST", "/v1/events", &headers, body.as_bytes())
            .unwrap()
            .status
    };
    let is_json = ("Content-Type", "application/json; charset=utf-8");
    assert_eq!(send(&[is_json], r#"{"events":[]}"#), 200);
    assert_eq!(send(&[], r#"{"events":[]}"#), 415);
    assert_eq!(send(&[("Content-Type", "text/plain")], r#"{"events":[]}"#), 415);
    assert_eq!(send(&[is_json, ("Content-Encoding", "gzip")], r#"{"events":[]}"#), 415);
    let many = format!(r#"{{"events":[{}]}}"#, vec!["1"; 5_001].join(","));
    assert_eq!(send(&[is_json], &many), 413);
    let big = format!(r#"{{"events":[]}}{}"#, " ".repeat(4 * 1024 * 1024));
    assert_eq!(send(&[is_json], &big), 413);
    assert_eq!(collector.get("/v1/events").status, 405);
    assert_eq!(collector.get("/nothing").status, 404);
    let mut event = some(1, 2).remove(0);
    event["type"] = json!("no_match");
    event["server_id"] = json!("zero\u{0}");
    event["data"] =
        json!({"context": "long ".repeat(20_000), "closest_candidate": "é".repeat(2_000)});
    assert_eq!(taken(&collector.post("/v1/events", &batch(&[event]))), (1, 0, 0, 0));
    drop(collector);
    let (events, counts) = kept(&home.path().join("events.db"));
    assert_eq!(events[0].event.context().unwrap().chars().count(), 20_000);
    assert_eq!(counts, recounted(&events));
}

#[test]
fn strangers_are_not_let_in() {
    let home = Home::new();
    let mut command = collect(&home, &["--host", "stats.example"]);
    command.env("COLLECT_TOKEN", format!("{TOKEN},another-{TOKEN}"));
    let collector = Listening::start(command);
    let bearer = format!("Bearer {TOKEN}");
    let other = format!("Bearer another-{TOKEN}");
    let host = collector.address().to_string();
    let own = format!("http://{host}");
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        http_request(collector.address(), "POST", "/v1/events", &all, br#"{"events":[]}"#).unwrap()
    };
    let (host, bearer) = (("Host", &*host), ("Authorization", &*bearer));
    for (status, headers) in [
        (200, &[host, bearer][..]),
        (200, &[host, ("Authorization", &other)]),
        (200, &[host, bearer, ("Origin", &own)]),
        (200, &[("Host", "stats.example"), bearer, ("Origin", "https://stats.example")]),
        (401, &[host]),
        (401, &[host, ("Authorization", "Bearer wrong")]),
        (401, &[host, ("Cookie", "skills_session=1")]),
        (403, &[host, bearer, ("Origin", "https://evil.example")]),
        (403, &[host, bearer, ("Origin", "null")]),
        (403, &[host, bearer, ("Origin", "http://127.0.0.1:1")]),
        (421, &[("Host", "evil.example"), bearer]),
        (421, &[bearer]),
    ] {
        let answer = post(headers);
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        let head = answer.head.to_ascii_lowercase();
        for said in [
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'",
            "referrer-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(said), "{said}: {head}");
        }
        assert!(!head.contains("access-control-allow"), "{head}");
    }
    assert_eq!(collector.get("/healthz").body, "ok");
    let login = |token: &str| {
        let form = format!("token={}", token.replace('-', "%2D"));
        http_request(collector.address(), "POST", "/login", &[host], form.as_bytes()).unwrap()
    };
    assert_eq!(login("wrong").status, 401);
    let answer = login(TOKEN);
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(post(&[host, ("Cookie", cookie.split(';').next().unwrap())]).status, 200);
    let (_, log) = collector.stop();
    assert!(!log.contains(TOKEN), "{log}");
}

// SEND-7
#[test]
fn on_loopback_it_is_open_and_elsewhere_it_does_not_start_without_a_token() {
    let home = Home::new();
    let said = |command: &mut Command| {
        let (code, out, err) = run(command);
        assert_eq!(out, "");
        assert!(!err.contains("s3cret"), "{err}");
        (code, err)
    };
    let program = env!("CARGO_BIN_EXE_skills-mcp");
    let open = home.command(program).args(["collect", "--listen", "0.0.0.0:0"]).output().unwrap();
    let err = String::from_utf8(open.stderr).unwrap();
    assert_eq!(open.status.code(), Some(2), "{err}");
    assert!(err.contains("no token is set") && err.contains("COLLECT_TOKEN"), "{err}");
    assert!(!home.path().join("events.db").exists());
    let (code, err) = said(collect(&home, &[]).env("COLLECT_TOKEN", "s3cret"));
    assert!(code == 2 && err.contains("fewer than 16"), "{err}");
    let (code, err) = said(&mut collect(&home, &["--store", "mysql://ann:s3cret@h/d"]));
    assert!(code == 2 && err.contains("sqlite:FILE"), "{err}");
    let (code, err) = said(&mut collect(&home, &["--store", "postgres"]));
    assert!(code == 2 && err.contains("DATABASE_URL"), "{err}");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    let taken = format!("127.0.0.1:{port}");
    let (code, err) = said(home.command(program).args(["collect", "--listen", &taken]));
    assert!(code == 3 && err.contains("--listen") && err.contains(&taken), "{err}");
    drop(closed);
    let away = format!("postgres://ann:s3cret@127.0.0.1:{port}/skills");
    let (code, err) = said(collect(&home, &["--store", "postgres"]).env("DATABASE_URL", away));
    assert!(code == 3 && err.contains(&format!("ann@127.0.0.1:{port}/skills")), "{err}");
    let (code, err) = said(&mut collect(&home, &["--store", "sqlite:no/such/folder.db"]));
    assert!(code == 3 && err.contains("no/such/folder.db"), "{err}");
    home.write("other.db", "not a database, but long enough to look like none".repeat(100));
    let (code, err) = said(&mut collect(&home, &["--store", "sqlite:other.db"]));
    assert!(code == 3 && err.contains("other.db"), "{err}");
}

#[test]
fn what_was_acknowledged_survives_being_killed_and_the_counts_are_those_of_the_events() {
    const WRITERS: u64 = 4;
    let home = Home::new();
    let mut acknowledged = 0;
    for round in 0..3 {
        let collector = started(&home, &[]);
        let known = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (collector, known) = (&collector, &known);
                scope.spawn(move || {
                    for number in 0.. {
                        let events = some(50, 1 + writer + number * WRITERS + round * 1_000_000);
                        match collector.try_post("/v1/events", &batch(&events)) {
                            Ok(answer) if answer.status == 200 => {
                                known.lock().unwrap().extend(events);
                            }
                            _ => return,
                        }
                    }
                });
            }
            eventually("some batches are in", || {
                (known.lock().unwrap().len() > 1_000).then_some(())
            });
            let pid = collector.pid().to_string();
            assert_eq!(run(Command::new("kill").args(["-9", &pid])).0, 0);
        });
        drop(collector);
        let known = known.into_inner().unwrap();
        acknowledged += known.len();
        // The next collector opens it as it was left.
        let next = started(&home, &[]);
        for chunk in known.chunks(500) {
            assert_eq!(
                taken(&next.post("/v1/events", &batch(chunk))),
                (0, chunk.len() as u64, 0, 0)
            );
        }
        drop(next);
        let (events, counts) = kept(&home.path().join("events.db"));
        assert!(events.len() >= acknowledged);
        assert_eq!(counts, recounted(&events));
    }
}

#[test]
fn a_clock_ahead_is_set_right_and_what_is_old_goes_while_its_counts_stay() {
    let home = Home::new();
    let collector = started(&home, &["--keep-days", "36500"]);
    let mut usage = Usage::new(3);
    let old: Vec<Value> = (0..1_300).map(|_| usage.event(now() - 400 * DAY)).collect();
    let ancient: Vec<Value> = (0..10).map(|_| usage.event(now() - 800 * DAY)).collect();
    let ahead = usage.event(now() + 400 * DAY);
    for events in [&old, &ancient, &vec![ahead]] {
        assert_eq!(taken(&collector.post("/v1/events", &batch(events))).0, events.len() as u64);
    }
    drop(collector);
    let file = home.path().join("events.db");
    let (events, before) = kept(&file);
    let latest = events.iter().map(|event| clock::millis_of(&event.timestamp).unwrap()).max();
    assert!(latest.unwrap() <= now());
    let collector = started(&home, &[]);
    eventually("what is old is gone", || (kept(&file).0.len() == 1).then_some(()));
    eventually("and what is ancient is not even counted", || {
        (kept(&file).1 != before).then_some(())
    });
    assert_eq!(taken(&collector.post("/v1/events", &batch(&old[..5]))), (0, 0, 5, 0));
    drop(collector);
    let served = |tally: &Tally| tally.values().map(|sum| sum.n).sum::<u64>();
    let ancient: Vec<RecordedEvent> =
        ancient.iter().map(|event| RecordedEvent::read(&event.to_string()).unwrap()).collect();
    assert_eq!(served(&kept(&file).1), served(&before) - served(&recounted(&ancient)));
}

#[test]
fn h05_batches_that_come_slowly_keep_out_no_others() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let unfinished = || {
        let mut stream = TcpStream::connect(collector.address()).unwrap();
        let head = format!(
            "POST /v1/events HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
            collector.address()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // Its body is waited for from now on.
        let mut go_on = [0; 12];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100", "{}", String::from_utf8_lossy(&go_on));
        stream.write_all(b"{").unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..100).map(|_| unfinished()).collect();
    let asked = Instant::now();
    assert_eq!(taken(&collector.post("/v1/events", &batch(&some(1, 4)))), (1, 0, 0, 0));
    // A batch that is not small, too.
    let many = batch(&some(200, 5));
    assert!(many.len() > 16 * 1024);
    assert_eq!(taken(&collector.post("/v1/events", &many)).0, 200);
    assert!(asked.elapsed() < PROMPT_TIMEOUT, "{:?}", asked.elapsed());
    drop(held);
}

#[test]
fn when_too_many_batches_are_being_written_others_are_asked_to_come_again() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let busy = Connection::open(home.path().join("events.db")).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = batch(&some(1, 4));
    let address = collector.address();
    let request = format!(
        "POST /v1/events HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let posted = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        thread::spawn(move || {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    };
    let posting: Vec<_> = (0..80).map(|_| posted()).collect();
    wait_until("some are sent away", || posting.iter().any(thread::JoinHandle::is_finished));
    busy.execute_batch("ROLLBACK").unwrap();
    let answers: Vec<String> = posting.into_iter().map(|post| post.join().unwrap()).collect();
    let (away, written): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.starts_with("HTTP/1.1 503"));
    assert!(away.iter().all(|answer| answer.contains("retry-after: 1")), "{away:?}");
    assert!(!away.is_empty() && written.iter().all(|answer| answer.starts_with("HTTP/1.1 200")));
    assert_eq!(kept(&home.path().join("events.db")).0.len(), 1, "the same batch all the time");
}

#[test]
fn unfinished_logins_keep_no_sender_out() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let unfinished = || {
        let mut stream = TcpStream::connect(collector.address()).unwrap();
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\r\nt",
            collector.address()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut held = Vec::new();
    eventually("there is no room for more logins", || {
        held = (0..80).map(|_| unfinished()).collect();
        (collector.post("/login", "token=x").status == 503).then_some(())
    });
    assert_eq!(taken(&collector.post("/v1/events", &batch(&some(1, 4)))), (1, 0, 0, 0));
    assert_eq!(collector.get("/healthz").status, 200);
    assert_eq!(collector.get("/").status, 200);
}

/// How many connections this process may have: as many as the system lets it, since both ends of none are here.
fn with_many_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

#[test]
fn e13_connections_that_say_nothing_delay_no_request_even_from_the_same_address() {
    with_many_descriptors();
    let home = Home::new();
    let collector = started(&home, &[]);
    let slow = || {
        let mut stream = TcpStream::connect(collector.address()).unwrap();
        // It may have been closed already, since there are others.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: 127");
        stream
    };
    let mut held: Vec<TcpStream> = (0..1_500).map(|_| slow()).collect();
    // A head has 15 seconds; a request that waits for one of them to end waits for longer than this.
    let asked = Instant::now();
    assert_eq!(collector.get("/healthz").status, 200);
    assert_eq!(taken(&collector.post("/v1/events", &batch(&some(1, 4)))), (1, 0, 0, 0));
    assert!(asked.elapsed() < PROMPT_TIMEOUT, "{:?}", asked.elapsed());
    // The oldest have lost their places to the latest.
    let mut first = held.remove(0);
    assert!(matches!(first.read(&mut [0; 1]), Ok(0) | Err(_)));
    let open = fs::read_dir(format!("/proc/{}/fd", collector.pid())).unwrap().count();
    assert!(open < 400, "{open} descriptors");
}

#[test]
fn e13_a_page_elsewhere_navigates_here_and_sends_no_form() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let host = collector.address().to_string();
    let asked = |method: &str, path: &str, site: &str| {
        let headers = [
            ("Host", &*host),
            ("Content-Type", "application/json"),
            ("Sec-Fetch-Site", site),
            ("Sec-Fetch-Mode", "navigate"),
        ];
        let body: &[u8] = if method == "POST" { br#"{"events":[]}"# } else { b"" };
        http_request(collector.address(), method, path, &headers, body).unwrap().status
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!(asked("POST", "/v1/events", site), 403, "{site}");
        assert_eq!(asked("POST", "/login", site), 403, "{site}");
        assert_eq!(asked("GET", "/", site), 200, "{site}");
        assert_eq!(asked("HEAD", "/", site), 200, "{site}");
    }
    assert_eq!(asked("POST", "/v1/events", "same-origin"), 200);
}

#[test]
fn what_is_being_written_when_it_is_asked_to_stop_is_finished() {
    let home = Home::new();
    let collector = started(&home, &[]);
    let mut stream = TcpStream::connect(collector.address()).unwrap();
    let body = batch(&some(20, 9));
    let address = collector.address();
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The head is in when the body is asked for; the stop comes between the two.
    let mut asked_for = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut asked_for).unwrap();
    assert!(asked_for.starts_with(b"HTTP/1.1 100 "));
    let (first, rest) = body.split_at(100);
    let rest = rest.to_owned();
    stream.write_all(first.as_bytes()).unwrap();
    let writing = thread::spawn(move || {
        wait_until("no connection is accepted any more", || TcpStream::connect(address).is_err());
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let (status, log) = collector.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    let answer = writing.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""accepted":20"#), "{answer}");
    assert_eq!(kept(&home.path().join("events.db")).0.len(), 20);
}

#[test]
fn the_archive_says_what_a_recount_says() {
    let home = Home::new();
    let address = Address::Sqlite(home.path().join("events.db"));
    let events: Vec<RecordedEvent> = some(14_000, 5)
        .iter()
        .map(|event| RecordedEvent::read(&event.to_string()).unwrap())
        .collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let archive = Archive::open(&address, Keep::default()).await.unwrap();
        for chunk in events.chunks(700) {
            let taken = archive.take(chunk.to_vec()).await.unwrap();
            assert_eq!(taken, Taken { new: chunk.len() as u64, known: 0, expired: 0 });
        }
        let reader = Archive::look(&address).await.unwrap();
        for days in [1, 30, 60] {
            let period = until_now(days);
            for client in [None, Some("codex"), Some("nobody's")] {
                let expected = recount::evidence(&events, period, client);
                recount::assert_same(&archive.evidence(period, client).await.unwrap(), &expected);
                recount::assert_same(&reader.evidence(period, client).await.unwrap(), &expected);
                let skill = "api/forms-0";
                // More than the limit is cut to it.
                for (wanted, told) in [(20, 20), (usize::MAX, MAX_SKILL_EVENTS)] {
                    let story = archive.story(skill, period, client, wanted).await.unwrap();
                    let own = recount::of_client(&events, client);
                    let expected = recount::story(&own, skill, period, told);
                    assert_eq!((story.days, story.recent), (expected.days, expected.recent));
                }
            }
        }
        let missing = Address::Sqlite(home.path().join("nothing.db"));
        assert!(Archive::look(&missing).await.is_err());
        assert!(!home.path().join("nothing.db").exists());
    });
}

#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let collector = started(&home, &[]);
    taken(&collector.post("/v1/events", &batch(&some(1, 1))));
    for name in ["events.db", "events.db-wal"] {
        let mode = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[test]
fn names_that_are_made_up_fill_neither_the_archive_nor_a_report() {
    const NAMES: usize = 12_000;
    let home = Home::new();
    let collector = started(&home, &[]);
    let flood = |name: usize| {
        let mut event = some(1, 3).remove(0);
        event["event_id"] = json!(clock::event_id());
        event["timestamp"] = json!(clock::timestamp());
        event["server_id"] = json!("one");
        event["type"] = json!("skill_searched");
        // More than any search shows: the first 25 count.
        let shown: Vec<String> = (0..30).map(|place| format!("made-up-{name}-{place}")).collect();
        event["data"] = json!({"shown": shown});
        event
    };
    let events: Vec<Value> = (0..NAMES / 25).map(flood).collect();
    for part in events.chunks(100) {
        assert_eq!(taken(&collector.post("/v1/events", &batch(part))).0, part.len() as u64);
    }
    let list = collector.get("/all?of=skills");
    assert!(list.status == 200 && list.body.contains("more skills are not shown"), "{list:?}");
    let stats = json_of(&collector.get("/v1/stats"));
    assert_eq!(stats["skills"].as_array().unwrap().len(), 1_000);
    assert!(stats["left_out"].as_u64().unwrap() >= 9_000, "{}", stats["left_out"]);
    drop(collector);
    let connection = Connection::open(home.path().join("events.db")).unwrap();
    // A test may run into midnight: then a day has fewer.
    let select = "SELECT MAX(keys), SUM(n) FROM
         (SELECT COUNT(*) AS keys, SUM(n) AS n FROM counts WHERE metric = 'shown' GROUP BY day)";
    let (keys, n): (usize, usize) = connection
        .query_row(select, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .map(|(keys, n)| (usize::try_from(keys).unwrap(), usize::try_from(n).unwrap()))
        .unwrap();
    assert!((1..=10_001).contains(&keys), "{keys}");
    assert_eq!(n, NAMES, "what has no room of its own is counted all the same");
}

#[test]
fn c07_clients_that_are_made_up_are_counted_together_and_known_ones_stay() {
    const CLIENTS: usize = 400;
    let home = Home::new();
    let collector = started(&home, &[]);
    let of = |client: &str| {
        let mut event = some(1, 3).remove(0);
        event["event_id"] = json!(clock::event_id());
        event["timestamp"] = json!(clock::timestamp());
        event["client_name"] = json!(client);
        event
    };
    let post = |events: &[Value]| taken(&collector.post("/v1/events", &batch(events)));
    post(&[of("codex")]);
    let made_up: Vec<Value> = (0..CLIENTS).map(|number| of(&format!("made-up-{number}"))).collect();
    made_up.chunks(90).for_each(|part| assert_eq!(post(part).0, part.len() as u64));
    post(&[of("codex")]);
    let stats = json_of(&collector.get("/v1/stats"));
    assert_eq!(stats["totals"]["events"], CLIENTS + 2, "the sum is that of all");
    let callers = stats["callers"].as_array().unwrap();
    // A test may run into midnight: then there are two days of them.
    assert!((100..=200).contains(&callers.len()), "{}", callers.len());
    assert_eq!(callers[0], json!({"name": "codex", "n": 2}));
    let own = json_of(&collector.get("/v1/stats?client=codex"));
    assert_eq!((&own["client"], &own["totals"]["events"]), (&json!("codex"), &json!(2)));
    let page = collector.get("/?days=7");
    assert!(page.body.contains("href=\"/all?of=clients&amp;days=7\">all "), "{}", page.body);
    let list = collector.get("/all?of=clients&days=7");
    assert!(list.body.contains("href=\"/?days=7&#38;client=made-up-0\""), "{}", list.body);
}

#[test]
fn c07_a_terminal_asks_a_collector_for_one_client() {
    let home = Home::new();
    let collector = started(&home, &[]);
    taken(&collector.post("/v1/events", &batch(&some(300, 21))));
    let url = format!("http://{}", collector.address());
    let stats = |arguments: &[&str]| {
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        run(command.args(["stats", "--from", &url, "--days", "61"]).args(arguments))
    };
    let (code, out, err) = stats(&["--client", "codex", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let said: Value = serde_json::from_str(&out).unwrap();
    let asked = json_of(&collector.get("/v1/stats?days=61&client=codex"));
    assert_eq!(said, asked);
    let of_codex = |caller: &&Value| caller["name"] == "codex";
    let caller = asked["callers"].as_array().unwrap().iter().find(of_codex).unwrap();
    assert_eq!(asked["totals"]["events"], caller["n"]);
    let (code, out, err) = stats(&["--client", "no pe"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("No client `no pe` called") && err.contains("claude-code"), "{err}");
}

#[test]
fn a_file_that_others_may_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let (_, log) = started(&home, &[]).stop();
    assert!(!log.contains("chmod"), "{log}");
    let file = home.path().join("events.db");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, log) = started(&home, &[]).stop();
    assert!(log.contains("chmod 600"), "{log}");
}
