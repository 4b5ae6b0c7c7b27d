//! [`ServerProfile`]: how the server presents itself. `skills-mcp` and `sk mcp-server` differ in nothing else.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use super::{Tool, skills_list, skills_search};
use crate::{store::Snapshot, usage::History};

/// A set of tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSet {
    /// `get_skill` and its companions.
    Tree,
    /// The one `skill` tool.
    Skill,
    /// `skills_list` and `skills_search`.
    Flat,
    /// `skill_stats`, for those who look after skills. The operator offers it, never a client.
    Maintainer,
}

impl ToolSet {
    /// Every tool set that `--tools` may name, with its name.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("tree", Self::Tree), ("skill", Self::Skill), ("flat", Self::Flat)];
}

/// Which tool sets are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSets {
    /// As the sources suggest: the tree for a named source, `skill` where there are bundles or nothing is named.
    Automatic,
    /// These.
    Chosen(Vec<ToolSet>),
}

impl ToolSets {
    /// Reads `tree,skill,flat` or `all`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut chosen = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match ToolSet::ALL.iter().find(|(name, _)| *name == word) {
                Some((_, tool_set)) => chosen.push(*tool_set),
                None if word == "all" => {
                    chosen.extend(ToolSet::ALL.iter().map(|(_, tool_set)| *tool_set));
                }
                None => {
                    return Err(format!(
                        "there is no tool set `{word}`; use tree, skill, flat or all"
                    ));
                }
            }
        }
        if chosen.is_empty() {
            Err("name at least one of tree, skill, flat, all".to_owned())
        } else {
            Ok(Self::Chosen(chosen))
        }
    }

    /// Whether this tool set is offered over this catalog.
    fn offers(&self, tool_set: ToolSet, snapshot: &Snapshot, named: bool) -> bool {
        let has_bundles = || snapshot.catalog.bundles() > 0;
        match (self, tool_set) {
            (Self::Chosen(tool_sets), _) => tool_sets.contains(&tool_set),
            (Self::Automatic, ToolSet::Tree) => named,
            (Self::Automatic, ToolSet::Skill) => !named || has_bundles(),
            (Self::Automatic, ToolSet::Flat | ToolSet::Maintainer) => false,
        }
    }
}

/// How many tokens the list of tools may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// About so many; zero means no listing at all.
    Tokens(usize),
    /// Whatever it takes.
    Unlimited,
}

impl Budget {
    /// Reads a number or `unlimited`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "unlimited" => Ok(Self::Unlimited),
            _ => text
                .parse()
                .map(Self::Tokens)
                .map_err(|_| "use a number of tokens, or `unlimited`".to_owned()),
        }
    }
}

/// How skills are listed in the `skill` tool's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ListingStyle {
    /// An `<available_skills>` block
    Xml,
    /// `- name: description` lines
    List,
}

/// How `skills_search` matches where the call does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// Every word must occur.
    All,
    /// Best first.
    Ranked,
}

/// What a client is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyOn {
    /// A change of a list that it can ask for.
    Lists,
    /// A change of any file of a source, with its reason (SK-6), though the tools name no skill.
    Files,
}

/// How the server presents itself to clients.
#[derive(Debug, Clone)]
pub struct ServerProfile {
    /// What the server calls itself.
    pub server: &'static str,
    /// Which tools it offers.
    pub tool_sets: ToolSets,
    /// Whether the operator named a source.
    pub named: bool,
    /// Whether the flat tools' names have a dot.
    pub dotted: bool,
    /// How `skill` lists.
    pub listing: ListingStyle,
    /// What the list of tools may cost.
    pub budget: Budget,
    /// How `skills_search` matches by default.
    pub matching: Match,
    /// How many skills `skills_list` shows at once by default; all, where this is `None`.
    pub page: Option<usize>,
    /// Paths in flat answers are relative to this folder, where they are below it.
    pub project: PathBuf,
    /// What clients are notified of.
    pub notify_on: NotifyOn,
    /// The history that `skill_stats` reports on; none, where the operator does not offer it.
    pub history: Option<Arc<History>>,
}

const TREE_INSTRUCTIONS: &str = "Team skills: instructions, templates and scripts for the task at hand. \
    Before starting a task, call get_skill with a short description of it; follow what it returns. \
    If the answer is ambiguous, call get_skill again with one of the candidates' skill_path.";
const SKILL_INSTRUCTIONS: &str = "Skills: instructions for the task at hand. Before starting a task, see whether a skill \
    fits it, load it with the skill tool and follow it.";

impl ServerProfile {
    /// The profile of `skills-mcp`.
    pub fn skills_mcp(named: bool, project: PathBuf) -> Self {
        Self {
            server: "skills-mcp",
            tool_sets: ToolSets::Automatic,
            named,
            dotted: false,
            listing: ListingStyle::Xml,
            budget: Budget::Tokens(2_000),
            matching: Match::Ranked,
            page: Some(50),
            project,
            notify_on: NotifyOn::Lists,
            history: None,
        }
    }

    /// The name of a tool in this profile. Every text that names a tool takes it from here.
    pub(super) fn tool_name(&self, tool: &Tool) -> Cow<'static, str> {
        let dotted = tool.dotted().filter(|_| self.dotted);
        dotted.map_or(Cow::Borrowed(tool.name), Cow::Owned)
    }

    /// Whether this tool set is offered over this catalog.
    pub(super) fn offers(&self, tool_set: ToolSet, snapshot: &Snapshot) -> bool {
        match tool_set {
            ToolSet::Maintainer => self.history.is_some(),
            ToolSet::Tree | ToolSet::Skill | ToolSet::Flat => {
                self.tool_sets.offers(tool_set, snapshot, self.named)
            }
        }
    }

    /// The server's instructions for clients, with the names of the tools that they see.
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

    /// The profile of `sk mcp-server` (SK-2 to SK-4).
    pub fn sk(project: PathBuf) -> Self {
        Self {
            server: "sk-mcp",
            tool_sets: ToolSets::Chosen(vec![ToolSet::Flat]),
            dotted: true,
            matching: Match::All,
            page: None,
            notify_on: NotifyOn::Files,
            ..Self::skills_mcp(true, project)
        }
    }
}
