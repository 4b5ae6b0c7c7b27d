//! The second stage of a run: starts the keeper, enforces time and limits, captures the output, and kills all that is left.
//!
//! From its standard input it reads the order; one more byte cancels the run, and the end of the input means that the server
//! is gone. To its standard output it writes the answer. It is in a process group of its own, so that a signal that ends the
//! server does not end it before it is done. When it has answered it removes the workspace.

#![expect(
    clippy::disallowed_methods,
    reason = "this file starts the keeper and the thread that measures the workspace"
)]

use std::{
    io,
    os::{fd::AsFd as _, unix::net::UnixStream as Socket, unix::process::ExitStatusExt as _},
    path::PathBuf,
    process::{ExitCode, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    thread::UnshareFlags,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf, pipe::Receiver},
    },
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
    time::{sleep_until, timeout},
};

use super::{
    KEEP, OWN_PROGRAM,
    descendants::{self, ProcessTree},
    header::{Header, StreamHeader},
    kill,
    launcher::StageReport,
    measure::RunMeasure,
    order::Order,
    outcome::{CapturedOutput, Ending, MAX_MEMORY_BYTES, MAX_PROCESSES, MAX_THREADS},
    sandbox::{Enforced, SandboxDemand},
    workspace::WorkspaceLock,
};
use crate::removal;

/// How often processes are counted.
const COUNT_INTERVAL: Duration = Duration::from_millis(25);
/// How often the workspace is measured.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);
/// How long output is read after every process of the run was killed.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
/// How often memory is counted exactly, which takes the kernel a while, once the quick count is over the limit.
const EXACT_MEMORY_INTERVAL: Duration = Duration::from_millis(250);
/// How many processes are counted, ended ones included.
const MAX_COUNTED_PROCESSES: usize = 4 * MAX_PROCESSES;
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// The supervisor's `main`.
pub(super) fn run() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(supervise())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let none = CapturedOutput::default();
            let _ = Header::failed(error.to_string()).write(&none, &none);
            ExitCode::from(3)
        }
    }
}

async fn supervise() -> io::Result<()> {
    descendants::hide_and_adopt_orphans()?;
    // Opened before the run starts, which may use up the open files.
    let tree = ProcessTree::open();
    let control = Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut control = BufReader::new(control);
    let mut line = String::new();
    if control.read_line(&mut line).await? == 0 {
        return Ok(());
    }
    let order: Order = serde_json::from_str(&line)?;
    let _lock = order.workspace.as_deref().map(WorkspaceLock::join).transpose()?;
    let mut signals = TerminationSignals::listen()?;
    // Before there is a namespace, after which this process can start no thread.
    let must_see_all = order.policy.demand != SandboxDemand::None;
    let start_measuring = |folder| start_measuring(folder, must_see_all);
    let measured = order.workspace.clone().map(start_measuring).transpose()?;
    let mut run = SupervisedRun::start(&order, tree)?;
    // From here on no error may return before every process of the run has ended.
    run.send_order(&line).await;
    let ending = run.wait(&order, &mut control, &mut signals, measured).await;
    run.kill_all();
    let answered = run.answer(ending).await;
    if let Some(folder) = &order.workspace {
        // The server reports a workspace that stays.
        let _ = removal::remove_in_process(folder);
    }
    answered
}

/// Makes the next process that this one starts the first of a PID namespace: whether it could, which takes `CAP_SYS_ADMIN`. A
/// user namespace would not need that, but would show the files of all other users to the script as those of one unknown
/// user.
fn unshare_pid_namespace(demand: SandboxDemand) -> bool {
    #[expect(
        deprecated,
        reason = "the other form is unsafe for the sake of a flag, shared file tables, that is not used here"
    )]
    let unshared = || rustix::thread::unshare(UnshareFlags::NEWPID).is_ok();
    // Without a sandbox a script sees all processes.
    demand != SandboxDemand::None && unshared()
}

/// A keeper, its descendants, and their output and reports.
struct SupervisedRun {
    keeper: Child,
    /// Dropping it makes the keeper end everything.
    to_keeper: Option<OwnedWriteHalf>,
    tree: ProcessTree,
    keeper_pid: Pid,
    /// Whether the keeper is in a PID namespace of its own, where every process ends with it.
    namespace: bool,
    started: Instant,
    status: Option<ExitStatus>,
    memory_counted: Option<Instant>,
    stdout: Arc<Mutex<CapturedOutput>>,
    stderr: Arc<Mutex<CapturedOutput>>,
    drains: Vec<JoinHandle<()>>,
    reports: JoinHandle<Vec<StageReport>>,
}

/// Signals that would end this process before it is done; they end the run instead.
struct TerminationSignals([tokio::signal::unix::Signal; 3]);

impl TerminationSignals {
    fn listen() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self([terminate?, interrupt?, hangup?]))
    }

    async fn received(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// What the supervisor waits for.
enum RunEvent {
    KeeperEnded(ExitStatus),
    /// The run must end.
    MustEnd(Ending),
    /// The server is gone, or this process was asked to terminate.
    Abandoned,
    DeadlinePassed,
    CountDue,
}

impl SupervisedRun {
    fn start(order: &Order, tree: ProcessTree) -> io::Result<Self> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let (from_keeper, to_keeper) = UnixStream::from_std(ours)?.into_split();
        let started = Instant::now();
        let namespace = unshare_pid_namespace(order.policy.demand);
        let mut keeper = Command::new(OWN_PROGRAM)
            .arg(KEEP)
            .env_clear()
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pid = keeper.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let keeper_pid = pid.ok_or_else(|| io::Error::other("the keeper is gone at once"))?;
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let limit = order.max_output_bytes;
        let drains = vec![
            tokio::spawn(drain(keeper.stdout.take(), Arc::clone(&stdout), limit)),
            tokio::spawn(drain(keeper.stderr.take(), Arc::clone(&stderr), limit)),
        ];
        Ok(Self {
            keeper,
            to_keeper: Some(to_keeper),
            tree,
            keeper_pid,
            namespace,
            started,
            status: None,
            memory_counted: None,
            stdout,
            stderr,
            drains,
            reports: tokio::spawn(collect_reports(from_keeper)),
        })
    }

    /// Sends the order to the keeper, which reads it as soon as it starts.
    async fn send_order(&mut self, line: &str) {
        if let Some(keeper) = &mut self.to_keeper {
            // Where that fails the keeper has ended, which `wait` notices.
            let _ = keeper.write_all(line.as_bytes()).await;
        }
    }

    /// Waits until the run has ended or must end; none where the server no longer waits for the answer.
    async fn wait(
        &mut self,
        order: &Order,
        control: &mut BufReader<Receiver>,
        signals: &mut TerminationSignals,
        measured: Option<oneshot::Receiver<Ending>>,
    ) -> Option<Ending> {
        let mut deadline = self.started + Duration::from_millis(order.timeout_ms);
        let mut late = false;
        let mut count = tokio::time::interval(COUNT_INTERVAL);
        let mut measured = std::pin::pin!(measured_limit(measured));
        loop {
            let event = tokio::select! {
                biased;
                status = self.keeper.wait() => status.map_or(RunEvent::Abandoned, RunEvent::KeeperEnded),
                read = control.read_u8() => {
                    read.map_or(RunEvent::Abandoned, |_| RunEvent::MustEnd(Ending::Cancelled))
                }
                () = signals.received() => RunEvent::Abandoned,
                () = sleep_until(deadline.into()) => RunEvent::DeadlinePassed,
                ending = &mut measured => RunEvent::MustEnd(ending),
                _ = count.tick() => RunEvent::CountDue,
            };
            match event {
                RunEvent::KeeperEnded(status) => {
                    self.status = Some(status);
                    return Some(if late { Ending::TimedOut } else { Ending::Exited });
                }
                RunEvent::MustEnd(ending) => return Some(ending),
                RunEvent::Abandoned => return None,
                RunEvent::DeadlinePassed if late => return Some(Ending::TimedOut),
                RunEvent::DeadlinePassed => {
                    late = true;
                    let mut script = self.tree.descendants().pids;
                    script.retain(|pid| *pid != self.keeper_pid);
                    kill::signal(&self.tree, &script, Signal::TERM);
                    deadline += Duration::from_millis(order.grace_ms);
                }
                RunEvent::CountDue => {
                    if let Some(ending) = self.exceeded_limit() {
                        return Some(ending);
                    }
                }
            }
        }
    }

    /// Counts processes, threads and memory, and reaps ended orphans.
    fn exceeded_limit(&mut self) -> Option<Ending> {
        // A count of a fork bomb that goes on to the last process would never end.
        let found = self.tree.descendants_up_to(MAX_COUNTED_PROCESSES);
        kill::reap(&found.pids, Some(self.keeper_pid));
        let count = found.pids.len();
        // Ended processes count too where they come faster than they are reaped: they use up the machine's PIDs.
        if count >= MAX_COUNTED_PROCESSES
            || count > MAX_PROCESSES && self.tree.more_run_than(&found.pids, MAX_PROCESSES)
        {
            return Some(Ending::TooManyProcesses);
        }
        if found.threads > MAX_THREADS {
            return Some(Ending::TooManyThreads);
        }
        self.holds_too_much_memory(&found.pids).then_some(Ending::TooMuchMemory)
    }

    fn holds_too_much_memory(&mut self, pids: &[Pid]) -> bool {
        let recent = |counted: Instant| counted.elapsed() < EXACT_MEMORY_INTERVAL;
        if self.tree.resident(pids) <= MAX_MEMORY_BYTES || self.memory_counted.is_some_and(recent) {
            return false;
        }
        let over = self.tree.resident_once(pids) > MAX_MEMORY_BYTES;
        self.memory_counted = Some(Instant::now());
        over
    }

    /// Ends every process of the run: through the end of the keeper, and by killing descendants until there are none.
    fn kill_all(&mut self) {
        // Where thousands of processes compete for the processor, the keeper would get it late.
        kill::kill_groups(&mut self.tree);
        self.to_keeper = None;
        if self.namespace && self.status.is_none() {
            let _ = kill_process(self.keeper_pid, Signal::KILL);
        }
        kill::kill_all(&mut self.tree);
    }

    /// Writes the answer, where the server still waits for it.
    async fn answer(mut self, ending: Option<Ending>) -> io::Result<()> {
        let duration = self.started.elapsed();
        for drain in &mut self.drains {
            let _ = timeout(DRAIN_TIMEOUT, drain).await;
        }
        let Some(ending) = ending else { return Ok(()) };
        let reports = timeout(DRAIN_TIMEOUT, self.reports).await;
        let reports = reports.ok().and_then(Result::ok).unwrap_or_default();
        let mut enforced = None;
        let mut failed = None;
        let mut end = None;
        for report in reports {
            match report {
                StageReport::Enforced(what) => enforced = Some(what),
                StageReport::Failed(why) => failed = Some(why),
                StageReport::Ended { code, signal } => end = Some((code, signal)),
            }
        }
        if enforced.is_none() && failed.is_none() && ending == Ending::Exited {
            failed = Some("the launcher died before it could start it".to_owned());
        }
        // A keeper that was killed has reported nothing.
        let killed = || (None, self.status.and_then(|status| status.signal()));
        let (code, signal) = end.unwrap_or_else(killed);
        let enforced = enforced.unwrap_or_else(Enforced::default);
        let take = |output: &Mutex<CapturedOutput>| {
            std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let (stdout, stderr) = (take(&self.stdout), take(&self.stderr));
        let header = Header {
            ending,
            code,
            signal,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            enforced: Enforced { pid_namespace: self.namespace, ..enforced },
            failed,
            stdout: StreamHeader::from(&stdout),
            stderr: StreamHeader::from(&stderr),
        };
        header.write(&stdout, &stderr)
    }
}

/// Starts a thread that measures the workspace and the files without a name, and sends the limit that the run exceeds.
fn start_measuring(
    workspace: PathBuf,
    must_see_all: bool,
) -> io::Result<oneshot::Receiver<Ending>> {
    let (sender, receiver) = oneshot::channel();
    // Fails where the machine has no PID left, for instance because of a fork bomb elsewhere.
    std::thread::Builder::new().spawn(move || {
        let mut measure = RunMeasure::new(workspace, must_see_all);
        while !sender.is_closed() {
            std::thread::sleep(MEASURE_INTERVAL);
            if let Some(ending) = measure.exceeded_limit() {
                let _ = sender.send(ending);
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Waits until the measuring thread sends a limit. A thread that ended without one measures nothing any more.
async fn measured_limit(measured: Option<oneshot::Receiver<Ending>>) -> Ending {
    match measured {
        Some(measured) => measured.await.unwrap_or(Ending::Unmeasured),
        None => std::future::pending().await,
    }
}

/// Collects the reports of launcher and keeper until the keeper has ended.
async fn collect_reports(from_keeper: OwnedReadHalf) -> Vec<StageReport> {
    let mut reports = Vec::new();
    let mut lines = BufReader::new(from_keeper).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        reports.extend(serde_json::from_str(&line));
    }
    reports
}

/// Reads a stream to its end and captures its beginning.
async fn drain(
    stream: Option<impl AsyncRead + Unpin>,
    output: Arc<Mutex<CapturedOutput>>,
    limit: usize,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let read = buffer.get(..read).unwrap_or_default();
        output.lock().unwrap_or_else(PoisonError::into_inner).append(read, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn e13_a_run_that_is_measured_no_more_ends() {
        let (sender, receiver) = oneshot::channel();
        drop(sender);
        assert_eq!(measured_limit(Some(receiver)).await, Ending::Unmeasured);
    }
}
