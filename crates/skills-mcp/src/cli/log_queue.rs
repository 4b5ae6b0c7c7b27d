//! [`LogQueue`]: the lines of a server's log on their way to standard error.
//!
//! A client that starts a server may never read its standard error. A pipe that is full then blocks the thread that writes to
//! it, so only a thread of its own does: lines wait in a queue, and those for which it has no room are counted and left out.

use std::{
    io::{self, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// So many lines wait to be written.
const MAX_QUEUED_LINES: usize = 1_000;
/// A process that ends waits so long for its last lines to be written.
const LAST_LINES_TIMEOUT: Duration = Duration::from_millis(300);

/// Where lines are put; copies share one queue.
#[derive(Debug, Clone)]
pub(super) struct LogQueue {
    sender: SyncSender<LogMessage>,
    left_out: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum LogMessage {
    Line(Vec<u8>),
    /// Everything before it is written once this is received.
    Flush(SyncSender<()>),
}

impl LogQueue {
    /// A queue whose lines a new thread writes to standard error.
    pub(super) fn start() -> io::Result<Self> {
        let (queue, messages) = Self::new();
        let left_out = Arc::clone(&queue.left_out);
        let write = move || write_lines(&messages, &left_out, stderr());
        thread::Builder::new().name("log".to_owned()).spawn(write)?;
        Ok(queue)
    }

    fn new() -> (Self, Receiver<LogMessage>) {
        let (sender, messages) = sync_channel(MAX_QUEUED_LINES);
        (Self { sender, left_out: Arc::default() }, messages)
    }

    /// Waits for the lines that are in the queue, unless nothing reads standard error.
    pub(super) fn flush(&self) {
        let (written, wait) = sync_channel(1);
        if self.sender.try_send(LogMessage::Flush(written)).is_ok() {
            let _ = wait.recv_timeout(LAST_LINES_TIMEOUT);
        }
    }
}

fn write_lines(messages: &Receiver<LogMessage>, left_out: &AtomicUsize, mut out: impl Write) {
    for message in messages {
        // An error stream that is closed stops no server.
        match message {
            LogMessage::Line(line) => {
                let count = left_out.swap(0, Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(
                        out,
                        "{count} lines of the log are left out: standard error was not read in time"
                    );
                }
                let _ = out.write_all(&line);
            }
            LogMessage::Flush(written) => drop(written.send(())),
        }
    }
}

impl Write for LogQueue {
    /// The log writes a whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(LogMessage::Line(line.to_vec())).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_room_are_counted_and_none_waits() {
        let (queue, messages) = LogQueue::new();
        for number in 0..MAX_QUEUED_LINES + 2 {
            queue.make_writer().write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        queue.flush();
        let left_out = Arc::clone(&queue.left_out);
        drop(queue);
        let mut out = Vec::new();
        write_lines(&messages, &left_out, &mut out);
        let text = String::from_utf8(out).unwrap();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().starts_with("2 lines of the log are left out"));
        assert!(lines.eq((0..MAX_QUEUED_LINES).map(|number| number.to_string())));
    }
}
