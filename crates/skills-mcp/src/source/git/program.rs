//! The `git` program: the one place that starts it, with every setting, variable and limit it is given.
//!
//! It runs without a shell, without a terminal, without the settings of the repository or of the machine, but for those of the
//! user that say how to reach a host (proxy, certificates, credential helper, rewritten URLs). It reads no hooks,
//! filters or submodules, speaks only the protocol of the URL, and ends with all it started when its time is up. Not here:
//! which commands are run (mirror).

#![expect(clippy::disallowed_methods, reason = "this is the door to the git program")]

use std::{
    ffi::OsString,
    fmt,
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
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
    said::judged,
    token::Token,
    url::{Remote, Scheme},
};
use crate::config::inherited;

/// What git does for us. A second implementation would have to promise the same: nothing of the content runs.
pub trait Git: Send + Sync + fmt::Debug {
    /// Runs one command to its end; `take` reads what it prints.
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

/// Settings of every command. What the content or the machine says otherwise does not count.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.symlinks", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("transfer.fsckObjects", "true"),
    ("transfer.bundleURI", "false"),
    ("protocol.ext.allow", "never"),
    ("http.followRedirects", "initial"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "20"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("safe.bareRepository", "all"),
    ("advice.detachedHead", "false"),
];
/// Variables of every command.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // `ssh` as the user has it, whatever the agent that started us or a configuration says; it asks nobody.
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
];
/// What a user's way to the network may hang on. Never a token of ours, nor git variables of whoever started us.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "GNUPGHOME",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_EXEC_PATH",
    "SYSTEMROOT",
    "SystemRoot",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
    "TMP",
];
/// Older ones do not take settings from their environment, or take the user's all the same.
const OLDEST: (u32, u32) = (2, 32);
/// A remote that sends more is not listened to any longer.
const MAX_RECEIVED: u64 = 2 * 1024 * 1024 * 1024;
/// How often that is looked at.
const TICK: Duration = Duration::from_millis(500);
/// So much of what git says is looked at.
const MAX_SAID: usize = 64 * 1024;

/// The program that is installed on this machine.
#[derive(Debug, Default)]
pub struct Installed {
    stopped: AtomicBool,
    /// The process groups that run.
    running: Mutex<Vec<u32>>,
    /// Which git it is, where it says so.
    version: OnceLock<Option<(u32, u32)>>,
    /// The user's settings that say how to reach a host.
    user: OnceLock<Vec<(String, String)>>,
}

impl Git for Installed {
    fn run(&self, call: &Call<'_>, take: Take<'_>) -> Result<(), GitError> {
        if let Some(version) =
            self.version.get_or_init(version).as_ref().filter(|version| **version < OLDEST)
        {
            return Err(GitError::OldProgram { version: *version, oldest: OLDEST });
        }
        let token = call.remote.and_then(Token::for_remote);
        let mut command = plain();
        command.arg("--git-dir").arg(call.repository).args(call.arguments);
        command.current_dir("/").envs(VARIABLES.iter().copied());
        command.env("GIT_ALLOW_PROTOCOL", protocols(call.remote));
        let mut settings: Vec<(String, String)> = Vec::new();
        if call.remote.is_some() {
            settings.extend_from_slice(self.user_settings());
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
        if ended.status.success() {
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
    status: ExitStatus,
    said: String,
}

impl Installed {
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
        let (taken, said, status) = thread::scope(|scope| {
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
            let taken = stdout.map_or(Ok(()), |mut stdout| {
                let taken = take(&mut stdout);
                // What nobody wants any more must not keep it waiting.
                if taken.is_ok() { io::copy(&mut stdout, &mut io::sink()).map(drop) } else { taken }
            });
            if taken.is_err() {
                end(group);
            }
            let status = child.wait();
            drop(done);
            (taken, said.join().unwrap_or_default(), status)
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
        Ok(Ended { status: status.map_err(GitError::Start)?, said })
    }

    /// Starts it, unless we are leaving; whoever stops us knows of it from then on.
    fn started(&self, command: &mut Command) -> Result<Child, GitError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(GitError::Stopped);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn().map_err(|error| {
            let missing = error.kind() == io::ErrorKind::NotFound;
            if missing { GitError::NoProgram } else { GitError::Start(error) }
        })?;
        running.push(child.id());
        Ok(child)
    }

    /// What the user's own configuration says of hosts, read once.
    fn user_settings(&self) -> &[(String, String)] {
        self.user.get_or_init(|| {
            let listed =
                plain().current_dir("/").args(["config", "--list", "-z", "--includes"]).output();
            let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
            let listed = String::from_utf8_lossy(&listed);
            let entry = |entry: &str| {
                let (key, value) = entry.split_once('\n')?;
                is_about_hosts(key).then(|| (key.to_owned(), value.to_owned()))
            };
            listed.split('\0').filter_map(entry).collect()
        })
    }
}

/// How a command was ended, if it was.
const IN_TIME: u8 = 0;
const TOO_LATE: u8 = 1;
const TOO_MUCH: u8 = 2;

/// Waits for a command to end; says whether it must be ended, since it takes too long or receives too much.
fn guarded(call: &Call<'_>, waiting: &mpsc::Receiver<()>) -> u8 {
    let started = Instant::now();
    loop {
        let left = call.deadline.saturating_sub(started.elapsed());
        match waiting.recv_timeout(left.min(TICK)) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return IN_TIME,
        }
        if started.elapsed() >= call.deadline {
            return TOO_LATE;
        }
        if call.remote.is_some() && received(call.repository) > MAX_RECEIVED {
            return TOO_MUCH;
        }
    }
}

/// How much lies in a repository, all that is half received included.
fn received(repository: &Path) -> u64 {
    let packs = std::fs::read_dir(repository.join("objects/pack")).into_iter().flatten().flatten();
    packs.filter_map(|pack| Some(pack.metadata().ok()?.len())).sum()
}

/// Which git is installed.
fn version() -> Option<(u32, u32)> {
    let said = plain().arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut numbers = said.strip_prefix("git version ")?.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Git, with nothing of our environment but what it needs.
fn plain() -> Command {
    let mut command = Command::new("git");
    command.env_clear().envs(inherited(INHERITED));
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

/// Whether a setting of the user's says how to reach a host, and starts nothing but a credential helper.
fn is_about_hosts(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if let Some(base) = key.strip_prefix("url.").and_then(|rest| rest.strip_suffix(".insteadof")) {
        let short =
            base.split_once('@').is_some_and(|(user, _)| user.chars().all(char::is_alphanumeric));
        return base.starts_with("https://")
            || base.starts_with("ssh://")
            || (short && !base.contains("::"));
    }
    let passed = key.starts_with("http.") || key.starts_with("credential.");
    passed
        && !["followredirects", "cookiefile", "savecookies"].iter().any(|name| key.ends_with(name))
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
#[cfg(target_os = "linux")]
fn end(group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // What is gone already needs no ending.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Ends a process and all that it started.
#[cfg(not(target_os = "linux"))]
fn end(group: u32) {
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).output();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g03_of_the_users_settings_only_those_about_hosts_are_passed_on() {
        for passed in [
            "credential.helper",
            "credential.https://github.com.helper",
            "http.proxy",
            "http.https://h.example/.sslcainfo",
            "url.git@github.com:.insteadof",
            "url.https://mirror.example/.insteadof",
        ] {
            assert!(is_about_hosts(passed), "{passed}");
        }
        for kept in [
            "core.sshcommand",
            "core.fsmonitor",
            "core.hookspath",
            "core.pager",
            "init.templatedir",
            "protocol.ext.allow",
            "url.ext::sh -c id;.insteadof",
            "url.a@ext::x.insteadof",
            "url.file:///.insteadof",
            "remote.origin.uploadpack",
            "uploadpack.packobjectshook",
            "http.followredirects",
            "alias.fetch",
        ] {
            assert!(!is_about_hosts(kept), "{kept}");
        }
    }
}
