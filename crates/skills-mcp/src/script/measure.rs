//! Measures what no limit of the kernel counts: the workspace of a run, files without a name, which are shared memory
//! and deleted files that a process still has open or mapped, the buffers of sockets and pipes, with the files in transit
//! through a socket, and what the kernel keeps of each mapping.
//!
//! The script may change the workspace meanwhile, so it is walked by handles and never by paths, without recursion, and up to
//! a number of files and levels. Where folders change on the way, it is walked once more while the script's processes are
//! stopped, since what is moved behind the walk is not found.
//!
//! Not counted: what a script writes to its working directory; what TCP connections hold beyond a full socket, for which the
//! kernel has a limit of its own; locks on parts of files; files in a file table that a thread does not share, which the
//! filter of system calls (`sandbox/calls`) prevents; and files in transit through a socket that is itself in transit, which it
//! prevents for scripts without a network.

use std::{
    collections::{HashMap, HashSet},
    ffi::CString,
    iter::repeat_with,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, Stat, fchmod, fstat, makedev, statat},
    io::Errno,
    process::Pid,
};

use super::{
    descendants::ProcessTree,
    kill,
    outcome::{Ending, MAX_MEMORY_BYTES, MAX_PRIVATE_BYTES, MAX_PRIVATE_DEPTH, MAX_PRIVATE_FILES},
    sandbox::MAX_FILE_BYTES,
};
use crate::removal::readable_folder;

/// The unit in which `stat` counts blocks.
const STAT_BLOCK_BYTES: u64 = 512;
/// What a full socket or pipe holds in the kernel's memory, unless the system was tuned. How full one is cannot be asked from
/// outside, so each counts as full.
const FULL_SOCKET_BYTES: u64 = 208 * 1024;
const FULL_PIPE_BYTES: u64 = 64 * 1024;
/// What the kernel keeps of a mapping, in the worst case: a record for each process of a chain in which each forked the next.
const MAPPING_BYTES: u64 = 8 * 1024;
/// How often a folder is walked while the processes are stopped. A process stops after the system call that it is in, which may
/// change the folder during the first walk.
const MAX_STOPPED_WALKS: usize = 3;

/// What a run holds, measured again and again.
pub(super) struct RunMeasure {
    workspace: PathBuf,
    tree: ProcessTree,
    /// Whether a process that cannot be measured ends the run. Without a sandbox programs may hide themselves, and run as root.
    must_see_all: bool,
    /// Whether the last measurement missed a process. The next one may miss another, to which the first gave what it holds.
    has_missed: bool,
}

impl RunMeasure {
    pub(super) fn new(workspace: PathBuf, must_see_all: bool) -> Self {
        Self { workspace, tree: ProcessTree::open(), must_see_all, has_missed: false }
    }

    /// The limit that the run exceeds with its workspace and what its processes hold open, if any.
    pub(super) fn exceeded_limit(&mut self) -> Option<Ending> {
        let Some(named) = self.folder_bytes() else { return Some(Ending::TooManyFiles) };
        // The keeper hides itself; it and the launcher hold nothing of the script's.
        let pids = self.tree.descendants_in_other_sessions();
        let (held, is_complete) = HeldBytes::of(&self.tree, &pids);
        let has_missed = std::mem::replace(&mut self.has_missed, !is_complete);
        if held.in_kernel > MAX_MEMORY_BYTES {
            return Some(Ending::TooMuchMemory);
        }
        if named.saturating_add(held.unlinked) > MAX_PRIVATE_BYTES {
            return Some(Ending::TooLarge);
        }
        (self.must_see_all && has_missed && !is_complete).then_some(Ending::Unmeasured)
    }

    /// The disk space of the workspace; none where it holds more files or levels than a run may have.
    fn folder_bytes(&mut self) -> Option<u64> {
        let measure = || FolderMeasure::of(&self.workspace);
        let moving = measure()?;
        if !moving.has_changed {
            return Some(moving.bytes);
        }
        let stopped = kill::stop(&mut self.tree);
        let is_steady =
            |walk: &Option<FolderMeasure>| !walk.as_ref().is_some_and(|w| w.has_changed);
        let still = repeat_with(measure).take(MAX_STOPPED_WALKS).find(is_steady);
        kill::continue_stopped(&mut self.tree, &stopped);
        still.unwrap_or(Some(moving)).map(|walk| walk.bytes)
    }
}

/// The disk space of a folder, links not followed.
#[derive(Default)]
struct FolderMeasure {
    bytes: u64,
    files: usize,
    /// Files with several names, which count once.
    linked: HashSet<u64>,
    /// When the walk began, by the clock of the disk.
    began: Option<(i64, u64)>,
    /// Whether what was walked changed since then, so that something may have been moved past the walk.
    has_changed: bool,
}

/// A folder on the way down, and the folders in it that are still to be walked.
struct Level {
    folder: Option<OwnedFd>,
    below: Vec<CString>,
}

impl Level {
    fn none() -> Self {
        Self { folder: None, below: Vec::new() }
    }

    /// When the folder's names, its place or its mode changed last: also where something was moved from it behind the walk, and where
    /// it took the place of another. Unlike other times a script cannot set this one.
    fn changed_at(&self) -> Option<(i64, u64)> {
        changed_at(self.folder.as_ref()?).ok()
    }
}

impl FolderMeasure {
    /// Measures a folder; none where it holds more files or levels than a run may have.
    fn of(folder: &Path) -> Option<Self> {
        // A folder that is not there holds nothing.
        let Ok(top) = readable_folder(CWD, folder) else { return Some(Self::default()) };
        Self::begun(&top).walked(top)
    }

    /// Asks the disk for its time by a change that changes nothing: every later change of another folder is as late, or later.
    fn begun(top: &OwnedFd) -> Self {
        let began = fchmod(top, Mode::RWXU).and_then(|()| changed_at(top));
        Self { began: began.ok(), ..Self::default() }
    }

    fn walked(mut self, top: OwnedFd) -> Option<Self> {
        let mut levels = vec![self.level(top)];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.below.pop() else {
                levels.pop();
                continue;
            };
            let folder = level.folder.as_ref();
            match folder.map(|folder| readable_folder(folder, name.as_c_str())) {
                Some(Ok(opened)) => {
                    if levels.len() >= MAX_PRIVATE_DEPTH {
                        return None;
                    }
                    let next = self.level(opened);
                    self.has_changed |= next.changed_at() >= self.began;
                    levels.push(next);
                }
                // It was moved or removed since its name was read.
                Some(Err(_)) | None => self.has_changed = true,
            }
            if self.files > MAX_PRIVATE_FILES {
                return None;
            }
        }
        Some(self)
    }

    /// Counts the entries of a folder.
    fn level(&mut self, folder: OwnedFd) -> Level {
        let mut below = Vec::new();
        let Ok(mut names) = Dir::read_from(&folder) else { return Level::none() };
        while let Some(Ok(entry)) = names.read() {
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.files += 1;
            if self.files > MAX_PRIVATE_FILES {
                break;
            }
            let stat = || statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            // A folder may be readable and yet not searchable.
            let found = stat().or_else(|errno| match errno {
                Errno::ACCESS => fchmod(&folder, Mode::RWXU).and_then(|()| stat()),
                other => Err(other),
            });
            let Ok(found) = found else {
                self.has_changed = true;
                continue;
            };
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            if is_folder || found.st_nlink < 2 || self.linked.insert(found.st_ino) {
                self.bytes = self.bytes.saturating_add(disk_bytes(&found));
            }
            if is_folder {
                below.push(entry.file_name().to_owned());
            }
        }
        Level { folder: Some(folder), below }
    }
}

fn changed_at(folder: &OwnedFd) -> Result<(i64, u64), Errno> {
    let found = fstat(folder)?;
    Ok((found.st_ctime, found.st_ctime_nsec))
}

fn disk_bytes(found: &Stat) -> u64 {
    u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(STAT_BLOCK_BYTES)
}

/// What processes hold open that has no name.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeldBytes {
    /// The size of files without a name.
    unlinked: u64,
    /// What the sockets and pipes may hold, with the files in transit, and what the kernel keeps of mappings.
    in_kernel: u64,
}

/// What is held, each file, socket and pipe once: its kind and size by device and inode.
type HeldFiles = HashMap<(u64, u64), (FileType, u64)>;

impl HeldBytes {
    /// What these processes hold, and whether that is all. The kernel closes the folder of a process in `/proc` to other processes
    /// of the user where that user may not read its program.
    fn of(tree: &ProcessTree, pids: &[Pid]) -> (Self, bool) {
        let mut held = HeldFiles::new();
        let mut is_complete = true;
        let mut mapped: u64 = 0;
        for pid in pids {
            // Listing millions of mappings would take the time in which the limit is to be noticed.
            if mapped > MAX_MEMORY_BYTES {
                break;
            }
            let mut is_closed = false;
            let read = tree.query(*pid, |folder| {
                let counted = count_open_files(tree, folder, &mut held);
                // A mapping keeps its file without a handle.
                let maps = tree.read_file(folder, "maps");
                // The list of files is closed also where a process is about to end, and then there are no mappings either.
                let refused = maps.as_ref().err().or(counted.as_ref().err());
                let has_ended = maps.as_ref().is_ok_and(String::is_empty);
                is_closed |= refused.is_some_and(|errno| !is_gone(*errno) && !has_ended);
                let maps = counted.and(maps).ok()?;
                for line in maps.lines() {
                    mapped = mapped.saturating_add(MAPPING_BYTES);
                    if let Some((file, bytes)) = deleted_mapping(line) {
                        count(&mut held, file, FileType::RegularFile, bytes);
                    }
                }
                // A thread that ends drops its mappings first: if they are there, so were all its files.
                (!maps.is_empty()).then_some(())
            });
            is_complete &= read.is_some() || !is_closed;
        }
        let mut sums = Self { in_kernel: mapped, ..Self::default() };
        for (kind, bytes) in held.into_values() {
            let is_file = kind == FileType::RegularFile;
            let sum = if is_file { &mut sums.unlinked } else { &mut sums.in_kernel };
            // A script chooses the numbers: the end of a mapping may be any.
            *sum = sum.saturating_add(bytes);
        }
        (sums, is_complete)
    }
}

fn count(held: &mut HeldFiles, file: (u64, u64), kind: FileType, bytes: u64) {
    let (_, largest) = held.entry(file).or_insert((kind, 0));
    *largest = bytes.max(*largest);
}

/// Whether a file of `/proc` cannot be read because its process has ended.
fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::SRCH)
}

fn count_open_files(tree: &ProcessTree, process: &str, held: &mut HeldFiles) -> Result<(), Errno> {
    let folder = tree.open_folder(&format!("{process}/fd"))?;
    let mut names = Dir::read_from(&folder)?;
    while let Some(Ok(entry)) = names.read() {
        let Ok(found) = statat(&folder, entry.file_name(), AtFlags::empty()) else { continue };
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = match kind {
            FileType::RegularFile if found.st_nlink == 0 => disk_bytes(&found),
            FileType::Socket => {
                let file = format!("fdinfo/{}", entry.file_name().to_string_lossy());
                let info = tree.read_file(process, &file).unwrap_or_default();
                FULL_SOCKET_BYTES
                    .saturating_add(files_in_transit(&info).saturating_mul(MAX_FILE_BYTES))
            }
            FileType::Fifo => FULL_PIPE_BYTES,
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => continue,
        };
        count(held, (found.st_dev, found.st_ino), kind, bytes);
    }
    Ok(())
}

/// How many files are in transit to a socket, from its file in `fdinfo`. How large they are cannot be asked, so each counts as
/// large as a file may be. Kernels before 5.10 do not say.
fn files_in_transit(info: &str) -> u64 {
    let value = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// `7f00-8f00 rw-s 00000000 00:01 1234   /dev/zero (deleted)` → the file, and the end of the mapping in it.
fn deleted_mapping(line: &str) -> Option<((u64, u64), u64)> {
    let line = line.strip_suffix(" (deleted)")?;
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hexadecimal(fields.nth(1)?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let part = |text: &str| u32::from_str_radix(text, 16).ok();
    let inode = fields.next()?.parse().ok()?;
    let length = hexadecimal(end)?.checked_sub(hexadecimal(start)?)?;
    Some(((makedev(part(major)?, part(minor)?), inode), offset.saturating_add(length)))
}

#[cfg(test)]
mod tests {
    use std::{fs, fs::File, os::unix::fs::symlink};

    use skills_testkit::{Home, wait_until};

    use super::*;

    fn opened(path: &Path) -> File {
        File::options().write(true).open(path).unwrap()
    }

    #[test]
    fn a_folder_is_measured_by_its_disk_space_without_following_links() {
        let home = Home::new();
        home.write("run/home/deep/a", "x".repeat(1 << 20));
        home.write("run/b", "x".repeat(1 << 20));
        fs::hard_link(home.path().join("run/b"), home.path().join("run/c")).unwrap();
        home.write("other", "x".repeat(8 << 20));
        symlink("../other", home.path().join("run/link")).unwrap();
        symlink("..", home.path().join("run/home/up")).unwrap();
        home.write("run/sparse", "");
        opened(&home.path().join("run/sparse")).set_len(1 << 40).unwrap();
        let measured = folder_bytes(&home, "run").unwrap();
        assert!((2 << 20..3 << 20).contains(&measured), "{measured}");
    }

    #[test]
    fn e02_too_many_levels_have_no_size_and_closed_folders_hide_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = Home::new();
        home.write("run/closed/in/a", "x".repeat(1 << 20));
        let closed = home.path().join("run/closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
        assert!(folder_bytes(&home, "run").unwrap() >= 1 << 20);
        home.write(&format!("run/{}x", "d/".repeat(MAX_PRIVATE_DEPTH + 1)), "");
        assert_eq!(folder_bytes(&home, "run"), None);
        assert_eq!(folder_bytes(&home, "none"), Some(0));
    }

    fn folder_bytes(home: &Home, folder: &str) -> Option<u64> {
        FolderMeasure::of(&home.path().join(folder)).map(|measured| measured.bytes)
    }

    #[test]
    fn e02_a_walk_notices_that_a_folder_was_moved_behind_it_or_put_in_the_place_of_another() {
        use rustix::fs::{RenameFlags, renameat_with};
        let home = Home::new();
        home.write("run/a/large/x", "x");
        home.write("run/b/small/x", "x");
        let path = |name: &str| home.path().join("run").join(name);
        let is_steady = || !FolderMeasure::of(&path("")).unwrap().has_changed;
        for (from, to) in [("a/large", "b/large"), ("a", "b")] {
            wait_until("the last change is long ago for the disk's clock", is_steady);
            let top = readable_folder(CWD, &path("")).unwrap();
            let begun = FolderMeasure::begun(&top);
            let flags = if from == "a" { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
            renameat_with(CWD, path(from), CWD, path(to), flags).unwrap();
            assert!(begun.walked(top).unwrap().has_changed, "{from}");
        }
    }

    #[test]
    fn e13_deleted_files_and_shared_memory_are_found_by_their_mappings() {
        let line = "7f1000000000-7f1040000000 rw-s 00000000 00:01 1234   /dev/zero (deleted)";
        assert_eq!(deleted_mapping(line), Some(((makedev(0, 1), 1234), 1 << 30)));
        let file = "7f1000000000-7f1000001000 r--p 00002000 fd:00 99   /tmp/a b (deleted)";
        assert_eq!(deleted_mapping(file), Some(((makedev(0xfd, 0), 99), 0x3000)));
        let far = "7f1000000000-7f1000001000 r--s fffffffffffff000 00:01 7   /memfd:x (deleted)";
        assert_eq!(deleted_mapping(far), Some(((makedev(0, 1), 7), u64::MAX)));
        for other in ["", "7f10-7f20 rw-p 00000000 00:00 0", "x (deleted)"] {
            assert_eq!(deleted_mapping(other), None);
        }
        let home = Home::new();
        home.write("gone", "x".repeat(1 << 20));
        home.write("other", "");
        let file = opened(&home.path().join("gone"));
        fs::rename(home.path().join("other"), home.path().join("gone")).unwrap();
        assert!(held().unlinked >= 1 << 20, "{:?}", held());
        drop(file);
    }

    #[test]
    fn e13_sockets_and_pipes_count_as_full() {
        let sockets: Vec<_> =
            (0..50).map(|_| std::os::unix::net::UnixStream::pair().unwrap()).collect();
        let pipes: Vec<_> = (0..50).map(|_| std::io::pipe().unwrap()).collect();
        let least = 100 * FULL_SOCKET_BYTES + 50 * FULL_PIPE_BYTES;
        assert!(held().in_kernel >= least, "{:?}", held());
        drop((sockets, pipes));
    }

    #[test]
    fn e13_what_the_kernel_keeps_of_mappings_counts() {
        let lines = fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64;
        // Other tests map and unmap meanwhile.
        assert!(held().in_kernel >= lines / 2 * MAPPING_BYTES, "{:?}", held());
    }

    #[test]
    fn e13_the_kernel_says_how_many_files_are_in_transit() {
        assert_eq!(files_in_transit("pos:\t0\nino:\t58\nscm_fds: 3\n"), 3);
        for without in ["", "pos:\t0\n", "scm_fds: x"] {
            assert_eq!(files_in_transit(without), 0);
        }
    }

    fn held() -> HeldBytes {
        HeldBytes::of(&ProcessTree::open(), &[rustix::process::getpid()]).0
    }
}
