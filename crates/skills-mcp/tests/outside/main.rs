//! What needs programs that a plain machine may not have: a PostgreSQL of its own, a browser, a proxy, clients from npm and Python. Plain `cargo test` leaves it
//! out; `scripts/test` runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that meets the unexpected has failed, and tests make and look at real files"
)]

mod browse;
mod check;
mod cluster;
mod completions;
mod compose;
mod deploy;
mod extension;
mod packages;
mod page;
mod pictures;
mod postgres;
#[path = "../it/recount.rs"]
mod recount;
mod replicas;
mod sdk;
#[cfg(feature = "http")]
mod sign_in;
mod tools;
#[path = "../it/usage.rs"]
mod usage;
