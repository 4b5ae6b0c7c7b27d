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

use skills_core::{catalog::Folder, relpath::RelPath};

use super::{Plan, ladder::read};
use crate::{source::Links, store::Snapshot};

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
    /// A folder with the plan's script and what lies beside it.
    pub(super) fn make(snapshot: &Snapshot, plan: &Plan<'_>) -> io::Result<Self> {
        let (root, lock) = locked_folder()?;
        let mut made = Self { script: root.join("skill"), root, _lock: lock, left_out: 0 };
        made.fill(snapshot, plan)?;
        Ok(made)
    }

    fn fill(&mut self, snapshot: &Snapshot, plan: &Plan<'_>) -> io::Result<()> {
        let root = &self.root;
        fs::create_dir(root.join("home"))?;
        let skill = root.join("skill");
        self.script = place(&skill, &plan.file, &plan.bytes)?;
        let mut space = MAX_BYTES.saturating_sub(plan.bytes.len());
        let paths = snapshot.catalog.files(plan.owner).map(Folder::paths).unwrap_or_default();
        for (number, path) in paths.iter().filter(|path| **path != plan.file).enumerate() {
            // What cannot be read is not there for the script either; it will say so better than we could.
            // A link that leaves the skill's folder is not followed: a script may have planted it for its next run.
            match read(snapshot, plan.owner, path, Links::Inside, space) {
                Ok(bytes) if number < MAX_FILES => {
                    space = space.saturating_sub(bytes.len());
                    place(&skill, path, &bytes)?;
                }
                _ => self.left_out += 1,
            }
        }
        Ok(())
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

impl Drop for Workspace {
    fn drop(&mut self) {
        remove(&self.root);
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

/// Removes a run's folder. A script may have closed its folders to itself, so they are opened first where need be.
pub(super) fn remove(root: &Path) {
    if fs::remove_dir_all(root).is_err() && root.exists() {
        open_up(root);
        if let Err(error) = fs::remove_dir_all(root)
            && root.exists()
        {
            tracing::warn!(
                "the private folder {} of a script stays behind: {error}",
                root.display()
            );
        }
    }
}

fn open_up(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// What a folder takes on its disk; links count as themselves.
#[cfg(target_os = "linux")]
pub(super) fn bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = 0;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            sum += found.blocks() * 512;
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    sum
}

/// Removes what runs left behind whose server and supervisor are both gone.
pub fn sweep() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // In a folder that everybody may write to, names say nothing: first whose it is.
        let Ok(found) = entry.metadata() else { continue };
        if !found.is_dir() || !is_mine(&found) {
            continue;
        }
        let is = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if is(PREFIX) && is_unlocked(&path) || is(UNLOCKED) && is_old(&found) {
            tracing::info!("removing {}, which a run left behind", path.display());
            remove(&path);
        }
    }
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
    fn a_folder_is_measured_by_what_it_takes_and_links_by_themselves() {
        let home = Home::new();
        home.write("run/home/deep/a", "x".repeat(1 << 20));
        home.write("run/b", "x".repeat(1 << 20));
        home.write("other", "x".repeat(8 << 20));
        std::os::unix::fs::symlink("../other", home.path().join("run/link")).unwrap();
        std::os::unix::fs::symlink("..", home.path().join("run/home/up")).unwrap();
        let sparse = File::create(home.path().join("run/sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let measured = bytes(&home.path().join("run"));
        assert!((2 << 20..4 << 20).contains(&measured), "{measured}");
    }

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
