//! `refresh_skills`: look at the sources again, now.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::{Call, Door, Refusal, Reply, Takes, Tool, arguments};
use crate::{event::Event, store::Cause};

pub(super) const TOOL: Tool = Tool {
    name: "refresh_skills",
    door: Door::Tree,
    title: "Refresh skills",
    description: "Read the skills again from their source, after they were changed.",
    read_only: false,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<Input>,
    output: None,
    takes: Takes::Many,
    run,
};

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Input {}

fn run(call: &Call, _: Map<String, Value>) -> Result<Reply, Refusal> {
    let refreshed = call.store.refresh(Cause::Asked);
    let skills_reindexed = refreshed.snapshot.catalog.len();
    let success = refreshed.failures.is_empty();
    call.sink.tell(|| Event::Refresh {
        mode: "local",
        success,
        commit_hash: None,
        files_changed: None,
        skills_reindexed,
    });
    let message = if success {
        "Reindexed from local directory (no git sync configured).".to_owned()
    } else {
        refreshed.failures.join(" ")
    };
    Reply::json(&json!({
        "success": success,
        "mode": "local",
        "skills_reindexed": skills_reindexed,
        "message": message,
    }))
}
