//! [`ConsentFile`]: `~/.skills-mcp/trust.json`, what is on record for every source that was served on this machine, and which
//! projects' files the operator agreed to.
//!
//! All servers of this user share it: it is replaced whole under a lock, and read again when it changed. A file that
//! cannot be read or written is never overwritten and never stops the server: content may then only narrow settings. Not
//! here: what a record means (`consent`).

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    consent::{Consent, PinnedValues},
    file::{FileStamp, change_record, file_stamp, read_record},
};
use crate::clock;

/// The version of the file's format; a file of another version is not read.
const FILE_VERSION: u32 = 1;
/// Beyond this many sources the oldest records are dropped, those without the operator's consent first.
const MAX_RECORDED_SOURCES: usize = 5_000;
/// Beyond this many projects the oldest are dropped.
const MAX_RECORDED_PROJECTS: usize = 2_000;

/// The file, and its records as last read.
#[derive(Debug, Default)]
pub struct ConsentFile {
    path: Option<PathBuf>,
    known: Mutex<Option<CachedRecords>>,
}

#[derive(Debug)]
struct CachedRecords {
    stamp: Option<FileStamp>,
    records: Result<Arc<Records>, String>,
}

/// Everything on record.
#[derive(Debug, Clone, Default)]
struct Records {
    sources: BTreeMap<String, ConsentRecord>,
    projects: BTreeMap<String, ProjectRecord>,
}

impl Records {
    /// What is on record for a source, under the first of its identities that is known.
    fn of(&self, source: &[String]) -> Option<&ConsentRecord> {
        source.iter().find_map(|identity| self.sources.get(identity))
    }

    /// Records the same under every identity of a source.
    fn set(&mut self, source: &[String], record: &ConsentRecord) {
        self.sources.extend(source.iter().map(|identity| (identity.clone(), record.clone())));
    }
}

/// The operator's agreement to a project's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProjectRecord {
    /// Since when, as ISO 8601.
    pub since: String,
    /// The digest of the text that the operator agreed to.
    pub digest: String,
}

/// What is on record for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentRecord {
    /// Since when, as ISO 8601.
    pub since: String,
    /// Whether the operator agreed; else these are the values of the first time the source was served, or narrower ones.
    pub agreed: bool,
    /// The values.
    pub pins: PinnedValues,
}

#[derive(Serialize, Deserialize)]
struct RecordsFile {
    version: u32,
    sources: BTreeMap<String, RecordsFileEntry>,
    /// By the file's real path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    projects: BTreeMap<String, ProjectRecord>,
}

#[derive(Serialize, Deserialize)]
struct RecordsFileEntry {
    since: String,
    #[serde(default)]
    agreed: bool,
    values: BTreeMap<String, Json>,
}

impl ConsentFile {
    /// The file in this home.
    pub fn new(home: Option<&Path>) -> Self {
        Self { path: home.map(|home| home.join(".skills-mcp/trust.json")), known: Mutex::default() }
    }

    /// The file's current state.
    pub fn stamp(&self) -> Option<FileStamp> {
        file_stamp(self.path.as_deref()?)
    }

    /// The operator's consent to a source of these identities.
    pub fn consent(&self, source: &[String]) -> Consent {
        match self.recorded(source) {
            Ok(None) => Consent::First,
            Ok(Some(recorded)) => Consent::Known(recorded.pins),
            Err(why) => Consent::Unknown(why),
        }
    }

    /// What is on record for a source, or why the record cannot be read.
    pub fn recorded(&self, source: &[String]) -> Result<Option<ConsentRecord>, String> {
        self.records().map(|records| records.of(source).cloned())
    }

    /// What is on record for a project's file, or why the record cannot be read.
    pub(super) fn project(&self, file: &Path) -> Result<Option<ProjectRecord>, String> {
        self.records().map(|records| records.projects.get(&*file.to_string_lossy()).cloned())
    }

    /// Records that the operator agreed to this text of a project's file; without a text, that they no longer do.
    pub(super) fn decide_project(&self, file: &Path, digest: Option<&str>) -> Result<(), String> {
        let file = file.to_string_lossy().into_owned();
        self.change(|records| {
            let Some(digest) = digest else { return records.projects.remove(&file).is_some() };
            let record = ProjectRecord { since: clock::timestamp(), digest: digest.to_owned() };
            records.projects.insert(file, record);
            true
        })
    }

    fn records(&self) -> Result<Arc<Records>, String> {
        let path = self.path.as_deref().ok_or(NO_HOME)?;
        // Taken before the file is read, so that a write in between is noticed the next time.
        let stamp = file_stamp(path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.stamp == stamp && stamp.is_some())
        {
            return known.records.clone();
        }
        let text = read_record(path).map_err(|error| error.to_string());
        let records = text.and_then(|text| read(text.as_deref())).map(Arc::new);
        let records = records.map_err(|why| format!("{} cannot be read: {why}", path.display()));
        *known = Some(CachedRecords { stamp, records: records.clone() });
        records
    }

    /// Records the values of a source that is served for the first time. Returns what is on record, which another process
    /// may have written first.
    pub(super) fn record_first(
        &self,
        source: &[String],
        pins: &PinnedValues,
    ) -> Result<PinnedValues, String> {
        let mut on_record = pins.clone();
        self.change(|records| {
            if let Some(known) = records.of(source) {
                on_record = known.pins.clone();
                return false;
            }
            records.set(source, &ConsentRecord::now(pins, false));
            true
        })?;
        Ok(on_record)
    }

    /// Records that a source narrowed what it asks for, unless the record has changed since.
    pub(super) fn narrow(
        &self,
        source: &[String],
        before: &PinnedValues,
        now: &PinnedValues,
    ) -> Result<(), String> {
        self.change(|records| {
            let Some(known) = records.of(source).filter(|known| known.pins == *before) else {
                return false;
            };
            let narrowed = ConsentRecord { pins: now.clone(), ..known.clone() };
            records.set(source, &narrowed);
            true
        })
    }

    /// Records the operator's decision.
    pub fn agree(&self, source: &[String], pins: &PinnedValues) -> Result<(), String> {
        self.change(|records| {
            records.set(source, &ConsentRecord::now(pins, true));
            true
        })
    }

    fn change(&self, change: impl FnOnce(&mut Records) -> bool) -> Result<(), String> {
        let path = self.path.as_deref().ok_or(NO_HOME)?;
        change_record(path, |text| {
            let mut records = read(text.as_deref()).map_err(io::Error::other)?;
            Ok(change(&mut records).then(|| write(records)))
        })
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

const NO_HOME: &str = "there is no home folder to record consent in; set HOME";

impl ConsentRecord {
    fn now(pins: &PinnedValues, agreed: bool) -> Self {
        Self { since: clock::timestamp(), agreed, pins: pins.clone() }
    }
}

fn read(text: Option<&str>) -> Result<Records, String> {
    let Some(text) = text else { return Ok(Records::default()) };
    let written: RecordsFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if written.version != FILE_VERSION {
        return Err(format!(
            "it is of version {}, and this program knows {FILE_VERSION}",
            written.version
        ));
    }
    let source = |(name, source): (String, RecordsFileEntry)| {
        let RecordsFileEntry { since, agreed, values } = source;
        let pins = PinnedValues::read(&values).map_err(|why| format!("{name}: {why}"))?;
        Ok((name, ConsentRecord { since, agreed, pins }))
    };
    let sources = written.sources.into_iter().map(source).collect::<Result<_, String>>()?;
    Ok(Records { sources, projects: written.projects })
}

fn write(records: Records) -> String {
    let Records { mut sources, mut projects } = records;
    while projects.len() > MAX_RECORDED_PROJECTS {
        let oldest = projects.iter().min_by_key(|(_, known)| known.since.clone());
        let Some(oldest) = oldest.map(|(file, _)| file.clone()) else { break };
        projects.remove(&oldest);
    }
    while sources.len() > MAX_RECORDED_SOURCES {
        let oldest = sources.iter().min_by_key(|(_, known)| (known.agreed, known.since.clone()));
        let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
        sources.remove(&oldest);
    }
    let source = |(name, known): (String, ConsentRecord)| {
        let ConsentRecord { since, agreed, pins } = known;
        (name, RecordsFileEntry { since, agreed, values: pins.json() })
    };
    let sources = sources.into_iter().map(source).collect();
    let written = RecordsFile { version: FILE_VERSION, sources, projects };
    let mut text = serde_json::to_string_pretty(&written).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigKey, ConfigValue};

    fn on() -> PinnedValues {
        let mut pins = PinnedValues::default();
        pins.set(ConfigKey::named("analytics.enabled").unwrap(), ConfigValue::Flag(true));
        pins
    }

    #[test]
    fn e05_what_is_on_record_is_shared_by_many_and_seen_at_once() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| ConsentFile::new(Some(home.path())));
        assert_eq!(one.consent(&["a".to_owned()]), Consent::First);
        assert_eq!(one.record_first(&["a".to_owned()], &on()), Ok(on()));
        assert_eq!(
            other.record_first(&["a".to_owned()], &PinnedValues::default()),
            Ok(on()),
            "the first one counts"
        );
        assert_eq!(other.consent(&["a".to_owned()]), Consent::Known(on()));
        other.narrow(&["a".to_owned()], &on(), &PinnedValues::default()).unwrap();
        assert_eq!(one.consent(&["a".to_owned()]), Consent::Known(PinnedValues::default()));
        one.narrow(&["a".to_owned()], &on(), &on()).unwrap();
        assert_eq!(
            one.consent(&["a".to_owned()]),
            Consent::Known(PinnedValues::default()),
            "it was another by then"
        );
        one.agree(&["a".to_owned()], &on()).unwrap();
        assert!(other.recorded(&["a".to_owned()]).unwrap().is_some_and(|known| known.agreed));
        std::thread::scope(|scope| {
            for number in 0..20 {
                let file = ConsentFile::new(Some(home.path()));
                scope.spawn(move || file.record_first(&[format!("s{number}")], &on()).unwrap());
            }
        });
        assert_eq!(one.records().unwrap().sources.len(), 21, "no writer undoes another's");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let file = home.path().join(".skills-mcp/trust.json");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn e05_a_folder_that_content_replaces_by_a_link_stays_the_source_that_is_on_record() {
        let home = tempfile::tempdir().unwrap();
        let file = ConsentFile::new(Some(home.path()));
        let [named, moved, linked] = ["/team/skills", "/team/content", "/alias"].map(str::to_owned);
        let first = PinnedValues::default();
        let by_link = [named.clone(), moved.clone()];
        assert_eq!(file.record_first(&by_link[..1], &first), Ok(first.clone()));
        assert_eq!(file.consent(&by_link), Consent::Known(first));
        // The same folder under a name that the operator has not used before.
        assert_eq!(file.consent(&[linked.clone(), named]), Consent::Known(PinnedValues::default()));
        assert_eq!(file.consent(&[linked, moved.clone()]), Consent::First);
        file.agree(&by_link, &on()).unwrap();
        assert_eq!(file.consent(&[moved]), Consent::Known(on()), "under all its names");
    }

    #[test]
    fn e05_a_record_that_cannot_be_used_stays_as_it_is_and_is_named() {
        for text in [
            "",
            "{",
            "[]",
            "{\"version\":2,\"sources\":{}}",
            "{\"version\":1,\"sources\":{\"a\":{\"since\":\"\",\"values\":{\"analytics.enabled\":\"x\"}}}}",
        ] {
            let home = skills_testkit::Home::new();
            home.write(".skills-mcp/trust.json", text);
            let file = ConsentFile::new(Some(home.path()));
            let Consent::Unknown(why) = file.consent(&["a".to_owned()]) else { panic!("{text}") };
            assert!(why.contains("trust.json cannot be read"), "{why}");
            assert!(
                file.record_first(&["a".to_owned()], &on()).unwrap_err().contains("trust.json")
            );
            let path = home.path().join(".skills-mcp/trust.json");
            assert_eq!(read_record(&path).unwrap().as_deref(), Some(text));
        }
        assert!(matches!(ConsentFile::new(None).consent(&["a".to_owned()]), Consent::Unknown(_)));
    }
}
