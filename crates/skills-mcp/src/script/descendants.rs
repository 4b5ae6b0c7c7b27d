//! Every process that stems from this one. As their subreaper it is the parent of all whose own parent has died, so
//! none can leave the tree: not by a second fork, not by a session of its own.
//!
//! Who cannot look has not found that nobody is there: where the files of `/proc` do not open, children are found by
//! asking the kernel about each number, and only the kernel's word that there is no child left counts as an end.

use std::{
    collections::{HashMap, HashSet},
    io::Read as _,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, open, openat, statat},
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpgrp, getpid, kill_process,
        kill_process_group, waitid, waitpid,
    },
};

/// The highest number a process can have.
const HIGHEST: i32 = 1 << 22;
/// Orphans are killed for so long; who forks faster than that is left to the limits.
const ORPHANS: Duration = Duration::from_secs(2);
/// Killing all descendants may take so long where there are thousands.
const KILL_ALL: Duration = Duration::from_secs(10);
/// Of so many processes the groups are looked at.
const GROUPS: usize = 64;
/// So often the threads of a process are asked that end before they have answered, while others begin.
const ROUNDS: usize = 10;
/// Children whatever signal their end is told by, which a process chooses that clones itself.
const ANY_CHILD: u32 = libc::__WALL.unsigned_abs();

/// The door to what the kernel tells of processes, held open from the start.
pub(super) struct Family(Option<Dir>);

/// Who was found.
#[derive(Default)]
pub(super) struct Found {
    /// The nearest first; dead ones that nobody has taken notice of included.
    pub(super) pids: Vec<Pid>,
    /// Of all of them together.
    pub(super) threads: usize,
}

/// Why children could not be told.
enum Untold {
    /// The kernel was built without it.
    Never,
    /// Something is in the way, such as a limit on open files.
    Now,
}

impl Family {
    pub(super) fn open() -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self(open("/proc", flags, Mode::empty()).and_then(Dir::new).ok())
    }

    /// All descendants of this process; its children only, where no more can be seen.
    pub(super) fn all(&mut self) -> Found {
        self.some(usize::MAX)
    }

    /// The same, but no more than about so many.
    pub(super) fn some(&mut self, most: usize) -> Found {
        let told = self.told(most).or_else(|untold| match untold {
            // Then everybody is asked for their parent.
            Untold::Never => self.asked(),
            Untold::Now => Err(Untold::Now),
        });
        told.unwrap_or_else(|_| {
            let pids: Vec<Pid> = self.pids().into_iter().filter(|pid| is_child(*pid)).collect();
            Found { threads: pids.len(), pids }
        })
    }

    fn told(&self, most: usize) -> Result<Found, Untold> {
        let mut found = Found::default();
        let mut known: HashSet<Pid> = HashSet::new();
        let (mut next, _) = self.children(getpid())?;
        while let Some(pid) = next.pop().filter(|_| found.pids.len() < most) {
            if known.insert(pid) {
                let (below, threads) = self.children(pid)?;
                found.pids.push(pid);
                found.threads += threads;
                next.extend(below);
            }
        }
        Ok(found)
    }

    /// The children of every thread, and how many threads there are. A process that is gone has none.
    fn children(&self, pid: Pid) -> Result<(Vec<Pid>, usize), Untold> {
        let tasks = match self.folder(&format!("{}/task", pid.as_raw_nonzero())) {
            Ok(tasks) => tasks,
            Err(Errno::NOENT | Errno::SRCH) => return Ok((Vec::new(), 0)),
            Err(_) => return Err(Untold::Now),
        };
        let mut found = Vec::new();
        let threads = numbers(&mut Dir::read_from(&tasks).map_err(|_| Untold::Now)?);
        for thread in &threads {
            match text(&tasks, &format!("{}/children", thread.as_raw_nonzero())) {
                Ok(list) => found.extend(list.split_whitespace().filter_map(read)),
                Err(Errno::NOENT | Errno::SRCH) => {
                    let name = thread.as_raw_nonzero().to_string();
                    if statat(&tasks, name, AtFlags::empty()).is_ok() {
                        return Err(Untold::Never);
                    }
                }
                Err(_) => return Err(Untold::Now),
            }
        }
        Ok((found, threads.len()))
    }

    /// The same by asking every process for its parent, as no more than that is known of threads.
    fn asked(&mut self) -> Result<Found, Untold> {
        let mut parents = self.parents()?;
        let mut found = Found::default();
        let mut next = parents.remove(&getpid()).unwrap_or_default();
        while let Some((pid, threads)) = next.pop() {
            found.pids.push(pid);
            found.threads += threads;
            next.extend(parents.remove(&pid).unwrap_or_default());
        }
        Ok(found)
    }

    /// Parent → children and how many threads each has, of all processes there are.
    fn parents(&mut self) -> Result<HashMap<Pid, Vec<(Pid, usize)>>, Untold> {
        let mut parents: HashMap<Pid, Vec<(Pid, usize)>> = HashMap::new();
        for pid in self.pids() {
            let stat = match self.stat(pid) {
                Ok(stat) => stat,
                Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => continue,
                Err(_) => return Err(Untold::Now),
            };
            if let Some(parent) = stat.split_whitespace().nth(1).and_then(read) {
                parents.entry(parent).or_default().push((pid, threads(&stat).unwrap_or(1)));
            }
        }
        Ok(parents)
    }

    /// What the kernel tells of a process behind its name, which may hold anything.
    fn stat(&self, pid: Pid) -> Result<String, Errno> {
        let stat = self.text(&pid.as_raw_nonzero().to_string(), "stat")?;
        Ok(stat.rsplit(')').next().unwrap_or_default().to_owned())
    }

    /// Whether more than so many of these still run: one that has ended is there until its parent takes notice.
    pub(super) fn live(&self, pids: &[Pid], most: usize) -> bool {
        let runs = |pid: &&Pid| self.stat(**pid).is_ok_and(|stat| !has_ended(&stat));
        pids.iter().filter(runs).nth(most).is_some()
    }

    /// Kills the process groups of the first descendants that are found, each at once with whatever its members fork
    /// meanwhile. A bomb is in few groups; what is in others is found later.
    pub(super) fn kill_groups(&mut self) {
        let found = self.some(GROUPS).pids;
        let group = |pid: &Pid| read(self.stat(*pid).ok()?.split_whitespace().nth(2)?);
        let groups: HashSet<Pid> = found.iter().filter_map(group).collect();
        for group in groups.into_iter().filter(|group| *group != getpgrp()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// What these processes hold in memory, in bytes. Pages that several of them share count for each.
    pub(super) fn resident(&self, pids: &[Pid]) -> u64 {
        let resident = |folder: &str| self.kilobytes(folder, "status", "VmRSS:");
        pids.iter().filter_map(|pid| self.shown(*pid, resident)).sum::<u64>() << 10
    }

    /// The same with every page counted once, which takes the kernel longer to tell.
    pub(super) fn resident_once(&self, pids: &[Pid]) -> u64 {
        let once = |folder: &str| {
            let shared = self.kilobytes(folder, "smaps_rollup", "Pss:");
            shared.or_else(|| self.kilobytes(folder, "status", "VmRSS:"))
        };
        pids.iter().filter_map(|pid| self.shown(*pid, once)).sum::<u64>() << 10
    }

    /// What a process answers when it is asked in its folder. That is the folder of its first thread, which shows nothing
    /// once that thread has ended, while others go on with all that the process holds: then one of those is asked.
    pub(super) fn shown<T>(&self, pid: Pid, mut ask: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let own = pid.as_raw_nonzero().to_string();
        if let Some(answer) = ask(&own) {
            return Some(answer);
        }
        for _ in 0..ROUNDS {
            let tasks = self.folder(&format!("{own}/task")).and_then(Dir::new).ok();
            let mut others = tasks.map(|mut tasks| numbers(&mut tasks)).unwrap_or_default();
            others.retain(|thread| *thread != pid);
            // All of it has ended.
            if others.is_empty() {
                return None;
            }
            let mut asked =
                others.iter().map(|thread| ask(&format!("{own}/task/{}", thread.as_raw_nonzero())));
            if let Some(answer) = asked.find_map(|answer| answer) {
                return Some(answer);
            }
        }
        None
    }

    /// `Pss:   123 kB` in a file of a process.
    fn kilobytes(&self, folder: &str, file: &str, name: &str) -> Option<u64> {
        let text = self.text(folder, file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// A file that the kernel keeps about a process or thread, in its folder.
    pub(super) fn text(&self, folder: &str, file: &str) -> Result<String, Errno> {
        let proc = self.0.as_ref().ok_or(Errno::BADF)?.fd()?;
        text(proc, &format!("{folder}/{file}"))
    }

    /// A folder that the kernel keeps about processes, such as `123/fd` with the files that one has open.
    pub(super) fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let proc = self.0.as_ref().ok_or(Errno::BADF)?.fd()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(proc, path, flags, Mode::empty())
    }

    /// The session of a process. It is 0 where its leader is out of sight, as in a container whose first process was
    /// started from outside; `getsid` of rustix takes that for impossible.
    fn session(&self, pid: Pid) -> Option<u32> {
        self.stat(pid).ok()?.split_whitespace().nth(3)?.parse().ok()
    }

    /// Every process there is, through the folder that is open already.
    fn pids(&mut self) -> Vec<Pid> {
        self.0.as_mut().map(numbers).unwrap_or_default()
    }
}

/// How many threads a process has, by what [`Family::stat`] told.
fn threads(stat: &str) -> Option<usize> {
    stat.split_whitespace().nth(17)?.parse().ok()
}

/// Whether a process has ended, by the same: all of it, as the state is that of its first thread only, which stays until
/// the last one has ended.
fn has_ended(stat: &str) -> bool {
    let state = stat.split_whitespace().next();
    matches!(state, None | Some("Z" | "X")) && threads(stat).is_none_or(|threads| threads < 2)
}

/// Looks at the state of a child and leaves it as it is.
fn look() -> WaitIdOptions {
    WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT
        | WaitIdOptions::from_bits_retain(ANY_CHILD)
}

/// Takes notice of a child that has ended.
pub(super) fn take_notice() -> WaitOptions {
    WaitOptions::NOHANG | WaitOptions::from_bits_retain(ANY_CHILD)
}

/// Whether the kernel says that there is no child left, living or dead.
pub(super) fn is_alone() -> bool {
    matches!(waitid(WaitId::All, look()), Err(Errno::CHILD))
}

/// Children that no list shows, by trying every number there can be. Takes about a second.
pub(super) fn searched() -> Vec<Pid> {
    (1..=HIGHEST).filter_map(Pid::from_raw).filter(|pid| is_child(*pid)).collect()
}

fn is_child(pid: Pid) -> bool {
    waitid(WaitId::Pid(pid), look()).is_ok()
}

/// Sends a signal to each; those that are gone by now need none.
pub(super) fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        let _ = kill_process(*pid, signal);
    }
}

/// Takes notice of the dead among our own children, but for one whose end somebody else waits for.
pub(super) fn reap(pids: &[Pid], but: Option<Pid>) {
    for pid in pids.iter().filter(|pid| Some(**pid) != but) {
        let _ = waitpid(Some(*pid), take_notice());
    }
}

/// Kills every descendant of this process: stops them first, so that none can fork while the others die. Comes back when
/// the kernel says that no child is left, or after [`KILL_ALL`].
pub(super) fn end_all(family: &mut Family) {
    let started = Instant::now();
    let mut stopped = HashSet::new();
    loop {
        let found = family.all().pids;
        let new: Vec<Pid> = found.into_iter().filter(|pid| stopped.insert(*pid)).collect();
        signal(&new, Signal::STOP);
        if new.is_empty() || started.elapsed() > KILL_ALL / 2 {
            break;
        }
    }
    loop {
        let living = family.all().pids;
        signal(&living, Signal::KILL);
        reap(&living, None);
        // That a list is empty may mean that it cannot be read; the kernel's own word counts.
        if living.is_empty() && is_alone() || started.elapsed() > KILL_ALL {
            return;
        }
        if living.is_empty() {
            let hidden = searched();
            signal(&hidden, Signal::KILL);
            reap(&hidden, None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Children of this process that a script left to it: they have sessions of their own, and nobody can join the
/// session in which all that this process starts itself stays.
pub(super) fn orphans() -> Vec<Pid> {
    let family = Family::open();
    let Ok((children, _)) = family.children(getpid()) else { return Vec::new() };
    let Some(own) = family.session(getpid()) else { return Vec::new() };
    let is_other = |pid: &Pid| family.session(*pid).is_some_and(|other| other != own);
    children.into_iter().filter(is_other).collect()
}

/// Kills the orphans that were not there before, and what comes to light behind them.
pub(super) fn end_orphans(before: &[Pid]) {
    let started = Instant::now();
    loop {
        let left: Vec<Pid> = orphans().into_iter().filter(|pid| !before.contains(pid)).collect();
        signal(&left, Signal::KILL);
        reap(&left, None);
        if left.is_empty() || started.elapsed() > ORPHANS {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The names in a folder that are numbers.
fn numbers(folder: &mut Dir) -> Vec<Pid> {
    folder.rewind();
    let mut found = Vec::new();
    while let Some(Ok(entry)) = folder.read() {
        found.extend(entry.file_name().to_str().ok().and_then(read));
    }
    found
}

fn text(folder: impl AsFd, path: &str) -> Result<String, Errno> {
    let file: OwnedFd = openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .read_to_end(&mut bytes)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the test starts a child")]

    use std::{
        io::{BufRead as _, BufReader},
        process::{Command, Stdio},
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
    fn every_way_of_asking_knows_a_child() {
        let mut child = Command::new("sleep").arg("20").stdin(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut family = Family::open();
        let told = family.told(usize::MAX).ok().unwrap();
        let asked = family.asked().ok().unwrap();
        let blind = Family(None).told(1).is_err();
        let searched = searched();
        let (child_of_ours, alone) = (is_child(pid), is_alone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told.pids.contains(&pid) && told.threads >= told.pids.len());
        assert!(asked.pids.contains(&pid) && asked.threads >= asked.pids.len());
        assert!(searched.contains(&pid) && child_of_ours && !alone && blind);
        assert!(!is_child(pid));
    }

    #[test]
    fn e13_a_process_lives_and_holds_memory_until_its_last_thread_ends() {
        let mut python = Command::new("python3");
        python.args(["-c", HOLDS]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let pids = [Pid::from_child(&child)];
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let family = Family::open();
        let look = || (family.live(&pids, 0), family.resident(&pids), family.resident_once(&pids));
        let before = look();
        child.kill().unwrap();
        // It has ended, and its parent has taken no notice yet.
        waitid(WaitId::Pid(pids[0]), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let after = look();
        child.wait().unwrap();
        assert_eq!(said, "held\n");
        assert!(before.0 && before.1 >= 64 << 20 && before.2 >= 64 << 20, "{before:?}");
        assert_eq!(after, (false, 0, 0));
    }
}
