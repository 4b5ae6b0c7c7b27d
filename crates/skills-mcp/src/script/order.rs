//! [`Order`]: what the server tells the supervisor, and the supervisor, through the keeper, the launcher. It travels through a pipe, never in
//! an argument vector, which everybody on the machine may read.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::sandbox::Policy;

/// One run, with everything decided.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The runner; none where only the sandbox is tried.
    pub(super) program: Option<PathBuf>,
    /// The script last.
    pub(super) arguments: Vec<String>,
    /// All the environment there is.
    pub(super) environment: BTreeMap<String, String>,
    /// Where it runs; links resolved.
    pub(super) folder: PathBuf,
    /// What goes when the run is over.
    pub(super) workspace: Option<PathBuf>,
    pub(super) policy: Policy,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
    /// Of each stream.
    pub(super) max_output_bytes: usize,
}
