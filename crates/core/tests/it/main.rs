//! The core as its callers see it: text and file names in, catalogs, verdicts and composed text out.
//!
//! One binary, so that it links once. Each module follows the module of the crate it tests; `support` turns one
//! string into a catalog. Nothing here touches the disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers outside #[test] functions fail the test that calls them"
)]

mod catalog;
mod check;
mod decision;
mod document;
mod estimate;
mod incremental;
mod ranked;
mod resolve;
mod route;
mod support;
