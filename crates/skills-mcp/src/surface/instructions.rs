//! The server's instructions: what there is, when to ask, and the exact calls.
//!
//! A client that is not in the table gets a sentence that needs no catalog, at once. One of the table gets as much as its model
//! is known to see, the most important first.

use skills_core::catalog::{Catalog, Skill, SkillKind, topics};

use super::{
    Match, ServerProfile, ToolSet, ToolSets, get_skill, skill, skills_list, skills_search,
};
use crate::{clients::ToolSight, store::Snapshot};

/// Instructions are at most so long, whatever the client.
const MAX_INSTRUCTION_CHARS: usize = 2_000;
/// Topics are at most so long.
const MAX_TOPIC_CHARS: usize = 600;
/// The same where the first request is to be small, because the client keeps tools out of it.
const MAX_DEFERRED_TOPIC_CHARS: usize = 360;

const SKILLS_ARE: &str = "instructions, templates and scripts for particular tasks";
const TREE_INSTRUCTIONS: &str = "Team skills: instructions, templates and scripts for the task at hand. \
    Before starting a task, call get_skill with a short description of it; follow what it returns. \
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
                "Skills: instructions for the task at hand. Before starting a task, look for a skill with {search} and \
                 follow it."
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
        let mut text = count(catalog, ours);
        text.push('\n');
        text.push_str(&self.how_to_ask(snapshot, has_search));
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
        let ask = self.how_to_ask(snapshot, has_search);
        format!("The MCP server `{server}` has skills: {SKILLS_ARE}.\n{ask}")
    }

    /// The way to ask that fits the tools and the content.
    fn way_in(&self, snapshot: &Snapshot) -> WayIn {
        let offers = |tool_set| self.offers(tool_set, snapshot);
        let has_bundles = snapshot.catalog.bundles() > 0;
        let has_tree = || snapshot.catalog.skills().any(|skill| skill.kind == SkillKind::Tree);
        match (offers(ToolSet::Tree), offers(ToolSet::Skill)) {
            (true, true) if !has_bundles => WayIn::Route,
            (true, true) if has_tree() => WayIn::Both,
            (_, true) => WayIn::Search,
            (true, false) => WayIn::Route,
            (false, false) => WayIn::Flat,
        }
    }

    /// The tools that a model needs first, by name.
    pub(super) fn entry_tools(&self, snapshot: &Snapshot) -> &'static [&'static str] {
        match self.way_in(snapshot) {
            WayIn::Route => &[get_skill::TOOL.name],
            WayIn::Search => &[skills_search::NAME, skill::TOOL.name],
            WayIn::Both => &[get_skill::TOOL.name, skills_search::NAME],
            WayIn::Flat => &[skills_search::NAME],
        }
    }

    /// The calls that find and load a skill of what is served.
    fn how_to_ask(&self, snapshot: &Snapshot, has_search: bool) -> String {
        let get = self.tool_name(&get_skill::TOOL);
        let search = self.tool_name(&skills_search::TOOL);
        let load = self.tool_name(&skill::TOOL);
        let by_tree = format!(
            "Before you start a task, call {get} with `context`: the task in a few words. Follow the skill that it returns; \
             where it returns candidates, call it again with the `skill_path` of the one that fits, if any does."
        );
        let by_search = format!(
            "Before you start a task, call {search} with `query`: the task in a few words. If a skill fits, call {load} with \
             its `name`, and follow it."
        );
        match self.way_in(snapshot) {
            WayIn::Route => by_tree,
            WayIn::Search if has_search => by_search,
            WayIn::Search => format!(
                "Before you start a task, see whether a skill in the description of {load} fits it. If one does, call {load} \
                 with its `name`, and follow it."
            ),
            WayIn::Both if has_search => {
                format!(
                    "{by_tree} {search} searches all skills, and {load} loads one by its `name`."
                )
            }
            WayIn::Both => format!("{by_tree} {load} loads one by its `name`."),
            WayIn::Flat => self.flat_instructions(),
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
    /// `get_skill` finds what has keywords and offers the rest.
    Both,
    /// Only the flat tools are there.
    Flat,
}

/// How many skills there are to ask for.
fn count(catalog: &Catalog, ours: usize) -> String {
    let what = SKILLS_ARE;
    match (ours, catalog.skills().filter(|skill| skill.is_for_models()).count()) {
        (_, 0) => {
            format!("This server has no skills yet; they are {what}, and a search finds new ones.")
        }
        (0, all) => format!("This server searches {all} skills that you know already: {what}."),
        (1, _) => format!("This server has a skill: {what}."),
        (ours, _) => format!("This server has {ours} skills: {what}."),
    }
}
