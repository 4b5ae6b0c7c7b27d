//! [`JournalFolder`]: the files of unsent events, and their names.
//!
//! The buffer is appended to, and sent in place, so that unsent events are found there. Moved aside, because it
//! is full or partly sent, it is a [`Segment`], which never changes and goes when all of it was sent. What is unsent has a
//! bound in size and none in age: a clock that jumps must not cost an event. Other files in the folder are not the journal's.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;
use uuid::Uuid;

use super::{
    disk::{self, LockedFile},
    lines::{JournalLine, JournalLines},
    state::SenderState,
};
use crate::{clock, settings::Analytics};

const MIB: u64 = 1024 * 1024;

const SEGMENT_PREFIX: &str = "analytics-buffer.";
const SEGMENT_SUFFIX: &str = ".jsonl";
const CURSOR_SUFFIX: &str = ".sent";

/// An event takes about so many bytes.
const TYPICAL_EVENT_BYTES: u64 = 512;

/// A folder for events: `~/.skills-mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFolder {
    path: PathBuf,
    /// Whether content named the endpoint.
    pub(crate) of_content: bool,
    pub(crate) limits: JournalLimits,
}

/// How large files may become, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JournalLimits {
    /// The history, before it is moved aside; one old one is kept.
    pub(crate) history: u64,
    /// The buffer, before it is moved aside.
    pub(crate) buffer: u64,
    /// All that is unsent, but for a segment that is being sent.
    pub(crate) unsent: u64,
    /// What was refused.
    pub(crate) refused: u64,
}

pub(super) const JOURNAL_LIMITS: JournalLimits =
    JournalLimits { history: 1024 * MIB, buffer: 4 * MIB, unsent: 64 * MIB, refused: 4 * MIB };

/// A buffer that was moved aside, or the buffer as it was at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
}

/// What went with segments that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trimmed {
    /// So many events.
    pub(crate) events: u64,
    /// About so many more, by the size of files that could not be read.
    pub(crate) guessed: u64,
}

impl JournalFolder {
    /// The folder in this home.
    pub fn new(home: &Path) -> Self {
        Self { path: home.join(".skills-mcp"), of_content: false, limits: JOURNAL_LIMITS }
    }

    /// Where events wait that these settings send. What the operator's endpoint has not taken yet waits for the next one
    /// that the operator names. One that content names gets its own events and no others.
    #[must_use]
    pub fn to(&self, settings: &Analytics) -> Self {
        let Some(url) = settings.endpoint.as_ref().filter(|_| settings.endpoint_by_content) else {
            return self.clone();
        };
        let digest = hex(&Sha256::digest(url.as_bytes()));
        let name: String = digest.chars().take(16).collect();
        Self { path: self.path.join("endpoints").join(name), of_content: true, ..self.clone() }
    }

    /// Where unsent events are written.
    pub fn buffer(&self) -> PathBuf {
        self.path.join("analytics-buffer.jsonl")
    }

    /// The file of events that the endpoint refused for good.
    pub fn refused(&self) -> PathBuf {
        self.path.join("analytics-refused.jsonl")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path.join("analytics-sender.json")
    }

    pub(super) fn streaks(&self) -> PathBuf {
        self.path.join("analytics-feedback.json")
    }

    /// The right to send, for one process at a time; none while another has it.
    pub(crate) fn turn(&self) -> io::Result<Option<LockedFile>> {
        disk::make_and_lock_if_free(&self.path.join("analytics-sender.lock"))
    }

    /// A name for a segment that no other has.
    pub(super) fn aside(&self) -> PathBuf {
        self.path.join(format!("{SEGMENT_PREFIX}{}{SEGMENT_SUFFIX}", clock::event_id()))
    }

    /// Every segment, oldest first by the clock of the process that made it.
    pub fn segments(&self) -> io::Result<Vec<Segment>> {
        let files = disk::listed(&self.path)?.into_iter();
        let ours = files.filter(|(name, _)| number(name, SEGMENT_SUFFIX).is_some());
        Ok(ours.map(|(name, bytes)| Segment { path: self.path.join(name), bytes }).collect())
    }

    /// How many bytes are unsent.
    pub fn unsent(&self) -> u64 {
        let ours =
            |name: &str| name == "analytics-buffer.jsonl" || number(name, SEGMENT_SUFFIX).is_some();
        let files = disk::listed(&self.path).unwrap_or_default().into_iter();
        files.filter(|(name, _)| ours(name)).map(|(_, bytes)| bytes).sum()
    }

    /// How many events are unsent, and the files that hold them. It reads them all.
    pub fn waiting(&self) -> io::Result<(u64, Vec<PathBuf>)> {
        let mut files: Vec<PathBuf> =
            self.segments()?.into_iter().map(|segment| segment.path).collect();
        files.insert(0, self.buffer());
        let mut events = 0;
        let mut found = Vec::new();
        for path in files {
            let Some(file) = disk::open(&path)? else { continue };
            let bytes = file.metadata()?.len();
            let segment = Segment { path, bytes };
            events += count(file, segment.cursor())?;
            found.extend(Some(segment.path).filter(|_| bytes > 0));
        }
        Ok((events, found))
    }

    /// The buffer as it is now, to be sent in place; none where there is nothing in it. Its size is taken under
    /// the lock, so up to there no line is cut. An empty one, left by a process that was killed, goes.
    pub(crate) fn open_buffer(&self) -> io::Result<Option<(Segment, LockedFile)>> {
        let path = self.buffer();
        let Some(file) = disk::lock_existing(&path)? else { return Ok(None) };
        let bytes = file.metadata()?.len();
        if bytes == 0 {
            disk::remove(&path)?;
            return Ok(None);
        }
        // Elsewhere a file cannot be recognized under another name, so the buffer gets that name before it is sent.
        if !cfg!(unix) {
            return Ok(Some((self.set_aside(bytes)?, file)));
        }
        file.unlock()?;
        Ok(Some((Segment { path, bytes }, file)))
    }

    /// Takes off the disk what was sent of this file, which is a segment or the buffer: everything up to an offset. A
    /// buffer with more in it is moved aside first. A writer may have done that already, since it was full.
    pub(crate) fn sent(&self, segment: &Segment, file: &File, offset: u64) -> io::Result<()> {
        let buffer = self.buffer();
        if segment.path != buffer {
            return segment.sent(offset);
        }
        if let Some(held) = disk::lock_existing(&buffer)?
            && disk::is_at(file, &buffer)
        {
            let bytes = held.metadata()?.len();
            return if bytes <= offset {
                disk::remove(&buffer)
            } else {
                self.set_aside(bytes)?.sent(offset)
            };
        }
        let mut segments = self.segments()?.into_iter();
        segments.find(|aside| disk::is_at(file, &aside.path)).map_or(Ok(()), |it| it.sent(offset))
    }

    /// Gives the buffer, which is locked, the name of a segment.
    fn set_aside(&self, bytes: u64) -> io::Result<Segment> {
        let buffer = self.buffer();
        // The process that wrote it does not find it any more to sync it.
        disk::settle(&buffer)?;
        let path = self.aside();
        disk::rename(&buffer, &path)?;
        Ok(Segment { path, bytes })
    }

    /// Removes the oldest segments while there is too much: how many events went with them. One that is being sent
    /// stays, as does one that could be counted another time.
    pub(crate) fn trim(&self) -> io::Result<Trimmed> {
        let segments = self.segments()?;
        let mut bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let mut trimmed = Trimmed::default();
        for segment in segments {
            if bytes + self.limits.buffer <= self.limits.unsent {
                break;
            }
            match segment.counted() {
                Ok(None) => {}
                Ok(Some((count, _held))) => {
                    segment.remove()?;
                    trimmed.events += count.events;
                    trimmed.guessed += count.guessed;
                }
                // Out of descriptors, or the disk is not well: what is in it is not given up for that.
                Err(error) => {
                    let path = segment.path.display();
                    tracing::debug!("analytics: {path} is too much, and stays: {error}");
                    continue;
                }
            }
            bytes = bytes.saturating_sub(segment.bytes);
        }
        Ok(trimmed)
    }

    /// Removes what those who were killed while they removed a segment have left of it.
    pub(crate) fn sweep(&self) -> io::Result<()> {
        let files = disk::listed(&self.path)?;
        for (name, _) in &files {
            let whose = number(name, CURSOR_SUFFIX).or_else(|| number(name, ".sent.new"));
            let Some(whose) = whose else { continue };
            let segment = format!("{SEGMENT_PREFIX}{whose}{SEGMENT_SUFFIX}");
            if !files.iter().any(|(name, _)| *name == segment) {
                disk::remove(&self.path.join(name))?;
            }
        }
        Ok(())
    }

    /// Puts aside, for people to look at, what the endpoint will never take; the older half goes where it is too much.
    pub(crate) fn refuse(&self, lines: &[u8]) -> io::Result<()> {
        let path = self.refused();
        let file = disk::lock(&path)?;
        let more = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if file.metadata()?.len().saturating_add(more) <= self.limits.refused {
            return disk::append(&file, lines);
        }
        let old = disk::read(&path, self.limits.refused)?;
        let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
        let (gone, kept) = old.split_at(old.len().div_ceil(2));
        disk::replace(&path, &[&kept.concat(), lines].concat())?;
        let dropped = u64::try_from(gone.len()).unwrap_or_default();
        SenderState::change(self, |state| state.dropped += dropped)?;
        Ok(())
    }
}

impl Segment {
    /// Opens it for sending; none where it has gone, or another process is removing it.
    pub(crate) fn hold(&self) -> io::Result<Option<LockedFile>> {
        disk::lock_if_free(&self.path)
    }

    /// Up to where it was sent. Nothing that makes no sense leads past an event.
    pub(crate) fn cursor(&self) -> u64 {
        let text = disk::read(&self.cursor_path(), 64).unwrap_or_default();
        let offset =
            str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n')?.parse().ok());
        offset.filter(|offset| *offset <= self.bytes).unwrap_or(0)
    }

    /// Remembers up to where it was sent. All of it: then it goes, before what is remembered of it.
    fn sent(&self, offset: u64) -> io::Result<()> {
        if offset >= self.bytes {
            return self.remove();
        }
        disk::replace(&self.cursor_path(), format!("{offset}\n").as_bytes())
    }

    /// How many of its events are unsent, with the right to remove it; none while another process has that.
    fn counted(&self) -> io::Result<Option<(Trimmed, Option<LockedFile>)>> {
        let unsent = self.bytes.saturating_sub(self.cursor());
        let held = match disk::read_lock_if_free(&self.path) {
            Ok(Some(held)) => held,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let guessed = unsent.div_ceil(TYPICAL_EVENT_BYTES);
                return Ok(Some((Trimmed { events: 0, guessed }, None)));
            }
            Err(error) => return Err(error),
        };
        let events = count(held.try_clone()?, self.cursor())?;
        Ok(Some((Trimmed { events, guessed: 0 }, Some(held))))
    }

    fn remove(&self) -> io::Result<()> {
        disk::remove(&self.path)?;
        disk::remove(&self.cursor_path())?;
        // A sender that was killed while it replaced the cursor has left this.
        disk::remove(&disk::with_suffix(&self.cursor_path(), ".new"))
    }

    fn cursor_path(&self) -> PathBuf {
        self.path.with_extension("sent")
    }
}

/// How many events follow.
fn count(file: File, offset: u64) -> io::Result<u64> {
    let mut lines = JournalLines::new(file, offset, u64::MAX)?;
    let mut events = 0;
    while let Some(found) = lines.next()? {
        events += u64::from(matches!(found, JournalLine::Event(..)));
    }
    Ok(events)
}

/// The number in the name of one of the journal's files.
fn number<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    let number = name.strip_prefix(SEGMENT_PREFIX)?.strip_suffix(suffix)?;
    (number.len() == 36 && Uuid::try_parse(number).is_ok()).then_some(number)
}
