//! Events on disk: each is one line.
//!
//! Two files: the history, which is kept, and the buffer, which holds what is yet to be sent. Many processes append to
//! both, each under a lock that the system takes back from the dead. A write that has returned is not lost by `kill -9`;
//! one that was cut short leaves a torn line, which its [check](checked) betrays and readers pass over. Not here: who records
//! of events (`recorder`), and who sends them (`sender`).

pub(super) mod disk;
pub(super) mod folder;
mod line;
pub(super) mod lines;
pub(super) mod state;
mod streaks;
mod writer;

pub use folder::{JournalFolder, Segment};
pub use line::{MAX_LINE_BYTES, checked, unchecked, verified};
pub use state::SenderState;
pub use streaks::Streaks;
pub use writer::{JournalWriter, Losses, history};
