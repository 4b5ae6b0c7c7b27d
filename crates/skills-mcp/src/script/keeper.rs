//! The stage of a run between supervisor and launcher: the parent of every process that has lost its own.
//!
//! Where the supervisor could make a PID namespace, the keeper is that namespace's first process: when it ends, the kernel
//! kills every other process in it and lets it go only then. Elsewhere it is a subreaper and kills what is below it itself.
//! Either way its end is the end of all the script started, also where server and supervisor were killed at the same time:
//! its standard input is a socket to the supervisor, whose end it notices. The same socket brings the order, which it hands
//! on, and takes what the launcher and the keeper report.

#![expect(
    clippy::disallowed_methods,
    reason = "this is where the launcher is started, and the limit of its namespace set"
)]

use std::{
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream as Socket,
    },
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitStatus, getpid, kill_process_group, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixStream, unix::OwnedWriteHalf},
    signal::unix::{SignalKind, signal},
};

use super::{
    LAUNCH, MYSELF,
    descendants::{self, Family},
    launcher::Report,
    outcome::{MAX_PROCESSES, MAX_THREADS},
};

/// How many ended processes are taken notice of before the supervisor is heard again.
const REAPED_AT_ONCE: usize = 1000;
/// How soon those are that were left over then; one signal may stand for many ends.
const REAP_EVERY: Duration = Duration::from_millis(25);

/// The highest number of a process or thread in a run's namespace, plus one. The kernel uses the first 300 only once; what
/// is left is more than a run may have, so that the supervisor ends the run and says why.
const PID_MAX: usize = 300 + MAX_THREADS + MAX_PROCESSES;

/// Plays the keeper.
pub(super) fn run() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    let mut family = Family::open();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let kept = runtime.and_then(|runtime| runtime.block_on(keep()));
    if !is_first() {
        descendants::end_all(&mut family);
    }
    ExitCode::from(if kept.is_ok() { 0 } else { 3 })
}

/// Whether this is the first process of a namespace, with which all others end.
fn is_first() -> bool {
    getpid() == Pid::INIT
}

/// Limits how many process numbers this namespace has, so that a fork bomb ends in failing forks instead of a machine
/// that has no time for anything else. Before Linux 6.14 the same file is the limit of the whole machine: hands off.
fn limit_pids() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if has_pid_limit_per_namespace(&release) {
        // Where that fails, the supervisor still counts.
        let _ = std::fs::write("/proc/sys/kernel/pid_max", PID_MAX.to_string());
    }
}

/// Whether a kernel of this release gives every PID namespace a `pid_max` of its own.
fn has_pid_limit_per_namespace(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// Starts the launcher and takes notice of everything that ends, until the launcher has, or until the supervisor is gone.
async fn keep() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if is_first() {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        limit_pids();
    } else {
        set_child_subreaper(Some(getpid()))?;
    }
    // Before the launcher lives, whose end it may have to tell.
    let mut ended = signal(SignalKind::child())?;
    let (supervisor, mut up) = socket(io::stdin().as_fd().try_clone_to_owned()?)?.into_split();
    let mut supervisor = BufReader::new(supervisor);
    let mut order = String::new();
    supervisor.read_line(&mut order).await?;
    let (launcher, mut conversation) = start()?;
    // Where that fails the launcher is gone already, which is told below.
    let _ = conversation.write_all(order.as_bytes()).await;
    let mut reports = BufReader::new(conversation).lines();
    let mut again = tokio::time::interval(REAP_EVERY);
    let (mut talking, mut status) = (true, None);
    loop {
        tokio::select! {
            report = reports.next_line(), if talking => match report {
                Ok(Some(report)) => up.write_all(format!("{report}\n").as_bytes()).await?,
                // It has become the script's runner, or has ended.
                _ => talking = false,
            },
            _ = ended.recv() => status = status.or_else(|| reaped(launcher)),
            _ = again.tick() => status = status.or_else(|| reaped(launcher)),
            // Nothing comes after the order but the end of the supervisor, or of its wish that the run goes on.
            _ = supervisor.read_u8() => {
                // All at once where they kept together. Its number is its own until notice is taken of its end.
                if status.is_none() {
                    let _ = kill_process_group(launcher, Signal::KILL);
                }
                return Ok(());
            }
        }
        if let (Some(status), false) = (status, talking) {
            return say(&mut up, status).await;
        }
    }
}

fn socket(handle: OwnedFd) -> io::Result<UnixStream> {
    let socket = Socket::from(handle);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Starts the launcher, which has this process's output.
fn start() -> io::Result<(Pid, UnixStream)> {
    let (ours, theirs) = Socket::pair()?;
    let child = Command::new(MYSELF)
        .arg(LAUNCH)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok((Pid::from_child(&child), socket(ours.into())?))
}

/// Takes notice of what has ended, but not for as long as processes end that fast; how the launcher did, if it was among
/// them.
fn reaped(launcher: Pid) -> Option<WaitStatus> {
    let mut status = None;
    for _ in 0..REAPED_AT_ONCE {
        let Ok(Some((pid, ended))) = wait(descendants::take_notice()) else { break };
        if pid == launcher {
            status = Some(ended);
        }
    }
    status
}

async fn say(up: &mut OwnedWriteHalf, status: WaitStatus) -> io::Result<()> {
    let end = Report::Ended { code: status.exit_status(), signal: status.terminating_signal() };
    let mut line = serde_json::to_vec(&end)?;
    line.push(b'\n');
    up.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x09_only_a_kernel_that_limits_namespaces_one_by_one_is_asked_to() {
        for release in ["6.14.0", "6.18.5-cloud-amd64", "7.0.0-rc1", "10.1"] {
            assert!(has_pid_limit_per_namespace(release), "{release}");
        }
        for release in
            ["6.13.9", "6.1.0-13-amd64", "5.15.167.4-microsoft", "4.19.0", "6", "", "x.y"]
        {
            assert!(!has_pid_limit_per_namespace(release), "{release}");
        }
    }
}
