//! Finds the descendants of this process, and measures them. As their subreaper it is the parent of every orphan, so that no process
//! can leave the tree: not by a second fork, not by a session of its own.
//!
//! A PID in a list may be another process's by the time it is used, so before a signal is sent the process is verified.
//!
//! Where the files of `/proc` do not open, children are found by asking the kernel about each PID.

use std::{
    collections::{HashMap, HashSet},
    io::Read as _,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, open, openat, statat},
    io::Errno,
    process::{
        DumpableBehavior, Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper,
        set_dumpable_behavior, waitid,
    },
};

/// How often the threads of a process are listed anew, where all that were listed ended before they were read.
const MAX_THREAD_LISTINGS: usize = 10;
/// Waits for children with any exit signal, which a process chooses that calls `clone`.
pub(super) const ANY_CHILD: u32 = libc::__WALL.unsigned_abs();

/// `/proc`, held open from the start.
pub(super) struct ProcessTree(Option<Dir>);

/// Descendants of this process.
#[derive(Default)]
pub(super) struct Descendants {
    /// The nearest first; ended ones that were not reaped yet included.
    pub(super) pids: Vec<Pid>,
    /// Of all of them together.
    pub(super) threads: usize,
}

/// Why children could not be listed.
pub(super) enum ListError {
    /// The kernel was built without the files that list children.
    Unsupported,
    /// The files cannot be opened now, for instance because of a limit on open files.
    Unavailable,
}

impl ProcessTree {
    pub(super) fn open() -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self(open("/proc", flags, Mode::empty()).and_then(Dir::new).ok())
    }

    /// All descendants of this process; only its children, where `/proc` shows no more.
    pub(super) fn descendants(&mut self) -> Descendants {
        self.descendants_up_to(usize::MAX)
    }

    /// The same, but about `limit` of them at most.
    pub(super) fn descendants_up_to(&mut self, limit: usize) -> Descendants {
        let found = self.list_by_children_files(limit).or_else(|error| match error {
            ListError::Unsupported => self.list_by_parents(),
            ListError::Unavailable => Err(error),
        });
        found.unwrap_or_else(|_| {
            let pids: Vec<Pid> = self.pids().into_iter().filter(|pid| is_child(*pid)).collect();
            Descendants { threads: pids.len(), pids }
        })
    }

    fn list_by_children_files(&self, limit: usize) -> Result<Descendants, ListError> {
        let mut found = Descendants::default();
        let mut known: HashSet<Pid> = HashSet::new();
        let (mut next, _) = self.children(getpid())?;
        while let Some(pid) = next.pop().filter(|_| found.pids.len() < limit) {
            if known.insert(pid) {
                let (below, threads) = self.children(pid)?;
                found.pids.push(pid);
                found.threads += threads;
                next.extend(below);
            }
        }
        Ok(found)
    }

    /// The children of a process's threads, and how many threads it has. A process that is gone has none.
    pub(super) fn children(&self, pid: Pid) -> Result<(Vec<Pid>, usize), ListError> {
        let tasks = match self.open_folder(&format!("{}/task", pid.as_raw_nonzero())) {
            Ok(tasks) => tasks,
            Err(Errno::NOENT | Errno::SRCH) => return Ok((Vec::new(), 0)),
            Err(_) => return Err(ListError::Unavailable),
        };
        let mut found = Vec::new();
        let listing = Dir::read_from(&tasks).map_err(|_| ListError::Unavailable);
        let threads = numeric_names(&mut listing?);
        for thread in &threads {
            match read_text(&tasks, &format!("{}/children", thread.as_raw_nonzero())) {
                Ok(list) => found.extend(list.split_whitespace().filter_map(parse_pid)),
                Err(Errno::NOENT | Errno::SRCH) => {
                    let name = thread.as_raw_nonzero().to_string();
                    if statat(&tasks, name, AtFlags::empty()).is_ok() {
                        return Err(ListError::Unsupported);
                    }
                }
                Err(_) => return Err(ListError::Unavailable),
            }
        }
        Ok((found, threads.len()))
    }

    /// Finds descendants through the parent of every process.
    fn list_by_parents(&mut self) -> Result<Descendants, ListError> {
        let mut parents = self.parents()?;
        let mut found = Descendants::default();
        let mut next = parents.remove(&getpid()).unwrap_or_default();
        while let Some((pid, threads)) = next.pop() {
            found.pids.push(pid);
            found.threads += threads;
            next.extend(parents.remove(&pid).unwrap_or_default());
        }
        Ok(found)
    }

    /// Parent → children and how many threads each has, of all processes of the machine.
    fn parents(&mut self) -> Result<HashMap<Pid, Vec<(Pid, usize)>>, ListError> {
        let mut parents: HashMap<Pid, Vec<(Pid, usize)>> = HashMap::new();
        for pid in self.pids() {
            let stat = match self.stat(pid) {
                Ok(stat) => stat,
                Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => continue,
                Err(_) => return Err(ListError::Unavailable),
            };
            if let Some(parent) = parent(&stat) {
                parents.entry(parent).or_default().push((pid, threads(&stat).unwrap_or(1)));
            }
        }
        Ok(parents)
    }

    /// The fields of `stat` after the process's name, which may hold any character.
    fn stat(&self, pid: Pid) -> Result<String, Errno> {
        let stat = self.read_file(&pid.as_raw_nonzero().to_string(), "stat")?;
        Ok(stat.rsplit(')').next().unwrap_or_default().to_owned())
    }

    /// The same, if the process is a descendant of this one. `verified` holds ancestors of processes that were verified before.
    pub(super) fn verify(&self, pid: Pid, verified: &mut HashSet<Pid>) -> Option<String> {
        let stat = self.stat(pid).ok()?;
        let mut ancestors = vec![parent(&stat)?];
        while let Some(last) = ancestors.last()
            && *last != getpid()
            && !verified.contains(last)
        {
            ancestors.push(parent(&self.stat(*last).ok()?)?);
        }
        verified.extend(ancestors);
        Some(stat)
    }

    /// Whether more than `limit` of these still run; a process that has ended is listed until its parent reaps it.
    pub(super) fn more_run_than(&self, pids: &[Pid], limit: usize) -> bool {
        let runs = |pid: &&Pid| self.stat(**pid).is_ok_and(|stat| !has_ended(&stat));
        pids.iter().filter(runs).nth(limit).is_some()
    }

    /// The memory of these processes, in bytes: their resident pages, and the tables that the kernel keeps of their mappings, which
    /// can take far more. A page that several of them share counts for each.
    pub(super) fn resident(&self, pids: &[Pid]) -> u64 {
        let resident = |folder: &str| self.kilobytes(folder, "status", &["VmRSS:", "VmPTE:"]);
        pids.iter().filter_map(|pid| self.query(*pid, resident)).sum::<u64>() << 10
    }

    /// The same with every page counted once, which takes the kernel longer.
    pub(super) fn resident_once(&self, pids: &[Pid]) -> u64 {
        let once = |folder: &str| {
            let shared = self.kilobytes(folder, "smaps_rollup", &["Pss:"]);
            let shared = shared.or_else(|| self.kilobytes(folder, "status", &["VmRSS:"]))?;
            Some(shared + self.kilobytes(folder, "status", &["VmPTE:"]).unwrap_or(0))
        };
        pids.iter().filter_map(|pid| self.query(*pid, once)).sum::<u64>() << 10
    }

    /// Reads something from a process's folder in `/proc`. That is the folder of its first thread, which is empty once that
    /// thread has ended, even where other threads hold the process's memory and files: then the folder of one of those is read.
    pub(super) fn query<T>(&self, pid: Pid, mut read: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let own = pid.as_raw_nonzero().to_string();
        if let Some(answer) = read(&own) {
            return Some(answer);
        }
        for _ in 0..MAX_THREAD_LISTINGS {
            let tasks = self.open_folder(&format!("{own}/task")).and_then(Dir::new).ok();
            let mut others = tasks.map(|mut tasks| numeric_names(&mut tasks)).unwrap_or_default();
            others.retain(|thread| *thread != pid);
            // The whole process has ended.
            if others.is_empty() {
                return None;
            }
            let thread_folder = |thread: &Pid| format!("{own}/task/{}", thread.as_raw_nonzero());
            if let Some(answer) = others.iter().find_map(|thread| read(&thread_folder(thread))) {
                return Some(answer);
            }
        }
        None
    }

    /// The sum of lines such as `Pss:   123 kB` in a file of a process; none where it has none of them.
    fn kilobytes(&self, folder: &str, file: &str, names: &[&str]) -> Option<u64> {
        let text = self.read_file(folder, file).ok()?;
        let value = |line: &str| {
            let value = names.iter().find_map(|name| line.strip_prefix(name))?;
            value.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        text.lines().filter_map(value).reduce(|sum, value| sum + value)
    }

    /// A file in the `/proc` folder of a process or thread.
    pub(super) fn read_file(&self, folder: &str, file: &str) -> Result<String, Errno> {
        let proc = self.0.as_ref().ok_or(Errno::BADF)?.fd()?;
        read_text(proc, &format!("{folder}/{file}"))
    }

    /// A folder of `/proc`, such as `123/fd` with the files that a process has open.
    pub(super) fn open_folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let proc = self.0.as_ref().ok_or(Errno::BADF)?.fd()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(proc, path, flags, Mode::empty())
    }

    /// The session of a process. It is 0 where its leader is in another PID namespace, as in a container whose first process
    /// was started from outside; `getsid` of rustix does not expect that.
    pub(super) fn session(&self, pid: Pid) -> Option<u32> {
        self.stat(pid).ok()?.split_whitespace().nth(3)?.parse().ok()
    }

    /// Whether a process is in the session of this one, as only this program's own processes are: a script begins in a session of
    /// its own, and no process can enter another.
    fn is_in_own_session(&self, pid: Pid) -> bool {
        self.session(pid).is_some_and(|session| Some(session) == self.session(getpid()))
    }

    /// The descendants that are a script's.
    pub(super) fn descendants_in_other_sessions(&mut self) -> Vec<Pid> {
        let mut pids = self.descendants().pids;
        pids.retain(|pid| !self.is_in_own_session(*pid));
        pids
    }

    /// The process group of a process.
    pub(super) fn group(&self, pid: Pid) -> Option<u32> {
        self.stat(pid).ok()?.split_whitespace().nth(2)?.parse().ok()
    }

    /// Every process of the machine.
    fn pids(&mut self) -> Vec<Pid> {
        self.0.as_mut().map(numeric_names).unwrap_or_default()
    }
}

/// Keeps other processes of the user from inspecting this one, and makes it the parent of every orphan below it.
pub(super) fn hide_and_adopt_orphans() -> Result<(), Errno> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))
}

/// The parent of a process, from [`ProcessTree::stat`]; the first process has none.
fn parent(stat: &str) -> Option<Pid> {
    parse_pid(stat.split_whitespace().nth(1)?)
}

/// The process group of a process, from the same.
pub(super) fn group(stat: &str) -> Option<Pid> {
    parse_pid(stat.split_whitespace().nth(2)?)
}

/// How many threads a process has, from [`ProcessTree::stat`].
fn threads(stat: &str) -> Option<usize> {
    stat.split_whitespace().nth(17)?.parse().ok()
}

/// Whether a whole process has ended, from the same. The state is that of its first thread, which stays a zombie until the
/// last thread has ended.
fn has_ended(stat: &str) -> bool {
    let state = stat.split_whitespace().next();
    matches!(state, None | Some("Z" | "X")) && threads(stat).is_none_or(|threads| threads < 2)
}

/// Reads the state of a child without reaping it.
pub(super) fn peek_options() -> WaitIdOptions {
    WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT
        | WaitIdOptions::from_bits_retain(ANY_CHILD)
}

pub(super) fn is_child(pid: Pid) -> bool {
    waitid(WaitId::Pid(pid), peek_options()).is_ok()
}

/// The names in a folder that are numbers.
fn numeric_names(folder: &mut Dir) -> Vec<Pid> {
    folder.rewind();
    let mut found = Vec::new();
    while let Some(Ok(entry)) = folder.read() {
        found.extend(entry.file_name().to_str().ok().and_then(parse_pid));
    }
    found
}

fn read_text(folder: impl AsFd, path: &str) -> Result<String, Errno> {
    let file: OwnedFd = openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .read_to_end(&mut bytes)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// Its first thread ends, while another holds 64 MB.
    const HOLDS: &str = "
import ctypes, os, threading, time
def hold():
    held = b'x' * (64 << 20)
    leader = '/proc/self/task/%d/stat' % os.getpid()
    while open(leader).read().rsplit(')')[-1].split()[0] != 'Z': time.sleep(0.01)
    print('held', flush=True); time.sleep(20)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
";

    #[test]
    fn every_way_of_listing_finds_a_child() {
        let mut child = Command::new("sleep").arg("20").stdin(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut tree = ProcessTree::open();
        let by_children = tree.list_by_children_files(usize::MAX).ok().unwrap();
        let by_parents = tree.list_by_parents().ok().unwrap();
        let fails_without_proc = ProcessTree(None).list_by_children_files(1).is_err();
        let is_found = is_child(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        for found in [by_children, by_parents] {
            assert!(found.pids.contains(&pid) && found.threads >= found.pids.len());
        }
        assert!(is_found && fails_without_proc);
        assert!(!is_child(pid));
    }

    /// Reads a page in each part of a large mapping, which costs the kernel 64 MB of tables and no other memory.
    const MAPS: &str = "
import mmap, time
size = 32 << 30
held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
held.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, size, 2 << 20): held[at]
print('held', flush=True); time.sleep(20)
";

    /// Python running this program, once it has printed a line.
    fn python(program: &str) -> (Child, [Pid; 1], String) {
        let mut python = Command::new("python3");
        python.args(["-c", program]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let pids = [Pid::from_child(&child)];
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        (child, pids, said)
    }

    #[test]
    fn e13_the_tables_of_mappings_count_as_memory() {
        let (mut child, pids, said) = python(MAPS);
        let tree = ProcessTree::open();
        let held = (tree.resident(&pids), tree.resident_once(&pids));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(said, "held\n");
        assert!(held.0 >= 64 << 20 && held.1 >= 64 << 20, "{held:?}");
    }

    #[test]
    fn e13_a_process_lives_and_holds_memory_until_its_last_thread_ends() {
        let (mut child, pids, said) = python(HOLDS);
        let tree = ProcessTree::open();
        let measure =
            || (tree.more_run_than(&pids, 0), tree.resident(&pids), tree.resident_once(&pids));
        let before = measure();
        child.kill().unwrap();
        // It has ended, and is not reaped yet.
        waitid(WaitId::Pid(pids[0]), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let after = measure();
        child.wait().unwrap();
        assert_eq!(said, "held\n");
        assert!(before.0 && before.1 >= 64 << 20 && before.2 >= 64 << 20, "{before:?}");
        assert_eq!(after, (false, 0, 0));
    }
}
