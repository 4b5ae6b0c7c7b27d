//! Finds the programs that this server starts: on the `PATH` as it was at the start, skipping every folder that a script may
//! write.
//!
//! A script may leave a file called `git` in a folder of the project that is on the `PATH` (`.venv/bin`,
//! `node_modules/.bin`); a server that started `git` by its bare name would run that file without a sandbox. So every program
//! is looked up here and started by its absolute path. Not here: starting anything.

mod homes;
mod system;
mod writable;

use std::{
    env::consts::EXE_SUFFIX,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

pub(crate) use homes::own_home;
pub(crate) use system::{SYSTEM_PROGRAMS, is_in_system_programs};
pub(crate) use writable::WritableFolders;

use crate::paths::{is_executable, is_file, link_target, real_path};

/// Where the system looks for programs without a `PATH`.
const DEFAULT_PATH: &[&str] = &["/usr/bin", "/bin"];
/// How many symbolic links a path may have, as on Linux.
const MAX_FOLLOWED_LINKS: usize = 40;

/// The folders of the `PATH`, as it was at the start.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchPath {
    folders: Vec<PathBuf>,
}

/// The folders of the `PATH`, and those that scripts may write at this moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SafeSearchPath<'a> {
    folders: &'a [PathBuf],
    writable: &'a [PathBuf],
}

/// The folders in which scripts may have left programs. The paths have no links.
#[derive(Debug, Default)]
pub(crate) struct UnsafeFolders(pub(crate) Vec<PathBuf>);

impl UnsafeFolders {
    /// Whether a script may change what this path leads to.
    pub(crate) fn lead_to(&self, path: &Path) -> bool {
        is_reached_through(path, &self.0)
    }
}

/// A program that may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Absolute, links not resolved: some programs behave according to their name.
    pub(crate) path: PathBuf,
    /// Files of this name earlier on the `PATH`, which a script could have put there.
    pub(crate) passed_over: Vec<PathBuf>,
}

/// Why a program cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramError {
    /// No folder has one, except those that scripts may write.
    NotFound {
        /// Those in such folders.
        passed_over: Vec<PathBuf>,
    },
    /// The file may not be executed.
    NotExecutable(PathBuf),
    /// The path is not absolute.
    Relative,
    /// The path has a `..` in it.
    ParentInPath,
}

impl SearchPath {
    /// Relative and empty entries mean the working directory, and are never searched.
    pub(crate) fn new(folders: &[PathBuf]) -> Self {
        let mut folders: Vec<PathBuf> =
            folders.iter().filter(|folder| folder.is_absolute()).cloned().collect();
        if folders.is_empty() {
            folders.extend(DEFAULT_PATH.iter().map(PathBuf::from));
        }
        Self { folders }
    }

    /// All of it, to ask what is there and not to start anything.
    pub(crate) fn unguarded(&self) -> SafeSearchPath<'_> {
        SafeSearchPath { folders: &self.folders, writable: &[] }
    }

    /// Without the programs in these folders, or reached through them.
    pub(crate) fn safe<'a>(&'a self, writable: &'a UnsafeFolders) -> SafeSearchPath<'a> {
        SafeSearchPath { folders: &self.folders, writable: &writable.0 }
    }
}

impl SafeSearchPath<'_> {
    /// The program of a name. An operator who names a path instead may name any.
    pub(crate) fn find(&self, name: &str) -> Result<Program, ProgramError> {
        if name.contains('/') {
            return find_by_path(Path::new(name));
        }
        let file = format!("{name}{EXE_SUFFIX}");
        let (mut passed_over, mut not_executable) = (Vec::new(), None);
        for path in self.folders.iter().map(|folder| folder.join(&file)) {
            if !is_file(&path) {
                continue;
            }
            if self.is_writable(&path) {
                passed_over.push(path);
            } else if is_executable(&path) {
                return Ok(Program { path, passed_over });
            } else {
                not_executable = not_executable.or(Some(path));
            }
        }
        Err(match not_executable {
            Some(path) => ProgramError::NotExecutable(path),
            None => ProgramError::NotFound { passed_over },
        })
    }

    /// The `PATH` for a program that starts others by their names.
    pub(crate) fn variable(&self) -> OsString {
        // A folder whose name holds the separator cannot have come from a `PATH`.
        std::env::join_paths(self.safe_folders()).unwrap_or_default()
    }

    /// Whether a script may change the program that [`Self::variable`] leads to: a file in a safe folder may be a link.
    pub(crate) fn leads_to_writable(&self, name: &str) -> bool {
        let first = self.safe_folders().map(|folder| folder.join(name)).find(|path| is_file(path));
        first.is_some_and(|path| self.is_writable(&path))
    }

    fn safe_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().filter(|folder| !self.is_writable(folder))
    }

    /// Whether a script may change what this path leads to: the file, or a link on the way to it.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        is_reached_through(path, self.writable)
    }
}

/// Whether a path leads into one of these folders, or through one on the way: who may write there decides what the path leads
/// to. The paths of the folders have no links; nothing has to be at the path yet.
fn is_reached_through(path: &Path, folders: &[PathBuf]) -> bool {
    let inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    // Some disks ignore upper and lower case; the real path is always spelled the same.
    passes_through(path, &inside) || real_path(path).is_some_and(|real| inside(&real))
}

/// Whether a path, or any link that is followed on the way, is inside.
fn passes_through(path: &Path, inside: &dyn Fn(&Path) -> bool) -> bool {
    let mut left: Vec<PathBuf> = reversed_parts(path);
    let (mut real, mut links) = (PathBuf::new(), 0);
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::CurDir) | None => {}
            Some(_) => {
                // An absolute part replaces all before it.
                let next = real.join(&part);
                if inside(&next) {
                    return true;
                }
                match link_target(&next) {
                    Some(_) if links == MAX_FOLLOWED_LINKS => return true,
                    Some(target) => {
                        links += 1;
                        left.extend(reversed_parts(&target));
                    }
                    None => real = next,
                }
            }
        }
    }
    false
}

fn reversed_parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

fn find_by_path(path: &Path) -> Result<Program, ProgramError> {
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(ProgramError::ParentInPath);
    }
    if !path.is_absolute() {
        return Err(ProgramError::Relative);
    }
    match (is_file(path), is_executable(path)) {
        (true, true) => Ok(Program { path: path.to_path_buf(), passed_over: Vec::new() }),
        (true, false) => Err(ProgramError::NotExecutable(path.to_path_buf())),
        (false, _) => Err(ProgramError::NotFound { passed_over: Vec::new() }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use skills_testkit::Home;

    use super::*;

    /// Programs of these paths in a home, and the home's real path.
    fn home(programs: &[&str]) -> (Home, PathBuf) {
        let home = Home::new();
        for path in programs {
            home.write(path, "#!/bin/sh\n");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(home.path().join(path), mode).unwrap();
        }
        let real = home.path().canonicalize().unwrap();
        (home, real)
    }

    #[test]
    fn e01_a_program_that_a_script_may_write_is_passed_over_however_it_is_reached() {
        let (_home, real) = home(&["project/.venv/bin/git", "project/x/git", "safe/git"]);
        let project = UnsafeFolders(vec![real.join("project")]);
        symlink(real.join("project/.venv/bin"), real.join("linked")).unwrap();
        std::fs::create_dir(real.join("file-linked")).unwrap();
        symlink(real.join("project/x/git"), real.join("file-linked/git")).unwrap();
        // What it leads to is safe now, but the link on the way is the script's to change.
        std::fs::create_dir(real.join("twice-linked")).unwrap();
        symlink(real.join("safe/git"), real.join("project/link")).unwrap();
        symlink("../project/link", real.join("twice-linked/git")).unwrap();
        let planted = [
            real.join("project/.venv/bin"),
            real.join("safe/../project/x"),
            real.join("linked"),
            real.join("file-linked"),
            real.join("twice-linked"),
        ];
        for folder in &planted {
            let search = SearchPath::new(&[folder.clone(), real.join("safe")]);
            let found = search.safe(&project).find("git").unwrap();
            assert_eq!(found.path, real.join("safe/git"), "{}", folder.display());
            assert_eq!(found.passed_over, [folder.join("git")]);
            let search = SearchPath::new(std::slice::from_ref(folder));
            let absent = search.safe(&project).find("git").unwrap_err();
            let passed_over = vec![folder.join("git")];
            assert_eq!(absent, ProgramError::NotFound { passed_over });
            assert!(search.unguarded().find("git").is_ok(), "{}", folder.display());
        }
    }

    #[test]
    fn e01_the_path_of_what_is_started_holds_only_folders_that_no_script_may_write() {
        let (_home, real) = home(&["project/bin/git", "safe/git"]);
        symlink(real.join("project/bin"), real.join("linked")).unwrap();
        let folders = ["", ".", "bin", "../bin"].map(PathBuf::from).into_iter().chain([
            real.join("project/bin"),
            real.join("project/not/yet/there"),
            real.join("linked"),
            real.join("safe"),
        ]);
        let search = SearchPath::new(&folders.collect::<Vec<_>>());
        let project = UnsafeFolders(vec![real.join("project")]);
        assert_eq!(search.safe(&project).variable(), real.join("safe").into_os_string());
        assert_eq!(SearchPath::new(&["bin".into()]).safe(&project).variable(), "/usr/bin:/bin");
    }

    #[test]
    fn links_that_go_round_in_circles_are_not_followed() {
        let (_home, real) = home(&[]);
        symlink(real.join("b"), real.join("a")).unwrap();
        symlink(real.join("a"), real.join("b")).unwrap();
        let search = SearchPath::new(&[]);
        let project = UnsafeFolders(vec![real.join("project")]);
        assert!(search.safe(&project).is_writable(&real.join("a/git")));
    }
}
