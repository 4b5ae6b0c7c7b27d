//! What an agent sees of the catalog: tools, their schemas and their words, one tool, one file; and skills as resources, as prompts
//! and through the Skills extension, over what is `published`.
//!
//! A tool is data and one function; lists, schemas, snapshots and docs derive from the table. A call goes one way:
//! [`Dispatcher::call`] looks the tool up in the [`Registry`], the [`AdvertisedTool`] checks the arguments against its schema, and
//! [`Tool::run`] answers over one snapshot with a [`Reply`] or a [`Refusal`]. Not here: the protocol's own types (transport has
//! them), and how anything is found or read.

mod arguments;
mod call;
mod call_counts;
mod candidates;
mod completion;
mod cursor;
mod dispatch;
mod explained;
mod extension;
mod first_request;
mod get_asset;
mod get_skill;
mod hint;
mod host_names;
mod instructions;
mod list_skills;
mod listing;
mod profile;
mod prompts;
mod published;
mod recent_answers;
mod refresh_skills;
mod refusal;
mod registry;
mod report_usage;
mod resources;
mod run_script;
mod session;
mod siblings;
mod skill;
#[cfg(feature = "usage")]
mod skill_stats;
mod skills_list;
mod skills_search;
mod summary;
mod tool_list;

use std::{fmt, io, sync::Arc};

pub use call::Call;
pub use call_counts::{CallCounts, CallOutcome, ToolCounts};
pub use completion::Completions;
pub use dispatch::{Dispatcher, EventSinks, ToolRequest};
pub use explained::{ExplainedHit, ExplainedRoute, ExplainedSearch};
pub use extension::{EXTENSION, EXTENSION_METHODS, answer};
pub use first_request::{FirstRequest, ShownTool};
pub use hint::{HintedSkill, hint};
pub use listing::{HitForm, grouped};
pub use profile::{
    Budget, ClientChoice, ListingStyle, Match, NotifyOn, RemoteClients, ServerProfile, Surfaces,
    ToolSet, ToolSets,
};
pub use prompts::{ListedPrompt, PROMPT_ARGUMENT};
pub use published::{FileBytes, FileContent, Publication};
pub use refusal::Refusal;
pub use registry::{AdvertisedTool, Registry};
pub use resources::{ListedResource, RESOURCE_FORMS, ResourceForm};
pub use run_script::AUDIT;
use serde_json::{Map, Value, ser::Formatter, value::RawValue};
pub use session::Session;
pub use siblings::{Sibling, Siblings};
pub use tool_list::ToolList;

/// Every tool there is, by tool set, in the order they are listed.
pub const TOOLS: &[Tool] = &[
    get_skill::TOOL,
    list_skills::TOOL,
    get_asset::TOOL,
    run_script::TOOL,
    report_usage::TOOL,
    refresh_skills::TOOL,
    skill::TOOL,
    skills_list::TOOL,
    skills_search::TOOL,
    #[cfg(feature = "usage")]
    skill_stats::TOOL,
];

/// One tool.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The tool set it belongs to.
    pub tool_set: ToolSet,
    /// The title that people are shown.
    pub title: &'static str,
    /// What a model reads to choose it; the `skill` tool adds its listing.
    pub description: &'static str,
    /// Whether it leaves everything as it was.
    pub read_only: bool,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// Whether it may change or reach what is outside this server, so that clients may want to ask their user first.
    pub dangerous: bool,
    /// The schema of its arguments.
    pub input: fn() -> Map<String, Value>,
    /// The schema of its structured answer, where it gives one.
    pub output: Option<fn() -> Map<String, Value>>,
    /// How long a call may keep the thread that it runs on.
    pub blocking: fn(&Call, &Map<String, Value>) -> Blocking,
    /// Answers a call whose arguments were checked.
    pub run: fn(&Call, Map<String, Value>) -> Result<Reply, Refusal>,
}

/// How long a call keeps the thread that it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// It computes for less than a millisecond.
    Never,
    /// It reads a few files, or the search index: short, unless the disk is remote or the index is not ready.
    ShortRead,
    /// It reads many files, or waits for a repository.
    LongRead,
    /// It waits for a script.
    Script,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// Whether a client may mean this tool by a name. Dots and underscores are the same to us: some clients refuse
    /// the ones, some contracts ask for them.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name
            || self.dotted().is_some_and(|dotted| dotted == name)
            || (self.tool_set == ToolSet::Skill && name == skill::OTHER_NAME)
    }

    /// The name with a dot, of the tools whose contract has one.
    pub fn dotted(&self) -> Option<String> {
        (self.tool_set == ToolSet::Flat).then(|| self.name.replace('_', "."))
    }
}

/// What a tool answers.
#[derive(Debug, Clone)]
pub struct Reply {
    /// One text block, enough to act on by itself. Answers that are given again share it.
    pub text: Arc<str>,
    /// The same for programs, where the tool has an output schema.
    pub structured: Option<Arc<RawValue>>,
    /// The text as a JSON string, where it was written as one before.
    pub encoded: Option<Arc<RawValue>>,
}

impl Reply {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into().into(), structured: None, encoded: None }
    }

    /// The same, ready to be sent several times.
    fn encoded(self) -> Self {
        let encoded = serde_json::value::to_raw_value(&self.text).ok().map(Into::into);
        Self { encoded, ..self }
    }

    /// How much memory it takes.
    fn bytes(&self) -> usize {
        let json = [&self.structured, &self.encoded].into_iter().flatten();
        self.text.len() + json.map(|json| json.get().len()).sum::<usize>()
    }

    /// The text is the JSON, broken into lines: some clients cut by lines.
    fn json(value: &impl serde::Serialize) -> Result<Self, Refusal> {
        let internal = |error: serde_json::Error| Refusal::Internal(error.to_string());
        let mut text = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut text, JsonLines::default());
        value.serialize(&mut serializer).map_err(internal)?;
        Ok(Self::text(
            String::from_utf8(text).map_err(|error| Refusal::Internal(error.to_string()))?,
        ))
    }

    /// A text for the model and the JSON for programs.
    fn structured(text: String, value: &impl serde::Serialize) -> Result<Self, Refusal> {
        let internal = |error: serde_json::Error| Refusal::Internal(error.to_string());
        let structured = serde_json::value::to_raw_value(value).map_err(internal)?;
        Ok(Self { text: text.into(), structured: Some(structured.into()), encoded: None })
    }
}

/// JSON with a line for each value of the outermost object and for each object in an array, and no other white space.
#[derive(Debug, Default)]
struct JsonLines {
    depth: usize,
    /// Whether the next value is an element of an array.
    is_element: bool,
}

impl Formatter for JsonLines {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(if self.is_element { b"\n{" } else { b"{" })
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.is_element = false;
        writer.write_all(if first { b"" } else { b"," })?;
        writer.write_all(if self.depth == 1 { b"\n" } else { b"" })
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.is_element = true;
        writer.write_all(if first { b"" } else { b"," })
    }
}
