//! Replaces a file whole: a new one beside it takes its name, so that a write that fails half way leaves the old one.
//!
//! Not here: which files may be written, and whether a file still says what was read (`config/file`, `connect/file`,
//! `cli/check/rewrite`).

#![expect(
    clippy::disallowed_methods,
    reason = "writes for the few files that may; each of them decides which path"
)]

use std::{
    io::{self, Write as _},
    path::Path,
};

/// Who may read a file that was not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewFileReaders {
    /// Its owner.
    Owner,
    /// Those whom the user lets read new files.
    Usual,
}

/// Replaces a file, which keeps its permissions, or makes it in a folder that is there.
pub(crate) fn replace_whole(path: &Path, text: &str, readers: NewFileReaders) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".skills-mcp-");
    #[cfg(unix)]
    if readers == NewFileReaders::Usual {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut beside = builder.tempfile_in(folder)?;
    if let Ok(found) = path.metadata() {
        beside.as_file().set_permissions(found.permissions())?;
    }
    beside.write_all(text.as_bytes())?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    Ok(())
}
