//! [`Registry`]: the tools of one server profile, looked up by name; and [`AdvertisedTool`], one of them as clients see it.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use serde_json::{Map, Value, json};

use super::{
    Blocking, Call, Refusal, Reply, ServerProfile, TOOLS, Tool, ToolList, ToolSet, arguments,
    refresh_skills, skill, skills_search,
};
use crate::store::Snapshot;

/// So many tool lists are kept, for clients that see different skills.
const MAX_TOOL_LISTS: usize = 64;

/// The tools of a server profile.
///
/// A call needs only its tool, whatever the number of skills. The tool list describes every skill, so it is made when a client
/// asks for it, once for each snapshot.
#[derive(Debug)]
pub struct Registry {
    /// How the server presents itself with these tools.
    pub profile: Arc<ServerProfile>,
    /// Every tool in this profile's words, before any listing of skills.
    pub(super) tools: Vec<Arc<AdvertisedTool>>,
    /// The tool lists that were made last, and over which snapshots: clients may see different ones.
    latest: Mutex<Vec<(Weak<Snapshot>, Arc<ToolList>)>>,
}

impl Registry {
    /// The registry of this profile.
    pub fn new(profile: Arc<ServerProfile>) -> Self {
        let tools = TOOLS.iter().map(|tool| Arc::new(AdvertisedTool::new(tool, &profile)));
        Self { tools: tools.collect(), profile, latest: Mutex::default() }
    }

    /// The tool of this name, where its tool set is offered.
    pub(super) fn find(&self, name: &str, snapshot: &Snapshot) -> Option<&Arc<AdvertisedTool>> {
        let offers = |tool_set| self.profile.offers(tool_set, snapshot);
        // `skills_search` joins the `skill` tool when the listing does not fit. Whether it fits is not worth finding out
        // for a call, so it is served beside `skill` always.
        let is_served = |tool: &Tool| {
            offers(tool.tool_set) || (tool.name == skills_search::NAME && offers(ToolSet::Skill))
        };
        let named = self.tools.iter().find(|advertised| advertised.tool.answers_to(name));
        named.filter(|advertised| is_served(advertised.tool))
    }

    /// The server's instructions over a snapshot.
    pub fn instructions(&self, snapshot: &Arc<Snapshot>) -> String {
        let is_search = |advertised: &AdvertisedTool| advertised.tool.name == skills_search::NAME;
        let has_search = self.tool_list(snapshot).0.iter().any(is_search);
        self.profile.instructions_over(snapshot, has_search)
    }

    /// What the instructions say, in two lines for a project's file of rules, where the server has this name.
    pub fn rule(&self, server: &str, snapshot: &Arc<Snapshot>) -> String {
        let is_search = |advertised: &AdvertisedTool| advertised.tool.name == skills_search::NAME;
        let has_search = self.tool_list(snapshot).0.iter().any(is_search);
        self.profile.rule_over(server, snapshot, has_search)
    }

    /// The tool list over a snapshot.
    pub fn tool_list(&self, snapshot: &Arc<Snapshot>) -> Arc<ToolList> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over =
            |(over, _): &&(Weak<Snapshot>, _)| std::ptr::eq(over.as_ptr(), Arc::as_ptr(snapshot));
        if let Some((_, list)) = latest.iter().find(is_over) {
            return Arc::clone(list);
        }
        let list = Arc::new(ToolList::new(self, snapshot));
        latest.retain(|(over, _)| over.strong_count() > 0);
        if latest.len() >= MAX_TOOL_LISTS {
            latest.remove(0);
        }
        latest.push((Arc::downgrade(snapshot), Arc::clone(&list)));
        list
    }
}

/// A tool as clients see it.
#[derive(Debug, Clone)]
pub struct AdvertisedTool {
    /// The tool.
    pub tool: &'static Tool,
    /// Its name in this profile.
    pub name: Cow<'static, str>,
    /// Its description in this profile.
    pub description: Cow<'static, str>,
    /// The schema of its arguments in this profile.
    pub input: Map<String, Value>,
    /// The schema of its structured answer, where this profile has one.
    pub output: Option<Map<String, Value>>,
    /// Hints for the client's program, which its model does not see.
    pub meta: Map<String, Value>,
}

impl AdvertisedTool {
    fn new(tool: &'static Tool, profile: &ServerProfile) -> Self {
        let description = match tool.name {
            skills_search::NAME => skills_search::description(profile),
            _ => Cow::Borrowed(tool.description),
        };
        let mut input = (tool.input)();
        match tool.tool_set {
            ToolSet::Flat => skills_search::word_arguments(profile, &mut input),
            ToolSet::Skill => skill::word_arguments(profile, &mut input),
            ToolSet::Tree | ToolSet::Maintainer => {}
        }
        let output = tool.output.filter(|_| profile.is_structured()).map(|output| output());
        Self { tool, name: profile.tool_name(tool), description, input, output, meta: Map::new() }
    }

    /// Whether `destructiveHint` is part of its annotations. A flat tool that only reads needs none, and every word
    /// costs every client.
    pub fn has_destructive_hint(&self) -> bool {
        self.tool.tool_set != ToolSet::Flat
    }

    /// How long this call keeps its thread, as things are: a short read from a remote disk, or from an index that is not
    /// ready, is a long one.
    pub(super) fn blocking(&self, call: &Call, arguments: &Map<String, Value>) -> Blocking {
        let blocking = (self.tool.blocking)(call, arguments);
        let slow = || call.snapshot.is_slow() || !call.snapshot.is_indexed();
        if blocking == Blocking::ShortRead && slow() { Blocking::LongRead } else { blocking }
    }

    /// Checks the arguments against the schema that clients were shown, then runs the tool, if there are skills to run it
    /// on: before the first sync of a repository only `refresh_skills` runs.
    pub(super) fn call(
        &self,
        call: &Call,
        arguments: Map<String, Value>,
    ) -> Result<Reply, Refusal> {
        arguments::check(&self.name, &self.input, &arguments)?;
        match first_sync(call) {
            Some(message) if self.tool.name != refresh_skills::NAME => Err(self.refusal(message)),
            Some(_) | None => (self.tool.run)(call, arguments),
        }
    }

    /// A refusal of malformed arguments as one that the model can act on, where the client `corrects` them.
    pub(super) fn corrected(&self, refusal: Refusal, corrects: bool) -> Refusal {
        if let (Refusal::Params(message), true) = (&refusal, corrects) {
            return self.refusal(message.clone());
        }
        refusal
    }

    /// A refusal that the model can act on, in the form of this tool's answers.
    fn refusal(&self, message: String) -> Refusal {
        match self.tool.tool_set {
            ToolSet::Tree => Refusal::Tool(message),
            ToolSet::Skill | ToolSet::Flat | ToolSet::Maintainer => Refusal::Plain(message),
        }
    }

    /// The tool as `tools/list` has it, but for the hints that no model sees.
    pub fn json(&self) -> Value {
        let mut shown = json!({
            "name": self.name,
            "title": self.tool.title,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": {
                "readOnlyHint": self.tool.read_only,
                "idempotentHint": self.tool.idempotent,
                "openWorldHint": self.tool.dangerous,
            },
        });
        let annotations = shown.pointer_mut("/annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.filter(|_| self.has_destructive_hint()) {
            annotations.insert("destructiveHint".to_owned(), json!(self.tool.dangerous));
        }
        if let (Some(output), Some(shown)) = (&self.output, shown.as_object_mut()) {
            shown.insert("outputSchema".to_owned(), Value::Object(output.clone()));
        }
        shown
    }
}

/// What there is to say instead of an answer, while nothing has come of any repository yet. A client that may see some of
/// the skills learns nothing of repositories, and one on another machine nothing of where they are.
fn first_sync(call: &Call) -> Option<String> {
    let message = call.store.first_sync(&call.snapshot)?;
    if call.snapshot.is_limited() {
        return None;
    }
    let is_remote = call.profile.remote.is_some();
    let instead = "There are no skills yet: the first sync of a repository is not done. Try again in a few seconds.";
    Some(if is_remote { instead.to_owned() } else { message })
}
