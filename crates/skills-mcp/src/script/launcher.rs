//! The last stage of a run: gives up every right the script is not to have, then becomes the script's runner.
//!
//! It is a process of its own with one thread, so nothing has to happen between a fork and an exec. Its standard input
//! is a socket: the order comes in, and what was enforced goes out, or why nothing was started. The script never sees
//! that socket, as exec puts `/dev/null` in its place.

#![expect(clippy::disallowed_methods, reason = "this is where a script's runner is started")]

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
    order::Order,
    sandbox::{self, Enforced},
};

/// As a shell says that something was found and could not be started.
const NOT_STARTED: u8 = 126;

/// What launcher and keeper say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// This holds from now on.
    Enforced(Enforced),
    /// Nothing was started.
    Failed(String),
    /// The keeper: the launcher, or the script's runner that it became, has ended.
    Ended {
        /// Its exit code; none where a signal ended it.
        code: Option<i32>,
        /// That signal.
        signal: Option<i32>,
    },
}

/// Plays the launcher.
pub(super) fn run() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_STARTED);
    };
    let socket = UnixStream::from(socket);
    match launch(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&socket, &Report::Failed(message));
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// Comes back only where there is nothing to start, or where that failed.
fn launch(socket: &UnixStream) -> Result<(), String> {
    let mut line = String::new();
    BufReader::new(socket)
        .read_line(&mut line)
        .map_err(|error| format!("no order came: {error}"))?;
    let mut order: Order =
        serde_json::from_str(&line).map_err(|error| format!("the order is not one: {error}"))?;
    close_fds::set_fds_cloexec(3, &[]);
    leave_alone().map_err(|error| format!("no session of its own: {error}"))?;
    enter(&order)?;
    // From here on the folder is the one that was entered, whatever its name leads to by now.
    let entered = order.folder.clone();
    for place in order.policy.write.iter_mut().filter(|place| **place == entered) {
        *place = ".".into();
    }
    let enforced = sandbox::put_on(&order.policy)?;
    say(socket, &Report::Enforced(enforced));
    let Some(program) = &order.program else { return Ok(()) };
    let error = Command::new(program)
        .args(&order.arguments)
        .env_clear()
        .envs(&order.environment)
        .stdin(Stdio::null())
        .exec();
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// No terminal to write to, and an end with the keeper's.
fn leave_alone() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before it was asked for sends no signal.
    if getppid() != parent {
        return Err(io::Error::other("the keeper is gone"));
    }
    setsid()?;
    Ok(())
}

/// Goes to the folder of the run, which must still be the one that was looked at.
fn enter(order: &Order) -> Result<(), String> {
    let folder = &order.folder;
    let failed = |error: String| format!("{} cannot be entered: {error}", folder.display());
    chdir(folder).map_err(|error| failed(error.to_string()))?;
    let real = getcwd(Vec::new()).map_err(|error| failed(error.to_string()))?;
    if real.to_bytes() == folder.as_os_str().as_encoded_bytes() {
        Ok(())
    } else {
        Err(failed("it leads elsewhere now".to_owned()))
    }
}

fn say(mut socket: &UnixStream, report: &Report) {
    let mut line = serde_json::to_vec(report).unwrap_or_default();
    line.push(b'\n');
    // Whoever does not hear it has gone, and ends this process too.
    let _ = socket.write_all(&line);
}
