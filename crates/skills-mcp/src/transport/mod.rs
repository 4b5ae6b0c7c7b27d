//! Bytes: the official SDK lives here and nowhere else.
//!
//! In: a store and a table of tools. Out: a server on the standard streams, for every protocol revision from
//! 2024-11-05 to 2026-07-28; and a client, for those commands that look at a server from outside. Not here:
//! what any tool says.

mod announce;
mod client;
mod handler;
mod in_flight;
mod lines;
mod overlong;
mod progress;
mod resource;
mod shutdown;
mod stdio;
mod watched;

pub use client::{Client, ClientError, Era, Tried};
pub use handler::Handler;
pub use lines::Lines;
pub use shutdown::signal;
pub use stdio::{Ended, serve};
