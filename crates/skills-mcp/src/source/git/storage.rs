//! [`RepositoryStorage`]: the folder in which a repository is stored. Only this file reads and writes there.
//!
//! `~/.skills-mcp/content/<key>/` holds a `lock`, the `mirror.git`, `generations/<commit>/` and, for each branch or commit that
//! is wanted of the repository, `wanted/<revision>/` with a pointer to a generation. Anything new is made under another name
//! and renamed, so that a killed process leaves the old or the new, and unfinished files that the next sync removes.

#![expect(
    clippy::disallowed_methods,
    reason = "this file reads and writes the folders of repositories"
)]

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use super::error::GitError;
use crate::{
    clock,
    paths::{is_folder, is_real_folder},
    removal,
};

/// How much of a manifest or pointer is read.
const MAX_TEXT_BYTES: u64 = 256 * 1024 * 1024;
/// The folder of a git repository that holds what was fetched.
pub(super) const PACK_FOLDER: &str = "objects/pack";
/// The prefix of what is being made or removed.
const UNFINISHED_PREFIX: &str = ".unfinished-";

/// The folder of one repository.
#[derive(Debug, Clone)]
pub(super) struct RepositoryStorage {
    /// `~/.skills-mcp` and `content` in it.
    above: [PathBuf; 2],
    folder: PathBuf,
}

impl RepositoryStorage {
    pub(super) fn new(home: &Path, key: &str) -> Self {
        let own = home.join(".skills-mcp");
        let content = own.join("content");
        let folder = content.join(key);
        Self { above: [own, content], folder }
    }

    /// The folder of all repositories of this home.
    pub(super) fn content(&self) -> &Path {
        let [_, content] = &self.above;
        content
    }

    /// The storage of all repositories of this home, this one included.
    pub(super) fn all(&self) -> Vec<Self> {
        let content = self.content();
        let at = |name: String| Self { above: self.above.clone(), folder: content.join(name) };
        names(content)
            .into_iter()
            .map(at)
            .filter(|storage| is_folder(&storage.generations()))
            .collect()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub(super) fn mirror(&self) -> PathBuf {
        self.folder.join("mirror.git")
    }

    pub(super) fn generations(&self) -> PathBuf {
        self.folder.join("generations")
    }

    pub(super) fn generation(&self, commit: &str) -> PathBuf {
        self.generations().join(commit)
    }

    /// Beside the generation, so that it can be locked while the generation is removed.
    pub(super) fn lease(&self, commit: &str) -> PathBuf {
        self.generations().join(format!("{commit}.lease"))
    }

    /// The folder of the pointers.
    pub(super) fn pointers(&self) -> PathBuf {
        self.folder.join("wanted")
    }

    /// Makes the folders, and checks that no other user can write there.
    pub(super) fn ensure(&self) -> Result<(), GitError> {
        for folder in self.above.iter().chain([&self.folder]) {
            make_private(folder)?;
            check_owner(folder, *folder == self.folder)?;
        }
        make_private(&self.generations())?;
        make_private(&self.pointers())
    }

    /// An error of the system as one about this folder.
    pub(super) fn disk_error(&self, error: io::Error) -> GitError {
        GitError::Disk { path: self.folder.clone(), error }
    }

    /// A path for something new, on the same disk as what it will replace.
    pub(super) fn unfinished(&self, what: &str) -> PathBuf {
        let moment = clock::since_epoch().as_nanos();
        self.folder.join(format!("{UNFINISHED_PREFIX}{what}-{}-{moment}", process::id()))
    }

    /// Removes what killed processes left unfinished. Only while the lock is held.
    pub(super) fn sweep(&self) {
        let is_unfinished = |name: &String| name.starts_with(UNFINISHED_PREFIX);
        for name in names(&self.folder).into_iter().filter(is_unfinished) {
            let path = self.folder.join(name);
            if is_real_folder(&path) {
                removal::remove_in_background(path);
            } else {
                remove(&path);
            }
        }
    }

    /// What was discarded so long ago that its removal must have failed; a sentence about each.
    pub(super) fn left_behind(&self) -> Vec<String> {
        let old = format!("{UNFINISHED_PREFIX}old-");
        let now = clock::since_epoch();
        let is_left = |name: &String| {
            let moment = name.rsplit('-').next().and_then(|nanos| nanos.parse().ok());
            let moment = moment.map(Duration::from_nanos).unwrap_or_default();
            name.starts_with(&old) && now.saturating_sub(moment) > removal::REMOVAL_TIMEOUT
        };
        let left = names(&self.folder).into_iter().filter(is_left);
        let error = io::Error::other("what is in it cannot be, or takes too long");
        left.map(|name| removal::leftover(&self.folder.join(name), &error)).collect()
    }

    /// Renames something, so that its path is free at once, and removes it in the background.
    pub(super) fn discard(&self, path: &Path) {
        let aside = self.unfinished("old");
        if fs::rename(path, &aside).is_ok() {
            removal::remove_in_background(aside);
        }
    }

    /// Writes a file so that it exists whole or not at all.
    pub(super) fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        let beside = self.unfinished("file");
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| remove(&beside))
    }
}

/// A small file's text, if it exists and is text.
pub(super) fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_TEXT_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Creates a file; an error where the path exists.
pub(super) fn create(path: &Path, executable: bool) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    // A generation is read-only.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if executable { 0o555 } else { 0o444 });
    #[cfg(not(unix))]
    let _ = executable;
    options.open(path)
}

/// Opens a file to lock it.
pub(super) fn open_lock_file(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

/// Makes a folder and those above it.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// The names in a folder; none where there is no folder.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The sizes of the files in a folder.
pub(super) fn sizes(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).collect()
}

/// Removes a file or a tree; a failure is logged.
pub(super) fn remove(path: &Path) {
    if is_real_folder(path) {
        if let Err(error) = removal::remove_tree(path) {
            tracing::warn!("{}", removal::leftover(path, &error));
        }
    } else {
        let _ = fs::remove_file(path);
    }
}

/// How long ago a file was written.
pub(super) fn age(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).ok()?.modified().ok()?;
    let written = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(clock::since_epoch().saturating_sub(written))
}

/// Makes a file's age zero.
pub(super) fn touch(path: &Path) {
    let now = std::time::UNIX_EPOCH + clock::since_epoch();
    // Where that fails an unused generation is removed up to a day earlier.
    let _ = open_lock_file(path).and_then(|file| file.set_modified(now));
}

/// Flushes the disk of this folder, so that its files survive a power cut. One call for all files takes as long as one for
/// each.
#[cfg(target_os = "linux")]
pub(super) fn flush(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Elsewhere the system flushes it later.
#[cfg(not(target_os = "linux"))]
pub(super) fn flush(_: &Path) -> io::Result<()> {
    Ok(())
}

fn make_private(folder: &Path) -> Result<(), GitError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| GitError::Disk { path: folder.to_owned(), error })
}

/// An error where another user owns a folder or may write to it. The repository's own folder may not even be a link.
#[cfg(target_os = "linux")]
fn check_owner(folder: &Path, own: bool) -> Result<(), GitError> {
    use std::os::unix::fs::MetadataExt as _;

    use crate::paths::is_link;

    let wrong = |why: &str| GitError::Storage { path: folder.to_owned(), why: why.to_owned() };
    if own && is_link(folder) {
        return Err(wrong("is a symbolic link, and will not be used"));
    }
    let found =
        fs::metadata(folder).map_err(|error| GitError::Disk { path: folder.to_owned(), error })?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(wrong("belongs to another user, and will not be used"));
    }
    if found.mode() & 0o002 != 0 {
        return Err(wrong("can be written by every user, and will not be used"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn check_owner(_: &Path, _: bool) -> Result<(), GitError> {
    Ok(())
}
