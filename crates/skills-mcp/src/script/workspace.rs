//! A run's private folder: a copy of the skill's files, which nobody can change meanwhile, and an empty home.
//!
//! It has the shape of the skill's resource folder, so that a script finds `../assets/x` where its author put it. It is
//! readable to its owner alone and locked while its run lives; it goes with the run, and what a killed server leaves
//! behind goes at the next start.

#![expect(
    clippy::disallowed_methods,
    reason = "the private folder of a run is made and removed here and nowhere else"
)]

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use skills_core::{catalog::Folder, relpath::RelPath};

use super::{Plan, RunError, ladder::read};
use crate::{removal, source::Links, store::Snapshot};

const PREFIX: &str = "skills-mcp-run-";
/// What a folder is called before its lock is held.
const UNLOCKED: &str = "skills-mcp-new-";
/// Nobody takes that long to lock one.
const FORGOTTEN_SECONDS: u64 = 60;
/// So much of a skill's folder comes along; what is over stays behind and is said.
const MAX_FILES: usize = 1_000;
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// A private folder. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Workspace {
    root: PathBuf,
    /// Held while the run lives, by the server and by its supervisor.
    _lock: File,
    /// The script in it.
    pub(super) script: PathBuf,
    /// How many files of the skill's folder stayed behind.
    pub(super) left_out: usize,
}

impl Workspace {
    /// A folder with the plan's script and what lies beside it, all as it was at one moment.
    pub(super) fn make(snapshot: &Snapshot, plan: &Plan<'_>) -> Result<Self, RunError> {
        let (root, lock) = locked_folder().map_err(RunError::Workspace)?;
        let mut made = Self { script: root.join("skill"), root, _lock: lock, left_out: 0 };
        let copied = made.fill(snapshot, plan).map_err(RunError::Workspace)?;
        if let Some(file) = copied.iter().find(|file| !file.is_unchanged(snapshot, plan)) {
            return Err(RunError::Changed(file.path.clone()));
        }
        // What the script may do is declared in the skill's own text.
        match snapshot.text(plan.owner) {
            Ok(_) => Ok(made),
            Err(_) => Err(RunError::Changed(plan.owner.file.clone())),
        }
    }

    fn fill(&mut self, snapshot: &Snapshot, plan: &Plan<'_>) -> io::Result<Vec<Copied>> {
        let root = &self.root;
        fs::create_dir(root.join("home"))?;
        let skill = root.join("skill");
        self.script = place(&skill, &plan.file, &plan.bytes)?;
        let mut copied = vec![Copied::new(&plan.file, &plan.bytes)];
        let mut space = MAX_BYTES.saturating_sub(plan.bytes.len());
        let paths = snapshot.catalog.files(plan.owner).map(Folder::paths).unwrap_or_default();
        for (number, path) in paths.iter().filter(|path| **path != plan.file).enumerate() {
            // What cannot be read is not there for the script either; it will say so better than we could.
            // A link that leaves the skill's folder is not followed: a script may have planted it for its next run.
            match read(snapshot, plan.owner, path, Links::Inside, space) {
                Ok(bytes) if number < MAX_FILES => {
                    space = space.saturating_sub(bytes.len());
                    place(&skill, path, &bytes)?;
                    copied.push(Copied::new(path, &bytes));
                }
                _ => self.left_out += 1,
            }
        }
        Ok(copied)
    }

    /// The folder itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The copy of the skill's files.
    pub(super) fn skill(&self) -> PathBuf {
        self.root.join("skill")
    }

    /// HOME and TMPDIR.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }
}

/// A file that was copied, to be compared when all of them are: where each still is what was copied, there was a moment at
/// which all of them were. A script that meets the assets of its next version does what neither version would.
struct Copied {
    path: RelPath,
    bytes: usize,
    digest: [u8; 32],
}

impl Copied {
    fn new(path: &RelPath, bytes: &[u8]) -> Self {
        Self { path: path.clone(), bytes: bytes.len(), digest: Sha256::digest(bytes).into() }
    }

    fn is_unchanged(&self, snapshot: &Snapshot, plan: &Plan<'_>) -> bool {
        read(snapshot, plan.owner, &self.path, Links::Inside, self.bytes)
            .is_ok_and(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)) == self.digest)
    }
}

impl Drop for Workspace {
    /// The supervisor has removed it, unless it was killed, could not, or was never started.
    fn drop(&mut self) {
        if self.root.symlink_metadata().is_ok() {
            removal::apart(std::mem::take(&mut self.root));
        }
    }
}

/// Writes one file that nobody is to change; what lies in `scripts/` may be started.
fn place(skill: &Path, path: &RelPath, bytes: &[u8]) -> io::Result<PathBuf> {
    let file = skill.join(path.as_str());
    fs::create_dir_all(file.parent().unwrap_or(skill))?;
    fs::write(&file, bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = if path.segments().next() == Some("scripts") { 0o555 } else { 0o444 };
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    }
    Ok(file)
}

/// An empty folder of the owner's. It gets its name when its lock is held, so that no sweep finds it without.
fn locked_folder() -> io::Result<(PathBuf, File)> {
    let folder = tempfile::Builder::new().prefix(UNLOCKED).tempdir()?;
    let path = folder.path().canonicalize()?;
    let lock = locked(&path)?;
    let unlocked = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let root = path.with_file_name(unlocked.replacen(UNLOCKED, PREFIX, 1));
    fs::rename(&path, &root)?;
    let _ = folder.keep();
    Ok((root, lock))
}

/// Takes part in a folder's lock, for as long as the file lives.
pub(super) fn locked(root: &Path) -> io::Result<File> {
    let lock = fs::OpenOptions::new().create(true).append(true).open(root.join("lock"))?;
    lock.try_lock_shared().map_err(io::Error::from)?;
    Ok(lock)
}

/// Removes what runs left behind whose server and supervisor are both gone, each folder in a process of its own and one
/// after the other; a sentence about each that stays.
pub fn sweep() -> Vec<String> {
    let mut stay = Vec::new();
    for path in left_behind() {
        tracing::info!("removing {}, which a run left behind", path.display());
        if let Err(error) = removal::tree(&path) {
            stay.push(removal::left(&path, &error));
        }
    }
    stay
}

/// Private folders that no run uses any more. Names are looked at, never what is in a folder.
fn left_behind() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // In a folder that everybody may write to, names say nothing: first whose it is.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || !is_mine(&metadata) {
            continue;
        }
        let is = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if is(PREFIX) && is_unlocked(&path) || is(UNLOCKED) && is_old(&metadata) {
            found.push(path);
        }
    }
    found
}

/// Nobody holds its lock. What cannot be looked at, or is no file, may be held.
fn is_unlocked(root: &Path) -> bool {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    }
    match options.open(root.join("lock")) {
        Ok(lock) => lock.metadata().is_ok_and(|found| found.is_file()) && lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_old(found: &fs::Metadata) -> bool {
    let age = found.modified().ok().and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > FORGOTTEN_SECONDS)
}

#[cfg(unix)]
fn is_mine(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    rustix::process::geteuid().as_raw() == found.uid()
}

#[cfg(not(unix))]
fn is_mine(_: &fs::Metadata) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn only_a_lock_that_is_a_file_and_free_is_no_lock() {
        let home = Home::new();
        home.write("free/lock", "");
        home.write("none/x", "");
        home.write("folder/lock/x", "");
        home.write("linked/x", "");
        std::os::unix::fs::symlink("../free/lock", home.path().join("linked/lock")).unwrap();
        fs::create_dir(home.path().join("fifo")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(home.path().join("fifo/lock")).status();
        assert!(fifo.unwrap().success());
        let held = locked(&home.path().join("free")).unwrap();
        assert!(!is_unlocked(&home.path().join("free")));
        drop(held);
        for (folder, unlocked) in
            [("free", true), ("none", true), ("folder", false), ("linked", false), ("fifo", false)]
        {
            assert_eq!(is_unlocked(&home.path().join(folder)), unlocked, "{folder}");
        }
    }
}
