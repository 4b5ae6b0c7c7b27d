//! Pages for people: values in, HTML out.
//!
//! The [frame] and the [escaping](shown) of every page of this program, [Markdown](markdown) made harmless, and the pages of the
//! catalog: [`catalog`], [`search`], [`skill`]. A module uses only the modules above it; a test checks that. Not here: where values
//! come from, files, requests, and the statistics (`skills-usage`, whose templates extend the same frame).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests read the templates"))]

pub use askama::Error as PageError;

pub mod shown;

pub mod format;

pub mod frame;

pub mod markdown;

pub mod catalog;

pub mod search;

pub mod skill;

#[cfg(test)]
mod tests;
