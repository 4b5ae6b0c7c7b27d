//! Bytes and MCP's own types: the official SDK is used here and nowhere else.
//!
//! In: a dispatcher of calls. Out: a server on the standard streams, for every protocol revision from
//! 2024-11-05 to 2026-07-28; and a client, for those commands that look at a server from outside. Not here:
//! what any tool says.

mod client;
mod encode;
mod extension;
mod handler;
#[cfg(feature = "http")]
mod http;
mod in_flight;
mod lines;
mod list;
mod notify;
mod overlong;
mod progress;
mod prompt;
mod resource;
mod shutdown;
mod stdio;
mod streams;
mod subscription;
mod traced;

pub use client::{Client, ClientError, Era, Tried};
pub use handler::Handler;
#[cfg(feature = "http")]
pub use http::{Gate, GateSettings, MCP_PATH, serve_http};
pub use lines::Lines;
pub use shutdown::{logged_signal, signal};
pub use stdio::{Ended, serve};
