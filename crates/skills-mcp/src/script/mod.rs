//! Running the scripts that skills declare: whether one may run, with which runner, within which limits.
//!
//! In: a skill, the name of a script it declares, arguments. Out: a `Plan` or the refusal that `authorize` gives; then a
//! `RunOutcome`. A run is four processes: the server; a supervisor, which enforces time and limits; a keeper, whose end
//! ends everything the script started; and a launcher, which drops every right the script does not need and becomes its
//! runner. All but the first are this program under a hidden first argument. Not here: what a client sees (surface), and
//! how files are read (store): a script runs from a copy of bytes that `source/disk` read.

mod arguments;
mod authorize;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod header;
mod host;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod measure;
mod order;
#[cfg(target_os = "linux")]
mod orphans;
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

pub(crate) use authorize::{
    Denied, NetworkAccess, Plan, RunRequest, WorkIn, authorize, check_scripts_enabled,
    is_behind_link,
};
pub(crate) use host::WorkingDirectory;
pub(crate) use outcome::{Ending, RunOutcome};
pub(crate) use runs::RunError;
pub use runs::{Caller, Progress, Runs};
pub(crate) use sandbox::Enforced;
pub(crate) use workspace::{sweep, sweep_within};

/// The hidden first argument of a supervisor.
#[cfg(target_os = "linux")]
const SUPERVISE: &str = "__supervise";
/// The hidden first argument of a keeper.
#[cfg(target_os = "linux")]
const KEEP: &str = "__keep";
/// The hidden first argument of a launcher.
#[cfg(target_os = "linux")]
const LAUNCH: &str = "__launch";
/// This program, even where its file was replaced by a newer one.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Prepares a process that runs scripts: other processes of the user cannot inspect it, and it adopts what a lost
/// supervisor leaves behind.
pub(crate) fn protect_process() {
    #[cfg(target_os = "linux")]
    if let Err(error) = descendants::hide_and_adopt_orphans() {
        tracing::warn!("this process cannot be protected from the scripts it runs: {error}");
    }
}

/// Reaps the processes that this one adopts, as they end: those of a lost supervisor, and what git leaves behind, such as the
/// helper of a fetch that failed.
pub(crate) async fn reap_orphans() {
    #[cfg(target_os = "linux")]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut child_ended) = signal(SignalKind::child()) else { return };
        while child_ended.recv().await.is_some() {
            orphans::reap_adopted();
        }
    }
}

/// Runs the stage of a run that the hidden first argument names; none where there is no such argument.
pub(crate) fn run_hidden_stage(first: Option<&OsStr>) -> Option<ExitCode> {
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
