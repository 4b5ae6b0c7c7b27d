//! What a run came to, and what is kept of what it said.

use serde::{Deserialize, Serialize};

use super::sandbox::Enforced;

/// More descendants than this are a fork bomb.
pub(super) const MAX_PROCESSES: usize = 256;
/// And more threads than this in all of them, which no limit counts for root.
pub(super) const MAX_THREADS: usize = 1024;
/// What a run's private folder may hold, together with files that have no name: deleted ones and shared memory.
pub(super) const MAX_PRIVATE_BYTES: u64 = 2 << 30;
/// How many files and folders there may be in it.
pub(super) const MAX_PRIVATE_FILES: usize = 1_000_000;
/// How many levels of folders there may be in it; as many handles are open while it is measured.
pub(super) const MAX_PRIVATE_DEPTH: usize = 100;
/// What all processes of a run may hold in memory, each page counted once.
pub(super) const MAX_MEMORY_BYTES: u64 = 4 << 30;
/// What a killed process's exit code is to a shell.
pub(super) const KILLED: i32 = 137;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself.
    Exited,
    /// It was killed when its time was over.
    TimedOut,
    /// The client took its request back.
    Cancelled,
    /// It had too many processes.
    TooMany,
    /// It had too many threads.
    TooManyThreads,
    /// Its private folder, or files of its without a name, were too large.
    TooLarge,
    /// It had too many files, or folders too deep, in its private folder.
    TooManyFiles,
    /// Its processes had too much memory.
    TooMuchMemory,
}

/// A run that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it ended.
    pub ending: Ending,
    /// As a shell would tell it: 128 and the signal's number for a script that a signal ended.
    pub exit_code: i32,
    /// How long it took.
    pub duration_ms: u64,
    /// What it said.
    pub stdout: Kept,
    /// What it complained about.
    pub stderr: Kept,
    /// What held it.
    pub enforced: Enforced,
}

/// The first bytes of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// At most the cap.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

impl Kept {
    /// Takes what fits, and remembers that something did not.
    pub(super) fn take(&mut self, read: &[u8], cap: usize) {
        let room = cap.saturating_sub(self.bytes.len());
        self.bytes.extend(read.iter().take(room));
        self.truncated |= read.len() > room;
    }

    /// The text; a character that was cut in two by the cap is left out, other bytes that are none are marked.
    pub fn text(&self) -> String {
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

impl Outcome {
    /// Whether the script ended well, by itself.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exited && self.exit_code == 0
    }

    /// What stderr was, with a line of ours where we ended the run (SCRIPT-8).
    pub fn stderr_text(&self) -> String {
        let why = match self.ending {
            Ending::Exited => return self.stderr.text(),
            Ending::TimedOut => "timeout exceeded.".to_owned(),
            Ending::Cancelled => "the request was cancelled.".to_owned(),
            Ending::TooMany => format!("it had more than {MAX_PROCESSES} processes."),
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
        let mut kept = Kept::default();
        kept.take("aé".as_bytes(), 2);
        assert_eq!((kept.bytes.len(), kept.truncated, kept.text().as_str()), (2, true, "a"));
        let mut exact = Kept::default();
        exact.take(b"ab", 2);
        assert!(!exact.truncated);
        exact.take(b"", 2);
        assert!(!exact.truncated);
        exact.take(b"c", 2);
        assert_eq!((exact.truncated, exact.text().as_str()), (true, "ab"));
        let binary = Kept { bytes: vec![0, 0xff, b'x', 0xc3], truncated: false };
        assert_eq!(binary.text(), "\0\u{fffd}x\u{fffd}");
    }

    #[test]
    fn script_8_the_line_on_stderr_stands_on_a_line_of_its_own() {
        let outcome = |stderr: &[u8], ending| Outcome {
            ending,
            exit_code: 137,
            duration_ms: 1,
            stdout: Kept::default(),
            stderr: Kept { bytes: stderr.to_vec(), truncated: false },
            enforced: Enforced::default(),
        };
        let line = "[skills-mcp] Script killed: timeout exceeded.";
        assert_eq!(outcome(b"", Ending::TimedOut).stderr_text(), line);
        assert_eq!(outcome(b"half", Ending::TimedOut).stderr_text(), format!("half\n{line}"));
        assert_eq!(outcome(b"whole\n", Ending::TimedOut).stderr_text(), format!("whole\n{line}"));
        assert_eq!(outcome(b"x", Ending::Exited).stderr_text(), "x");
    }
}
