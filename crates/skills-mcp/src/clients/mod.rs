//! What is known of each client: the skill directories that it loads itself, and what it does with a server's texts.
//!
//! Adding a client is adding a row to the table. Not here: reading directories (source), and how a server presents itself to a
//! client (surface).

mod entry;
mod files;
mod table;

pub use entry::{
    EntryFormat, EntryShape, FOLDER_VARIABLES, FolderVariable, Forwarding, SERVER_NAME,
    ServerEntry, UserFile, shown_place,
};
pub use table::CLIENTS;

/// A program that speaks MCP, loads skills from directories itself, or both.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// Its id for `--client` and `--native`.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// What it calls itself in `clientInfo.name`, in lower case; `*` at the end stands for anything.
    pub reported: &'static [&'static str],
    /// Its skill directories below the project, `/`-separated.
    pub project: &'static [&'static str],
    /// Its skill directories below the home folder.
    pub user: &'static [&'static str],
    /// Whether it loads Claude Code's plugins.
    pub claude_plugins: bool,
    /// Where its configuration names MCP servers; none where that is not known, or is set in its windows only.
    pub entry: Option<ServerEntry>,
    /// What shows that it is on this machine, beside its own files.
    pub signs: ClientSigns,
    /// What it does with a server's texts; none where that is not known.
    pub handling: Option<Handling>,
    /// How a program that it runs when its user submits a prompt answers; none where it runs none.
    pub hook: Option<HookFormat>,
    /// How much of a skill's description it takes where it loads the skill itself; none where that is not known.
    pub own_listing: Option<Fact<OwnListing>>,
}

/// What shows that a client is on this machine, beside the folder of its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSigns {
    /// Names of its program on the `PATH`.
    pub programs: &'static [&'static str],
    /// Folders and files, written as in [`UserFile`].
    pub places: &'static [&'static str],
    /// The program's arguments that list the servers it knows; none where it cannot be asked.
    pub lists: &'static [&'static str],
}

/// How much of a skill's description a client takes where it loads the skill itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnListing {
    /// So many characters; it cuts the rest.
    Cut(usize),
    /// So many characters; it does not load a skill with more.
    Refused(usize),
}

/// How a prompt hook's answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFormat {
    /// As the specific output of a hook of this event.
    Event(&'static str),
    /// As additional context, and nothing else.
    Context,
}

/// What a client does with what a server sends, before its model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handling {
    /// What the model's first request has of a tool.
    pub first_request: Fact<ToolSight>,
    /// How many characters of the server's instructions reach the model; 0 where none do.
    pub instructions: Fact<usize>,
    /// How many characters of a tool's description reach the model.
    pub description: Fact<usize>,
    /// An answer of so many characters still reaches the model whole.
    pub answer: Fact<usize>,
    /// Whether the model sees a description that changed.
    pub rereads_tools: Fact<bool>,
    /// What becomes of structured content.
    pub structured: Fact<StructuredUse>,
    /// Whether it has a tool called `skill` of its own.
    pub own_skill_tool: Fact<bool>,
    /// Whether it follows Anthropic's hints in `_meta` of a tool.
    pub anthropic_meta: Fact<bool>,
}

/// What a model's first request has of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSight {
    /// All of it.
    Whole,
    /// Its name, at most with the first line of its description; the rest after the model has searched for tools.
    Name,
    /// Nothing.
    Nothing,
}

/// What becomes of structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredUse {
    /// The model sees it in the place of the text.
    Replaces,
    /// The model sees both.
    Beside,
    /// The model sees the text only.
    Dropped,
}

/// A value, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// How it is known.
    pub source: FactSource,
}

/// How a value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// `scripts/clients` saw it in the client.
    Measured,
    /// The client's documentation or source says so.
    Documented,
    /// A careful guess: the smallest value that any measured client has.
    Assumed,
}

impl KnownClient {
    /// The client of this id, in any case.
    pub fn of_id(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id.eq_ignore_ascii_case(id))
    }

    /// The client that calls itself so.
    pub fn of_name(reported: &str) -> Option<&'static Self> {
        let is = |name: &&str| match name.strip_suffix('*') {
            Some(start) => {
                reported.get(..start.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(start))
            }
            None => name.eq_ignore_ascii_case(reported),
        };
        CLIENTS.iter().find(|client| client.reported.iter().any(is))
    }

    /// Every id, in the order of the table.
    pub fn ids() -> impl Iterator<Item = &'static str> {
        CLIENTS.iter().map(|client| client.id)
    }

    /// The ids of those whose handling of texts is known.
    pub fn handled_ids() -> impl Iterator<Item = &'static str> {
        CLIENTS.iter().filter(|client| client.handling.is_some()).map(|client| client.id)
    }

    /// The ids of those that run a program when their user submits a prompt.
    pub fn with_hook_ids() -> impl Iterator<Item = &'static str> {
        CLIENTS.iter().filter(|client| client.hook.is_some()).map(|client| client.id)
    }

    /// The nearest id to one that does not exist: a typing mistake, or a longer or shorter form as in `claude`.
    pub fn near(id: &str) -> Option<&'static str> {
        let id = id.to_ascii_lowercase();
        let distance = |other: &&str| strsim::osa_distance(&id, other);
        // Two letters begin too many words.
        let begins = |other: &&str| {
            id.len().min(other.len()) > 2 && (id.starts_with(*other) || other.starts_with(&id))
        };
        let is_slip = |other: &&str| distance(other) <= 2 && distance(other) * 2 < other.len();
        let slip = Self::ids().min_by_key(distance).filter(is_slip);
        slip.or_else(|| Self::ids().find(begins))
    }
}

impl FactSource {
    /// Its mark in tables.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Assumed => "assumed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_reported_names_are_unique_and_in_lower_case() {
        let mut ids: Vec<&str> = KnownClient::ids().collect();
        let mut names: Vec<&str> =
            CLIENTS.iter().flat_map(|client| client.reported).copied().collect();
        for all in [&mut ids, &mut names] {
            assert!(all.iter().all(|one| **one == one.to_lowercase()), "{all:?}");
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn a_client_is_recognised_by_what_it_calls_itself() {
        assert_eq!(
            KnownClient::of_name("claude-code").map(|client| client.id),
            Some("claude-code")
        );
        assert_eq!(KnownClient::of_name("Visual Studio Code").map(|c| c.id), Some("vscode"));
        assert_eq!(KnownClient::of_name("qwen-cli-mcp-client-skills").map(|c| c.id), Some("qwen"));
        assert_eq!(KnownClient::of_name("claude"), None);
        assert_eq!(KnownClient::near("cursr"), Some("cursor"));
        assert_eq!(KnownClient::near("claude"), Some("claude-code"));
    }
}
