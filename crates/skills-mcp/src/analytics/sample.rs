//! An event and settings for the tests of this room. Built for tests only.

use crate::{
    clock,
    config::{Analytics, Settings},
    event::{Event, Recorded, SkillFeedback},
};

/// An event of this moment that says this.
pub(super) fn feedback(comment: &str) -> Recorded {
    Recorded {
        event: Event::SkillFeedback(SkillFeedback {
            skill_path: "a".to_owned(),
            useful: true,
            comment: Some(comment.to_owned()),
        }),
        timestamp: clock::timestamp(),
        server_id: "dev-ada".into(),
        event_id: clock::event_id(),
        tool: None,
        client_name: None,
        client_version: None,
        skill_digest: None,
        skill_commit: None,
        latency_us: None,
    }
}

/// Analytics that are on, and send there.
pub(super) fn settings(url: Option<&str>) -> Analytics {
    let endpoint = url.map(str::to_owned);
    Analytics { enabled: true, endpoint, ..Settings::default().analytics }
}
