//! A request in words → the skills it most likely means, best first.
//!
//! Three terms add up to a score: BM25F over name, description, headings and body; how much of the name the
//! request covers; how completely it covers single clauses of the description. The constants were chosen on real
//! requests and are not for tuning: on a few hundred requests tuning loses. Data flows one way:
//! [`Text`] → [`Entry`] → [`Ranked`] → [`Ranking`]. An index changes skill by skill: fresh entries lie over a base and
//! are merged into the next one when they have become many. Not here: when that is, models, learning, and the
//! decision that nothing fits, which scores of words cannot carry.

mod asked;
mod base;
mod clauses;
mod counts;
mod dictionary;
mod entry;
mod index;
mod lists;
mod masses;
mod numbers;
mod outlines;
mod request;
mod scale;
mod search;
mod sums;
mod term;
mod tokens;
mod words;

pub use entry::{Entry, Text};
pub use index::Ranked;
pub use search::{Hit, Ranking};
pub use tokens::Tokenizer;
