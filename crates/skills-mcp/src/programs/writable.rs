//! [`WritableFolders`]: which folders some run of a script may write to.
//!
//! It is the start directory, where that is a project, and what the operator names. Not here: which of them one run gets
//! (script), nor what a run may read.

use std::path::{Path, PathBuf};

use super::homes;
use crate::config::Environment;

/// The machine, as far as it decides where scripts may write.
#[derive(Debug, Default)]
pub struct WritableFolders {
    /// The server's start directory, links resolved.
    start: PathBuf,
    home: Option<PathBuf>,
    /// Of everybody on this machine.
    homes: Vec<PathBuf>,
    /// Where private folders are made.
    temporary: PathBuf,
}

/// Folders of the machine that are nobody's project, though projects may lie below some of them.
const MACHINE: &[&str] = &[
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
/// And those below which there are none.
const SETTINGS: &[&str] = &["/boot", "/etc"];

impl WritableFolders {
    /// The machine this process was started on.
    pub fn new(environment: &Environment) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        Self {
            start: real(&environment.directory),
            home: environment.home.as_deref().map(real),
            homes: homes::all(),
            temporary: real(&std::env::temp_dir()),
        }
    }

    /// The server's start directory.
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// The home folder of whoever started this process, where that is known.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Every folder that some run may write to, and so may leave programs in; `roots` are those of `scripts.roots`.
    pub fn folders(&self, roots: &[String]) -> Vec<PathBuf> {
        self.and_start(&self.named(roots))
    }

    /// The folders that the operator names.
    pub fn named(&self, roots: &[String]) -> Vec<PathBuf> {
        let named = roots.iter().map(|root| match (root.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(root),
        });
        named.filter_map(|root| root.canonicalize().ok()).collect()
    }

    /// The start directory, where it is somebody's project and not the machine, and what the operator names.
    pub fn and_start(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        let is_project = !self.is_home_or_above(&self.start)
            && (named.contains(&self.start) || self.machine(&self.start).is_none());
        let start = is_project.then(|| self.start.clone());
        start.into_iter().chain(named.iter().cloned()).collect()
    }

    /// What is the machine's or somebody else's, and no project.
    pub fn machine(&self, folder: &Path) -> Option<String> {
        let listed = MACHINE.iter().any(|place| folder == Path::new(place))
            || SETTINGS.iter().any(|place| folder.starts_with(place));
        if listed {
            return Some("is a folder of the system".to_owned());
        }
        if self.temporary.starts_with(folder) {
            return Some("holds the temporary files of everybody".to_owned());
        }
        let home = self.homes.iter().find(|home| home.starts_with(folder))?;
        Some(format!("is the home folder of a user or contains it ({})", home.display()))
    }

    /// Whether a whole folder would be too much to open: the home folder is in it.
    pub fn is_home_or_above(&self, folder: &Path) -> bool {
        folder.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(folder))
    }
}
