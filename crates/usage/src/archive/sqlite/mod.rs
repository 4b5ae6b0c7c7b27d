//! Events in a file of SQLite: one connection writes, on a thread of its own; others read beside it.
//!
//! Whatever waits while a transaction is written goes into the next one together. What was answered survives the end of
//! this process and of the machine, whichever way it comes (`synchronous = FULL`): its sender has no copy any more.

mod read;
mod write;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};
use write::{SqliteWriter, WriteJob, made, migrate};

use super::{
    ArchiveError, Evidence, Keep, Period, Story, Taken,
    cardinality::{CardinalityLimit, ClientLimit},
    group::{IncomingBatch, MAX_WAITING_BATCHES, TakenReply},
    schema,
};
use crate::{clock, event::RecordedEvent};

/// For another process's transaction on the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two of these others get their turn.
const PRUNE_PAUSE: Duration = Duration::from_millis(20);

/// A file of events.
pub struct Sqlite {
    file: PathBuf,
    keep: Keep,
    writer: Option<(mpsc::Sender<WriteJob>, JoinHandle<()>)>,
    /// Reads counts and stories.
    counts: Arc<Mutex<Connection>>,
    /// Reads texts.
    texts: Arc<Mutex<Connection>>,
    /// Is asked whether it answers, and waits for no report.
    pulse: Arc<Mutex<Connection>>,
}

impl Sqlite {
    /// Opens a file to write it, and makes it if need be.
    pub async fn open(file: &Path, keep: Keep) -> Result<Self, ArchiveError> {
        let path = file.to_path_buf();
        blocking(move || {
            let connection = made(&path).map_err(|error| failed(&path, error))?;
            migrate(&path, &connection)?;
            let (jobs, waiting) = mpsc::channel(MAX_WAITING_BATCHES);
            let mut writer = SqliteWriter {
                file: path.clone(),
                connection,
                keep,
                cardinality: CardinalityLimit::default(),
                clients: ClientLimit::default(),
            };
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
            newest(&sqlite.file, version)?;
            not_older(&sqlite.file, version).map(|()| sqlite)
        })
        .await
    }

    fn reading(
        file: PathBuf,
        keep: Keep,
        writer: Option<(mpsc::Sender<WriteJob>, JoinHandle<()>)>,
    ) -> Result<Self, ArchiveError> {
        let reader = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&file, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "cache_size", -32_768)?;
            Ok(Arc::new(Mutex::new(connection)))
        };
        let opened = reader().and_then(|counts| Ok((counts, reader()?, reader()?)));
        let (counts, texts, pulse) =
            opened.map_err(|error: rusqlite::Error| failed(&file, error))?;
        Ok(Self { file, keep, writer, counts, texts, pulse })
    }

    /// See [`Archive::take`](super::Archive::take).
    pub async fn take(&self, events: Vec<RecordedEvent>) -> Result<Taken, ArchiveError> {
        let received = now();
        let batch = IncomingBatch::of(events, received, self.keep);
        self.ask(|answer| WriteJob::Take(batch, answer)).await
    }

    /// See [`Archive::prune`](super::Archive::prune).
    pub async fn prune(&self, now: i64) -> Result<(), ArchiveError> {
        while self.ask(|answer| WriteJob::Prune(now, answer)).await? {
            tokio::time::sleep(PRUNE_PAUSE).await;
        }
        Ok(())
    }

    async fn ask<T>(&self, job: impl FnOnce(TakenReply<T>) -> WriteJob) -> Result<T, ArchiveError> {
        let (answer, answered) = oneshot::channel();
        let (jobs, _) = self.writer.as_ref().ok_or_else(|| self.failed("opened to be read"))?;
        jobs.send(job(answer)).await.map_err(|_| self.failed("its writer has ended"))?;
        answered.await.map_err(|_| self.failed("its writer has ended"))?
    }

    /// See [`Archive::evidence`](super::Archive::evidence).
    pub async fn evidence(
        &self,
        period: Period,
        client: Option<&str>,
    ) -> Result<Evidence, ArchiveError> {
        let client = client.map(str::to_owned);
        let of = client.clone();
        let counts = self
            .read(&self.counts, move |connection| read::counted(connection, period, of.as_deref()));
        let of = client.clone();
        let texts = self
            .read(&self.texts, move |connection| read::recent(connection, period, of.as_deref()));
        let (counted, recent) = tokio::try_join!(counts, texts)?;
        Ok(Evidence { client, recent, ..counted })
    }

    /// See [`Archive::story`](super::Archive::story).
    pub async fn story(
        &self,
        skill: &str,
        period: Period,
        client: Option<&str>,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        let (skill, client) = (skill.to_owned(), client.map(str::to_owned));
        let period = period.bounded();
        self.read(&self.counts, move |connection| {
            read::story(connection, &skill, period, client.as_deref(), limit)
        })
        .await
    }

    /// See [`Archive::answers`](super::Archive::answers).
    pub async fn answers(&self) -> Result<(), ArchiveError> {
        self.read(&self.pulse, |connection| version(connection).map(drop)).await
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

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let select = "SELECT value FROM meta WHERE name = ?1";
    let version = connection.query_row(select, [schema::VERSION], |row| row.get(0)).optional()?;
    Ok(version.unwrap_or(0))
}

/// The version of the tables that this program makes.
fn known_version() -> i64 {
    i64::try_from(schema::SQLITE.len()).unwrap_or(i64::MAX)
}

fn newest(file: &Path, version: i64) -> Result<(), ArchiveError> {
    let known = known_version();
    if version > known {
        return Err(ArchiveError::Newer { place: place(file), version, known });
    }
    Ok(())
}

fn not_older(file: &Path, version: i64) -> Result<(), ArchiveError> {
    let known = known_version();
    if version < known {
        return Err(ArchiveError::Older { place: place(file), version, known });
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

#[cfg(test)]
mod tests {
    use rusqlite::params;
    use skills_testkit::Home;

    use super::*;
    use crate::tally::Metric;

    #[test]
    fn c07_tables_of_an_older_program_are_brought_up_to_date_when_they_are_opened_to_write() {
        let home = Home::new();
        let file = home.path().join("events.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(schema::META).unwrap();
        connection.execute_batch(schema::SQLITE[0]).unwrap();
        let insert = "INSERT INTO meta VALUES (?1, 1)";
        connection.execute(insert, [schema::VERSION]).unwrap();
        let insert = "INSERT INTO counts VALUES (20500, 'served', 'a', 'codex', 0, 3, 900)";
        connection.execute(insert, []).unwrap();
        let insert =
            "INSERT INTO events VALUES (?1, ?2, ?2, 'refresh', '', 'dev-ada', 'codex', NULL, '{}')";
        let at = 20_500 * clock::DAY_MILLIS;
        connection.execute(insert, params![[7_u8; 16], at]).unwrap();
        connection.execute(insert, params![[8_u8; 16], at + 5]).unwrap();
        drop(connection);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let refused = Sqlite::look(&file).await.unwrap_err();
            assert!(matches!(refused, ArchiveError::Older { version: 1, .. }), "{refused}");
            assert!(refused.hint().contains("skills-mcp collect"));
            let archive = Sqlite::open(&file, Keep::default()).await.unwrap();
            let period = Period { from: 20_500, to: 20_500 };
            let evidence = archive.evidence(period, None).await.unwrap();
            let counted: Vec<_> = evidence.tally.iter().collect();
            let [(key, sum)] = counted.as_slice() else { panic!("{counted:?}") };
            assert_eq!((key.metric, &*key.subject, &*key.detail), (Metric::Served, "a", "codex"));
            assert_eq!((sum.n, sum.total), (3, 900));
            let [seen] = evidence.sightings.as_slice() else { panic!("{:?}", evidence.sightings) };
            assert_eq!((&*seen.of.server_id, &*seen.of.client), ("dev-ada", "codex"));
            assert_eq!((seen.first, seen.last), (at, at + 5));
            let of_one = archive.evidence(period, Some("codex")).await.unwrap();
            assert!(of_one.tally.is_empty(), "who was served was not counted then");
        });
        assert!(runtime.block_on(Sqlite::look(&file)).is_ok());
    }
}
