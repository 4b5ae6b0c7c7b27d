//! Bounds on what one process may use. They hold where the rest fails too, but for the number of processes, which the
//! kernel does not count for root: the supervisor does.

#![expect(
    clippy::disallowed_methods,
    reason = "the kernel says in a file how many tasks there are"
)]

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};

const GIB: u64 = 1 << 30;
/// One file.
const FILE_BYTES: u64 = GIB / 2;
/// What is written to memory, not what is reserved: runtimes reserve terabytes.
const DATA_BYTES: u64 = 2 * GIB;
const OPEN_FILES: u64 = 1024;
/// More than all tasks of the machine: a user's own count against it too.
const MORE_TASKS: u64 = 512;

/// A script's share of a busy processor is about a tenth of that of a process of the user's.
const NICE: i32 = 10;

/// Where memory runs out, a script goes before the server and before its supervisor.
const FIRST_TO_GO: &str = "500";

pub(super) fn set(cpu_seconds: u64) -> io::Result<()> {
    // Nobody needs it to work who has enough.
    let _ = fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    // The server and the supervisor come first, however many processes a script starts.
    let _ = setpriority_process(None, NICE);
    lower(Resource::Core, 0)?;
    lower(Resource::Cpu, cpu_seconds.saturating_mul(cores))?;
    lower(Resource::Fsize, FILE_BYTES)?;
    lower(Resource::Data, DATA_BYTES)?;
    lower(Resource::Nofile, OPEN_FILES)?;
    if let Some(tasks) = tasks() {
        lower(Resource::Nproc, tasks + MORE_TASKS)?;
    }
    Ok(())
}

/// Both bounds, so that they cannot be raised again; never above what holds already.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource).maximum;
    let bound = Some(now.map_or(to, |now| now.min(to)));
    Ok(setrlimit(resource, Rlimit { current: bound, maximum: bound })?)
}

/// `0.11 0.24 0.30 2/1234 5678` → 1234.
fn tasks() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
}
