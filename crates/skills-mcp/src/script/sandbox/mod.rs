//! What holds a script: limits, no privileges, files it may touch, calls it may make. The launcher puts it on itself.
//!
//! Only safe wrappers of the kernel's interfaces are used. [`Enforced`] says what really holds and is in every result;
//! nothing is claimed that the kernel did not confirm. Of this, macOS has a profile for `sandbox-exec` (`portable`), other
//! systems nothing.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod limits;
mod places;
#[cfg(target_os = "linux")]
mod privileges;

use std::{fmt, path::PathBuf};

pub(super) use places::{readable, toolchain};
use serde::{Deserialize, Serialize};

/// What a script may do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Policy {
    pub(super) demand: Demand,
    /// Files and folders it may read and start.
    pub(super) read: Vec<PathBuf>,
    /// Folders it may change.
    pub(super) write: Vec<PathBuf>,
    pub(super) network: bool,
    /// Seconds of processor time one process may use.
    pub(super) cpu_seconds: u64,
}

/// How much of it there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Demand {
    /// Whatever this machine has.
    Best,
    /// Files and system calls at least, in some version.
    Held,
    /// All of it.
    Whole,
    /// Nothing.
    None,
}

/// What holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The kernel's rules on files, by their version; from 6 on they also keep signals inside.
    pub landlock: Option<u8>,
    /// The filter of system calls.
    pub seccomp: bool,
    /// The profile of macOS's `sandbox-exec`.
    #[serde(default)]
    pub sandbox_exec: bool,
    /// Whether its processes have a PID namespace of their own, with which the kernel ends all of them at once.
    #[serde(default)]
    pub pid_namespace: bool,
}

/// The first version whose rules are all that is asked for: before it, signals to other processes went through.
const WHOLE_FROM: u8 = 6;
/// The first version that keeps files from being emptied without being opened.
const TRUNCATION_FROM: u8 = 3;

impl Enforced {
    /// Whether files and system calls are confined, by whatever version of the rules.
    pub fn holds(&self) -> bool {
        self.sandbox_exec || (self.seccomp && self.landlock.is_some())
    }

    /// Why a script may not run with this much of a sandbox, where that much is demanded.
    pub(super) fn refused(&self, demand: Demand) -> Option<String> {
        let gap = self.gap().unwrap_or_default();
        match demand {
            Demand::Whole if !self.is_whole() => Some(format!(
                "scripts.sandbox is `required`, and this machine gives {self} only: {gap}"
            )),
            Demand::Held if !self.holds() => Some(format!(
                "a script of a repository or plugin, or with a runner of the project, runs only where the sandbox holds, and \
                 this machine gives {self} only: {gap}. The operator may serve a reviewed copy with --dir, install the \
                 runner on the machine, or set scripts.sandbox=off"
            )),
            Demand::Best | Demand::Held | Demand::Whole | Demand::None => None,
        }
    }

    /// Whether everything holds that is asked for.
    pub fn is_whole(&self) -> bool {
        self.seccomp && self.landlock.is_some_and(|version| version >= WHOLE_FROM)
    }

    /// What does not hold, in words; nothing where all of it does.
    pub fn gap(&self) -> Option<&'static str> {
        if self.sandbox_exec {
            return Some("other processes, limits and system calls are not confined");
        }
        match (self.landlock, self.seccomp) {
            (None, false) => Some("scripts are not confined at all"),
            (None, true) => Some("files are not confined"),
            (Some(_), false) => Some("network and system calls are not confined"),
            (Some(version), true) if version < TRUNCATION_FROM => {
                Some("emptying files and signals to other processes are not confined")
            }
            (Some(version), true) if version < WHOLE_FROM => {
                Some("signals to other processes are not confined")
            }
            (Some(_), true) => None,
        }
    }
}

impl fmt::Display for Enforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.landlock, self.seccomp) {
            _ if self.sandbox_exec => f.write_str("sandbox-exec")?,
            (Some(version), true) => write!(f, "landlock-v{version}+seccomp")?,
            (Some(version), false) => write!(f, "landlock-v{version}")?,
            (None, true) => f.write_str("seccomp")?,
            // A namespace ends processes; by itself it confines nothing.
            (None, false) => return f.write_str("none"),
        }
        f.write_str(if self.pid_namespace { "+pid-namespace" } else { "" })
    }
}

/// Puts the policy on this very process, for good; what could not be had is missing from what is returned.
#[cfg(target_os = "linux")]
pub(super) fn put_on(policy: &Policy) -> Result<Enforced, String> {
    if policy.demand == Demand::None {
        return Ok(Enforced::default());
    }
    limits::set(policy.cpu_seconds)
        .map_err(|error| format!("its limits cannot be set: {error}"))?;
    privileges::drop_all().map_err(|error| format!("privileges cannot be dropped: {error}"))?;
    let landlock = files::confine(policy);
    // Last, as it forbids what the others need.
    let seccomp = calls::confine(policy.network);
    let enforced = Enforced { landlock, seccomp, ..Enforced::default() };
    enforced.refused(policy.demand).map_or(Ok(enforced), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rung_is_named_by_what_holds() {
        let rung = |landlock, seccomp| Enforced { landlock, seccomp, ..Enforced::default() };
        for (enforced, name, whole) in [
            (rung(Some(7), true), "landlock-v7+seccomp", true),
            (rung(Some(6), true), "landlock-v6+seccomp", true),
            (rung(Some(3), true), "landlock-v3+seccomp", false),
            (rung(Some(7), false), "landlock-v7", false),
            (rung(None, true), "seccomp", false),
            (rung(None, false), "none", false),
        ] {
            assert_eq!((enforced.to_string().as_str(), enforced.is_whole()), (name, whole));
            assert_eq!(enforced.gap().is_none(), whole, "{name}");
        }
        assert!(rung(Some(2), true).gap().unwrap().contains("emptying files"));
        let held = |landlock| Enforced { landlock, pid_namespace: true, ..Enforced::default() };
        assert_eq!(held(Some(7)).to_string(), "landlock-v7+pid-namespace");
        assert_eq!(held(None).to_string(), "none");
    }

    #[test]
    fn e04_what_others_wrote_wants_a_sandbox_that_holds_and_required_wants_all_of_it() {
        let rung = |landlock, seccomp| Enforced { landlock, seccomp, ..Enforced::default() };
        let profile = Enforced { sandbox_exec: true, ..Enforced::default() };
        for (enforced, held, whole) in [
            (rung(Some(7), true), true, true),
            (rung(Some(1), true), true, false),
            (rung(Some(7), false), false, false),
            (rung(None, true), false, false),
            (rung(None, false), false, false),
            (profile, true, false),
        ] {
            let admits = |demand| enforced.refused(demand).is_none();
            assert!(admits(Demand::Best) && admits(Demand::None));
            let admitted = (admits(Demand::Held), admits(Demand::Whole));
            assert_eq!(admitted, (held, whole), "{enforced}");
        }
    }
}
