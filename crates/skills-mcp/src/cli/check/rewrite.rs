//! Replaces a file of content, where it still says what was read.

#![expect(
    clippy::disallowed_methods,
    reason = "reads what it is about to replace, where its author asked for it"
)]

use std::{fs, io, path::Path};

use crate::whole_file::{NewFileReaders, replace_whole};

/// Why a file was not replaced.
#[derive(Debug)]
pub(super) enum RewriteError {
    /// It does not say what was read, or is no regular file.
    Changed,
    /// Everything else.
    Io(io::Error),
}

impl From<io::Error> for RewriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Replaces a file that says `old`; it keeps its permissions.
pub(super) fn rewrite(path: &Path, old: &str, new: &str) -> Result<(), RewriteError> {
    let found = path.symlink_metadata()?;
    let is_unchanged = || fs::read(path).map(|text| text == old.as_bytes());
    if !found.is_file() || !is_unchanged()? {
        return Err(RewriteError::Changed);
    }
    replace_whole(path, new, NewFileReaders::Usual, is_unchanged)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_permissions_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("SKILL.md");
        fs::write(&path, "old").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        let before = path.metadata().unwrap().permissions();
        assert!(matches!(rewrite(&path, "other", "new"), Err(RewriteError::Changed)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        rewrite(&path, "old", "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(path.metadata().unwrap().permissions(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
