//! How the catalog looks to an agent: tools, their schemas and their words. One tool, one file.
//!
//! A tool is a value in a table; listing, schemas, snapshots and docs derive from it. In: a [`Call`] with one
//! snapshot for its whole life. Out: a [`Reply`] or a [`Refusal`]. Not here: the protocol's own types (transport
//! has them), and how anything is found or read.

mod arguments;
mod get_asset;
mod get_skill;
mod list_skills;
mod refresh_skills;
mod refusal;
mod report_usage;
mod session;

use std::{fmt, sync::Arc};

pub use refusal::Refusal;
use serde_json::{Map, Value};
pub use session::Session;

use crate::{
    event::Sink,
    store::{Snapshot, Store},
};

/// What clients are told about the whole server.
pub const INSTRUCTIONS: &str = "Team skills: instructions, templates and scripts for the task at hand. \
    Before starting a task, call get_skill with a short description of it; follow what it returns. \
    If the answer is ambiguous, call get_skill again with one of the candidates' skill_path.";

/// The tools of the tree door, in the order they are listed.
pub const TREE: &[Tool] = &[
    get_skill::TOOL,
    list_skills::TOOL,
    get_asset::TOOL,
    report_usage::TOOL,
    refresh_skills::TOOL,
];

/// One tool.
#[derive(Clone, Copy)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What people are shown.
    pub title: &'static str,
    /// What a model reads to choose it.
    pub description: &'static str,
    /// Whether it leaves everything as it was.
    pub read_only: bool,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// The schema of its arguments.
    pub input: fn() -> Map<String, Value>,
    /// What it does. May block on files; it runs where that is allowed.
    pub run: fn(&Call, Map<String, Value>) -> Result<Reply, Refusal>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// Checks the arguments against the schema, then runs the tool.
    pub fn call(&self, call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
        arguments::check(self.name, &(self.input)(), &arguments)?;
        (self.run)(call, arguments)
    }
}

/// One call: what it may look at and tell.
#[derive(Debug, Clone)]
pub struct Call {
    /// The catalog and settings, the same from start to end.
    pub snapshot: Arc<Snapshot>,
    /// For the one tool that looks again.
    pub store: Arc<Store>,
    /// Where events go.
    pub sink: Sink,
    /// What this caller did before, where that is known.
    pub session: Arc<Session>,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// One text block: the JSON.
    pub text: String,
}

impl Reply {
    fn json(value: &impl serde::Serialize) -> Result<Self, Refusal> {
        let text =
            serde_json::to_string(value).map_err(|error| Refusal::Internal(error.to_string()))?;
        Ok(Self { text })
    }
}
