//! Resource limits of one process. They hold even where the rest of the sandbox fails, except the number of processes, which
//! the kernel does not limit for root: the supervisor does.

#![expect(clippy::disallowed_methods, reason = "this file reads and writes limits in `/proc`")]

use std::{fs, io};

use rustix::{
    process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// The size of one file.
pub(in crate::script) const MAX_FILE_BYTES: u64 = 512 << 20;
/// Memory that is written, not reserved: runtimes reserve terabytes.
const MAX_DATA_BYTES: u64 = 2 << 30;
const MAX_OPEN_FILES: u64 = 1024;
/// Beyond all tasks of the machine, because the user's other tasks count against the limit too.
const MAX_ADDED_TASKS: u64 = 512;

/// A script gets about a tenth of the share of a busy processor that another process of the user gets.
const NICE_LEVEL: i32 = 10;

/// Where memory runs out, the kernel kills a script before the server and the supervisor.
const OOM_SCORE_ADJUSTMENT: &str = "500";

pub(super) fn set(cpu_seconds: u64) -> io::Result<()> {
    // Where that fails the script runs all the same.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJUSTMENT);
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let _ = setpriority_process(None, NICE_LEVEL);
    let _ = leave_one_processor();
    lower(Resource::Core, 0)?;
    lower(Resource::Cpu, cpu_seconds.saturating_mul(cores))?;
    lower(Resource::Fsize, MAX_FILE_BYTES)?;
    lower(Resource::Data, MAX_DATA_BYTES)?;
    lower(Resource::Nofile, MAX_OPEN_FILES)?;
    if let Some(tasks) = machine_tasks() {
        lower(Resource::Nproc, tasks + MAX_ADDED_TASKS)?;
    }
    Ok(())
}

/// Leaves one processor to the server and to everything else, where there are several: a script that keeps the kernel busy
/// would delay calls on every processor that it may use, whatever its priority. The filter of system calls keeps it so.
fn leave_one_processor() -> io::Result<()> {
    let mut allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|processor| allowed.is_set(*processor));
    if let Some(last) = last.filter(|_| allowed.count() > 1) {
        allowed.unset(last);
        sched_setaffinity(None, &allowed)?;
    }
    Ok(())
}

/// Lowers both the soft and the hard limit, so that the script cannot raise it again.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource).maximum;
    let bound = Some(now.map_or(to, |now| now.min(to)));
    Ok(setrlimit(resource, Rlimit { current: bound, maximum: bound })?)
}

/// `0.11 0.24 0.30 2/1234 5678` → 1234.
fn machine_tasks() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
}
