//! Text → what counts of an event, nothing of it copied: for whoever reads a million of them.
//!
//! We write an event's type before its data, so that such a text is gone through once. Any other is read like
//! [`Recorded`](super::Recorded), type first: both ways say the same of every text.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer as _,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use uuid::Uuid;

use super::{
    Call, Event,
    read::{Data, Unreadable, Written, event, malformed, number_of},
};

/// Text that stands somewhere else, as long as nothing in it is escaped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text<'a>(Cow<'a, str>);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Either)
    }
}

/// An event with what counts of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance<'a> {
    /// What happened.
    pub event: Event<Text<'a>>,
    /// When, as ISO 8601.
    pub timestamp: Text<'a>,
    /// Its own number, by which a copy is known.
    pub event_id: Uuid,
    server_id: Text<'a>,
    tool: Option<Text<'a>>,
    client_name: Option<Text<'a>>,
    latency_us: Option<u64>,
}

impl<'a> Glance<'a> {
    /// Reads one event. It is one where [`Recorded::read`](super::Recorded::read) says so.
    pub fn read(text: &'a str) -> Result<Self, Unreadable> {
        once_through(text).map_or_else(|_| type_first(text), Ok)
    }

    /// What was asked, by whom and how fast it was answered.
    pub fn call(&self) -> Call<'_> {
        Call {
            server_id: self.server_id.as_ref(),
            tool: self.tool.as_ref().map(AsRef::as_ref),
            client_name: self.client_name.as_ref().map(AsRef::as_ref),
            latency_us: self.latency_us,
        }
    }
}

fn type_first(text: &str) -> Result<Glance<'_>, Unreadable> {
    let written: Written<'_> = serde_json::from_str(text).map_err(malformed)?;
    Ok(Glance {
        event: event(written.kind.as_ref(), written.data)?,
        timestamp: written.timestamp,
        event_id: written.event_id.unwrap_or_else(|| number_of(text)),
        server_id: written.server_id,
        tool: written.tool,
        client_name: written.client_name,
        latency_us: written.latency_us,
    })
}

fn once_through(text: &str) -> Result<Glance<'_>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let met = json.deserialize_map(Members)?;
    json.end()?;
    let lacking = serde_json::Error::missing_field;
    Ok(Glance {
        event: met.event.ok_or_else(|| lacking("data"))?,
        timestamp: met.timestamp.ok_or_else(|| lacking("timestamp"))?,
        event_id: met.event_id.flatten().unwrap_or_else(|| number_of(text)),
        server_id: met.server_id.unwrap_or_default(),
        tool: met.tool.flatten(),
        client_name: met.client_name.flatten(),
        latency_us: met.latency_us.flatten(),
    })
}

/// The members of [`Written`], by their names.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Member {
    Type,
    Data,
    Timestamp,
    ServerId,
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
struct Met<'a> {
    kind: Option<Text<'a>>,
    event: Option<Event<Text<'a>>>,
    timestamp: Option<Text<'a>>,
    server_id: Option<Text<'a>>,
    event_id: Option<Option<Uuid>>,
    tool: Option<Option<Text<'a>>>,
    client_name: Option<Option<Text<'a>>>,
    client_version: Option<Option<Text<'a>>>,
    skill_digest: Option<Option<Text<'a>>>,
    skill_commit: Option<Option<Text<'a>>>,
    latency_us: Option<Option<u64>>,
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Met<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Met<'de>, A::Error> {
        let mut met = Met::default();
        while let Some(member) = map.next_key()? {
            match member {
                Member::Type => once(&mut map, &mut met.kind)?,
                Member::Data => {
                    let kind = met.kind.as_ref().filter(|_| met.event.is_none());
                    let kind = kind.ok_or_else(|| A::Error::custom("not our order"))?;
                    met.event = map.next_value_seed(Data::of(kind.as_ref()))?;
                }
                Member::Timestamp => once(&mut map, &mut met.timestamp)?,
                Member::ServerId => once(&mut map, &mut met.server_id)?,
                Member::EventId => once(&mut map, &mut met.event_id)?,
                Member::Tool => once(&mut map, &mut met.tool)?,
                Member::ClientName => once(&mut map, &mut met.client_name)?,
                Member::ClientVersion => once(&mut map, &mut met.client_version)?,
                Member::SkillDigest => once(&mut map, &mut met.skill_digest)?,
                Member::SkillCommit => once(&mut map, &mut met.skill_commit)?,
                Member::LatencyUs => once(&mut map, &mut met.latency_us)?,
                Member::Other => {
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
    use crate::event::Recorded;

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
                json!({"context": "c", "shown": ["a"], "total": 3, "confident": false}),
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
            let Value::Object(members) = json!({"type": kind, "data": data, "timestamp": "t", "server_id": "s", "event_id": "019c7138-1e40-7000-8000-000000000001", "tool": "get", "client_name": "c", "client_version": "1", "skill_digest": "d", "skill_commit": "h", "latency_us": 7, "check": "00000000"})
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

    /// The same members in every way that somebody might write them.
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
                match (Glance::read(&text), Recorded::read(&text)) {
                    (Ok(glance), Ok(read)) => {
                        good += 1;
                        assert_eq!(format!("{:?}", glance.event), format!("{:?}", read.event));
                        assert_eq!(format!("{:?}", glance.call()), format!("{:?}", read.call()));
                        let (number, when) = (glance.event_id, glance.timestamp.as_ref());
                        assert_eq!((number, when), (read.event_id, read.timestamp.as_str()));
                    }
                    (glance, read) => {
                        bad += 1;
                        assert_eq!(glance.err(), read.err(), "{text}");
                    }
                }
            }
        }
        assert!(good > 500 && bad > 500, "{good} {bad}");
    }

    #[test]
    fn our_own_order_is_gone_through_once_and_borrows() {
        let text = written(&events()[2]);
        let glance = once_through(&text).unwrap();
        assert!(matches!(glance.timestamp, Text(Cow::Borrowed(_))));
        let own = serde_json::to_string(&Recorded::read(&text).unwrap()).unwrap();
        assert!(once_through(&own).is_ok(), "{own}");
        assert!(once_through(r#"{"data":{},"type":"refresh","timestamp":"t"}"#).is_err());
    }
}
