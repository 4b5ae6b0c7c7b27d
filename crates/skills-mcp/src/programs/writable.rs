//! [`WritableFolders`]: the folders that scripts may write.
//!
//! They are the server's start directory, where that is a project, and what `scripts.roots` names. Not here: which of them one
//! run gets (script), nor what a run may read.

use std::path::{Path, PathBuf};

use super::{UnsafeFolders, homes, is_in_system_programs, is_reached_through};
use crate::{
    config::Environment,
    paths::{expand_home, real_path, real_path_or_same, temporary_folder},
};

/// What decides which folders scripts may write.
#[derive(Debug, Default)]
pub(crate) struct WritableFolders {
    /// The server's start directory, links resolved.
    start: PathBuf,
    home: Option<PathBuf>,
    /// The home folders of all users.
    homes: Vec<PathBuf>,
    /// The folder of temporary files, where workspaces are made.
    temporary: PathBuf,
    /// The user's configuration files, which may turn the sandbox off.
    configuration: Vec<PathBuf>,
}

/// Folders of the system that are no projects, though some may hold projects.
const SYSTEM_FOLDERS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/tmp",
];
/// Those that hold no projects either, like the folders of the system's programs.
const SYSTEM_TREES: &[&str] = &["/boot", "/dev", "/etc", "/proc", "/sys"];

impl WritableFolders {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            start: real_path_or_same(&environment.directory),
            home: environment.home.as_deref().map(real_path_or_same),
            homes: homes::home_folders(),
            temporary: real_path_or_same(&temporary_folder()),
            configuration: configuration(environment),
        }
    }

    /// The server's start directory.
    pub(crate) fn start(&self) -> &Path {
        &self.start
    }

    /// The home folder of the user, where that is known.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Every folder that a run may write, and so may hold programs that a script left; `roots` are those of `scripts.roots`.
    pub(crate) fn folders(&self, roots: &[String]) -> UnsafeFolders {
        UnsafeFolders(self.with_start(&self.named(roots)))
    }

    /// The folders of `scripts.roots` that exist.
    pub(crate) fn named(&self, roots: &[String]) -> Vec<PathBuf> {
        roots.iter().filter_map(|root| real_path(&expand_home(root, self.home()))).collect()
    }

    /// The start directory, where it is a project, and what the operator names.
    pub(crate) fn with_start(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        let is_project = !self.is_home_or_above(&self.start)
            && (named.contains(&self.start) || self.why_no_project(&self.start).is_none());
        let start = is_project.then(|| self.start.clone());
        start.into_iter().chain(named.iter().cloned()).collect()
    }

    /// Why a folder is no project: it belongs to the system or to another user.
    pub(crate) fn why_no_project(&self, folder: &Path) -> Option<String> {
        let listed = SYSTEM_FOLDERS.iter().any(|system| folder == Path::new(system))
            || SYSTEM_TREES.iter().any(|tree| folder.starts_with(tree))
            || is_in_system_programs(folder);
        if listed {
            return Some("is a folder of the system".to_owned());
        }
        if self.temporary.starts_with(folder) {
            return Some("holds the temporary files of all users".to_owned());
        }
        let home = self.homes.iter().find(|home| home.starts_with(folder))?;
        Some(format!("is a user's home folder or holds it ({})", home.display()))
    }

    /// The file of the user's configuration that a script in this folder could write or replace, or whose folder it is in.
    pub(crate) fn overlapping_configuration(&self, folder: &Path) -> Option<&Path> {
        let writable = [folder.to_path_buf()];
        let overlaps = |file: &&PathBuf| {
            let beside = file.parent().and_then(real_path);
            is_reached_through(file, &writable)
                || beside.is_some_and(|beside| folder.starts_with(beside))
        };
        self.configuration.iter().find(overlaps).map(PathBuf::as_path)
    }

    /// Whether a folder is the user's home folder or holds it.
    pub(crate) fn is_home_or_above(&self, folder: &Path) -> bool {
        folder.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(folder))
    }
}

/// The configuration files that this process reads, and those that one without `XDG_CONFIG_HOME` would.
fn configuration(environment: &Environment) -> Vec<PathBuf> {
    let usual = environment.home.as_ref().map(|home| home.join(".config"));
    let usual = Environment { config_home: usual, ..environment.clone() };
    let mut files = environment.user_files();
    files.extend(usual.user_files());
    files.dedup();
    files
}
