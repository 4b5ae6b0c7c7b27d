//! Events in a database of PostgreSQL, of which several collectors may write one.
//!
//! One connection writes and takes whatever waits together: several would only wait for each other at the counts that
//! every batch adds to. One reads, of one moment each time; one only asks whether the database is there. A lost connection is made anew when it is next needed, and what
//! was under way is done once more: an event is known by its number. Not here: how often to try again when the
//! database is away; the sender of the events decides.

mod config;
mod read;
mod write;

use std::{fmt, pin::Pin, time::Duration};

pub use config::Config;
use config::with_cause;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_postgres::{Client, Error, error::SqlState};

use super::{
    ArchiveError, Evidence, Keep, Period, Story, Taken, all_text_kinds,
    group::{IncomingBatch, MAX_WAITING_BATCHES, TakenReply},
};
use crate::{clock, event::RecordedEvent};

/// What takes longer than this is given up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Whether it answers at all is known sooner.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
const TIMED_OUT: &str = "it does not answer in time";
/// Between two deletions others get their turn.
const PRUNE_PAUSE: Duration = Duration::from_millis(20);

/// A database of events.
pub struct Postgres {
    config: Config,
    keep: Keep,
    writer: Option<(mpsc::Sender<write::WaitingBatch>, JoinHandle<()>)>,
    reader: Mutex<Option<Box<Client>>>,
    /// For health checks, which do not wait for a report.
    pulse: Mutex<Option<Box<Client>>>,
}

/// What is asked of a connection.
type DatabaseRequest<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl Postgres {
    /// Opens a database to write it, and makes its tables if need be.
    pub async fn open(config: &Config, keep: Keep) -> Result<Self, ArchiveError> {
        let mut client = config.connect().await?;
        let version = in_time(config, REQUEST_TIMEOUT, write::migrate(&mut client)).await?;
        newest(config, version)?;
        let (jobs, waiting) = mpsc::channel(MAX_WAITING_BATCHES);
        let task = tokio::spawn(write::work(config.clone(), waiting));
        let writer = Some((jobs, task));
        Ok(Self {
            config: config.clone(),
            keep,
            writer,
            reader: Mutex::new(Some(Box::new(client))),
            pulse: Mutex::default(),
        })
    }

    /// Opens a database that is there, to read it.
    pub async fn look(config: &Config) -> Result<Self, ArchiveError> {
        let client = config.connect().await?;
        let version = in_time(config, REQUEST_TIMEOUT, read::version(&client)).await?;
        newest(config, version)?;
        not_older(config, version)?;
        let (reader, pulse) = (Mutex::new(Some(Box::new(client))), Mutex::default());
        Ok(Self { config: config.clone(), keep: Keep::default(), writer: None, reader, pulse })
    }

    /// See [`Archive::take`](super::Archive::take).
    pub async fn take(&self, events: Vec<RecordedEvent>) -> Result<Taken, ArchiveError> {
        let received = i64::try_from(clock::since_epoch().as_millis()).unwrap_or(i64::MAX);
        let batch = IncomingBatch::of(events, received, self.keep);
        let (answer, answered): (TakenReply<Taken>, _) = oneshot::channel();
        let ended = || self.config.failed("its writer has ended");
        let (jobs, _) =
            self.writer.as_ref().ok_or_else(|| self.config.failed("opened to be read"))?;
        jobs.send((batch, answer)).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// See [`Archive::prune`](super::Archive::prune). On a connection of its own, so that no request waits for it.
    pub async fn prune(&self, now: i64) -> Result<(), ArchiveError> {
        let client = self.config.connect().await?;
        let config = &self.config;
        for pile in all_text_kinds() {
            let oldest = self.keep.events_from(now);
            while in_time(config, REQUEST_TIMEOUT, write::forget(&client, pile, oldest)).await? > 0
            {
                sleep(PRUNE_PAUSE).await;
            }
        }
        let oldest = self.keep.events_from(now);
        in_time(config, REQUEST_TIMEOUT, write::forget_sightings(&client, oldest)).await?;
        let oldest = self.keep.counts_from(now);
        while in_time(config, REQUEST_TIMEOUT, write::forget_counts(&client, oldest)).await? > 0 {
            sleep(PRUNE_PAUSE).await;
        }
        Ok(())
    }

    /// See [`Archive::evidence`](super::Archive::evidence).
    pub async fn evidence(
        &self,
        period: Period,
        client: Option<&str>,
    ) -> Result<Evidence, ArchiveError> {
        let of = client.map(str::to_owned);
        self.ask(&self.reader, REQUEST_TIMEOUT, move |connection| {
            let of = of.clone();
            Box::pin(async move { read::evidence(connection, period, of.as_deref()).await })
        })
        .await
    }

    /// See [`Archive::story`](super::Archive::story).
    pub async fn story(
        &self,
        skill: &str,
        period: Period,
        client: Option<&str>,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        let (skill, period) = (skill.to_owned(), period.bounded());
        let of = client.map(str::to_owned);
        self.ask(&self.reader, REQUEST_TIMEOUT, move |connection| {
            let (skill, of) = (skill.clone(), of.clone());
            Box::pin(
                async move { read::story(connection, &skill, period, of.as_deref(), limit).await },
            )
        })
        .await
    }

    /// See [`Archive::answers`](super::Archive::answers).
    pub async fn answers(&self) -> Result<(), ArchiveError> {
        self.ask(&self.pulse, HEALTH_TIMEOUT, |client| {
            Box::pin(async { read::version(client).await.map(drop) })
        })
        .await
    }

    /// Asks over one of the connections, and gives up where that takes too long: waiting for it and making it too.
    async fn ask<T>(
        &self,
        line: &Mutex<Option<Box<Client>>>,
        patience: Duration,
        question: impl for<'b> Fn(&'b mut Client) -> DatabaseRequest<'b, T>,
    ) -> Result<T, ArchiveError> {
        let answer = timeout(patience, self.asked(line, question)).await;
        answer.unwrap_or_else(|_| Err(self.config.failed(TIMED_OUT)))
    }

    /// Asks, and once more over a new connection where the one there was is lost.
    async fn asked<T>(
        &self,
        line: &Mutex<Option<Box<Client>>>,
        question: impl for<'b> Fn(&'b mut Client) -> DatabaseRequest<'b, T>,
    ) -> Result<T, ArchiveError> {
        let mut line = line.lock().await;
        // One that is given up in the middle of an answer is not used again.
        let known = line.take().filter(|client| !client.is_closed());
        let mut again = known.is_some();
        let mut client = match known {
            Some(client) => client,
            None => Box::new(self.config.connect().await?),
        };
        loop {
            match question(&mut client).await {
                Ok(answer) => {
                    *line = Some(client);
                    return Ok(answer);
                }
                Err(error) if again && is_passing(&error) => {
                    again = false;
                    *client = self.config.connect().await?;
                }
                Err(error) => return Err(self.config.failed(with_cause(&error))),
            }
        }
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({})", self.config)
    }
}

/// What the database says, if it does so in time.
async fn in_time<T>(
    config: &Config,
    patience: Duration,
    said: impl Future<Output = Result<T, Error>>,
) -> Result<T, ArchiveError> {
    match timeout(patience, said).await {
        Ok(said) => said.map_err(|error| config.failed(with_cause(&error))),
        Err(_) => Err(config.failed(TIMED_OUT)),
    }
}

/// Whether the same may work when it is tried again: the connection is lost, or another transaction was in the way.
fn is_passing(error: &Error) -> bool {
    let Some(code) = error.code() else { return true };
    let passing = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
    ];
    passing.contains(code)
}

/// The version of the tables that this program makes.
fn known_version() -> i64 {
    i64::try_from(super::schema::POSTGRES.len()).unwrap_or(i64::MAX)
}

fn newest(config: &Config, version: i64) -> Result<(), ArchiveError> {
    let known = known_version();
    if version > known {
        return Err(ArchiveError::Newer { place: config.to_string(), version, known });
    }
    Ok(())
}

fn not_older(config: &Config, version: i64) -> Result<(), ArchiveError> {
    let known = known_version();
    if version < known {
        return Err(ArchiveError::Older { place: config.to_string(), version, known });
    }
    Ok(())
}
