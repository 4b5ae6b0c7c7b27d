//! The system's programs and libraries: where distributions lay them out, and which of them only root could have put there.
//!
//! Not here: what a script may read besides them (script), and which programs are started (the module itself).

use std::path::Path;

use crate::paths::is_roots_own;

/// Programs and libraries, as distributions lay them out. Parts of `/usr` that hold settings or projects are not among them:
/// `/usr/local/etc`, `/usr/src`; likewise the `etc` and `var` of Homebrew.
pub(crate) const SYSTEM_PROGRAMS: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/games",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/games",
    "/usr/local/lib",
    "/usr/local/lib32",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/usr/local/share",
    "/usr/local/include",
    // Where their own installers put them, with links in `/usr/local/bin` or none.
    "/usr/local/cuda",
    "/usr/local/go",
    "/usr/local/texlive",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/home/linuxbrew/.linuxbrew/bin",
    "/home/linuxbrew/.linuxbrew/sbin",
    "/home/linuxbrew/.linuxbrew/lib",
    "/home/linuxbrew/.linuxbrew/libexec",
    "/home/linuxbrew/.linuxbrew/share",
    "/home/linuxbrew/.linuxbrew/include",
    "/home/linuxbrew/.linuxbrew/opt",
    "/home/linuxbrew/.linuxbrew/Cellar",
];

/// Whether a path without links is in one of those folders.
pub(crate) fn is_in_system_programs(path: &Path) -> bool {
    SYSTEM_PROGRAMS.iter().any(|folder| path.starts_with(folder))
}

/// Folders of links to programs.
const LINKS_TO_PROGRAMS: &[&str] = &["/etc/alternatives", "/run/current-system"];

/// Whether a path without links is one of the system's programs or a folder of them, or on the way to one, and only root can
/// replace what is there. A script of root's can write no such folder either: it would have to work in one.
pub(super) fn is_the_systems(path: &Path) -> bool {
    let mut trees = SYSTEM_PROGRAMS.iter().chain(LINKS_TO_PROGRAMS);
    trees.any(|tree| path.starts_with(tree) || Path::new(tree).starts_with(path))
        && is_roots_own(path)
}
