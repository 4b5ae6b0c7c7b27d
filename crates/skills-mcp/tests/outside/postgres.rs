//! The archive and the collector on a real PostgreSQL.

use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use skills_testkit::{Home, Listening, PROMPT_TIMEOUT};
use skills_usage::{
    archive::{Address, Archive, Evidence, Keep, Taken},
    event::RecordedEvent,
    tally::{Tally, count},
};
use tokio::runtime::Runtime;

use crate::{
    cluster::Cluster,
    recount,
    usage::{DAY, Usage, batch, now, until_now},
};

/// What is gone with its test need not reach the disk.
const FLEETING: &[&str] = &["-c", "fsync=off"];

/// So many events of the last two months, by chance.
fn some(count: usize, seed: u64) -> Vec<Value> {
    let mut usage = Usage::new(seed);
    let now = now();
    let mut event = || {
        let ago = i64::try_from(usage.0.below(60 * DAY.unsigned_abs())).unwrap();
        usage.event(now - ago)
    };
    (0..count).map(|_| event()).collect()
}

fn read(events: &[Value]) -> Vec<RecordedEvent> {
    events.iter().map(|event| RecordedEvent::read(&event.to_string()).unwrap()).collect()
}

fn collector(home: &Home, cluster: &Cluster, arguments: &[&str]) -> Listening {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.args(["collect", "--listen", "127.0.0.1:0", "--store", "postgres"]).args(arguments);
    command.env("DATABASE_URL", cluster.url());
    Listening::start(command)
}

fn evidence(cluster: &Cluster, days: u64) -> Evidence {
    Runtime::new().unwrap().block_on(async {
        let address = Address::parse(&cluster.url()).unwrap();
        let archive = Archive::look(&address).await.unwrap();
        archive.evidence(until_now(days), None).await.unwrap()
    })
}

#[test]
fn sqlite_and_postgres_say_the_same_of_the_same_events() {
    let cluster = Cluster::start(FLEETING);
    let home = Home::new();
    let events = read(&some(14_000, 11));
    Runtime::new().unwrap().block_on(async {
        let postgres = Address::parse(&cluster.url()).unwrap();
        // Several that start at once take turns with the tables.
        let (one, two, three) = tokio::join!(
            Archive::open(&postgres, Keep::default()),
            Archive::open(&postgres, Keep::default()),
            Archive::open(&postgres, Keep::default())
        );
        let (postgres, _, _) = (one.unwrap(), two.unwrap(), three.unwrap());
        let sqlite = Address::Sqlite(home.path().join("events.db"));
        let sqlite = Archive::open(&sqlite, Keep::default()).await.unwrap();
        for (number, chunk) in events.chunks(700).enumerate() {
            // Some of it comes twice, and some twice in one batch.
            let mut chunk = chunk.to_vec();
            if number % 3 == 0 {
                chunk.extend_from_within(..50);
            }
            let taken = postgres.take(chunk.clone()).await.unwrap();
            assert_eq!(taken, sqlite.take(chunk.clone()).await.unwrap());
            let known = Taken { new: 0, known: chunk.len() as u64, expired: 0 };
            assert_eq!(postgres.take(chunk).await.unwrap(), known);
        }
        for days in [1, 30, 60] {
            let period = until_now(days);
            for client in [None, Some("codex"), Some("nobody's")] {
                let said = postgres.evidence(period, client).await.unwrap();
                recount::assert_same(&said, &sqlite.evidence(period, client).await.unwrap());
                recount::assert_same(&said, &recount::evidence(&events, period, client));
                let own = recount::of_client(&events, client);
                for skill in ["api/forms-0", "refresh", "nobody's"] {
                    let of_postgres = postgres.story(skill, period, client, 25).await.unwrap();
                    let of_sqlite = sqlite.story(skill, period, client, 25).await.unwrap();
                    let expected = recount::story(&own, skill, period, 25);
                    assert_eq!(of_postgres.days, of_sqlite.days);
                    assert_eq!(of_postgres.recent, of_sqlite.recent);
                    assert_eq!(
                        (of_postgres.days, of_postgres.recent),
                        (expected.days, expected.recent)
                    );
                }
            }
        }
        let ago = now() + 50 * DAY;
        tokio::try_join!(postgres.prune(ago), sqlite.prune(ago)).unwrap();
        let period = until_now(90);
        let left = postgres.evidence(period, None).await.unwrap();
        recount::assert_same(&left, &sqlite.evidence(period, None).await.unwrap());
        assert!(left.sightings.iter().all(|sighting| sighting.last > now() - 40 * DAY));
        let oldest = now() - 40 * DAY;
        let young = |event: &RecordedEvent| {
            skills_usage::clock::millis_of(&event.timestamp).unwrap() > oldest
        };
        assert!(!left.recent.is_empty() && left.recent.iter().all(young));
        let mut all = Tally::new();
        for event in &events {
            count(&mut all, event);
        }
        assert_eq!(left.tally, all);
    });
}

/// The tables as the first step made them.
const UNDO_SECOND_STEP: &str = "
    DROP TABLE sightings;
    DROP INDEX events_by_client;
    ALTER TABLE counts DROP COLUMN client;
    ALTER TABLE counts ADD CONSTRAINT counts_pkey PRIMARY KEY (day, metric, subject, detail, bucket);
    UPDATE meta SET value = 1 WHERE name = 'version';";

#[test]
fn c07_tables_of_an_older_program_are_brought_up_to_date_when_they_are_opened_to_write() {
    let cluster = Cluster::start(FLEETING);
    let mut events = read(&some(200, 15));
    // One client: then a count without it is the same count.
    for event in &mut events {
        event.client_name = Some("codex".into());
    }
    Runtime::new().unwrap().block_on(async {
        let address = Address::parse(&cluster.url()).unwrap();
        let archive = Archive::open(&address, Keep::default()).await.unwrap();
        archive.take(events.clone()).await.unwrap();
        drop(archive);
        let (client, connection) =
            tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(UNDO_SECOND_STEP).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        let refused = Archive::look(&address).await.unwrap_err();
        assert!(refused.to_string().contains("version 1 of the tables"), "{refused}");
        assert!(refused.hint().contains("skills-mcp collect"), "{}", refused.hint());
        let archive = Archive::open(&address, Keep::default()).await.unwrap();
        let period = until_now(61);
        let expected = recount::evidence(&events, period, None);
        let said = archive.evidence(period, None).await.unwrap();
        assert_eq!((said.tally, said.days), (expected.tally, expected.days));
        assert_eq!(said.clients, [(String::new(), 200)], "who called was not counted then");
        let newest = said.sightings.first().map(|sighting| sighting.last);
        assert_eq!(newest, expected.sightings.first().map(|sighting| sighting.last));
        assert!(said.sightings.iter().all(|sighting| sighting.of.version.is_empty()));
        assert_eq!(archive.take(events.clone()).await.unwrap().known, 200);
        let more = read(&some(50, 16));
        assert_eq!(archive.take(more).await.unwrap().new, 50);
    });
}

#[test]
fn hostile_names_do_not_cost_a_batch() {
    let cluster = Cluster::start(FLEETING);
    let home = Home::new();
    let collector = collector(&home, &cluster, &[]);
    let mut events = some(20, 12);
    for (event, text) in
        events.iter_mut().zip(["\u{0}", "\u{0}x", "é", "\u{10ffff}", "'", "\\", "\n"])
    {
        event["server_id"] = Value::from(text.repeat(5_000));
        event["client_name"] = Value::from(text.repeat(5_000));
        event["type"] = Value::from("asset_served");
        event["data"] = serde_json::json!({
            "skill_path": text.repeat(9_000), "file": text.repeat(9_000), "asset_type": text.repeat(300),
            "size_bytes": u64::MAX, "declared_by": text.repeat(9_000),
        });
    }
    let answer = collector.post("/v1/events", &batch(&events));
    assert!(answer.status == 200 && answer.body.contains(r#""accepted":20"#), "{answer:?}");
}

#[test]
fn two_collectors_on_one_database_keep_and_count_each_event_once() {
    const BATCHES: usize = 200;
    let cluster = Cluster::start(FLEETING);
    let home = Home::new();
    let events = some(BATCHES * 40, 13);
    let batches: Arc<Vec<String>> = Arc::new(events.chunks(40).map(batch).collect());
    let collectors = [collector(&home, &cluster, &[]), collector(&home, &cluster, &[])];
    let accepted: u64 = thread::scope(|scope| {
        let mut posting = Vec::new();
        for collector in &collectors {
            // Each collector gets every batch, from two sides, so that they meet.
            for backwards in [false, true] {
                let batches = Arc::clone(&batches);
                posting.push(scope.spawn(move || {
                    let half = batches.len() / 2;
                    let mut order: Vec<usize> = if backwards {
                        (half..batches.len()).rev().collect()
                    } else {
                        (0..half).collect()
                    };
                    let mut accepted = 0;
                    for number in order.drain(..) {
                        let answer = collector.post("/v1/events", &batches[number]);
                        assert_eq!(answer.status, 200, "{answer:?}");
                        let said: Value = serde_json::from_str(&answer.body).unwrap();
                        let number = |name: &str| said[name].as_u64().unwrap();
                        assert_eq!(number("accepted") + number("known"), 40, "{said}");
                        accepted += number("accepted");
                    }
                    accepted
                }));
            }
        }
        posting.into_iter().map(|posting| posting.join().unwrap()).sum()
    });
    assert_eq!(accepted, events.len() as u64);
    let expected = recount::evidence(&read(&events), until_now(61), None);
    recount::assert_same(&evidence(&cluster, 61), &expected);
}

#[test]
fn a_database_that_goes_away_and_comes_back_loses_nothing_that_was_acknowledged() {
    let mut cluster = Cluster::start(FLEETING);
    let home = Home::new();
    let collector = collector(&home, &cluster, &[]);
    let events = some(300, 14);
    let post = |part: &[Value]| collector.post("/v1/events", &batch(part));
    assert_eq!(post(&events[..100]).status, 200);
    assert_eq!(collector.get("/healthz").status, 200);
    // Back before the next request: no request fails.
    cluster.down();
    cluster.up();
    assert_eq!(collector.get("/healthz").status, 200);
    assert_eq!(post(&events[100..200]).status, 200);
    cluster.down();
    let away = post(&events[200..]);
    assert_eq!(away.status, 503, "{away:?}");
    assert!(away.head.to_ascii_lowercase().contains("retry-after: 1"), "{away:?}");
    assert_eq!(collector.get("/healthz").status, 503);
    cluster.up();
    assert_eq!(post(&events).status, 200);
    assert_eq!(collector.get("/healthz").status, 200);
    let expected = recount::evidence(&read(&events), until_now(61), None);
    recount::assert_same(&evidence(&cluster, 61), &expected);
    let (status, log) = collector.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn whether_it_is_well_is_known_at_once_whatever_a_report_or_the_database_does() {
    let cluster = Cluster::start(FLEETING);
    let home = Home::new();
    let collector = collector(&home, &cluster, &[]);
    let runtime = Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    });
    let held = |table: &str| {
        let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
        runtime.block_on(client.batch_execute(&lock)).unwrap();
    };
    let health = || {
        let asked = Instant::now();
        let status = collector.get("/healthz").status;
        assert!(asked.elapsed() < PROMPT_TIMEOUT, "{:?}", asked.elapsed());
        status
    };
    thread::scope(|scope| {
        held("counts");
        let report = scope.spawn(|| collector.get("/v1/stats").status);
        thread::sleep(Duration::from_millis(300));
        assert_eq!(health(), 200, "a report that waits holds up no other request");
        held("meta");
        assert_eq!(health(), 503);
        runtime.block_on(client.batch_execute("ROLLBACK")).unwrap();
        assert_eq!(report.join().unwrap(), 200);
    });
    assert_eq!(health(), 200);
}

/// A self-signed certificate for loopback, and its key, where the server finds them.
fn certify(cluster: &Cluster) {
    let (certificate, key) = (
        cluster.folder.path().join("data/server.crt"),
        cluster.folder.path().join("data/server.key"),
    );
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The server runs as the owner of the folder.
    let owner = std::fs::metadata(cluster.folder.path().join("data")).unwrap();
    std::os::unix::fs::chown(&key, Some(owner.uid()), Some(owner.gid())).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_connection_is_encrypted_if_the_certificate_is_trusted_and_required_means_required() {
    let mut cluster = Cluster::start(FLEETING);
    cluster.down();
    certify(&cluster);
    cluster.settings = &["-c", "fsync=off", "-c", "ssl=on"];
    cluster.up();
    let home = Home::new();
    let command = |mode: &str, trusted: bool| {
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.args(["collect", "--listen", "127.0.0.1:0", "--store"]);
        command.arg(format!("{}?sslmode={mode}", cluster.url()));
        if trusted {
            command.env("SSL_CERT_FILE", cluster.folder.path().join("data/server.crt"));
        }
        command
    };
    // How many connections of ours are encrypted.
    let encrypted = || {
        Runtime::new().unwrap().block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            let ours = "SELECT COUNT(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                 WHERE ssl AND application_name = 'skills-mcp'";
            client.query_one(ours, &[]).await.unwrap().get::<_, i64>(0)
        })
    };
    for (mode, is_encrypted) in [("verify-full", true), ("prefer", true), ("disable", false)] {
        let collector = Listening::start(command(mode, true));
        assert_eq!(collector.get("/healthz").status, 200);
        assert_eq!(encrypted() > 0, is_encrypted, "{mode}");
    }
    let refused = command("require", false).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(3) && said.contains("TLS"), "{said}");
    let collector = Listening::start(command("prefer", false));
    assert_eq!(encrypted(), 0);
    let (_, log) = collector.stop();
    assert!(log.contains("not encrypted"), "{log}");
}
