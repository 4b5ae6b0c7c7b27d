//! Events in a file of SQLite: one connection writes, on a thread of its own; others read beside it.
//!
//! Whatever waits while a transaction is written goes into the next one together. What was answered survives the end of
//! this process, whichever way it comes (`synchronous = NORMAL`: a machine that loses power may lose the last moments).

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

use super::{
    ArchiveError, Evidence, Keep, PILES, Period, RECENT, Story, Taken,
    group::{Answer, Batch, Count, Group, Job, WAITING, answer, signed, unsigned},
    metrics_of_skills, piles_of_texts, schema,
};
use crate::{
    analytics::tally::{Key, Metric, Sum},
    clock,
    event::Recorded,
};

/// Somebody else's transaction on the same file is waited for this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many events are forgotten in one transaction.
const FEW: i64 = 500;
/// Between two of these others get their turn.
const PAUSE: Duration = Duration::from_millis(20);

/// A file of events.
pub struct Sqlite {
    file: PathBuf,
    keep: Keep,
    writer: Option<(mpsc::Sender<Job>, JoinHandle<()>)>,
    /// Reads counts and stories.
    counts: Arc<Mutex<Connection>>,
    /// Reads texts.
    texts: Arc<Mutex<Connection>>,
}

impl Sqlite {
    /// Opens a file to write it, and makes it if need be.
    pub async fn open(file: &Path, keep: Keep) -> Result<Self, ArchiveError> {
        let path = file.to_path_buf();
        blocking(move || {
            let connection = made(&path).map_err(|error| failed(&path, error))?;
            migrate(&path, &connection)?;
            let (jobs, waiting) = mpsc::channel(WAITING);
            let mut writer = Writer { file: path.clone(), connection, keep };
            let thread = thread::Builder::new()
                .name("sqlite".to_owned())
                .spawn(move || writer.work(waiting))
                .map_err(|error| failed(&path, error))?;
            Self::reading(path, keep, Some((jobs, thread)))
        })
        .await
    }

    /// Opens a file that is there, to read it.
    pub async fn look(file: &Path) -> Result<Self, ArchiveError> {
        let path = file.to_path_buf();
        blocking(move || {
            let sqlite = Self::reading(path, Keep::default(), None)?;
            let version = version(&lock(&sqlite.counts)).map_err(|error| sqlite.failed(error))?;
            newest(&sqlite.file, version).map(|()| sqlite)
        })
        .await
    }

    fn reading(
        file: PathBuf,
        keep: Keep,
        writer: Option<(mpsc::Sender<Job>, JoinHandle<()>)>,
    ) -> Result<Self, ArchiveError> {
        let reader = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&file, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "cache_size", -32_768)?;
            Ok(Arc::new(Mutex::new(connection)))
        };
        let opened = reader().and_then(|counts| Ok((counts, reader()?)));
        let (counts, texts) = opened.map_err(|error: rusqlite::Error| failed(&file, error))?;
        Ok(Self { file, keep, writer, counts, texts })
    }

    /// See [`Archive::take`](super::Archive::take).
    pub async fn take(&self, events: Vec<Recorded>) -> Result<Taken, ArchiveError> {
        let received = now();
        let batch = Batch::of(events, received, self.keep);
        self.ask(|answer| Job::Take(batch, answer)).await
    }

    /// See [`Archive::prune`](super::Archive::prune).
    pub async fn prune(&self, now: i64) -> Result<(), ArchiveError> {
        while self.ask(|answer| Job::Prune(now, answer)).await? {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, ArchiveError> {
        let (answer, answered) = oneshot::channel();
        let (jobs, _) = self.writer.as_ref().ok_or_else(|| self.failed("opened to be read"))?;
        jobs.send(job(answer)).await.map_err(|_| self.failed("its writer has ended"))?;
        answered.await.map_err(|_| self.failed("its writer has ended"))?
    }

    /// See [`Archive::evidence`](super::Archive::evidence).
    pub async fn evidence(&self, period: Period) -> Result<Evidence, ArchiveError> {
        let counts = self.read(&self.counts, move |connection| counted(connection, period));
        let texts = self.read(&self.texts, move |connection| recent(connection, period));
        let (mut evidence, texts) = tokio::try_join!(counts, texts)?;
        evidence.recent = texts;
        Ok(evidence)
    }

    /// See [`Archive::story`](super::Archive::story).
    pub async fn story(
        &self,
        skill: &str,
        period: Period,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        let skill = skill.to_owned();
        self.read(&self.counts, move |connection| story(connection, &skill, period, limit)).await
    }

    /// See [`Archive::answers`](super::Archive::answers).
    pub async fn answers(&self) -> Result<(), ArchiveError> {
        self.read(&self.texts, |connection| version(connection).map(drop)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        connection: &Arc<Mutex<Connection>>,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let connection = Arc::clone(connection);
        let file = self.file.clone();
        blocking(move || read(&lock(&connection)).map_err(|error| failed(&file, error))).await
    }

    fn failed(&self, reason: impl fmt::Display) -> ArchiveError {
        failed(&self.file, reason)
    }
}

impl Drop for Sqlite {
    /// Waits for what is being written.
    fn drop(&mut self) {
        if let Some((jobs, thread)) = self.writer.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sqlite({})", self.file.display())
    }
}

/// Who writes.
struct Writer {
    file: PathBuf,
    connection: Connection,
    keep: Keep,
}

impl Writer {
    /// Does what it is asked until nobody can ask any more.
    fn work(&mut self, mut waiting: mpsc::Receiver<Job>) {
        let mut next = waiting.blocking_recv();
        while let Some(job) = next.take() {
            next = match job {
                Job::Prune(now, answer) => {
                    let _ = answer.send(self.prune(now).map_err(|error| failed(&self.file, error)));
                    None
                }
                Job::Take(batch, first) => {
                    let (group, answers, other) = Group::gathered((batch, first), &mut waiting);
                    let written = self.write(&group).map_err(|error| failed(&self.file, error));
                    answer(answers, written);
                    other
                }
            };
            next = next.or_else(|| waiting.blocking_recv());
        }
    }

    fn write(&mut self, group: &Group) -> rusqlite::Result<Vec<Taken>> {
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let new = inserted(&transaction, group)?;
        add(&transaction, &group.counts(&new))?;
        if group.expired() > 0 {
            transaction.execute(
                "INSERT INTO meta (name, value) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                params![schema::EXPIRED, signed(group.expired())],
            )?;
        }
        transaction.commit()?;
        Ok(group.taken(&new))
    }

    /// Forgets a little; whether there may be more to forget.
    fn prune(&mut self, now: i64) -> rusqlite::Result<bool> {
        for pile in PILES {
            let forgotten = self.connection.execute(
                "DELETE FROM events WHERE rowid IN
                 (SELECT rowid FROM events WHERE pile = ?1 AND at < ?2 LIMIT ?3)",
                params![pile, self.keep.events_from(now), FEW],
            )?;
            if forgotten > 0 {
                return Ok(true);
            }
        }
        let forgotten = self.connection.execute(
            "DELETE FROM counts WHERE day = (SELECT MIN(day) FROM counts) AND day < ?1",
            [self.keep.counts_from(now)],
        )?;
        Ok(forgotten > 0)
    }
}

/// Which rows are new: those that could be inserted.
fn inserted(connection: &Connection, group: &Group) -> rusqlite::Result<Vec<bool>> {
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

fn add(connection: &Connection, counts: &[Count]) -> rusqlite::Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO counts (day, metric, subject, detail, bucket, n, total)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO UPDATE SET n = n + excluded.n, total = total + excluded.total",
    )?;
    for Count { day, key, sum } in counts {
        let Key { metric, subject, detail, bucket } = key;
        let (n, total) = (signed(sum.n), signed(sum.total));
        add.execute(params![day, metric.word(), subject, detail, bucket, n, total])?;
    }
    Ok(())
}

/// The counts of a period, by key and by day, of one moment.
fn counted(connection: &Connection, period: Period) -> rusqlite::Result<Evidence> {
    let moment = connection.unchecked_transaction()?;
    let mut evidence = Evidence::default();
    let mut select = moment.prepare_cached(
        "SELECT metric, subject, detail, bucket, SUM(n), CAST(TOTAL(total) AS INTEGER) FROM counts
         WHERE day BETWEEN ?1 AND ?2 GROUP BY metric, subject, detail, bucket",
    )?;
    let mut rows = select.query([period.from, period.to])?;
    while let Some(row) = rows.next()? {
        let Some(metric) = Metric::of(row.get_ref(0)?.as_str()?) else { continue };
        let key = Key { metric, subject: row.get(1)?, detail: row.get(2)?, bucket: row.get(3)? };
        let sum = Sum { n: unsigned(row.get(4)?), total: unsigned(row.get(5)?) };
        evidence.tally.insert(key, sum);
    }
    let mut select = moment.prepare_cached(
        "SELECT day, metric, SUM(n), CAST(TOTAL(total) AS INTEGER) FROM counts
         WHERE day BETWEEN ?1 AND ?2 GROUP BY day, metric",
    )?;
    evidence.days = by_day(&mut select.query([period.from, period.to])?)?;
    Ok(evidence)
}

/// Rows of day, metric, how often and how much, in order.
fn by_day(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Vec<(i64, Metric, Sum)>> {
    let mut days = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(metric) = Metric::of(row.get_ref(1)?.as_str()?) else { continue };
        let sum = Sum { n: unsigned(row.get(2)?), total: unsigned(row.get(3)?) };
        days.push((row.get(0)?, metric, sum));
    }
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    Ok(days)
}

/// The latest of each pile of texts, newest first.
fn recent(connection: &Connection, period: Period) -> rusqlite::Result<Vec<Recorded>> {
    let moment = connection.unchecked_transaction()?;
    let (from, to) = period.millis();
    let mut select = moment.prepare_cached(
        "SELECT body, at FROM events WHERE pile = ?1 AND at >= ?2 AND at < ?3
         ORDER BY at DESC, event_id DESC LIMIT ?4",
    )?;
    let mut found = Vec::new();
    for pile in piles_of_texts() {
        read(&mut select.query(params![pile, from, to, signed(RECENT as u64)])?, &mut found)?;
    }
    found.sort_unstable_by_key(|(at, recorded)| std::cmp::Reverse((*at, recorded.event_id)));
    Ok(found.into_iter().map(|(_, recorded)| recorded).collect())
}

/// Rows of an event's text and its time. What a newer version wrote is passed over.
fn read(rows: &mut rusqlite::Rows<'_>, found: &mut Vec<(i64, Recorded)>) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        if let Ok(recorded) = Recorded::read(row.get_ref(0)?.as_str()?) {
            found.push((row.get(1)?, recorded));
        }
    }
    Ok(())
}

fn story(
    connection: &Connection,
    skill: &str,
    period: Period,
    limit: usize,
) -> rusqlite::Result<Story> {
    let moment = connection.unchecked_transaction()?;
    // Day by day and metric by metric, each is one place in the index; a range of days would be all skills' counts.
    let mut select = moment.prepare_cached(
        "WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day < ?2)
         SELECT days.day, metrics.value, SUM(n), CAST(TOTAL(total) AS INTEGER)
         FROM days CROSS JOIN json_each(?4) AS metrics CROSS JOIN counts
         ON counts.day = days.day AND counts.metric = metrics.value AND counts.subject = ?3
         GROUP BY days.day, metrics.value",
    )?;
    let metrics = serde_json::json!(metrics_of_skills().collect::<Vec<_>>()).to_string();
    let days = by_day(&mut select.query(params![period.from, period.to, skill, metrics])?)?;
    let (from, to) = period.millis();
    let mut select = moment.prepare_cached(
        "SELECT body, at FROM events WHERE skill = ?1 AND at >= ?2 AND at < ?3
         ORDER BY at DESC, event_id DESC LIMIT ?4",
    )?;
    let mut found = Vec::new();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![skill, from, to, limit])?, &mut found)?;
    Ok(Story { days, recent: found.into_iter().map(|(_, recorded)| recorded).collect() })
}

/// A connection that writes; the file is made for its owner alone, since it holds what people asked for.
fn made(file: &Path) -> Result<Connection, Box<dyn std::error::Error>> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(file)?);
    let connection = Connection::open(file)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    Ok(connection)
}

/// Takes the steps that are missing.
fn migrate(file: &Path, connection: &Connection) -> Result<(), ArchiveError> {
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

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let select = "SELECT value FROM meta WHERE name = ?1";
    let version = connection.query_row(select, [schema::VERSION], |row| row.get(0)).optional()?;
    Ok(version.unwrap_or(0))
}

fn newest(file: &Path, version: i64) -> Result<(), ArchiveError> {
    let known = i64::try_from(schema::SQLITE.len()).unwrap_or(i64::MAX);
    if version > known {
        return Err(ArchiveError::Newer { place: place(file), version, known });
    }
    Ok(())
}

fn place(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

fn failed(file: &Path, reason: impl fmt::Display) -> ArchiveError {
    let hint = "check that the file is one of skills-mcp, that it and its folder may be written and that the disk has room";
    ArchiveError::Failed { place: place(file), reason: reason.to_string(), hint }
}

fn now() -> i64 {
    i64::try_from(clock::since_epoch().as_millis()).unwrap_or(i64::MAX)
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ArchiveError::Failed {
            place: "an archive".to_owned(),
            reason: error.to_string(),
            hint: "this is a bug in skills-mcp; please report it",
        }),
    }
}
