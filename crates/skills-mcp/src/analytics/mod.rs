//! What was used, what helped, what was missing: events are kept, sent, counted and reported.
//!
//! It listens to the surface and never speaks back. An event adds to a few [counts](tally), the same ones wherever it is
//! kept, so that a file, SQLite and PostgreSQL give the same [`Report`](report::Report). Not here: what an event is
//! (`event`), pages and requests (`web`).

pub mod archive;
pub mod journal;
pub mod outlook;
pub mod recorder;
pub mod report;
#[cfg(test)]
mod sample;
pub mod sender;
pub mod tally;

/// From so many in a row on, a skill that was called useless is warned of, in the log and in reports.
pub const REPEATEDLY_USELESS: u64 = 3;
