//! What changes a database of PostgreSQL: its tables, events and counts coming, old ones going.

use tokio::{sync::mpsc, time::timeout};
use tokio_postgres::{Client, Error, Statement, Transaction};

use super::{
    super::{
        ArchiveError, Sighting, Taken,
        cardinality::{self, CardinalityLimit, ClientLimit},
        group::{Count, IncomingBatch, TakenReply, WriteGroup, answer, signed},
        schema,
    },
    Config, REQUEST_TIMEOUT, TIMED_OUT, is_passing, with_cause,
};
use crate::tally::Metric;

/// Held while tables are made: the letters of `skills`.
const MIGRATION_LOCK: i64 = 0x73_6b_69_6c_6c_73;
/// So many events are forgotten at once.
const MAX_PRUNED_EVENTS: i64 = 1_000;
/// A batch is tried so often.
const MAX_WRITE_TRIES: usize = 3;

/// Takes the steps that are missing; collectors that start together take turns. The version there was.
pub(super) async fn migrate(client: &mut Client) -> Result<i64, Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    transaction.batch_execute(schema::META).await?;
    let select = "SELECT value FROM meta WHERE name = $1";
    let version = transaction.query_opt(select, &[&schema::VERSION]).await?;
    let version: i64 = version.map_or(Ok(0), |row| row.try_get(0))?;
    let taken = usize::try_from(version).unwrap_or(0);
    for step in schema::POSTGRES.iter().skip(taken) {
        transaction.batch_execute(step).await?;
    }
    if taken < schema::POSTGRES.len() {
        let steps = signed(schema::POSTGRES.len() as u64);
        transaction
            .execute(
                "INSERT INTO meta (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                &[&schema::VERSION, &steps],
            )
            .await?;
    }
    transaction.commit().await?;
    Ok(version)
}

/// A batch of events, and where its result goes.
pub(super) type WaitingBatch = (IncomingBatch, TakenReply<Taken>);

/// A connection that writes, with what it says over and over.
struct WriteConnection {
    client: Client,
    insert: Statement,
    add: Statement,
    see: Statement,
    cardinality: CardinalityLimit,
    clients: ClientLimit,
}

/// Writes what waits until the last sender is gone.
pub(super) async fn work(config: Config, mut waiting: mpsc::Receiver<WaitingBatch>) {
    let mut line = None;
    while let Some(first) = waiting.recv().await {
        let (group, answers) = WriteGroup::gathered(first, || waiting.try_recv().ok());
        answer(answers, written(&config, &mut line, &group).await);
    }
}

/// Writes a group, over a new connection where there is none or it is lost.
async fn written(
    config: &Config,
    line: &mut Option<WriteConnection>,
    group: &WriteGroup,
) -> Result<Vec<Taken>, ArchiveError> {
    let mut reason = String::new();
    for _ in 0..MAX_WRITE_TRIES {
        let known = line.take().filter(|line| !line.client.is_closed());
        let attempt = async {
            let mut open = match known {
                Some(open) => open,
                None => opened(config).await?,
            };
            Ok(write(&mut open, group).await.map(|taken| (open, taken)))
        };
        match timeout(REQUEST_TIMEOUT, attempt).await {
            Ok(Ok(Ok((open, taken)))) => {
                *line = Some(open);
                return Ok(taken);
            }
            Ok(Ok(Err(error))) => {
                reason = with_cause(&error);
                if !is_passing(&error) {
                    break;
                }
            }
            Ok(Err(away)) => return Err(away),
            Err(_) => return Err(config.failed(TIMED_OUT)),
        }
    }
    Err(config.failed(reason))
}

async fn opened(config: &Config) -> Result<WriteConnection, ArchiveError> {
    let client = config.connect().await?;
    let prepared = async {
        let insert = client
            .prepare(
                "INSERT INTO events
                 (event_id, at, received, type, pile, server_id, client_name, skill, body)
                 SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[],
                 $6::text[], $7::text[], $8::text[], $9::text[])
                 ON CONFLICT (event_id) DO NOTHING RETURNING event_id",
            )
            .await?;
        let add = client
            .prepare(
                "INSERT INTO counts (day, metric, subject, detail, bucket, client, n, total)
                 SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                 $6::text[], $7::bigint[], $8::bigint[])
                 ON CONFLICT (day, metric, subject, detail, bucket, client)
                 DO UPDATE SET n = counts.n + excluded.n,
                 total = LEAST(counts.total::numeric + excluded.total, 9e18)::bigint",
            )
            .await?;
        let see = client
            .prepare(
                "INSERT INTO sightings (server_id, client, version, commit_hash, first_at, last_at)
                 SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                 $6::bigint[])
                 ON CONFLICT (server_id, client, version, commit_hash)
                 DO UPDATE SET first_at = LEAST(sightings.first_at, excluded.first_at),
                 last_at = GREATEST(sightings.last_at, excluded.last_at)",
            )
            .await?;
        Ok((insert, add, see))
    };
    let (insert, add, see) =
        prepared.await.map_err(|error: Error| config.failed(with_cause(&error)))?;
    let (cardinality, clients) = (CardinalityLimit::default(), ClientLimit::default());
    Ok(WriteConnection { client, insert, add, see, cardinality, clients })
}

async fn write(line: &mut WriteConnection, group: &WriteGroup) -> Result<Vec<Taken>, Error> {
    let transaction = line.client.transaction().await?;
    let rows = &group.rows;
    let of = |field: fn(&super::super::group::EventRow) -> &str| rows.iter().map(field).collect();
    let ids: Vec<uuid::Uuid> = rows.iter().map(|row| row.id).collect();
    let at: Vec<i64> = rows.iter().map(|row| row.at).collect();
    let received: Vec<i64> = rows.iter().map(|row| row.received).collect();
    let types: Vec<&str> = of(|row| row.recorded.event.kind());
    let piles: Vec<&str> = of(|row| row.pile);
    let servers: Vec<&str> = of(|row| &row.recorded.server_id);
    let clients: Vec<Option<&str>> =
        rows.iter().map(|row| row.recorded.client_name.as_deref()).collect();
    let skills: Vec<Option<&str>> = rows.iter().map(|row| row.recorded.event.skill()).collect();
    let bodies: Vec<&str> = of(|row| &row.body);
    let inserted = transaction
        .query(
            &line.insert,
            &[&ids, &at, &received, &types, &piles, &servers, &clients, &skills, &bodies],
        )
        .await?;
    let mut new = vec![false; rows.len()];
    for row in inserted {
        let id: uuid::Uuid = row.try_get(0)?;
        if let Some(new) = ids.binary_search(&id).ok().and_then(|place| new.get_mut(place)) {
            *new = true;
        }
    }
    let counts = of_known_clients(&transaction, &mut line.clients, group.counts(&new)).await?;
    let counts = fitted(&transaction, &mut line.cardinality, counts).await?;
    add(&transaction, &line.add, &counts).await?;
    see(&transaction, &line.see, &group.sightings(&new)).await?;
    transaction.commit().await?;
    Ok(group.taken(&new))
}

/// These counts, of as many clients of a day as the limit allows.
async fn of_known_clients(
    transaction: &Transaction<'_>,
    limit: &mut ClientLimit,
    counts: Vec<Count>,
) -> Result<Vec<Count>, Error> {
    let select = "SELECT DISTINCT client FROM counts WHERE day = $1 AND metric = $2";
    for day in limit.unknown_days(&counts) {
        let rows = transaction.query(select, &[&day, &Metric::Event.word()]).await?;
        let clients = rows.iter().map(|row| row.try_get(0));
        limit.found(day, clients.collect::<Result<Vec<String>, Error>>()?);
    }
    Ok(limit.fitted(counts))
}

/// These counts, as many different ones as the limit allows.
async fn fitted(
    transaction: &Transaction<'_>,
    cardinality: &mut CardinalityLimit,
    counts: Vec<Count>,
) -> Result<Vec<Count>, Error> {
    let rows =
        "SELECT COUNT(*) FROM (SELECT FROM counts WHERE day = $1 AND metric = $2 LIMIT $3) AS rows";
    let mut fitted = Vec::with_capacity(counts.len());
    for mut part in cardinality::parts(counts) {
        if let Some(Count { day, key, .. }) = part.first()
            && !cardinality.has_room(&part)
        {
            let most = signed(cardinality::MAX_COUNTS as u64);
            let rows = transaction.query_one(rows, &[day, &key.metric.word(), &most]).await?;
            let rows = usize::try_from(rows.try_get::<_, i64>(0)?).unwrap_or(usize::MAX);
            if let Some(free) = cardinality.found(&part, rows) {
                let known = known(transaction, (*day, key.metric.word()), &part).await?;
                part = cardinality::folded(part, &known, free);
            }
        }
        fitted.append(&mut part);
    }
    Ok(fitted)
}

/// Which of these, all of one day and metric, are there.
async fn known(
    transaction: &Transaction<'_>,
    (day, metric): (i64, &str),
    part: &[Count],
) -> Result<Vec<bool>, Error> {
    let subjects: Vec<&str> = part.iter().map(|count| &*count.key.subject).collect();
    let details: Vec<&str> = part.iter().map(|count| &*count.key.detail).collect();
    let buckets: Vec<i64> = part.iter().map(|count| i64::from(count.key.bucket)).collect();
    let clients: Vec<&str> = part.iter().map(|count| &*count.client).collect();
    let select = "SELECT EXISTS (SELECT FROM counts WHERE counts.day = $1 AND counts.metric = $2
             AND counts.subject = w.subject AND counts.detail = w.detail
             AND counts.bucket = w.bucket AND counts.client = w.client)
         FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[]) WITH ORDINALITY
             AS w (subject, detail, bucket, client, place) ORDER BY w.place";
    let rows = transaction
        .query(select, &[&day, &metric, &subjects, &details, &buckets, &clients])
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

async fn add(
    transaction: &Transaction<'_>,
    statement: &Statement,
    counts: &[Count],
) -> Result<(), Error> {
    let of = |field: fn(&Count) -> i64| counts.iter().map(field).collect::<Vec<i64>>();
    let days = of(|count| count.day);
    let metrics: Vec<&str> = counts.iter().map(|count| count.key.metric.word()).collect();
    let subjects: Vec<&str> = counts.iter().map(|count| &*count.key.subject).collect();
    let details: Vec<&str> = counts.iter().map(|count| &*count.key.detail).collect();
    let buckets = of(|count| i64::from(count.key.bucket));
    let clients: Vec<&str> = counts.iter().map(|count| &*count.client).collect();
    let n = of(|count| signed(count.sum.n));
    let totals = of(|count| signed(count.sum.total));
    transaction
        .execute(
            statement,
            &[&days, &metrics, &subjects, &details, &buckets, &clients, &n, &totals],
        )
        .await
        .map(drop)
}

async fn see(
    transaction: &Transaction<'_>,
    statement: &Statement,
    sightings: &[Sighting],
) -> Result<(), Error> {
    let of = |name: fn(&Sighting) -> &str| sightings.iter().map(name).collect::<Vec<&str>>();
    let servers = of(|seen| &seen.of.server_id);
    let clients = of(|seen| &seen.of.client);
    let versions = of(|seen| &seen.of.version);
    let commits = of(|seen| &seen.of.commit);
    let first: Vec<i64> = sightings.iter().map(|seen| seen.first).collect();
    let last: Vec<i64> = sightings.iter().map(|seen| seen.last).collect();
    transaction
        .execute(statement, &[&servers, &clients, &versions, &commits, &first, &last])
        .await
        .map(drop)
}

/// Forgets a few events of a pile that are older than this; how many.
pub(super) async fn forget(client: &Client, pile: &str, oldest: i64) -> Result<u64, Error> {
    client
        .execute(
            "DELETE FROM events WHERE event_id IN (SELECT event_id FROM events
             WHERE pile = $1 AND at < $2 LIMIT $3 FOR UPDATE SKIP LOCKED)",
            &[&pile, &oldest, &MAX_PRUNED_EVENTS],
        )
        .await
}

/// Forgets the counts of one day that is before this one; how many.
pub(super) async fn forget_counts(client: &Client, oldest: i64) -> Result<u64, Error> {
    client
        .execute(
            "DELETE FROM counts WHERE day = (SELECT MIN(day) FROM counts) AND day < $1",
            &[&oldest],
        )
        .await
}

/// Forgets what servers were last seen with before this moment.
pub(super) async fn forget_sightings(client: &Client, oldest: i64) -> Result<u64, Error> {
    client.execute("DELETE FROM sightings WHERE last_at < $1", &[&oldest]).await
}
