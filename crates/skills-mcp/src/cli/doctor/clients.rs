//! [`ClientState`]: which clients of this machine have an entry for this server, and whether it serves what this command
//! serves.
//!
//! Not here: reading the clients' files.

use serde_json::{Value, json};

use crate::cli::Context;

/// How a client is connected; what needs a person's attention comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Connection {
    /// Its entry starts a program that is not there.
    CommandGone,
    /// It has no entry for this server.
    None,
    /// Its entry names other sources.
    OtherSources,
    /// Its entry serves the same.
    Same,
}

/// A client that is on this machine.
pub(super) struct ClientState {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    entries: Vec<EntryState>,
}

/// An entry of a client that starts this server.
struct EntryState {
    file: String,
    command: String,
    connection: Connection,
    /// What it serves, in words.
    sources: String,
}

pub(super) fn known(_context: &Context) -> Vec<ClientState> {
    Vec::new()
}

impl ClientState {
    /// The best of its entries.
    pub(super) fn connection(&self) -> Connection {
        self.entries.iter().map(|entry| entry.connection).max().unwrap_or(Connection::None)
    }

    /// In words.
    pub(super) fn described(&self) -> String {
        let Some(entry) = self.entries.iter().max_by_key(|entry| entry.connection) else {
            return "does not know this server".to_owned();
        };
        let file = &entry.file;
        match entry.connection {
            Connection::CommandGone => {
                format!("starts `{}`, which is not there ({file})", entry.command)
            }
            Connection::OtherSources => format!("connected, serves {} ({file})", entry.sources),
            Connection::Same | Connection::None => format!("connected, the same skills ({file})"),
        }
    }

    pub(super) fn json(&self) -> Value {
        let entry = |entry: &EntryState| {
            json!({
                "file": entry.file,
                "command": entry.command,
                "command_is_there": entry.connection != Connection::CommandGone,
                "same_sources": entry.connection == Connection::Same,
                "sources": entry.sources,
            })
        };
        json!({
            "id": self.id,
            "name": self.name,
            "connected": !matches!(self.connection(), Connection::None | Connection::CommandGone),
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}
