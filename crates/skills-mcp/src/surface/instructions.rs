//! The server's instructions: what there is, when to ask, and the exact calls.
//!
//! A client that is not in the table gets a sentence that needs no catalog, at once. One of the table gets as much as its model
//! is known to see, the most important first.

use skills_core::{
    catalog::{Skill, topics},
    route::Deciders,
};

use super::{
    Match, ServerProfile, Tool, ToolSet, ToolSets, get_skill, grouped, skill, skills_list,
    skills_search,
};
use crate::{clients::ToolSight, store::Snapshot};

/// Instructions are at most so long, whatever the client.
const MAX_INSTRUCTION_CHARS: usize = 2_000;
/// Topics are at most so long.
const MAX_TOPIC_CHARS: usize = 600;
/// The same where the first request is to be small, because the client keeps tools out of it.
const MAX_DEFERRED_TOPIC_CHARS: usize = 360;

const SKILLS_ARE: &str = "instructions, templates and scripts for tasks";
/// The request that a search needs, in the words of the arguments' descriptions.
pub(super) const WHOLE_REQUEST: &str = "the user's request, whole, in its own words, then the product, library, service or file type it is about";
const NOTHING_NEW: &str = "This server has no skills but those that you know already.";
const EXAMPLE: &str = "why does the nightly export stop after an hour? (Airflow, S3)";
const TREE_INSTRUCTIONS: &str = "Team skills: instructions, templates and scripts for the task at hand. \
    Before starting a task, call get_skill with the user's request, whole, in its own words, followed by the product, library, \
    service or file type it is about; follow what it returns. \
    If the answer is ambiguous, call get_skill again with one of the candidates' skill_path.";
const SKILL_INSTRUCTIONS: &str = "Skills: instructions for the task at hand. Before starting a task, see whether a skill \
    fits it, load it with the skill tool and follow it.";

impl ServerProfile {
    /// The instructions where nothing is known yet of what is served, or of the client.
    pub fn instructions(&self) -> String {
        let offers = |tool_set| match &self.tool_sets {
            ToolSets::Automatic => {
                tool_set == if self.named { ToolSet::Tree } else { ToolSet::Skill }
            }
            ToolSets::Chosen(tool_sets) => tool_sets.contains(&tool_set),
        };
        if offers(ToolSet::Tree) {
            TREE_INSTRUCTIONS.to_owned()
        } else if offers(ToolSet::Skill) {
            SKILL_INSTRUCTIONS.to_owned()
        } else {
            self.flat_instructions()
        }
    }

    fn flat_instructions(&self) -> String {
        let (list, search) =
            (self.tool_name(&skills_list::TOOL), self.tool_name(&skills_search::TOOL));
        match self.matching {
            Match::All => {
                format!("Prefer {list} for exhaustive metadata and {search} for targeted lookups.")
            }
            Match::Ranked => format!(
                "Skills: instructions for the task at hand. Before starting a task, call {search} with `query`: {WHOLE_REQUEST}. \
                 Follow the skill that fits."
            ),
        }
    }

    /// The instructions for a client of the table over what is served; `has_search` says whether it is offered `skills_search`.
    pub(super) fn instructions_over(&self, snapshot: &Snapshot, has_search: bool) -> String {
        let handling = self.handling().filter(|_| self.matching == Match::Ranked);
        let Some(handling) = handling else { return self.instructions() };
        let catalog = &snapshot.catalog;
        let native = self.native_sources(snapshot);
        let is_ours =
            |skill: &&Skill| skill.is_for_models() && native.get(skill.source) != Some(&true);
        let ours = catalog.skills().filter(is_ours).count();
        if ours == 0 && catalog.skills().any(Skill::is_for_models) {
            return NOTHING_NEW.to_owned();
        }
        let [ask, follow] = self.how_to_ask(snapshot, has_search);
        // Some clients show no more than the first line.
        let mut text = format!("{} {ask}\n{follow}", count(ours));
        let deferred = handling.first_request.value != ToolSight::Whole;
        let most = if deferred { MAX_DEFERRED_TOPIC_CHARS } else { MAX_TOPIC_CHARS };
        let limit = handling.instructions.value.min(MAX_INSTRUCTION_CHARS);
        let label = "\nTopics: ";
        let room = limit.saturating_sub(text.chars().count() + label.len() + 1);
        let topics = topics(catalog.skills().filter(is_ours), most.min(room));
        if !topics.is_empty() {
            text.push_str(label);
            text.push_str(&topics);
            text.push('.');
        }
        text
    }

    /// The same in two lines, for a project's file of rules, which knows the server by its name: for models that never see
    /// instructions.
    pub(super) fn rule_over(&self, server: &str, snapshot: &Snapshot, has_search: bool) -> String {
        let [ask, follow] = self.how_to_ask(snapshot, has_search);
        format!("The MCP server `{server}` has skills: {SKILLS_ARE}.\n{ask} {follow}")
    }

    /// Whether `get_skill` is the one way to find: it is offered, and finds bundles without keywords too.
    fn routes(&self, snapshot: &Snapshot) -> bool {
        let finds_all = snapshot.settings().matching.deciders == Deciders::Both;
        self.offers(ToolSet::Tree, snapshot)
            && (finds_all || !self.offers(ToolSet::Skill, snapshot))
    }

    /// The tool that finds what a list has no room for. Clients of the table are told of one way to find.
    pub(super) fn finder(&self, snapshot: &Snapshot) -> &'static Tool {
        if self.client.is_some() && self.routes(snapshot) {
            &get_skill::TOOL
        } else {
            &skills_search::TOOL
        }
    }

    /// How a model comes by a skill with the tools that are offered.
    fn way_in(&self, snapshot: &Snapshot) -> WayIn {
        if self.routes(snapshot) {
            WayIn::Route
        } else if self.offers(ToolSet::Skill, snapshot) {
            WayIn::Search
        } else {
            WayIn::Flat
        }
    }

    /// The tools that a model needs first, by name.
    pub(super) fn entry_tools(&self, snapshot: &Snapshot) -> &'static [&'static str] {
        match self.way_in(snapshot) {
            WayIn::Route => &[get_skill::TOOL.name],
            WayIn::Search => &[skills_search::NAME, skill::TOOL.name],
            WayIn::Flat => &[skills_search::NAME],
        }
    }

    /// The call that finds a skill of what is served, and what to do with its answer.
    fn how_to_ask(&self, snapshot: &Snapshot, has_search: bool) -> [String; 2] {
        let get = self.tool_name(&get_skill::TOOL);
        let search = self.tool_name(&skills_search::TOOL);
        let load = self.tool_name(&skill::TOOL);
        match self.way_in(snapshot) {
            WayIn::Route => [
                format!("Before a task, call {get} with `context`: {WHOLE_REQUEST}."),
                format!(
                    "For example {{\"context\": \"{EXAMPLE}\"}}. Follow the skill that it returns; where it returns candidates, \
                     call it again with the `skill_path` of the one that fits, if any does."
                ),
            ],
            WayIn::Search if has_search => [
                format!("Before a task, call {search} with `query`: {WHOLE_REQUEST}."),
                format!(
                    "For example {{\"query\": \"{EXAMPLE}\"}}. If a skill fits, call {load} with its `name`, and follow it."
                ),
            ],
            WayIn::Search => [
                format!("Before a task, see whether a skill in the description of {load} fits it."),
                format!("If one does, call {load} with its `name`, and follow it."),
            ],
            WayIn::Flat if self.matching == Match::All => [self.flat_instructions(), String::new()],
            WayIn::Flat => [
                format!("Before a task, call {search} with `query`: {WHOLE_REQUEST}."),
                format!(
                    "For example {{\"query\": \"{EXAMPLE}\"}}. {}",
                    self.loader().sentence(self)
                ),
            ],
        }
    }
}

/// How a model comes by a skill.
#[derive(Debug, Clone, Copy)]
enum WayIn {
    /// `get_skill` finds and loads.
    Route,
    /// `skills_search` finds, `skill` loads.
    Search,
    /// Only the flat tools are there.
    Flat,
}

/// How many skills there are to ask for.
fn count(ours: usize) -> String {
    let what = SKILLS_ARE;
    match ours {
        0 => "This server has no skills yet; a search finds new ones.".to_owned(),
        1 => format!("This server has a skill: {what}."),
        ours => format!("This server has {} skills: {what}.", grouped(ours as u64)),
    }
}
