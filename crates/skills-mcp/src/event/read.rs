//! JSON → an event, as far as it goes: what others wrote may lack what is ours, and hold what we do not know.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Event, Recorded};

/// Why a text is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON, or not an object with a type, a timestamp and data.
    #[error("not an event: {0}")]
    Malformed(String),
    /// Of a type that nobody here knows.
    #[error("an event of the unknown type '{0:.40}'")]
    Unknown(String),
}

/// The same object, its data left as text until its type is known.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow, default)]
    server_id: Cow<'a, str>,
    #[serde(default)]
    event_id: Option<Uuid>,
    #[serde(default)]
    tool: Option<Arc<str>>,
    #[serde(default)]
    client_name: Option<Arc<str>>,
    #[serde(default)]
    client_version: Option<Arc<str>>,
    #[serde(default)]
    skill_digest: Option<String>,
    #[serde(default)]
    skill_commit: Option<String>,
    #[serde(default)]
    latency_us: Option<u64>,
}

impl Recorded {
    /// Reads one event. One without a number gets one from its own text, so that its copies have the same.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let written: Written<'_> = serde_json::from_str(text).map_err(malformed)?;
        Ok(Self {
            event: event(&written.kind, written.data)?,
            timestamp: written.timestamp.into_owned(),
            server_id: written.server_id.into(),
            event_id: written.event_id.unwrap_or_else(|| number_of(text)),
            tool: written.tool,
            client_name: written.client_name,
            client_version: written.client_version,
            skill_digest: written.skill_digest,
            skill_commit: written.skill_commit,
            latency_us: written.latency_us,
        })
    }
}

fn event(kind: &str, data: &RawValue) -> Result<Event, Unreadable> {
    Ok(match kind {
        "no_match" => Event::NoMatch(read(data)?),
        "ambiguous" => Event::Ambiguous(read(data)?),
        "skill_served" => Event::SkillServed(read(data)?),
        "skill_searched" => Event::SkillSearched(read(data)?),
        "asset_served" => Event::AssetServed(read(data)?),
        "script_executed" => Event::ScriptExecuted(read(data)?),
        "skill_feedback" => Event::SkillFeedback(read(data)?),
        "refresh" => Event::Refresh(read(data)?),
        unknown => return Err(Unreadable::Unknown(unknown.to_owned())),
    })
}

fn read<T: DeserializeOwned>(data: &RawValue) -> Result<T, Unreadable> {
    serde_json::from_str(data.get()).map_err(malformed)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn malformed(error: serde_json::Error) -> Unreadable {
    Unreadable::Malformed(error.to_string())
}

fn number_of(text: &str) -> Uuid {
    let digest = Sha256::digest(text.trim().as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 001 §3.1's events, and what a newer server might write.
    const SERVED: &str = r#"{"type":"skill_served","timestamp":"2025-02-18T14:30:00Z","server_id":"dev-machine-alice","data":{"context":"créer un composant React avec auth","skill_path":"ui/react/auth","score":0.72,"matched_keywords":["react","composant","auth"],"was_ambiguous":false,"inherited_from":["_root","ui/_index","ui/react/_index"],"content_length_tokens":850}}"#;

    #[test]
    fn an_event_of_the_seeds_is_read_and_its_copy_is_known() {
        let read = Recorded::read(SERVED).unwrap();
        assert_eq!(
            (read.event.kind(), read.event.skill()),
            ("skill_served", Some("ui/react/auth"))
        );
        assert_eq!(read.event_id, Recorded::read(&format!("{SERVED}\n")).unwrap().event_id);
        assert_eq!(read.event_id.get_version_num(), 8);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut read = Recorded::read(SERVED).unwrap();
        read.event_id = crate::clock::event_id();
        read.client_name = Some("claude-code".into());
        read.latency_us = Some(140);
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(Recorded::read(&written), Ok(read));
    }

    #[test]
    fn what_is_unknown_is_passed_over_and_what_is_no_event_is_named() {
        let newer = r#"{"v":9,"type":"skill_feedback","timestamp":"t","data":{"skill_path":"a","useful":true,"stars":5}}"#;
        assert_eq!(Recorded::read(newer).unwrap().event.skill(), Some("a"));
        let other = r#"{"type":"skill_dreamt","timestamp":"t","data":{}}"#;
        assert_eq!(Recorded::read(other), Err(Unreadable::Unknown("skill_dreamt".to_owned())));
        for bad in ["", "{", "[]", "{}", r#"{"type":"no_match","timestamp":"t","data":7}"#] {
            assert!(matches!(Recorded::read(bad), Err(Unreadable::Malformed(_))), "{bad}");
        }
    }
}
