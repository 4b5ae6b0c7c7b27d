//! `remove`: takes a source out of the user's configuration or the project's file. Not here: the files of the source, which stay.

use std::process::ExitCode;

use super::{
    Context, Failure, Output,
    add::address,
    output::{bold, safe},
    sources_file::{ConfigFile, kept_sources},
};
use crate::{
    config::{ListedPlace, ListedSource, NamedSources, github_url},
    paths::{expand_home, real_path_or_same},
};

#[derive(clap::Args)]
pub(super) struct RemoveOptions {
    /// The source: its name, folder or URL, or `agents` for the agents' directories
    #[arg(value_name = "NAME|PATH|URL")]
    what: String,
    /// Look only into the project's .skills-mcp.yaml
    #[arg(long)]
    project: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(context: &Context, options: &RemoveOptions) -> Result<ExitCode, Failure> {
    let environment = &context.environment;
    let _lock = if options.dry_run { None } else { ConfigFile::lock(environment)? };
    let kept = kept_sources(environment)?;
    let mut files =
        if options.project { Vec::new() } else { ConfigFile::all_of_user(environment)? };
    files.push(ConfigFile::of_project(environment)?);
    let found = files.iter().find_map(|file| {
        let numbers = matching(context, file, &kept, &options.what);
        (!numbers.is_empty()).then_some((file, numbers))
    });
    let Some((file, mut numbers)) = found else {
        return Err(Failure::usage(
            format!("no file names a source `{}`", options.what),
            "`skills-mcp list --sources` shows each source and the file that names it",
        ));
    };
    let mut out = Output::new();
    let is_left = |number: &usize| !numbers.contains(number);
    let left: Vec<&ListedSource> = (0..file.list.entries.len())
        .filter(is_left)
        .filter_map(|number| file.list.entries.get(number))
        .collect();
    // Without another source the agents' directories are served anyway.
    let only_agents = !left.is_empty()
        && left.iter().all(|entry| matches!(entry.place, ListedPlace::Agents(true)));
    if only_agents {
        numbers = (0..file.list.entries.len()).collect();
    }
    let changed = file.text.without_sources(&numbers).map_err(|error| file.refused(&error))?;
    if !options.dry_run {
        file.write(context, &changed)?;
    }
    let verb = if options.dry_run { "would remove" } else { "removed" };
    out.line(format!("{verb} {}", bold(&safe(&options.what))));
    file.print_change(&mut out, &changed);
    if left.is_empty() || only_agents {
        out.sentence("", "No source is left in this file.");
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of a file that are called this, or name this.
fn matching(context: &Context, file: &ConfigFile, kept: &NamedSources, what: &str) -> Vec<usize> {
    let home = context.environment.home.as_deref();
    let start = &context.environment.directory;
    let path = real_path_or_same(&start.join(expand_home(what, home)));
    let url = github_url(what, start).unwrap_or_else(|| what.to_owned());
    let is_called = |entry: &ListedSource| {
        let place = file.place(entry.line);
        let served = kept.sources.iter().find(|source| source.origin() == place);
        entry.name.as_deref() == Some(what) || served.is_some_and(|source| source.name() == what)
    };
    let is_it = |entry: &ListedSource| match &entry.place {
        ListedPlace::Agents(_) => what == "agents",
        ListedPlace::Directory(written) => {
            written == what || file.directory(entry, home).as_ref() == Some(&path)
        }
        ListedPlace::Repository(written) => {
            let known = file.url(entry).unwrap_or_default();
            written == what || known == url || address(&known) == url
        }
    };
    let entries = || file.list.entries.iter().enumerate();
    let numbers = |is: &dyn Fn(&ListedSource) -> bool| -> Vec<usize> {
        entries().filter(|(_, entry)| is(entry)).map(|(number, _)| number).collect()
    };
    // A name is exact; a path or URL may be any of them.
    let called = numbers(&is_called);
    if called.is_empty() { numbers(&is_it) } else { called }
}
