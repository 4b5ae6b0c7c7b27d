//! The command line: one command, one file. Settings are read here, rooms are joined here.
//!
//! Standard output is data, standard error is talk. Exit codes: 0 done, 1 findings, 2 usage or configuration,
//! 3 environment, 70 our bug.

mod ask;
mod authoring;
mod check;
mod completions;
mod config;
mod connect;
mod demo;
mod doctor;
mod example;
mod failure;
mod finding;
mod hook;
mod list;
mod lock_file;
mod log;
mod man;
mod mcp_server;
mod memory;
mod opened;
mod output;
mod report;
mod run;
mod schema;
mod serve;
#[cfg(feature = "http")]
mod serve_http;
mod shared;
mod show;
mod signals;
mod status;
mod sync;
mod test;
mod tools;
mod trust;
mod try_out;
#[cfg(feature = "usage")]
mod usage;
mod version;
mod why;

use std::{process::ExitCode, sync::Arc};

pub use check::diagnostics_page;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use failure::Failure;
use opened::Opened;
use output::Output;
pub use schema::SchemaFile;
use shared::Shared;

use crate::{
    clients::KnownClient,
    config::{ConfigLayers, Environment, NamedSources, SettingOrigin, named_sources},
    paths::own_program,
    programs::{SearchPath, WritableFolders},
    removal, script,
    source::{
        Directory, LinkPolicy, PluginRecords, default_directories,
        git::{InstalledGit, Repository},
        installed, own_skills,
    },
    store::{Cause, Store},
    surface::{Budget, ClientChoice, ServerProfile, ToolSets},
    usage::history,
};

/// Serves skills to AI coding agents over MCP
#[derive(Parser)]
#[command(version = version::VERSION, max_term_width = 100, after_help = AFTER_HELP)]
struct Arguments {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "Without a command, skills-mcp serves MCP on standard input and output, so \
    {\"command\": \"skills-mcp\"} is a whole client entry.\nTry: skills-mcp demo";

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on standard input and output (the default), or over HTTP
    Serve(serve::ServeOptions),
    /// Draw the tree of skills
    List(list::ListOptions),
    /// Show what an agent receives with a skill
    Show(show::ShowOptions),
    /// Search as an agent would, and show what decided
    Try(try_out::TryOutOptions),
    /// Run the routing tests: whether requests find the skills they should
    Test(test::TestOptions),
    /// Show what a client's model sees of this server before it calls a tool, and what that costs
    Tools(tools::ToolsOptions),
    /// Name the skill that fits a prompt, for a client's prompt hook
    Hook(hook::HookOptions),
    /// Connect clients on this machine to this server: writes the entry into their own files
    Connect(connect::ConnectOptions),
    /// Remove what connect wrote
    Disconnect(connect::DisconnectOptions),
    /// Run a script of a skill as `run_script` would
    Run(run::RunOptions),
    /// Show which copy of a skill is served, and which others it hides
    Why(why::WhyOptions),
    /// Show every setting and where it comes from
    Config(config::ConfigOptions),
    /// Check sources, content, settings and the protocol
    Doctor(doctor::DoctorOptions),
    /// Check skills as their author: what is wrong, where, and how to correct it
    Check(check::CheckOptions),
    /// Print the JSON Schema of a file, for editors and other programs
    Schema(schema::SchemaOptions),
    /// Show the settings that each source asks for, and agree to them
    Trust(trust::TrustOptions),
    /// Fetch the repositories now
    Sync(sync::SyncOptions),
    /// Show each repository's commit and what changed
    Status(status::StatusOptions),
    #[cfg(feature = "usage")]
    #[command(flatten)]
    Usage(usage::UsageCommand),
    /// Show what an agent sees, on the built-in example
    // After `stats` and before `dashboard`.
    #[command(display_order = 12)]
    Demo(demo::DemoOptions),
    /// Serve a project's bundles through skills.list and skills.search
    McpServer(mcp_server::McpServerOptions),
    #[command(flatten)]
    Authoring(authoring::AuthoringCommand),
    /// Print a completion script for a shell
    Completions(completions::CompletionsOptions),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Runs the program of this name with the process's own arguments.
pub fn run(program: &'static str) -> ExitCode {
    // Before anything else: a stage of a run has no settings and no time to lose.
    let first = std::env::args_os().nth(1);
    if let Some(code) = script::run_hidden_stage(first.as_deref())
        .or_else(|| removal::run_hidden_stage(first.as_deref()))
    {
        return code;
    }
    signals::outlive_file_size_limit();
    let program = version::called_name(std::env::args_os().next()).unwrap_or(program);
    let arguments = match command_line(program)
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches))
    {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && hook::is_hook(std::env::args_os()) => {
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let context = Context { program, environment: Environment::read(), shared: arguments.shared };
    match context
        .run(arguments.command.unwrap_or_else(|| Command::Serve(serve::ServeOptions::default())))
    {
        Ok(code) => code,
        Err(_) if hook::is_hook(std::env::args_os()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The command line of the program of this name.
fn command_line(program: &'static str) -> clap::Command {
    Arguments::command().name(program).bin_name(program)
}

/// What every command starts from.
#[derive(Clone)]
struct Context {
    program: &'static str,
    environment: Environment,
    shared: Shared,
}

impl Context {
    fn run(&self, command: Command) -> Result<ExitCode, Failure> {
        let level = self.shared.log.as_deref().or_else(|| self.environment.get("SKILLS_LOG"));
        let serving = matches!(command, Command::Serve(_) | Command::McpServer(_));
        #[cfg(feature = "usage")]
        let serving = serving || matches!(&command, Command::Usage(command) if command.serves());
        let quiet = matches!(command, Command::Hook(_)) && level.is_none();
        if !quiet {
            log::start(level, if serving { log::SERVING } else { log::OTHERWISE })?;
        }
        let on_streams = matches!(&command, Command::Serve(options) if options.is_on_streams());
        if on_streams || matches!(command, Command::McpServer(_)) {
            // Before the first thread is started.
            skills_memory::limit_pools();
        }
        match command {
            Command::Serve(options) => serve::run(self, &options),
            Command::List(options) => list::run(self, &options),
            Command::Show(options) => show::run(self, &options),
            Command::Try(options) => try_out::run(self, &options),
            Command::Test(options) => test::run(self, &options),
            Command::Tools(options) => tools::run(self, &options),
            Command::Hook(options) => hook::run(self, &options),
            Command::Connect(options) => connect::run(self, &options),
            Command::Disconnect(options) => connect::disconnect::run(self, &options),
            Command::Run(options) => run::run(self, &options),
            Command::Why(options) => why::run(self, &options),
            Command::McpServer(options) => mcp_server::run(self, &options),
            Command::Config(options) => config::run(self, &options),
            Command::Doctor(options) => doctor::run(self, &options),
            Command::Check(options) => check::run(self, &options),
            Command::Schema(options) => {
                schema::run(&options);
                Ok(ExitCode::SUCCESS)
            }
            Command::Trust(options) => trust::run(self, &options),
            Command::Sync(options) => sync::run(self, &options),
            Command::Status(options) => status::run(self, &options),
            Command::Demo(options) => demo::run(&options),
            Command::Authoring(command) => command.run(self),
            Command::Completions(options) => completions::run(self, &options),
            Command::Man => man::run(self),
            #[cfg(feature = "usage")]
            Command::Usage(command) => command.run(self),
        }
    }

    /// The operator's settings.
    fn layers(&self) -> Result<ConfigLayers, Failure> {
        let layers = ConfigLayers::read(&self.environment, &self.shared.settings)?;
        layers.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        Ok(layers)
    }

    /// What the operator should know: keys that do not exist, plugins that are installed and not enabled, a program of ours
    /// that scripts may replace.
    fn warnings(&self) -> Result<Vec<String>, Failure> {
        let layers = ConfigLayers::read(&self.environment, &self.shared.settings)?;
        let roots = layers.resolve(None).settings.scripts.roots;
        let mut warnings = layers.warnings;
        let writable = WritableFolders::new(&self.environment).folders(&roots);
        let own = own_program().ok();
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
        self.store_with(self.layers()?)
    }

    /// The same for what serves: what a source says when it is first served goes on record.
    fn serving_store(&self) -> Result<Store, Failure> {
        self.store_with(self.layers()?.recording())
    }

    fn store_with(&self, layers: ConfigLayers) -> Result<Store, Failure> {
        let named = self.named();
        if named.is_empty() && !self.shared.no_default_dirs {
            return self.agents(layers);
        }
        let directories: Result<Vec<Directory>, _> =
            named.directories.iter().map(|source| Directory::open(source, layers.trust)).collect();
        let policy = self.link_policy(&layers);
        let mut directories: Vec<Directory> =
            directories?.into_iter().map(|directory| directory.with_policy(&policy)).collect();
        let config = layers.resolve(None);
        let git = Arc::new(InstalledGit::new(&self.environment, &config.settings.scripts.roots));
        // What the operator does not set the content may set.
        let said = config
            .values
            .iter()
            .any(|(key, _, origin)| key.name == "git.branch" && *origin != SettingOrigin::Default);
        let branch = said.then_some(config.settings.git.branch.as_str());
        for named in &named.repositories {
            let home = self.environment.home.as_deref();
            let git = Arc::<InstalledGit>::clone(&git);
            let repository = Repository::open(named, home, branch, git)?;
            directories.push(Directory::of_repository(Arc::new(repository)));
        }
        directories.extend(self.own_skills());
        Ok(Store::cached(directories, None, layers, self.environment.home.as_deref()))
    }

    /// Our own skills, where they are asked for. They come last, so that they hide no other skill.
    fn own_skills(&self) -> Option<Directory> {
        let asked = self.environment.get("SKILLS_WITH_OWN_SKILLS");
        if !self.shared.with_own_skills && !matches!(asked, Some("true" | "1")) {
            return None;
        }
        let unpacked = match self.environment.home.as_deref() {
            Some(home) => own_skills(home).map_err(|error| error.to_string()),
            None => Err("there is no home folder".to_owned()),
        };
        let warn = |error: &String| {
            tracing::warn!(
                "the skills about skills-mcp are not served: ~/.skills-mcp/own-skills: {error}"
            );
        };
        unpacked.inspect_err(warn).ok().map(Directory::agents)
    }

    /// What the operator says of links out of their directory.
    fn link_policy(&self, layers: &ConfigLayers) -> Arc<LinkPolicy> {
        let allow = layers.resolve(None).settings.links.allow;
        Arc::new(LinkPolicy::new(&allow, self.environment.home.as_deref()))
    }

    /// What the operator named.
    fn named(&self) -> NamedSources {
        named_sources(&self.environment, &self.shared.directories, &self.shared.repositories)
    }

    /// The agents' directories and plugins, less what a client loads by itself.
    fn agents(&self, layers: ConfigLayers) -> Result<Store, Failure> {
        let native = self.native()?;
        let policy = self.link_policy(&layers);
        let directories = default_directories(&self.environment, native)
            .into_iter()
            .map(|directory| Directory::agents(directory).with_policy(&policy))
            .chain(self.own_skills())
            .collect();
        if native.is_some_and(|client| client.claude_plugins) {
            return Ok(Store::cached(directories, None, layers, self.environment.home.as_deref()));
        }
        let records = PluginRecords::new(&self.environment);
        Ok(Store::cached(directories, Some(records), layers, self.environment.home.as_deref()))
    }

    fn native(&self) -> Result<Option<&'static KnownClient>, Failure> {
        let id = self.shared.native.as_deref();
        id.map(|id| client_of("--native", id, &KnownClient::ids().collect::<Vec<_>>())).transpose()
    }

    /// The client that the operator says it is.
    fn client_choice(&self) -> Result<ClientChoice, Failure> {
        Ok(match self.shared.client.as_deref() {
            None => ClientChoice::Reported,
            Some("none") => ClientChoice::Fixed(None),
            Some(id) => ClientChoice::Fixed(Some(handled_client("--client", id)?)),
        })
    }

    /// How the server presents itself to clients.
    fn profile(&self) -> Result<ServerProfile, Failure> {
        let named = !self.named().is_empty();
        let environment = Arc::new(self.environment.clone());
        let mut profile = ServerProfile::skills_mcp(named, environment);
        profile.client_choice = self.client_choice()?;
        let tools = self.shared.tools.as_deref().or_else(|| self.environment.get("SKILLS_TOOLS"));
        if let Some(tools) = tools {
            profile.tool_sets = ToolSets::parse(tools).map_err(|hint| {
                Failure::usage(format!("--tools or SKILLS_TOOLS is `{tools}`"), hint)
            })?;
        }
        let settings =
            ConfigLayers::read(&self.environment, &self.shared.settings)?.resolve(None).settings;
        profile.history = history(self.environment.home.clone(), &settings.analytics);
        profile.listing = self.shared.listing;
        let budget = self.shared.listing_budget.as_deref();
        let parse = |budget: &str| {
            Budget::parse(budget)
                .map_err(|hint| Failure::usage(format!("--listing-budget is `{budget}`"), hint))
        };
        profile.budget = budget.map(parse).transpose()?;
        Ok(profile)
    }

    /// A store that has read its sources.
    fn opened(&self) -> Result<Opened<'_>, Failure> {
        let store = Arc::new(self.store()?);
        sync::at_first(&store)?;
        let snapshot = store.refresh(Cause::Start).snapshot;
        Ok(Opened { context: self, store, snapshot })
    }
}

/// The client of this id, which is among these.
fn client_of(flag: &str, id: &str, ids: &[&str]) -> Result<&'static KnownClient, Failure> {
    let unknown = || {
        let near = KnownClient::near(id).filter(|near| ids.contains(near));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        Failure::usage(
            format!("{flag}: there is no client `{id}`"),
            format!("{near}there are {}", ids.join(", ")),
        )
    };
    KnownClient::of_id(id).filter(|client| ids.contains(&client.id)).ok_or_else(unknown)
}

/// The client of this id, whose handling of texts is known.
fn handled_client(flag: &str, id: &str) -> Result<&'static KnownClient, Failure> {
    client_of(flag, id, &KnownClient::handled_ids().collect::<Vec<_>>())
}

/// The hint of every command that finds no source.
const NO_SOURCE: &str = "name a directory with --dir PATH or SKILLS_DIR, or a repository with --repo URL or SKILLS_REPO; `skills-mcp demo` shows an example";
