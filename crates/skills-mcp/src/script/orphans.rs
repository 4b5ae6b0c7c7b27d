//! The processes that a server adopts: what a lost supervisor leaves, and what git leaves. It kills the former, and reaps both as they
//! end, except for children that it started itself, whose end other code waits for.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid};

use super::{
    descendants::ProcessTree,
    kill::{reap, signal},
};

/// How long orphans are killed. A busy machine takes a while to end the processes of a PID namespace.
const KILL_ORPHANS_TIMEOUT: Duration = Duration::from_secs(10);

/// Children that this process adopted from a script: they are in other sessions than its own, which only the processes it
/// starts itself can be in.
pub(super) fn orphans() -> Vec<Pid> {
    let tree = ProcessTree::open();
    let Ok((children, _)) = tree.children(getpid()) else { return Vec::new() };
    let Some(own) = tree.session(getpid()) else { return Vec::new() };
    let is_other = |pid: &Pid| tree.session(*pid).is_some_and(|other| other != own);
    children.into_iter().filter(is_other).collect()
}

/// Children that this process did not start itself. Those that it starts are in its session, and in its process group or in one
/// of their own; git's are in its group, and daemons in sessions of their own.
fn adopted() -> Vec<Pid> {
    let tree = ProcessTree::open();
    let (children, _) = tree.children(getpid()).unwrap_or_default();
    let Some(own_group) = tree.group(getpid()) else { return Vec::new() };
    let is_in_anothers_group = |pid: &Pid| {
        let led_by_itself = pid.as_raw_nonzero().get().unsigned_abs();
        tree.group(*pid).is_some_and(|group| group != own_group && group != led_by_itself)
    };
    let in_group = children.into_iter().filter(is_in_anothers_group);
    in_group.chain(orphans()).collect()
}

/// Reaps the ended ones among the children that this process did not start itself, which no other code waits for.
pub(super) fn reap_adopted() {
    reap(&adopted(), None);
}

/// The children in the process group of a supervisor that has ended: its keeper, which has the supervisor's session. In a PID
/// namespace it is there until every other process in the namespace is gone.
fn left_in_group(supervisor: u32) -> Vec<Pid> {
    let tree = ProcessTree::open();
    let (children, _) = tree.children(getpid()).unwrap_or_default();
    children.into_iter().filter(|pid| tree.group(*pid) == Some(supervisor)).collect()
}

/// Kills what a supervisor left that has ended: its keeper, the orphans that were not there before, and the orphans that those
/// leave.
pub(super) fn kill_orphans(supervisor: Option<u32>, before: &[Pid]) {
    let started = Instant::now();
    loop {
        let mut left: Vec<Pid> =
            orphans().into_iter().filter(|pid| !before.contains(pid)).collect();
        left.extend(supervisor.map(left_in_group).unwrap_or_default());
        signal(&ProcessTree::open(), &left, Signal::KILL);
        reap(&left, None);
        if left.is_empty() || started.elapsed() > KILL_ORPHANS_TIMEOUT {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
