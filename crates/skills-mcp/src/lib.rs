//! One binary that serves skills to AI coding agents over MCP.
//!
//! The modules, in the order data flows. A module uses only the modules above it; a test checks that.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests make and inspect real files and processes")
)]

// Events are named by most modules, and the clock by many.
pub use skills_usage::{clock, event, telemetry};

pub(crate) mod paths;

pub(crate) mod whole_file;

pub mod clients;

pub mod config;

pub(crate) mod programs;

pub(crate) mod removal;

pub mod source;

pub mod store;

pub mod script;

pub mod usage;

pub mod surface;

pub mod connect;

#[cfg(feature = "browse")]
pub mod browse;

pub mod transport;

pub mod cli;
