//! The system's programs and libraries: where distributions lay them out.
//!
//! Not here: what a script may read besides them (script), and which programs are started (the module itself).

use std::path::Path;

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
