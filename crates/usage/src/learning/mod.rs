//! What is learned from events: past requests, and proposals in words.
//!
//! Not here: which proposals are made of them, and how a search learns (core and the server).

mod past;
mod proposals;

pub use past::past_requests;
pub use proposals::ProposalText;
