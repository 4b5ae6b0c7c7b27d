//! Reads and replaces files of other programs. Not here: what they say.

#![expect(
    clippy::disallowed_methods,
    reason = "the only file that reads and writes what belongs to clients; their paths come from the table of clients"
)]

#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    paths::{link_target, real_path},
    whole_file::{NewFileReaders, replace_whole},
};

/// So many links to links are followed, as Linux does.
const MAX_LINKS_TO_A_FILE: usize = 40;
/// A larger file is refused. Claude Code keeps much beside its servers in one file.
const MAX_CLIENT_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How long an empty file is taken for one that another program has begun to write, and how often it is looked at meanwhile.
const EMPTY_FILE_TIMEOUT: Duration = Duration::from_millis(200);
const EMPTY_FILE_PAUSE: Duration = Duration::from_millis(10);

/// The text of a file; none where there is no file. Waits for a program that empties the file before it writes.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    read_filled(path, || thread::sleep(EMPTY_FILE_PAUSE))
}

/// Reads a file, again after each `pause` while it is empty.
fn read_filled(path: &Path, mut pause: impl FnMut()) -> io::Result<Option<String>> {
    let mut waited = Duration::ZERO;
    loop {
        let text = read_once(path)?;
        if waited >= EMPTY_FILE_TIMEOUT || text.as_ref().is_none_or(|text| !text.is_empty()) {
            return Ok(text);
        }
        pause();
        waited += EMPTY_FILE_PAUSE;
    }
}

fn read_once(path: &Path) -> io::Result<Option<String>> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        // A FIFO would block for ever.
        Ok(found) if !found.is_file() => return Err(io::Error::other("not a regular file")),
        Ok(_) => {}
    }
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_CLIENT_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_CLIENT_FILE_BYTES {
        return Err(io::Error::other("larger than 64 MiB"));
    }
    Ok(Some(text))
}

/// Replaces a file that says `before` by one that says `after`, whole or not at all, or removes it. A link stays a link, to a
/// file that keeps its permissions, and that is made where the link leads nowhere.
pub(super) fn replace(path: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<()> {
    let path = &*written_path(path)?;
    let is_unchanged = || Ok(read(path)?.as_deref() == before);
    if !is_unchanged()? {
        return Err(io::Error::other("another program is changing it; try again"));
    }
    let Some(after) = after else { return fs::remove_file(path) };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // With sudo the new file would be root's, and its owner could not read it any more.
    #[cfg(unix)]
    if path.metadata().is_ok_and(|found| found.uid() != rustix::process::geteuid().as_raw()) {
        return Err(io::Error::other("it belongs to another user; run this as that user"));
    }
    replace_whole(path, after, NewFileReaders::Usual, is_unchanged)
}

/// Removes a folder in which nothing is; a link to one stays.
pub(super) fn remove_if_empty(folder: &Path) {
    // The system refuses to remove a folder in which something is.
    let _ = fs::remove_dir(folder);
}

/// Where a file of a project would be written, if a link leads out of the project.
pub(super) fn outside(path: &Path, project: &Path) -> Option<PathBuf> {
    let written = written_path(path).ok()?;
    let is_inside = real_path(project).is_none_or(|project| written.starts_with(project));
    (!is_inside).then_some(written)
}

/// The file that a path leads to, whether or not it is there.
fn written_path(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS_TO_A_FILE {
        if let Some(real) = real_path(&path) {
            return Ok(real);
        }
        let Some(target) = link_target(&path) else { return Ok(below_real_folder(&path)) };
        path = path.parent().unwrap_or(Path::new(".")).join(target);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// The path of a file that is not there, with the links on the way to it resolved.
fn below_real_folder(path: &Path) -> PathBuf {
    let resolved = |folder: &Path| Some(real_path(folder)?.join(path.strip_prefix(folder).ok()?));
    path.ancestors().skip(1).find_map(resolved).unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/config.json");
        replace(&path, None, Some("one")).unwrap();
        assert!(replace(&path, None, Some("two")).is_err(), "it is there now");
        assert!(replace(&path, Some("other"), Some("two")).is_err(), "it says something else");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        replace(&path, Some("one"), None).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("made")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_another_program_has_emptied_to_write_it_is_not_taken_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs::write(&path, "").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some(""), "it stays empty");
        let other_writes = || fs::write(&path, "theirs").unwrap();
        assert_eq!(read_filled(&path, other_writes).unwrap().as_deref(), Some("theirs"));
        assert!(replace(&path, Some(""), Some("ours")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_target_keeps_its_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("dotfiles"), folder.path().join("link"));
        fs::write(&real, "one").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, Some("one"), Some("two")).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
        assert!(link.is_symlink());
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_stays_and_its_target_is_made() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("other", &link).unwrap();
        symlink("dotfiles/config", folder.path().join("other")).unwrap();
        replace(&link, None, Some("one")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(folder.path().join("dotfiles/config")).unwrap(), "one");
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(replace(&circle, None, Some("one")).is_err());
        assert!(circle.is_symlink());
    }
}
