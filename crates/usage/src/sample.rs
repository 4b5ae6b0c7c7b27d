//! An event and settings for tests. Built for tests only.

use crate::{
    clock,
    event::{Event, KeptContext, RecordedEvent, SkillFeedback},
    settings::Analytics,
};

/// An event of this moment that says this.
pub(crate) fn feedback(comment: &str) -> RecordedEvent {
    RecordedEvent {
        event: Event::SkillFeedback(SkillFeedback {
            skill_path: "a".to_owned(),
            useful: true,
            comment: Some(comment.to_owned()),
        }),
        timestamp: clock::timestamp(),
        server_id: "dev-ada".into(),
        server_version: None,
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
pub(crate) fn settings(url: Option<&str>) -> Analytics {
    Analytics {
        enabled: true,
        endpoint: url.map(str::to_owned),
        endpoint_by_content: false,
        file: "~/.skills-mcp/analytics.jsonl".to_owned(),
        context: KeptContext::Full,
        server_id: None,
        interval_seconds: 30,
        tool: false,
    }
}
