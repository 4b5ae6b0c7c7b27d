//! Whose homes there are on this machine: no script works in one as a whole, or in what holds one.

#![expect(clippy::disallowed_methods, reason = "the system lists its users in a file")]

use std::path::{Path, PathBuf};

/// The home folders of all users of this machine, links resolved; none where it does not say.
pub(super) fn all() -> Vec<PathBuf> {
    homes(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn homes(passwd: &str) -> Vec<PathBuf> {
    let home = |line: &str| line.split(':').nth(5).map(PathBuf::from);
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    passwd.lines().filter_map(home).filter(|path| is_a_place(path)).map(real).collect()
}

/// Whoever has no home has something else in its place.
fn is_a_place(path: &Path) -> bool {
    path.is_absolute() && path.parent().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_the_sixth_field() {
        let text = "root:x:0:0:root:/root:/bin/sh\nbob:x:1:1::/home/bob:/bin/sh\nodd:x\nnone:x:2:2::/:/bin/false\n";
        assert!(homes(text).ends_with(&[PathBuf::from("/home/bob")]) && homes(text).len() == 2);
    }
}
