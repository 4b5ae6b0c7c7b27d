//! The `git` program: the one place that starts it, with every setting, variable and limit it is given.
//!
//! It runs without a shell, without a terminal, without the settings of the repository or of the machine, but for those of the
//! user that say how to reach a host (proxy, certificates, credential helper, rewritten URLs). It reads no hooks,
//! filters or submodules, speaks only the protocol of the URL, and ends with all it started when its time is up. Not here:
//! which commands are run (mirror).

#![expect(clippy::disallowed_methods, reason = "this is the door to the git program")]

use std::{
    ffi::OsString,
    fmt::{self, Write as _},
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use skills_core::diagnostic::escaped;

use super::{
    error::GitError,
    place::{self, PACKS},
    said::judged,
    settings::{EXEC_PATH, INHERITED, SETTINGS, VARIABLES},
    token::Token,
    tools::{Toolbox, Tools},
    url::{Remote, Scheme},
};
use crate::config::{Environment, inherited};

/// What git does for us. A second implementation would have to promise the same: nothing of the content runs.
pub trait Git: Send + Sync + fmt::Debug {
    /// Runs one command; `take` reads what it prints. Where it comes back before the command's output ends, the command is ended:
    /// what was read is all that was wanted.
    fn run(&self, call: &Call<'_>, take: Take<'_>) -> Result<(), GitError>;
    /// Ends whatever runs, and starts nothing more.
    fn stop(&self);
}

/// Reads what a command prints.
pub type Take<'a> = &'a mut dyn FnMut(&mut dyn Read) -> io::Result<()>;

/// One command.
#[expect(missing_debug_implementations, reason = "who hears how it gets on cannot be shown")]
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The repository it works on.
    pub repository: &'a Path,
    /// The command and its arguments.
    pub arguments: &'a [&'a str],
    /// What it reads.
    pub input: &'a [u8],
    /// A lock that it holds for as long as it runs, where it reads nothing.
    pub holding: Option<&'a File>,
    /// Whom it talks to, where it does.
    pub remote: Option<&'a Remote>,
    /// When it is ended.
    pub deadline: Duration,
    /// Who hears how it gets on.
    pub progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// Older ones do not take settings from their environment, or take the user's all the same.
const OLDEST: (u32, u32) = (2, 32);
/// A remote that sends more at once is not listened to any longer.
const MAX_RECEIVED: u64 = 2 * 1024 * 1024 * 1024;
/// How often that is looked at.
const TICK: Duration = Duration::from_millis(500);
/// So much of what git says is looked at.
const MAX_SAID: usize = 64 * 1024;

/// The program that is installed on this machine.
#[derive(Debug, Default)]
pub struct Installed {
    toolbox: Toolbox,
    stopped: AtomicBool,
    /// The process groups that run.
    running: Mutex<Vec<u32>>,
    /// Which git it is, where it says so.
    version: OnceLock<Option<(u32, u32)>>,
    /// The user's settings that say how to reach a host.
    user: OnceLock<Vec<(String, String)>>,
    /// Whether the log has said that another git was passed over.
    passed_over: OnceLock<()>,
}

impl Git for Installed {
    fn run(&self, call: &Call<'_>, take: Take<'_>) -> Result<(), GitError> {
        let tools = self.tools()?;
        if let Some(version) = self.version(&tools).filter(|version| *version < OLDEST) {
            return Err(GitError::OldProgram { version, oldest: OLDEST });
        }
        if call.remote.is_some_and(|remote| remote.scheme() == Scheme::Ssh) {
            tools.need_ssh()?;
        }
        let token = call.remote.and_then(Token::for_remote);
        let mut command = plain(&tools);
        command.arg("--git-dir").arg(call.repository).args(call.arguments);
        command.current_dir("/").envs(VARIABLES.iter().copied());
        command.env("GIT_ALLOW_PROTOCOL", protocols(call.remote));
        // Whatever the agent that started us or a configuration says.
        command.env("GIT_SSH_COMMAND", tools.ssh_command());
        let mut settings: Vec<(String, String)> = Vec::new();
        if call.remote.is_some() {
            settings.extend_from_slice(self.user_settings(&tools));
        }
        let fixed = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        settings.extend(fixed);
        if let (Some(token), Some(remote)) = (&token, call.remote) {
            settings.extend(Token::settings(remote));
            let (name, value) = token.variable();
            command.env(name, value);
        }
        put_settings(&mut command, &settings);
        let ended = self.watched(command, call, take)?;
        if ended.well {
            return Ok(());
        }
        tracing::debug!(command = call.arguments.first(), "git: {}", escaped(&ended.said));
        Err(judged(&ended.said, call.remote, token.is_some()))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().for_each(|group| end(*group));
    }
}

/// How a command came to its end.
struct Ended {
    /// It did what it was asked for, or as much of it as was wanted.
    well: bool,
    said: String,
}

impl Installed {
    /// The git of this machine; `roots` are those of `scripts.roots`, in which scripts may write.
    pub fn new(environment: &Environment, roots: &[String]) -> Self {
        Self { toolbox: Toolbox::new(environment, roots), ..Self::default() }
    }

    /// Which git is used, and its version, for people; or why none is.
    pub fn described(&self) -> Result<String, GitError> {
        let tools = self.tools()?;
        let version = self.version(&tools).map(|(major, minor)| format!(" {major}.{minor}"));
        let mut said = format!("{}{}", tools.git.path.display(), version.unwrap_or_default());
        for path in &tools.git.passed_over {
            let _ = write!(said, "; passed over, since scripts may write it: {}", path.display());
        }
        Ok(said)
    }

    fn tools(&self) -> Result<Tools<'_>, GitError> {
        let tools = self.toolbox.open()?;
        if let Some(other) = tools.git.passed_over.first() {
            let (used, other) = (tools.git.path.display(), other.display());
            let told = || {
                tracing::warn!(
                    "git: {other} is passed over, since scripts may write it; {used} is used"
                );
            };
            self.passed_over.get_or_init(told);
        }
        Ok(tools)
    }

    /// Runs a command with a deadline, in a process group of its own.
    fn watched(
        &self,
        mut command: Command,
        call: &Call<'_>,
        take: Take<'_>,
    ) -> Result<Ended, GitError> {
        let input = match call.holding.filter(|_| call.input.is_empty()) {
            Some(held) => Stdio::from(held.try_clone().map_err(GitError::Start)?),
            None if call.input.is_empty() => Stdio::null(),
            None => Stdio::piped(),
        };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.started(&mut command)?;
        let group = child.id();
        let over = AtomicU8::new(IN_TIME);
        let ended = &over;
        let (done, waiting) = mpsc::channel::<()>();
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (taken, enough, said, status) = thread::scope(|scope| {
            scope.spawn(move || {
                let verdict = guarded(call, &waiting);
                ended.store(verdict, Ordering::SeqCst);
                if verdict != IN_TIME {
                    end(group);
                }
            });
            let said = scope
                .spawn(|| stderr.map(|stderr| heard(stderr, call.progress)).unwrap_or_default());
            scope.spawn(|| {
                // A git that has gone says why; that it no longer listens is no news.
                let _ = stdin.map(|mut stdin| stdin.write_all(call.input));
            });
            let (taken, enough) = stdout.map_or((Ok(()), false), |mut stdout| {
                let taken = take(&mut stdout);
                // A list without end is not waited for once its reader has had enough.
                let enough = taken.is_ok() && matches!(stdout.read(&mut [0]), Ok(1..));
                (taken, enough)
            });
            if taken.is_err() || enough {
                end(group);
            }
            let status = child.wait();
            drop(done);
            (taken, enough, said.join().unwrap_or_default(), status)
        });
        self.running.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| *one != group);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(GitError::Stopped);
        }
        let host = || call.remote.map_or("git", Remote::host).to_owned();
        match over.load(Ordering::SeqCst) {
            TOO_LATE => {
                return Err(GitError::Slow { host: host(), seconds: call.deadline.as_secs() });
            }
            TOO_MUCH => return Err(GitError::Large { host: host(), bytes: MAX_RECEIVED }),
            _ => {}
        }
        let disk = |error| GitError::Disk { path: call.repository.to_owned(), error };
        taken.map_err(disk)?;
        let status = status.map_err(GitError::Start)?;
        Ok(Ended { well: enough || status.success(), said })
    }

    /// Starts it, unless we are leaving; whoever stops us knows of it from then on.
    fn started(&self, command: &mut Command) -> Result<Child, GitError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(GitError::Stopped);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn().map_err(GitError::Start)?;
        running.push(child.id());
        Ok(child)
    }

    /// What the user's own configuration says of hosts, read once.
    fn user_settings(&self, tools: &Tools<'_>) -> &[(String, String)] {
        self.user.get_or_init(|| {
            let listing = ["config", "--list", "-z", "--show-origin", "--includes"];
            let listed = plain(tools).current_dir("/").args(listing).output();
            let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
            tools.settings_about_hosts(&String::from_utf8_lossy(&listed))
        })
    }

    /// Which git it is, asked once.
    fn version(&self, tools: &Tools<'_>) -> Option<(u32, u32)> {
        *self.version.get_or_init(|| {
            let said = plain(tools).current_dir("/").arg("--version").output().ok()?;
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            let numbers = said.strip_prefix("git version ")?;
            let mut numbers = numbers.split('.').map(|part| part.parse().ok());
            Some((numbers.next()??, numbers.next()??))
        })
    }
}

/// How a command was ended, if it was.
const IN_TIME: u8 = 0;
const TOO_LATE: u8 = 1;
const TOO_MUCH: u8 = 2;

/// Waits for a command to end; says whether it must be ended, since it takes too long or receives too much.
fn guarded(call: &Call<'_>, waiting: &mpsc::Receiver<()>) -> u8 {
    let (started, before) = (Instant::now(), received(call.repository));
    loop {
        let left = call.deadline.saturating_sub(started.elapsed());
        match waiting.recv_timeout(left.min(TICK)) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return IN_TIME,
        }
        if started.elapsed() >= call.deadline {
            return TOO_LATE;
        }
        if call.remote.is_some() && received(call.repository).saturating_sub(before) > MAX_RECEIVED
        {
            return TOO_MUCH;
        }
    }
}

/// How much lies in a repository, all that is half received included.
fn received(repository: &Path) -> u64 {
    place::sizes(&repository.join(PACKS)).iter().sum()
}

/// Git, with nothing of our environment but what it needs.
fn plain(tools: &Tools<'_>) -> Command {
    let mut command = Command::new(&tools.git.path);
    let inherited = inherited(INHERITED).into_iter();
    command
        .env_clear()
        .envs(inherited.filter(|(name, value)| *name != EXEC_PATH || tools.is_safe_folder(value)));
    command.env("PATH", &tools.path);
    command
}

/// Settings through the environment: arguments are seen by everybody on the machine.
fn put_settings(command: &mut Command, settings: &[(String, String)]) {
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
}

/// The only protocols that git may speak: a URL that is rewritten or redirected stays among them.
fn protocols(remote: Option<&Remote>) -> OsString {
    match remote.map(Remote::scheme) {
        None => "none",
        Some(Scheme::File) => "file",
        Some(Scheme::Http) => "http:https",
        Some(Scheme::Https | Scheme::Ssh) => "https:ssh",
    }
    .into()
}

/// What git says, its progress told on and left out.
fn heard(stderr: impl Read, progress: Option<&(dyn Fn(&str) + Sync)>) -> String {
    let mut reader = BufReader::new(stderr);
    let mut said = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        // Progress overwrites its line.
        let mut end_of_line = (&mut reader).take(MAX_SAID as u64);
        let Ok(1..) = end_of_line.read_until(b'\n', &mut line) else { return said };
        for part in line.split(|byte| matches!(byte, b'\r' | b'\n')).filter(|part| !part.is_empty())
        {
            let part = String::from_utf8_lossy(part);
            if let Some(progress) = progress {
                progress(&part);
            }
            if said.len() + part.len() < MAX_SAID && !part.contains("% (") {
                said.push_str(&part);
                said.push('\n');
            }
        }
    }
}

/// Ends a process and all that it started.
#[cfg(unix)]
fn end(group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // What is gone already needs no ending.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Elsewhere there are no groups to end.
#[cfg(not(unix))]
fn end(_: u32) {}
