//! Words → a verdict: which skill fits a request.
//!
//! Deterministic, free of side effects, bounded. In: a catalog and a request's text. Out: a [`Verdict`]. Not
//! here: how a verdict is worded for an agent (surface), what the chosen skill says (resolve).

mod excerpt;
mod index;
mod keyword;
pub mod ranked;
mod verdict;

pub use excerpt::excerpt;
pub use index::Router;
pub use keyword::matches;
pub use verdict::{Hit, Matching, Score, Verdict};

pub use crate::tokens::{stem, tokenize};
