//! HTTP with limits, for whatever this workspace serves or asks over it.
//!
//! A module uses only the modules above it; a test checks that. Not here: what is served, what a skill or an event is.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests open sockets on this machine")
)]

pub mod public;

#[cfg(feature = "server")]
pub mod log_limit;

#[cfg(feature = "client")]
pub mod client;

#[cfg(feature = "server")]
pub mod guard;

#[cfg(feature = "authorization")]
pub mod bearer;

#[cfg(feature = "authorization")]
mod signatures;

#[cfg(feature = "authorization")]
pub mod issuer;

#[cfg(feature = "authorization")]
pub mod webhook;

#[cfg(feature = "server")]
mod connections;

#[cfg(feature = "server")]
pub mod rate;

#[cfg(feature = "server")]
mod slow;

#[cfg(feature = "server")]
pub mod shares;

#[cfg(feature = "server")]
mod answers;

#[cfg(feature = "server")]
pub mod serving;

#[cfg(feature = "server")]
pub mod bodies;

#[cfg(feature = "server")]
pub mod places;
