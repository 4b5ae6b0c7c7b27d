//! How the supervisor tells the server what a run came to: one line of JSON, then what was kept of its output, as it was.

use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::{
    outcome::{Ending, KILLED, Kept, Outcome},
    sandbox::Enforced,
};

/// The first line a supervisor says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) ending: Ending,
    /// The code a script left with; none where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) duration_ms: u64,
    pub(super) enforced: Enforced,
    /// Why the script was not even started.
    pub(super) failed: Option<String>,
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
}

/// How many bytes of a stream follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stream {
    pub(super) bytes: usize,
    pub(super) truncated: bool,
}

impl From<&Kept> for Stream {
    fn from(kept: &Kept) -> Self {
        Self { bytes: kept.bytes.len(), truncated: kept.truncated }
    }
}

impl Header {
    /// A run that did not come about.
    pub(super) fn failed(why: String) -> Self {
        let none = || Stream { bytes: 0, truncated: false };
        Self {
            ending: Ending::Exited,
            code: None,
            signal: None,
            duration_ms: 0,
            enforced: Enforced::default(),
            failed: Some(why),
            stdout: none(),
            stderr: none(),
        }
    }

    /// The outcome, with the bytes that followed.
    pub(super) fn outcome(self, stdout: Vec<u8>, stderr: Vec<u8>) -> Outcome {
        let exit_code = match self.ending {
            Ending::Exited => {
                self.code.or(self.signal.map(|signal| 128 + signal)).unwrap_or(KILLED)
            }
            Ending::TimedOut
            | Ending::Cancelled
            | Ending::TooMany
            | Ending::TooManyThreads
            | Ending::TooLarge
            | Ending::TooManyFiles
            | Ending::TooMuchMemory => KILLED,
        };
        Outcome {
            ending: self.ending,
            exit_code,
            duration_ms: self.duration_ms,
            stdout: Kept { bytes: stdout, truncated: self.stdout.truncated },
            stderr: Kept { bytes: stderr, truncated: self.stderr.truncated },
            enforced: self.enforced,
        }
    }

    /// Says it, with the bytes that follow, to the server.
    pub(super) fn say(&self, stdout: &Kept, stderr: &Kept) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.write_all(&stdout.bytes)?;
        out.write_all(&stderr.bytes)?;
        out.flush()
    }
}
