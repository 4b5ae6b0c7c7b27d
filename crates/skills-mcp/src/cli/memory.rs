//! Settings of the memory allocator, so that a server gives back what a burst of calls used.
//!
//! The C library of most Linux systems keeps freed memory in a pool per thread and in lists per thread within it; one small
//! piece that is kept in a list holds back all the pages before it. After 1,000 pipelined calls that is 3.6 MB instead of 2.2.
//! The library takes its settings from a variable, read before any program starts: so the server starts itself once more,
//! with that variable set, in the same process.

#![expect(clippy::disallowed_methods, reason = "this is where the server starts itself again")]

/// Two pools, so that two threads that read skills at the start do not wait for each other; no lists per thread; free
/// memory at the end of a pool goes back from 64 KiB on. Other C libraries than the one that these are for ignore them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TUNABLES: &str =
    "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=0:glibc.malloc.trim_threshold=65536";

/// Comes back only where there is nothing to do, or where it cannot be done.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn tune() {
    use std::{env, os::unix::process::CommandExt as _, process::Command};

    // What the operator chose stays.
    let chosen = ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"];
    if chosen.iter().any(|name| env::var_os(name).is_some()) {
        return;
    }
    let mut arguments = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    again.arg0(arguments.next().unwrap_or_default()).args(arguments);
    let error = again.env("GLIBC_TUNABLES", TUNABLES).exec();
    tracing::debug!("the allocator keeps its own settings: {error}");
}

/// Other systems do not do that.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn tune() {}
