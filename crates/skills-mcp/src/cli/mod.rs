//! The command line: one command, one file. Settings are read here, rooms are joined here.
//!
//! Standard output is data, standard error is talk. Exit codes: 0 done, 1 findings, 2 usage or configuration,
//! 3 environment, 70 our bug.

mod collect;
mod config;
mod dashboard;
mod demo;
mod doctor;
mod example;
mod failure;
mod finding;
mod list;
mod lock_file;
mod log;
mod mcp_server;
mod memory;
mod output;
mod run;
mod serve;
mod show;
mod signals;
mod stats;
mod status;
mod sync;
mod trust;
mod try_out;
mod why;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use failure::Failure;
use output::Output;

use crate::{
    config::{Environment, Named, Origin, Stack, sources},
    event::Sink,
    programs::{SearchPath, WritableFolders},
    removal,
    script::{self, Caller, Runs},
    source::{
        Client, Directory, LinkPolicy, PluginRecords, client, default_directories,
        git::{Installed, Repository},
        installed,
    },
    store::{Cause, Snapshot, Store},
    surface::{Budget, Call, Doors, Face, History, ListingStyle, Refusal, Session, TOOLS},
};

/// Serves skills to AI coding agents over MCP
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = AFTER_HELP)]
struct Arguments {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "Without a command, skills-mcp serves MCP on standard input and output, so \
    {\"command\": \"skills-mcp\"} is a whole client entry.\nTry: skills-mcp demo";

#[derive(Args, Clone, Debug)]
struct Shared {
    /// Serve this skills directory; may be given several times [env: `SKILLS_DIR`]
    #[arg(long = "dir", value_name = "PATH", global = true)]
    directories: Vec<PathBuf>,
    /// Serve this git repository; may be given several times [env: `SKILLS_REPO`]
    #[arg(long = "repo", value_name = "URL[#BRANCH|@COMMIT]", global = true)]
    repositories: Vec<String>,
    /// Set a configuration key, such as `matching.min_score=0.3`
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    settings: Vec<String>,
    /// Tool sets to offer: tree, skill, flat (comma-separated) or all [env: `SKILLS_TOOLS`]
    #[arg(long = "tools", value_name = "SETS", global = true)]
    tools: Option<String>,
    /// How the `skill` tool lists the skills
    #[arg(
        long = "listing",
        value_enum,
        value_name = "STYLE",
        default_value = "xml",
        global = true
    )]
    listing: ListingStyle,
    /// How many tokens the tool list may cost: a number, 0 for no list of skills, or `unlimited`
    #[arg(long = "listing-budget", value_name = "TOKENS", default_value = "2000", global = true)]
    listing_budget: String,
    /// Leave out the directories that this client loads by itself: claude-code, codex, cursor, …
    /// (an unknown name prints all of them)
    #[arg(long = "native", value_name = "CLIENT", global = true)]
    native: Option<String>,
    /// Do not serve the agents' directories and plugins
    #[arg(long = "no-default-dirs", global = true)]
    no_default_dirs: bool,
    /// Log to standard error at this level: error, warn, info, debug or trace [env: `SKILLS_LOG`]
    #[arg(long = "log", value_name = "LEVEL", global = true)]
    log: Option<String>,
}

impl Shared {
    /// The same flags, for a server of our own to be started with.
    fn repeated(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: &str| flags.extend([name.to_owned(), value.to_owned()]);
        self.directories.iter().for_each(|path| flag("--dir", &path.to_string_lossy()));
        self.repositories.iter().for_each(|url| flag("--repo", url));
        self.settings.iter().for_each(|setting| flag("--set", setting));
        self.tools.iter().for_each(|tools| flag("--tools", tools));
        self.native.iter().for_each(|client| flag("--native", client));
        flag("--listing-budget", &self.listing_budget);
        flag("--listing", if self.listing == ListingStyle::List { "list" } else { "xml" });
        if self.no_default_dirs {
            flags.push("--no-default-dirs".to_owned());
        }
        flags
    }
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on standard input and output (the default)
    Serve,
    /// Draw the tree of skills
    List(list::Options),
    /// Show what an agent receives with a skill
    Show(show::Options),
    /// Search as an agent would, and show what decided
    Try(try_out::Options),
    /// Run a script of a skill as `run_script` would
    Run(run::Options),
    /// Show which copy of a skill is served, and which others it hides
    Why(why::Options),
    /// Show every setting and where it comes from
    Config(config::Options),
    /// Check sources, content, settings and the protocol
    Doctor(doctor::Options),
    /// Show the settings that each source asks for, and agree to them
    Trust(trust::Options),
    /// Fetch the repositories now
    Sync(sync::Options),
    /// Show each repository's commit and what changed
    Status(status::Options),
    /// Report which skills were used, which helped and which searches found nothing
    Stats(stats::Options),
    /// Show what an agent sees, on the built-in example
    Demo(demo::Options),
    /// Serve the report of `stats` as a web page
    Dashboard(dashboard::Options),
    /// Receive events from many servers over HTTP, and report on them
    Collect(collect::Options),
    /// Serve a project's bundles through skills.list and skills.search
    McpServer(mcp_server::Options),
}

/// Runs the program of this name with the process's own arguments.
pub fn run(program: &'static str) -> ExitCode {
    // Before anything else: a stage of a run has no settings and no time to lose.
    let first = std::env::args_os().nth(1);
    if let Some(code) = script::stage(first.as_deref()).or_else(|| removal::stage(first.as_deref()))
    {
        return code;
    }
    signals::outlive_file_size_limit();
    let command = Arguments::command().name(program).bin_name(program);
    let arguments =
        match command.try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches)) {
            Ok(arguments) => arguments,
            Err(error) => {
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
        };
    let context = Context { environment: Environment::read(), shared: arguments.shared };
    match context.run(arguments.command.unwrap_or(Command::Serve)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// What every command starts from.
struct Context {
    environment: Environment,
    shared: Shared,
}

impl Context {
    fn run(&self, command: Command) -> Result<ExitCode, Failure> {
        let level = self.shared.log.as_deref().or_else(|| self.environment.get("SKILLS_LOG"));
        let serving = matches!(
            command,
            Command::Serve | Command::McpServer(_) | Command::Collect(_) | Command::Dashboard(_)
        );
        log::start(level, if serving { log::SERVING } else { log::OTHERWISE })?;
        if matches!(command, Command::Serve | Command::McpServer(_)) {
            // Before anything is logged: it starts everything anew, and what was said would be said twice.
            memory::tune();
        }
        match command {
            Command::Serve => serve::run(self),
            Command::List(options) => list::run(self, &options),
            Command::Show(options) => show::run(self, &options),
            Command::Try(options) => try_out::run(self, &options),
            Command::Run(options) => run::run(self, &options),
            Command::Why(options) => why::run(self, &options),
            Command::McpServer(options) => mcp_server::run(self, &options),
            Command::Config(options) => config::run(self, &options),
            Command::Doctor(options) => doctor::run(self, &options),
            Command::Trust(options) => trust::run(self, &options),
            Command::Sync(options) => sync::run(self, &options),
            Command::Status(options) => status::run(self, &options),
            Command::Stats(options) => stats::run(self, &options),
            Command::Demo(options) => demo::run(&options),
            Command::Dashboard(options) => dashboard::run(self, &options),
            Command::Collect(options) => collect::run(self, &options),
        }
    }

    /// The operator's settings.
    fn stack(&self) -> Result<Stack, Failure> {
        let stack = Stack::read(&self.environment, &self.shared.settings)?;
        stack.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        Ok(stack)
    }

    /// What the operator should know: keys that do not exist, plugins that are installed and not enabled, a program of ours
    /// that scripts may replace.
    fn warnings(&self) -> Result<Vec<String>, Failure> {
        let stack = Stack::read(&self.environment, &self.shared.settings)?;
        let roots = stack.settle(None).settings.scripts.roots;
        let mut warnings = stack.warnings;
        let writable = WritableFolders::new(&self.environment).folders(&roots);
        let own = std::env::current_exe().ok();
        if let Some(own) = own.filter(|own| SearchPath::default().safe(&writable).is_writable(own))
        {
            warnings.push(format!(
                "{} is in a folder that scripts may write to, so a script could replace it; install it elsewhere",
                own.display()
            ));
        }
        if self.named().is_empty() && !self.shared.no_default_dirs {
            let disabled = installed(&self.environment).disabled;
            warnings.extend(
                disabled.iter().map(|id| format!("plugin {id} is installed and not enabled")),
            );
        }
        Ok(warnings)
    }

    /// A store over the sources that are named, else over the agents' directories; it has not looked yet.
    fn store(&self) -> Result<Store, Failure> {
        self.store_with(self.stack()?)
    }

    /// The same for what serves: what a source says when it is first served goes on record.
    fn serving_store(&self) -> Result<Store, Failure> {
        self.store_with(self.stack()?.recording())
    }

    fn store_with(&self, stack: Stack) -> Result<Store, Failure> {
        let named = self.named();
        if named.is_empty() && !self.shared.no_default_dirs {
            return self.agents(stack);
        }
        let directories: Result<Vec<Directory>, _> =
            named.directories.iter().map(|source| Directory::open(source, stack.trust)).collect();
        let policy = self.link_policy(&stack);
        let mut directories: Vec<Directory> =
            directories?.into_iter().map(|directory| directory.with_policy(&policy)).collect();
        let settled = stack.settle(None);
        let git = Arc::new(Installed::new(&self.environment, &settled.settings.scripts.roots));
        // What nobody has said yet the content may say.
        let said = settled
            .values
            .iter()
            .any(|(key, _, origin)| key.name == "git.branch" && *origin != Origin::Default);
        let branch = said.then_some(settled.settings.git.branch.as_str());
        for named in &named.repositories {
            let home = self.environment.home.as_deref();
            let git = Arc::<Installed>::clone(&git);
            let repository = Repository::open(named, home, branch, git)?;
            directories.push(Directory::of_repository(Arc::new(repository)));
        }
        Ok(Store::new(directories, stack))
    }

    /// What the operator says of links out of their directory.
    fn link_policy(&self, stack: &Stack) -> Arc<LinkPolicy> {
        let allow = stack.settle(None).settings.links.allow;
        Arc::new(LinkPolicy::new(&allow, self.environment.home.as_deref()))
    }

    /// What the operator named.
    fn named(&self) -> Named {
        sources(&self.environment, &self.shared.directories, &self.shared.repositories)
    }

    /// The agents' directories and plugins, less what a client loads by itself.
    fn agents(&self, stack: Stack) -> Result<Store, Failure> {
        let native = self.native()?;
        let policy = self.link_policy(&stack);
        let directories = default_directories(&self.environment, native)
            .into_iter()
            .map(|directory| Directory::agents(directory).with_policy(&policy))
            .collect();
        let store = Store::new(directories, stack);
        if native.is_some_and(|client| client.claude_plugins) {
            return Ok(store);
        }
        Ok(store.with_plugins(PluginRecords::new(&self.environment)))
    }

    fn native(&self) -> Result<Option<&'static Client>, Failure> {
        let Some(id) = self.shared.native.as_deref() else { return Ok(None) };
        let known = || {
            let near =
                Client::near(id).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
            Failure::usage(
                format!("--native: there is no client `{id}`"),
                format!("{near}there are {}", Client::ids().collect::<Vec<_>>().join(", ")),
            )
        };
        client(id).map(Some).ok_or_else(known)
    }

    /// What clients are shown.
    fn face(&self) -> Result<Face, Failure> {
        let named = !self.named().is_empty();
        let mut face = Face::skills_mcp(named, self.environment.directory.clone());
        let tools = self.shared.tools.as_deref().or_else(|| self.environment.get("SKILLS_TOOLS"));
        if let Some(tools) = tools {
            face.doors = Doors::parse(tools).map_err(|hint| {
                Failure::usage(format!("--tools or SKILLS_TOOLS is `{tools}`"), hint)
            })?;
        }
        let settings = Stack::read(&self.environment, &self.shared.settings)?.settle(None).settings;
        let home = || self.environment.home.clone();
        face.history = settings.analytics.tool.then(|| Arc::new(History::new(home())));
        face.listing = self.shared.listing;
        let budget = &self.shared.listing_budget;
        face.budget = Budget::parse(budget)
            .map_err(|hint| Failure::usage(format!("--listing-budget is `{budget}`"), hint))?;
        Ok(face)
    }

    /// A store that has looked.
    fn opened(&self) -> Result<(Arc<Store>, Arc<Snapshot>), Failure> {
        let store = Arc::new(self.store()?);
        sync::at_first(&store)?;
        let snapshot = store.refresh(Cause::Start).snapshot;
        Ok((store, snapshot))
    }

    /// Calls a tool as an agent would, without telling anybody.
    fn call(&self, tool: &str, arguments: &serde_json::Value) -> Result<String, Failure> {
        let (store, snapshot) = self.opened()?;
        let call = Call {
            snapshot,
            store,
            sink: Sink::silent(),
            session: Arc::new(Session::default()),
            face: Arc::new(self.face()?),
            last_try: true,
            runs: Arc::new(Runs::new(&self.environment)),
            caller: Caller::default(),
        };
        let tool = TOOLS
            .iter()
            .find(|known| known.name == tool)
            .ok_or_else(|| Failure::bug("no such tool"))?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match tool.call(&call, arguments) {
            Ok(reply) => Ok(reply.text),
            Err(
                Refusal::Tool(message)
                | Refusal::Plain(message)
                | Refusal::Params(message)
                | Refusal::Stale(message),
            ) => Err(Failure::finding(message)),
            Err(Refusal::Internal(message)) => Err(Failure::bug(message)),
        }
    }
}

/// The hint of every command that finds no source.
const NO_SOURCE: &str = "name a directory with --dir PATH or SKILLS_DIR, or a repository with --repo URL or SKILLS_REPO; `skills-mcp demo` shows an example";
