//! [`JournalLines`]: the lines of a file, whatever is in it, in bounded memory.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Take},
};

use serde::Deserialize;
use uuid::Uuid;

use super::line::{MAX_LINE_BYTES, unchecked};

/// Reads a file line by line, from somewhere to somewhere.
#[derive(Debug)]
pub(crate) struct JournalLines {
    reader: BufReader<Take<File>>,
    offset: u64,
    line: Vec<u8>,
}

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JournalLine {
    /// An event as it was written: its number, and its JSON.
    Event(Uuid, String),
    /// Nothing, as between a torn line and the next.
    Nothing,
    /// Torn, damaged, too long, or no event.
    Spoilt,
}

/// As much of an event as it takes to send it: one of a newer kind travels too.
#[derive(Deserialize)]
struct EventHead {
    event_id: Uuid,
}

impl JournalLines {
    /// The lines between two offsets; what is beyond the second is not looked at.
    pub(crate) fn new(mut file: File, offset: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        let part = file.take(end.saturating_sub(offset));
        Ok(Self { reader: BufReader::with_capacity(64 * 1024, part), offset, line: Vec::new() })
    }

    /// Where the next line begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The line that was read last, as it is in the file.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The next line; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<JournalLine>> {
        self.line.clear();
        let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut self.line)?;
        self.offset += u64::try_from(read).unwrap_or_default();
        if read == 0 {
            return Ok(None);
        }
        if read == MAX_LINE_BYTES && !self.line.ends_with(b"\n") {
            let rest = self.reader.skip_until(b'\n')?;
            self.offset += u64::try_from(rest).unwrap_or_default();
            return Ok(Some(JournalLine::Spoilt));
        }
        Ok(Some(found(&self.line)))
    }
}

fn found(line: &[u8]) -> JournalLine {
    if line.trim_ascii().is_empty() {
        return JournalLine::Nothing;
    }
    let read = || {
        let event = unchecked(str::from_utf8(line).ok()?)?;
        let head: EventHead = serde_json::from_str(&event).ok()?;
        Some(JournalLine::Event(head.event_id, event))
    };
    read().unwrap_or(JournalLine::Spoilt)
}
