//! The server's side of a supervised run: hands over the order, waits for the answer, passes on a change of mind.

#![expect(clippy::disallowed_methods, reason = "this is where the supervisor is started")]

use std::{io, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use super::{Caller, Place, RunError, Runs, tell};
use crate::script::{
    SUPERVISE, descendants, header::Header, order::Order, outcome::Outcome, workspace::Workspace,
};

/// A supervisor that says nothing so long after its time is lost.
const PATIENCE: Duration = Duration::from_secs(15);
/// And it may take so long to end what it has started.
const LAST_CHANCE: Duration = Duration::from_secs(2);
/// The answer waits this long for the private folder to go; a large one goes behind it.
const TIDYING: Duration = Duration::from_millis(100);

impl Runs {
    pub(super) async fn carry_out(
        &self,
        order: Order,
        caller: &Caller,
        place: Place,
        workspace: Option<Workspace>,
    ) -> Result<Outcome, RunError> {
        let before = descendants::orphans();
        let failed = |error: io::Error| RunError::NotStarted(error.to_string());
        let mut child = Command::new(&self.program)
            .arg(SUPERVISE)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(control), Some(answer)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RunError::NotStarted("the supervisor has no streams".to_owned()));
        };
        let time = Duration::from_millis(order.timeout_ms);
        let whole = time + Duration::from_millis(order.grace_ms) + PATIENCE;
        let outcome = tokio::select! {
            outcome = exchange(&order, control, answer, caller) => outcome,
            () = tell(caller, time) => Err(io::Error::other("telling never ends")),
            () = sleep(whole) => Err(io::Error::other("the supervisor does not answer")),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                // The end of its input has told it to end everything; what does not even hear that is killed.
                if timeout(LAST_CHANCE, child.wait()).await.is_err() {
                    let _ = child.kill().await;
                }
                // What it had not ended by then has come to us.
                let _ =
                    tokio::task::spawn_blocking(move || descendants::end_orphans(&before)).await;
                return Err(RunError::Lost(error.to_string()));
            }
        };
        tidy(child, place, workspace).await;
        outcome.map_err(RunError::NotStarted)
    }
}

/// The order out, the answer in. A request that is taken back is one byte more; dropping `control` early would say
/// that the server is gone, and nobody would answer.
async fn exchange(
    order: &Order,
    mut control: ChildStdin,
    answer: ChildStdout,
    caller: &Caller,
) -> io::Result<Result<Outcome, String>> {
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    control.write_all(&line).await?;
    let mut answer = BufReader::new(answer);
    let mut head = String::new();
    let read = {
        let mut reading = std::pin::pin!(answer.read_line(&mut head));
        let mut taken_back = false;
        loop {
            tokio::select! {
                read = &mut reading => break read?,
                () = caller.cancelled.cancelled(), if !taken_back => {
                    taken_back = true;
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

/// Lets the supervisor remove the private folder. Only when it has is the run's place free again.
async fn tidy(mut child: Child, place: Place, workspace: Option<Workspace>) {
    if timeout(TIDYING, child.wait()).await.is_ok() {
        return;
    }
    tokio::spawn(async move {
        let _ = child.wait().await;
        drop((place, workspace));
    });
}
