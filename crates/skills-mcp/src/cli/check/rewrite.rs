//! Replaces a file of content whole: a new file beside it takes its name, so that no reader sees a half.

#![expect(
    clippy::disallowed_methods,
    reason = "the only file that writes content, where its author asked for it"
)]

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

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
    if !found.is_file() || fs::read(path)? != old.as_bytes() {
        return Err(RewriteError::Changed);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".skills-mcp-").tempfile_in(folder)?;
    beside.write_all(new.as_bytes())?;
    beside.as_file().set_permissions(found.permissions())?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
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
