//! The `git` program: only this file starts it, with every setting, variable and limit it gets.
//!
//! It runs without a shell, without a terminal, and without the configuration of the repository and of the machine, except the
//! user's settings about hosts (proxy, certificates, credential helper, rewritten URLs). It uses no hooks, filters or
//! submodules, only the protocol of the URL, and is killed with all it started when its time is up. Not here: which commands
//! run (mirror).

#![expect(clippy::disallowed_methods, reason = "this file starts the git program")]

use std::{
    collections::HashSet,
    ffi::OsString,
    fmt::Write as _,
    fs::File,
    io::{self, Read, Write as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use skills_core::diagnostic::escaped;

use super::{
    error::GitError,
    failure::{classify, last_message},
    memory::limit_memory,
    messages::{UntilExit, read_stderr},
    settings::{EXEC_PATH, INHERITED, NO_TRACES, SETTINGS, VARIABLES},
    storage::{self, PACK_FOLDER},
    token::GithubToken,
    tools::{GitToolFinder, GitTools, NO_SSH},
    url::{Remote, Scheme},
};
use crate::config::{Environment, inherited};

/// Reads the output of a command.
pub(super) type ReadOutput<'a> = &'a mut dyn FnMut(&mut dyn Read) -> io::Result<()>;

/// One command.
#[derive(Clone, Copy)]
pub(crate) struct GitCommand<'a> {
    /// The repository it works on.
    pub(super) repository: &'a Path,
    /// The command and its arguments.
    pub(super) arguments: &'a [&'a str],
    /// Its standard input.
    pub(super) input: &'a [u8],
    /// A lock that it holds while it runs, where it has no input.
    pub(super) held_lock: Option<&'a File>,
    /// The remote, for a command that uses one.
    pub(super) remote: Option<&'a Remote>,
    /// When it is killed.
    pub(super) timeout: Duration,
    /// Receives its progress.
    pub(super) progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

impl<'a> GitCommand<'a> {
    /// A command without a remote and without input.
    pub(super) fn local(repository: &'a Path, arguments: &'a [&'a str], timeout: Duration) -> Self {
        let input = &[];
        let (held_lock, remote, progress) = (None, None, None);
        Self { repository, arguments, input, held_lock, remote, timeout, progress }
    }
}

/// Older versions take no settings from the environment, or do not ignore the user's.
const OLDEST_GIT_VERSION: (u32, u32) = (2, 32);
/// How much a remote may send at once.
const MAX_RECEIVED_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How long git may take to answer a question about itself or its settings.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);
/// After a question without an answer, how long it is not asked again.
const QUESTION_INTERVAL: Duration = Duration::from_mins(1);
/// How much of such an answer is read.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;
/// How often that is checked.
const RECEIVED_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The git that is installed on this machine.
#[derive(Debug, Default)]
pub(crate) struct InstalledGit {
    finder: GitToolFinder,
    stopped: AtomicBool,
    /// The process groups that run.
    running: Mutex<Vec<u32>>,
    /// Its version, if that is known.
    version: OnceLock<(u32, u32)>,
    /// All settings of the user, as git lists them. Which of them count is asked anew for every command.
    user_settings: OnceLock<String>,
    /// When git could not list them.
    unanswered: Mutex<Option<Instant>>,
    /// What the log has said of settings that do not count.
    warned: Mutex<HashSet<String>>,
    /// Set once the log has said that another git was passed over.
    passed_over: OnceLock<()>,
}

/// How a command ended.
struct CommandResult {
    /// Whether it did all, or as much as its reader wanted.
    succeeded: bool,
    stderr: String,
}

/// The limit for which a command was killed.
enum Overrun {
    Time,
    Received,
}

impl InstalledGit {
    /// `roots` are those of `scripts.roots`, which scripts may write.
    pub(crate) fn new(environment: &Environment, roots: &[String]) -> Self {
        Self { finder: GitToolFinder::new(environment, roots), ..Self::default() }
    }

    /// Runs one command; `read` reads its output. Where `read` returns before the output ends, the command is killed, and counts
    /// as a success.
    pub(super) fn run(&self, call: &GitCommand<'_>, read: ReadOutput<'_>) -> Result<(), GitError> {
        let tools = self.tools()?;
        let version = self.version(&tools);
        if let Some(version) = version.filter(|version| *version < OLDEST_GIT_VERSION) {
            return Err(GitError::OldProgram { version, oldest: OLDEST_GIT_VERSION });
        }
        if call.remote.is_some_and(|remote| remote.scheme() == Scheme::Ssh) {
            tools.need_ssh()?;
        }
        let token = call.remote.and_then(GithubToken::for_remote);
        let mut command = plain_git(&tools);
        command.arg("--git-dir").arg(call.repository).args(call.arguments);
        command.envs(VARIABLES.iter().copied());
        command.env("GIT_ALLOW_PROTOCOL", protocols(call.remote));
        // Whatever the environment or a configuration says.
        let may_use_ssh = |remote: &&Remote| matches!(remote.scheme(), Scheme::Https | Scheme::Ssh);
        let ssh = call.remote.filter(may_use_ssh);
        let mut unused = Vec::new();
        let ssh = ssh.map(|_| tools.ssh_command(|why| unused.push(why)));
        command.env("GIT_SSH_COMMAND", ssh.unwrap_or_else(|| NO_SSH.into()));
        let mut settings: Vec<(String, String)> = Vec::new();
        if call.remote.is_some() {
            settings.extend(self.user_settings(&tools, |why| unused.push(why)));
        }
        self.warn_once(&unused);
        let fixed = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        settings.extend(fixed);
        if let (Some(token), Some(remote)) = (&token, call.remote) {
            settings.extend(GithubToken::settings(remote));
            let (name, value) = token.variable();
            command.env(name, value);
        }
        set_settings(&mut command, &settings);
        let result = self.run_with_limits(command, call, read)?;
        if result.succeeded {
            return Ok(());
        }
        tracing::debug!(command = call.arguments.first(), "git: {}", escaped(&result.stderr));
        Err(classify(&result.stderr, call.remote, token.is_some()).without(unused))
    }

    /// Kills every running command, and starts no other.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().for_each(|group| kill_group(*group));
    }

    /// The path and version of the git that is used, for people; or why none is.
    pub(crate) fn described(&self) -> Result<String, GitError> {
        let tools = self.tools()?;
        let version = self.version(&tools).map(|(major, minor)| format!(" {major}.{minor}"));
        let mut text = format!("{}{}", tools.git.path.display(), version.unwrap_or_default());
        for path in &tools.git.passed_over {
            let _ = write!(text, "; passed over, since scripts may write it: {}", path.display());
        }
        Ok(text)
    }

    fn tools(&self) -> Result<GitTools<'_>, GitError> {
        let tools = self.finder.find()?;
        if let Some(other) = tools.git.passed_over.first() {
            let (used, other) = (tools.git.path.display(), other.display());
            let warn = || {
                tracing::warn!(
                    "git: {other} is passed over, since scripts may write it; {used} is used"
                );
            };
            self.passed_over.get_or_init(warn);
        }
        Ok(tools)
    }

    /// Runs a command in a process group of its own, with limits on time and on what it receives.
    fn run_with_limits(
        &self,
        mut command: Command,
        call: &GitCommand<'_>,
        read: ReadOutput<'_>,
    ) -> Result<CommandResult, GitError> {
        let input = match call.held_lock.filter(|_| call.input.is_empty()) {
            Some(lock) => Stdio::from(lock.try_clone().map_err(GitError::Start)?),
            None if call.input.is_empty() => Stdio::null(),
            None => Stdio::piped(),
        };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start(&mut command)?;
        let group = child.id();
        let (ended, waiting) = mpsc::channel::<()>();
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (exited, running) = io::pipe().map_err(GitError::Start)?;
        let stderr = stderr.map(|stderr| UntilExit::new(stderr, exited));
        let (result, enough, stderr, status, overrun) = thread::scope(|scope| {
            let guard = scope
                .spawn(move || wait_for_overrun(call, &waiting).inspect(|_| kill_group(group)));
            let stderr = scope.spawn(|| {
                stderr.map(|stderr| read_stderr(stderr, call.progress)).unwrap_or_default()
            });
            scope.spawn(|| {
                // Where that fails git has ended, and its messages say why.
                let _ = stdin.map(|mut stdin| stdin.write_all(call.input));
            });
            let (result, enough) = stdout.map_or((Ok(()), false), |mut stdout| {
                let result = read(&mut stdout);
                // The reader may want less than all.
                let enough = result.is_ok() && matches!(stdout.read(&mut [0]), Ok(1..));
                (result, enough)
            });
            if result.is_err() || enough {
                kill_group(group);
            }
            let status = child.wait();
            if !status.as_ref().is_ok_and(ExitStatus::success) {
                // A git that fails leaves its helper behind. After a success what is left is meant to stay.
                kill_group(group);
            }
            drop(running);
            let stderr = stderr.join().unwrap_or_default();
            drop(ended);
            (result, enough, stderr, status, guard.join().ok().flatten())
        });
        self.running.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| *one != group);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(GitError::Stopped);
        }
        let host = || call.remote.map_or("git", Remote::host).to_owned();
        match overrun {
            Some(Overrun::Time) => {
                return Err(GitError::Slow { host: host(), seconds: call.timeout.as_secs() });
            }
            Some(Overrun::Received) => {
                return Err(GitError::Large { host: host(), bytes: MAX_RECEIVED_BYTES });
            }
            None => {}
        }
        let disk_error = |error| GitError::Disk { path: call.repository.to_owned(), error };
        result.map_err(disk_error)?;
        let status = status.map_err(GitError::Start)?;
        Ok(CommandResult { succeeded: enough || status.success(), stderr })
    }

    /// Starts a command, unless git was stopped.
    fn start(&self, command: &mut Command) -> Result<Child, GitError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(GitError::Stopped);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn().map_err(GitError::Start)?;
        limit_memory(&child);
        running.push(child.id());
        Ok(child)
    }

    /// The user's settings about hosts. They are read once and judged by what scripts may write at this moment: a script of
    /// another server may have replaced a credential helper since the last command.
    fn user_settings(
        &self,
        tools: &GitTools<'_>,
        mut unused: impl FnMut(String),
    ) -> Vec<(String, String)> {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = unanswered.is_some_and(|asked| asked.elapsed() < QUESTION_INTERVAL);
        if self.user_settings.get().is_none() && !is_recent {
            let question = ["config", "--list", "-z", "--show-origin", "--includes"];
            match self.answer(plain_git(tools), &question) {
                Ok(listed) => drop(self.user_settings.set(listed)),
                Err(error) => {
                    unused(format!("your settings are not used: {error}"));
                    *unanswered = Some(Instant::now());
                }
            }
        }
        drop(unanswered);
        let listed = self.user_settings.get().map(String::as_str).unwrap_or_default();
        tools.settings_about_hosts(listed, unused)
    }

    /// Logs what is not used, each once.
    fn warn_once(&self, unused: &[String]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for why in unused {
            if warned.insert(why.clone()) {
                tracing::warn!("git: {}", escaped(why));
            }
        }
    }

    fn version(&self, tools: &GitTools<'_>) -> Option<(u32, u32)> {
        if let Some(known) = self.version.get() {
            return Some(*known);
        }
        let mut command = plain_git(tools);
        command.envs(VARIABLES.iter().copied());
        let output = self.answer(command, &["--version"]).ok()?;
        let numbers = output.strip_prefix("git version ")?;
        let mut numbers = numbers.split('.').map(|part| part.parse().ok());
        let version = (numbers.next()??, numbers.next()??);
        Some(*self.version.get_or_init(|| version))
    }

    /// What git prints when it is asked about itself or its settings.
    fn answer(&self, mut command: Command, question: &[&str]) -> Result<String, GitError> {
        let call = GitCommand::local(Path::new("/"), question, QUESTION_TIMEOUT);
        let mut answer = Vec::new();
        let mut read = |output: &mut dyn Read| {
            output.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).map(drop)
        };
        command.args(question);
        let result = self.run_with_limits(command, &call, &mut read)?;
        if !result.succeeded {
            return Err(GitError::Other(last_message(&result.stderr)));
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// Waits for a command to end; the limit that it exceeds, if it does.
fn wait_for_overrun(call: &GitCommand<'_>, ended: &mpsc::Receiver<()>) -> Option<Overrun> {
    let (started, before) = (Instant::now(), received_bytes(call.repository));
    loop {
        let left = call.timeout.saturating_sub(started.elapsed());
        match ended.recv_timeout(left.min(RECEIVED_CHECK_INTERVAL)) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
        if started.elapsed() >= call.timeout {
            return Some(Overrun::Time);
        }
        let received = || received_bytes(call.repository).saturating_sub(before);
        if call.remote.is_some() && received() > MAX_RECEIVED_BYTES {
            return Some(Overrun::Received);
        }
    }
}

/// The size of a repository's packs, half received ones included.
fn received_bytes(repository: &Path) -> u64 {
    storage::sizes(&repository.join(PACK_FOLDER)).iter().sum()
}

/// Git, with only the variables that it needs. Some settings that it obeys before any other are overridden: with them, a
/// configuration file of the user's that a script may write could have git write to any file.
fn plain_git(tools: &GitTools<'_>) -> Command {
    let mut command = Command::new(&tools.git.path);
    let inherited = inherited(INHERITED).into_iter();
    command
        .env_clear()
        .envs(inherited.filter(|(name, value)| *name != EXEC_PATH || tools.is_safe_folder(value)));
    command.env("PATH", &tools.path).current_dir("/");
    command.envs(NO_TRACES.iter().map(|name| (name, "0")));
    command
}

/// Passes settings through the environment, because every user of the machine can read arguments.
fn set_settings(command: &mut Command, settings: &[(String, String)]) {
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
}

/// The protocols that git may use, even where a URL is rewritten or redirected.
fn protocols(remote: Option<&Remote>) -> OsString {
    match remote.map(Remote::scheme) {
        None => "none",
        Some(Scheme::File) => "file",
        Some(Scheme::Http) => "http:https",
        Some(Scheme::Https | Scheme::Ssh) => "https:ssh",
    }
    .into()
}

/// Kills a process group.
#[cfg(unix)]
fn kill_group(group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Elsewhere there are no process groups.
#[cfg(not(unix))]
fn kill_group(_: u32) {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use skills_testkit::Home;

    use super::{super::memory::MAX_MEMORY_BYTES, *};

    #[test]
    fn e11_git_and_what_it_starts_have_limited_memory() {
        let home = Home::new();
        // A program in place of git, which says its limit once it has one.
        home.write(
            "bin/git",
            "#!/bin/sh\nwhile [ \"$(ulimit -d)\" = unlimited ]; do :; done\nsh -c 'ulimit -d'\n",
        );
        let git = home.path().join("bin/git");
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut search = vec![home.path().join("bin")];
        search.extend(["/usr/bin", "/bin"].map(Into::into));
        let environment = Environment {
            home: Some(home.path().to_path_buf()),
            directory: home.path().join("project"),
            search,
            ..Environment::default()
        };
        let installed = InstalledGit::new(&environment, &[]);
        let tools = installed.tools().unwrap();
        assert_eq!(tools.git.path, git);
        let answer = installed.answer(plain_git(&tools), &[]).unwrap();
        assert_eq!(answer.trim(), (MAX_MEMORY_BYTES / 1024).to_string());
    }
}
