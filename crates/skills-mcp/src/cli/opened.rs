//! [`Opened`]: the sources as a command finds them, and a call of a tool on them as a client would make it.

use std::sync::Arc;

use serde_json::{Map, Value};
use skills_core::catalog::Skill;

use super::{Context, Failure, NO_SOURCE, output::safe};
use crate::{
    event::Sink,
    script::Runs,
    source::Directory,
    store::{Snapshot, Store},
    surface::{ClientChoice, Dispatcher, Refusal, ServerProfile, ToolRequest, ToolSet, ToolSets},
    telemetry::Telemetry,
};

/// A store that has read its sources.
pub(super) struct Opened<'a> {
    pub(super) context: &'a Context,
    pub(super) store: Arc<Store>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl Opened<'_> {
    /// That there is a source. `nothing` says what cannot be done without one.
    pub(super) fn expect_source(&self, nothing: &str) -> Result<(), Failure> {
        if self.store.sources().iter().any(Directory::is_there) {
            return Ok(());
        }
        let why = format!("{nothing}: no named source and no agent's directory is there");
        Err(Failure::usage(why, NO_SOURCE))
    }

    /// The skill of this name.
    pub(super) fn skill(&self, name: &str) -> Result<&Skill, Failure> {
        let catalog = &self.snapshot.catalog;
        catalog.find(name).ok_or_else(|| {
            let near = catalog.near(name).join(", ");
            let hint = if near.is_empty() {
                "`skills-mcp list` draws the tree".to_owned()
            } else {
                format!("did you mean {near}?")
            };
            Failure::usage(format!("there is no skill `{}`", safe(name)), hint)
        })
    }

    /// Calls a tool as a client would, and gives its answer's JSON text. Every tool and skill is offered, no answer is cut, and no event
    /// is recorded.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, Failure> {
        let every = ToolSet::ALL.iter().map(|(_, tool_set)| *tool_set).collect();
        let profile = ServerProfile {
            tool_sets: ToolSets::Chosen(every),
            client_choice: ClientChoice::Fixed(None),
            every_skill: true,
            answer_chars: usize::MAX,
            ..self.context.profile()?
        };
        let runs = Runs::new(&self.context.environment);
        let (sink, telemetry) = (Sink::silent(), Telemetry::default());
        let dispatcher = Dispatcher::new(Arc::clone(&self.store), profile, runs, sink, telemetry);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match runtime.block_on(dispatcher.call(ToolRequest::new(tool, arguments))) {
            Ok(reply) => Ok(reply.text.to_string()),
            Err(
                Refusal::Tool(message)
                | Refusal::Plain(message)
                | Refusal::Params(message)
                | Refusal::NoResource { message, .. }
                | Refusal::Stale(message),
            ) => Err(Failure::finding(message)),
            Err(Refusal::Internal(message)) => Err(Failure::bug(message)),
        }
    }
}
