//! Other programs' configuration: which clients are on this machine, and which of their entries start this server.
//!
//! Not here: what a client is (`clients`), and what a person is asked and shown (`cli`).

mod entries;
mod file;
mod installed;
mod place;
mod tree;

pub use entries::{EntrySources, FoundEntry, Launcher, UnreadFile};
pub use installed::{ClientEvidence, InstalledClient, installed_clients};
pub use place::{EntryScope, project_root};
pub use tree::{FileLanguage, TreeError};
