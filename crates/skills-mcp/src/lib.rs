//! One binary that serves skills to AI coding agents over MCP.
//!
//! The rooms, in the order data flows. A room looks only at rooms above it; a test holds the line.

// Events are named by most modules, and the clock by many.
pub use skills_usage::{clock, event, telemetry};

pub mod config;

pub mod programs;

pub mod removal;

pub mod source;

pub mod store;

pub mod script;

pub mod usage;

pub mod surface;

pub mod transport;

pub mod cli;
