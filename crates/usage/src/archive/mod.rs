//! Where events were kept, asked for what a report needs.
//!
//! All archives answer alike: a test gives the same events to each and compares. Databases [take](Archive::take) events too:
//! each once, its counts with it or not at all.

mod address;
#[cfg(test)]
mod by_hand;
mod cardinality;
mod group;
mod limits;
pub mod lines;
pub mod postgres;
mod schema;
mod sighting;
pub mod sqlite;

pub use address::Address;
pub(crate) use cardinality::OTHERS;
pub use sighting::{MAX_SIGHTINGS, Sighting};
use thiserror::Error;

use crate::{
    clock::DAY_MILLIS as DAY,
    event::{Event, RecordedEvent},
    tally::{CountSum, Metric, Tally},
};

/// Of each of the `TEXT_KINDS`, in [`Evidence`].
pub const MAX_RECENT_EVENTS: usize = 2_000;

/// Of one skill, in a [`Story`].
pub const MAX_SKILL_EVENTS: usize = 50;

/// Of each of the [`TEXT_KINDS`].
const MAX_TEXT_BYTES: usize = 32 * 1024 * 1024;

const MAX_KEEP_DAYS: i64 = 36_500;

/// Whole days in UTC, as numbers of days since 1970 began; both are part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first day.
    pub from: i64,
    /// The last day.
    pub to: i64,
}

impl Period {
    /// The last so many days, `today` included.
    pub fn last(days: u64, today: i64) -> Self {
        let days = i64::try_from(days.max(1)).unwrap_or(i64::MAX);
        Self { from: today.saturating_sub(days - 1), to: today }
    }

    /// Whether a day is part of it.
    pub fn has(self, day: i64) -> bool {
        (self.from..=self.to).contains(&day)
    }

    /// The same period, as far as anything is ever kept: days are gone through one by one.
    fn bounded(self) -> Self {
        Self { from: self.from.max(self.to.saturating_sub(MAX_KEEP_DAYS)), to: self.to }
    }

    /// Its first millisecond, and the first one after it.
    fn millis(self) -> (i64, i64) {
        (self.from.saturating_mul(DAY), self.to.saturating_add(1).saturating_mul(DAY))
    }
}

/// What a report is made of: of all clients, or of one.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The client that all of this is limited to, but for `clients`.
    pub client: Option<String>,
    /// The clients that called in the period and how often, the most frequent first.
    pub clients: Vec<(String, u64)>,
    /// With what each server was seen, the latest first, at most [`MAX_SIGHTINGS`].
    pub sightings: Vec<Sighting>,
    /// The counts of the period.
    pub tally: Tally,
    /// How often and how much each metric had on each day: (day, metric) in order, all subjects together.
    pub days: Vec<(i64, Metric, CountSum)>,
    /// The latest events, newest first, at most [`MAX_RECENT_EVENTS`] of each kind: no match, ambiguous, feedback, searches that
    /// showed nothing, and skills served with a context.
    pub recent: Vec<RecordedEvent>,
}

/// What happened to one skill.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// How often and how much each metric of the skill had on each day: (day, metric) in order.
    pub days: Vec<(i64, Metric, CountSum)>,
    /// Its latest events, newest first.
    pub recent: Vec<RecordedEvent>,
}

/// How long things are kept, in days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Events, with their texts.
    pub events: u32,
    /// Counts, which hold no texts.
    pub counts: u32,
}

impl Default for Keep {
    fn default() -> Self {
        Self { events: 90, counts: 730 }
    }
}

impl Keep {
    /// Events before this moment are not kept any more.
    fn events_from(self, now: i64) -> i64 {
        now - i64::from(self.events) * DAY
    }

    /// Counts before this day are not kept any more: those of events that are kept always are.
    fn counts_from(self, now: i64) -> i64 {
        (now - i64::from(self.counts.max(self.events)) * DAY).div_euclid(DAY)
    }
}

/// What became of the events that were brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Kept and counted now.
    pub new: u64,
    /// Kept and counted before.
    pub known: u64,
    /// Too old to be kept.
    pub expired: u64,
}

/// Why an archive does not answer. It names the file or the database, and never a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// Its address is of no known kind.
    #[error("`{0}` names no archive")]
    Address(String),
    /// The file that was named is not there.
    #[error("there is no file {0}")]
    NoFile(String),
    /// The file that was named is something else.
    #[error("{0} has no events: none of its lines is one")]
    NoHistory(String),
    /// It does not work.
    #[error("{place}: {reason}")]
    Failed {
        /// The file or the database.
        place: String,
        /// What it said.
        reason: String,
        /// What can be done.
        hint: &'static str,
    },
    /// A newer version made it.
    #[error("{place} has version {version} of the tables, and this program knows {known}")]
    Newer {
        /// The file or the database.
        place: String,
        /// Its version.
        version: i64,
        /// Ours.
        known: i64,
    },
    /// An older version made it, and what only reads it changes no tables.
    #[error("{place} has version {version} of the tables, and this program reads version {known}")]
    Older {
        /// The file or the database.
        place: String,
        /// Its version.
        version: i64,
        /// Ours.
        known: i64,
    },
}

impl ArchiveError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => "name one as sqlite:FILE or postgres://USER@HOST/DATABASE",
            Self::NoFile(_) => {
                "name a history that a server wrote, or leave out --file to read that of `analytics.file`"
            }
            Self::NoHistory(_) => {
                "name a history that a server wrote; an archive is named with --store"
            }
            Self::Failed { hint, .. } => hint,
            Self::Newer { .. } => "use the newer version of skills-mcp",
            Self::Older { .. } => {
                "start `skills-mcp collect` of this version on it, which brings the tables up to date"
            }
        }
    }
}

/// Where events are kept.
#[derive(Debug)]
pub enum Archive {
    /// The history file of this machine.
    Lines(lines::LineArchive),
    /// A file of SQLite.
    Sqlite(sqlite::Sqlite),
    /// A database of PostgreSQL.
    Postgres(postgres::Postgres),
}

impl Archive {
    /// Opens an archive to take events, and makes it ready where it is new.
    pub async fn open(address: &Address, keep: Keep) -> Result<Self, ArchiveError> {
        Ok(match address {
            Address::Sqlite(file) => Self::Sqlite(sqlite::Sqlite::open(file, keep).await?),
            Address::Postgres(config) => {
                Self::Postgres(postgres::Postgres::open(config, keep).await?)
            }
        })
    }

    /// Opens an archive that is there, to be asked only.
    pub async fn look(address: &Address) -> Result<Self, ArchiveError> {
        Ok(match address {
            Address::Sqlite(file) => Self::Sqlite(sqlite::Sqlite::look(file).await?),
            Address::Postgres(config) => Self::Postgres(postgres::Postgres::look(config).await?),
        })
    }

    /// Keeps and counts those of these events that are new. When it returns they are there to stay; where it fails,
    /// none may be, and bringing them again does no harm.
    pub async fn take(&self, events: Vec<RecordedEvent>) -> Result<Taken, ArchiveError> {
        match self {
            Self::Lines(lines) => Err(ArchiveError::Failed {
                place: lines.file().display().to_string(),
                reason: "is a history, which takes no events".to_owned(),
                hint: "name a database: sqlite:FILE or postgres://USER@HOST/DATABASE",
            }),
            Self::Sqlite(sqlite) => sqlite.take(events).await,
            Self::Postgres(postgres) => postgres.take(events).await,
        }
    }

    /// What a report of this period is made of, of all clients or of one.
    pub async fn evidence(
        &self,
        period: Period,
        client: Option<&str>,
    ) -> Result<Evidence, ArchiveError> {
        match self {
            Self::Lines(lines) => {
                let (lines, place) = (lines.clone(), lines.place());
                let client = client.map(str::to_owned);
                beside(place, move || lines.evidence(period, client.as_deref())).await
            }
            Self::Sqlite(sqlite) => sqlite.evidence(period, client).await,
            Self::Postgres(postgres) => postgres.evidence(period, client).await,
        }
    }

    /// One skill's own story, of all clients or of one, with at most so many of its events, and never more than
    /// [`MAX_SKILL_EVENTS`].
    pub async fn story(
        &self,
        skill: &str,
        period: Period,
        client: Option<&str>,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        let limit = limit.min(MAX_SKILL_EVENTS);
        match self {
            Self::Lines(lines) => {
                let (lines, place, skill) = (lines.clone(), lines.place(), skill.to_owned());
                let client = client.map(str::to_owned);
                beside(place, move || lines.story(&skill, period, client.as_deref(), limit)).await
            }
            Self::Sqlite(sqlite) => sqlite.story(skill, period, client, limit).await,
            Self::Postgres(postgres) => postgres.story(skill, period, client, limit).await,
        }
    }

    /// Forgets what is too old at this moment, little by little.
    pub async fn prune(&self, now: i64) -> Result<(), ArchiveError> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Sqlite(sqlite) => sqlite.prune(now).await,
            Self::Postgres(postgres) => postgres.prune(now).await,
        }
    }

    /// Whether it answers.
    pub async fn answers(&self) -> Result<(), ArchiveError> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Sqlite(sqlite) => sqlite.answers().await,
            Self::Postgres(postgres) => postgres.answers().await,
        }
    }
}

/// Clients and how often each called: the most frequent first, and by name what is as frequent.
fn most_calls_first(mut clients: Vec<(String, u64)>) -> Vec<(String, u64)> {
    clients.sort_unstable_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
    clients
}

/// Files are read on a thread that may wait.
async fn beside<T: Send + 'static>(
    place: String,
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    let lost = |error: tokio::task::JoinError| ArchiveError::Failed {
        place,
        reason: error.to_string(),
        hint: "this is a bug in skills-mcp; please report it",
    };
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// Whether a metric's subject is a skill; of the others it is a type, a server or a tool, which may be called the same.
fn is_of_a_skill(metric: Metric) -> bool {
    !matches!(metric, Metric::Event | Metric::Server | Metric::Latency)
}

/// Kinds of events by what their texts are used for, in the column `pile`: the latest of each are part of the evidence.
const TEXT_KINDS: [&str; 5] = ["no_match", "ambiguous", "feedback", "in_vain", "asked"];
/// The kind of all others, whose texts no report reads.
const NO_TEXT_KIND: &str = "";

/// Which of the [`TEXT_KINDS`] an event is.
fn text_kind<S: AsRef<str>>(event: &Event<S>) -> Option<usize> {
    match event {
        Event::NoMatch(_) => Some(0),
        Event::Ambiguous(_) => Some(1),
        Event::SkillFeedback(_) => Some(2),
        Event::SkillSearched(_) => event.fits_none(false).then_some(3),
        Event::SkillServed(served) => served.context.is_some().then_some(4),
        Event::AssetServed(_) | Event::ScriptExecuted(_) | Event::Refresh(_) => None,
    }
}

/// Its name in a database.
fn text_kind_name(event: &Event) -> &'static str {
    text_kind(event).and_then(|kind| TEXT_KINDS.get(kind).copied()).unwrap_or(NO_TEXT_KIND)
}

/// The names of all kinds in a database.
fn all_text_kinds() -> impl Iterator<Item = &'static str> {
    TEXT_KINDS.into_iter().chain([NO_TEXT_KIND])
}

/// What databases call the metrics that count something of a skill.
fn metrics_of_skills() -> impl Iterator<Item = &'static str> {
    Metric::ALL.into_iter().filter(|(metric, _)| is_of_a_skill(*metric)).map(|(_, word)| word)
}
