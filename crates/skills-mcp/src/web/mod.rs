//! What a browser or another server sees over HTTP: the page, and the collector's requests.
//!
//! Whoever asks is a stranger until host, origin and token say otherwise. Not here: what a report says, where events
//! are kept.

pub mod page;
