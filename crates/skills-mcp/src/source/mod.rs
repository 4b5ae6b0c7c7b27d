//! Where skills come from, and the one door to their files.
//!
//! In: directories and repositories somebody named. Out: [`Intake`](skills_core::catalog::Intake)s for the catalog, bytes of files that
//! a catalog knows, and word of what changes. Not here: which file is a skill (core), when to look again (store).

mod assemble;
mod clients;
mod directory;
mod disk;
mod follow;
pub mod git;
mod hint;
mod layout;
mod parallel;
mod plugin_records;
mod plugins;
mod walk;
mod watch;

pub use clients::{AgentDirectory, CLIENTS, NativeClient, client, default_directories};
pub use directory::{Directory, MAX_SKILL_BYTES, SourceError, read_skill};
pub use disk::{DiskError, Identity, LinkPolicy, Links, Root, held_secrets, identity, is_secret};
pub use follow::{Followed, Look};
pub use parallel::map;
pub use plugin_records::PluginRecords;
pub use plugins::{Plugin, Plugins, installed};
pub use watch::{Changes, Queue, Watch};
