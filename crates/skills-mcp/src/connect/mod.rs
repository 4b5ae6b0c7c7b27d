//! Other programs' configuration: which clients are on this machine, which of their entries start this server, and the
//! changes that connect and disconnect them.
//!
//! Editing what belongs to others is a danger of its own. So one file reads and writes (`file`), every change is parsed again
//! and compared with what was there (`server`), and only what differs is written (`draft`). Not here: what a client is
//! (`clients`), and what a person is asked and shown (`cli`).

mod args;
mod asked;
mod draft;
mod entries;
mod file;
mod hooks;
mod installed;
mod json;
mod place;
mod rules;
mod server;
mod toml;
mod tree;
mod wanted;
mod yaml;

pub use args::{SWITCHES, VALUE_FLAGS};
pub(crate) use asked::{ClientAnswer, ask_client, listing_command};
pub use draft::{ConnectError, ConnectOutcome, Drafts, FileDraft};
pub use entries::{EntrySources, FoundEntry, Launcher, OffSwitch, UnreadFile};
pub use hooks::{has_hook_file, plugin_hook};
pub use installed::{ClientEvidence, InstalledClient, installed_clients};
pub use place::{EntryScope, project_root};
pub use rules::{RULES_FILE, has_rules, may_need_rules, rule_readers, shared_rule};
pub use tree::{FileLanguage, TreeError};
pub use wanted::WantedEntry;
