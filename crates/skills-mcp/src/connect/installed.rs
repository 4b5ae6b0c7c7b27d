//! The clients that are on this machine, why we think so, and which of their entries start this server.

use std::path::{Path, PathBuf};

use super::{
    entries::{FoundEntry, UnreadFile, in_file},
    place::{files, resolved},
};
use crate::{
    clients::{CLIENTS, KnownClient},
    config::Environment,
    paths::{exists, is_folder},
    programs::SearchPath,
};

/// A client of the table that is on this machine, or that was asked for.
#[derive(Debug)]
pub struct InstalledClient {
    /// The row of the table.
    pub client: &'static KnownClient,
    /// Why we think that it is on this machine; empty where nothing says so.
    pub evidence: Vec<ClientEvidence>,
    /// Its entries that start this server, of the user and of the project.
    pub entries: Vec<FoundEntry>,
    /// Its files that were not understood.
    pub unread: Vec<UnreadFile>,
}

/// What shows that a client is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvidence {
    /// Its program, on the `PATH`.
    Program(PathBuf),
    /// A folder or file of its own.
    Place(PathBuf),
}

impl ClientEvidence {
    /// The program or the place.
    pub fn path(&self) -> &Path {
        match self {
            Self::Program(path) | Self::Place(path) => path,
        }
    }
}

impl InstalledClient {
    /// A client, whether or not it is on this machine; `project` is the folder of the project's files.
    pub fn look(client: &'static KnownClient, environment: &Environment, project: &Path) -> Self {
        let mut looked = Self {
            client,
            evidence: evidence(client, environment),
            entries: Vec::new(),
            unread: Vec::new(),
        };
        let Some(entry) = &client.entry else { return looked };
        for (scope, file) in files(entry, environment, project) {
            match in_file(client, scope, &file, project) {
                Ok(found) => looked.entries.extend(found),
                Err(unread) => looked.unread.push(unread),
            }
        }
        looked
    }

    /// Whether the client starts this server.
    pub fn is_connected(&self) -> bool {
        self.entries.iter().any(FoundEntry::is_enabled)
    }
}

/// Every client that is on this machine and has a file for servers, in the order of the table.
pub fn installed_clients(environment: &Environment, project: &Path) -> Vec<InstalledClient> {
    let connectable = CLIENTS.iter().filter(|client| client.entry.is_some());
    connectable
        .map(|client| InstalledClient::look(client, environment, project))
        .filter(|looked| !looked.evidence.is_empty())
        .collect()
}

fn evidence(client: &KnownClient, environment: &Environment) -> Vec<ClientEvidence> {
    let search = SearchPath::new(&environment.search);
    let search = search.unguarded();
    let programs = client.signs.programs.iter().filter_map(|name| search.find(name).ok());
    let mut evidence: Vec<ClientEvidence> =
        programs.map(|program| ClientEvidence::Program(program.path)).collect();
    let places = client.signs.places.iter().filter_map(|place| resolved(place, environment));
    let home = environment.home.as_deref();
    let own = client.entry.iter().flat_map(|entry| entry.user);
    let own = own.filter_map(|file| resolved(file.here(), environment)).filter_map(|file| {
        let folder = file.parent().filter(|folder| Some(*folder) != home && is_folder(folder));
        folder.map(Path::to_path_buf).or_else(|| exists(&file).then_some(file))
    });
    for place in places.filter(|place| exists(place)).chain(own) {
        let place = ClientEvidence::Place(place);
        if !evidence.contains(&place) {
            evidence.push(place);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;
    use crate::connect::{EntryScope, EntrySources, Launcher};

    fn environment(home: &Home) -> Environment {
        Environment {
            home: Some(home.path().to_path_buf()),
            config_home: Some(home.path().join(".config")),
            directory: home.path().join("project"),
            search: vec![home.path().join("bin")],
            ..Environment::default()
        }
    }

    /// A file of each format, with an entry of ours under another name, one of another server, and comments.
    const FILES: &[(&str, &str, &str)] = &[
        (
            "codex",
            ".codex/config.toml",
            "# mine\n[mcp_servers.team]\ncommand = \"/opt/skills-mcp\"\nargs = [\"--dir\", \"~/s\"]\n\n[mcp_servers.other]\ncommand = \"x\"\n",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            "// mine\n{\"context_servers\": {\"team\": {\"command\": {\"path\": \"/opt/skills-mcp\", \"args\": [\"--dir=~/s\"]}}, \"o\": {\"command\": \"x\"},}}",
        ),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "{\"mcp\": {\"team\": {\"type\": \"local\", \"command\": [\"skills-mcp\", \"--dir\", \"~/s\"]}}}",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "GOOSE_MODEL: x\nextensions:\n  team:\n    cmd: skills-mcp\n    args: []\n    envs:\n      SKILLS_DIR: ~/s\n      GITHUB_TOKEN: hidden\n  other:\n    cmd: npx\n    args: [-y, other]\n",
        ),
        (
            "continue",
            ".continue/config.yaml",
            "name: x\nmcpServers:\n  - name: team\n    command: uvx\n    args: [skills-mcp-server@1.0, --dir, ~/s]\n  - name: o\n    command: o\n",
        ),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "{\"mcpServers\": {\"team\": {\"transport\": {\"command\": \"npx\", \"args\": [\"-y\", \"@skills-mcp/server@1\", \"--dir\", \"~/s\"]}}}}",
        ),
    ];

    #[test]
    fn a_client_and_its_entry_are_found_in_every_format() {
        let home = Home::new();
        for (_, file, text) in FILES {
            home.write(file, text);
        }
        let environment = environment(&home);
        let found = installed_clients(&environment, &environment.directory);
        let mut ids: Vec<&str> = found.iter().map(|one| one.client.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["cline", "codex", "continue", "goose", "opencode", "zed"]);
        for (id, file, _) in FILES {
            let one = found.iter().find(|one| one.client.id == *id).unwrap();
            assert_eq!((one.unread.len(), one.entries.len()), (0, 1), "{one:?}");
            let entry = one.entries.first().unwrap();
            assert_eq!((&*entry.name, entry.scope), ("team", EntryScope::User));
            assert_eq!(entry.file, home.path().join(file));
            let sources = entry.sources(environment.home.as_deref());
            let directories = vec![home.path().join("s")];
            assert_eq!(sources, EntrySources { directories, ..EntrySources::default() }, "{id}");
            assert!(!format!("{entry:?}").contains("hidden"));
        }
        let launcher = |id: &str| {
            found.iter().find(|one| one.client.id == id).unwrap().entries.first().unwrap().launcher
        };
        assert_eq!(launcher("codex"), Launcher::Installed);
        assert_eq!(launcher("continue"), Launcher::Uvx);
        assert_eq!(launcher("cline"), Launcher::Npx);
    }

    #[test]
    fn entries_of_the_project_and_of_one_project_are_found_and_broken_files_are_named() {
        let home = Home::new();
        let environment = environment(&home);
        let project = environment.directory.to_string_lossy().into_owned();
        let ours =
            serde_json::json!({"s": {"command": "C:\\bin\\skills-mcp.exe", "disabled": true}});
        let user = serde_json::json!({"projects": {project: {"mcpServers": ours}}});
        home.write(".claude.json", format!("\u{feff}{user}"));
        home.write("project/.mcp.json", serde_json::json!({"mcpServers": ours}).to_string());
        home.write(".cursor/mcp.json", "{\n  'mcpServers': {}\n}");
        let found = installed_clients(&environment, &environment.directory);
        let claude = found.iter().find(|one| one.client.id == "claude-code").unwrap();
        let scopes: Vec<EntryScope> = claude.entries.iter().map(|entry| entry.scope).collect();
        assert_eq!(scopes, [EntryScope::Local, EntryScope::Project]);
        assert!(!claude.is_connected(), "both are switched off");
        let cursor = found.iter().find(|one| one.client.id == "cursor").unwrap();
        let unread = cursor.unread.first().unwrap().to_string();
        assert!(unread.contains(".cursor/mcp.json:2: "), "{unread}");
    }
}
