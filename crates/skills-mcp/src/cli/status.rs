//! `status`: of each repository its commit, its age, how it stands to the remote, and what changed since `status` was last asked.

use std::{process::ExitCode, time::Duration};

use serde_json::{Value, json};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, safe},
    sync::NO_REPOSITORY,
};
use crate::{
    source::{Directory, git::Repository},
    store::Store,
};

#[derive(clap::Args)]
pub(super) struct StatusOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not ask the remote
    #[arg(long)]
    offline: bool,
}

/// The remote has this long to name its commit.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(15);
/// So many files are named one by one.
const MAX_LISTED_FILES: usize = 20;

/// What is known of one repository.
struct RepositoryStatus {
    name: String,
    url: String,
    wanted: String,
    commit: Option<String>,
    age: Option<Duration>,
    last_sync: Option<String>,
    /// The commit of the remote, or why it is not known.
    remote: Option<Result<Option<String>, String>>,
    edits: Vec<String>,
    since: Option<String>,
    changed: Vec<String>,
    trouble: Option<(String, String)>,
}

pub(super) fn run(context: &Context, options: &StatusOptions) -> Result<ExitCode, Failure> {
    let store = context.store()?;
    let seen: Vec<RepositoryStatus> = store
        .repositories()
        .map(|(_, source, repository)| {
            RepositoryStatus::of(&store, source, repository, options.offline)
        })
        .collect();
    if seen.is_empty() {
        return Err(Failure::usage("no repository is named", NO_REPOSITORY));
    }
    let mut out = Output::new();
    if options.json {
        out.json(&json!({"sources": seen.iter().map(RepositoryStatus::json).collect::<Vec<_>>()}));
    } else {
        for seen in &seen {
            seen.print(&mut out);
        }
    }
    let well = |seen: &RepositoryStatus| seen.commit.is_some() && seen.edits.is_empty();
    Ok(ExitCode::from(u8::from(!seen.iter().all(well))))
}

impl RepositoryStatus {
    fn of(store: &Store, source: &Directory, repository: &Repository, offline: bool) -> Self {
        let state = repository.state();
        let commit = repository.commit();
        let generation = commit.as_deref().and_then(|commit| repository.generation(commit));
        let branch = state.branch.clone().unwrap_or_else(|| store.git_settings(source).branch);
        let edits = generation.as_ref().map(|generation| repository.edits(generation));
        let remote = (!offline).then(|| repository.remote_head(&branch, REMOTE_TIMEOUT));
        let since = repository.mark_seen().filter(|since| Some(since) != commit.as_ref());
        let before = since.as_deref().and_then(|since| repository.generation(since));
        let changed = before
            .zip(generation.as_ref())
            .map(|(before, now)| now.manifest().differences(before.manifest()));
        Self {
            name: repository.name().to_string(),
            url: repository.remote().url().to_owned(),
            wanted: if state.branch.is_none() && commit.is_some() {
                "pinned".to_owned()
            } else {
                format!("branch {branch}")
            },
            age: state.age(),
            last_sync: state.last_sync(),
            remote: remote.map(|remote| remote.map_err(|error| error.to_string())),
            edits: edits.and_then(Result::ok).unwrap_or_default(),
            since,
            changed: changed.unwrap_or_default(),
            trouble: state.error,
            commit,
        }
    }

    /// How the commit stands to the remote.
    fn standing(&self) -> String {
        match (&self.remote, &self.commit) {
            (None, _) => "the remote was not asked".to_owned(),
            (Some(Err(error)), _) => format!("the remote cannot be asked: {error}"),
            (Some(Ok(None)), _) => "the branch is gone from the remote".to_owned(),
            (Some(Ok(head)), commit) if head == commit => {
                "the remote is at the same commit".to_owned()
            }
            (Some(Ok(Some(head))), _) if self.trouble.is_some() => {
                format!("the remote is at {}", short(head))
            }
            (Some(Ok(Some(head))), _) => {
                format!("the remote is at {}; `skills-mcp sync` takes it", short(head))
            }
        }
    }

    fn json(&self) -> Value {
        let remote =
            self.remote.as_ref().and_then(|remote| remote.as_ref().ok()).cloned().flatten();
        let up_to_date = remote.as_ref().map(|remote| Some(remote) == self.commit.as_ref());
        json!({
            "name": self.name,
            "source": self.url,
            "wanted": self.wanted,
            "commit": self.commit,
            "remote_commit": remote,
            "up_to_date": up_to_date,
            "last_sync": self.last_sync,
            "age_seconds": self.age.map(|age| age.as_secs()),
            "local_edits": self.edits,
            "changed_since": self.since,
            "changed": self.changed,
            "error": self.trouble.as_ref().map(|(error, _)| error),
            "hint": self.trouble.as_ref().map(|(_, hint)| hint),
        })
    }

    fn print(&self, out: &mut Output) {
        out.line(format!(
            "{}  {}  {}",
            bold(&safe(&self.name)),
            safe(&self.url),
            dim(&safe(&self.wanted))
        ));
        match &self.commit {
            Some(commit) => out.line(format!("  commit  {}", short(commit))),
            None => out.line("  commit  none yet; `skills-mcp sync` fetches it"),
        }
        let age = self.age.map_or_else(|| "never".to_owned(), |age| format!("{} ago", spoken(age)));
        out.line(format!("  synced  {age}; {}", safe(&self.standing())));
        if let Some((error, hint)) = &self.trouble {
            out.line(format!("  failed  {}", safe(error)));
            out.line(format!("          {}", dim(&safe(hint))));
        }
        let mut files = |title: &str, files: &[String]| {
            if files.is_empty() {
                return;
            }
            out.line(format!("  {title}"));
            files
                .iter()
                .take(MAX_LISTED_FILES)
                .for_each(|file| out.line(format!("    {}", safe(file))));
            if let Some(more) = files.len().checked_sub(MAX_LISTED_FILES).filter(|more| *more > 0) {
                out.line(format!("    and {more} more"));
            }
        };
        files(
            "edited in the local copy, which no sync keeps; edit the repository instead:",
            &self.edits,
        );
        let since = self.since.as_deref().map(short).unwrap_or_default();
        let title = format!(
            "{} changed since {since}, the commit at the last `status`:",
            counted(self.changed.len(), "file")
        );
        files(&title, &self.changed);
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

fn spoken(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
