//! Words → a decision: which skill fits a request.
//!
//! Deterministic, free of side effects, bounded. In: a catalog and a request's text. Out: a [`Decision`], made of the keyword
//! formula's [`RouteVerdict`] and a ranking. Not here: how a decision is worded for an agent (surface), what the chosen skill
//! says (resolve).

pub mod authoring;
mod catalog_search;
mod decision;
mod excerpt;
mod excluded;
mod index;
mod keyword;
pub mod ranked;
mod verdict;

pub use catalog_search::{clauses, own_name, search, search_text};
pub use decision::{Candidate, DecidedBy, Decision, SkillOffer};
pub use excerpt::excerpt;
pub use excluded::Exclusions;
pub use index::Router;
pub use keyword::matches;
pub use verdict::{Deciders, KeywordHit, Matching, RouteVerdict, Score};

pub use crate::tokens::{stem, tokenize};

/// Tools refuse a longer request, events keep no more of one, and a search reads no further.
pub const MAX_REQUEST_CHARS: usize = 20_000;
