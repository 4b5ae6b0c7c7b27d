//! The second stage of a run: starts the keeper, keeps time and limits, keeps the output, and leaves nothing alive.
//!
//! Its standard input is the server's hand: an order, then nothing for as long as the run is wanted. One more byte takes
//! the run back; its end means that the server is gone. Its standard output is the answer. It lives in a process group
//! of its own, so that what ends the server does not end it before its work is done. When it has answered it removes the
//! private folder.

#![expect(clippy::disallowed_methods, reason = "this is where the keeper is started")]

use std::{
    io,
    os::{fd::AsFd as _, unix::net::UnixStream as Socket, unix::process::ExitStatusExt as _},
    path::PathBuf,
    process::{ExitCode, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    process::{
        DumpableBehavior, Pid, Signal, getpid, kill_process, set_child_subreaper,
        set_dumpable_behavior,
    },
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
    KEEP, MYSELF,
    descendants::{self, Family},
    header::{Header, Stream},
    launcher::Report,
    measure,
    order::Order,
    outcome::{Ending, Kept, MAX_MEMORY_BYTES, MAX_PROCESSES, MAX_THREADS},
    sandbox::{Demand, Enforced},
    workspace,
};
use crate::removal;

/// How often processes are counted.
const COUNT_EVERY: Duration = Duration::from_millis(25);
/// How often the private folder is measured.
const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// Whatever holds a pipe after everybody is dead is given up on.
const DRAIN: Duration = Duration::from_millis(300);
/// How often memory is counted exactly, which takes the kernel a while, once the quick count is over the limit.
const COUNT_MEMORY_EVERY: Duration = Duration::from_millis(250);
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
    // Before there is a namespace, in which this process could start no thread.
    let outgrown = order.workspace.clone().map(measured);
    let mut run = Run::start(&order, family)?;
    // From here on nothing may fail before everything that was started has ended.
    run.order(&line).await;
    let ending = run.watch(&order, &mut control, &mut asked, outgrown).await;
    run.kill_all();
    let answered = run.answer(ending).await;
    if let Some(folder) = &order.workspace {
        // What stays is the server's to report, which looks.
        let _ = removal::here(folder);
    }
    answered
}

/// Makes the next process that this one starts the first of a PID namespace, where this process may: only one with
/// `CAP_SYS_ADMIN` may. A user namespace would give everybody that right, and would show all files of other users to the
/// script as those of one unknown user.
fn in_namespace(demand: Demand) -> bool {
    #[expect(
        deprecated,
        reason = "the other form is unsafe for the sake of a flag, shared file tables, that is not used here"
    )]
    let made = || rustix::thread::unshare(UnshareFlags::NEWPID).is_ok();
    // Without a sandbox a script sees processes as everybody does.
    demand != Demand::None && made()
}

/// A keeper, what is below it, and what they say.
struct Run {
    child: Child,
    /// Dropping it tells the keeper to end everything.
    wanted: Option<OwnedWriteHalf>,
    family: Family,
    /// Of the keeper.
    pid: Pid,
    /// Whether everything below the keeper is in a PID namespace, and ends with it.
    namespace: bool,
    started: Instant,
    status: Option<ExitStatus>,
    memory_counted: Option<Instant>,
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
    fn start(order: &Order, family: Family) -> io::Result<Self> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let (heard, wanted) = UnixStream::from_std(ours)?.into_split();
        let started = Instant::now();
        let namespace = in_namespace(order.policy.demand);
        let mut child = Command::new(MYSELF)
            .arg(KEEP)
            .env_clear()
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the keeper is gone at once"))?;
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let cap = order.max_output_bytes;
        let drains = vec![
            tokio::spawn(drain(child.stdout.take(), Arc::clone(&stdout), cap)),
            tokio::spawn(drain(child.stderr.take(), Arc::clone(&stderr), cap)),
        ];
        Ok(Self {
            child,
            wanted: Some(wanted),
            family,
            pid,
            namespace,
            started,
            status: None,
            memory_counted: None,
            stdout,
            stderr,
            drains,
            reports: tokio::spawn(listen(heard)),
        })
    }

    /// Hands the order down. The keeper reads it as soon as it lives, so that this waits for nobody.
    async fn order(&mut self, line: &str) {
        if let Some(keeper) = &mut self.wanted {
            // Where that fails the keeper is gone, which is noticed next.
            let _ = keeper.write_all(line.as_bytes()).await;
        }
    }

    /// Waits for an end, or finds that there must be one; none where nobody waits for it any more.
    async fn watch(
        &mut self,
        order: &Order,
        control: &mut BufReader<Receiver>,
        asked: &mut Asked,
        outgrown: Option<oneshot::Receiver<Ending>>,
    ) -> Option<Ending> {
        let mut deadline = self.started + Duration::from_millis(order.timeout_ms);
        let mut late = false;
        let mut count = tokio::time::interval(COUNT_EVERY);
        let mut outgrown = std::pin::pin!(told(outgrown));
        loop {
            let step = tokio::select! {
                biased;
                status = self.child.wait() => status.map_or(Step::Gone, Step::Ended),
                read = control.read_u8() => read.map_or(Step::Gone, |_| Step::Told(Ending::Cancelled)),
                () = asked.ended() => Step::Gone,
                () = sleep_until(deadline.into()) => Step::Late,
                ending = &mut outgrown => Step::Told(ending),
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
                    let mut asked = self.family.all().pids;
                    asked.retain(|pid| *pid != self.pid);
                    descendants::signal(&asked, Signal::TERM);
                    deadline += Duration::from_millis(order.grace_ms);
                }
                Step::Count => {
                    if let Some(ending) = self.too_much() {
                        return Some(ending);
                    }
                }
            }
        }
    }

    /// Counts processes, threads and memory. Orphans that have ended are ours or the keeper's to take notice of; they are
    /// no processes any more.
    fn too_much(&mut self) -> Option<Ending> {
        // Who has many more need not be counted to the last, while they become even more.
        let found = self.family.some(ENOUGH);
        descendants::reap(&found.pids, Some(self.pid));
        // Ended ones count too once they come faster than notice can be taken of them: they use up the numbers that
        // all processes of the machine share.
        let many = found.pids.len() > MAX_PROCESSES;
        if many && (found.pids.len() >= ENOUGH || self.family.live(&found.pids, MAX_PROCESSES)) {
            return Some(Ending::TooMany);
        }
        if found.threads > MAX_THREADS {
            return Some(Ending::TooManyThreads);
        }
        self.too_much_memory(&found.pids).then_some(Ending::TooMuchMemory)
    }

    fn too_much_memory(&mut self, pids: &[Pid]) -> bool {
        let lately = |counted: Instant| counted.elapsed() < COUNT_MEMORY_EVERY;
        if self.family.resident(pids) <= MAX_MEMORY_BYTES || self.memory_counted.is_some_and(lately)
        {
            return false;
        }
        let over = self.family.resident_once(pids) > MAX_MEMORY_BYTES;
        self.memory_counted = Some(Instant::now());
        over
    }

    /// Ends everything: by the keeper's end, where the kernel sees to the rest, and in any case by killing whatever is there
    /// until the kernel says that nothing is.
    fn kill_all(&mut self) {
        // Where there are thousands that want the processor, the keeper gets it late.
        self.family.kill_groups();
        self.wanted = None;
        if self.namespace && self.status.is_none() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        descendants::end_all(&mut self.family);
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
        let mut end = None;
        for report in reports {
            match report {
                Report::Enforced(what) => enforced = Some(what),
                Report::Failed(why) => failed = Some(why),
                Report::Ended { code, signal } => end = Some((code, signal)),
            }
        }
        if enforced.is_none() && failed.is_none() && ending == Ending::Exited {
            failed = Some("the launcher died before it could start it".to_owned());
        }
        // A keeper that was killed has told nothing.
        let killed = || (None, self.status.and_then(|status| status.signal()));
        let (code, signal) = end.unwrap_or_else(killed);
        let enforced = enforced.unwrap_or_else(Enforced::default);
        let take = |kept: &Mutex<Kept>| {
            std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let (stdout, stderr) = (take(&self.stdout), take(&self.stderr));
        let header = Header {
            ending,
            code,
            signal,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            enforced: Enforced { pid_namespace: self.namespace, ..enforced },
            failed,
            stdout: Stream::from(&stdout),
            stderr: Stream::from(&stderr),
        };
        header.say(&stdout, &stderr)
    }
}

/// Measures the private folder, and what the run holds besides, on a thread of its own.
fn measured(folder: PathBuf) -> oneshot::Receiver<Ending> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let mut family = Family::open();
        while !tell.is_closed() {
            std::thread::sleep(MEASURE_EVERY);
            if let Some(ending) = measure::outgrown(&folder, &mut family) {
                let _ = tell.send(ending);
                return;
            }
        }
    });
    told
}

/// Comes back when a measurement says that the run must end.
async fn told(outgrown: Option<oneshot::Receiver<Ending>>) -> Ending {
    match outgrown {
        Some(outgrown) => match outgrown.await {
            Ok(ending) => ending,
            Err(_) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// Hears what launcher and keeper say, until the keeper has ended.
async fn listen(heard: OwnedReadHalf) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut lines = BufReader::new(heard).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        reports.extend(serde_json::from_str(&line));
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
