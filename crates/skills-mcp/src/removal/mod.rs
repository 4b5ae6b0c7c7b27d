//! Removes folder trees that other programs filled: workspaces of script runs, and what git wrote.
//!
//! Such a tree may be nested a hundred thousand levels deep, be closed to its owner, or hold millions of files. The server
//! never walks one: [`remove_tree`] and [`remove_in_background`] start this program under a hidden first argument, which may
//! fail. [`remove_in_process`] does the work, in processes that exist for it. Not here: which folders may be removed, and
//! when.

#![expect(
    clippy::disallowed_methods,
    reason = "this file removes trees, and starts the process and the thread for that"
)]

#[cfg(unix)]
mod flatten;

#[cfg(target_os = "linux")]
pub(crate) use flatten::readable_folder;

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use crate::paths::own_program;

/// The hidden first argument of a process that removes one tree, which is its second argument.
const REMOVE: &str = "__remove";
/// How long one removal may take. What is left then stays, and is reported.
pub(crate) const REMOVAL_TIMEOUT: Duration = Duration::from_mins(10);

/// This program, where it knows [`REMOVE`]; a test binary that links this library does not.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Removes a tree where this process was started to do so. Otherwise it may start such processes from now on.
pub(crate) fn run_hidden_stage(first: Option<&OsStr>) -> Option<ExitCode> {
    if first == Some(OsStr::new(REMOVE)) {
        let root = std::env::args_os().nth(2).map(PathBuf::from).unwrap_or_default();
        return Some(match remove_in_process(&root) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                use io::Write as _;
                let _ = write!(io::stdout(), "{error}");
                ExitCode::FAILURE
            }
        });
    }
    // On Linux even where the program's file was replaced by a newer one meanwhile.
    let program = if cfg!(target_os = "linux") {
        Some(PathBuf::from("/proc/self/exe"))
    } else {
        own_program().ok()
    };
    if let Some(program) = program {
        let _ = PROGRAM.set(program);
    }
    None
}

/// Removes a tree in a process of its own and waits for that. A tree that does not exist, or that another process is removing, counts
/// as removed.
pub(crate) fn remove_tree(root: &Path) -> io::Result<()> {
    let Some(program) = PROGRAM.get() else { return remove_in_process(root) };
    let mut command = Command::new(program);
    command.arg(REMOVE).arg(root).env_clear().current_dir("/").stdin(Stdio::null());
    // A signal to the server's process group must not end the removal halfway.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let output = command.stderr(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stdout).into_owned();
    Err(io::Error::other(if why.is_empty() { output.status.to_string() } else { why }))
}

/// The same without waiting; a failure is logged as a warning.
pub(crate) fn remove_in_background(root: PathBuf) {
    let work = move || {
        if let Err(error) = remove_tree(&root) {
            tracing::warn!("{}", leftover(&root, &error));
        }
    };
    if let Err(error) = thread::Builder::new().name("removal".to_owned()).spawn(work) {
        tracing::warn!("a folder cannot be removed now: {error}");
    }
}

/// The sentence for a tree that could not be removed: which, why, and what to do.
pub(crate) fn leftover(root: &Path, error: &io::Error) -> String {
    let root = root.display();
    format!("{root} could not be removed: {error}; remove it by hand: rm -rf '{root}'")
}

/// Removes a tree in this process, without recursion and with three file handles, within a time limit.
pub(crate) fn remove_in_process(root: &Path) -> io::Result<()> {
    let deadline = Instant::now() + REMOVAL_TIMEOUT;
    #[cfg(unix)]
    return flatten::remove(root, deadline);
    #[cfg(not(unix))]
    {
        let _ = deadline;
        match std::fs::remove_dir_all(root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
