//! Where a client's files are on this machine: the paths of the table of clients, with their variables replaced.

use std::path::{Path, PathBuf};

use crate::{
    clients::{EntryFormat, FOLDER_VARIABLES, ServerEntry},
    config::Environment,
    connect::tree::FileLanguage,
    paths::{is_file, is_taken},
};

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryScope {
    /// Of the user, for all projects.
    User,
    /// Of a project, for all who work on it.
    Project,
    /// Of the user, for one project alone.
    Local,
}

impl EntryScope {
    /// Its word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// The path of the table as a path of this machine; none where the environment lacks the folder that it begins with.
pub(super) fn resolved(place: &str, environment: &Environment) -> Option<PathBuf> {
    let (first, rest) = place.split_once('/').unwrap_or((place, ""));
    let home = environment.home.as_deref();
    let folder = match first {
        "~" => home?.to_path_buf(),
        "$CONFIG" => environment.config_home.clone()?,
        // Claude Code has this one file beside its folder, or in the folder that the variable names.
        "$CLAUDE_JSON" => environment.claude_config.as_deref().or(home)?.join(".claude.json"),
        _ => {
            let name = first.strip_prefix('$')?;
            let known = FOLDER_VARIABLES.iter().find(|variable| variable.name == name)?;
            let set = environment.client_folders.get(known.name).cloned();
            set.or_else(|| Some(home?.join(known.default.strip_prefix("~/")?)))?
        }
    };
    Some(if rest.is_empty() { folder } else { folder.join(rest) })
}

/// The files in which a client may name servers, those of the project last.
pub(super) fn files(
    entry: &ServerEntry,
    environment: &Environment,
    project: &Path,
) -> Vec<(EntryScope, PathBuf)> {
    let user = entry.user.iter().filter_map(|file| resolved(file.here(), environment));
    let user = user.map(|path| (EntryScope::User, path));
    let project = entry.project.iter().map(|path| (EntryScope::Project, project.join(path)));
    user.chain(project).collect()
}

/// The one file of a scope that an entry goes to: the first that exists, else the first.
pub(super) fn file_for(
    entry: &ServerEntry,
    scope: EntryScope,
    environment: &Environment,
    project: &Path,
) -> Option<PathBuf> {
    let files = files(entry, environment, project);
    let mut of_scope = files.into_iter().filter(|(of, _)| *of == scope).map(|(_, path)| path);
    let first = of_scope.next()?;
    if is_file(&first) {
        return Some(first);
    }
    Some(of_scope.find(|path| is_file(path)).unwrap_or(first))
}

/// The project around a folder: up to the repository's root, else the folder itself.
pub fn project_root(environment: &Environment) -> PathBuf {
    let folders = environment.directory.ancestors();
    let mut below_home = folders.take_while(|folder| Some(*folder) != environment.home.as_deref());
    let root = below_home.find(|folder| is_taken(&folder.join(".git")));
    root.unwrap_or(&environment.directory).to_path_buf()
}

/// The language of a format's files.
pub(super) fn language(format: EntryFormat) -> FileLanguage {
    match format.language() {
        "toml" => FileLanguage::Toml,
        "yaml" => FileLanguage::Yaml,
        _ => FileLanguage::Json,
    }
}
