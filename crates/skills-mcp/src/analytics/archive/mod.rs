//! Where events were kept, asked for what a report needs.
//!
//! All archives answer alike: a test gives the same events to each and compares.

use super::tally::{Metric, Sum, Tally};
use crate::event::Recorded;

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
