//! The end of a history file: as much of it as a server learns from, read without remembering the rest.

use std::{collections::HashSet, ffi::OsString, io, path::Path};

use super::file::HistoryFile;
use crate::{event::RecordedEvent, journal::verified};

/// So much of a history is read: some ten thousand events.
const MAX_TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// The latest events of a history file, oldest first, each once; and of the file that it was before, `<file>.1`, as far as there
/// is room. What is no event is passed over.
pub fn tail(file: &Path) -> io::Result<Vec<RecordedEvent>> {
    let mut older: OsString = file.into();
    older.push(".1");
    let own = end_of(file, MAX_TAIL_BYTES)?;
    let left = MAX_TAIL_BYTES.saturating_sub(own.len() as u64);
    let mut text = end_of(Path::new(&older), left)?;
    text.extend(own);
    let mut seen = HashSet::new();
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let lines = lines.filter(|line| verified(line));
    let events = lines.filter_map(|line| RecordedEvent::read(line).ok());
    Ok(events.filter(|recorded| seen.insert(recorded.event_id)).collect())
}

/// The last bytes of a file, from the beginning of a line on; none where there is no file.
fn end_of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let Some(file) = HistoryFile::at(path)?.filter(|_| most > 0) else { return Ok(Vec::new()) };
    let start = file.length.saturating_sub(most);
    let mut bytes = Vec::new();
    file.read(start, usize::try_from(file.length - start).unwrap_or_default(), &mut bytes)?;
    if start > 0 {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..line);
    }
    Ok(bytes)
}

/// What a history looks like, without reading it; it differs once an event was added.
pub fn tail_stamp(file: &Path) -> Option<u64> {
    HistoryFile::at(file).ok().flatten().map(|file| file.length)
}
