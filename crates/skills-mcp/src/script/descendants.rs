//! Every process that stems from this one. As their subreaper it is the parent of all whose own parent has died, so
//! none can leave the tree: not by a second fork, not by a session of its own.

#![expect(clippy::disallowed_methods, reason = "the kernel tells of processes in files")]

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

/// All descendants of this process, the nearest first; dead ones that nobody has taken notice of included.
pub(super) fn all() -> Vec<Pid> {
    let own = getpid();
    let told = children(own);
    let mut known: HashSet<Pid> = HashSet::new();
    let mut found = Vec::new();
    // Kernels may be built without telling of children; then everybody is asked for their parent.
    let parents = told.is_none().then(parents);
    let below = |pid: Pid| match &parents {
        Some(parents) => parents.get(&pid).cloned().unwrap_or_default(),
        None => children(pid).unwrap_or_default(),
    };
    let mut next = below(own);
    while let Some(pid) = next.pop() {
        if known.insert(pid) {
            found.push(pid);
            next.extend(below(pid));
        }
    }
    found
}

/// Sends a signal to each; those that are gone by now need none.
pub(super) fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        let _ = kill_process(*pid, signal);
    }
}

/// Takes notice of the dead among our own children, but for one whose end somebody else waits for.
pub(super) fn reap(pids: &[Pid], but: Pid) {
    for pid in pids.iter().filter(|pid| **pid != but) {
        let _ = waitpid(Some(*pid), WaitOptions::NOHANG);
    }
}

/// The children of every thread; `None` where the kernel does not tell. A process that is gone has none.
fn children(pid: Pid) -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    let threads = format!("/proc/{}/task", pid.as_raw_nonzero());
    for thread in fs::read_dir(threads).into_iter().flatten().flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_whitespace().filter_map(read)),
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// Parent → children, of all processes there are.
fn parents() -> HashMap<Pid, Vec<Pid>> {
    let mut parents: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(read) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in brackets may hold anything, so the fields are counted from behind it.
        let parent =
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)).and_then(read);
        if let Some(parent) = parent {
            parents.entry(parent).or_default().push(pid);
        }
    }
    parents
}

fn read(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn both_ways_of_asking_know_a_child() {
        let mut child = Command::new("sleep").arg("20").stdin(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let told = all();
        let asked = parents();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told.contains(&pid), "{told:?}");
        assert!(asked[&getpid()].contains(&pid));
    }
}
