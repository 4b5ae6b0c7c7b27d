//! The home folders of this machine's users: no script works in one, or in a folder that holds one.

#![expect(clippy::disallowed_methods, reason = "this file reads `/etc/passwd`")]

use std::path::{Path, PathBuf};

use crate::paths::real_path_or_same;

/// The home folders of all users, links resolved; none where there is no `/etc/passwd`.
pub(super) fn home_folders() -> Vec<PathBuf> {
    parse_homes(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())
}

/// The home folder of this user, as the system knows it.
#[cfg(unix)]
pub(crate) fn own_home() -> Option<PathBuf> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let user = rustix::process::geteuid().as_raw().to_string();
    let own = passwd.lines().find(|line| line.split(':').nth(2) == Some(&user))?;
    own.split(':').nth(5).map(PathBuf::from).filter(|path| is_folder_path(path))
}

#[cfg(not(unix))]
pub(crate) fn own_home() -> Option<PathBuf> {
    None
}

fn parse_homes(passwd: &str) -> Vec<PathBuf> {
    let home = |line: &str| line.split(':').nth(5).map(PathBuf::from);
    let homes = passwd.lines().filter_map(home).filter(|path| is_folder_path(path));
    homes.map(|path| real_path_or_same(&path)).collect()
}

/// A user without a home has `/`, or no path, in its place.
fn is_folder_path(path: &Path) -> bool {
    path.is_absolute() && path.parent().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_the_sixth_field() {
        let text = "root:x:0:0:root:/root:/bin/sh\nbob:x:1:1::/home/bob:/bin/sh\nodd:x\nnone:x:2:2::/:/bin/false\n";
        let homes = parse_homes(text);
        assert!(homes.ends_with(&[PathBuf::from("/home/bob")]) && homes.len() == 2);
    }
}
