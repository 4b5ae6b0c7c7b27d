//! Where skills come from, and the one door to their files.
//!
//! In: directories somebody named. Out: [`Intake`](skills_core::catalog::Intake)s for the catalog, and bytes of
//! files that a catalog knows. Not here: which file is a skill (core), when to look again (store).

mod clients;
mod directory;
mod disk;
mod plugins;
mod walk;

pub use clients::{AgentDirectory, CLIENTS, Client, client, default_directories};
pub use directory::{Directory, SourceError};
pub use disk::{DiskError, Links, Root, held_secrets, is_secret};
pub use plugins::{Plugin, Plugins, installed};
