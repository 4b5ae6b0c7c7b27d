//! JSON → an event, as far as it goes: other servers may leave out fields, and add unknown ones.

use std::marker::PhantomData;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny},
};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{BorrowedText, Event, RecordedEvent};

/// Why a text is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableEvent {
    /// Not JSON, or not an object with a type, a timestamp and data.
    #[error("not an event: {0}")]
    Malformed(String),
    /// Of an unknown type.
    #[error("an event of the unknown type '{0:.40}'")]
    Unknown(String),
}

/// The same object, its data left as text until its type is known.
#[derive(Deserialize)]
pub(super) struct RawEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: BorrowedText<'a>,
    pub(super) timestamp: BorrowedText<'a>,
    pub(super) data: &'a RawValue,
    #[serde(default)]
    pub(super) server_id: BorrowedText<'a>,
    #[serde(default)]
    pub(super) server_version: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) event_id: Option<Uuid>,
    #[serde(default)]
    pub(super) tool: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) client_name: Option<BorrowedText<'a>>,
    #[serde(default)]
    client_version: Option<BorrowedText<'a>>,
    #[serde(default)]
    skill_digest: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) skill_commit: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) latency_us: Option<u64>,
}

impl RecordedEvent {
    /// Reads one event. One without a number gets one from its own text, so that its copies have the same.
    pub fn read(text: &str) -> Result<Self, UnreadableEvent> {
        let written: RawEvent<'_> = serde_json::from_str(text).map_err(malformed)?;
        Ok(Self {
            event: event(written.kind.as_ref(), written.data)?,
            timestamp: written.timestamp.as_ref().to_owned(),
            server_id: written.server_id.as_ref().into(),
            server_version: written.server_version.map(|version| version.as_ref().into()),
            event_id: written.event_id.unwrap_or_else(|| number_of(text)),
            tool: written.tool.map(|tool| tool.as_ref().into()),
            client_name: written.client_name.map(|name| name.as_ref().into()),
            client_version: written.client_version.map(|version| version.as_ref().into()),
            skill_digest: written.skill_digest.map(|digest| digest.as_ref().to_owned()),
            skill_commit: written.skill_commit.map(|commit| commit.as_ref().to_owned()),
            latency_us: written.latency_us,
        })
    }
}

/// The data of an event of this type.
pub(super) struct EventData<'k, S>(&'k str, PhantomData<S>);

impl<'k, S> EventData<'k, S> {
    pub(super) fn of(kind: &'k str) -> Self {
        Self(kind, PhantomData)
    }
}

impl<'de, S: Deserialize<'de> + Default> DeserializeSeed<'de> for EventData<'_, S> {
    /// None of an unknown type.
    type Value = Option<Event<S>>;

    fn deserialize<D: Deserializer<'de>>(self, data: D) -> Result<Self::Value, D::Error> {
        Ok(Some(match self.0 {
            "no_match" => Event::NoMatch(Deserialize::deserialize(data)?),
            "ambiguous" => Event::Ambiguous(Deserialize::deserialize(data)?),
            "skill_served" => Event::SkillServed(Deserialize::deserialize(data)?),
            "skill_searched" => Event::SkillSearched(Deserialize::deserialize(data)?),
            "asset_served" => Event::AssetServed(Deserialize::deserialize(data)?),
            "script_executed" => Event::ScriptExecuted(Deserialize::deserialize(data)?),
            "skill_feedback" => Event::SkillFeedback(Deserialize::deserialize(data)?),
            "refresh" => Event::Refresh(Deserialize::deserialize(data)?),
            _ => {
                IgnoredAny::deserialize(data)?;
                return Ok(None);
            }
        }))
    }
}

pub(super) fn event<'de, S: Deserialize<'de> + Default>(
    kind: &str,
    data: &'de RawValue,
) -> Result<Event<S>, UnreadableEvent> {
    let known = EventData::of(kind).deserialize(data).map_err(malformed)?;
    known.ok_or_else(|| UnreadableEvent::Unknown(kind.to_owned()))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub(super) fn malformed(error: serde_json::Error) -> UnreadableEvent {
    UnreadableEvent::Malformed(error.to_string())
}

pub(super) fn number_of(text: &str) -> Uuid {
    let digest = Sha256::digest(text.trim().as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of a server that numbers none, as EVENT-6 has it.
    const SERVED: &str = r#"{"type":"skill_served","timestamp":"2025-02-18T14:30:00Z","server_id":"dev-machine-alice","data":{"context":"créer un composant React avec auth","skill_path":"ui/react/auth","score":0.72,"matched_keywords":["react","composant","auth"],"was_ambiguous":false,"inherited_from":["_root","ui/_index","ui/react/_index"],"content_length_tokens":850}}"#;

    #[test]
    fn event_6_an_event_without_a_number_is_read_and_its_copy_is_known() {
        let read = RecordedEvent::read(SERVED).unwrap();
        assert_eq!(
            (read.event.kind(), read.event.skill()),
            ("skill_served", Some("ui/react/auth"))
        );
        assert_eq!(read.event_id, RecordedEvent::read(&format!("{SERVED}\n")).unwrap().event_id);
        assert_eq!(read.event_id.get_version_num(), 8);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut read = RecordedEvent::read(SERVED).unwrap();
        read.event_id = crate::clock::event_id();
        read.client_name = Some("claude-code".into());
        read.server_version = Some("1.2.3".into());
        read.latency_us = Some(140);
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(RecordedEvent::read(&written), Ok(read));
    }

    // EVENT-6
    #[test]
    fn what_is_unknown_is_passed_over_and_what_is_no_event_is_named() {
        let newer = r#"{"v":9,"type":"skill_feedback","timestamp":"t","data":{"skill_path":"a","useful":true,"stars":5}}"#;
        assert_eq!(RecordedEvent::read(newer).unwrap().event.skill(), Some("a"));
        let other = r#"{"type":"skill_dreamt","timestamp":"t","data":{}}"#;
        assert_eq!(
            RecordedEvent::read(other),
            Err(UnreadableEvent::Unknown("skill_dreamt".to_owned()))
        );
        for bad in ["", "{", "[]", "{}", r#"{"type":"no_match","timestamp":"t","data":7}"#] {
            assert!(
                matches!(RecordedEvent::read(bad), Err(UnreadableEvent::Malformed(_))),
                "{bad}"
            );
        }
    }
}
