//! The history file as an archive: lines of JSON, read by every core, remembered as counts.
//!
//! What was read once is not read again: the next question reads what was written since. An event counts once, however
//! often its number comes. A line that is no event is passed over and counted. Not here: who writes the file.

mod chunk;
mod counts;
mod file;
mod latest;
mod tail;

use std::{
    collections::HashSet,
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use chunk::ReadPart;
use counts::DailyCounts;
use file::{HistoryFile, HistoryFileId};
use latest::{EventSpot, LatestSpots};
pub use tail::{tail, tail_stamp};

use super::{ArchiveError, Evidence, Period, Story};
use crate::event::RecordedEvent;

/// A thread reads so much at a time.
const CHUNK_BYTES: u64 = 2 * 1024 * 1024;
/// More threads than this would only wait for each other.
const MAX_THREADS: usize = 8;
/// Numbers of events are kept in so many sets, so that threads seldom wait for the same.
const SEEN_SETS: usize = 64;

/// A history file, and what is known of it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LineArchive(Arc<HistoryState>);

#[derive(Debug)]
struct HistoryState {
    file: PathBuf,
    known: Mutex<Option<KnownLines>>,
}

/// What was read so far.
#[derive(Debug)]
struct KnownLines {
    /// Of the latest events only those up to this day were kept.
    until: i64,
    files: Vec<ReadFile>,
    seen: SeenEvents,
    counts: DailyCounts,
    latest: LatestSpots,
    unreadable: u64,
}

/// A file and how far it was read.
#[derive(Debug)]
struct ReadFile {
    opened: HistoryFile,
    position: u64,
}

/// Names and numbers come from anywhere, so the hasher is quick and its seed random.
type QuickHasher = foldhash::quality::RandomState;

/// The numbers of the events that were counted.
#[derive(Debug)]
struct SeenEvents(Vec<Mutex<HashSet<u128, QuickHasher>>>);

impl SeenEvents {
    fn new() -> Self {
        Self((0..SEEN_SETS).map(|_| Mutex::default()).collect())
    }

    /// Whether this is the first of its number.
    fn is_new(&self, id: u128) -> bool {
        // The last bits of a number are random in every version that is written; where they are not, threads wait a little.
        let set = usize::try_from(id % SEEN_SETS as u128).unwrap_or_default();
        self.0
            .get(set)
            .is_some_and(|set| set.lock().unwrap_or_else(PoisonError::into_inner).insert(id))
    }
}

impl LineArchive {
    /// The history in this file and in the one that it was before it grew too large, `<file>.1`.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(Arc::new(HistoryState { file: file.into(), known: Mutex::default() }))
    }

    /// Which file.
    pub fn file(&self) -> &Path {
        &self.0.file
    }

    /// The file's name, to be shown.
    pub fn place(&self) -> String {
        self.0.file.to_string_lossy().into_owned()
    }

    /// What a report of this period is made of, of all clients or of one.
    pub fn evidence(&self, period: Period, client: Option<&str>) -> Result<Evidence, ArchiveError> {
        self.ask(period, |known| {
            let (tally, days) = known.counts.of(period, client);
            let recent = known.events(known.latest.kinds(client), period, usize::MAX)?;
            let clients = known.counts.clients(period);
            let sightings = known.counts.sightings(period, client);
            Ok(Evidence {
                client: client.map(str::to_owned),
                clients,
                sightings,
                tally,
                days,
                recent,
            })
        })
    }

    /// What happened to one skill, with all clients or with one.
    pub fn story(
        &self,
        skill: &str,
        period: Period,
        client: Option<&str>,
        limit: usize,
    ) -> Result<Story, ArchiveError> {
        self.ask(period, |known| {
            let days = known.counts.of_skill(skill, period, client);
            let recent = known.events(known.latest.skill(skill, client), period, limit)?;
            Ok(Story { days, recent })
        })
    }

    /// Refuses a file that is not there, and one that has lines of which none is an event: the person meant another.
    pub fn check(&self) -> Result<(), ArchiveError> {
        let whole = Period { from: i64::MIN, to: i64::MAX };
        let (is_there, is_other) = self.ask(whole, |known| {
            let has_events = known.counts.newest().is_some();
            Ok((!known.files.is_empty(), known.unreadable > 0 && !has_events))
        })?;
        match (is_there, is_other) {
            (false, _) => Err(ArchiveError::NoFile(self.place())),
            (true, true) => Err(ArchiveError::NoHistory(self.place())),
            (true, false) => Ok(()),
        }
    }

    /// How many lines were no events at the last question.
    pub fn unreadable(&self) -> u64 {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map_or(0, |known| known.unreadable)
    }

    /// Reads what is new, then answers.
    fn ask<T>(
        &self,
        period: Period,
        answer: impl FnOnce(&KnownLines) -> std::io::Result<T>,
    ) -> Result<T, ArchiveError> {
        let file = &self.0.file;
        let failed = |error: std::io::Error| ArchiveError::Failed {
            place: self.place(),
            reason: format!("the history cannot be read: {error}"),
            hint: "name another file with --file, or fix its permissions",
        };
        let mut slot = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Kept only if all goes well.
        let before = slot.take();
        let had = before.as_ref().map_or(0, |known| known.unreadable);
        let known = up_to_date(file, before, period).map_err(failed)?;
        if known.unreadable > had {
            let lines = known.unreadable;
            tracing::info!(file = %file.display(), lines, "some lines are no events and were passed over");
        }
        let answered = answer(&known).map_err(failed);
        *slot = Some(known);
        answered
    }
}

/// Everything that is in the files now, from what was known before as far as that holds.
fn up_to_date(
    file: &Path,
    before: Option<KnownLines>,
    period: Period,
) -> std::io::Result<KnownLines> {
    let mut rotated = OsString::from(file);
    rotated.push(".1");
    // Where one becomes the other in between, it is met twice.
    let younger = HistoryFile::at(file)?;
    let older = HistoryFile::at(Path::new(&rotated))?
        .filter(|older| younger.as_ref().is_none_or(|younger| younger.identity != older.identity));
    let there: Vec<HistoryFile> = older.into_iter().chain(younger).collect();
    let mut known = before
        .filter(|known| known.still_holds(&there))
        .unwrap_or_else(|| KnownLines::nothing(i64::MAX));
    known.take_in(there)?;
    if known.knows_latest_of(period) {
        return Ok(known);
    }
    // The latest of all are later than the period: those of the period are looked for from the start.
    let files = std::mem::take(&mut known.files);
    drop(known);
    let mut known = KnownLines::nothing(period.to);
    known.take_in(files.into_iter().map(|file| file.opened).collect())?;
    Ok(known)
}

impl KnownLines {
    fn nothing(until: i64) -> Self {
        Self {
            until,
            files: Vec::new(),
            seen: SeenEvents::new(),
            counts: DailyCounts::default(),
            latest: LatestSpots::default(),
            unreadable: 0,
        }
    }

    fn position(&self, identity: HistoryFileId) -> Option<u64> {
        self.files.iter().find(|file| file.opened.identity == identity).map(|file| file.position)
    }

    /// Whether all that was read is still there.
    fn still_holds(&self, there: &[HistoryFile]) -> bool {
        self.files.iter().all(|file| {
            there
                .iter()
                .any(|now| now.identity == file.opened.identity && now.length >= file.position)
        })
    }

    /// Whether the latest events that were kept are the latest of this period.
    fn knows_latest_of(&self, period: Period) -> bool {
        let newest = self.counts.newest().unwrap_or(i64::MIN);
        self.until == period.to || (period.to >= newest && self.until >= newest)
    }

    /// Reads what is behind the positions of these files, which replace those that were known.
    fn take_in(&mut self, there: Vec<HistoryFile>) -> std::io::Result<()> {
        let order: Vec<HistoryFileId> =
            self.files.iter().map(|file| file.opened.identity).collect();
        let mut files: Vec<ReadFile> = there
            .into_iter()
            .map(|opened| ReadFile {
                position: self.position(opened.identity).unwrap_or(0),
                opened,
            })
            .collect();
        // What was known first stays first: spots name files by their place.
        files.sort_by_key(|file| {
            order.iter().position(|known| *known == file.opened.identity).unwrap_or(usize::MAX)
        });
        self.files = files;
        for number in 0..self.files.len() {
            self.read(number)?;
        }
        Ok(())
    }

    fn read(&mut self, number: usize) -> std::io::Result<()> {
        let Some(ReadFile { opened, position }) = self.files.get(number) else { return Ok(()) };
        let (from, to) = (*position, opened.length);
        let chunks =
            usize::try_from(to.saturating_sub(from).div_ceil(CHUNK_BYTES)).unwrap_or(usize::MAX);
        let cores = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let next = AtomicUsize::new(0);
        let (seen, until) = (&self.seen, self.until);
        let work = || -> std::io::Result<ReadPart<'_>> {
            let mut part = ReadPart::new(seen, until, number);
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks {
                    return Ok(part);
                }
                let start = from + chunk as u64 * CHUNK_BYTES;
                part.read(opened, from, start..to.min(start + CHUNK_BYTES))?;
            }
        };
        let parts: Vec<std::io::Result<ReadPart<'_>>> = thread::scope(|scope| {
            // Where no other thread can be started, those that there are do it.
            let another = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..cores.min(chunks)).filter_map(another).collect();
            let own = work();
            let joined = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(own).chain(joined).collect()
        });
        let mut end = from;
        for part in parts {
            let part = part?;
            end = end.max(part.end);
            self.unreadable += part.unreadable;
            self.counts.merge(part.counts);
            self.latest.merge(part.latest);
        }
        if let Some(file) = self.files.get_mut(number) {
            file.position = end;
        }
        Ok(())
    }

    /// The events at these spots, as many as are wanted, in their order.
    fn events(
        &self,
        mut spots: Vec<EventSpot>,
        period: Period,
        limit: usize,
    ) -> std::io::Result<Vec<RecordedEvent>> {
        spots.retain(|spot| period.has(chunk::day(spot.millis)));
        spots.truncate(limit);
        let mut line = Vec::new();
        let mut events = Vec::with_capacity(spots.len());
        for spot in spots {
            let Some(file) = self.files.get(spot.file) else { continue };
            file.opened.read(spot.at, spot.length, &mut line)?;
            let text = std::str::from_utf8(&line).unwrap_or_default();
            // It was an event when it was counted; if the file was changed since, what is left is read.
            events.extend(RecordedEvent::read(text).ok());
        }
        Ok(events)
    }
}
