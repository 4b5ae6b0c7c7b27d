//! The last stage of a run: drops every right that the script must not have, then becomes the script's runner.
//!
//! It is a process of its own with one thread, so no code has to run between a fork and an exec. Its standard input is a
//! socket: it reads the order from there, and writes there what it enforced, or why it started nothing. The script never
//! sees that socket, because exec puts `/dev/null` in its place.

#![expect(clippy::disallowed_methods, reason = "this file starts a script's runner")]

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    os::{
        fd::AsFd as _,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, ExitCode, Stdio},
};

use rustix::process::{Signal, chdir, getcwd, getppid, set_parent_process_death_signal, setsid};
use serde::{Deserialize, Serialize};

use super::{
    order::{Order, json_line},
    sandbox::{self, Enforced},
};

/// The exit code of a shell for a program that was found and could not be started.
const NOT_STARTED_EXIT_CODE: u8 = 126;

/// What launcher and keeper report to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StageReport {
    /// The launcher has applied this sandbox.
    Enforced(Enforced),
    /// Nothing was started.
    Failed(String),
    /// From the keeper: the launcher, or the script's runner that it became, has ended.
    Ended {
        /// Its exit code; none where a signal ended it.
        code: Option<i32>,
        /// That signal.
        signal: Option<i32>,
    },
}

/// The launcher's `main`.
pub(super) fn run() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_STARTED_EXIT_CODE);
    };
    let socket = UnixStream::from(socket);
    match launch(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            send(&socket, &StageReport::Failed(message));
            ExitCode::from(NOT_STARTED_EXIT_CODE)
        }
    }
}

/// Returns only where the order has no program, or where something failed.
fn launch(socket: &UnixStream) -> Result<(), String> {
    let mut line = String::new();
    BufReader::new(socket)
        .read_line(&mut line)
        .map_err(|error| format!("no order came: {error}"))?;
    let mut order: Order =
        serde_json::from_str(&line).map_err(|error| format!("the order is not one: {error}"))?;
    close_fds::set_fds_cloexec(3, &[]);
    detach().map_err(|error| format!("no session of its own: {error}"))?;
    enter_working_directory(&order)?;
    // From here on `.` is the folder that was entered, wherever its path leads by now.
    let entered = order.working_directory.clone();
    for path in order.policy.write.iter_mut().filter(|path| **path == entered) {
        *path = ".".into();
    }
    let enforced = sandbox::apply(&order.policy)?;
    send(socket, &StageReport::Enforced(enforced));
    let Some(program) = &order.program else { return Ok(()) };
    let error = Command::new(program)
        .args(&order.arguments)
        .env_clear()
        .envs(&order.environment)
        .stdin(Stdio::null())
        .exec();
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// Leaves the terminal, and asks the kernel to kill this process when the keeper ends.
fn detach() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The kernel sends no signal for a parent that had ended before.
    if getppid() != parent {
        return Err(io::Error::other("the keeper is gone"));
    }
    setsid()?;
    Ok(())
}

/// Enters the working directory, which must still be the folder that was checked.
fn enter_working_directory(order: &Order) -> Result<(), String> {
    let folder = &order.working_directory;
    let failed = |error: String| format!("{} cannot be entered: {error}", folder.display());
    chdir(folder).map_err(|error| failed(error.to_string()))?;
    let real = getcwd(Vec::new()).map_err(|error| failed(error.to_string()))?;
    if real.to_bytes() == folder.as_os_str().as_encoded_bytes() {
        Ok(())
    } else {
        Err(failed("it leads elsewhere now".to_owned()))
    }
}

fn send(mut socket: &UnixStream, report: &StageReport) {
    // Where that fails the keeper has ended, and this process ends with it.
    let _ = json_line(report).map(|line| socket.write_all(&line));
}
