//! Text → what counts of an event, nothing of it copied, to read millions of them.
//!
//! We write an event's type before its data, so that such a text is gone through once. Any other is read like
//! [`RecordedEvent`](super::RecordedEvent), type first: both ways say the same of every text.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer as _,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use uuid::Uuid;

use super::{
    Event, EventCall,
    read::{EventData, RawEvent, UnreadableEvent, event, malformed, number_of},
};

/// Text that stands somewhere else, as long as nothing in it is escaped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BorrowedText<'a>(Cow<'a, str>);

impl fmt::Debug for BorrowedText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl AsRef<str> for BorrowedText<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = BorrowedText<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Either)
    }
}

/// An event with what counts of it.
#[derive(Debug, Clone, PartialEq)]
pub struct BorrowedEvent<'a> {
    /// What happened.
    pub event: Event<BorrowedText<'a>>,
    /// When, as ISO 8601.
    pub timestamp: BorrowedText<'a>,
    /// Its own number, by which a copy is known.
    pub event_id: Uuid,
    server_id: BorrowedText<'a>,
    server_version: Option<BorrowedText<'a>>,
    tool: Option<BorrowedText<'a>>,
    client_name: Option<BorrowedText<'a>>,
    skill_commit: Option<BorrowedText<'a>>,
    latency_us: Option<u64>,
}

impl<'a> BorrowedEvent<'a> {
    /// Reads one event. It is one where [`RecordedEvent::read`](super::RecordedEvent::read) says so.
    pub fn read(text: &'a str) -> Result<Self, UnreadableEvent> {
        once_through(text).map_or_else(|_| type_first(text), Ok)
    }

    /// What was asked, by whom, of what and how fast it was answered.
    pub fn call(&self) -> EventCall<'_> {
        EventCall {
            server_id: self.server_id.as_ref(),
            server_version: self.server_version.as_ref().map(AsRef::as_ref),
            tool: self.tool.as_ref().map(AsRef::as_ref),
            client_name: self.client_name.as_ref().map(AsRef::as_ref),
            skill_commit: self.skill_commit.as_ref().map(AsRef::as_ref),
            latency_us: self.latency_us,
        }
    }
}

fn type_first(text: &str) -> Result<BorrowedEvent<'_>, UnreadableEvent> {
    let written: RawEvent<'_> = serde_json::from_str(text).map_err(malformed)?;
    Ok(BorrowedEvent {
        event: event(written.kind.as_ref(), written.data)?,
        timestamp: written.timestamp,
        event_id: written.event_id.unwrap_or_else(|| number_of(text)),
        server_id: written.server_id,
        server_version: written.server_version,
        tool: written.tool,
        client_name: written.client_name,
        skill_commit: written.skill_commit,
        latency_us: written.latency_us,
    })
}

fn once_through(text: &str) -> Result<BorrowedEvent<'_>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let met = json.deserialize_map(EventVisitor)?;
    json.end()?;
    let lacking = serde_json::Error::missing_field;
    Ok(BorrowedEvent {
        event: met.event.ok_or_else(|| lacking("data"))?,
        timestamp: met.timestamp.ok_or_else(|| lacking("timestamp"))?,
        event_id: met.event_id.flatten().unwrap_or_else(|| number_of(text)),
        server_id: met.server_id.unwrap_or_default(),
        server_version: met.server_version.flatten(),
        tool: met.tool.flatten(),
        client_name: met.client_name.flatten(),
        skill_commit: met.skill_commit.flatten(),
        latency_us: met.latency_us.flatten(),
    })
}

/// The members of [`RawEvent`], by their names.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EventMember {
    Type,
    Data,
    Timestamp,
    ServerId,
    ServerVersion,
    EventId,
    Tool,
    ClientName,
    ClientVersion,
    SkillDigest,
    SkillCommit,
    LatencyUs,
    #[serde(other)]
    Other,
}

/// What was met of them.
#[derive(Default)]
#[expect(clippy::option_option, reason = "a member that is null was met, and comes no second time")]
struct MetMembers<'a> {
    kind: Option<BorrowedText<'a>>,
    event: Option<Event<BorrowedText<'a>>>,
    timestamp: Option<BorrowedText<'a>>,
    server_id: Option<BorrowedText<'a>>,
    server_version: Option<Option<BorrowedText<'a>>>,
    event_id: Option<Option<Uuid>>,
    tool: Option<Option<BorrowedText<'a>>>,
    client_name: Option<Option<BorrowedText<'a>>>,
    client_version: Option<Option<BorrowedText<'a>>>,
    skill_digest: Option<Option<BorrowedText<'a>>>,
    skill_commit: Option<Option<BorrowedText<'a>>>,
    latency_us: Option<Option<u64>>,
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = MetMembers<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetMembers<'de>, A::Error> {
        let mut met = MetMembers::default();
        while let Some(member) = map.next_key()? {
            match member {
                EventMember::Type => once(&mut map, &mut met.kind)?,
                EventMember::Data => {
                    let kind = met.kind.as_ref().filter(|_| met.event.is_none());
                    let kind = kind.ok_or_else(|| A::Error::custom("not our order"))?;
                    met.event = map.next_value_seed(EventData::of(kind.as_ref()))?;
                }
                EventMember::Timestamp => once(&mut map, &mut met.timestamp)?,
                EventMember::ServerId => once(&mut map, &mut met.server_id)?,
                EventMember::ServerVersion => once(&mut map, &mut met.server_version)?,
                EventMember::EventId => once(&mut map, &mut met.event_id)?,
                EventMember::Tool => once(&mut map, &mut met.tool)?,
                EventMember::ClientName => once(&mut map, &mut met.client_name)?,
                EventMember::ClientVersion => once(&mut map, &mut met.client_version)?,
                EventMember::SkillDigest => once(&mut map, &mut met.skill_digest)?,
                EventMember::SkillCommit => once(&mut map, &mut met.skill_commit)?,
                EventMember::LatencyUs => once(&mut map, &mut met.latency_us)?,
                EventMember::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(met)
    }
}

/// The value of a member that comes once.
fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    met: &mut Option<T>,
) -> Result<(), A::Error> {
    if met.is_some() {
        return Err(A::Error::custom("a member comes twice"));
    }
    *met = Some(map.next_value()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::RecordedEvent;

    /// One of every type, with all that it may have.
    fn events() -> Vec<Vec<(String, Value)>> {
        let datas = [
            (
                "no_match",
                json!({"context": "a \"b\" é", "closest_candidate": "x", "closest_score": 0.1}),
            ),
            ("ambiguous", json!({"context": null, "candidates": ["a", "b\n"]})),
            (
                "skill_served",
                json!({"context": "c", "skill_path": "ui/é", "score": 0.72, "matched_keywords": ["k"], "was_ambiguous": true, "inherited_from": ["_root"], "content_length_tokens": 850, "was_shown": true}),
            ),
            (
                "skill_searched",
                json!({"context": "c", "shown": ["a"], "total": 3, "certainty": "unsure"}),
            ),
            (
                "asset_served",
                json!({"skill_path": "a", "file": "f", "asset_type": "script", "is_inherited": true, "size_bytes": 9, "declared_by": "p"}),
            ),
            (
                "script_executed",
                json!({"skill_path": "a", "file": "f", "execution_mode": "server", "success": true, "exit_code": -1, "duration_ms": 5, "args_provided": ["n"], "declared_by": null}),
            ),
            (
                "skill_feedback",
                json!({"skill_path": "a", "useful": true, "comment": "\u{1F600}", "stars": [[{}]]}),
            ),
            (
                "refresh",
                json!({"mode": "git", "success": true, "commit_hash": "c", "files_changed": 1, "skills_reindexed": 2}),
            ),
            ("skill_dreamt", json!({})),
        ];
        let whole = |(kind, data)| {
            let Value::Object(members) = json!({"type": kind, "data": data, "timestamp": "t", "server_id": "s", "server_version": "1.2.3", "event_id": "019c7138-1e40-7000-8000-000000000001", "tool": "get", "client_name": "c", "client_version": "1", "skill_digest": "d", "skill_commit": "h", "latency_us": 7, "check": "00000000"})
            else {
                unreachable!()
            };
            members.into_iter().collect()
        };
        datas.into_iter().map(whole).collect()
    }

    fn written(members: &[(String, Value)]) -> String {
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        format!("{{{}}}", members.join(","))
    }

    fn strange() -> Vec<Value> {
        vec![
            json!(null),
            json!(7),
            json!(-1),
            json!(0.5),
            json!("x"),
            json!([]),
            json!([1]),
            json!({}),
        ]
    }

    /// The same members in every way that they may be written.
    fn ways(members: &[(String, Value)]) -> Vec<String> {
        let mut ways = vec![written(members), format!(" {} ", written(members))];
        for at in 0..members.len() {
            let mut changed = members.to_vec();
            changed.rotate_left(at);
            ways.push(written(&changed));
            let mut changed = members.to_vec();
            let taken = changed.remove(at);
            ways.push(written(&changed));
            changed.extend([taken.clone(), taken]);
            ways.push(written(&changed));
            for value in strange() {
                let mut changed = members.to_vec();
                changed[at].1 = value;
                ways.push(written(&changed));
            }
        }
        let values: Vec<&Value> = members.iter().map(|(_, value)| value).collect();
        ways.push(json!(values).to_string());
        ways
    }

    #[test]
    fn a_glance_says_of_every_text_what_reading_it_says() {
        let (mut good, mut bad) = (0, 0);
        for members in events() {
            let mut texts = ways(&members);
            let Some(Value::Object(data)) = members.get(1).map(|(_, data)| data.clone()) else {
                unreachable!()
            };
            let data: Vec<(String, Value)> = data.into_iter().collect();
            let kind = &members[0].1;
            let around = |data| format!(r#"{{"type":{kind},"data":{data},"timestamp":"t"}}"#);
            texts.extend(ways(&data).into_iter().map(around));
            let whole = written(&members);
            let cuts =
                whole.char_indices().map(|(at, _)| whole.get(..at).unwrap_or_default().to_owned());
            texts.extend(cuts.chain([format!("{whole}}}"), format!("{whole} 1")]));
            for text in texts {
                match (BorrowedEvent::read(&text), RecordedEvent::read(&text)) {
                    (Ok(borrowed), Ok(read)) => {
                        good += 1;
                        assert_eq!(format!("{:?}", borrowed.event), format!("{:?}", read.event));
                        assert_eq!(format!("{:?}", borrowed.call()), format!("{:?}", read.call()));
                        let (number, when) = (borrowed.event_id, borrowed.timestamp.as_ref());
                        assert_eq!((number, when), (read.event_id, read.timestamp.as_str()));
                    }
                    (borrowed, read) => {
                        bad += 1;
                        assert_eq!(borrowed.err(), read.err(), "{text}");
                    }
                }
            }
        }
        assert!(good > 500 && bad > 500, "{good} {bad}");
    }

    #[test]
    fn our_own_order_is_gone_through_once_and_borrows() {
        let text = written(&events()[2]);
        let borrowed = once_through(&text).unwrap();
        assert!(matches!(borrowed.timestamp, BorrowedText(Cow::Borrowed(_))));
        let own = serde_json::to_string(&RecordedEvent::read(&text).unwrap()).unwrap();
        assert!(once_through(&own).is_ok(), "{own}");
        assert!(once_through(r#"{"data":{},"type":"refresh","timestamp":"t"}"#).is_err());
    }
}
