//! Questions about paths of this machine: where a path really leads, what is there, what `~` stands for.
//!
//! The answer may be outdated when it is used, so nothing that content can change is decided by it: files of content are
//! opened and judged by their handles (`source/disk`).

#![expect(clippy::disallowed_methods, reason = "this file answers questions about paths")]

use std::{
    env, io,
    path::{Path, PathBuf},
};

/// A path with its links resolved, if it exists.
pub(crate) fn real_path(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// A path with its links resolved, if it exists; else the path itself.
pub(crate) fn real_path_or_same(path: &Path) -> PathBuf {
    real_path(path).unwrap_or_else(|| path.to_path_buf())
}

/// A path with its links resolved, if it is a folder.
pub(crate) fn real_folder(path: &Path) -> Option<PathBuf> {
    real_path(path).filter(|path| path.is_dir())
}

/// A path as an operator writes it: a leading `~` is the home folder.
pub(crate) fn expand_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// Whether a path leads to a regular file.
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether a path leads to a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Why a folder cannot be listed.
pub(crate) fn listing_error(path: &Path) -> Option<io::Error> {
    path.read_dir().err()
}

/// The paths of what is in a folder; none where it cannot be listed.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Whether a path is a symbolic link.
pub(crate) fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

/// Whether a path is a folder and no link to one.
pub(crate) fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Whether a path leads to anything.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether there is anything of this name, even a link that leads nowhere.
pub(crate) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The target of a symbolic link; none where the path is no link.
pub(crate) fn link_target(path: &Path) -> Option<PathBuf> {
    path.read_link().ok()
}

/// How many folders above the start directory are searched for the repository's root.
const MAX_PROJECT_DEPTH: usize = 64;

/// The folders of a project: from the start directory up to the repository's root; without a repository, the start
/// directory alone. A folder in which another user can make files is none of them, for they would be served. Neither is the
/// home folder above the start directory, though it may be a repository: links of a project may lead anywhere in it.
pub(crate) fn project_levels(start: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let homes: Vec<PathBuf> =
        home.into_iter().flat_map(|home| [home.to_path_buf(), real_path_or_same(home)]).collect();
    let holds_home = |folder: &Path| homes.iter().any(|home| home.starts_with(folder));
    let is_project =
        |folder: &&Path| is_own_folder(folder, start) && (*folder == start || !holds_home(folder));
    let above: Vec<&Path> =
        start.ancestors().take(MAX_PROJECT_DEPTH).take_while(is_project).collect();
    // A folder, or a file in a worktree or a submodule.
    let root = above.iter().position(|folder| is_taken(&folder.join(".git")));
    above.into_iter().take(root.unwrap_or(0) + 1).map(Path::to_path_buf).collect()
}

/// Whether a folder belongs to this user, to root, or to the user to whom the start directory belongs: a container's root works
/// in folders of others. A folder in which everyone may make files, such as `/tmp`, belongs to no project.
#[cfg(unix)]
fn is_own_folder(folder: &Path, start: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const SHARED_MODE: u32 = 0o1002;
    let Ok(found) = folder.metadata() else { return true };
    let users = [rustix::process::geteuid().as_raw(), 0];
    let is_owned = users.contains(&found.uid())
        || start.metadata().is_ok_and(|start| start.uid() == found.uid());
    is_owned && found.mode() & SHARED_MODE != SHARED_MODE
}

#[cfg(not(unix))]
fn is_own_folder(_: &Path, _: &Path) -> bool {
    true
}

/// Whether a path leads to a file that may be executed.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The path of this program.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// The folder of temporary files.
pub(crate) fn temporary_folder() -> PathBuf {
    env::temp_dir()
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, chown},
    };

    use skills_testkit::Home;

    use super::*;

    #[test]
    fn a_folder_in_which_others_can_make_files_is_no_part_of_a_project() {
        let home = Home::new();
        home.write("shared/project/below/x", "");
        home.write("shared/.git/HEAD", "");
        let (shared, project) = (home.path().join("shared"), home.path().join("shared/project"));
        let levels = |start: &str| project_levels(&home.path().join(start), None);
        assert_eq!(levels("shared/project"), [project.clone(), shared.clone()]);
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(levels("shared/project"), [project.as_path()], "as /tmp");
        assert_eq!(levels("shared"), Vec::<PathBuf>::new());
        // Only root can give a folder away.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        if chown(&shared, Some(65_534), None).is_ok() {
            assert_eq!(levels("shared/project"), [project.as_path()], "another user's");
            chown(&project, Some(65_534), None).unwrap();
            assert_eq!(levels("shared/project"), [project, shared], "all of it another user's");
        }
    }

    #[test]
    fn a_home_folder_that_is_a_repository_is_no_project_around_others() {
        let home = Home::new();
        home.write("user/.git/HEAD", "");
        home.write("user/repo/.git/HEAD", "");
        home.write("user/repo/below/x", "");
        home.write("user/unpacked/x", "");
        let user = home.path().join("user");
        let linked = home.path().join("linked");
        std::os::unix::fs::symlink(&user, &linked).unwrap();
        for named in [&user, &linked] {
            let levels = |start: &str| project_levels(&user.join(start), Some(named));
            assert_eq!(levels("unpacked"), [user.join("unpacked")]);
            assert_eq!(levels("repo/below"), [user.join("repo/below"), user.join("repo")]);
            assert_eq!(levels(""), [user.join("")]);
        }
    }
}
