//! One binary that serves skills to AI coding agents over MCP.
//!
//! The rooms, in the order data flows. A room looks only at rooms above it; a test holds the line.

pub mod clock;

pub mod paths;

pub mod event;

pub mod config;

pub mod programs;

pub mod network;

pub mod removal;

pub mod source;

pub mod store;

pub mod script;

pub mod analytics;

pub mod telemetry;

pub mod surface;

pub mod transport;

pub mod web;

pub mod cli;
