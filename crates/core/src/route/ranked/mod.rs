//! A request in words → the skills it most likely means, best first.
//!
//! Four terms add up to a score: BM25F over name, description and body; how much of the name the request covers; how completely
//! it covers single clauses of the description; how much of the request a skill has. The constants were chosen on real requests
//! of two origins, each publisher left out once, and are not for tuning. Data flows one way:
//! [`SearchText`] → [`SearchEntry`] → [`RankedIndex`] → [`Ranking`]. An index changes skill by skill: fresh entries overlay a base and
//! are merged into the next one when they have become many. Not here: when to merge, models, learning, and the
//! decision that nothing fits, which word scores cannot make.

mod base;
mod clause_weights;
pub(in crate::route) mod clauses;
mod counts;
mod dictionary;
mod entry;
mod evidence;
mod family;
mod index;
mod outlines;
mod posting_list;
mod query;
mod query_terms;
mod scale;
mod search;
mod term;
mod tokens;
mod varint;
mod words;

pub use entry::{SearchEntry, SearchText};
pub use evidence::{Certainty, MAX_SUGGESTED, MatchEvidence};
pub use family::{Family, FamilyMember};
pub use index::RankedIndex;
pub use search::{Ranking, SearchHit, SearchScope};
pub use tokens::Tokenizer;
