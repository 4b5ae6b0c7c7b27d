//! Finds the programs that this server starts: on the `PATH` as it was at the start, past every folder that a script may write.
//!
//! A script may leave a file called `git` in a folder of the project that is on the `PATH` (`.venv/bin`,
//! `node_modules/.bin`); whoever starts programs by their bare names would run it without a sandbox. So every program is
//! looked up here and started by its absolute path. Not here: starting anything.

mod homes;
mod writable;

use std::{
    env::consts::EXE_SUFFIX,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

pub use writable::WritableFolders;

/// Where the system itself looks for the programs of a process without a `PATH`.
const WITHOUT_A_PATH: &[&str] = &["/usr/bin", "/bin"];
/// A path with more symbolic links in it is not followed, as the system does not follow it either.
const MAX_LINKS: usize = 40;

/// The folders of the `PATH`, as it was at the start.
#[derive(Debug, Clone, Default)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
}

/// The same without what scripts may write at this moment.
#[derive(Debug, Clone, Copy)]
pub struct SafeSearchPath<'a> {
    folders: &'a [PathBuf],
    writable: &'a [PathBuf],
}

/// A program that may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Absolute, as the `PATH` names it: some programs do what they are called.
    pub path: PathBuf,
    /// Files of this name that come earlier on the `PATH`, and that a script could have put there.
    pub passed_over: Vec<PathBuf>,
}

/// Why there is no program of a name.
#[derive(Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// No folder has one, but for those that scripts may write.
    NotFound {
        /// What was found in such folders.
        passed_over: Vec<PathBuf>,
    },
    /// There is a file, and nothing that may be started.
    NotExecutable(PathBuf),
    /// It is named by a path with `..` in it.
    ParentInPath,
}

impl SearchPath {
    /// Relative entries and empty ones mean the working directory, and are never searched.
    pub fn new(folders: &[PathBuf]) -> Self {
        let mut folders: Vec<PathBuf> =
            folders.iter().filter(|folder| folder.is_absolute()).cloned().collect();
        if folders.is_empty() {
            folders.extend(WITHOUT_A_PATH.iter().map(PathBuf::from));
        }
        Self { folders }
    }

    /// Without the programs that lie in these folders, or are reached through them. The folders have no links in their paths.
    pub fn safe<'a>(&'a self, writable: &'a [PathBuf]) -> SafeSearchPath<'a> {
        SafeSearchPath { folders: &self.folders, writable }
    }
}

impl SafeSearchPath<'_> {
    /// The program of a name. One that is named by its path was chosen by the operator, and may lie anywhere.
    pub fn find(&self, name: &str) -> Result<Program, ProgramError> {
        if name.contains('/') {
            return named(Path::new(name));
        }
        let file = format!("{name}{EXE_SUFFIX}");
        let (mut passed_over, mut not_executable) = (Vec::new(), None);
        for path in self.folders.iter().map(|folder| folder.join(&file)) {
            if !path.is_file() {
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
    pub fn variable(&self) -> OsString {
        let safe = self.folders.iter().filter(|folder| !self.is_writable(folder));
        // A folder whose name holds the separator cannot have come from a `PATH`.
        std::env::join_paths(safe).unwrap_or_default()
    }

    /// Whether the program that is started by this name on [`Self::variable`] is one that a script may change: a file in a safe
    /// folder may be a link out of it.
    pub fn leads_to_writable(&self, name: &str) -> bool {
        let safe = self.folders.iter().filter(|folder| !self.is_writable(folder));
        let first = safe.map(|folder| folder.join(name)).find(|path| path.is_file());
        first.is_some_and(|path| self.is_writable(&path))
    }

    /// Whether a script may change what this path leads to: the file, or a link on the way to it.
    pub fn is_writable(&self, path: &Path) -> bool {
        let inside = |path: &Path| self.writable.iter().any(|folder| path.starts_with(folder));
        // Some disks know no upper and lower case; the system spells the real path in one way.
        passes_through(path, &inside) || path.canonicalize().is_ok_and(|real| inside(&real))
    }
}

/// Whether a path, or any link that is followed on the way, lies inside.
fn passes_through(path: &Path, inside: &dyn Fn(&Path) -> bool) -> bool {
    let mut left: Vec<PathBuf> = parts(path);
    let (mut real, mut links) = (PathBuf::new(), 0);
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::CurDir) | None => {}
            Some(_) => {
                // What is absolute replaces all that was before it.
                let next = real.join(&part);
                if inside(&next) {
                    return true;
                }
                match next.read_link() {
                    Ok(_) if links == MAX_LINKS => return true,
                    Ok(target) => {
                        links += 1;
                        left.extend(parts(&target));
                    }
                    Err(_) => real = next,
                }
            }
        }
    }
    false
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

fn named(path: &Path) -> Result<Program, ProgramError> {
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(ProgramError::ParentInPath);
    }
    match (path.is_absolute() && path.is_file(), is_executable(path)) {
        (true, true) => Ok(Program { path: path.to_path_buf(), passed_over: Vec::new() }),
        (true, false) => Err(ProgramError::NotExecutable(path.to_path_buf())),
        (false, _) => Err(ProgramError::NotFound { passed_over: Vec::new() }),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
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
        let project = [real.join("project")];
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
            assert!(search.safe(&[]).find("git").is_ok(), "{}", folder.display());
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
        let project = [real.join("project")];
        assert_eq!(search.safe(&project).variable(), real.join("safe").into_os_string());
        assert_eq!(SearchPath::new(&["bin".into()]).safe(&project).variable(), "/usr/bin:/bin");
    }

    #[test]
    fn links_that_go_round_in_circles_are_not_followed() {
        let (_home, real) = home(&[]);
        symlink(real.join("b"), real.join("a")).unwrap();
        symlink(real.join("a"), real.join("b")).unwrap();
        let search = SearchPath::new(&[]);
        assert!(search.safe(&[real.join("project")]).is_writable(&real.join("a/git")));
    }
}
