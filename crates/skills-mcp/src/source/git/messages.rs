//! What git writes to its standard error: its messages, up to a limit and no longer than git runs, and its progress.
//!
//! Not here: what a message means (failure).

use std::{
    io::{self, BufRead as _, BufReader, PipeReader, Read},
    process::ChildStderr,
};

/// How much of git's messages is read.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Git's messages until git exits: a program that it leaves behind, such as a master connection of ssh, may keep them open.
pub(super) struct UntilExit {
    stderr: ChildStderr,
    /// At its end once git has exited.
    exited: PipeReader,
    /// How much is read after that.
    left: usize,
}

impl UntilExit {
    /// `exited` is at its end once git has exited.
    pub(super) fn new(stderr: ChildStderr, exited: PipeReader) -> Self {
        Self { stderr, exited, left: MAX_STDERR_BYTES }
    }
}

#[cfg(unix)]
impl Read for UntilExit {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut ready =
            [PollFd::new(&self.stderr, PollFlags::IN), PollFd::new(&self.exited, PollFlags::IN)];
        // An interrupted call is repeated by the reader.
        poll(&mut ready, None)?;
        let [has_messages, has_exited] = ready.map(|one| !one.revents().is_empty());
        if !has_messages {
            return Ok(0);
        }
        let most = if has_exited { self.left.min(buffer.len()) } else { buffer.len() };
        let read = self.stderr.read(buffer.get_mut(..most).unwrap_or_default())?;
        if has_exited {
            self.left = self.left.saturating_sub(read);
        }
        Ok(read)
    }
}

#[cfg(not(unix))]
impl Read for UntilExit {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stderr.read(buffer)
    }
}

/// Reads git's messages; its progress goes to `progress` instead.
pub(super) fn read_stderr(stderr: impl Read, progress: Option<&(dyn Fn(&str) + Sync)>) -> String {
    let mut reader = BufReader::new(stderr);
    let mut messages = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        // Progress overwrites its line.
        let mut bounded = (&mut reader).take(MAX_STDERR_BYTES as u64);
        let Ok(1..) = bounded.read_until(b'\n', &mut line) else { return messages };
        for part in line.split(|byte| matches!(byte, b'\r' | b'\n')).filter(|part| !part.is_empty())
        {
            let part = String::from_utf8_lossy(part);
            if let Some(progress) = progress {
                progress(&part);
            }
            if messages.len() + part.len() < MAX_STDERR_BYTES && !part.contains("% (") {
                messages.push_str(&part);
                messages.push('\n');
            }
        }
    }
}
