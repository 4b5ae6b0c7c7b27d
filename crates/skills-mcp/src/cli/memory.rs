//! Few pools of memory for all threads of a server.
//!
//! The C library of most Linux systems gives every thread a pool of its own, each with 64 MB of address space that it
//! keeps parts of; under a bound on memory a handful of threads use it up, and without one what is freed in one pool is
//! missing in another. It takes the number of pools from a variable, read before any program starts: so the server
//! starts itself once more, with that variable set, in the same process.

#![expect(clippy::disallowed_methods, reason = "this is where the server starts itself again")]

/// Enough for two workers and whoever helps them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS: &str = "2";

/// Comes back only where there is nothing to do, or where it cannot be done.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn share() {
    use std::{env, os::unix::process::CommandExt as _, process::Command};

    // Whoever has chosen otherwise knows why.
    let chosen = ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"];
    if chosen.iter().any(|name| env::var_os(name).is_some()) {
        return;
    }
    let mut arguments = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    again.arg0(arguments.next().unwrap_or_default()).args(arguments);
    let error = again.env("MALLOC_ARENA_MAX", POOLS).exec();
    tracing::debug!("memory is not shared between threads: {error}");
}

/// Other systems do not do that.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn share() {}
