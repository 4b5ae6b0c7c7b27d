//! How much memory git may take: a remote decides how many names git holds, and sends them as long as git reads.

use std::process::Child;

/// What a process of git may take.
#[cfg(target_os = "linux")]
pub(super) const MAX_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;

/// Limits the memory of git, and of each process that it starts from now on.
#[cfg(target_os = "linux")]
pub(super) fn limit_memory(git: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let limit = Rlimit { current: Some(MAX_MEMORY_BYTES), maximum: Some(MAX_MEMORY_BYTES) };
    // Where that fails git has ended, or the machine allows even less.
    let _ = prlimit(Some(Pid::from_child(git)), Resource::Data, limit);
}

/// Elsewhere no process can limit another.
#[cfg(not(target_os = "linux"))]
pub(super) fn limit_memory(_: &Child) {}
