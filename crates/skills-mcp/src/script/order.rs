//! [`Order`]: what the server sends to the supervisor, and the supervisor, through the keeper, to the launcher. It travels
//! through a pipe, never in an argument vector, which every user of the machine can read.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::sandbox::SandboxPolicy;

/// One run, with every decision made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The runner; none where only the sandbox is probed.
    pub(super) program: Option<PathBuf>,
    /// Of the runner; the script is the last one.
    pub(super) arguments: Vec<String>,
    /// The whole environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Links resolved.
    pub(super) working_directory: PathBuf,
    /// Removed when the run is over.
    pub(super) workspace: Option<PathBuf>,
    pub(super) policy: SandboxPolicy,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
    /// Of each stream.
    pub(super) max_output_bytes: usize,
}

/// A value as one line of JSON, which is how the stages of a run talk to each other.
#[cfg(target_os = "linux")]
pub(super) fn json_line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
