//! [`SetupState`]: what a person should know of the skills of this machine, for the screen, the verdict and the JSON.
//!
//! Not here: how it is worded, and starting a server.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use skills_core::diagnostic::{Diagnostic, Severity};

use super::{
    clients::{self, ClientState},
    screen,
};
use crate::{
    cli::{Context, Failure, sync, trust, version::typed_command},
    paths::own_program,
    source::Directory,
    store::{Cause, Snapshot, Store},
};

/// With more sources a command that repeats them no longer fits a terminal's line.
const MAX_REPEATED_SOURCES: usize = 3;

/// What is served, what is wrong with it, and which clients know of it.
pub(in crate::cli) struct SetupState {
    /// The program's name.
    pub(super) program: &'static str,
    /// The file of this program.
    pub(super) own_program: Option<PathBuf>,
    /// What a person types to start it.
    pub(super) typed: String,
    /// The same with the sources that flags name, for the next command.
    pub(super) command: String,
    /// The file to put the sources into before that, if they are too many for a line.
    pub(super) sources_file: Option<String>,
    pub(super) skills: usize,
    /// Words that find one of them, for a person to try.
    pub(in crate::cli) request: String,
    /// The client whose entry names what is served, where nothing else does.
    pub(super) named_by: Option<&'static str>,
    pub(super) places: Vec<ServedPlace>,
    /// The directories that were looked for, where none of them can be read.
    pub(super) looked_in: Vec<String>,
    /// Errors and warnings of the content, the worst first; each with its place and its message.
    pub(super) problems: Vec<SetupProblem>,
    /// How many more findings there are that need no action.
    pub(super) notes: usize,
    /// Files of which something has no effect.
    pub(super) broken: usize,
    /// What else the operator should know, in sentences.
    pub(super) remarks: Vec<String>,
    /// Why a repository could not be fetched when that was last tried, and the way out.
    pub(super) unfetched: Option<(String, Option<String>)>,
    /// The directories of the user's file that are not there or cannot be read.
    pub(super) left_out: Vec<String>,
    /// Whether the project's file, or what a source asks for, waits for the operator's yes.
    pub(super) waits_for_consent: bool,
    /// Why a server of this program does not answer, where one was started.
    pub(super) failure: Option<String>,
    pub(super) clients: Vec<ClientState>,
}

/// A source that is there.
pub(super) struct ServedPlace {
    /// Its folder or its URL.
    pub(super) path: String,
    pub(super) skills: usize,
}

/// An error or a warning of the content.
pub(super) struct SetupProblem {
    pub(super) severity: Severity,
    /// The file, and the line where there is one.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl SetupState {
    /// Reads the sources that `context` names, else those that a connected client's entry names, without starting a server.
    pub(in crate::cli) fn at_rest(context: &Context) -> Result<(Self, Context), Failure> {
        let (context, named_by) = as_connected(context)?;
        let store = context.store()?;
        let fetched = sync::at_first(&store);
        let snapshot = store.refresh(Cause::Start).snapshot;
        let setup = Self { named_by, ..Self::of(&context, &store, &snapshot, fetched) };
        Ok((setup, context))
    }

    /// Of a store that was read just now. `fetched` is how the first fetch of its repositories ended.
    pub(super) fn of(
        context: &Context,
        store: &Store,
        snapshot: &Snapshot,
        fetched: Result<(), Failure>,
    ) -> Self {
        let home = context.environment.home.as_deref();
        let typed = typed_command(context.program, &context.environment);
        let flags = context.shared.directories.len() + context.shared.repositories.len();
        let is_long = flags > MAX_REPEATED_SOURCES;
        let command = if is_long { typed.clone() } else { context.typed_with_sources() };
        let users_file = context.environment.user_files().pop().filter(|_| is_long);
        let sources = store.sources();
        let is_there = sources.iter().any(Directory::is_there);
        let all = snapshot.diagnostics();
        let broken: BTreeSet<(&str, &str)> = all
            .iter()
            .filter(|found| found.finding.code.drops_content())
            .map(|found| (&*found.source, &*found.file))
            .collect();
        let clients = clients::known(context, &sources);
        let named = context.named().unwrap_or_default();
        let waiting = trust::all(store, None).iter().filter(|asking| asking.waits()).count();
        Self {
            program: context.program,
            own_program: own_program().ok(),
            command: command.clone(),
            sources_file: users_file.map(|file| short_path(&file.display().to_string(), home)),
            typed,
            skills: snapshot.catalog.len(),
            request: request(snapshot),
            named_by: None,
            places: places(&sources, snapshot, home),
            looked_in: sources
                .iter()
                .map(Directory::path)
                .chain(named.left_out.iter().map(PathBuf::as_path))
                .filter(|_| !is_there)
                .map(|path| short_path(&path.display().to_string(), home))
                .collect(),
            notes: all.len() - worth_a_line(&all).count(),
            broken: broken.len(),
            problems: problems(&all, snapshot, home),
            remarks: asks(waiting, &command)
                .into_iter()
                .chain(clients.iter().flat_map(|client| client.unread.clone()))
                .collect(),
            unfetched: fetched.err().map(Failure::into_parts).or_else(|| unsynced(store)),
            left_out: named.left_out.iter().map(|path| path.display().to_string()).collect(),
            waits_for_consent: waiting > 0 || named.project.is_some_and(|project| project.waits()),
            failure: None,
            clients,
        }
    }

    /// The screen without a server that was tried.
    pub(in crate::cli) fn overview(&self, width: usize) -> Vec<String> {
        screen::lines(self, None, width)
    }

    /// Whether skills are served, from every source that is named, all of what their authors wrote has its effect, and a server
    /// answers.
    pub(super) fn healthy(&self) -> bool {
        let works = self.failure.is_none() && self.unfetched.is_none() && self.left_out.is_empty();
        works && self.broken == 0 && (self.skills > 0 || self.looked_in.is_empty())
    }
}

/// A command that names the sources of a connected client's entry, and that client; the command as it is where it, a variable or a
/// file names some.
pub(super) fn as_connected(context: &Context) -> Result<(Context, Option<&'static str>), Failure> {
    let mut context = context.clone();
    if !context.named()?.is_empty() || context.shared.no_default_dirs {
        return Ok((context, None));
    }
    let Some((client, sources)) = clients::entry_sources(&context.environment) else {
        return Ok((context, None));
    };
    context.shared.directories = sources.directories;
    context.shared.repositories = sources.repositories;
    Ok((context, Some(client)))
}

/// The name of the first skill that is more than a folder's rules, as words.
fn request(snapshot: &Snapshot) -> String {
    let is_of_folder = |name: &str| matches!(name, "_root.md" | "_index.md");
    let skill = snapshot.catalog.skills().find(|skill| !is_of_folder(skill.file.name()));
    let words = skill.map_or("write a commit", |skill| &*skill.label);
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
    words.join(" ").trim().to_owned()
}

/// Why the last sync of a repository failed. What was fetched before is served on.
fn unsynced(store: &Store) -> Option<(String, Option<String>)> {
    store.repositories().find_map(|(_, _, repository)| {
        let (error, hint) = repository.state().error?;
        let what = format!("the last sync of {} failed: {error}", repository.remote());
        Some((what, Some(hint)))
    })
}

/// What is to be said where sources wait for consent.
fn asks(waiting: usize, command: &str) -> Option<String> {
    let (whose, verb) = if waiting == 1 { ("a source", "asks") } else { ("sources", "ask") };
    let asks = || format!("{whose} {verb} for settings that need your consent: {command} trust");
    (waiting > 0).then(asks)
}

fn places(sources: &[Directory], snapshot: &Snapshot, home: Option<&Path>) -> Vec<ServedPlace> {
    let mut counts = vec![0; sources.len()];
    for skill in snapshot.catalog.skills() {
        counts.get_mut(skill.source).into_iter().for_each(|count| *count += 1);
    }
    let there = sources.iter().zip(counts).filter(|(source, _)| source.is_there());
    let place = |(source, skills): (&Directory, usize)| {
        let path = match source.repository() {
            Some(repository) => repository.remote().to_string(),
            None => short_path(&source.path().display().to_string(), home),
        };
        ServedPlace { path, skills }
    };
    there.map(place).collect()
}

fn worth_a_line(all: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    let is_worth = |found: &&Diagnostic| found.finding.code.severity() != Severity::Info;
    all.iter().filter(is_worth)
}

/// What costs content first, then the other errors and warnings, each in the order of the files.
fn problems(all: &[Diagnostic], snapshot: &Snapshot, home: Option<&Path>) -> Vec<SetupProblem> {
    let mut found: Vec<&Diagnostic> = worth_a_line(all).collect();
    found.sort_by_key(|found| (!found.finding.code.drops_content(), found.finding.code.severity()));
    let problem = |diagnostic: &Diagnostic| {
        let finding = &diagnostic.finding;
        let file = short_path(&snapshot.file_of(diagnostic), home);
        SetupProblem {
            severity: finding.code.severity(),
            place: if finding.at.line > 0 { format!("{file}:{}", finding.at.line) } else { file },
            message: finding.message.clone(),
            hint: finding.hint.clone(),
        }
    };
    found.into_iter().map(problem).collect()
}

/// A path with `~` for the home folder.
pub(super) fn short_path(path: &str, home: Option<&Path>) -> String {
    let home = home.map(|home| home.to_string_lossy()).filter(|home| home.len() > 1);
    match home.and_then(|home| Some(path.strip_prefix(&*home)?.to_owned())) {
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_folder_is_a_tilde() {
        let home = Some(Path::new("/home/ada"));
        assert_eq!(short_path("/home/ada/x", home), "~/x");
        assert_eq!(short_path("/home/adam/x", home), "/home/adam/x");
        assert_eq!(short_path("/x", Some(Path::new("/"))), "/x");
        assert_eq!(short_path("/x", None), "/x");
    }
}
