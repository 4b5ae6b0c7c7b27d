//! [`FirstRequest`]: what a client's model sees of the server before it has called anything, and what that costs.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use skills_core::estimate;

use super::{AdvertisedTool, Registry};
use crate::{clients::ToolSight, store::Snapshot};

/// What a model's first request has of the server, and what it can ask for.
#[derive(Debug, Serialize)]
pub struct FirstRequest {
    /// The server's instructions, as far as the client passes them on.
    pub instructions: String,
    /// The tools whose whole definition is there.
    pub shown: Vec<ShownTool>,
    /// The tools of which only the name is there.
    pub named: Vec<String>,
    /// Tools whose definitions the model sees once it has searched for them.
    pub deferred: Vec<ShownTool>,
    /// Estimated tokens of the first request that are ours.
    pub tokens: usize,
}

/// A tool as a model sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownTool {
    /// Its name.
    pub name: String,
    /// Its description, as far as the client passes it on.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// Estimated tokens.
    pub tokens: usize,
}

impl FirstRequest {
    /// The first request of the client that this registry is for. Of a client that is not in the table, everything is shown.
    pub fn new(registry: &Registry, snapshot: &Arc<Snapshot>) -> Self {
        let profile = &registry.profile;
        let handling = profile.handling();
        let sight = handling.map_or(ToolSight::Whole, |handling| handling.first_request.value);
        let seen = handling.map_or(usize::MAX, |handling| handling.instructions.value);
        let most = handling.map_or(usize::MAX, |handling| handling.description.value);
        let instructions: String = registry.instructions(snapshot).chars().take(seen).collect();
        let list = registry.tool_list(snapshot);
        let is_shown = |tool: &&AdvertisedTool| {
            sight == ToolSight::Whole || tool.meta.get("anthropic/alwaysLoad") == Some(&json!(true))
        };
        let (shown, others): (Vec<&AdvertisedTool>, Vec<&AdvertisedTool>) =
            list.0.iter().partition(is_shown);
        let named: Vec<String> = match sight {
            ToolSight::Whole | ToolSight::Nothing => Vec::new(),
            ToolSight::Name => others.iter().map(|tool| tool.name.to_string()).collect(),
        };
        let tool = |tool: &AdvertisedTool| ShownTool::new(tool, most);
        let shown: Vec<ShownTool> = shown.into_iter().map(tool).collect();
        let deferred: Vec<ShownTool> = others.into_iter().map(tool).collect();
        let tokens = estimate::tokens(&instructions)
            + estimate::tokens(&named.join("\n"))
            + shown.iter().map(|tool| tool.tokens).sum::<usize>();
        Self { instructions, shown, named, deferred, tokens }
    }
}

impl ShownTool {
    fn new(tool: &AdvertisedTool, most: usize) -> Self {
        let name = tool.name.to_string();
        let description: String = tool.description.chars().take(most).collect();
        let input_schema = Value::Object(tool.input.clone());
        let whole = json!({"name": name, "description": description, "inputSchema": input_schema});
        let tokens = estimate::tokens(&whole.to_string());
        Self { name, description, input_schema, tokens }
    }
}
