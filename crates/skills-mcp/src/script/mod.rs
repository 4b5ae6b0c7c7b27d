//! Running what a skill ships: who may, as what, within which bounds.
//!
//! In: a skill, the name of a script it declares, arguments. Out: a [`Plan`] or the rung of the ladder that refused
//! it; then an [`Outcome`]. A run is four processes: the server, a supervisor that watches over time and
//! limits, a keeper whose end is the end of everything the script started, and a launcher that gives up every right the
//! script does not need and becomes its runner. All but the first are this very program under a hidden first argument. Not here: what a client is told (surface), and how files are read (the
//! store): a script runs from a copy of the bytes that came through the one door.

mod arguments;
#[cfg(target_os = "linux")]
mod descendants;
mod ground;
#[cfg(target_os = "linux")]
mod header;
#[cfg(target_os = "linux")]
mod keeper;
mod ladder;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod measure;
mod order;
mod outcome;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;
mod runner;
mod runs;
mod sandbox;
#[cfg(target_os = "linux")]
mod supervisor;
mod workspace;

use std::{ffi::OsStr, process::ExitCode};

pub use ground::{Folder, Ground};
pub use ladder::{Denied, NetworkAccess, Plan, Request, climb, enabled};
pub use outcome::{Ending, Outcome};
pub use runner::Runner;
pub use runs::{Caller, Progress, RunError, Runs};
pub use sandbox::Enforced;
pub use workspace::sweep;

/// The hidden first argument of a supervisor.
#[cfg(target_os = "linux")]
const SUPERVISE: &str = "__supervise";
/// The hidden first argument of a keeper.
#[cfg(target_os = "linux")]
const KEEP: &str = "__keep";
/// The hidden first argument of a launcher.
#[cfg(target_os = "linux")]
const LAUNCH: &str = "__launch";
/// This very program, also where its file was replaced by a newer one.
#[cfg(target_os = "linux")]
const MYSELF: &str = "/proc/self/exe";

/// What a process does before it runs scripts: nobody of the same user may look into it, and what a lost supervisor
/// leaves behind becomes its child.
pub fn guard() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{
            DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior,
        };
        let guarded = set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .and_then(|()| set_child_subreaper(Some(getpid())));
        if let Err(error) = guarded {
            tracing::warn!("this process cannot be guarded from what it runs: {error}");
        }
    }
}

/// Where this process was started as a part of a run, plays that part to its end.
pub fn stage(first: Option<&OsStr>) -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    match first?.to_str()? {
        SUPERVISE => return Some(supervisor::run()),
        KEEP => return Some(keeper::run()),
        LAUNCH => return Some(launcher::run()),
        _ => {}
    }
    #[cfg(not(target_os = "linux"))]
    let _ = first;
    None
}
