//! Where events were kept, asked for what a report needs.
//!
//! All archives answer alike: a test gives the same events to each and compares.

pub mod lines;

use thiserror::Error;

use super::tally::{Metric, Sum, Tally};
use crate::event::{Event, Recorded};

/// Of each kind of event whose texts matter, the latest so many are looked at.
pub const RECENT: usize = 5_000;

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
}

/// What a report is made of.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The counts of the period.
    pub tally: Tally,
    /// How often and how much each metric had on each day: (day, metric) in order, all subjects together.
    pub days: Vec<(i64, Metric, Sum)>,
    /// The latest events, newest first, at most [`RECENT`] of each kind: no match, ambiguous, feedback, searches that
    /// showed nothing, and skills served with a context.
    pub recent: Vec<Recorded>,
}

/// What happened to one skill.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Its counts on each day: (day, metric) in order.
    pub days: Vec<(i64, Metric, Sum)>,
    /// Its latest events, newest first.
    pub recent: Vec<Recorded>,
}

/// Somewhere events were kept.
#[derive(Debug)]
pub enum Archive {
    /// The history file of this machine.
    Lines(lines::Lines),
}

/// Why an archive does not answer.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The history file is there and cannot be read.
    #[error("{file} cannot be read: {error}")]
    File {
        /// Which.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// Whoever read gave up.
    #[error("reading the events did not end well; please report it")]
    Lost,
}

impl Archive {
    /// What a report of this period is made of.
    pub async fn evidence(&self, period: Period) -> Result<Evidence, ArchiveError> {
        match self {
            Self::Lines(lines) => {
                let lines = lines.clone();
                beside(move || lines.evidence(period)).await
            }
        }
    }

    /// What happened to one skill, with at most so many of its latest events.
    pub async fn story(
        &self,
        skill: &str,
        period: Period,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        match self {
            Self::Lines(lines) => {
                let (lines, skill) = (lines.clone(), skill.to_owned());
                beside(move || lines.story(&skill, period, limit)).await
            }
        }
    }
}

/// Files are read on a thread that may wait.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ArchiveError::Lost))
}

/// Whether a metric's subject is a skill; of the others it is a type, a server or a tool, which may be called the same.
pub fn is_of_a_skill(metric: Metric) -> bool {
    !matches!(metric, Metric::Event | Metric::Server | Metric::Latency)
}

/// Of which kind of events whose texts matter this is one, if it is.
pub fn kept(event: &Event) -> Option<usize> {
    match event {
        Event::NoMatch(_) => Some(0),
        Event::Ambiguous(_) => Some(1),
        Event::SkillFeedback(_) => Some(2),
        Event::SkillSearched(search) => search.shown.is_empty().then_some(3),
        Event::SkillServed(served) => served.context.is_some().then_some(4),
        Event::AssetServed(_) | Event::ScriptExecuted(_) | Event::Refresh(_) => None,
    }
}

/// How many kinds [`kept`] tells apart.
pub const KINDS: usize = 5;
