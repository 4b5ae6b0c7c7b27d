//! The flags that every command takes: which skills there are, and how they are presented.

use std::{ffi::OsString, path::PathBuf};

use clap::{Arg, ArgMatches, Args, Command, builder::PossibleValuesParser};

use crate::{clients::KnownClient, surface::ListingStyle};

/// Which skills there are.
const SOURCES: &str = "Sources";
/// How a server presents them to a client; `-h` leaves these out.
const PRESENTATION: &str = "Presentation";
/// Everything else.
const SETTINGS: &str = "Settings";

/// The flags.
#[derive(Args, Clone, Debug)]
pub(super) struct Shared {
    /// Serve this skills directory; may be given several times [env: `SKILLS_DIR`]
    ///
    /// Without --dir, --repo and their variables, the agents' directories and plugins are served: `.agents/skills` and
    /// `.claude/skills` of the project and of your home folder.
    #[arg(long = "dir", value_name = "PATH", global = true, help_heading = SOURCES)]
    pub(super) directories: Vec<PathBuf>,
    /// Serve this git repository; may be given several times [env: `SKILLS_REPO`]
    #[arg(long = "repo", value_name = "URL[#BRANCH|@COMMIT]", global = true, help_heading = SOURCES)]
    pub(super) repositories: Vec<String>,
    /// Leave out the directories that this client loads by itself
    #[arg(long = "native", value_name = "CLIENT", global = true, help_heading = SOURCES,
        hide_short_help = true, ignore_case = true, value_parser = every_client())]
    pub(super) native: Option<String>,
    /// Do not serve the agents' directories and plugins
    #[arg(long = "no-default-dirs", global = true, help_heading = SOURCES)]
    pub(super) no_default_dirs: bool,
    /// Also serve the skills about skills-mcp itself: writing skills, finding out why one was not found
    /// [env: `SKILLS_WITH_OWN_SKILLS`]
    #[arg(long = "with-own-skills", global = true, help_heading = SOURCES)]
    pub(super) with_own_skills: bool,
    /// Tool sets to offer: tree, skill, flat (comma-separated) or all [env: `SKILLS_TOOLS`]
    #[arg(long = "tools", value_name = "SETS", global = true, help_heading = PRESENTATION, hide_short_help = true)]
    pub(super) tools: Option<String>,
    /// How the `skill` tool lists the skills [default: as fits the client, else xml]
    #[arg(long = "listing", value_enum, value_name = "STYLE", global = true, help_heading = PRESENTATION, hide_short_help = true)]
    pub(super) listing: Option<ListingStyle>,
    /// How many tokens the tool list may cost: a number, 0 for no list of skills, or `unlimited` [default: as fits the client,
    /// else 2000]
    #[arg(long = "listing-budget", value_name = "TOKENS", global = true, help_heading = PRESENTATION, hide_short_help = true)]
    pub(super) listing_budget: Option<String>,
    /// Present the server as fits this client, whatever the client calls itself; `none` for a client that is not known
    #[arg(long = "client", value_name = "CLIENT", global = true, help_heading = PRESENTATION,
        hide_short_help = true, ignore_case = true, value_parser = handled_clients())]
    pub(super) client: Option<String>,
    /// Set a configuration key, such as `matching.min_score=0.3`
    #[arg(long = "set", value_name = "KEY=VALUE", global = true, help_heading = SETTINGS)]
    pub(super) settings: Vec<String>,
    /// Log to standard error at this level: error, warn, info, debug or trace [env: `SKILLS_LOG`]
    #[arg(long = "log", value_name = "LEVEL", global = true, help_heading = SETTINGS)]
    pub(super) log: Option<String>,
}

/// The command and those below it, each with these flags for itself.
fn on_each_level(command: Command, flags: &[Arg]) -> Command {
    let below = |command: Command| on_each_level(command.args(flags), flags);
    let command = flags
        .iter()
        .fold(command, |command, flag| command.mut_arg(flag.get_id(), |_| flag.clone()));
    command.mut_subcommands(below)
}

/// What a flag was given before the command, then after it.
fn every_value<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, flag: &str) -> Vec<T> {
    let mut values: Vec<T> = matches.get_many(flag).into_iter().flatten().cloned().collect();
    if let Some((_, below)) = matches.subcommand() {
        values.extend(every_value::<T>(below, flag));
    }
    values
}

/// Any client of the table.
fn every_client() -> PossibleValuesParser {
    PossibleValuesParser::new(KnownClient::ids())
}

/// A client whose handling of texts is known, or none of them.
fn handled_clients() -> PossibleValuesParser {
    PossibleValuesParser::new(KnownClient::handled_ids().chain(["none"]))
}

/// The flags that may be given several times, by the names of their fields and as they are written.
const REPEATABLE_FLAGS: [(&str, &str); 3] =
    [("directories", "--dir"), ("repositories", "--repo"), ("settings", "--set")];

impl Shared {
    /// The same with what was given on every side of the commands. Of a global flag clap keeps what stands after the last
    /// command, and drops without a word what stands before it.
    pub(super) fn with_every_side(
        mut self,
        command: impl FnOnce() -> Command,
        arguments: &[OsString],
    ) -> Self {
        let is_repeatable = |argument: &&OsString| {
            let argument = argument.to_string_lossy();
            let name = argument.split('=').next().unwrap_or_default();
            REPEATABLE_FLAGS.iter().any(|(_, flag)| *flag == name)
        };
        // One alone is on one side, and a server has no time for a second look.
        if arguments.iter().filter(is_repeatable).count() < 2 {
            return self;
        }
        let command = command();
        let is_flag = |arg: &&Arg| REPEATABLE_FLAGS.iter().any(|(id, _)| arg.get_id() == id);
        let flags: Vec<Arg> = command
            .get_arguments()
            .filter(is_flag)
            .map(|flag| flag.clone().global(false))
            .collect();
        let Ok(matches) = on_each_level(command, &flags).try_get_matches_from(arguments) else {
            return self;
        };
        self.directories = every_value(&matches, "directories");
        self.repositories = every_value(&matches, "repositories");
        self.settings = every_value(&matches, "settings");
        self
    }

    /// The same flags, for a server of our own to be started with.
    pub(super) fn repeated(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: &str| flags.extend([name.to_owned(), value.to_owned()]);
        self.directories.iter().for_each(|path| flag("--dir", &path.to_string_lossy()));
        self.repositories.iter().for_each(|url| flag("--repo", url));
        self.settings.iter().for_each(|setting| flag("--set", setting));
        self.tools.iter().for_each(|tools| flag("--tools", tools));
        self.native.iter().for_each(|client| flag("--native", client));
        self.client.iter().for_each(|client| flag("--client", client));
        self.listing_budget.iter().for_each(|budget| flag("--listing-budget", budget));
        if let Some(style) = self.listing {
            flag("--listing", if style == ListingStyle::List { "list" } else { "xml" });
        }
        if self.no_default_dirs {
            flags.push("--no-default-dirs".to_owned());
        }
        if self.with_own_skills {
            flags.push("--with-own-skills".to_owned());
        }
        flags
    }
}
