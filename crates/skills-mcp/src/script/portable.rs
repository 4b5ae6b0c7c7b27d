//! A run where there is no Linux: no sandbox and no supervisor, as the seeds say. What the script starts in its own
//! process group ends with it.

#![expect(clippy::disallowed_methods, reason = "this is where a script's runner is started")]

use std::{io, process::Stdio, time::Instant};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    order::Order,
    outcome::{Ending, KILLED, Kept, Outcome},
    sandbox::Enforced,
};

/// Runs an order to its end.
pub(super) async fn run(order: &Order, cancelled: &CancellationToken) -> io::Result<Outcome> {
    let program = order.program.as_deref().ok_or_else(|| io::Error::other("nothing to start"))?;
    let started = Instant::now();
    let mut command = Command::new(program);
    command
        .args(&order.arguments)
        .env_clear()
        .envs(&order.environment)
        .current_dir(&order.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let id = child.id();
    let cap = order.max_output_bytes;
    let stdout = tokio::spawn(drain(child.stdout.take(), cap));
    let stderr = tokio::spawn(drain(child.stderr.take(), cap));
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
        _ => KILLED,
    };
    Ok(Outcome {
        ending,
        exit_code,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        stdout: stdout.await.unwrap_or_default(),
        stderr: stderr.await.unwrap_or_default(),
        enforced: Enforced::default(),
    })
}

/// Asks or makes everybody in the script's group end.
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

async fn drain(stream: Option<impl AsyncRead + Unpin>, cap: usize) -> Kept {
    let mut kept = Kept::default();
    let Some(mut stream) = stream else { return kept };
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.take(buffer.get(..read).unwrap_or_default(), cap);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use super::*;
    use crate::script::sandbox::{Demand, Policy};

    fn order(script: &str, timeout_ms: u64) -> Order {
        let policy = Policy {
            demand: Demand::None,
            read: Vec::new(),
            write: Vec::new(),
            network: true,
            cpu_seconds: 10,
        };
        Order {
            program: Some("/bin/sh".into()),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([("SKILL_ARG_A".into(), "given".into())]),
            folder: "/".into(),
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
        let outcome = run(&order("echo $SKILL_ARG_A; echo 12345678 >&2; exit 3", 5000), &never)
            .await
            .unwrap();
        assert_eq!((outcome.exit_code, outcome.ending), (3, Ending::Exited));
        assert_eq!((outcome.stdout.text().as_str(), outcome.stderr.truncated), ("given\n", false));
        assert_eq!(outcome.enforced.to_string(), "none");
    }

    #[tokio::test]
    async fn time_and_a_cancelled_request_end_the_group() {
        let never = CancellationToken::new();
        let started = Instant::now();
        let late =
            run(&order("trap '' TERM; sleep 30 & echo on; wait", 200), &never).await.unwrap();
        assert_eq!((late.ending, late.exit_code), (Ending::TimedOut, 137));
        assert_eq!(late.stdout.text(), "on\n");
        let token = CancellationToken::new();
        token.cancel();
        let gone = run(&order("sleep 30", 20_000), &token).await.unwrap();
        assert_eq!(gone.ending, Ending::Cancelled);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
