//! Replaces a file whole: a new one beside it takes its name, so that a write that fails half way leaves the old one.
//!
//! Not here: which files may be written, and whether a file still says what was read (`config/file`, `connect/file`,
//! `cli/check/rewrite`).

#![expect(
    clippy::disallowed_methods,
    reason = "writes for the few files that may; each of them decides which path"
)]

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    time::{Duration, SystemTime},
};

/// How the names of new files begin, until they take the place of another.
const NEW_FILE_PREFIX: &str = ".skills-mcp-new-";
/// A new file that is older belongs to a program that was killed.
const NEW_FILE_TIMEOUT: Duration = Duration::from_mins(1);

/// Who may read a file that was not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewFileReaders {
    /// Its owner.
    Owner,
    /// Those whom the user lets read new files.
    Usual,
}

/// Replaces a file, which keeps its permissions, or makes it in a folder that is there. `is_unchanged` is asked last,
/// when only the renaming is left, so that what another program writes in the meantime is not lost.
pub(crate) fn replace_whole(
    path: &Path,
    text: &str,
    readers: NewFileReaders,
    is_unchanged: impl FnOnce() -> io::Result<bool>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(NEW_FILE_PREFIX);
    #[cfg(unix)]
    if readers == NewFileReaders::Usual {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut beside = builder.tempfile_in(folder)?;
    if let Ok(now) = beside.as_file().metadata().and_then(|made| made.modified()) {
        remove_left_behind(folder, now);
    }
    if let Ok(found) = path.metadata() {
        beside.as_file().set_permissions(found.permissions())?;
    }
    beside.write_all(text.as_bytes())?;
    beside.as_file().sync_all()?;
    if !is_unchanged()? {
        return Err(io::Error::other("another program changed it meanwhile; try again"));
    }
    beside.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes the new files of programs that were killed before theirs took its place. What cannot be removed harms nothing.
fn remove_left_behind(folder: &Path, now: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_new_file = entry.file_name().to_string_lossy().starts_with(NEW_FILE_PREFIX);
        let Some(found) = is_new_file.then(|| entry.metadata().ok()).flatten() else { continue };
        let age = found.modified().ok().and_then(|made| now.duration_since(made).ok());
        if found.is_file() && age.is_some_and(|age| age > NEW_FILE_TIMEOUT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn what_a_killed_program_left_behind_is_removed_and_what_another_writes_is_not() {
        let home = Home::new();
        for name in ["a/.skills-mcp-new-Ab3dE9", "a/.skills-mcp-new-young1", "a/.skills-mcp-x"] {
            home.write(name, "");
        }
        let at = |name: &str| home.path().join("a").join(name);
        let old = fs::File::options().write(true).open(at(".skills-mcp-new-Ab3dE9")).unwrap();
        let made = old.metadata().unwrap().modified().unwrap();
        old.set_modified(made.checked_sub(NEW_FILE_TIMEOUT * 2).unwrap()).unwrap();
        replace_whole(&at("config.yaml"), "x: 1\n", NewFileReaders::Owner, || Ok(true)).unwrap();
        let left = [".skills-mcp-new-Ab3dE9", ".skills-mcp-new-young1", ".skills-mcp-x"];
        assert_eq!(left.map(|name| at(name).exists()), [false, true, true]);
        assert_eq!(fs::read_to_string(at("config.yaml")).unwrap(), "x: 1\n");
    }

    #[test]
    fn what_another_program_writes_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let theirs = || {
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the new file is there");
            fs::write(&path, "theirs").unwrap();
            Ok(false)
        };
        assert!(replace_whole(&path, "ours", NewFileReaders::Usual, theirs).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the new file is gone");
    }
}
