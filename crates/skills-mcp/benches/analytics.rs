//! What the collector takes per second, how fast an archive and the page answer, and what events cost a call, with the release binary, SQLite and PostgreSQL side by
//! side; held against writing the same bodies to a plain file in the same run.
//!
//! `cargo bench --bench analytics` takes some minutes; `cargo bench --bench analytics -- --events 100000` is a look. Without
//! a PostgreSQL installed its rows are left out.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a benchmark prints its figures, and fails loudly"
)]

#[path = "../tests/outside/cluster.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod cluster;
#[path = "../tests/it/usage.rs"]
mod usage;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use cluster::Cluster;
use serde_json::{Value, json};
use skills_testkit::{Client, Home, Listening};
use skills_usage::archive::{Address, Archive};
use tokio::runtime::Runtime;
use usage::{DAY, Usage, batch, now, until_now};

const BATCH: usize = 500;
const CONNECTIONS: usize = 4;
const DAYS: i64 = 60;
/// As PostgreSQL comes, but for the memory it may use.
const DURABLE: &[&str] =
    &["-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB", "-c", "autovacuum_naptime=1s"];
/// It looks at what came, as it does by itself every minute.
const SETTLED: Duration = Duration::from_secs(10);
/// So often an archive is asked.
const ROUNDS: usize = 15;
/// So often a server is called.
const CALLS: usize = 3_000;

fn main() {
    let asked = std::env::args().skip_while(|word| word != "--events").nth(1);
    let events: usize = asked.and_then(|events| events.parse().ok()).unwrap_or(1_000_000);
    eprintln!("… making {events} events");
    let bodies = bodies(events);
    println!("{events} events, {DAYS} days, batches of {BATCH}, {CONNECTIONS} connections\n");
    println!("{:<22}{:>12}{:>14}{:>12}", "ingest", "seconds", "events/s", "of a file");
    let home = Home::new();
    let file = plain(&home, &bodies);
    row("a plain file", events, file, file);
    let mut stores =
        vec![("sqlite", format!("sqlite:{}", home.path().join("events.db").display()))];
    let cluster =
        fs::exists("/usr/lib/postgresql").unwrap_or(false).then(|| Cluster::start(DURABLE));
    if let Some(cluster) = &cluster {
        stores.push(("postgres", cluster.url()));
    }
    for (name, store) in &stores {
        row(name, events, ingested(&home, store, &bodies), file);
    }
    thread::sleep(SETTLED);
    println!("\n{:<22}{:>12}{:>14}{:>12}", "ask", "median ms", "slowest ms", "first ms");
    for (name, store) in &stores {
        answered(name, store);
        shown(&home, name, store);
    }
    println!("\n{:<22}{:>12}{:>14}{:>12}", "get_skill", "median us", "99 % us", "of off");
    called();
}

/// Batches as they are posted, events in the order of time.
fn bodies(events: usize) -> Vec<String> {
    let mut usage = Usage::new(1);
    let (end, span) = (now(), DAYS * DAY);
    let count = i64::try_from(events).unwrap();
    let at = |number: usize| end - span + i64::try_from(number).unwrap() * (span / count);
    let mut bodies = Vec::with_capacity(events / BATCH + 1);
    for start in (0..events).step_by(BATCH) {
        let numbers = start..(start + BATCH).min(events);
        let events: Vec<Value> = numbers.map(|number| usage.event(at(number))).collect();
        bodies.push(batch(&events));
    }
    bodies
}

fn row(name: &str, events: usize, took: Duration, file: Duration) {
    let (seconds, of_file) = (took.as_secs_f64(), took.as_secs_f64() / file.as_secs_f64());
    println!("{name:<22}{seconds:>12.2}{:>14.0}{of_file:>11.1}x", events as f64 / seconds);
}

/// Writes the bodies one after the other.
fn plain(home: &Home, bodies: &[String]) -> Duration {
    let started = Instant::now();
    let mut file = fs::File::create(home.path().join("plain")).unwrap();
    for body in bodies {
        file.write_all(body.as_bytes()).unwrap();
    }
    file.sync_all().unwrap();
    started.elapsed()
}

/// Posts all bodies to a collector over a few connections.
fn ingested(home: &Home, store: &str, bodies: &[String]) -> Duration {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["collect", "--listen", "127.0.0.1:0", "--store", store]);
    let collector = Listening::start(command);
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| post_all(collector.address(), bodies, &next));
        }
    });
    let took = started.elapsed();
    let (status, log) = collector.stop();
    assert!(status.success(), "{log}");
    took
}

/// Posts whatever is next over one connection until there is nothing left.
fn post_all(address: SocketAddr, bodies: &[String], next: &AtomicUsize) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
        let head = format!(
            "POST /v1/events HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let (mut status, mut length) = (String::new(), 0);
        answers.read_line(&mut status).unwrap();
        loop {
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        answers.read_exact(&mut answer).unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}{}", String::from_utf8_lossy(&answer));
    }
}

/// How long an archive takes for what the page shows first, and for one skill's page.
fn answered(name: &str, store: &str) {
    Runtime::new().unwrap().block_on(async {
        let archive = Archive::look(&Address::parse(store).unwrap()).await.unwrap();
        let period = until_now(30);
        let (mut evidence, mut told) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let said = archive.evidence(period, None).await.unwrap();
            evidence.push(started.elapsed());
            assert!(!said.recent.is_empty());
            let started = Instant::now();
            archive.story("api/forms-0", period, None, 50).await.unwrap();
            told.push(started.elapsed());
        }
        times(&format!("{name}, 30 days"), evidence);
        times(&format!("{name}, one skill"), told);
    });
}

/// How long the page's first view takes, from the request to its last byte.
fn shown(home: &Home, name: &str, store: &str) {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["collect", "--listen", "127.0.0.1:0", "--store", store]);
    let collector = Listening::start(command);
    let view = |_| {
        let started = Instant::now();
        let page = collector.get("/");
        assert!(page.status == 200 && page.body.contains("</html>"), "{}", page.status);
        started.elapsed()
    };
    times(&format!("{name}, the page"), (0..ROUNDS).map(view).collect());
    let (status, log) = collector.stop();
    assert!(status.success(), "{log}");
}

/// What events cost a call: the same ones by turns to servers without analytics, with them, and with a file that cannot be
/// written.
fn called() {
    let skill = "---\nkeywords: [react, login]\ndescription: d\n---\nText.\n";
    let server = |settings: &[&str]| {
        let home = Home::new();
        home.write("skills/react.md", skill);
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.arg("--dir").arg(home.skills());
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        (Client::legacy(command, "2025-11-25"), home, Vec::new())
    };
    let mut servers = [
        ("off", server(&[])),
        ("off again", server(&[])),
        ("on", server(&["analytics.enabled=true"])),
        (
            "on, cannot write",
            server(&["analytics.enabled=true", "analytics.file=/dev/full/x.jsonl"]),
        ),
    ];
    for _ in 0..CALLS {
        for (_, (client, _, taken)) in &mut servers {
            let started = Instant::now();
            client.call("get_skill", &json!({"context": "react login"}));
            taken.push(started.elapsed());
        }
    }
    let mut off = Duration::ZERO;
    for (name, (client, _, mut taken)) in servers {
        client.close();
        taken.sort();
        let (median, late) = (taken[CALLS / 2], taken[CALLS * 99 / 100]);
        off = if off.is_zero() { median } else { off };
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let ratio = micros(median) / micros(off);
        println!("{name:<22}{:>12.0}{:>14.0}{ratio:>11.2}x", micros(median), micros(late));
    }
}

fn times(name: &str, mut taken: Vec<Duration>) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let first = taken[0];
    taken.sort();
    let (median, slowest) = (taken[taken.len() / 2], taken[taken.len() - 1]);
    println!("{name:<22}{:>12.1}{:>14.1}{:>12.1}", millis(median), millis(slowest), millis(first));
}
