//! Stops and kills descendants of this process, and reaps them.
//!
//! A PID names another process as soon as its own was reaped and the kernel has given out all others, which a fork bomb makes it do
//! within seconds. So a signal is sent only where a process's ancestors lead to this one.
//!
//! An empty list of descendants may mean that `/proc` could not be read. So only the kernel's answer that there is no child left
//! counts as the end.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitOptions, getpgrp, kill_process, kill_process_group,
        pidfd_open, pidfd_send_signal, waitid, waitpid,
    },
};

use super::descendants::{ANY_CHILD, ProcessTree, group, is_child, peek_options};

/// The highest PID that the kernel can give.
const HIGHEST_PID: i32 = 1 << 22;
/// How long killing all descendants may take, where there are thousands.
const KILL_ALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long they are stopped, where new ones come all the time.
const STOP_ALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How many processes are searched for process groups.
const MAX_GROUP_SEARCH: usize = 64;

/// Sends a signal to each of these that still is a descendant of this process.
pub(super) fn signal(tree: &ProcessTree, pids: &[Pid], signal: Signal) {
    let mut verified = HashSet::new();
    for pid in pids {
        // A child keeps its PID until this process reaps it.
        if is_child(*pid) {
            let _ = kill_process(*pid, signal);
            continue;
        }
        // The handle stays with the process that is verified next.
        let handle = pidfd_open(*pid, PidfdFlags::empty());
        if tree.verify(*pid, &mut verified).is_some() {
            let _ = match handle {
                Ok(handle) => pidfd_send_signal(handle, signal),
                // An old kernel has no such handles.
                Err(_) => kill_process(*pid, signal),
            };
        }
    }
}

/// Kills the process groups of the first descendants, each at once with all that its members fork meanwhile. A fork bomb is
/// in few groups; processes in other groups are killed one by one later.
pub(super) fn kill_groups(tree: &mut ProcessTree) {
    let found = tree.descendants_up_to(MAX_GROUP_SEARCH).pids;
    let mut verified = HashSet::new();
    let group = |pid: &Pid| group(&tree.verify(*pid, &mut verified)?);
    let groups: HashSet<Pid> = found.iter().filter_map(group).collect();
    for group in groups.into_iter().filter(|group| *group != getpgrp()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Whether this process has no child, running or ended.
fn has_no_children() -> bool {
    matches!(waitid(WaitId::All, peek_options()), Err(Errno::CHILD))
}

/// Finds children that no list shows by trying every PID. Takes about a second.
fn search_children() -> Vec<Pid> {
    (1..=HIGHEST_PID).filter_map(Pid::from_raw).filter(|pid| is_child(*pid)).collect()
}

/// Reaps a child that has ended, without waiting.
pub(super) fn reap_options() -> WaitOptions {
    WaitOptions::NOHANG | WaitOptions::from_bits_retain(ANY_CHILD)
}

/// Reaps the ended ones among these children, except one that other code waits for.
pub(super) fn reap(pids: &[Pid], except: Option<Pid>) {
    for pid in pids.iter().filter(|pid| Some(**pid) != except) {
        let _ = waitpid(Some(*pid), reap_options());
    }
}

/// Stops processes until a list of them has no new one; those that were stopped.
fn stop_all(tree: &mut ProcessTree, list: impl Fn(&mut ProcessTree) -> Vec<Pid>) -> HashSet<Pid> {
    let started = Instant::now();
    let mut stopped = HashSet::new();
    loop {
        let new: Vec<Pid> = list(tree).into_iter().filter(|pid| stopped.insert(*pid)).collect();
        signal(tree, &new, Signal::STOP);
        if new.is_empty() || started.elapsed() > STOP_ALL_TIMEOUT {
            return stopped;
        }
    }
}

/// Stops the processes of a script; the keeper, which must end them all in time, goes on.
pub(super) fn stop(tree: &mut ProcessTree) -> HashSet<Pid> {
    stop_all(tree, ProcessTree::descendants_in_other_sessions)
}

/// Lets those that [`stop`] stopped go on; the PID of one that has ended meanwhile may be another's by now.
pub(super) fn continue_stopped(tree: &mut ProcessTree, stopped: &HashSet<Pid>) {
    let mut left = tree.descendants_in_other_sessions();
    left.retain(|pid| stopped.contains(pid));
    signal(tree, &left, Signal::CONT);
}

/// Kills every descendant of this process: stops them first, so that none can fork while the others die. Returns when the
/// kernel says that no child is left, or after [`KILL_ALL_TIMEOUT`].
pub(super) fn kill_all(tree: &mut ProcessTree) {
    let started = Instant::now();
    stop_all(tree, |tree| tree.descendants().pids);
    loop {
        let left = tree.descendants().pids;
        signal(tree, &left, Signal::KILL);
        reap(&left, None);
        // An empty list may be one that could not be read, so the kernel is asked.
        if left.is_empty() && has_no_children() || started.elapsed() > KILL_ALL_TIMEOUT {
            return;
        }
        if left.is_empty() {
            let hidden = search_children();
            signal(tree, &hidden, Signal::KILL);
            reap(&hidden, None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Command, Stdio},
    };

    use rustix::process::{getpid, getppid};

    use super::*;

    #[test]
    fn a_child_that_no_list_shows_is_found() {
        let mut child = Command::new("sleep").arg("20").stdin(Stdio::null()).spawn().unwrap();
        let (searched, has_none) = (search_children(), has_no_children());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(searched.contains(&Pid::from_child(&child)) && !has_none);
    }

    /// Ends well once its child was killed.
    const PARENT: &str = "
import subprocess, sys
child = subprocess.Popen(['sleep', '60'])
print(child.pid, flush=True)
sys.exit(0 if child.wait() == -9 else 1)
";

    #[test]
    fn x06_a_pid_that_is_anothers_by_now_gets_no_signal() {
        let mut tree = ProcessTree::open();
        // A list that is out of date names processes that are no descendants.
        let parent = getppid().unwrap();
        signal(&tree, &[parent, getpid()], Signal::KILL);
        assert!(tree.more_run_than(&[parent], 0));
        assert!(tree.verify(parent, &mut HashSet::new()).is_none());
        // A child of a child.
        let mut python = Command::new("python3");
        python.args(["-c", PARENT]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let grandchild = Pid::from_raw(said.trim().parse().unwrap()).unwrap();
        let listed = tree.descendants().pids.contains(&grandchild);
        signal(&tree, &[grandchild], Signal::KILL);
        let ended = child.wait().unwrap();
        assert!(listed && ended.success(), "{ended}");
    }
}
