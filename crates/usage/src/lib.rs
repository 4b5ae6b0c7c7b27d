//! What was used, what helped, what was missing: events are recorded, kept, sent, counted and reported.
//!
//! The server records events and never waits for them. An event adds to a few [counts](tally), the same ones wherever it is
//! kept, so that a file, SQLite and PostgreSQL give the same [`UsageReport`](report::UsageReport). A module uses only the modules above
//! it; a test checks that. Not here: which tool records which event, and where settings come from.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests make and inspect real files and sockets")
)]

pub mod clock;

pub mod event;

pub mod served;

pub mod settings;

#[cfg(feature = "full")]
pub mod tally;

#[cfg(feature = "full")]
pub mod journal;

#[cfg(feature = "full")]
pub mod sender;

#[cfg(feature = "full")]
pub mod recorder;

#[cfg(feature = "full")]
pub mod archive;

#[cfg(feature = "full")]
pub mod report;

#[cfg(feature = "full")]
pub mod learning;

#[cfg(feature = "full")]
pub mod outlook;

pub mod telemetry;

#[cfg(feature = "full")]
pub mod web;

#[cfg(test)]
#[cfg(feature = "full")]
mod kill_points;
#[cfg(test)]
#[cfg(feature = "full")]
mod sample;
