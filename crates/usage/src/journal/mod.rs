//! Events on disk: each is one line.
//!
//! Two files: the history, which is kept, and the buffer, which holds what is yet to be sent. Many processes append to
//! both, each under a lock that the system takes back from the dead. A write that has returned is not lost by `kill -9`;
//! one that was cut short leaves a torn line, which its [check](checked) betrays and readers pass over. Not here: where
//! events come from (`recorder`), and how they are sent (`sender`).

pub(crate) mod disk;
pub(crate) mod folder;
mod line;
pub(crate) mod lines;
pub(crate) mod state;
mod streaks;
mod writer;

pub use folder::{JournalFolder, Segment};
pub(crate) use line::verified;
pub use line::{MAX_LINE_BYTES, checked};
pub use state::SenderState;
pub(crate) use streaks::Streaks;
pub(crate) use writer::Losses;
pub use writer::{JournalWriter, history};
