//! [`WantedEntry`]: the entry that starts this server as this command line would, for a client that starts it elsewhere.

use std::path::Path;

use crate::{
    clients::{Forwarding, ServerEntry},
    config::{Environment, VARIABLES, without_userinfo},
    connect::{
        args::{DIRECTORY_FLAG, name_sources},
        entries::{FoundEntry, NPM_PACKAGE, PYPI_PACKAGE, launcher},
    },
    paths::real_path,
    programs::SearchPath,
};

/// Variables that say where skills come from; of them one counts.
pub(super) const SOURCE_VARIABLES: [&str; 2] = ["SKILLS_DIR", "SKILLS_REPO"];
/// The variable that names the branch of such a source.
const BRANCH_VARIABLE: &str = "SKILLS_BRANCH";
/// The flag that names the folder in which npx looks for packages and settings.
const PREFIX_FLAG: &str = "--prefix";
/// A variable that is about this very process.
const LOG_VARIABLE: &str = "SKILLS_LOG";

/// What an entry is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedEntry {
    /// The program: absolute, or `npx`, or `uvx`.
    pub command: String,
    /// What `npx` and `uvx` need before the server's own arguments.
    pub launch_args: Vec<String>,
    /// The server's own arguments.
    pub own_args: Vec<String>,
    /// Variables with their values, none of them secret.
    pub env: Vec<(String, String)>,
    /// Secrets that the server needs, by name.
    pub secrets: Vec<&'static str>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

impl WantedEntry {
    /// The entry for a server with these arguments, of which all paths are absolute. `has_web_source` says whether one of all
    /// sources is fetched over https.
    pub fn new(
        program: &Path,
        environment: &Environment,
        own_args: Vec<String>,
        has_web_source: bool,
    ) -> Self {
        let (command, launch_args) = started_by(program, environment);
        let mut wanted = Self {
            command,
            launch_args,
            own_args,
            env: Vec::new(),
            secrets: Vec::new(),
            notes: Vec::new(),
        };
        let mut source = SOURCE_VARIABLES.iter().filter(|name| environment.get(name).is_some());
        let source = source.next().filter(|_| !name_sources(&wanted.own_args));
        for variable in VARIABLES.iter().filter(|variable| !variable.secret) {
            let is_source = SOURCE_VARIABLES.contains(&variable.name);
            if variable.name == LOG_VARIABLE || (is_source && source != Some(&variable.name)) {
                continue;
            }
            let Some(value) = environment.get(variable.name) else { continue };
            if without_userinfo(value) != value {
                let name = variable.name;
                wanted.notes.push(format!("{name} holds a password and was left out"));
                continue;
            }
            let value = match variable.name {
                "SKILLS_DIR" => absolute(value, environment),
                _ => value.to_owned(),
            };
            wanted.env.push((variable.name.to_owned(), value));
        }
        let is_set = |name: &str| environment.variables.contains_key(name);
        if has_web_source && is_set("GITHUB_TOKEN") {
            wanted.secrets.push("GITHUB_TOKEN");
        }
        if is_set("ANALYTICS_ENDPOINT") && is_set("ANALYTICS_TOKEN") {
            wanted.secrets.push("ANALYTICS_TOKEN");
        }
        wanted
    }

    /// The entry for a project's file, which others read on their machines: the program by its name, folders of the project by their
    /// places in it.
    #[must_use]
    pub fn shared_in(&self, project: &Path, environment: &Environment) -> Self {
        let mut shared = self.clone();
        if let Some(at) = shared.launch_args.iter().position(|arg| arg == PREFIX_FLAG) {
            shared.launch_args.drain(at..at + 2);
        }
        let program = Path::new(&self.command);
        if let Some(name) = program.file_stem().filter(|_| program.is_absolute()) {
            shared.command = name.to_string_lossy().into_owned();
        }
        let search = SearchPath::new(&environment.search);
        if search.unguarded().find(&shared.command).is_err() {
            let name = &shared.command;
            shared.notes.push(format!(
                "`{name}` is not on your PATH, where whoever opens the project needs it"
            ));
        }
        let follows_flag = |at: usize| {
            at > 0 && self.own_args.get(at - 1).is_some_and(|flag| flag == DIRECTORY_FLAG)
        };
        let args = shared.own_args.iter_mut().enumerate();
        let folders = args.filter_map(|(at, arg)| follows_flag(at).then_some(arg));
        let variables = shared.env.iter_mut().filter(|(name, _)| name == "SKILLS_DIR");
        for folder in folders.chain(variables.map(|(_, value)| value)) {
            match Path::new(&*folder).strip_prefix(project) {
                Ok(inside) => *folder = Path::new(".").join(inside).to_string_lossy().into_owned(),
                Err(_) => shared.notes.push(format!(
                    "{folder} is a folder of this machine; for others name a folder of the project, or a repository"
                )),
            }
        }
        shared
    }

    /// The entry with the program of another one, which others wrote for a project: they have that program on their machines.
    #[must_use]
    pub fn started_as(&self, entry: &FoundEntry) -> Self {
        if entry.command.contains(['/', '\\']) {
            return self.clone();
        }
        let launch_args = entry.launch_args().to_vec();
        Self { command: entry.command.clone(), launch_args, ..self.clone() }
    }

    /// Whether a variable names where skills come from.
    pub(super) fn has_source_variable(&self) -> bool {
        self.env.iter().any(|(name, _)| SOURCE_VARIABLES.contains(&&**name))
    }

    /// Whether an entry loses this variable: a source that is named stands for all that the entry says of sources.
    pub(super) fn replaces_variable(&self, name: &str) -> bool {
        let is_about_sources = SOURCE_VARIABLES.contains(&name) || name == BRANCH_VARIABLE;
        is_about_sources && (self.has_source_variable() || name_sources(&self.own_args))
    }

    /// Whether the entry would be found again.
    pub fn is_recognised(&self) -> bool {
        launcher(&self.command, &self.launch_args).is_some()
    }

    /// All arguments.
    pub fn args(&self) -> Vec<String> {
        self.launch_args.iter().chain(&self.own_args).cloned().collect()
    }

    /// How this client gets the secrets: variables that refer to them, the names that it lists, and what it cannot get.
    pub(super) fn forwarded(&self, entry: &ServerEntry) -> ForwardedSecrets {
        let mut forwarded = ForwardedSecrets::default();
        for name in &self.secrets {
            match entry.forwarding.value {
                Forwarding::All => {}
                Forwarding::AllBut(held) if held != *name => {}
                Forwarding::Listed(key) => {
                    forwarded.list = Some(key);
                    forwarded.listed.push((*name).to_owned());
                }
                Forwarding::Reference(pattern) => {
                    forwarded.references.push(((*name).to_owned(), pattern.replace("NAME", name)));
                }
                Forwarding::AllBut(_) | Forwarding::Never => forwarded.missing.push(name),
            }
        }
        forwarded
    }
}

/// How a client gets secrets without their values being written.
#[derive(Debug, Default)]
pub(super) struct ForwardedSecrets {
    /// Variables of the entry whose values name them.
    pub(super) references: Vec<(String, String)>,
    /// The key of the list with their names.
    pub(super) list: Option<&'static str>,
    pub(super) listed: Vec<String>,
    /// Those that the client has no way to pass on.
    pub(super) missing: Vec<&'static str>,
}

/// A path of a variable as the server would find it from anywhere.
fn absolute(path: &str, environment: &Environment) -> String {
    let path = crate::paths::expand_home(path, environment.home.as_deref());
    environment.directory.join(path).to_string_lossy().into_owned()
}

/// The command that starts this program at any time. A copy in the cache of `npx` or `uvx` may be gone tomorrow.
fn started_by(program: &Path, environment: &Environment) -> (String, Vec<String>) {
    let text = program.to_string_lossy().replace('\\', "/");
    if text.contains("/_npx/") {
        let package = npm_package(&text).unwrap_or_else(|| NPM_PACKAGE.to_owned());
        let mut args = vec!["-y".to_owned()];
        // Without it npx takes the package, and npm's settings, of the folder where the client was started.
        if let Some(home) = &environment.home {
            args.extend([PREFIX_FLAG.to_owned(), home.to_string_lossy().into_owned()]);
        }
        args.push(package);
        return ("npx".to_owned(), args);
    }
    if text.contains("/uv/archive-v") || text.contains("/uv/environments-v") {
        return ("uvx".to_owned(), vec![PYPI_PACKAGE.to_owned()]);
    }
    // A name on the PATH may be a link to the version of today.
    let search = SearchPath::new(&environment.search);
    let name = program.file_stem().map(|name| name.to_string_lossy().into_owned());
    let found = name.and_then(|name| search.unguarded().find(&name).ok()).map(|found| found.path);
    let found = found.filter(|found| real_path(found) == real_path(program));
    (found.as_deref().unwrap_or(program).to_string_lossy().into_owned(), Vec::new())
}

/// `…/node_modules/@scope/server-linux-x64/skills-mcp` → `@scope/server`.
fn npm_package(path: &str) -> Option<String> {
    let (_, inside) = path.rsplit_once("/node_modules/")?;
    let mut parts = inside.split('/');
    let (scope, name) = (parts.next()?, parts.next()?);
    let systems = ["-linux-", "-darwin-", "-win32-"];
    let end = systems.iter().find_map(|system| name.find(system))?;
    Some(format!("{scope}/{}", name.get(..end)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::Launcher;

    fn environment(variables: &[(&'static str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Environment {
            variables: variables.collect(),
            home: Some("/home/ada".into()),
            directory: "/start".into(),
            ..Environment::default()
        }
    }

    fn wanted(program: &str, variables: &[(&'static str, &str)], args: &[&str]) -> WantedEntry {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        WantedEntry::new(Path::new(program), &environment(variables), args, true)
    }

    #[test]
    fn a_copy_in_a_cache_is_started_by_who_fetched_it() {
        let npx = wanted(
            "/home/ada/.npm/_npx/1f/node_modules/@team/skills-mcp-linux-x64-musl/skills-mcp",
            &[],
            &["--dir", "/x"],
        );
        assert_eq!(npx.command, "npx");
        let prefix = ["-y", "--prefix", "/home/ada"];
        assert_eq!(npx.args(), [&prefix[..], &["@team/skills-mcp", "--dir", "/x"]].concat());
        assert_eq!(launcher(&npx.command, &npx.args()), Some(Launcher::Npx));
        let shared = npx.shared_in(Path::new("/x"), &environment(&[]));
        assert_eq!(shared.args(), ["-y", "@team/skills-mcp", "--dir", "./"]);
        let uvx = wanted("/home/ada/.cache/uv/archive-v0/x/bin/skills-mcp", &[], &[]);
        assert_eq!((&*uvx.command, uvx.args().concat().as_str()), ("uvx", PYPI_PACKAGE));
        let own = wanted("/opt/skills-mcp", &[], &[]);
        assert_eq!((&*own.command, own.args().len()), ("/opt/skills-mcp", 0));
    }

    #[test]
    fn variables_are_repeated_and_secrets_are_not() {
        let set = [
            ("SKILLS_DIR", "~/s"),
            ("SKILLS_REPO", "https://example.org/x.git"),
            ("SKILLS_LOG", "debug"),
            ("SKILLS_TOOLS", "all"),
            ("ANALYTICS_ENDPOINT", "https://me:secret@example.org"),
            ("GITHUB_TOKEN", ""),
        ];
        let entry = wanted("/opt/skills-mcp", &set, &[]);
        let env: Vec<(&str, &str)> = entry.env.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(env, [("SKILLS_DIR", "/home/ada/s"), ("SKILLS_TOOLS", "all")]);
        assert_eq!(entry.secrets, ["GITHUB_TOKEN"]);
        assert!(entry.notes.concat().contains("ANALYTICS_ENDPOINT"));
        let named = wanted("/opt/skills-mcp", &set, &["--dir", "/y"]);
        assert_eq!(named.env.first().unwrap().0, "SKILLS_TOOLS", "flags win over variables");
    }
}
