//! What needs programs that a plain machine may not have: a PostgreSQL of its own, a browser. Plain `cargo test` leaves it
//! out; `scripts/test` runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that meets the unexpected has failed, and tests make and look at real files"
)]

mod cluster;
mod packages;
mod page;
mod postgres;
#[path = "../it/recount.rs"]
mod recount;
mod sdk;
mod tools;
#[path = "../it/usage.rs"]
mod usage;
