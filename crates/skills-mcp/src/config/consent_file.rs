//! [`ConsentFile`]: `~/.skills-mcp/trust.json`, what is on record for every source that was served on this machine.
//!
//! Every server of this user shares it: it is replaced whole under a lock, and read again when it changed. A file that
//! cannot be read or written is never overwritten and never stops anything: content then may only narrow. Not here: what
//! a record means (`consent`).

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    consent::{Consent, Pins},
    file::{FileStamp, change_record, file_stamp, read_record},
};
use crate::clock;

/// What the file says first; a later number is of a program that came later.
const VERSION: u32 = 1;
/// So many sources are on record; of more, those that were pinned first are forgotten.
const MAX_SOURCES: usize = 5_000;

/// The file, and what it said when it was last read.
#[derive(Debug, Default)]
pub struct ConsentFile {
    path: Option<PathBuf>,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    stamp: Option<FileStamp>,
    sources: Result<Arc<Sources>, String>,
}

type Sources = BTreeMap<String, Recorded>;

/// What is on record for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Since when, as ISO 8601.
    pub since: String,
    /// Whether the operator agreed; else it is what held when the source was first served, or less.
    pub agreed: bool,
    /// The values.
    pub pins: Pins,
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    sources: BTreeMap<String, WrittenSource>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSource {
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

    /// Which state of the file this is.
    pub fn stamp(&self) -> Option<FileStamp> {
        file_stamp(self.path.as_deref()?)
    }

    /// What is known of the operator's consent to a source.
    pub fn consent(&self, source: &str) -> Consent {
        match self.recorded(source) {
            Ok(None) => Consent::First,
            Ok(Some(recorded)) => Consent::Known(recorded.pins),
            Err(why) => Consent::Unknown(why),
        }
    }

    /// What is on record for a source, or why nobody can know.
    pub fn recorded(&self, source: &str) -> Result<Option<Recorded>, String> {
        self.sources().map(|sources| sources.get(source).cloned())
    }

    fn sources(&self) -> Result<Arc<Sources>, String> {
        let path = self.path.as_deref().ok_or(NO_HOME)?;
        // Before it is read: what is written meanwhile is found to be different the next time.
        let stamp = file_stamp(path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.stamp == stamp && stamp.is_some())
        {
            return known.sources.clone();
        }
        let text = read_record(path).map_err(|error| error.to_string());
        let sources = text.and_then(|text| read(text.as_deref())).map(Arc::new);
        let sources = sources.map_err(|why| format!("{} cannot be read: {why}", path.display()));
        *known = Some(Known { stamp, sources: sources.clone() });
        sources
    }

    /// Puts on record what a source says when it is first served; what is on record then, which another process may have
    /// put there.
    pub(super) fn record_first(&self, source: &str, pins: &Pins) -> Result<Pins, String> {
        let mut on_record = pins.clone();
        self.change(|sources| {
            if let Some(known) = sources.get(source) {
                on_record = known.pins.clone();
                return false;
            }
            sources.insert(source.to_owned(), Recorded::now(pins, false));
            true
        })?;
        Ok(on_record)
    }

    /// Puts on record that a source narrowed what it asks for, unless something else is on record by now.
    pub(super) fn narrow(&self, source: &str, before: &Pins, now: &Pins) -> Result<(), String> {
        self.change(|sources| {
            let Some(known) = sources.get_mut(source).filter(|known| known.pins == *before) else {
                return false;
            };
            known.pins = now.clone();
            true
        })
    }

    /// Puts the operator's decision on record.
    pub fn agree(&self, source: &str, pins: &Pins) -> Result<(), String> {
        self.change(|sources| {
            sources.insert(source.to_owned(), Recorded::now(pins, true));
            true
        })
    }

    fn change(&self, change: impl FnOnce(&mut Sources) -> bool) -> Result<(), String> {
        let path = self.path.as_deref().ok_or(NO_HOME)?;
        change_record(path, |text| {
            let mut sources = read(text.as_deref()).map_err(io::Error::other)?;
            Ok(change(&mut sources).then(|| write(sources)))
        })
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

const NO_HOME: &str = "there is no home folder to record consent in; set HOME";

impl Recorded {
    fn now(pins: &Pins, agreed: bool) -> Self {
        Self { since: clock::timestamp(), agreed, pins: pins.clone() }
    }
}

fn read(text: Option<&str>) -> Result<Sources, String> {
    let Some(text) = text else { return Ok(Sources::new()) };
    let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if written.version != VERSION {
        return Err(format!(
            "it is of version {}, and this program knows {VERSION}",
            written.version
        ));
    }
    let source = |(name, source): (String, WrittenSource)| {
        let WrittenSource { since, agreed, values } = source;
        let pins = Pins::read(&values).map_err(|why| format!("{name}: {why}"))?;
        Ok((name, Recorded { since, agreed, pins }))
    };
    written.sources.into_iter().map(source).collect()
}

fn write(mut sources: Sources) -> String {
    while sources.len() > MAX_SOURCES {
        let oldest = sources.iter().min_by_key(|(_, known)| (known.agreed, known.since.clone()));
        let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
        sources.remove(&oldest);
    }
    let source = |(name, known): (String, Recorded)| {
        let Recorded { since, agreed, pins } = known;
        (name, WrittenSource { since, agreed, values: pins.json() })
    };
    let written = Written { version: VERSION, sources: sources.into_iter().map(source).collect() };
    let mut text = serde_json::to_string_pretty(&written).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Key, Value};

    fn on() -> Pins {
        let mut pins = Pins::default();
        pins.set(Key::named("analytics.enabled").unwrap(), Value::Flag(true));
        pins
    }

    #[test]
    fn e05_what_is_on_record_is_shared_by_many_and_seen_at_once() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| ConsentFile::new(Some(home.path())));
        assert_eq!(one.consent("a"), Consent::First);
        assert_eq!(one.record_first("a", &on()), Ok(on()));
        assert_eq!(other.record_first("a", &Pins::default()), Ok(on()), "the first one counts");
        assert_eq!(other.consent("a"), Consent::Known(on()));
        other.narrow("a", &on(), &Pins::default()).unwrap();
        assert_eq!(one.consent("a"), Consent::Known(Pins::default()));
        one.narrow("a", &on(), &on()).unwrap();
        assert_eq!(one.consent("a"), Consent::Known(Pins::default()), "it was another by then");
        one.agree("a", &on()).unwrap();
        assert!(other.recorded("a").unwrap().is_some_and(|known| known.agreed));
        std::thread::scope(|scope| {
            for number in 0..20 {
                let file = ConsentFile::new(Some(home.path()));
                scope.spawn(move || file.record_first(&format!("s{number}"), &on()).unwrap());
            }
        });
        assert_eq!(one.sources().unwrap().len(), 21, "no writer undoes another's");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let file = home.path().join(".skills-mcp/trust.json");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
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
            let Consent::Unknown(why) = file.consent("a") else { panic!("{text}") };
            assert!(why.contains("trust.json cannot be read"), "{why}");
            assert!(file.record_first("a", &on()).unwrap_err().contains("trust.json"));
            let path = home.path().join(".skills-mcp/trust.json");
            assert_eq!(read_record(&path).unwrap().as_deref(), Some(text));
        }
        assert!(matches!(ConsentFile::new(None).consent("a"), Consent::Unknown(_)));
    }
}
