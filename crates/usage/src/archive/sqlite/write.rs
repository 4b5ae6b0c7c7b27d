//! What changes a file of SQLite: its tables, events and counts coming, old ones going.

#![expect(clippy::disallowed_methods, reason = "this file makes the database file")]

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use super::{
    super::{
        ArchiveError, Keep, Sighting, Taken, all_text_kinds,
        cardinality::{self, CardinalityLimit, ClientLimit},
        group::{Count, IncomingBatch, TakenReply, WriteGroup, answer, signed},
        schema,
    },
    BUSY_TIMEOUT, failed, newest, version,
};
use crate::tally::{CountKey, Metric};

/// So many events are forgotten in one transaction.
const MAX_PRUNED_EVENTS: i64 = 500;

/// What a writer is asked to do.
pub(super) enum WriteJob {
    /// To keep and count these.
    Take(IncomingBatch, TakenReply<Taken>),
    /// To forget a little of what is too old at this moment, and to say whether there may be more.
    Prune(i64, TakenReply<bool>),
}

/// The connection that writes.
pub(super) struct SqliteWriter {
    pub(super) file: PathBuf,
    pub(super) connection: Connection,
    pub(super) keep: Keep,
    pub(super) cardinality: CardinalityLimit,
    pub(super) clients: ClientLimit,
}

impl SqliteWriter {
    /// Does its jobs until the last sender is gone.
    pub(super) fn work(&mut self, mut waiting: mpsc::Receiver<WriteJob>) {
        let mut next = waiting.blocking_recv();
        while let Some(job) = next.take() {
            next = match job {
                WriteJob::Prune(now, answer) => {
                    let _ = answer.send(self.prune(now).map_err(|error| failed(&self.file, error)));
                    None
                }
                WriteJob::Take(batch, first) => {
                    let mut other = None;
                    let (group, answers) =
                        WriteGroup::gathered((batch, first), || match waiting.try_recv().ok()? {
                            WriteJob::Take(batch, answer) => Some((batch, answer)),
                            job @ WriteJob::Prune(..) => {
                                other = Some(job);
                                None
                            }
                        });
                    let written = self.write(&group).map_err(|error| failed(&self.file, error));
                    answer(answers, written);
                    other
                }
            };
            next = next.or_else(|| waiting.blocking_recv());
        }
    }

    fn write(&mut self, group: &WriteGroup) -> rusqlite::Result<Vec<Taken>> {
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let new = inserted(&transaction, group)?;
        let counts = of_known_clients(&transaction, &mut self.clients, group.counts(&new))?;
        let counts = fitted(&transaction, &mut self.cardinality, counts)?;
        add(&transaction, &counts)?;
        see(&transaction, &group.sightings(&new))?;
        transaction.commit()?;
        Ok(group.taken(&new))
    }

    /// Forgets a little; whether there may be more to forget.
    fn prune(&mut self, now: i64) -> rusqlite::Result<bool> {
        for pile in all_text_kinds() {
            let forgotten = self.connection.execute(
                "DELETE FROM events WHERE rowid IN
                 (SELECT rowid FROM events WHERE pile = ?1 AND at < ?2 LIMIT ?3)",
                params![pile, self.keep.events_from(now), MAX_PRUNED_EVENTS],
            )?;
            if forgotten > 0 {
                return Ok(true);
            }
        }
        let oldest = self.keep.events_from(now);
        self.connection.execute("DELETE FROM sightings WHERE last_at < ?1", [oldest])?;
        let forgotten = self.connection.execute(
            "DELETE FROM counts WHERE day = (SELECT MIN(day) FROM counts) AND day < ?1",
            [self.keep.counts_from(now)],
        )?;
        Ok(forgotten > 0)
    }
}

/// Which rows are new: those that could be inserted.
fn inserted(connection: &Connection, group: &WriteGroup) -> rusqlite::Result<Vec<bool>> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO events (event_id, at, received, type, pile, server_id, client_name, skill, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (event_id) DO NOTHING",
    )?;
    let mut new = Vec::with_capacity(group.rows.len());
    for row in &group.rows {
        let recorded = &row.recorded;
        let inserted = insert.execute(params![
            row.id.as_bytes(),
            row.at,
            row.received,
            recorded.event.kind(),
            row.pile,
            &*recorded.server_id,
            recorded.client_name.as_deref(),
            recorded.event.skill(),
            row.body,
        ])?;
        new.push(inserted > 0);
    }
    Ok(new)
}

/// These counts, of as many clients of a day as the limit allows.
fn of_known_clients(
    connection: &Connection,
    limit: &mut ClientLimit,
    counts: Vec<Count>,
) -> rusqlite::Result<Vec<Count>> {
    let mut select = connection
        .prepare_cached("SELECT DISTINCT client FROM counts WHERE day = ?1 AND metric = ?2")?;
    for day in limit.unknown_days(&counts) {
        let clients = select.query_map(params![day, Metric::Event.word()], |row| row.get(0))?;
        limit.found(day, clients.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    Ok(limit.fitted(counts))
}

/// These counts, as many different ones as the limit allows.
fn fitted(
    connection: &Connection,
    cardinality: &mut CardinalityLimit,
    counts: Vec<Count>,
) -> rusqlite::Result<Vec<Count>> {
    let mut rows = connection.prepare_cached(
        "SELECT COUNT(*) FROM (SELECT 1 FROM counts WHERE day = ?1 AND metric = ?2 LIMIT ?3)",
    )?;
    let mut fitted = Vec::with_capacity(counts.len());
    for mut part in cardinality::parts(counts) {
        if let Some(Count { day, key, .. }) = part.first()
            && !cardinality.has_room(&part)
        {
            let most = signed(cardinality::MAX_COUNTS as u64);
            let rows: i64 =
                rows.query_row(params![day, key.metric.word(), most], |row| row.get(0))?;
            if let Some(free) =
                cardinality.found(&part, usize::try_from(rows).unwrap_or(usize::MAX))
            {
                let known = known(connection, &part)?;
                part = cardinality::folded(part, &known, free);
            }
        }
        fitted.append(&mut part);
    }
    Ok(fitted)
}

/// Which of these are there.
fn known(connection: &Connection, part: &[Count]) -> rusqlite::Result<Vec<bool>> {
    let mut select = connection.prepare_cached(
        "SELECT 1 FROM counts WHERE day = ?1 AND metric = ?2 AND subject = ?3 AND detail = ?4
         AND bucket = ?5 AND client = ?6",
    )?;
    let exists = |Count { day, key, client, .. }: &Count| {
        let CountKey { metric, subject, detail, bucket } = key;
        select.exists(params![day, metric.word(), subject, detail, bucket, client])
    };
    part.iter().map(exists).collect()
}

fn add(connection: &Connection, counts: &[Count]) -> rusqlite::Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO counts (day, metric, subject, detail, bucket, client, n, total)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET n = n + excluded.n, total = total + excluded.total",
    )?;
    for Count { day, key, client, sum } in counts {
        let CountKey { metric, subject, detail, bucket } = key;
        let (n, total) = (signed(sum.n), signed(sum.total));
        add.execute(params![day, metric.word(), subject, detail, bucket, client, n, total])?;
    }
    Ok(())
}

fn see(connection: &Connection, sightings: &[Sighting]) -> rusqlite::Result<()> {
    let mut see = connection.prepare_cached(
        "INSERT INTO sightings (server_id, client, version, commit_hash, first_at, last_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET first_at = MIN(first_at, excluded.first_at),
         last_at = MAX(last_at, excluded.last_at)",
    )?;
    for Sighting { of, first, last } in sightings {
        see.execute(params![of.server_id, of.client, of.version, of.commit, first, last])?;
    }
    Ok(())
}

/// A connection that writes; the file is made for its owner alone, since it holds what people asked for.
pub(super) fn made(file: &Path) -> Result<Connection, Box<dyn std::error::Error>> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(unix)]
    warn_of_readers(file, &options.open(file)?.metadata()?);
    #[cfg(not(unix))]
    drop(options.open(file)?);
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    Ok(connection)
}

/// Warns of a file that other users may read; the operator may have meant it.
#[cfg(unix)]
fn warn_of_readers(file: &Path, metadata: &std::fs::Metadata) {
    use std::os::unix::fs::PermissionsExt as _;
    if metadata.permissions().mode() & 0o077 != 0 {
        let file = file.display();
        tracing::warn!(
            "{file} holds what people asked for and is open to others of this machine: `chmod 600 '{file}'` closes it"
        );
    }
}

/// Takes the steps that are missing.
pub(super) fn migrate(file: &Path, connection: &Connection) -> Result<(), ArchiveError> {
    let steps = || {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute_batch(schema::META)?;
        let version = version(connection)?;
        let taken = usize::try_from(version).unwrap_or(0);
        for step in schema::SQLITE.iter().skip(taken) {
            connection.execute_batch(step)?;
        }
        if taken < schema::SQLITE.len() {
            connection.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)",
                params![schema::VERSION, signed(schema::SQLITE.len() as u64)],
            )?;
        }
        connection.execute_batch("COMMIT")?;
        Ok(version)
    };
    let version = steps().map_err(|error: rusqlite::Error| failed(file, error))?;
    newest(file, version)
}
