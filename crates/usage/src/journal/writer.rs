//! [`JournalWriter`]: events → the history and the buffer, and an exact count of those that did not get there.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{
    disk,
    folder::{JOURNAL_LIMITS, JournalFolder, Trimmed},
    line::checked,
    state::SenderState,
};
use crate::{event::RecordedEvent, settings::Analytics};

/// Writes events. Every process has one of its own.
#[derive(Debug)]
pub struct JournalWriter {
    home: Option<PathBuf>,
    folder: Option<JournalFolder>,
    /// What was written and may still be in memory only.
    unsettled: BTreeSet<PathBuf>,
    /// What was lost, and is in no file yet.
    unrecorded: Losses,
    /// What was lost since the disk last worked.
    episode: Losses,
    /// Of which of these it was said that they are lost.
    said: (bool, bool),
    /// Whether it was said that the disk may not keep what it took.
    doubted: bool,
}

/// How many events are not where they should be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// They will never be sent, where they should be, or are in no file.
    pub(crate) dropped: u64,
    /// They are missing in the history only.
    pub(crate) unkept: u64,
}

/// Where the history of these settings is. None where that is in a home, and there is none.
pub fn history(settings: &Analytics, home: Option<&Path>) -> Option<PathBuf> {
    match (settings.file.strip_prefix("~/"), home) {
        (Some(rest), home) => Some(home?.join(rest)),
        (None, Some(home)) => Some(home.join(".skills-mcp").join(&settings.file)),
        (None, None) => Some(PathBuf::from(&settings.file)).filter(|path| path.is_absolute()),
    }
}

impl JournalWriter {
    /// A writer into this home. Nothing is made before there is something to write.
    pub fn new(home: Option<&Path>) -> Self {
        Self {
            home: home.map(Path::to_owned),
            folder: home.map(JournalFolder::new),
            unsettled: BTreeSet::new(),
            unrecorded: Losses::default(),
            episode: Losses::default(),
            said: (false, false),
            doubted: false,
        }
    }

    /// The same with other limits.
    #[cfg(test)]
    pub(crate) fn limited(mut self, limits: super::folder::JournalLimits) -> Self {
        self.folder.iter_mut().for_each(|folder| folder.limits = limits);
        self
    }

    /// Writes events, all with one write to a file: whether each is where it should be. If so, no end of this process
    /// loses them.
    pub fn write(&mut self, events: &[RecordedEvent], settings: &Analytics) -> bool {
        let lines: Vec<String> = events.iter().filter_map(checked).collect();
        self.lost(events.len() - lines.len(), 0);
        let mut text = lines.join("\n");
        text.push('\n');
        if lines.is_empty() {
            return false;
        }
        // First the history: what an endpoint has is in it.
        let kept = self.history(text.as_bytes(), settings);
        let sent = settings.endpoint.as_ref().map(|_| self.buffer(text.as_bytes(), settings));
        match (sent, kept) {
            (None | Some(Ok(())), Ok(())) => {
                self.recovered();
                return lines.len() == events.len();
            }
            (Some(Ok(())), Err(why)) => self.unkept(lines.len(), &why),
            (Some(Err(why)), Ok(())) => {
                let why = format!("they are in the history, but will not be sent, since {why}");
                self.dropped(lines.len(), &why);
            }
            (Some(Err(why)), Err(_)) | (None, Err(why)) => self.dropped(lines.len(), &why),
        }
        false
    }

    /// Puts lines where they are sent from, or says why not.
    fn buffer(&mut self, lines: &[u8], settings: &Analytics) -> Result<(), String> {
        let folder = self.folder.as_ref().ok_or(HOMELESS)?.to(settings);
        let path = folder.buffer();
        let moved = append(&path, lines, folder.limits.buffer, || folder.aside())
            .map_err(|error| unwritten(&path, &error))?;
        self.unsettled.insert(path);
        if moved {
            self.trim(&folder);
        }
        Ok(())
    }

    fn trim(&mut self, folder: &JournalFolder) {
        match folder.trim() {
            Ok(Trimmed { events: 0, guessed: 0 }) => {}
            Ok(Trimmed { events, guessed }) => {
                self.unrecorded.dropped += events + guessed;
                tracing::warn!(
                    dropped = events + guessed,
                    guessed,
                    "analytics: too many events wait to be sent, so the oldest were dropped, those that cannot be read counted by their size; is analytics.endpoint there?"
                );
            }
            Err(error) => tracing::debug!("analytics: what is unsent cannot be trimmed: {error}"),
        }
    }

    /// Puts lines into the history, or says why not.
    fn history(&mut self, lines: &[u8], settings: &Analytics) -> Result<(), String> {
        let path = history(settings, self.home.as_deref()).ok_or(HOMELESS)?;
        // Content may have named the file, and an agent wrote the line: no shell is to read it.
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            let wrong = io::Error::new(io::ErrorKind::InvalidInput, "the name must end in .jsonl");
            return Err(unwritten(&path, &wrong));
        }
        let most = self.folder.as_ref().map_or(JOURNAL_LIMITS, |folder| folder.limits).history;
        append(&path, lines, most, || disk::with_suffix(&path, ".1"))
            .map_err(|error| unwritten(&path, &error))?;
        self.unsettled.insert(path);
        Ok(())
    }

    fn dropped(&mut self, events: usize, why: &str) {
        if !std::mem::replace(&mut self.said.0, true) {
            tracing::warn!("analytics: events are dropped and counted: {why}");
        }
        self.lost(events, 0);
    }

    fn unkept(&mut self, events: usize, why: &str) {
        if !std::mem::replace(&mut self.said.1, true) {
            tracing::warn!(
                "analytics: events are not kept in the history, but will be sent: {why}"
            );
        }
        self.lost(0, events);
    }

    fn recovered(&mut self) {
        let Losses { dropped, unkept } = std::mem::take(&mut self.episode);
        if dropped + unkept > 0 {
            tracing::info!(dropped, unkept, "analytics: events are written again");
        }
        self.said = (false, false);
    }

    fn lost(&mut self, dropped: usize, unkept: usize) {
        for losses in [&mut self.episode, &mut self.unrecorded] {
            losses.dropped += u64::try_from(dropped).unwrap_or(u64::MAX);
            losses.unkept += u64::try_from(unkept).unwrap_or(u64::MAX);
        }
    }

    /// Counts events that were dropped before they came here.
    pub(crate) fn count_dropped(&mut self, events: u64) {
        self.unrecorded.dropped += events;
    }

    /// Whether there is anything to [settle](Self::settle).
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unrecorded != Losses::default() || !self.unsettled.is_empty()
    }

    /// Makes what was written survive a power cut, and writes down what was lost. Done once a second.
    pub fn settle(&mut self) {
        for path in std::mem::take(&mut self.unsettled) {
            if let Err(error) = disk::settle(&path)
                && !std::mem::replace(&mut self.doubted, true)
            {
                tracing::warn!(path = %path.display(), "analytics: a power cut may cost events: {error}");
            }
        }
        let Losses { dropped, unkept } = self.unrecorded;
        let (Some(folder), true) = (&self.folder, dropped + unkept > 0) else { return };
        let recorded = SenderState::change(folder, |state| {
            state.dropped += dropped;
            state.unkept += unkept;
        });
        if recorded.is_ok() {
            self.unrecorded = Losses::default();
        }
    }

    /// What was lost and is in no file.
    pub(crate) fn unrecorded(&self) -> Losses {
        self.unrecorded
    }
}

const HOMELESS: &str = "there is no home folder to keep them in; set HOME, or analytics.file to a path from the root and no analytics.endpoint";

fn unwritten(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!(
        "{path} cannot be written: {error}; make room, or set analytics.file to where there is some"
    )
}

/// Appends lines to a file, which is moved aside first where it would be too large: whether it was.
fn append(path: &Path, lines: &[u8], most: u64, aside: impl Fn() -> PathBuf) -> io::Result<bool> {
    let more = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    let mut moved = false;
    loop {
        let file = disk::lock(path)?;
        let there = file.metadata()?.len();
        if there > 0 && there.saturating_add(more) > most && !moved {
            disk::settle(path)?;
            disk::rename(path, &aside())?;
            moved = true;
            continue;
        }
        disk::append(&file, lines)?;
        return Ok(moved);
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;
    use crate::{
        journal::{folder::JournalLimits, lines::JournalLines},
        sample::{feedback, settings},
    };

    const SMALL: JournalLimits =
        JournalLimits { history: 5_000, buffer: 2_000, unsent: 10_000, refused: 2_000 };

    fn small(home: &Home) -> (JournalWriter, JournalFolder) {
        let mut folder = JournalFolder::new(home.path());
        folder.limits = SMALL;
        (JournalWriter::new(Some(home.path())).limited(SMALL), folder)
    }

    /// How many events there are in a file.
    fn events(path: &Path) -> u64 {
        let Some(file) = disk::open(path).unwrap() else { return 0 };
        let mut lines = JournalLines::new(file, 0, u64::MAX).unwrap();
        let mut events = 0;
        while lines.next().unwrap().is_some() {
            events += 1;
        }
        events
    }

    // SEND-5
    #[test]
    fn b05_what_is_unsent_stays_within_its_bound_and_what_goes_is_counted() {
        let home = Home::new();
        let (mut writer, folder) = small(&home);
        let settings = settings(Some("http://127.0.0.1:9/x"));
        for number in 1..=200 {
            assert!(writer.write(&[feedback("x")], &settings));
            assert!(folder.unsent() <= SMALL.unsent, "{} bytes", folder.unsent());
            let segments = folder.segments().unwrap();
            let left: u64 = segments.iter().map(|segment| events(&segment.path)).sum();
            let left = left + events(&folder.buffer());
            assert_eq!(left + writer.unrecorded().dropped, number, "each is there or counted");
        }
        assert!(writer.unrecorded().dropped > 100);
        writer.settle();
        assert_eq!(writer.unrecorded(), Losses::default());
        let left: u64 =
            folder.segments().unwrap().iter().map(|segment| events(&segment.path)).sum();
        assert_eq!(SenderState::read(&folder).dropped + left + events(&folder.buffer()), 200);
        // One that is being sent stays, whatever else goes, and what was sent of it does not count.
        let oldest = folder.segments().unwrap().remove(0);
        let held = oldest.hold().unwrap().expect("no other process has it");
        for _ in 0..50 {
            assert!(writer.write(&[feedback("x")], &settings));
        }
        assert!(folder.segments().unwrap().contains(&oldest));
        assert!(folder.unsent() <= SMALL.unsent + oldest.bytes);
        drop(held);
    }

    #[test]
    fn the_history_is_moved_aside_and_one_old_one_is_kept() {
        let home = Home::new();
        let (mut writer, _) = small(&home);
        for _ in 0..60 {
            assert!(writer.write(&[feedback("x")], &settings(None)));
        }
        let path = home.path().join(".skills-mcp/analytics.jsonl");
        let sizes = [path.clone(), disk::with_suffix(&path, ".1")]
            .map(|path| disk::read(&path, 1 << 20).unwrap().len());
        assert!(sizes.iter().all(|size| *size > 0 && *size <= 5_000), "{sizes:?}");
        assert_eq!(disk::listed(&home.path().join(".skills-mcp")).unwrap().len(), 2);
    }

    #[test]
    fn what_is_refused_stays_within_its_bound_and_what_goes_is_counted() {
        let home = Home::new();
        let (_, folder) = small(&home);
        for number in 1..=40 {
            let line = format!("{}\n", checked(&feedback("x")).unwrap());
            folder.refuse(line.as_bytes()).unwrap();
            let there = disk::read(&folder.refused(), 1 << 20).unwrap();
            assert!(there.len() <= 2_000, "{} bytes", there.len());
            assert_eq!(events(&folder.refused()) + SenderState::read(&folder).dropped, number);
        }
    }

    #[test]
    fn a_torn_end_is_ended_by_the_next_line() {
        let home = Home::new();
        let (mut writer, folder) = small(&home);
        let settings = settings(Some("http://127.0.0.1:9/x"));
        disk::append(&disk::lock(&folder.buffer()).unwrap(), b"{\"type\":").unwrap();
        assert!(writer.write(&[feedback("x"), feedback("y")], &settings));
        let text = disk::read(&folder.buffer(), 1 << 20).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "{\"type\":"));
        assert!(lines.iter().skip(1).all(|line| RecordedEvent::read(line).is_ok()));
    }

    #[test]
    fn what_only_the_history_lacks_is_not_dropped_and_what_will_not_be_sent_is() {
        let home = Home::new();
        let (mut writer, folder) = small(&home);
        let both = settings(Some("http://127.0.0.1:9/x"));
        let elsewhere = Analytics { file: "notes.txt".to_owned(), ..both.clone() };
        assert!(!writer.write(&[feedback("x"), feedback("y")], &elsewhere));
        assert_eq!(writer.unrecorded(), Losses { dropped: 0, unkept: 2 });
        assert_eq!(events(&folder.buffer()), 2);
        writer.settle();
        // Where it can only be kept, it is lost; where it should be sent and is kept, it is lost to the endpoint.
        let nowhere = Analytics { endpoint: None, ..elsewhere };
        assert!(!writer.write(&[feedback("x")], &nowhere));
        assert_eq!(writer.unrecorded(), Losses { dropped: 1, unkept: 0 });
        let mut writer = JournalWriter::new(Some(home.path())).limited(SMALL);
        disk::remove(&folder.buffer()).unwrap();
        // What stands in the buffer's place is a folder.
        drop(disk::lock(&folder.buffer().join("x")).unwrap());
        assert!(!writer.write(&[feedback("x")], &both));
        assert_eq!(writer.unrecorded(), Losses { dropped: 1, unkept: 0 });
        writer.settle();
        let SenderState { dropped, unkept, .. } = SenderState::read(&folder);
        assert_eq!((dropped, unkept), (1, 2));
        assert_eq!(events(&home.path().join(".skills-mcp/analytics.jsonl")), 1);
    }
}
