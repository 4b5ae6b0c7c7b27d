//! [`Workspace`]: the private folder of a run, with a copy of the skill's files and an empty home.
//!
//! The copy has the shape of the skill's resource folder, so that a script finds `../assets/x` where its author put it. Only
//! its owner may read the workspace, and it is locked while its run lives. It is removed after the run; what a killed server
//! leaves behind is removed at the next start.

#![expect(clippy::disallowed_methods, reason = "this file makes the workspaces of runs")]

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use skills_core::{catalog::Folder, relpath::RelPath};

use super::{Plan, RunError, authorize::read_skill_file};
use crate::{paths::temporary_folder, removal, source::Links, store::Snapshot};

const LOCKED_PREFIX: &str = "skills-mcp-run-";
/// The name of a workspace before it is locked.
const UNLOCKED_PREFIX: &str = "skills-mcp-new-";
/// A workspace that is still not locked after this long was abandoned.
const ABANDONED_SECONDS: u64 = 60;
/// How many files of a skill's folder are copied. A note of the run counts the others.
const MAX_COPIED_FILES: usize = 1_000;
/// How many bytes of them.
const MAX_COPIED_BYTES: usize = 32 * 1024 * 1024;

/// A run's private folder. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Workspace {
    root: PathBuf,
    /// The server and its supervisor hold it while the run lives.
    _lock: WorkspaceLock,
    /// The script in it.
    pub(super) script: PathBuf,
    /// The files of the skill's folder that were not copied.
    pub(super) left_out: Vec<RelPath>,
}

impl Workspace {
    /// A workspace with the plan's script and the files beside it, all as they were at one moment.
    pub(super) fn make(snapshot: &Snapshot, plan: &Plan<'_>) -> Result<Self, RunError> {
        let (root, lock) = make_locked_folder().map_err(RunError::Workspace)?;
        let (script, left_out) = (root.join("skill"), Vec::new());
        let mut workspace = Self { root, _lock: lock, script, left_out };
        let copied = workspace.fill(snapshot, plan).map_err(RunError::Workspace)?;
        if let Some(file) = copied.iter().find(|file| !file.is_unchanged(snapshot, plan)) {
            return Err(RunError::Changed(file.path.clone()));
        }
        // What the script may do is declared in the skill's own text.
        match snapshot.text(plan.owner) {
            Ok(_) => Ok(workspace),
            Err(_) => Err(RunError::Changed(plan.owner.file.clone())),
        }
    }

    fn fill(&mut self, snapshot: &Snapshot, plan: &Plan<'_>) -> io::Result<Vec<CopiedFile>> {
        let root = &self.root;
        fs::create_dir(root.join("home"))?;
        let skill = root.join("skill");
        self.script = write_file(&skill, &plan.file, &plan.bytes)?;
        let mut copied = vec![CopiedFile::new(&plan.file, &plan.bytes)];
        let mut space = MAX_COPIED_BYTES.saturating_sub(plan.bytes.len());
        let paths = snapshot.catalog.files(plan.owner).map(Folder::paths).unwrap_or_default();
        for (number, path) in paths.iter().filter(|path| **path != plan.file).enumerate() {
            // A link that leaves the skill's folder is not followed: a script may have made it for its next run.
            match read_skill_file(snapshot, plan.owner, path, Links::Inside, space) {
                Ok(bytes) if number < MAX_COPIED_FILES => {
                    space = space.saturating_sub(bytes.len());
                    write_file(&skill, path, &bytes)?;
                    copied.push(CopiedFile::new(path, &bytes));
                }
                _ => self.left_out.push(path.clone()),
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

    /// HOME and TMPDIR of the script.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }
}

/// A copied file, compared with its source when all are copied: if none differs, all copies are of one moment. A script with
/// the assets of another version would do what neither version does.
struct CopiedFile {
    path: RelPath,
    bytes: usize,
    digest: [u8; 32],
}

impl CopiedFile {
    fn new(path: &RelPath, bytes: &[u8]) -> Self {
        Self { path: path.clone(), bytes: bytes.len(), digest: Sha256::digest(bytes).into() }
    }

    fn is_unchanged(&self, snapshot: &Snapshot, plan: &Plan<'_>) -> bool {
        read_skill_file(snapshot, plan.owner, &self.path, Links::Inside, self.bytes)
            .is_ok_and(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)) == self.digest)
    }
}

impl Drop for Workspace {
    /// The supervisor has removed it, unless it was killed, failed, or was never started.
    fn drop(&mut self) {
        if self.root.symlink_metadata().is_ok() {
            removal::remove_in_background(std::mem::take(&mut self.root));
        }
    }
}

/// Writes a read-only file; the files of `scripts/` are executable.
fn write_file(skill: &Path, path: &RelPath, bytes: &[u8]) -> io::Result<PathBuf> {
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

/// Makes an empty folder and locks it. It gets its final name when the lock is held, so that no sweep finds it unlocked.
fn make_locked_folder() -> io::Result<(PathBuf, WorkspaceLock)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNLOCKED_PREFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir()?;
    let path = folder.path().canonicalize()?;
    let lock = WorkspaceLock::join(&path)?;
    let unlocked = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let root = path.with_file_name(unlocked.replacen(UNLOCKED_PREFIX, LOCKED_PREFIX, 1));
    fs::rename(&path, &root)?;
    let _ = folder.keep();
    Ok((root, lock))
}

/// A share in the lock of a workspace, which ends when this value is dropped.
#[derive(Debug)]
pub(super) struct WorkspaceLock(File);

impl WorkspaceLock {
    pub(super) fn join(root: &Path) -> io::Result<Self> {
        let lock = fs::OpenOptions::new().create(true).append(true).open(root.join("lock"))?;
        lock.try_lock_shared().map_err(io::Error::from)?;
        Ok(Self(lock))
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // A child that another thread is starting has a copy of the descriptor, which would keep the lock for a moment.
        let _ = self.0.unlock();
    }
}

/// Removes the workspaces of runs whose server and supervisor are both gone, one after the other; a sentence about each that
/// could not be removed.
pub(crate) fn sweep() -> Vec<String> {
    let mut stay = Vec::new();
    for path in left_behind() {
        tracing::info!("removing {}, which a run left behind", path.display());
        if let Err(error) = removal::remove_tree(&path) {
            stay.push(removal::leftover(&path, &error));
        }
    }
    stay
}

/// The same for a person who waits: what takes longer than this goes on, and is reported.
pub(crate) fn sweep_within(limit: Duration) -> Vec<String> {
    let (sender, swept) = mpsc::channel();
    let sweep = move || drop(sender.send(sweep()));
    if thread::Builder::new().name("sweep".to_owned()).spawn(sweep).is_err() {
        return Vec::new();
    }
    let is_being_removed = |path: PathBuf| format!("{} is being removed", path.display());
    swept
        .recv_timeout(limit)
        .unwrap_or_else(|_| left_behind().into_iter().map(is_being_removed).collect())
}

/// Workspaces that no run uses any more, by name, owner and lock; their contents are not read.
fn left_behind() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(temporary_folder()).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // Every user may write to the temporary folder, so the owner is checked before the name.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || !is_mine(&metadata) {
            continue;
        }
        let has = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if has(LOCKED_PREFIX) && is_unlocked(&path)
            || has(UNLOCKED_PREFIX) && is_abandoned(&metadata)
        {
            found.push(path);
        }
    }
    found
}

/// Whether no process holds the lock. A lock that cannot be opened or is no file counts as held.
fn is_unlocked(root: &Path) -> bool {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    }
    let lock = root.join("lock");
    let mut opened = options.open(&lock);
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    if opened.as_ref().is_err_and(is_closed) {
        opened = open_to_owner(root, &lock).and_then(|()| options.open(&lock));
    }
    match opened {
        Ok(lock) => lock.metadata().is_ok_and(|found| found.is_file()) && lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Gives the owner the rights back that a script took from a private folder and its lock.
#[cfg(unix)]
fn open_to_owner(root: &Path, lock: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(root, fs::Permissions::from_mode(0o700))?;
    if lock.symlink_metadata()?.is_file() {
        fs::set_permissions(lock, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn open_to_owner(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

fn is_abandoned(found: &fs::Metadata) -> bool {
    let age = found.modified().ok().and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > ABANDONED_SECONDS)
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
    fn only_its_owner_may_open_a_workspace() {
        use std::os::unix::fs::PermissionsExt as _;

        let (root, _lock) = make_locked_folder().unwrap();
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn e02_a_workspace_that_its_script_closed_is_found() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = Home::new();
        for (name, closed) in [("folder", ""), ("file", "lock")] {
            home.write(&format!("{name}/lock"), "");
            let root = home.path().join(name);
            fs::set_permissions(root.join(closed), fs::Permissions::from_mode(0o0)).unwrap();
            open_to_owner(&root, &root.join("lock")).unwrap();
            assert!(is_unlocked(&root), "{name}");
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o700;
            assert_eq!((mode(&root), mode(&root.join("lock")) & 0o600), (0o700, 0o600), "{name}");
        }
    }

    #[test]
    fn a_workspace_is_unlocked_where_its_lock_is_missing_or_a_free_file() {
        let home = Home::new();
        home.write("free/lock", "");
        home.write("none/x", "");
        home.write("folder/lock/x", "");
        home.write("linked/x", "");
        std::os::unix::fs::symlink("../free/lock", home.path().join("linked/lock")).unwrap();
        fs::create_dir(home.path().join("fifo")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(home.path().join("fifo/lock")).status();
        assert!(fifo.unwrap().success());
        let held = WorkspaceLock::join(&home.path().join("free")).unwrap();
        assert!(!is_unlocked(&home.path().join("free")));
        let copy = held.0.try_clone().unwrap();
        drop(held);
        for (folder, unlocked) in
            [("free", true), ("none", true), ("folder", false), ("linked", false), ("fifo", false)]
        {
            assert_eq!(is_unlocked(&home.path().join(folder)), unlocked, "{folder}");
        }
        drop(copy);
    }
}
