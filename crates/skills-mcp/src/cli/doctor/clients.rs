//! [`ClientState`]: which clients of this machine have an entry for this server, and whether it serves what this command
//! serves.
//!
//! Not here: reading the clients' files (`connect`).

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};

use super::setup::short_path;
use crate::{
    cli::Context,
    config::{Environment, NamedSource},
    connect::{
        EntryScope, EntrySources, FoundEntry, InstalledClient, OffSwitch, installed_clients,
        project_root,
    },
    paths::{is_executable, is_file, is_folder, real_path_or_same},
    programs::SearchPath,
    source::Directory,
};

/// How a client is connected; what needs a person's attention comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Connection {
    /// Its entry starts a program that is not there.
    CommandGone,
    /// It has no entry for this server.
    Absent,
    /// Its entry names other sources.
    OtherSources,
    /// Its entry is switched off.
    SwitchedOff,
    /// It has no entry, and loads all of these skills by itself.
    Native,
    /// Its entry serves the same.
    Same,
}

/// A client that is on this machine.
pub(super) struct ClientState {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// Whether it loads everything that is served here by itself.
    is_native: bool,
    entries: Vec<EntryState>,
    /// Its files that could not be read, each with what is wrong.
    pub(super) unread: Vec<String>,
}

/// An entry of a client that starts this server.
struct EntryState {
    file: String,
    command: String,
    connection: Connection,
    is_of_project: bool,
    /// The directories and repositories that it names.
    sources: Vec<String>,
    /// Whether `connect` would leave its sources: it names some, and this command names none to put in their place.
    keeps_sources: bool,
    /// What switches it off, and the place of that.
    off: Option<(OffSwitch, String)>,
}

/// The clients of this machine, compared with what is served here.
pub(super) fn known(context: &Context, sources: &[Directory]) -> Vec<ClientState> {
    let environment = &context.environment;
    let project = project_root(environment);
    let served = served(context);
    let state = |found: InstalledClient| ClientState {
        id: found.client.id,
        name: found.client.name,
        is_native: found.client.loads_all(environment, sources),
        entries: counting(&found)
            .map(|entry| EntryState::of(entry, environment, &project, &served))
            .collect(),
        unread: found
            .unread
            .iter()
            .map(|unread| {
                let said = short_path(&unread.to_string(), environment.home.as_deref());
                format!("{}: {said}", found.client.name)
            })
            .collect(),
    };
    installed_clients(environment, &project).into_iter().map(state).collect()
}

/// What this command serves that a client's entry would have to name: directories by their real paths, repositories as they are
/// written. Nothing where files name the sources, which the server of an entry reads too, or where none are named.
fn served(context: &Context) -> BTreeSet<String> {
    let place = |source: &NamedSource| match source {
        NamedSource::Directory(directory) => real(&directory.path),
        NamedSource::Repository(repository) => repository.url.clone(),
    };
    match context.named() {
        Ok(named) if !named.in_files => named.sources.iter().map(place).collect(),
        Ok(_) | Err(_) => BTreeSet::new(),
    }
}

/// The entries that count: of those of one name, that of the project before that of the user.
fn counting(client: &InstalledClient) -> impl Iterator<Item = &FoundEntry> {
    let is_hidden = |entry: &&FoundEntry| {
        let is_later = |other: &FoundEntry| other.name == entry.name && other.scope > entry.scope;
        client.entries.iter().any(is_later)
    };
    client.entries.iter().filter(move |entry| !is_hidden(entry))
}

/// Finds what the connected clients serve, for a command to which nothing else names sources: those of the first entry, unless an
/// entry serves the default sources.
pub(super) fn entry_sources(environment: &Environment) -> Option<(&'static str, EntrySources)> {
    let project = project_root(environment);
    let clients = installed_clients(environment, &project);
    let entries =
        clients.iter().flat_map(|found| counting(found).map(|entry| (found.client.name, entry)));
    let mut connected = entries
        .filter(|(_, entry)| entry.is_enabled())
        .map(|(client, entry)| (client, entry.sources(environment.home.as_deref())));
    let (client, mut sources) = connected.next()?;
    let default = EntrySources::default();
    if sources == default || connected.any(|(_, other)| other == default) {
        return None;
    }
    sources.directories.iter_mut().for_each(|path| *path = project.join(&*path));
    sources.directories.iter().all(|path| is_folder(path)).then_some((client, sources))
}

fn real(path: &Path) -> String {
    real_path_or_same(path).to_string_lossy().into_owned()
}

impl EntryState {
    fn of(
        entry: &FoundEntry,
        environment: &Environment,
        project: &Path,
        served: &BTreeSet<String>,
    ) -> Self {
        let home = environment.home.as_deref();
        let EntrySources { directories, repositories } = entry.sources(home);
        let directories = directories.iter().map(|path| real(&project.join(path)));
        let sources: BTreeSet<String> = directories.chain(repositories).collect();
        let connection = if !entry.is_enabled() {
            Connection::SwitchedOff
        } else if !is_there(&entry.command, environment, project) {
            Connection::CommandGone
        } else if sources == *served {
            Connection::Same
        } else {
            Connection::OtherSources
        };
        let file = short_path(&entry.file.to_string_lossy(), home);
        let off = entry.switched_off.clone();
        Self {
            off: off.map(|off| (off.clone(), format!("{file}:{}", off.line))),
            keeps_sources: served.is_empty() && !sources.is_empty(),
            file,
            command: entry.command.clone(),
            connection,
            is_of_project: entry.scope == EntryScope::Project,
            sources: sources.iter().map(|source| short_path(source, home)).collect(),
        }
    }

    /// Whether it names its program, to be found on the `PATH`.
    fn is_by_name(&self) -> bool {
        !self.command.contains(['/', '\\'])
    }

    /// What switches it on again, where a person has to do it.
    fn way_on(&self) -> Option<String> {
        let (off, place) = self.off.as_ref()?;
        off.stays.then(|| format!("remove `{}` in {place}", off.written))
    }

    /// What it serves, in words.
    fn served(&self) -> String {
        match self.sources.as_slice() {
            [] => "the default sources".to_owned(),
            sources => sources.join(", "),
        }
    }
}

/// Whether a client finds the program of its entry.
fn is_there(command: &str, environment: &Environment, project: &Path) -> bool {
    if command.contains(['/', '\\']) {
        let path = project.join(command);
        return is_file(&path) && is_executable(&path);
    }
    SearchPath::new(&environment.search).unguarded().find(command).is_ok()
}

impl ClientState {
    /// The best of its entries.
    pub(super) fn connection(&self) -> Connection {
        let without = if self.is_native { Connection::Native } else { Connection::Absent };
        self.entries.iter().map(|entry| entry.connection).max().unwrap_or(without)
    }

    /// Whether it is as it should be.
    pub(super) fn is_good(&self) -> bool {
        self.connection() >= Connection::Native
    }

    fn best_entry(&self) -> Option<&EntryState> {
        self.entries.iter().max_by_key(|entry| entry.connection)
    }

    fn broken_entry(&self) -> Option<&EntryState> {
        self.entries.iter().find(|entry| entry.connection == Connection::CommandGone)
    }

    /// Whether an entry of the project's file starts a program that is not there.
    pub(super) fn is_broken_in_project(&self) -> bool {
        self.broken_entry().is_some_and(|entry| entry.is_of_project)
    }

    /// The name of a program that a broken entry wants on the `PATH`.
    pub(super) fn missing_program(&self) -> Option<&str> {
        let entry = self.broken_entry().filter(|entry| entry.is_by_name())?;
        Some(&entry.command)
    }

    /// Whether `connect` would leave the sources of its entry.
    pub(super) fn keeps_sources(&self) -> bool {
        self.best_entry().is_some_and(|entry| entry.keeps_sources)
    }

    /// How a person switches its entry on; none where `connect` does.
    pub(super) fn way_on(&self) -> Option<String> {
        self.best_entry().and_then(EntryState::way_on)
    }

    /// In words.
    pub(super) fn described(&self) -> String {
        let Some(entry) = self.best_entry() else {
            let native = "loads these skills by itself";
            return if self.is_native { native } else { "does not know this server" }.to_owned();
        };
        let file = &entry.file;
        match entry.connection {
            Connection::CommandGone if entry.is_by_name() => {
                format!("starts `{}`, which is not on your PATH ({file})", entry.command)
            }
            Connection::CommandGone => {
                format!("starts `{}`, which is not there ({file})", entry.command)
            }
            Connection::SwitchedOff => match entry.way_on() {
                Some(way) => format!("its entry is switched off: {way}"),
                None => format!("its entry is switched off ({file})"),
            },
            Connection::OtherSources => format!("connected, but to {} ({file})", entry.served()),
            Connection::Same | Connection::Native | Connection::Absent => {
                format!("connected, the same skills ({file})")
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let entry = |entry: &EntryState| {
            json!({
                "file": entry.file,
                "command": entry.command,
                "command_is_there": entry.connection != Connection::CommandGone,
                "enabled": entry.connection != Connection::SwitchedOff,
                "same_sources": entry.connection == Connection::Same,
                "sources": entry.sources,
            })
        };
        let is_connected = matches!(self.connection(), Connection::Same | Connection::OtherSources);
        json!({
            "id": self.id,
            "name": self.name,
            "connected": is_connected,
            "native": self.is_native,
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
            "unread": self.unread,
        })
    }
}
