//! The command line: one command, one file. Settings are read here, rooms are joined here.
//!
//! Standard output is data, standard error is talk. Exit codes: 0 done, 1 findings, 2 usage or configuration,
//! 3 environment, 70 our bug.

mod add;
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
mod help;
mod hook;
mod list;
mod lock_file;
mod log;
mod log_queue;
mod man;
mod mcp_server;
mod memory;
mod opened;
mod output;
mod overview;
mod reference;
mod remove;
mod report;
mod run;
mod schema;
mod serve;
#[cfg(feature = "http")]
mod serve_http;
mod shared;
mod show;
mod signals;
mod sources_file;
mod status;
mod stores;
mod style;
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
use log::Logger;
use opened::Opened;
use output::Output;
pub use reference::command_reference;
pub use schema::SchemaFile;
use shared::Shared;

use crate::{
    clients::KnownClient,
    config::{ConfigLayers, Environment},
    paths::own_program,
    programs::WritableFolders,
    removal, script,
    source::installed,
    surface::{Budget, ClientChoice, ServerProfile, ToolSets},
    usage::history,
};

/// Serves skills to AI coding agents over MCP
#[derive(Parser)]
#[command(version = version::VERSION, max_term_width = help::MAX_HELP_WIDTH, after_help = AFTER_HELP)]
struct Arguments {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "Without a command, skills-mcp serves MCP on standard input and output, so \
    {\"command\": \"skills-mcp\"} is a whole client entry; on a terminal it shows what it would serve.\n\
    `skills-mcp COMMAND --help` has examples. Try: skills-mcp demo";

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on standard input and output (the default), or over HTTP
    Serve(serve::ServeOptions),
    /// Draw the tree of skills
    #[command(visible_alias = "ls")]
    List(list::ListOptions),
    /// Show what an agent receives with a skill
    Show(show::ShowOptions),
    /// Search as an agent would, and show what decided
    #[command(visible_alias = "search")]
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
    /// Show every setting and where it comes from, or change one
    Config(config::ConfigOptions),
    /// Check sources, content, settings and the protocol
    Doctor(doctor::DoctorOptions),
    /// Check skills as their author: what is wrong, where, and how to correct it
    #[command(visible_alias = "lint", alias = "validate")]
    Check(check::CheckOptions),
    /// Print the JSON Schema of a file, for editors and other programs
    Schema(schema::SchemaOptions),
    /// Show the settings that each source asks for, and agree to them
    Trust(trust::TrustOptions),
    /// Serve a folder or a git repository from now on: writes it into your configuration
    Add(add::AddOptions),
    /// Take a source out of your configuration
    Remove(remove::RemoveOptions),
    /// Fetch the repositories now
    #[command(visible_alias = "update")]
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
        Err(error) if error.use_stderr() => {
            let _ = error.print();
            return ExitCode::from(2);
        }
        Err(help) => {
            output::remember(help.print());
            return ended_with(Ok(ExitCode::SUCCESS));
        }
    };
    let given: Vec<_> = std::env::args_os().collect();
    let shared = arguments.shared.with_every_side(Arguments::command, &given);
    let environment = Environment::read();
    let context = Context { program, environment, shared, quiet: false };
    let ended = context.run_or_default(arguments.command);
    if hook::is_hook(std::env::args_os()) {
        return ended.unwrap_or(ExitCode::SUCCESS);
    }
    ended_with(ended)
}

/// What a command that ended so ends the process with.
fn ended_with(ended: Result<ExitCode, Failure>) -> ExitCode {
    match (ended, output::write_error()) {
        (Err(failure), _) => failure.report(),
        // Whatever the command found, its reader has only a part of it.
        (Ok(_), Some(error)) => Failure::environment(format!("standard output: {error}"))
            .with_hint("make room, or write elsewhere, and run the command again")
            .report(),
        (Ok(code), None) => code,
    }
}

/// The command line of the program of this name.
fn command_line(program: &'static str) -> clap::Command {
    let command = Arguments::command().name(program).bin_name(program).styles(style::HELP_STYLES);
    // The help takes a moment to make, and a server has none to lose.
    if help::is_asked_for(std::env::args_os()) { help::dressed(command) } else { command }
}

/// What every command starts from.
#[derive(Clone)]
struct Context {
    program: &'static str,
    environment: Environment,
    shared: Shared,
    /// Whether what the operator should know of files that name sources is left out.
    quiet: bool,
}

impl Context {
    /// Without a command a client is served, and a person at a terminal is shown what would be.
    fn run_or_default(&self, command: Option<Command>) -> Result<ExitCode, Failure> {
        match command {
            Some(command) => self.run(command),
            None if ask::is_terminal() => {
                let _log = log::start(self.log_level(), Logger::Command)?;
                overview::run(self)
            }
            None => self.run(Command::Serve(serve::ServeOptions::default())),
        }
    }

    fn log_level(&self) -> Option<&str> {
        self.shared.log.as_deref().or_else(|| self.environment.get("SKILLS_LOG"))
    }

    fn run(&self, command: Command) -> Result<ExitCode, Failure> {
        let level = self.log_level();
        let serving = matches!(command, Command::Serve(_) | Command::McpServer(_));
        #[cfg(feature = "usage")]
        let serving = serving || matches!(&command, Command::Usage(command) if command.serves());
        let on_streams = matches!(&command, Command::Serve(options) if options.is_on_streams());
        if on_streams || matches!(command, Command::McpServer(_)) {
            // Before the first thread is started.
            skills_memory::limit_pools();
        }
        let logger = if serving { Logger::Server } else { Logger::Command };
        let quiet = matches!(command, Command::Hook(_)) && level.is_none();
        let _log = (!quiet).then(|| log::start(level, logger)).transpose()?;
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
            Command::Add(options) => add::run(self, &options),
            Command::Remove(options) => remove::run(self, &options),
            Command::Sync(options) => sync::run(self, &options),
            Command::Status(options) => status::run(self, &options),
            Command::Demo(options) => demo::run(self, &options),
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
        if let Some(own) = own.filter(|own| writable.lead_to(own)) {
            warnings.push(format!(
                "{} is in a folder that scripts may write to, so a script could replace it; install it elsewhere",
                own.display()
            ));
        }
        let named = self.named()?;
        let with_agents = named.is_empty() || named.agents;
        warnings.extend(named.notices);
        if with_agents && !self.shared.no_default_dirs {
            let disabled = installed(&self.environment).disabled;
            warnings.extend(
                disabled.iter().map(|id| format!("plugin {id} is installed and not enabled")),
            );
        }
        Ok(warnings)
    }

    /// What a person types to start this program with the sources that flags name now.
    fn typed_with_sources(&self) -> String {
        let directories = self.shared.directories.iter();
        let directories = directories.map(|path| ("--dir", path.to_string_lossy().into_owned()));
        let repositories = self.shared.repositories.iter().map(|url| ("--repo", url.clone()));
        let typed = version::typed_command(self.program, &self.environment);
        directories.chain(repositories).fold(typed, |command, (flag, value)| {
            format!("{command} {flag} {}", authoring::shell_word(&value))
        })
    }

    /// The client of `--native`, whose values are the table's.
    fn native(&self) -> Option<&'static KnownClient> {
        self.shared.native.as_deref().and_then(KnownClient::of_id)
    }

    /// The client that the operator says it is. `none` is the one value of `--client` that no client has.
    fn client_choice(&self) -> ClientChoice {
        match self.shared.client.as_deref() {
            None => ClientChoice::Reported,
            Some(id) => ClientChoice::Fixed(KnownClient::of_id(id)),
        }
    }

    /// How the server presents itself to clients.
    fn profile(&self) -> Result<ServerProfile, Failure> {
        let named = self.named()?;
        let environment = Arc::new(self.environment.clone());
        let mut profile = ServerProfile::skills_mcp(!named.is_empty(), environment);
        profile.client_choice = self.client_choice();
        let tools = self.shared.tools.as_deref().or_else(|| self.environment.get("SKILLS_TOOLS"));
        let tools = tools.map(|tools| (tools, "--tools or SKILLS_TOOLS"));
        let in_file =
            named.tools.as_ref().map(|(tools, place)| (tools, format!("`tools` in {place}")));
        let in_file = in_file.as_ref().map(|(tools, place)| (tools.as_str(), place.as_str()));
        if let Some((tools, place)) = tools.or(in_file) {
            profile.tool_sets = ToolSets::parse(tools)
                .map_err(|hint| Failure::usage(format!("{place} is `{tools}`"), hint))?;
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

/// The hint of every command that finds no source.
const NO_SOURCE: &str = "`skills-mcp add PATH` or `skills-mcp add URL` names one for good, --dir PATH or --repo URL for once; `skills-mcp demo` shows an example";
