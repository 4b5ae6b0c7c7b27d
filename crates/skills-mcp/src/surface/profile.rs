//! [`ServerProfile`]: how the server presents itself, and to which client. `skills-mcp` and `sk mcp-server` differ in nothing
//! else.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use skills_core::catalog::{Origin, Skill, Source};

use super::{Tool, get_skill, skill};
use crate::{
    clients::{Handling, KnownClient},
    config::Environment,
    paths::real_path_or_same,
    store::Snapshot,
    usage::History,
};

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

/// Which parts of MCP skills are served through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surfaces {
    /// Tools, resources, prompts, completion and the Skills extension.
    All,
    /// Tools, as the contract of `sk mcp-server` says (SK-3).
    ToolsAlone,
}

/// What a client is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyOn {
    /// A change of a list that it can ask for.
    Lists,
    /// A change of any file of a source, with its reason (SK-6), though the tools name no skill.
    Files,
}

/// Which client the server presents itself to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientChoice {
    /// As the client calls itself.
    Reported,
    /// This one, whatever it calls itself; none is one that is not in the table.
    Fixed(Option<&'static KnownClient>),
}

/// What clients on other machines may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteClients {
    /// Whether they may have scripts run.
    pub may_run_scripts: bool,
}

/// How the server presents itself to clients.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ServerProfile {
    /// What the server calls itself.
    pub server: &'static str,
    /// Which tools it offers.
    pub tool_sets: ToolSets,
    /// Whether the operator named a source.
    pub named: bool,
    /// Whether the flat tools' names have a dot.
    pub dotted: bool,
    /// Whether skills that only their users start are offered too: to people, and where the contract lists every skill (SK-2).
    pub every_skill: bool,
    /// How `skill` lists, where the operator said so.
    pub listing: Option<ListingStyle>,
    /// What the list of tools may cost, where the operator said so.
    pub budget: Option<Budget>,
    /// How `skills_search` matches by default.
    pub matching: Match,
    /// How many skills `skills_list` shows at once by default; all, where this is `None`.
    pub page: Option<usize>,
    /// Where the server was started. Paths in flat answers are relative to the start directory, where they are below it.
    pub environment: Arc<Environment>,
    /// Which parts of MCP skills are served through.
    pub surfaces: Surfaces,
    /// What clients are notified of.
    pub notify_on: NotifyOn,
    /// The history that `skill_stats` reports on; none, where the operator does not offer it.
    pub history: Option<Arc<History>>,
    /// An answer to a client that is not in the table is at most so many characters long, where its contract does not say
    /// otherwise.
    pub answer_chars: usize,
    /// Whether answers have structured content for every client.
    pub structured: bool,
    /// Which client it is for.
    pub client_choice: ClientChoice,
    /// The client that this is the profile for; none for one that is not in the table.
    pub client: Option<&'static KnownClient>,
    /// The directories that this client loads itself.
    pub native: Vec<PathBuf>,
    /// Where clients are on other machines: paths of this one mean nothing to them.
    pub remote: Option<RemoteClients>,
}

/// How a skill that a search found is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loader {
    /// With `skill`.
    Skill,
    /// With `get_skill`.
    GetSkill,
    /// No tool loads it; its file can be read.
    File,
}

impl Loader {
    /// The sentence that says so.
    pub(super) fn sentence(self, profile: &ServerProfile) -> String {
        match self {
            Self::Skill => {
                format!(
                    "Load the one that fits with {} and its name.",
                    profile.tool_name(&skill::TOOL)
                )
            }
            Self::GetSkill => {
                let get = profile.tool_name(&get_skill::TOOL);
                format!("Load the one that fits with {get} and its name as skill_path.")
            }
            Self::File => "Read the file of the one that fits.".to_owned(),
        }
    }
}

/// The list of tools costs at most so many tokens where nothing else is said.
const DEFAULT_BUDGET_TOKENS: usize = 2_000;
/// The same where the client's model sees instructions too: both together stay below the default.
const INSTRUCTED_BUDGET_TOKENS: usize = 1_300;
/// Clients are known that cut longer answers.
const DEFAULT_ANSWER_CHARS: usize = 20_000;

impl ServerProfile {
    /// The profile of `skills-mcp`.
    pub fn skills_mcp(named: bool, environment: Arc<Environment>) -> Self {
        Self {
            server: "skills-mcp",
            tool_sets: ToolSets::Automatic,
            named,
            dotted: false,
            every_skill: false,
            listing: None,
            budget: None,
            matching: Match::Ranked,
            page: Some(50),
            environment,
            surfaces: Surfaces::All,
            notify_on: NotifyOn::Lists,
            history: None,
            answer_chars: DEFAULT_ANSWER_CHARS,
            structured: false,
            client_choice: ClientChoice::Reported,
            client: None,
            native: Vec::new(),
            remote: None,
        }
    }

    /// The profile of `sk mcp-server` (SK-2 to SK-4).
    pub fn sk(environment: Arc<Environment>) -> Self {
        Self {
            server: "sk-mcp",
            tool_sets: ToolSets::Chosen(vec![ToolSet::Flat]),
            dotted: true,
            every_skill: true,
            matching: Match::All,
            page: None,
            surfaces: Surfaces::ToolsAlone,
            notify_on: NotifyOn::Files,
            structured: true,
            ..Self::skills_mcp(true, environment)
        }
    }

    /// The client in the table that a client which calls itself so is presented to as.
    pub fn choose(&self, reported: Option<&str>) -> Option<&'static KnownClient> {
        let client = match self.client_choice {
            ClientChoice::Reported => reported.and_then(KnownClient::of_name),
            ClientChoice::Fixed(client) => client,
        };
        client.filter(|client| client.handling.is_some())
    }

    /// The same profile for this client.
    #[must_use]
    pub fn for_client(&self, client: Option<&'static KnownClient>) -> Self {
        // What a client on another machine loads itself is not known.
        let local = client.filter(|_| self.remote.is_none());
        let native = local.map(|client| client.directories(&self.environment)).unwrap_or_default();
        Self { client, native, ..self.clone() }
    }

    /// What the client does with texts, where it is known.
    pub(super) fn handling(&self) -> Option<Handling> {
        self.client.and_then(|client| client.handling)
    }

    /// How `skill` lists: as the contract says where the client is not known.
    pub(super) fn listing(&self) -> ListingStyle {
        let unsaid = if self.client.is_some() { ListingStyle::List } else { ListingStyle::Xml };
        self.listing.unwrap_or(unsaid)
    }

    /// Limits what the list of tools costs. A client that is told to find skills with `get_skill`, or that does not read a changed
    /// description again, gets no list of skills in one.
    pub(super) fn budget(&self, finder: &Tool) -> Budget {
        let searches = finder.name != get_skill::TOOL.name;
        let unsaid = match self.handling() {
            None => DEFAULT_BUDGET_TOKENS,
            Some(handling) if searches && handling.rereads_tools.value => INSTRUCTED_BUDGET_TOKENS,
            Some(_) => 0,
        };
        self.budget.unwrap_or(Budget::Tokens(unsaid))
    }

    /// Whether answers have structured content: in the clients of the table it replaces, repeats or adds nothing to the text.
    pub(super) fn is_structured(&self) -> bool {
        self.structured || self.client.is_none()
    }

    /// An answer of so many characters reaches the model whole; none where the contract decides. Some clients count the
    /// characters of the JSON around the text.
    pub(super) fn max_answer_chars(&self) -> Option<usize> {
        self.handling().map(|handling| handling.answer.value / 8 * 7)
    }

    /// The same for answers that the contract does not bound.
    pub(super) fn max_listed_chars(&self) -> usize {
        self.max_answer_chars().unwrap_or(self.answer_chars)
    }

    /// The name of a tool in this profile. Every text that names a tool takes it from here.
    pub(super) fn tool_name(&self, tool: &Tool) -> Cow<'static, str> {
        if tool.tool_set == ToolSet::Skill
            && self.handling().is_some_and(|known| known.own_skill_tool.value)
        {
            return Cow::Borrowed(skill::OTHER_NAME);
        }
        let dotted = tool.dotted().filter(|_| self.dotted);
        dotted.map_or(Cow::Borrowed(tool.name), Cow::Owned)
    }

    /// Whether this tool set is offered over this catalog.
    pub(super) fn offers(&self, tool_set: ToolSet, snapshot: &Snapshot) -> bool {
        match tool_set {
            // Statistics are of all skills.
            ToolSet::Maintainer => self.history.is_some() && !snapshot.is_limited(),
            ToolSet::Tree | ToolSet::Skill | ToolSet::Flat => {
                self.tool_sets.offers(tool_set, snapshot, self.named)
            }
        }
    }

    /// Whether a skill may be listed, found and loaded by a model.
    pub(super) fn offers_skill(&self, skill: &Skill) -> bool {
        self.every_skill || skill.is_for_models()
    }

    /// How a skill that a search found is loaded.
    pub(super) fn loader(&self) -> Loader {
        let has = |tool_set| match &self.tool_sets {
            // A search is then offered beside `skill` only.
            ToolSets::Automatic => tool_set == ToolSet::Skill,
            ToolSets::Chosen(tool_sets) => tool_sets.contains(&tool_set),
        };
        match (has(ToolSet::Skill), has(ToolSet::Tree)) {
            (true, _) => Loader::Skill,
            (false, true) => Loader::GetSkill,
            (false, false) => Loader::File,
        }
    }

    /// Which sources the client loads itself, by their numbers.
    pub(super) fn native_sources(&self, snapshot: &Snapshot) -> Vec<bool> {
        let Some(client) = self.client.filter(|_| self.remote.is_none()) else {
            return Vec::new();
        };
        let is_native = |(number, source): (usize, &Source)| {
            let of_plugin = client.claude_plugins && matches!(source.origin, Origin::Plugin(_));
            of_plugin || self.native.contains(&real_path_or_same(&snapshot.source_path(number)))
        };
        snapshot.catalog.sources().iter().enumerate().map(is_native).collect()
    }
}
