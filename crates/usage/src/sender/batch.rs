//! [`EventBatch`]: the next events of a segment, as one request.

use std::{fs::File, io};

use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;

use crate::journal::lines::{JournalLine, JournalLines};

/// A batch has no more events.
pub(super) const MAX_BATCH_EVENTS: usize = 500;
/// Nor more bytes.
const MAX_BATCH_BYTES: usize = 1024 * 1024;
const BODY_START: &[u8] = b"{\"events\":[";
const BODY_END: &[u8] = b"]}";

/// Events to send. The same part of a segment gives the same batch.
#[derive(Debug)]
pub(super) struct EventBatch {
    body: Vec<u8>,
    digest: Sha256,
    /// The lines as they are in the segment.
    pub(super) lines: Vec<u8>,
    /// How many there are.
    pub(super) events: usize,
    /// How many lines among them are none.
    pub(super) spoilt: u64,
    /// Where the next batch begins.
    pub(super) end: u64,
}

impl EventBatch {
    /// Reads at most so many events between two offsets.
    pub(super) fn read(file: &File, offset: u64, end: u64, most: usize) -> io::Result<Self> {
        let mut lines = JournalLines::new(file.try_clone()?, offset, end)?;
        let mut batch = Self {
            body: BODY_START.to_vec(),
            digest: Sha256::new(),
            lines: Vec::new(),
            events: 0,
            spoilt: 0,
            end: offset,
        };
        while batch.events < most {
            match lines.next()? {
                None => break,
                Some(JournalLine::Nothing) => {}
                Some(JournalLine::Spoilt) => batch.spoilt += 1,
                Some(JournalLine::Event(id, event)) => {
                    let size = batch.body.len() + event.len() + 1 + BODY_END.len();
                    if batch.events > 0 && size > MAX_BATCH_BYTES {
                        break;
                    }
                    if batch.events > 0 {
                        batch.body.push(b',');
                    }
                    batch.body.extend_from_slice(event.as_bytes());
                    batch.digest.update(id.as_bytes());
                    batch.lines.extend_from_slice(lines.line().trim_ascii_end());
                    batch.lines.push(b'\n');
                    batch.events += 1;
                }
            }
            batch.end = lines.offset();
        }
        batch.body.extend_from_slice(BODY_END);
        Ok(batch)
    }

    /// `{"events":[…]}`
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Those of its lines that are at these places, which are in order.
    pub(super) fn lines_at(&self, places: &[usize]) -> Vec<u8> {
        let lines = self.lines.split_inclusive(|byte| *byte == b'\n').enumerate();
        let named = lines.filter(|(place, _)| places.binary_search(place).is_ok());
        named.flat_map(|(_, line)| line).copied().collect()
    }

    /// By which a batch that comes twice is known.
    pub(super) fn key(&self) -> String {
        hex(&self.digest.clone().finalize())
    }
}
