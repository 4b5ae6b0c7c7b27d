//! Reads configuration files, and replaces two kinds of them whole: the record of consent, and what `add` and `config set` edit.

#![expect(
    clippy::disallowed_methods,
    reason = "configuration files have fixed names; nothing a request or a skill names is opened here"
)]

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use crate::whole_file::{NewFileReaders, replace_whole};

/// A larger configuration file is refused.
const MAX_CONFIG_BYTES: u64 = 256 * 1024;

/// The file's text; `None` where there is no such file. A file in a folder that its owner may not enter is an error: a script
/// can close the folders of its user, and so must not switch settings off.
pub fn read_optional(path: &Path) -> io::Result<Option<String>> {
    match path.metadata() {
        Ok(found) if found.is_file() => {
            read_at_most(path, MAX_CONFIG_BYTES, "larger than 256 KiB").map(Some)
        }
        // A FIFO would block the start for ever.
        Ok(_) => Ok(None),
        Err(error) => match closed_folder(path).filter(|_| is_denied(&error)) {
            Some(folder) => {
                let why = format!("{} is closed to you, its owner", folder.display());
                Err(io::Error::new(error.kind(), why))
            }
            None => Ok(None),
        },
    }
}

/// The text of a configuration file of the user's, which is opened again where a script has closed it.
pub(super) fn read_users_file(path: &Path) -> io::Result<Option<String>> {
    opened_again(path, || read_optional(path))
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The folder above a path that this user may not enter, where it is this user's own.
fn closed_folder(path: &Path) -> Option<&Path> {
    // What is in a folder that may not be entered cannot be asked about, so it is the first that can.
    let (folder, found) =
        path.ancestors().skip(1).find_map(|above| Some((above, above.metadata().ok()?)))?;
    #[cfg(unix)]
    let is_own = std::os::unix::fs::MetadataExt::uid(&found) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let is_own = found.is_dir();
    is_own.then_some(folder)
}

fn read_at_most(path: &Path, max: u64, too_large: &'static str) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(max + 1).read_to_string(&mut text)?;
    if read as u64 > max { Err(io::Error::other(too_large)) } else { Ok(text) }
}

/// The text of a file that holds secrets: a regular file that only its owner may read.
pub fn read_secret(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        return Err(io::Error::other("other users of this machine may read it; chmod 600 it"));
    }
    read_at_most(path, MAX_CONFIG_BYTES, "larger than 256 KiB")
}

/// A larger record is refused.
const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;
/// How long to wait for another process that is replacing the same record.
const RECORD_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a command waits for others that change a configuration file: a script may start many of them at once.
const CONFIG_LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The state of a file; it differs once the file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    number: u64,
}

/// The state of a file; none where there is no file.
pub fn file_stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    Some(FileStamp { modified: found.modified().ok(), bytes: found.len(), number })
}

/// The text of a record; `None` where there is none. Anything but a readable file is an error: a record that cannot be
/// read must not pass for one that is not there.
pub(super) fn read_record(path: &Path) -> io::Result<Option<String>> {
    opened_again(path, || {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(found) if !found.is_file() => return Err(io::Error::other("not a regular file")),
            Ok(_) => {}
        }
        read_at_most(path, MAX_RECORD_BYTES, "larger than 4 MiB").map(Some)
    })
}

/// Replaces a record by what `change` returns for it, under a lock, readable by its owner only; it stays as it is where
/// `change` returns `None`.
pub(super) fn change_record(
    path: &Path,
    change: impl FnOnce(Option<String>) -> io::Result<Option<String>>,
) -> io::Result<()> {
    path.parent().map(create_private_folder).transpose()?;
    let lock_file = path.with_extension("lock");
    let _lock = opened_again(&lock_file, || lock(&lock_file, RECORD_LOCK_TIMEOUT))?;
    let before = read_record(path)?;
    let is_new = before.is_none();
    let Some(text) = change(before)? else { return Ok(()) };
    let beside = path.with_extension("new");
    let create =
        || private(OpenOptions::new().write(true).create(true).truncate(true)).open(&beside);
    let written = opened_again(&beside, create).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // A power cut leaves the old record or the new one; a first record has no old one to lose.
        if is_new { Ok(()) } else { file.sync_data() }
    });
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Opens a file of the user's that this program reads for itself. A script may take the rights on files of its user from their
/// owner, and can neither read nor write them: where that was done to the file or to its folder, the owner gets the rights
/// back, and it is tried once more.
fn opened_again<T>(path: &Path, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_denied(&error) => {
            #[cfg(unix)]
            path.parent().into_iter().chain([path]).for_each(give_back);
            open()
        }
        opened => opened,
    }
}

/// Lets the owner of a file or folder read and write it. Where it is another user's, that fails, and nothing changes.
#[cfg(unix)]
fn give_back(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(found) = fs::metadata(path) else { return };
    let owners = if found.is_dir() { 0o700 } else { 0o600 };
    let mode = found.permissions().mode();
    if mode & owners != owners {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode | owners));
    }
}

/// While it is there, no other command of this user changes a configuration file.
#[derive(Debug)]
#[must_use]
pub struct ConfigFileLock(#[expect(dead_code, reason = "it is locked while it is open")] File);

/// Waits until no other command of this user changes a configuration file. The lock is in the home folder, since a project's
/// folder is not the place for it.
pub fn lock_config_files(home: &Path) -> io::Result<ConfigFileLock> {
    let folder = home.join(".skills-mcp");
    create_private_folder(&folder)?;
    lock(&folder.join("config.lock"), CONFIG_LOCK_TIMEOUT).map(ConfigFileLock)
}

/// Replaces a configuration file that was read as `before` by another text, whole or not at all; an empty text removes it. A new
/// file is for its owner only, unless it is a project's. A link stays a link, and its target is replaced.
pub fn replace_file(
    path: &Path,
    before: Option<&str>,
    after: &str,
    of_project: bool,
) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = target.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    create_private_folder(folder)?;
    let is_unchanged = || Ok(read_optional(&target)?.as_deref() == before);
    if !is_unchanged()? {
        return Err(io::Error::other("it was changed meanwhile; try again"));
    }
    if after.trim().is_empty() {
        return if before.is_some() { fs::remove_file(&target) } else { Ok(()) };
    }
    let readers = if of_project { NewFileReaders::Usual } else { NewFileReaders::Owner };
    replace_whole(&target, after, readers, is_unchanged)
}

/// Creates a folder, and those above it, for the owner only.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn lock(path: &Path, timeout: Duration) -> io::Result<File> {
    let file = private(OpenOptions::new().append(true).create(true)).open(path)?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if waited >= timeout => {
                return Err(io::Error::other("another process holds its lock"));
            }
            Err(TryLockError::WouldBlock) => {
                thread::sleep(LOCK_PAUSE);
                waited += LOCK_PAUSE;
            }
        }
    }
}

/// Opens for the owner only, and never through a symbolic link.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}
