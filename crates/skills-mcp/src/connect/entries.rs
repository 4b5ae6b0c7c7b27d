//! The entries of a client's files that start this server, whatever their names are.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    args::{DIRECTORY_FLAG, EntryArg, REPOSITORY_FLAG, name_sources},
    file::read,
    place::{EntryScope, language},
    tree::{ConfigTree, FileLanguage, TreeError, line_at, without_mark},
};
use crate::{
    clients::{EntryFormat, KnownClient},
    config::VARIABLES,
    paths::expand_home,
};

/// The npm package of this server, under its own scope or a team's.
pub(super) const NPM_PACKAGE: &str = "@skills-mcp/server";
/// The Python package of this server.
pub(super) const PYPI_PACKAGE: &str = "skills-mcp-server";

/// What helps with a file whose content is the problem.
const CORRECT_FILE: &str = "correct the file, or move it away";
/// Where Claude Code keeps what is about one project alone.
pub(super) const LOCAL_PROJECTS: &str = "projects";

/// An entry that starts this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntry {
    /// The file that it is in.
    pub file: PathBuf,
    /// Whose file that is.
    pub scope: EntryScope,
    /// What the entry calls the server.
    pub name: String,
    /// The program that the client starts.
    pub command: String,
    /// All of the program's arguments.
    pub args: Vec<String>,
    /// The variables that the entry sets; a secret has no value here.
    pub env: Vec<(String, String)>,
    /// What switches it off, where something does: the client does not start it then.
    pub switched_off: Option<OffSwitch>,
    /// Who has the program.
    pub launcher: Launcher,
}

/// The member that switches an entry off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffSwitch {
    /// As the file's language writes it.
    pub written: String,
    /// Its line.
    pub line: usize,
    /// Whether `connect` leaves it: some clients want the word `enabled` in every entry, and there it is set.
    pub stays: bool,
}

/// Who has the program that an entry starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// This machine: the command is the program.
    Installed,
    /// npm: `npx` fetches it.
    Npx,
    /// Python: `uvx` fetches it.
    Uvx,
}

/// The sources that an entry names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntrySources {
    /// Directories, as written but for `~`.
    pub directories: Vec<PathBuf>,
    /// Repositories, as written.
    pub repositories: Vec<String>,
}

/// A file of a client that cannot be read or understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadFile {
    /// The file.
    pub file: PathBuf,
    /// The line that is wrong, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What a person can do about it.
    pub hint: &'static str,
}

impl UnreadFile {
    pub(super) fn unparsed(file: &Path, error: TreeError) -> Self {
        let (line, message) = (Some(error.line), error.message);
        Self { file: file.to_path_buf(), line, message, hint: CORRECT_FILE }
    }

    pub(super) fn unread(file: &Path, error: &io::Error) -> Self {
        let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied;
        let hint = if is_forbidden { "fix its permissions" } else { CORRECT_FILE };
        Self { file: file.to_path_buf(), line: None, message: error.to_string(), hint }
    }
}

impl std::fmt::Display for UnreadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl FoundEntry {
    /// Whether the client starts it.
    pub fn is_enabled(&self) -> bool {
        self.switched_off.is_none()
    }

    /// The server's own arguments, without those of `npx` and `uvx`.
    pub fn own_args(&self) -> &[String] {
        self.args.get(self.launch_count()..).unwrap_or_default()
    }

    /// What `npx` and `uvx` need before them.
    pub(super) fn launch_args(&self) -> &[String] {
        self.args.get(..self.launch_count()).unwrap_or_default()
    }

    fn launch_count(&self) -> usize {
        match self.launcher {
            Launcher::Installed => 0,
            Launcher::Npx | Launcher::Uvx => {
                let package = self.args.iter().position(|arg| is_package(arg));
                let from = self.args.iter().any(|arg| arg == "--from");
                package.map_or(0, |at| at + 1 + usize::from(from))
            }
        }
    }

    /// The sources that the entry names, by the rules of the command line: flags, else `SKILLS_DIR`, else `SKILLS_REPO`.
    /// None means those that a server without any finds.
    pub fn sources(&self, home: Option<&Path>) -> EntrySources {
        let mut sources = EntrySources::default();
        for arg in EntryArg::all(self.own_args()) {
            match (arg.flag, arg.value) {
                (Some(DIRECTORY_FLAG), Some(path)) => {
                    sources.directories.push(expand_home(path, home));
                }
                (Some(REPOSITORY_FLAG), Some(url)) => sources.repositories.push(url.to_owned()),
                _ => {}
            }
        }
        match self.source_variable() {
            Some((DIRECTORY_FLAG, path)) => sources.directories.push(expand_home(path, home)),
            Some((_, url)) => sources.repositories.push(url.to_owned()),
            None => {}
        }
        sources
    }

    /// The variable that names the sources, as a flag; none where flags name them.
    fn source_variable(&self) -> Option<(&'static str, &str)> {
        if name_sources(self.own_args()) {
            return None;
        }
        let variable = |name: &str| {
            let set = self.env.iter().find(|(key, value)| key == name && !value.is_empty());
            set.map(|(_, value)| value.as_str())
        };
        let directory = variable("SKILLS_DIR").map(|path| (DIRECTORY_FLAG, path));
        directory.or_else(|| Some((REPOSITORY_FLAG, variable("SKILLS_REPO")?)))
    }

    /// The arguments of the same server for a command that gets no variables of the entry: a prompt hook.
    pub(super) fn hook_args(&self) -> Vec<String> {
        let own = EntryArg::all(self.own_args());
        let flags = own.iter().filter(|arg| arg.flag.is_some()).flat_map(|arg| arg.words).cloned();
        let variable =
            self.source_variable().map(|(flag, value)| [flag.to_owned(), value.to_owned()]);
        flags.chain(variable.into_iter().flatten()).collect()
    }
}

/// The entries in one file of a client that start this server.
pub(super) fn in_file(
    client: &KnownClient,
    scope: EntryScope,
    file: &Path,
    project: &Path,
) -> Result<Vec<FoundEntry>, UnreadFile> {
    let text = read(file).map_err(|error| UnreadFile::unread(file, &error))?;
    text.map_or(Ok(Vec::new()), |text| in_text(client, scope, file, project, &text))
}

/// The entries in the text of one file of a client that start this server.
pub(super) fn in_text(
    client: &KnownClient,
    scope: EntryScope,
    file: &Path,
    project: &Path,
    text: &str,
) -> Result<Vec<FoundEntry>, UnreadFile> {
    let Some(entry) = client.entry else { return Ok(Vec::new()) };
    let (text, _) = without_mark(text);
    let tree = ConfigTree::parse(text, language(entry.format))
        .map_err(|error| UnreadFile::unparsed(file, error))?;
    let mut found = in_tree(text, &tree, entry.format, scope, file);
    if scope == EntryScope::User && has_local_entries(client) {
        let local = tree.at(&[LOCAL_PROJECTS, &*project.to_string_lossy()]);
        let local = local.map(|tree| in_tree(text, tree, entry.format, EntryScope::Local, file));
        found.extend(local.unwrap_or_default());
    }
    Ok(found)
}

/// Whether a client keeps servers of one project in the user's file too.
pub(super) fn has_local_entries(client: &KnownClient) -> bool {
    client.id == "claude-code"
}

/// The entries of a tree that start this server.
pub(super) fn in_tree(
    text: &str,
    tree: &ConfigTree,
    format: EntryFormat,
    scope: EntryScope,
    file: &Path,
) -> Vec<FoundEntry> {
    let Some(servers) = tree.get(format.container()) else { return Vec::new() };
    let found = |name: &str, server: &ConfigTree| {
        let found = of_server(name, server, scope, file)?;
        Some(FoundEntry { switched_off: off_switch(text, server, format), ..found })
    };
    if let Some(members) = servers.members() {
        return members.iter().filter_map(|member| found(&member.key, &member.value)).collect();
    }
    let items = servers.items().unwrap_or_default();
    items.iter().filter_map(|item| found(item.get("name")?.text()?, item)).collect()
}

/// What an entry says, where it starts this server. Each client has its own words for the same things.
fn of_server(
    name: &str,
    server: &ConfigTree,
    scope: EntryScope,
    file: &Path,
) -> Option<FoundEntry> {
    let server =
        server.get("transport").filter(|inner| inner.members().is_some()).unwrap_or(server);
    let command = server.get("command").or_else(|| server.get("cmd"))?;
    let mut args = server.get("args").map(ConfigTree::texts).unwrap_or_default();
    let command = match (command.text(), command.get("path").and_then(ConfigTree::text)) {
        (Some(command), _) => command.to_owned(),
        (None, Some(path)) => {
            args = command.get("args").map(ConfigTree::texts).unwrap_or_default();
            path.to_owned()
        }
        (None, None) => {
            let mut words = command.texts().into_iter();
            let first = words.next()?;
            args.splice(0..0, words);
            first
        }
    };
    let launcher = launcher(&command, &args)?;
    let variables = ["env", "envs", "environment"].iter().find_map(|key| server.get(key));
    let env = variables.and_then(ConfigTree::members).unwrap_or_default();
    let env = env.iter().map(|member| (member.key.clone(), shown(&member.key, &member.value)));
    Some(FoundEntry {
        file: file.to_path_buf(),
        scope,
        name: name.to_owned(),
        env: env.collect(),
        switched_off: None,
        command,
        args,
        launcher,
    })
}

/// What switches an entry off.
fn off_switch(text: &str, server: &ConfigTree, format: EntryFormat) -> Option<OffSwitch> {
    let places = [Some(server), server.get("transport")];
    let off = |(key, word): (&str, &str)| {
        let members = places.iter().flatten().filter_map(|place| place.member(key));
        let member = members.into_iter().find(|member| member.value.is_bare(word))?;
        let written = match language(format) {
            FileLanguage::Json => format!("\"{key}\": {word}"),
            FileLanguage::Toml => format!("{key} = {word}"),
            FileLanguage::Yaml => format!("{key}: {word}"),
        };
        let is_set = matches!(format, EntryFormat::Mcp | EntryFormat::Extensions);
        let stays = key != "enabled" || !is_set;
        Some(OffSwitch { written, line: line_at(text, member.start), stays })
    };
    [("disabled", "true"), ("enabled", "false")].into_iter().find_map(off)
}

/// A variable's value; a secret's is not shown.
fn shown(name: &str, value: &ConfigTree) -> String {
    let is_secret = VARIABLES.iter().any(|variable| variable.secret && variable.name == name);
    match value.text() {
        Some(text) if !is_secret => text.to_owned(),
        _ => String::new(),
    }
}

/// Who has the program, where the command is this server.
pub(super) fn launcher(command: &str, args: &[String]) -> Option<Launcher> {
    let file = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let stem = [".exe", ".cmd", ".js"].iter().find_map(|end| file.strip_suffix(end));
    let has_package = || args.iter().any(|arg| is_package(arg));
    match stem.unwrap_or(file) {
        "skills-mcp" | "sk" => Some(Launcher::Installed),
        "npx" | "bunx" | "pnpx" if has_package() => Some(Launcher::Npx),
        "uvx" | "uv" | "pipx" if has_package() => Some(Launcher::Uvx),
        _ => None,
    }
}

/// Whether an argument names our package, with or without a version.
fn is_package(arg: &str) -> bool {
    let name = match arg.strip_prefix('@') {
        Some(scoped) => format!("@{}", scoped.split('@').next().unwrap_or(scoped)),
        None => arg.split(['@', '=', '[']).next().unwrap_or(arg).to_owned(),
    };
    // A team publishes it under a scope of its own.
    let is_scoped = name.starts_with('@') && name.ends_with("/skills-mcp");
    name == NPM_PACKAGE || name == PYPI_PACKAGE || is_scoped
}
