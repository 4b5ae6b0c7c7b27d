//! [`ToolList`]: what `tools/list` says over one snapshot, and how its cost in tokens is kept within the budget.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use skills_core::{estimate, resolve::has_files};

use super::{
    AdvertisedTool, Budget, Registry, ServerProfile, Tool, ToolSet, get_asset, listing::Entries,
    refresh_skills, run_script, skill, skills_search,
};
use crate::store::Snapshot;

/// The tools a client is offered over one snapshot, in their order, each with its description.
#[derive(Debug, Clone)]
pub struct ToolList(pub Vec<AdvertisedTool>);

impl ToolList {
    pub(super) fn new(registry: &Registry, snapshot: &Snapshot) -> Self {
        let mut list = Self::described(registry, snapshot);
        if registry.profile.handling().is_some_and(|handling| handling.anthropic_meta.value) {
            let entries = registry.profile.entry_tools(snapshot);
            list.0.iter_mut().for_each(|tool| tool.meta = anthropic_meta(tool.tool, entries));
        }
        list
    }

    fn described(registry: &Registry, snapshot: &Snapshot) -> Self {
        let profile = &*registry.profile;
        let offers = |tool_set| profile.offers(tool_set, snapshot);
        let tools = |wanted: &dyn Fn(&Tool) -> bool| -> Vec<AdvertisedTool> {
            let wanted = registry.tools.iter().filter(|advertised| wanted(advertised.tool));
            wanted.map(|advertised| AdvertisedTool::clone(advertised)).collect()
        };
        let is_wanted = |tool: &Tool| offers(tool.tool_set) && profile.advertises(tool, snapshot);
        let mut list = Self(tools(&is_wanted));
        if !offers(ToolSet::Skill) {
            return list;
        }
        let finder = profile.finder(snapshot);
        let room = match profile.budget(finder) {
            Budget::Tokens(budget) => Some(budget),
            Budget::Unlimited => None,
        };
        let entries = Entries::of(&snapshot.catalog, room, &profile.native_sources(snapshot));
        list.describe(skill::frame(profile, finder, &entries), Budget::Unlimited);
        let search = |list: &mut Self| {
            if !offers(ToolSet::Flat) && finder.name == skills_search::NAME {
                list.0.extend(tools(&|tool| tool.name == skills_search::NAME));
            }
        };
        // Skills that are not listed are found by searching.
        if entries.native > 0 {
            search(&mut list);
        }
        let fits = match profile.budget(finder) {
            Budget::Unlimited => true,
            Budget::Tokens(budget) => {
                entries.fits(profile.listing(), budget.saturating_sub(list.tokens()))
            }
        };
        if fits
            && list.describe(skill::description(profile, finder, &entries), profile.budget(finder))
        {
            return list;
        }
        if entries.native == 0 {
            search(&mut list);
        }
        let bare = skill::frame(profile, finder, &entries);
        list.describe(bare, Budget::Unlimited);
        let Budget::Tokens(budget) = profile.budget(finder) else { return list };
        if list.tokens() > budget {
            // Not even the words around a listing fit: say it in one sentence.
            list.describe(skill::without_listing(profile, finder), Budget::Unlimited);
            return list;
        }
        let mut room = budget.saturating_sub(list.tokens());
        // Lines are estimated one by one, and together they may cost a little more.
        while !list
            .describe(skill::shortened(profile, finder, &entries, room), profile.budget(finder))
            && room > 0
        {
            room = room.saturating_sub(list.tokens().saturating_sub(budget));
        }
        list
    }

    /// Gives the `skill` tool this description; whether the whole list then stays within the budget.
    fn describe(&mut self, description: String, budget: Budget) -> bool {
        let skill = self.0.iter_mut().find(|advertised| advertised.tool.tool_set == ToolSet::Skill);
        let Some(skill) = skill else { return true };
        skill.description = description.into();
        match budget {
            Budget::Unlimited => true,
            Budget::Tokens(tokens) => self.tokens() <= tokens,
        }
    }

    fn json(&self) -> Value {
        json!({"tools": self.0.iter().map(AdvertisedTool::json).collect::<Vec<_>>()})
    }

    /// Estimated tokens of the whole list, schemas included.
    pub fn tokens(&self) -> usize {
        estimate::tokens(&self.json().to_string())
    }

    /// The same for two lists only where clients read the same in both.
    pub fn digest(&self) -> [u8; 32] {
        let meta: Vec<&Map<String, Value>> = self.0.iter().map(|tool| &tool.meta).collect();
        Sha256::digest(json!([self.json(), meta]).to_string()).into()
    }

    /// The names of the tools.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|advertised| &*advertised.name).collect()
    }
}

/// What a search for tools finds ours by.
const SEARCH_HINT: &str =
    "skills: team conventions, guidelines, how-to instructions, templates and scripts for a task";
/// Answers up to this many characters go to the model and not to a file.
const MAX_RESULT_CHARS: usize = 100_000;

/// Hints that Claude Code follows: which tools its model sees from the start, what finds the others, and how long an answer
/// may be.
fn anthropic_meta(tool: &Tool, entries: &[&str]) -> Map<String, Value> {
    let mut meta = Map::new();
    let mut put = |key: &str, value: Value| meta.insert(format!("anthropic/{key}"), value);
    put("searchHint", json!(SEARCH_HINT));
    put("maxResultSizeChars", json!(MAX_RESULT_CHARS));
    if entries.contains(&tool.name) {
        put("alwaysLoad", json!(true));
    }
    meta
}

impl ServerProfile {
    /// Whether a tool is in the list of those that its tool set has. Clients of the table are not shown what can do nothing with
    /// what is served.
    fn advertises(&self, tool: &Tool, snapshot: &Snapshot) -> bool {
        let may_run = self.remote.is_none_or(|remote| remote.may_run_scripts);
        if tool.name == run_script::NAME && !may_run {
            return false;
        }
        if self.client.is_none() {
            return true;
        }
        // Those that only their users start need their tools, too.
        let mut skills = snapshot.catalog.skills();
        match tool.name {
            run_script::NAME => skills.any(|skill| !skill.fields().scripts.is_empty()),
            get_asset::NAME => skills.any(|skill| has_files(&snapshot.catalog, skill)),
            refresh_skills::NAME => snapshot.has_repositories(),
            _ => true,
        }
    }
}
