//! The middle stage of a run: starts the launcher, keeps its time, keeps its output, and leaves nothing alive.
//!
//! Its standard input is the server's hand: an order, then nothing for as long as the run is wanted. One more byte takes
//! the run back; its end means that the server is gone. Its standard output is the answer. It lives in a process group
//! of its own, so that what ends the server does not end it before its work is done.

#![expect(clippy::disallowed_methods, reason = "this is where the launcher is started")]

use std::{
    io,
    os::{fd::AsFd as _, unix::net::UnixStream as Socket, unix::process::ExitStatusExt as _},
    path::PathBuf,
    process::{ExitCode, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, kill_process_group, set_child_subreaper,
    set_dumpable_behavior,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixStream, unix::pipe::Receiver},
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
    time::{sleep, sleep_until, timeout},
};

use super::{
    LAUNCH,
    descendants::{self, Family, Found},
    header::{Header, Stream},
    launcher::Report,
    order::Order,
    outcome::{Ending, Kept, MAX_PRIVATE_BYTES, MAX_PROCESSES, MAX_THREADS},
    sandbox::Enforced,
    workspace,
};

/// This very program, also where its file was replaced by a newer one.
const MYSELF: &str = "/proc/self/exe";
/// How often processes are counted.
const COUNT_EVERY: Duration = Duration::from_millis(25);
/// How often the private folder is measured.
const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// Whatever holds a pipe after everybody is dead is given up on.
const DRAIN: Duration = Duration::from_millis(300);
/// Killing takes a moment where there are thousands.
const SWEEP: Duration = Duration::from_secs(10);
/// So many are counted, with the dead among them.
const ENOUGH: usize = 4 * MAX_PROCESSES;
const BUFFER: usize = 256 * 1024;

/// Plays the supervisor.
pub(super) fn run() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(supervise())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = Header::failed(error.to_string()).say(&Kept::default(), &Kept::default());
            ExitCode::from(3)
        }
    }
}

async fn supervise() -> io::Result<()> {
    // Nobody may look into this process, and every orphan of the run becomes its child.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    // Before anything of the run's lives, which might be in the way later.
    let family = Family::open();
    let control = Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut control = BufReader::new(control);
    let mut line = String::new();
    if control.read_line(&mut line).await? == 0 {
        return Ok(());
    }
    let order: Order = serde_json::from_str(&line)?;
    let _lock = order.workspace.as_deref().map(workspace::locked).transpose()?;
    let mut asked = Asked::listen()?;
    let mut run = Run::start(&order, &line, family)?;
    // From here on nothing may fail before everything that was started has ended.
    let ending = run.watch(&order, &mut control, &mut asked).await;
    run.kill_all().await;
    let answered = run.answer(ending).await;
    if let Some(folder) = &order.workspace {
        workspace::remove(folder);
    }
    answered
}

/// A launcher, or the script it became, and what it says.
struct Run {
    child: Child,
    family: Family,
    pid: Pid,
    started: Instant,
    status: Option<ExitStatus>,
    stdout: Arc<Mutex<Kept>>,
    stderr: Arc<Mutex<Kept>>,
    drains: Vec<JoinHandle<()>>,
    reports: JoinHandle<Vec<Report>>,
}

/// Signals that would end this process before its work is done; they end the run instead.
struct Asked([tokio::signal::unix::Signal; 3]);

impl Asked {
    fn listen() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self([terminate?, interrupt?, hangup?]))
    }

    async fn ended(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// What comes next in a run.
enum Step {
    Ended(ExitStatus),
    Told(Ending),
    Gone,
    Late,
    Count,
}

impl Run {
    fn start(order: &Order, line: &str, family: Family) -> io::Result<Self> {
        let (ours, theirs) = Socket::pair()?;
        let started = Instant::now();
        let mut child = Command::new(MYSELF)
            .arg(LAUNCH)
            .env_clear()
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        ours.set_nonblocking(true)?;
        let reports = tokio::spawn(converse(UnixStream::from_std(ours)?, line.to_owned()));
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the launcher is gone at once"))?;
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let cap = order.max_output_bytes;
        let drains = vec![
            tokio::spawn(drain(child.stdout.take(), Arc::clone(&stdout), cap)),
            tokio::spawn(drain(child.stderr.take(), Arc::clone(&stderr), cap)),
        ];
        Ok(Self { child, family, pid, started, status: None, stdout, stderr, drains, reports })
    }

    /// Waits for an end, or finds that there must be one; none where nobody waits for it any more.
    async fn watch(
        &mut self,
        order: &Order,
        control: &mut BufReader<Receiver>,
        asked: &mut Asked,
    ) -> Option<Ending> {
        let mut deadline = self.started + Duration::from_millis(order.timeout_ms);
        let mut late = false;
        let mut count = tokio::time::interval(COUNT_EVERY);
        let mut outgrown = std::pin::pin!(outgrown(order.workspace.clone()));
        loop {
            let step = tokio::select! {
                biased;
                status = self.child.wait() => status.map_or(Step::Gone, Step::Ended),
                read = control.read_u8() => read.map_or(Step::Gone, |_| Step::Told(Ending::Cancelled)),
                () = asked.ended() => Step::Gone,
                () = sleep_until(deadline.into()) => Step::Late,
                () = &mut outgrown => Step::Told(Ending::TooLarge),
                _ = count.tick() => Step::Count,
            };
            match step {
                Step::Ended(status) => {
                    self.status = Some(status);
                    return Some(if late { Ending::TimedOut } else { Ending::Exited });
                }
                Step::Told(ending) => return Some(ending),
                Step::Gone => return None,
                Step::Late if late => return Some(Ending::TimedOut),
                Step::Late => {
                    late = true;
                    descendants::signal(&self.family.all().pids, Signal::TERM);
                    deadline += Duration::from_millis(order.grace_ms);
                }
                Step::Count => {
                    if let Some(ending) = self.too_many() {
                        return Some(ending);
                    }
                }
            }
        }
    }

    /// Orphans that have ended are ours to take notice of; they are nobody's processes any more.
    fn too_many(&mut self) -> Option<Ending> {
        // Who has many more need not be counted to the last, while they become even more.
        let found = self.family.some(ENOUGH);
        descendants::reap(&found.pids, Some(self.pid));
        let over = |found: &Found| found.pids.len() > MAX_PROCESSES;
        if over(&found) && over(&self.family.some(ENOUGH)) {
            return Some(Ending::TooMany);
        }
        (found.threads > MAX_THREADS).then_some(Ending::TooManyThreads)
    }

    /// Kills every descendant: stops them first, so that none can fork while the others die.
    async fn kill_all(&mut self) {
        // All at once where they kept together. Once the main process is gone its number may be somebody else's.
        if self.status.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
        let started = Instant::now();
        let mut stopped = std::collections::HashSet::new();
        loop {
            let found = self.family.all().pids;
            let new: Vec<Pid> = found.into_iter().filter(|pid| stopped.insert(*pid)).collect();
            descendants::signal(&new, Signal::STOP);
            if new.is_empty() || started.elapsed() > SWEEP / 2 {
                break;
            }
        }
        loop {
            let living = self.family.all().pids;
            descendants::signal(&living, Signal::KILL);
            descendants::reap(&living, Some(self.pid));
            // The main process last, so that its end is not taken for somebody else's.
            if self.status.is_none() {
                self.status = self.child.try_wait().ok().flatten();
            }
            // That a list is empty may mean that it cannot be read; the kernel's own word counts.
            let alone = living.is_empty() && descendants::is_alone();
            if alone || started.elapsed() > SWEEP {
                return;
            }
            if living.is_empty() && self.status.is_some() {
                let hidden = descendants::searched();
                descendants::signal(&hidden, Signal::KILL);
                descendants::reap(&hidden, Some(self.pid));
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Tells the server, where there still is one.
    async fn answer(mut self, ending: Option<Ending>) -> io::Result<()> {
        let duration = self.started.elapsed();
        for drain in &mut self.drains {
            let _ = timeout(DRAIN, drain).await;
        }
        let Some(ending) = ending else { return Ok(()) };
        let reports =
            timeout(DRAIN, self.reports).await.ok().and_then(Result::ok).unwrap_or_default();
        let mut enforced = None;
        let mut failed = None;
        for report in reports {
            match report {
                Report::Enforced(what) => enforced = Some(what),
                Report::Failed(why) => failed = Some(why),
            }
        }
        if enforced.is_none() && failed.is_none() && ending == Ending::Exited {
            failed = Some("the launcher died before it could start it".to_owned());
        }
        let take = |kept: &Mutex<Kept>| {
            std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let (stdout, stderr) = (take(&self.stdout), take(&self.stderr));
        let header = Header {
            ending,
            code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            enforced: enforced.unwrap_or_else(Enforced::default),
            failed,
            stdout: Stream::from(&stdout),
            stderr: Stream::from(&stderr),
        };
        header.say(&stdout, &stderr)
    }
}

/// Comes back when the private folder has become too large.
async fn outgrown(folder: Option<PathBuf>) {
    let Some(folder) = folder else { return std::future::pending().await };
    loop {
        sleep(MEASURE_EVERY).await;
        let folder = folder.clone();
        let measured = tokio::task::spawn_blocking(move || workspace::bytes(&folder)).await;
        if measured.is_ok_and(|bytes| bytes > MAX_PRIVATE_BYTES) {
            return;
        }
    }
}

/// Hands the order to the launcher and hears what it says, until it has become somebody else.
async fn converse(mut socket: UnixStream, order: String) -> Vec<Report> {
    let mut reports = Vec::new();
    if socket.write_all(order.as_bytes()).await.is_ok() {
        let mut lines = BufReader::new(socket).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            reports.extend(serde_json::from_str(&line));
        }
    }
    reports
}

/// Reads a stream to its end, and keeps its beginning.
async fn drain(stream: Option<impl AsyncRead + Unpin>, kept: Arc<Mutex<Kept>>, cap: usize) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; BUFFER];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let taken = buffer.get(..read).unwrap_or_default();
        kept.lock().unwrap_or_else(PoisonError::into_inner).take(taken, cap);
    }
}
