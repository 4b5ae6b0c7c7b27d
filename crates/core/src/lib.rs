//! What a skill is, how the right one is found, and what an agent receives.
//!
//! Data flows one way: text → [`document`] → [`catalog`] → [`route`] / [`resolve`]; [`check`] finds what its author
//! should change. Values in, values out.
//! Deliberately not here: disk, clock, environment, processes, threads, network, JSON, any protocol; all of that is
//! the caller's part.

pub mod catalog;
pub mod check;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod estimate;
pub mod packed;
pub mod relpath;
pub mod resolve;
pub mod route;
mod sorted;
mod tokens;
pub mod yaml;
