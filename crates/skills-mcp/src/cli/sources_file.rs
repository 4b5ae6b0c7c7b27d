//! [`ConfigFile`]: the user's or the project's configuration file on its way through a change, for `add`, `remove` and
//! `config set`.
//!
//! A file that cannot be read, or is no YAML, is never written. Not here: what is changed.

use std::path::{Path, PathBuf};

use super::{
    Context, Failure, Output,
    output::{dim, safe},
};
use crate::{
    config::{
        ConfigFileLock, ConfigText, EditError, Environment, ListedPlace, ListedSource,
        NamedSources, PROJECT_FILE, ProjectConsent, ProjectFile, SourceList, github_url,
        lock_config_files, named_sources, read_optional, replace_file,
    },
    paths::{exists, expand_home, is_link, project_levels, real_path_or_same},
};

/// A configuration file.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Its text as it was read; none where there is no file.
    before: Option<String>,
    pub(super) text: ConfigText,
    pub(super) list: SourceList,
    /// The project that it is the file of.
    pub(super) project: Option<PathBuf>,
    /// Whether the operator agreed to it, so that they agree to their own change too.
    agreed: bool,
}

impl ConfigFile {
    /// Keeps other commands from changing a file between its reading and its writing; none without a home folder, where there
    /// is no place for the lock.
    pub(super) fn lock(environment: &Environment) -> Result<Option<ConfigFileLock>, Failure> {
        let locked = environment.home.as_deref().map(lock_config_files).transpose();
        locked.map_err(|error| {
            Failure::environment(format!("nothing was written: ~/.skills-mcp/config.lock: {error}"))
                .with_hint("run the command again")
        })
    }

    /// The user's file that counts most of those there are; where there is none, the one to make.
    pub(super) fn of_user(environment: &Environment) -> Result<Self, Failure> {
        let files = environment.user_files();
        let there = files.iter().rev().find(|file| exists(file));
        let file = there.or_else(|| files.last()).ok_or_else(|| {
            Failure::environment("there is no home folder for your configuration")
                .with_hint("set HOME")
        })?;
        Self::read(file.clone(), None, false)
    }

    /// Every file of the user's that is there.
    pub(super) fn all_of_user(environment: &Environment) -> Result<Vec<Self>, Failure> {
        let files = environment.user_files().into_iter().rev().filter(|file| exists(file));
        files.map(|file| Self::read(file, None, false)).collect()
    }

    /// The project's file, or the one to make in the repository's root.
    pub(super) fn of_project(environment: &Environment) -> Result<Self, Failure> {
        if let Some(found) = ProjectFile::find(environment) {
            let agreed = matches!(found.consent, ProjectConsent::Agreed(_));
            return Self::read(found.path, Some(found.root), agreed);
        }
        let levels = project_levels(&environment.directory, environment.home.as_deref());
        let root = levels.last().unwrap_or(&environment.directory);
        let root = real_path_or_same(root);
        Self::read(root.join(PROJECT_FILE), Some(root), true)
    }

    fn read(path: PathBuf, project: Option<PathBuf>, agreed: bool) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if project.is_some() && is_link(&path) {
            let message = format!("{name} is a symbolic link, which is not followed in a project");
            return Err(Failure::usage(message, "replace it by a file"));
        }
        let before = read_optional(&path).map_err(|error| {
            Failure::usage(format!("{name}: {error}"), "fix its permissions, or move it away")
        })?;
        let known = before.as_deref().unwrap_or_default();
        let text = ConfigText::read(known).map_err(|error| refused(&path, &error))?;
        let list = SourceList::read(&name, known)?;
        Ok(Self { path, before, text, list, project, agreed })
    }

    /// Its folder, which relative paths in it begin in.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The place of one of its lines.
    pub(super) fn place(&self, line: u32) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// The directory that an entry names, with its links resolved.
    pub(super) fn directory(&self, entry: &ListedSource, home: Option<&Path>) -> Option<PathBuf> {
        let ListedPlace::Directory(path) = &entry.place else { return None };
        Some(real_path_or_same(&self.folder().join(expand_home(path, home))))
    }

    /// The address of the repository that an entry names.
    pub(super) fn url(&self, entry: &ListedSource) -> Option<String> {
        let ListedPlace::Repository(url) = &entry.place else { return None };
        Some(github_url(url, self.folder()).unwrap_or_else(|| url.clone()))
    }

    /// Why this change cannot be made.
    pub(super) fn refused(&self, error: &EditError) -> Failure {
        refused(&self.path, error)
    }

    /// Writes the changed text, unless the file has changed since it was read. A project's file that the operator had agreed to
    /// stays agreed to.
    pub(super) fn write(&self, context: &Context, changed: &ConfigText) -> Result<(), Failure> {
        let (after, of_project) = (changed.text(), self.project.is_some());
        let name = self.path.display();
        // What would not be read again is not written.
        SourceList::read(&name.to_string(), &after)?;
        replace_file(&self.path, self.before.as_deref(), &after, of_project)
            .map_err(|error| Failure::environment(format!("{name} was not written: {error}")))?;
        let environment = &context.environment;
        let Some(found) = ProjectFile::find(environment).filter(|_| of_project) else {
            return Ok(());
        };
        if self.agreed && found.path == self.path {
            found.decide(environment, true).map_err(|why| {
                Failure::environment(format!("{name} was written, and consent was not: {why}"))
                    .with_hint("`skills-mcp trust --yes` records it")
            })?;
        }
        Ok(())
    }

    /// Prints the lines that a change takes out and puts in.
    pub(super) fn print_change(&self, out: &mut Output, changed: &ConfigText) {
        let (before, after) = (self.before.clone().unwrap_or_default(), changed.text());
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let rest = old.len().min(new.len()) - start;
        let same = old.iter().rev().zip(new.iter().rev()).take(rest);
        let end = same.take_while(|(old, new)| old == new).count();
        out.line(dim(&safe(&self.path.display().to_string())));
        let part = |lines: &[&str]| -> Vec<String> {
            let kept = lines.len().saturating_sub(end);
            lines.iter().take(kept).skip(start).map(|line| safe(line)).collect()
        };
        for line in part(&old) {
            out.line(format!("- {line}"));
        }
        for line in part(&new) {
            out.line(format!("+ {line}"));
        }
    }
}

/// The sources that files name, whatever flags and variables say.
pub(super) fn kept_sources(environment: &Environment) -> Result<NamedSources, Failure> {
    let mut environment = environment.clone();
    environment.variables.retain(|name, _| !matches!(*name, "SKILLS_DIR" | "SKILLS_REPO"));
    Ok(named_sources(&environment, &[], &[])?)
}

/// A sentence for where a variable hides what the files name.
pub(super) fn hidden_by(environment: &Environment) -> Option<String> {
    let variable =
        ["SKILLS_DIR", "SKILLS_REPO"].into_iter().find(|name| environment.get(name).is_some())?;
    Some(format!("{variable} is set here, so the sources of files are not used while it is"))
}

fn refused(path: &Path, error: &EditError) -> Failure {
    let message = format!("{}:{error}; the file is as it was", path.display());
    match error {
        EditError::Syntax(_) => Failure::usage(message, "correct the file first"),
        EditError::NotLines { by_hand, .. } if by_hand.is_empty() => {
            Failure::usage(message, "take it out by hand")
        }
        EditError::NotLines { by_hand, .. } => {
            Failure::usage(message, format!("write this by hand:\n{}", by_hand.join("\n")))
        }
    }
}
