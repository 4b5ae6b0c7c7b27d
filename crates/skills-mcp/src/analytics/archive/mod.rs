//! Where events were kept, asked for what a report needs.
//!
//! All archives answer alike: a test gives the same events to each and compares.

pub mod lines;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use thiserror::Error;

use super::tally::{self, Metric, Sum, Tally};
use crate::{
    clock,
    event::{Event, Recorded},
};

/// A day in milliseconds.
const DAY_MILLIS: i64 = 86_400_000;

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

impl Evidence {
    /// What evidence is, said in the plainest way, of any events. Archives answer the same, quicker; tests compare.
    pub fn of(events: impl IntoIterator<Item = Recorded>, period: Period) -> Self {
        let mut evidence = Self::default();
        let mut days: BTreeMap<(i64, Metric), Sum> = BTreeMap::new();
        let (mut seen, mut recent) = (HashSet::new(), Vec::new());
        for recorded in events {
            let Some(millis) = clock::millis_of(&recorded.timestamp) else { continue };
            let day = millis.div_euclid(DAY_MILLIS);
            if !period.has(day) || !seen.insert(recorded.event_id) {
                continue;
            }
            tally::count(&mut evidence.tally, &recorded);
            tally::each(&recorded, |metric, _, _, _, total| {
                days.entry((day, metric)).or_default().add(Sum { n: 1, total });
            });
            if let Some(kind) = kept(&recorded.event) {
                recent.push((millis, recorded.event_id, kind, recorded));
            }
        }
        recent.sort_by_key(|(millis, id, ..)| Reverse((*millis, *id)));
        let mut room = [RECENT; KINDS];
        for (_, _, kind, recorded) in recent {
            if let Some(room) = room.get_mut(kind).filter(|room| **room > 0) {
                *room -= 1;
                evidence.recent.push(recorded);
            }
        }
        evidence.days = days.into_iter().map(|((day, metric), sum)| (day, metric, sum)).collect();
        evidence
    }
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

/// Why an archive does not answer. It names the file or the database, and never a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// It is none that we know.
    #[error("`{0}` names no archive")]
    Address(String),
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
}

impl ArchiveError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => "name one as sqlite:FILE or postgres://USER@HOST/DATABASE",
            Self::Failed { hint, .. } => hint,
        }
    }
}

impl Archive {
    /// What a report of this period is made of.
    pub async fn evidence(&self, period: Period) -> Result<Evidence, ArchiveError> {
        match self {
            Self::Lines(lines) => {
                let (lines, place) = (lines.clone(), lines.place());
                beside(place, move || lines.evidence(period)).await
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
                let (lines, place, skill) = (lines.clone(), lines.place(), skill.to_owned());
                beside(place, move || lines.story(&skill, period, limit)).await
            }
        }
    }
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
