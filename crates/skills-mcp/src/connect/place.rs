//! Where a client's files are on this machine: the paths of the table of clients, with their variables replaced.

use std::path::{Path, PathBuf};

use crate::{
    clients::{EntryFormat, FOLDER_VARIABLES, ServerEntry},
    config::Environment,
    connect::tree::FileLanguage,
    paths::{is_file, is_taken, project_levels},
};

/// Whose file it is. Of two entries of one name the later counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// The folders around a file that are the client's own, the innermost first: those inside the home folder, the folder of
/// settings, the project or a folder that a variable names, and none of these themselves.
pub(super) fn client_folders(
    file: &Path,
    environment: &Environment,
    project: &Path,
) -> Vec<PathBuf> {
    let around = [environment.home.as_deref(), environment.config_home.as_deref(), Some(project)];
    let named = environment.claude_config.iter().chain(environment.client_folders.values());
    let kept: Vec<&Path> =
        around.into_iter().flatten().chain(named.map(PathBuf::as_path)).collect();
    let is_kept = |folder: &Path| kept.iter().any(|kept| kept.starts_with(folder));
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| !is_kept(folder)).collect();
    // Where nothing that is kept is around them, the next would be anyone's.
    let outermost = folders.last().and_then(|folder| folder.parent());
    let is_known = outermost.is_some_and(|folder| kept.contains(&folder));
    if is_known { folders.into_iter().map(Path::to_path_buf).collect() } else { Vec::new() }
}

/// The project around a folder: up to the repository's root, else the folder itself.
pub fn project_root(environment: &Environment) -> PathBuf {
    let folders = project_levels(&environment.directory, environment.home.as_deref());
    let root = folders.into_iter().find(|folder| is_taken(&folder.join(".git")));
    root.unwrap_or_else(|| environment.directory.clone())
}

/// The language of a format's files.
pub(super) fn language(format: EntryFormat) -> FileLanguage {
    match format.language() {
        "toml" => FileLanguage::Toml,
        "yaml" => FileLanguage::Yaml,
        _ => FileLanguage::Json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_client_are_inside_known_ones() {
        let environment = Environment {
            home: Some("/home/ada".into()),
            config_home: Some("/home/ada/.config".into()),
            client_folders: [("CODEX_HOME", "/data/x/codex".into())].into(),
            ..Environment::default()
        };
        let folders = |file: &str| {
            client_folders(Path::new(file), &environment, Path::new("/home/ada/code/p"))
        };
        let none: [PathBuf; 0] = [];
        assert_eq!(folders("/home/ada/.claude.json"), none);
        let inside = ["/home/ada/.cline/data", "/home/ada/.cline"];
        assert_eq!(folders("/home/ada/.cline/data/x.json"), inside.map(PathBuf::from));
        let goose = ["/home/ada/.config/goose"];
        assert_eq!(folders("/home/ada/.config/goose/config.yaml"), goose.map(PathBuf::from));
        let cursor = ["/home/ada/code/p/.cursor"];
        assert_eq!(folders("/home/ada/code/p/.cursor/mcp.json"), cursor.map(PathBuf::from));
        assert_eq!(folders("/data/x/codex/config.toml"), none);
        assert_eq!(folders("/data/y/z/config.toml"), none);
    }
}
