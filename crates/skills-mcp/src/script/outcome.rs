//! The outcome of a run, its captured output, and the limits that end a run.

use serde::{Deserialize, Serialize};

use super::sandbox::Enforced;

/// How many processes a run may have.
pub(super) const MAX_PROCESSES: usize = 256;
/// How many threads a run may have in all its processes; the kernel has no such limit for root.
pub(super) const MAX_THREADS: usize = 1024;
/// What a run's private folder may hold, together with files that have no name: deleted ones and shared memory.
pub(super) const MAX_PRIVATE_BYTES: u64 = 2 << 30;
/// How many files and folders there may be in it.
pub(super) const MAX_PRIVATE_FILES: usize = 1_000_000;
/// How many levels of folders there may be in it; as many handles are open while it is measured.
pub(super) const MAX_PRIVATE_DEPTH: usize = 100;
/// How much memory all processes of a run may hold, each page counted once.
pub(super) const MAX_MEMORY_BYTES: u64 = 4 << 30;
/// The exit code that a shell reports for a killed process.
pub(super) const KILLED_EXIT_CODE: i32 = 137;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// The script exited by itself.
    Exited,
    /// It ran longer than its timeout.
    TimedOut,
    /// The client cancelled its request.
    Cancelled,
    /// It had too many processes.
    TooManyProcesses,
    /// It had too many threads.
    TooManyThreads,
    /// Its private folder and its files without a name were too large.
    TooLarge,
    /// It had too many files, or folders too deep, in its private folder.
    TooManyFiles,
    /// Its processes held too much memory.
    TooMuchMemory,
    /// What it held could not be measured.
    Unmeasured,
}

/// The outcome of a run that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunOutcome {
    pub(crate) ending: Ending,
    /// As a shell reports it: 128 and the signal's number for a script that a signal ended.
    pub(crate) exit_code: i32,
    pub(crate) duration_ms: u64,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    /// The sandbox it ran in.
    pub(crate) enforced: Enforced,
}

/// The first bytes of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CapturedOutput {
    /// At most the limit.
    pub(super) bytes: Vec<u8>,
    /// Whether there was more.
    pub(crate) truncated: bool,
}

impl CapturedOutput {
    /// Appends what fits below the limit.
    pub(super) fn append(&mut self, read: &[u8], limit: usize) {
        let space = limit.saturating_sub(self.bytes.len());
        self.bytes.extend(read.iter().take(space));
        self.truncated |= read.len() > space;
    }

    /// The text. A character that the limit cut in two is left out; other invalid bytes become U+FFFD.
    pub(crate) fn text(&self) -> String {
        let mut whole = self.bytes.as_slice();
        if self.truncated
            && let Err(error) = std::str::from_utf8(whole)
            && error.error_len().is_none()
        {
            whole = whole.get(..error.valid_up_to()).unwrap_or(whole);
        }
        String::from_utf8_lossy(whole).into_owned()
    }
}

impl RunOutcome {
    /// Whether the script exited by itself, with code 0.
    pub(crate) fn success(&self) -> bool {
        self.ending == Ending::Exited && self.exit_code == 0
    }

    /// The text of stderr, and a line that says why where the server ended the run (SCRIPT-8).
    pub(crate) fn stderr_text(&self) -> String {
        let why = match self.ending {
            Ending::Exited => return self.stderr.text(),
            Ending::TimedOut => "timeout exceeded.".to_owned(),
            Ending::Cancelled => "the request was cancelled.".to_owned(),
            Ending::TooManyProcesses => format!("it had more than {MAX_PROCESSES} processes."),
            Ending::TooManyThreads => format!("it had more than {MAX_THREADS} threads."),
            Ending::TooLarge => format!(
                "its private folder, deleted files and shared memory held more than {} GiB.",
                MAX_PRIVATE_BYTES >> 30
            ),
            Ending::TooManyFiles => format!(
                "its private folder held more than {MAX_PRIVATE_FILES} files or {MAX_PRIVATE_DEPTH} levels of folders."
            ),
            Ending::TooMuchMemory => {
                format!("its processes held more than {} GiB of memory.", MAX_MEMORY_BYTES >> 30)
            }
            Ending::Unmeasured => {
                "what its processes hold open could not be measured, so no limit would hold."
                    .to_owned()
            }
        };
        let mut text = self.stderr.text();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("[skills-mcp] Script killed: ");
        text.push_str(&why);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x08_output_is_capped_exactly_and_no_character_is_cut_in_two() {
        let mut captured = CapturedOutput::default();
        captured.append("aé".as_bytes(), 2);
        assert_eq!(
            (captured.bytes.len(), captured.truncated, captured.text().as_str()),
            (2, true, "a")
        );
        let mut exact = CapturedOutput::default();
        exact.append(b"ab", 2);
        assert!(!exact.truncated);
        exact.append(b"", 2);
        assert!(!exact.truncated);
        exact.append(b"c", 2);
        assert_eq!((exact.truncated, exact.text().as_str()), (true, "ab"));
        let binary = CapturedOutput { bytes: vec![0, 0xff, b'x', 0xc3], truncated: false };
        assert_eq!(binary.text(), "\0\u{fffd}x\u{fffd}");
    }

    #[test]
    fn script_8_the_line_on_stderr_stands_on_a_line_of_its_own() {
        let outcome = |stderr: &[u8], ending| RunOutcome {
            ending,
            exit_code: 137,
            duration_ms: 1,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput { bytes: stderr.to_vec(), truncated: false },
            enforced: Enforced::default(),
        };
        let line = "[skills-mcp] Script killed: timeout exceeded.";
        assert_eq!(outcome(b"", Ending::TimedOut).stderr_text(), line);
        assert_eq!(outcome(b"half", Ending::TimedOut).stderr_text(), format!("half\n{line}"));
        assert_eq!(outcome(b"whole\n", Ending::TimedOut).stderr_text(), format!("whole\n{line}"));
        assert_eq!(outcome(b"x", Ending::Exited).stderr_text(), "x");
    }
}
