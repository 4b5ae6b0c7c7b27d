//! `connect`: writes the entry of this server into the files of clients, after showing what would change.
//!
//! Not here: how a file is changed (`connect` of the crate).

pub(super) mod disconnect;
mod shown;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::Args;
use shown::{Chosen, agree, show};

use super::{
    Context, Failure, Output,
    ask::confirmed,
    client_of,
    output::{bold, safe},
    shared::Shared,
    version::typed_command,
};
use crate::{
    clients::{CLIENTS, KnownClient, SERVER_NAME},
    config::NamedSource,
    connect::{
        ClientAnswer, ConnectError, Drafts, EntryScope, FoundEntry, InstalledClient, WantedEntry,
        ask_client, has_hook_file, has_rules, installed_clients, listing_command, plugin_hook,
        project_root, rule_readers, shared_rule,
    },
    event::Sink,
    paths::own_program,
    programs::{SearchPath, WritableFolders},
    script::Runs,
    surface::{ClientChoice, Dispatcher},
    telemetry::Telemetry,
};

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Args)]
pub(super) struct ConnectOptions {
    #[command(flatten)]
    target: TargetOptions,
    /// Also write the hook that names a fitting skill with each prompt, where the client has hooks
    #[arg(long)]
    hook: bool,
    /// Also write two lines into the project's AGENTS.md, for models that never see a server's instructions
    #[arg(long)]
    rules: bool,
    /// Do not offer those lines
    #[arg(long, conflicts_with = "rules")]
    no_rules: bool,
    /// Do not ask the client afterwards whether it sees the server
    #[arg(long)]
    no_verify: bool,
}

#[derive(Args)]
pub(super) struct DisconnectOptions {
    #[command(flatten)]
    target: TargetOptions,
}

/// Which clients, which files, and whether to ask.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Args)]
pub(super) struct TargetOptions {
    /// The clients, such as claude-code or codex; without any, those that are found on this machine
    // Another name than that of the flag `--client`, which is valid for every command.
    #[arg(id = "target_clients", value_name = "CLIENT")]
    clients: Vec<String>,
    /// In the project's files, for everyone who works on it
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// In your own files, for all projects (the default of connect, where the client has such a file)
    #[arg(long)]
    user: bool,
    /// Ask nothing
    #[arg(long, short = 'y')]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl TargetOptions {
    /// The clients that were named, else those on this machine.
    fn looked_at(&self, context: &Context) -> Result<Vec<InstalledClient>, Failure> {
        let project = project_root(&context.environment);
        let with_entry = || CLIENTS.iter().filter(|client| client.entry.is_some());
        let ids: Vec<&str> = with_entry().map(|client| client.id).collect();
        if self.clients.is_empty() {
            let found = installed_clients(&context.environment, &project);
            if found.is_empty() {
                let message = "no client was found on this machine";
                let hint =
                    format!("name one, such as skills-mcp connect codex: {}", ids.join(", "));
                return Err(Failure::usage(message, hint));
            }
            return Ok(found);
        }
        let known = |id: &String| {
            let client = client_of("connect", id, &ids)?;
            Ok(InstalledClient::look(client, &context.environment, &project))
        };
        self.clients.iter().map(known).collect()
    }

    /// Without a terminal there is no one to ask.
    fn check(&self) -> Result<(), Failure> {
        if self.yes || self.dry_run || super::ask::Terminal::open().is_some() {
            return Ok(());
        }
        Err(Failure::usage(
            "there is no terminal to ask on, and files of other programs are changed only with a yes",
            "--yes changes them without a question, --dry-run shows what would change",
        ))
    }
}

pub(super) fn run(context: &Context, options: &ConnectOptions) -> Result<ExitCode, Failure> {
    options.target.check()?;
    let wanted = wanted(context)?;
    let looked = options.target.looked_at(context)?;
    let mut out = Output::new();
    let mut failed = None;
    let is_several = looked.len() > 1;
    let sources = context.store()?.sources();
    let is_asked_for = |one: &InstalledClient| {
        !options.target.clients.is_empty()
            || !one.entries.is_empty()
            || !one.client.loads_all(&context.environment, &sources)
    };
    for one in &looked {
        if !is_asked_for(one) {
            let (name, id) = (one.client.name, one.client.id);
            let typed = typed_command(context.program, &context.environment);
            out.sentence("", &format!("{name}: loads these skills by itself; `{typed} connect {id}` connects it all the same."));
            continue;
        }
        match connect(context, options, one, &wanted, &mut out) {
            Ok(()) => {}
            // The other clients have nothing to do with it.
            Err(failure) if is_several => {
                left(&mut out, one.client, "not connected", failure, &mut failed);
            }
            Err(failure) => return Err(failure),
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Says that a client's files are as they were. The reason of the first ends the command, and is said there.
fn left(
    out: &mut Output,
    client: &KnownClient,
    what: &str,
    failure: Failure,
    failed: &mut Option<Failure>,
) {
    let name = client.name;
    if failed.is_none() {
        out.line(format!("{name}: {what}; the reason is at the end"));
        *failed = Some(failure);
        return;
    }
    let (why, hint) = failure.into_parts();
    out.line(format!("{name}: {what}: {}", safe(&why)));
    if let Some(hint) = hint {
        out.sentence("  ", &hint);
    }
}

/// The entry that starts a server as this command line would.
fn wanted(context: &Context) -> Result<WantedEntry, Failure> {
    // A source that cannot be served is a mistake to be said before it is written anywhere.
    drop(context.store()?);
    context.profile()?;
    let named = context.named()?;
    let is_web = |source: &NamedSource| matches!(source, NamedSource::Repository(repository) if repository.url.starts_with("https://"));
    let is_web = named.sources.iter().any(is_web);
    // Absolute, and without `..`. What the user's files name, the server of an entry reads there.
    let directories = named.directories().map(|source| source.path.clone());
    let directories: Vec<PathBuf> =
        if context.shared.directories.is_empty() { Vec::new() } else { directories.collect() };
    let shared = Shared { directories, ..context.shared.clone() };
    let program = own_program()?;
    let args = shared.repeated();
    let wanted = WantedEntry::new(&program, &context.environment, args, is_web);
    if !wanted.is_recognised() {
        let message = format!(
            "this program is called {}, and an entry is recognised by the name skills-mcp",
            wanted.command
        );
        return Err(Failure::usage(message, "install the program as skills-mcp"));
    }
    Ok(wanted)
}

/// Connects one client: shows the change, asks, writes, asks the client.
fn connect(
    context: &Context,
    options: &ConnectOptions,
    one: &InstalledClient,
    wanted: &WantedEntry,
    out: &mut Output,
) -> Result<(), Failure> {
    let (client, environment) = (one.client, &context.environment);
    let project = project_root(environment);
    let scope = scope_of(client, &options.target);
    let shared = (scope == EntryScope::Project).then(|| {
        let others = one.entries.iter().find(|entry| entry.scope == scope);
        let wanted = others.map_or_else(|| wanted.clone(), |entry| wanted.started_as(entry));
        wanted.shared_in(&project, environment)
    });
    let wanted = shared.as_ref().unwrap_or(wanted);
    let mut drafts = Drafts::default();
    let outcome = drafts.connect(client, scope, wanted, environment, &project)?;
    let mut notes = outcome.notes;
    // A hook that is there starts the same server as the entry, also after this change.
    let has_hook = drafts.has_hook(client, scope, environment, &project);
    if has_hook || (options.hook && has_hook_file(client, scope)) {
        let is_new = drafts.hook(client, scope, environment, &project)?;
        notes.extend(plugin_hook(client, environment));
        if client.id == "codex" && is_new {
            notes.push(
                "Codex runs the hook once you trust it; it asks at its next start".to_owned(),
            );
        }
    } else if options.hook {
        let word = scope.word();
        notes.push(format!("{} has no {word} file for prompt hooks", client.name));
    }
    notes.extend(elsewhere(one, scope));
    let is_asking = !options.target.yes && !options.target.dry_run;
    let is_offered = has_rules(client) && !options.no_rules && is_asking;
    let mut chosen = agree(out, client, &drafts, &options.target, outcome.is_off)?;
    if chosen != Chosen::No && (options.rules || is_offered) {
        chosen = rules(context, options, client, &mut drafts, out)?.max(chosen);
    }
    for note in &notes {
        out.sentence("  ", note);
    }
    if chosen == Chosen::Yes && !options.no_verify {
        verify(context, client, scope, out);
    }
    Ok(())
}

/// Entries of ours beside the one that is written, with which the client may start two servers.
fn elsewhere(one: &InstalledClient, scope: EntryScope) -> Vec<String> {
    let written = one.entries.iter().find(|entry| entry.scope == scope);
    let is_written = |entry: &FoundEntry| {
        written.is_some_and(|written| (written.scope, &written.name) == (entry.scope, &entry.name))
    };
    let others = one.entries.iter().filter(|entry| !is_written(entry));
    let note = |entry: &FoundEntry| {
        let (file, name, scope) = (entry.file.display(), &entry.name, entry.scope.word());
        let counts = match written.filter(|written| written.name == entry.name) {
            Some(written) => {
                format!("that of the {} counts", written.scope.max(entry.scope).word())
            }
            None => "the client starts both; one of the two is enough".to_owned(),
        };
        format!("{file} has an entry `{name}` for this server too ({scope}); {counts}")
    };
    others.map(note).collect()
}

/// The file that is changed: the user's, unless the person or the client wants the project's.
fn scope_of(client: &KnownClient, target: &TargetOptions) -> EntryScope {
    let has_user_file = client.entry.is_some_and(|entry| !entry.user.is_empty());
    if target.project || (!target.user && !has_user_file) {
        EntryScope::Project
    } else {
        EntryScope::User
    }
}

/// Writes the block of rules, where the person wants it.
fn rules(
    context: &Context,
    options: &ConnectOptions,
    client: &'static KnownClient,
    drafts: &mut Drafts,
    out: &mut Output,
) -> Result<Chosen, Failure> {
    *drafts = Drafts::default();
    let project = project_root(&context.environment);
    drafts.rule(&rule(context)?, &project)?;
    if drafts.changes().next().is_none() {
        return Ok(Chosen::Nothing);
    }
    show(out, drafts);
    if options.target.dry_run {
        return Ok(Chosen::Nothing);
    }
    let question = format!(
        "{} does not show its model what a server says of itself. Write these lines into the project's AGENTS.md?",
        client.name
    );
    if !options.rules && !confirmed(&question) {
        return Ok(Chosen::Nothing);
    }
    drafts.write()?;
    Ok(Chosen::Yes)
}

/// What the instructions would say to the models of all clients that read the block.
fn rule(context: &Context) -> Result<String, Failure> {
    let opened = context.opened()?;
    let mut rules = Vec::new();
    for client in rule_readers() {
        let mut profile = context.profile()?;
        profile.client_choice = ClientChoice::Fixed(Some(client));
        let (runs, sink) = (Runs::new(&context.environment), Sink::silent());
        let store = Arc::clone(&opened.store);
        let dispatcher = Dispatcher::new(store, profile, runs, sink, Telemetry::default());
        rules.push(dispatcher.registry(None).rule(SERVER_NAME, &opened.snapshot));
    }
    Ok(shared_rule(&rules))
}

/// Asks the client whether it sees the server, and says in one line what it said. A client that is to see an entry of the
/// project would have to be started in the project, and would start all other servers of its files too.
fn verify(context: &Context, client: &'static KnownClient, scope: EntryScope, out: &mut Output) {
    if scope == EntryScope::Project {
        let how = listing_command(client).map_or_else(String::new, |command| {
            format!(" `{command}` shows its servers, and may start those of this project.")
        });
        let line = format!("Restart {}, which reads its files at its start.{how}", client.name);
        return out.sentence("  ", &line);
    }
    let environment = &context.environment;
    let project = project_root(environment);
    let looked = InstalledClient::look(client, environment, &project);
    let name = looked.entries.first().map_or(SERVER_NAME, |entry| &entry.name);
    let roots = context.layers().map(|layers| layers.resolve(None).settings.scripts.roots);
    let writable = WritableFolders::new(environment).folders(&roots.unwrap_or_default());
    let search = SearchPath::new(&environment.search);
    let said = ask_client(client, name, &search.safe(&writable));
    let line = match said {
        Some((command, ClientAnswer::Lists(line))) => {
            let line = safe(&line);
            let is_held =
                ["disabled", "pending"].iter().any(|word| line.to_lowercase().contains(word));
            let why = if is_held {
                ". It starts servers once you trust this folder"
            } else if line.contains("Unsupported") {
                ". That word is about signing in, which this server does not need"
            } else {
                ""
            };
            format!("{command} says: {line}{why}")
        }
        Some((command, ClientAnswer::Silent)) => {
            format!(
                "{command} does not name the server `{name}`; it may need a restart or your trust in this folder"
            )
        }
        Some((command, ClientAnswer::NoAnswer)) => {
            format!("{command} did not answer; restart {}", client.name)
        }
        None => format!("Restart {}, which reads its files at its start.", client.name),
    };
    out.sentence("  ", &line);
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let hint = match &error {
            ConnectError::Unread(unread) => format!("{}; this file is as it was", unread.hint),
            ConnectError::NoFile { .. } => "leave out --project or --user".to_owned(),
            ConnectError::Write { .. } => return Self::environment(error.to_string()),
        };
        Self::usage(error.to_string(), hint)
    }
}

/// The line above a client's changes.
fn headline(client: &KnownClient) -> String {
    bold(client.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Args as _, Command};

    use super::*;
    use crate::connect::{SWITCHES, VALUE_FLAGS};

    #[test]
    fn the_flags_of_an_entry_are_those_of_the_command_line() {
        let command = Shared::augment_args(Command::new("skills-mcp"));
        let known = |takes_value: bool| {
            let flags = command.get_arguments();
            let flags = flags.filter(move |flag| flag.get_action().takes_values() == takes_value);
            flags
                .filter_map(|flag| Some(format!("--{}", flag.get_long()?)))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(known(true), VALUE_FLAGS.map(str::to_owned).into());
        assert_eq!(known(false), SWITCHES.map(str::to_owned).into());
    }
}
