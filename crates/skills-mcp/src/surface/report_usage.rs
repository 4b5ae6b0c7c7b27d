//! `report_usage`: whether a skill helped, for those who write them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skills_core::diagnostic::escaped;

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};
use crate::event::{Event, SkillFeedback, USELESS_STREAK};

pub(super) const TOOL: Tool = Tool {
    name: "report_usage",
    tool_set: ToolSet::Tree,
    title: "Report whether a skill helped",
    description: "Say whether a skill that was served helped, after using it.",
    read_only: false,
    idempotent: false,
    dangerous: false,
    input: arguments::schema::<ReportUsageInput>,
    output: None,
    blocking: |_, _| Blocking::Never,
    run,
};

/// A comment is kept up to here.
const MAX_COMMENT_CHARS: usize = 4_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportUsageInput {
    /// The skill, as `get_skill` returned it
    skill_path: String,
    /// Whether it helped
    useful: bool,
    /// What was missing or too much
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: ReportUsageInput = arguments::read(arguments)?;
    let skill = call.skill(&input.skill_path)?;
    let path = &*skill.identity;
    let comment: Option<String> =
        input.comment.map(|comment| comment.chars().take(MAX_COMMENT_CHARS).collect());
    let shown = comment.as_deref().map(escaped).unwrap_or_default();
    tracing::info!(skill = path, useful = input.useful, comment = shown, "feedback");
    // Where events are recorded, the recorder counts them over all sessions.
    let in_a_row = call.session.rated(path, input.useful);
    if in_a_row >= USELESS_STREAK && !call.snapshot.settings().analytics.enabled {
        tracing::warn!(
            skill = path,
            in_a_row,
            "reported as not useful several times in a row; its author should check it"
        );
    }
    call.sink.record(|| {
        Event::SkillFeedback(SkillFeedback {
            skill_path: call.recorded(skill),
            useful: input.useful,
            comment,
        })
        .about(call.snapshot.version(skill))
    });
    Reply::json(&json!({"recorded": true, "message": format!("Feedback recorded for {path}")}))
}
