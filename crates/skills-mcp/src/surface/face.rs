//! [`Face`]: what one kind of client is shown. `skills-mcp` and `sk mcp-server` differ in nothing else.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use super::{History, Tool, skills_list, skills_search};
use crate::store::Snapshot;

/// A set of tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// `get_skill` and its companions.
    Tree,
    /// The one `skill` tool.
    Skill,
    /// `skills_list` and `skills_search`.
    Flat,
    /// `skill_stats`, for those who look after skills. No client opens it: the operator does.
    Maintainer,
}

impl Door {
    /// Every door that a client may be told to use, with the word for it.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("tree", Self::Tree), ("skill", Self::Skill), ("flat", Self::Flat)];
}

/// Which doors are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doors {
    /// As the sources suggest: the tree for a named source, `skill` where there are bundles or nothing is named.
    Fitting,
    /// These.
    Chosen(Vec<Door>),
}

impl Doors {
    /// Reads `tree,skill,flat` or `all`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut chosen = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match Door::ALL.iter().find(|(name, _)| *name == word) {
                Some((_, door)) => chosen.push(*door),
                None if word == "all" => chosen.extend(Door::ALL.iter().map(|(_, door)| *door)),
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

    /// Whether this door is open over this catalog.
    pub(super) fn open(&self, door: Door, snapshot: &Snapshot, named: bool) -> bool {
        let has_bundles = || snapshot.catalog.bundles() > 0;
        match (self, door) {
            (Self::Chosen(doors), _) => doors.contains(&door),
            (Self::Fitting, Door::Tree) => named,
            (Self::Fitting, Door::Skill) => !named || has_bundles(),
            (Self::Fitting, Door::Flat | Door::Maintainer) => false,
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

/// How `skills_search` matches unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// Every word must occur.
    All,
    /// Best first.
    Ranked,
}

/// What a client is told of by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tells {
    /// That a list it can ask for says something else.
    Lists,
    /// That any file of a source has changed, and why (SK-6), though the tools name no skill.
    Files,
}

/// What a client is shown.
#[derive(Debug, Clone)]
pub struct Face {
    /// What the server calls itself.
    pub server: &'static str,
    /// Which tools.
    pub doors: Doors,
    /// Whether somebody named a source.
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
    /// Paths in flat answers are relative to this folder, where they lie below it.
    pub project: PathBuf,
    /// What it is told of.
    pub tells: Tells,
    /// The history it may ask for; none, where the operator does not say so.
    pub history: Option<Arc<History>>,
}

const TREE_INSTRUCTIONS: &str = "Team skills: instructions, templates and scripts for the task at hand. \
    Before starting a task, call get_skill with a short description of it; follow what it returns. \
    If the answer is ambiguous, call get_skill again with one of the candidates' skill_path.";
const SKILL_INSTRUCTIONS: &str = "Skills: instructions for the task at hand. Before starting a task, see whether a skill \
    fits it, load it with the skill tool and follow it.";

impl Face {
    /// The face of `skills-mcp`.
    pub fn skills_mcp(named: bool, project: PathBuf) -> Self {
        Self {
            server: "skills-mcp",
            doors: Doors::Fitting,
            named,
            dotted: false,
            listing: ListingStyle::Xml,
            budget: Budget::Tokens(2_000),
            matching: Match::Ranked,
            page: Some(50),
            project,
            tells: Tells::Lists,
            history: None,
        }
    }

    /// What a tool is called here: every text that names one asks this.
    pub(super) fn called(&self, tool: &Tool) -> Cow<'static, str> {
        let dotted = tool.dotted().filter(|_| self.dotted);
        dotted.map_or(Cow::Borrowed(tool.name), Cow::Owned)
    }

    /// Whether this door is open over this catalog.
    pub(super) fn opens(&self, door: Door, snapshot: &Snapshot) -> bool {
        match door {
            Door::Maintainer => self.history.is_some(),
            Door::Tree | Door::Skill | Door::Flat => self.doors.open(door, snapshot, self.named),
        }
    }

    /// What clients are told about the whole server, in the names of the tools they see.
    pub fn instructions(&self) -> String {
        let open = |door| match &self.doors {
            Doors::Fitting => door == if self.named { Door::Tree } else { Door::Skill },
            Doors::Chosen(doors) => doors.contains(&door),
        };
        if open(Door::Tree) {
            TREE_INSTRUCTIONS.to_owned()
        } else if open(Door::Skill) {
            SKILL_INSTRUCTIONS.to_owned()
        } else {
            self.flat_instructions()
        }
    }

    fn flat_instructions(&self) -> String {
        let (list, search) = (self.called(&skills_list::TOOL), self.called(&skills_search::TOOL));
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

    /// The face of `sk mcp-server` (SK-2 to SK-4).
    pub fn sk(project: PathBuf) -> Self {
        Self {
            server: "sk-mcp",
            doors: Doors::Chosen(vec![Door::Flat]),
            dotted: true,
            matching: Match::All,
            page: None,
            tells: Tells::Files,
            ..Self::skills_mcp(true, project)
        }
    }
}
