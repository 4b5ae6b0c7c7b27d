//! The server's side of a supervised run: sends the order, waits for the answer, passes a cancellation on.

#![expect(clippy::disallowed_methods, reason = "this file starts the supervisor")]

use std::{io, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use super::{Caller, RunError, RunSlot, Runs, send_progress};
use crate::script::{
    SUPERVISE,
    header::Header,
    order::{Order, json_line},
    orphans,
    outcome::RunOutcome,
    workspace::Workspace,
};

/// A supervisor that does not answer this long after the script's time is over is lost.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a lost supervisor may take to end what it started.
const SUPERVISOR_EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the answer waits for the workspace to be removed; a large one is removed later.
const WORKSPACE_REMOVAL_TIMEOUT: Duration = Duration::from_millis(100);

impl Runs {
    pub(super) async fn execute(
        &self,
        order: Order,
        caller: &Caller,
        slot: RunSlot,
        workspace: Option<Workspace>,
    ) -> Result<RunOutcome, RunError> {
        let before = orphans::orphans();
        let failed = |error: io::Error| RunError::NotStarted(error.to_string());
        let mut child = Command::new(&self.supervisor)
            .arg(SUPERVISE)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let supervisor = child.id();
        let (Some(control), Some(answer)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RunError::NotStarted("the supervisor has no streams".to_owned()));
        };
        let time = Duration::from_millis(order.timeout_ms);
        let whole = time + Duration::from_millis(order.grace_ms) + SUPERVISOR_TIMEOUT;
        let outcome = tokio::select! {
            outcome = exchange(&order, control, answer, caller) => outcome,
            never = send_progress(caller, time) => match never {},
            () = sleep(whole) => Err(io::Error::other("the supervisor does not answer")),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                // The end of its input asks it to end everything. A supervisor that does not is killed.
                let ended = timeout(SUPERVISOR_EXIT_TIMEOUT, child.wait()).await;
                let why = if let Ok(Ok(status)) = ended {
                    format!("{error} ({status})")
                } else {
                    let _ = child.kill().await;
                    error.to_string()
                };
                // This process has adopted what the supervisor left.
                let kill = move || orphans::kill_orphans(supervisor, &before);
                let _ = tokio::task::spawn_blocking(kill).await;
                return Err(RunError::Lost(why));
            }
        };
        await_removal(child, slot, workspace).await;
        outcome.map_err(RunError::NotStarted)
    }
}

/// Sends the order and reads the answer. One more byte cancels the run; dropping `control` early would mean that the server
/// is gone, and the supervisor would not answer.
async fn exchange(
    order: &Order,
    mut control: ChildStdin,
    answer: ChildStdout,
    caller: &Caller,
) -> io::Result<Result<RunOutcome, String>> {
    control.write_all(&json_line(order)?).await?;
    let mut answer = BufReader::new(answer);
    let mut head = String::new();
    let read = {
        let mut reading = std::pin::pin!(answer.read_line(&mut head));
        let mut cancelled = false;
        loop {
            tokio::select! {
                read = &mut reading => break read?,
                () = caller.cancelled.cancelled(), if !cancelled => {
                    cancelled = true;
                    control.write_u8(b'c').await?;
                }
            }
        }
    };
    if read == 0 {
        return Err(io::Error::other("the supervisor ended without an answer"));
    }
    let header: Header = serde_json::from_str(&head)?;
    let mut stdout = vec![0; header.stdout.bytes];
    answer.read_exact(&mut stdout).await?;
    let mut stderr = vec![0; header.stderr.bytes];
    answer.read_exact(&mut stderr).await?;
    Ok(match header.failed {
        Some(why) => Err(why),
        None => Ok(header.outcome(stdout, stderr)),
    })
}

/// Waits for the supervisor to remove the workspace. Only then is the run's slot free again.
async fn await_removal(mut child: Child, slot: RunSlot, workspace: Option<Workspace>) {
    if timeout(WORKSPACE_REMOVAL_TIMEOUT, child.wait()).await.is_ok() {
        return;
    }
    let slot = slot.answered();
    tokio::spawn(async move {
        let _ = child.wait().await;
        drop((slot, workspace));
    });
}
