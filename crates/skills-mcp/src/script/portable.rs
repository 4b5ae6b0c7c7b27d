//! A run on systems other than Linux: without a supervisor, and without a sandbox except a profile for macOS's
//! `sandbox-exec`. What the script starts in its own process group ends with it.
//!
//! The profile was never tried on a Mac: it is tested as text only, and does not satisfy `scripts.sandbox: required`.

#![expect(clippy::disallowed_methods, reason = "this file starts a script's runner")]

use std::{
    ffi::OsString,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    order::Order,
    outcome::{CapturedOutput, Ending, KILLED_EXIT_CODE, RunOutcome},
    sandbox::{Enforced, SandboxDemand, SandboxPolicy},
};
use crate::paths::{is_file, real_path_or_same};

/// The program that confines another one on macOS, at its fixed path.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The sandbox of this system.
pub(super) fn enforced(policy: &SandboxPolicy) -> Enforced {
    let sandbox_exec = cfg!(target_os = "macos")
        && policy.demand != SandboxDemand::None
        && is_file(Path::new(SANDBOX_EXEC));
    Enforced { sandbox_exec, ..Enforced::default() }
}

/// The runner with its arguments, started by `sandbox-exec` where that confines it.
fn command_line(program: &Path, order: &Order, enforced: &Enforced) -> (PathBuf, Vec<OsString>) {
    let arguments = order.arguments.iter().map(OsString::from);
    if !enforced.sandbox_exec {
        return (program.to_owned(), arguments.collect());
    }
    let before = [OsString::from("-p"), profile(&order.policy).into(), program.into()];
    (SANDBOX_EXEC.into(), before.into_iter().chain(arguments).collect())
}

/// The profile; in it a later rule wins over an earlier one. The script reads the system and the named paths, writes the
/// named paths, and has no network unless the policy says so.
fn profile(policy: &SandboxPolicy) -> String {
    let mut profile = String::from(
        "(version 1)(allow default)(deny file-write*)(deny file-read-data (subpath \"/Users\") (subpath \"/Volumes\") \
         (subpath \"/private/var/root\"))(deny signal)(allow signal (target same-sandbox))\
         (allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))",
    );
    for (rule, paths) in [("file-read*", &policy.read), ("file-read* file-write*", &policy.write)] {
        for path in paths {
            // Rules apply to real paths.
            let path = real_path_or_same(path);
            let _ = write!(profile, "(allow {rule} (subpath {}))", quoted(&path));
        }
    }
    if !policy.network {
        profile.push_str("(deny network*)");
    }
    profile
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

/// Runs an order to its end; an order without a program only probes the sandbox.
pub(super) async fn run(order: &Order, cancelled: &CancellationToken) -> io::Result<RunOutcome> {
    let started = Instant::now();
    let enforced = enforced(&order.policy);
    let Some(program) = order.program.as_deref() else {
        return Ok(RunOutcome {
            ending: Ending::Exited,
            exit_code: 0,
            duration_ms: 0,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            enforced,
        });
    };
    let (program, arguments) = command_line(program, order, &enforced);
    let mut command = Command::new(program);
    command
        .args(&arguments)
        .env_clear()
        .envs(&order.environment)
        .current_dir(&order.working_directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let id = child.id();
    let limit = order.max_output_bytes;
    let stdout = tokio::spawn(drain(child.stdout.take(), limit));
    let stderr = tokio::spawn(drain(child.stderr.take(), limit));
    let milliseconds = std::time::Duration::from_millis;
    let (ending, status) = tokio::select! {
        status = child.wait() => (Ending::Exited, Some(status?)),
        () = cancelled.cancelled() => (Ending::Cancelled, None),
        () = sleep(milliseconds(order.timeout_ms)) => (Ending::TimedOut, None),
    };
    if ending == Ending::TimedOut {
        signal_group(id, false);
        let _ = timeout(milliseconds(order.grace_ms), child.wait()).await;
    }
    signal_group(id, true);
    let _ = child.kill().await;
    let exit_code = match status.map(|status| (status.code(), status)) {
        Some((Some(code), _)) => code,
        _ => KILLED_EXIT_CODE,
    };
    Ok(RunOutcome {
        ending,
        exit_code,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        stdout: stdout.await.unwrap_or_default(),
        stderr: stderr.await.unwrap_or_default(),
        enforced,
    })
}

/// Terminates or kills every process of the script's group.
#[cfg(unix)]
fn signal_group(id: Option<u32>, kill: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let pid = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, if kill { Signal::KILL } else { Signal::TERM });
    }
}

#[cfg(not(unix))]
fn signal_group(_: Option<u32>, _: bool) {}

async fn drain(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> CapturedOutput {
    let mut output = CapturedOutput::default();
    let Some(mut stream) = stream else { return output };
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        output.append(buffer.get(..read).unwrap_or_default(), limit);
    }
    output
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, time::Duration};

    use skills_testkit::{Home, TEST_TIMEOUT};

    use super::*;

    fn order(script: &str, timeout_ms: u64) -> Order {
        let policy = SandboxPolicy {
            demand: SandboxDemand::None,
            read: Vec::new(),
            write: Vec::new(),
            network: true,
            cpu_seconds: 10,
        };
        Order {
            program: Some("/bin/sh".into()),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([("SKILL_ARG_A".into(), "given".into())]),
            working_directory: "/".into(),
            workspace: None,
            policy,
            timeout_ms,
            grace_ms: 100,
            max_output_bytes: 10,
        }
    }

    #[tokio::test]
    async fn a_script_runs_with_its_own_variables_and_its_output_is_capped() {
        let never = CancellationToken::new();
        let outcome = run(&order("echo $SKILL_ARG_A; echo 12345678 >&2; exit 3", 60_000), &never)
            .await
            .unwrap();
        assert_eq!((outcome.exit_code, outcome.ending), (3, Ending::Exited));
        assert_eq!((outcome.stdout.text().as_str(), outcome.stderr.truncated), ("given\n", false));
        assert_eq!(outcome.enforced.to_string(), "none");
    }

    #[test]
    fn e04_the_profile_of_macos_names_what_may_be_touched_and_quotes_it() {
        let mut policy = order("", 1).policy;
        policy.read = vec!["/nowhere/a \"b\" \\c".into()];
        policy.write = vec!["/nowhere/work".into()];
        let open = profile(&policy);
        assert!(open.contains(r#"(allow file-read* (subpath "/nowhere/a \"b\" \\c"))"#), "{open}");
        assert!(open.contains(r#"(allow file-read* file-write* (subpath "/nowhere/work"))"#));
        assert!(
            open.find("(deny file-write*)") < open.find("/nowhere/work"),
            "the later rule wins"
        );
        assert!(!open.contains("network"));
        policy.network = false;
        assert!(profile(&policy).ends_with("(deny network*)"));
        let held = Enforced { sandbox_exec: true, ..Enforced::default() };
        let (program, arguments) = command_line(Path::new("/bin/sh"), &order("x", 1), &held);
        assert_eq!(program, Path::new(SANDBOX_EXEC));
        assert_eq!(arguments.iter().skip(2).collect::<Vec<_>>(), ["/bin/sh", "-c", "x"]);
        assert!(!enforced(&order("", 1).policy).is_confined(), "nothing was demanded");
    }

    #[tokio::test]
    async fn a_script_that_times_out_is_killed_with_its_group() {
        let never = CancellationToken::new();
        let order = order("trap '' TERM; sleep 300 & wait", 200);
        let killed = timeout(TEST_TIMEOUT, run(&order, &never)).await.unwrap().unwrap();
        assert_eq!((killed.ending, killed.exit_code), (Ending::TimedOut, KILLED_EXIT_CODE));
    }

    #[tokio::test]
    async fn a_cancelled_request_ends_the_group_and_returns_what_was_written() {
        let home = Home::new();
        let begun = home.path().join("begun");
        let token = CancellationToken::new();
        let script = format!("echo on; : > '{}'; sleep 300 & wait", begun.display());
        let order = order(&script, 300_000);
        let cancelling = async {
            while !fs::exists(&begun).unwrap() {
                sleep(Duration::from_millis(1)).await;
            }
            token.cancel();
        };
        let both = async { tokio::join!(run(&order, &token), cancelling) };
        let (cancelled, ()) = timeout(TEST_TIMEOUT, both).await.unwrap();
        let cancelled = cancelled.unwrap();
        assert_eq!((cancelled.ending, cancelled.exit_code), (Ending::Cancelled, KILLED_EXIT_CODE));
        assert_eq!(cancelled.stdout.text(), "on\n");
    }
}
