//! How the supervisor sends the outcome of a run to the server: one line of JSON, then the captured output as it is.

use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::{
    order::json_line,
    outcome::{CapturedOutput, Ending, KILLED_EXIT_CODE, RunOutcome},
    sandbox::Enforced,
};

/// The first line that a supervisor writes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) ending: Ending,
    /// The script's exit code; none where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) duration_ms: u64,
    pub(super) enforced: Enforced,
    /// Why the script was not started.
    pub(super) failed: Option<String>,
    pub(super) stdout: StreamHeader,
    pub(super) stderr: StreamHeader,
}

/// How many bytes of a stream follow.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamHeader {
    pub(super) bytes: usize,
    pub(super) truncated: bool,
}

impl From<&CapturedOutput> for StreamHeader {
    fn from(output: &CapturedOutput) -> Self {
        Self { bytes: output.bytes.len(), truncated: output.truncated }
    }
}

impl Header {
    /// The header of a run that was not started.
    pub(super) fn failed(why: String) -> Self {
        Self {
            ending: Ending::Exited,
            code: None,
            signal: None,
            duration_ms: 0,
            enforced: Enforced::default(),
            failed: Some(why),
            stdout: StreamHeader::default(),
            stderr: StreamHeader::default(),
        }
    }

    /// The outcome, with the bytes that followed.
    pub(super) fn outcome(self, stdout: Vec<u8>, stderr: Vec<u8>) -> RunOutcome {
        let own = self.code.or(self.signal.map(|signal| 128 + signal));
        let exit_code = own.filter(|_| self.ending == Ending::Exited).unwrap_or(KILLED_EXIT_CODE);
        RunOutcome {
            ending: self.ending,
            exit_code,
            duration_ms: self.duration_ms,
            stdout: CapturedOutput { bytes: stdout, truncated: self.stdout.truncated },
            stderr: CapturedOutput { bytes: stderr, truncated: self.stderr.truncated },
            enforced: self.enforced,
        }
    }

    /// Writes it, and the bytes that follow, to standard output.
    pub(super) fn write(&self, stdout: &CapturedOutput, stderr: &CapturedOutput) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&json_line(self)?)?;
        out.write_all(&stdout.bytes)?;
        out.write_all(&stderr.bytes)?;
        out.flush()
    }
}
