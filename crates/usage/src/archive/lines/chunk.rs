//! A piece of a file → counts. A line belongs to the piece that it begins in.

use std::{
    io::{self, BufRead as _},
    ops::Range,
};

use super::{
    SeenEvents,
    counts::DailyCounts,
    file::HistoryFile,
    latest::{EventSpot, LatestSpots},
};
use crate::{
    clock,
    event::BorrowedEvent,
    journal::{MAX_LINE_BYTES, verified},
};

/// A line that begins in a piece mostly ends within so much behind it.
const READ_AHEAD_BYTES: usize = 16 * 1024;

/// What one thread has read.
#[derive(Debug)]
pub(super) struct ReadPart<'a> {
    seen: &'a SeenEvents,
    until: i64,
    file: usize,
    buffer: Vec<u8>,
    pub(super) counts: DailyCounts,
    pub(super) latest: LatestSpots,
    pub(super) unreadable: u64,
    /// Behind the last whole line.
    pub(super) end: u64,
}

impl<'a> ReadPart<'a> {
    pub(super) fn new(seen: &'a SeenEvents, until: i64, file: usize) -> Self {
        Self {
            seen,
            until,
            file,
            buffer: Vec::new(),
            counts: DailyCounts::default(),
            latest: LatestSpots::default(),
            unreadable: 0,
            end: 0,
        }
    }

    /// Reads the lines that begin in a range of a file; `first` is where a line surely begins.
    pub(super) fn read(
        &mut self,
        opened: &HistoryFile,
        first: u64,
        range: Range<u64>,
    ) -> io::Result<()> {
        // One byte before says whether a line begins here.
        let lead = usize::from(range.start > first);
        let from = range.start - lead as u64;
        let own = usize::try_from(range.end - from).unwrap_or_default();
        let rest = usize::try_from(opened.length - from).unwrap_or(usize::MAX);
        let mut bytes = std::mem::take(&mut self.buffer);
        opened.read(from, rest.min(own + READ_AHEAD_BYTES), &mut bytes)?;
        let mut at = if lead == 0 { Some(0) } else { after_line(&bytes, 0) };
        while let Some(start) = at.filter(|at| *at < own && *at < bytes.len()) {
            at = after_line(&bytes, start);
            if at.is_none() && bytes.len() < rest {
                // The last line of the piece is a long one.
                opened.read(from, rest.min(own + MAX_LINE_BYTES + 1), &mut bytes)?;
                at = after_line(&bytes, start);
            }
            let place = from + start as u64;
            match at {
                Some(next) => {
                    self.line(bytes.get(start..next - 1).unwrap_or_default(), place, true);
                    self.end = self.end.max(from + next as u64);
                }
                // It ends in some later piece, which passes over it.
                None if bytes.len() < rest => self.unreadable += 1,
                // It has not ended yet, and is looked at again when it has. A whole one counts already.
                None => self.line(bytes.get(start..).unwrap_or_default(), place, false),
            }
        }
        self.buffer = bytes;
        Ok(())
    }

    fn line(&mut self, line: &[u8], at: u64, ended: bool) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match event(line) {
            Some((glance, millis)) => {
                let id = glance.event_id.as_u128();
                if !self.seen.is_new(id) {
                    return;
                }
                self.counts.add(millis, &glance);
                if day(millis) <= self.until {
                    let spot = EventSpot { millis, id, file: self.file, at, length: line.len() };
                    let client = glance.call().client_name.unwrap_or_default();
                    self.latest.add(&glance.event, client, spot);
                }
            }
            None => self.unreadable += u64::from(ended),
        }
    }
}

/// Where the next line begins, if this one ends.
fn after_line(bytes: &[u8], from: usize) -> Option<usize> {
    let mut rest = bytes.get(from..)?;
    let next = from + rest.skip_until(b'\n').ok()?;
    (bytes.get(next.checked_sub(1)?) == Some(&b'\n') && next > from).then_some(next)
}

/// The event of a line and when it was, if it is one and its check is right.
fn event(line: &[u8]) -> Option<(BorrowedEvent<'_>, i64)> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let text = std::str::from_utf8(line).ok().filter(|text| verified(text))?;
    let glance = BorrowedEvent::read(text).ok()?;
    let millis = clock::millis_of(glance.timestamp.as_ref())?;
    Some((glance, millis))
}

/// The day of a moment.
pub(super) fn day(millis: i64) -> i64 {
    millis.div_euclid(clock::DAY_MILLIS)
}
