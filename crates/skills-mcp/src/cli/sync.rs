//! `sync`: fetch the repositories now; with `--lock` write down what came, with `--locked` take nothing else.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    process::ExitCode,
    time::Instant,
};

use super::{
    Context, Failure, Output,
    lock_file::{self, LockFile},
    output::{counted, dim, safe},
};
use crate::{
    source::git::{GitError, Synced},
    store::{Cause, Outcome, Store, Urgency},
};

#[derive(clap::Args)]
pub(super) struct SyncOptions {
    /// Write source, commit and digest of every skill to skills.lock in this directory
    #[arg(long, conflicts_with = "locked")]
    lock: bool,
    /// Fetch exactly what skills.lock says, and fail if anything differs
    #[arg(long)]
    locked: bool,
}

pub(super) fn run(context: &Context, options: &SyncOptions) -> Result<ExitCode, Failure> {
    let mut store = context.store()?;
    let folder = &context.environment.directory;
    let no_repository = |store: &Store| store.repositories().next().is_none();
    let locked = options.locked.then(|| LockFile::read(folder)).transpose()?;
    if let Some(locked) = locked.as_ref().filter(|_| no_repository(&store)) {
        store = context.store_over(context.layers()?, &locked.named())?;
    }
    if no_repository(&store) {
        return Err(Failure::usage("no repository is named", NO_REPOSITORY));
    }
    let started = Instant::now();
    store.refresh(Cause::Start);
    let outcomes = match &locked {
        None => fetched(&store, Urgency::Now),
        Some(locked) => fetched(&store, Urgency::At(&locked.commits(&store)?)),
    };
    let mut out = Output::new();
    let mut failed = None;
    for Outcome { repository, result } in outcomes {
        match result {
            Ok(synced) => {
                let own = synced.own_branch.as_ref();
                let own =
                    own.map(|own| format!("  its own branch `{own}`, since there is no `main`"));
                out.line(format!(
                    "{}  {}  {}{}",
                    safe(repository.name()),
                    brought(&synced),
                    dim(&safe(&repository.remote().to_string())),
                    own.unwrap_or_default()
                ));
            }
            Err(error) => failed = failed.or(Some((repository.remote().to_string(), error))),
        }
    }
    if let Some((remote, error)) = failed {
        return Err(ended(&remote, &error));
    }
    let snapshot = store.refresh(Cause::Start).snapshot;
    let took = started.elapsed().as_millis();
    out.line(dim(&format!("{} in {took} ms", counted(snapshot.catalog.len(), "skill"))));
    if let Some(locked) = &locked {
        locked.verify(&LockFile::of(&store, &snapshot))?;
        out.line("as skills.lock says");
    }
    if options.lock {
        LockFile::of(&store, &snapshot).write(folder)?;
        out.line(format!("wrote {}", lock_file::NAME));
    }
    Ok(ExitCode::SUCCESS)
}

/// The hint where a command needs a repository.
pub(super) const NO_REPOSITORY: &str =
    "name one for good with `skills-mcp add URL`, for once with --repo URL or SKILLS_REPO";

/// For a command that shows content: fetches what was never fetched.
pub(super) fn at_first(store: &Store) -> Result<(), Failure> {
    fetched_at_first(store, GitError::hint)
}

/// The same for a repository that is not a source yet.
pub(super) fn before_adding(store: &Store) -> Result<(), Failure> {
    fetched_at_first(store, GitError::hint_before_adding)
}

fn fetched_at_first(store: &Store, hint: fn(&GitError) -> String) -> Result<(), Failure> {
    let missing = |store: &Store| {
        store.repositories().any(|(_, _, repository)| repository.commit().is_none())
    };
    if !missing(store) {
        return Ok(());
    }
    for Outcome { repository, result } in fetched(store, Urgency::Periodic) {
        if let Err(error) = result.as_ref()
            && repository.commit().is_none()
        {
            return Err(ended(&repository.remote().to_string(), error).with_hint(hint(error)));
        }
    }
    Ok(())
}

/// Syncs, with git's own progress on a terminal.
fn fetched(store: &Store, urgency: Urgency<'_>) -> Vec<Outcome> {
    let watched = stderr().is_terminal();
    let progress = |line: &str| {
        let _ = write!(stderr(), "\r\u{1b}[K{}", safe(line));
    };
    let outcomes = store.sync(urgency, if watched { Some(&progress) } else { None });
    if watched {
        let _ = write!(stderr(), "\r\u{1b}[K");
    }
    outcomes.unwrap_or_default()
}

fn brought(synced: &Synced) -> String {
    let commit: String = synced.commit.chars().take(12).collect();
    match (&synced.before, synced.changed.len()) {
        (None, 0) => format!("{commit}  nothing new"),
        (None, files) => format!("{commit}  {}", counted(files, "file")),
        (Some(before), files) => {
            let before: String = before.chars().take(12).collect();
            format!("{before}..{commit}  {} changed", counted(files, "file"))
        }
    }
}

/// What could not be fetched ends a command: our settings, what came, or the machine.
fn ended(remote: &str, error: &GitError) -> Failure {
    let message = format!("{remote} was not synced: {error}");
    let content = matches!(
        error,
        GitError::NoBranch { .. } | GitError::NoCommit(_) | GitError::Refused { .. }
    );
    let failure = if content { Failure::finding(message) } else { Failure::environment(message) };
    failure.with_hint(error.hint())
}
