//! Words → a verdict: which skill fits a request.
//!
//! Deterministic, free of side effects, bounded. In: a catalog and a request's text. Out: a [`RouteVerdict`]. Not
//! here: how a verdict is worded for an agent (surface), what the chosen skill says (resolve).

pub mod authoring;
mod catalog_search;
mod excerpt;
mod index;
mod keyword;
pub mod ranked;
mod verdict;

pub use catalog_search::{clauses, search, search_text};
pub use excerpt::excerpt;
pub use index::Router;
pub use keyword::matches;
pub use verdict::{KeywordHit, Matching, RouteVerdict, Score};

pub use crate::tokens::{stem, tokenize};

/// Tools refuse a longer request, events keep no more of one, and a search reads no further.
pub const MAX_REQUEST_CHARS: usize = 20_000;
