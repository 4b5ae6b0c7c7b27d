//! The stage of a run between supervisor and launcher: the parent of every process that has lost its own.
//!
//! Where the supervisor could make a PID namespace, the keeper is the first process of that namespace: when it ends, the
//! kernel kills every other process in it. Elsewhere the keeper is a subreaper and kills its descendants itself. Either way
//! its end ends all that the script started, even where server and supervisor were killed at the same time: its standard
//! input is a socket to the supervisor, and it notices when that closes. Through the same socket the keeper gets the order,
//! which it passes on, and sends the reports of launcher and keeper.

#![expect(
    clippy::disallowed_methods,
    reason = "this file starts the launcher and writes the limit of its namespace"
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
    LAUNCH, OWN_PROGRAM,
    descendants::ProcessTree,
    kill,
    launcher::StageReport,
    order::json_line,
    outcome::{MAX_PROCESSES, MAX_THREADS},
};

/// How many ended processes are reaped before the keeper reads from the supervisor again.
const MAX_REAPED_AT_ONCE: usize = 1000;
/// How soon the rest are reaped; one signal may stand for many ended processes.
const REAP_INTERVAL: Duration = Duration::from_millis(25);

/// The `pid_max` of a run's namespace. The kernel uses the first 300 PIDs only once; the rest are more than a run may have, so
/// that the supervisor ends the run and says why.
const NAMESPACE_PID_MAX: usize = 300 + MAX_THREADS + MAX_PROCESSES;

/// The keeper's `main`.
pub(super) fn run() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    let mut tree = ProcessTree::open();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.and_then(|runtime| runtime.block_on(run_launcher()));
    if !is_namespace_init() {
        kill::kill_all(&mut tree);
    }
    ExitCode::from(if result.is_ok() { 0 } else { 3 })
}

/// Whether this is the first process of a PID namespace.
fn is_namespace_init() -> bool {
    getpid() == Pid::INIT
}

/// Limits the PIDs of this namespace, so that the forks of a fork bomb fail instead of slowing the machine down. Before Linux
/// 6.14 the same file is the limit of the whole machine, and stays as it is.
fn limit_pids() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if has_pid_limit_per_namespace(&release) {
        // Where that fails, the supervisor still counts processes.
        let _ = std::fs::write("/proc/sys/kernel/pid_max", NAMESPACE_PID_MAX.to_string());
    }
}

/// Whether a kernel of this release gives every PID namespace a `pid_max` of its own.
fn has_pid_limit_per_namespace(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// Starts the launcher and reaps ended processes until the launcher has ended, or the supervisor.
async fn run_launcher() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if is_namespace_init() {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        limit_pids();
    } else {
        set_child_subreaper(Some(getpid()))?;
    }
    // Registered before the launcher starts, so that its end is not missed.
    let mut ended = signal(SignalKind::child())?;
    let (supervisor, mut up) =
        async_socket(io::stdin().as_fd().try_clone_to_owned()?)?.into_split();
    let mut supervisor = BufReader::new(supervisor);
    let mut order = String::new();
    supervisor.read_line(&mut order).await?;
    let (launcher, mut socket) = start_launcher()?;
    // Where that fails the launcher has ended, which is reported below.
    let _ = socket.write_all(order.as_bytes()).await;
    let mut reports = BufReader::new(socket).lines();
    let mut again = tokio::time::interval(REAP_INTERVAL);
    let (mut reporting, mut status) = (true, None);
    loop {
        tokio::select! {
            report = reports.next_line(), if reporting => match report {
                Ok(Some(report)) => up.write_all(format!("{report}\n").as_bytes()).await?,
                // The launcher has become the script's runner, or has ended.
                _ => reporting = false,
            },
            _ = ended.recv() => status = status.or_else(|| reap(launcher)),
            _ = again.tick() => status = status.or_else(|| reap(launcher)),
            // After the order the supervisor sends nothing: it has ended, or wants the run to end.
            _ = supervisor.read_u8() => {
                // Kills the script's whole group at once. The PID is valid until the launcher is reaped.
                if status.is_none() {
                    let _ = kill_process_group(launcher, Signal::KILL);
                }
                return Ok(());
            }
        }
        if let (Some(status), false) = (status, reporting) {
            return report_end(&mut up, status).await;
        }
    }
}

fn async_socket(handle: OwnedFd) -> io::Result<UnixStream> {
    let socket = Socket::from(handle);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Starts the launcher, which inherits this process's standard output and error.
fn start_launcher() -> io::Result<(Pid, UnixStream)> {
    let (ours, theirs) = Socket::pair()?;
    let child = Command::new(OWN_PROGRAM)
        .arg(LAUNCH)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok((Pid::from_child(&child), async_socket(ours.into())?))
}

/// Reaps ended processes, a bounded number at once; the launcher's status, if it was among them.
fn reap(launcher: Pid) -> Option<WaitStatus> {
    let mut status = None;
    for _ in 0..MAX_REAPED_AT_ONCE {
        let Ok(Some((pid, ended))) = wait(kill::reap_options()) else { break };
        if pid == launcher {
            status = Some(ended);
        }
    }
    status
}

async fn report_end(up: &mut OwnedWriteHalf, status: WaitStatus) -> io::Result<()> {
    let end =
        StageReport::Ended { code: status.exit_status(), signal: status.terminating_signal() };
    up.write_all(&json_line(&end)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x09_only_a_kernel_with_a_pid_limit_per_namespace_gets_one() {
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
