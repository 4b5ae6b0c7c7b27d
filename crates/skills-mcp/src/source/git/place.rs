//! [`Place`]: the folder in which a repository is kept, and the only code that writes there.
//!
//! `~/.skills-mcp/content/<key>/` holds a `lock`, the `mirror.git`, `generations/<commit>/` and, for each thing that somebody
//! wants of the repository, `wanted/<what>/` with a pointer to one of them. Whatever is new is made beside and renamed into
//! place, so that whoever is killed leaves the old or the new, and litter that the next one sweeps.

#![expect(clippy::disallowed_methods, reason = "this is the door to the folder of a repository")]

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use super::error::GitError;
use crate::{clock, removal};

/// A file of ours is never larger.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// Where a repository has what was fetched.
pub(super) const PACKS: &str = "objects/pack";
/// Names of what is being made or removed start with it.
const UNFINISHED: &str = ".unfinished-";

/// A repository's folder.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The folders down to it: `~/.skills-mcp`, `content`, and itself.
    above: [PathBuf; 2],
    folder: PathBuf,
}

impl Place {
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

    /// The places of all repositories of this home, this one included.
    pub(super) fn all(&self) -> Vec<Self> {
        let content = self.content();
        let at = |name: String| Self { above: self.above.clone(), folder: content.join(name) };
        names(content).into_iter().map(at).filter(|place| place.generations().is_dir()).collect()
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

    /// Beside the generation, so that it can be held while that one goes.
    pub(super) fn lease(&self, commit: &str) -> PathBuf {
        self.generations().join(format!("{commit}.lease"))
    }

    pub(super) fn wanted(&self) -> PathBuf {
        self.folder.join("wanted")
    }

    /// Makes the folders, and checks that nobody else can put anything there.
    pub(super) fn ensure(&self) -> Result<(), GitError> {
        for folder in self.above.iter().chain([&self.folder]) {
            make_private(folder).map_err(|error| self.disk_at(folder, error))?;
            check_owner(folder, *folder == self.folder)?;
        }
        for folder in [self.generations(), self.wanted()] {
            make_private(&folder).map_err(|error| self.disk_at(&folder, error))?;
        }
        Ok(())
    }

    /// What the system says about this folder.
    pub(super) fn disk(&self, error: io::Error) -> GitError {
        self.disk_at(&self.folder, error)
    }

    #[expect(clippy::unused_self, reason = "reads as what it is where it is called")]
    fn disk_at(&self, path: &Path, error: io::Error) -> GitError {
        GitError::Disk { path: path.to_owned(), error }
    }

    /// A name for something new, in the same folder as what it will replace.
    pub(super) fn unfinished(&self, what: &str) -> PathBuf {
        let moment = clock::since_epoch().as_nanos();
        self.folder.join(format!("{UNFINISHED}{what}-{}-{moment}", process::id()))
    }

    /// Removes what others have left half done. Only while the lock is held: then nobody is at it.
    pub(super) fn sweep(&self) {
        for name in names(&self.folder).into_iter().filter(|name| name.starts_with(UNFINISHED)) {
            let path = self.folder.join(name);
            if path.is_dir() && !path.is_symlink() {
                removal::apart(path);
            } else {
                remove(&path);
            }
        }
    }

    /// What was moved out of the way so long ago that its removal must have failed; a sentence about each.
    pub(super) fn left_behind(&self) -> Vec<String> {
        let old = format!("{UNFINISHED}old-");
        let now = clock::since_epoch();
        let is_left = |name: &String| {
            let moment = name.rsplit('-').next().and_then(|nanos| nanos.parse().ok());
            let moment = moment.map(Duration::from_nanos).unwrap_or_default();
            name.starts_with(&old) && now.saturating_sub(moment) > removal::TIMEOUT
        };
        let left = names(&self.folder).into_iter().filter(is_left);
        let said = io::Error::other("what is in it cannot be, or takes too long");
        left.map(|name| removal::left(&self.folder.join(name), &said)).collect()
    }

    /// Moves something out of the way, so that it is gone at once, and has it removed beside whatever comes next.
    pub(super) fn discard(&self, path: &Path) {
        let aside = self.unfinished("old");
        if fs::rename(path, &aside).is_ok() {
            removal::apart(aside);
        }
    }

    /// Writes a file that is there whole or not at all.
    pub(super) fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        let beside = self.unfinished("file");
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| remove(&beside))
    }
}

/// A small file's text, if it is there and is one.
pub(super) fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// A new file, and nothing that is there already.
pub(super) fn create(path: &Path, executable: bool) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    // Nobody is to write into a generation.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if executable { 0o555 } else { 0o444 });
    options.open(path)
}

/// A folder, for everybody who may come this far.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// The names in a folder; none where there is no folder.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// How large the files in a folder are.
pub(super) fn sizes(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).collect()
}

/// Removes a file or a folder with all that is in it; what cannot be removed stays for the next time.
pub(super) fn remove(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        if let Err(error) = removal::tree(path) {
            tracing::warn!("{}", removal::left(path, &error));
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
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path);
    // An age that is too high costs a generation that nobody uses a day of its life.
    let _ = file.and_then(|file| file.set_modified(now));
}

/// What is on the disk now survives a power cut. One call for all files: each by itself takes as long.
#[cfg(target_os = "linux")]
pub(super) fn settle(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Elsewhere the system settles it in its own time.
#[cfg(not(target_os = "linux"))]
pub(super) fn settle(_: &Path) -> io::Result<()> {
    Ok(())
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whether a folder is ours, and closed to others. `own` may not even be a link.
#[cfg(target_os = "linux")]
fn check_owner(folder: &Path, own: bool) -> Result<(), GitError> {
    use std::os::unix::fs::MetadataExt as _;

    let wrong = |why: &str| GitError::Place { path: folder.to_owned(), why: why.to_owned() };
    if own && folder.is_symlink() {
        return Err(wrong("is a symbolic link, and will not be used"));
    }
    let found =
        fs::metadata(folder).map_err(|error| GitError::Disk { path: folder.to_owned(), error })?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(wrong("belongs to another user, and will not be used"));
    }
    if found.mode() & 0o002 != 0 {
        return Err(wrong("can be written by everybody, and will not be used"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn check_owner(_: &Path, _: bool) -> Result<(), GitError> {
    Ok(())
}
