//! Where skills come from: the only module that reads their files.
//!
//! In: directories and repositories that the operator named. Out: [`SourceScan`](skills_core::catalog::SourceScan)s for the catalog,
//! bytes of files that a catalog knows, and events of changes. Not here: which file is a skill (core), when to scan (store).

mod agent_directories;
mod assemble;
mod bodies;
mod directory;
mod disk;
pub mod git;
mod hint;
mod layout;
mod link_targets;
mod own_skills;
mod parallel;
mod plugin_records;
mod plugins;
mod scanned;
mod walk;
mod watch;

pub use agent_directories::{AgentDirectory, default_directories};
pub use bodies::{Bodies, Slab};
pub use directory::{Directory, MAX_SKILL_BYTES, SourceError, read_skill};
pub use disk::{DiskError, FileIdentity, LinkPolicy, Links, Root};
pub(crate) use disk::{held_secrets, is_secret};
pub(crate) use layout::is_in_content_folder;
pub use link_targets::LinkTargets;
pub use own_skills::own_skills;
pub use parallel::{PreparedThreads, both, map, map_prepared};
pub use plugin_records::{PluginRecords, RecordStamps};
pub use plugins::{Plugin, Plugins, installed};
pub use scanned::{ScanScope, ScannedSource};
pub use watch::{Queue, QueuedChanges, Watch};
