//! What a browser or another server sees over HTTP: the page, and the collector's requests.
//!
//! Whoever asks is a stranger until host, origin and token say otherwise. Not here: what a report says, where events
//! are kept.

mod collector;
mod connections;
mod door;
mod login;
mod page;
mod serving;

pub use collector::{Collector, keep_pruned};
pub use door::{Door, DoorError, Refused, Tokens};
pub use login::login;
pub use page::{Pages, pages};
pub use serving::{guarded, serve};
