//! The sandbox of a script: limits, no privileges, which files it may open and which system calls it may make. The launcher
//! applies it to itself.
//!
//! Only safe wrappers of the kernel's interfaces are used. [`Enforced`] says what the kernel confirmed, and is in every
//! result. macOS has only a profile for `sandbox-exec` (`portable`), other systems have no sandbox.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod privileges;
mod readable;

use std::{fmt, path::PathBuf};

#[cfg(target_os = "linux")]
pub(super) use limits::MAX_FILE_BYTES;
pub(super) use readable::{readable, toolchain};
use serde::{Deserialize, Serialize};

/// What a script may do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SandboxPolicy {
    pub(super) demand: SandboxDemand,
    /// Files and folders it may read and execute.
    pub(super) read: Vec<PathBuf>,
    /// Folders it may change.
    pub(super) write: Vec<PathBuf>,
    pub(super) network: bool,
    /// Processor time of one process.
    pub(super) cpu_seconds: u64,
}

/// How much of the sandbox there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SandboxDemand {
    /// Whatever this machine has.
    BestEffort,
    /// At least files and system calls, with any version of Landlock.
    Confined,
    /// All of it.
    Complete,
    /// Nothing.
    None,
}

/// The parts of the sandbox that are in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enforced {
    /// The version of Landlock.
    pub(super) landlock: Option<u8>,
    /// The filter of system calls.
    pub(super) seccomp: bool,
    /// The profile of macOS's `sandbox-exec`.
    #[serde(default)]
    pub(super) sandbox_exec: bool,
    /// Whether its processes have a PID namespace of their own, with which the kernel ends all of them at once.
    #[serde(default)]
    pub(super) pid_namespace: bool,
}

/// The first version of Landlock that blocks signals to other processes.
const COMPLETE_LANDLOCK_VERSION: u8 = 6;
/// The first version of Landlock that keeps files from being truncated without being opened.
const TRUNCATION_LANDLOCK_VERSION: u8 = 3;

impl Enforced {
    /// Whether files and system calls are confined, with any version of Landlock.
    pub(crate) fn is_confined(&self) -> bool {
        self.sandbox_exec || (self.seccomp && self.landlock.is_some())
    }

    /// Why a script with this demand may not run in this sandbox.
    pub(super) fn refused(&self, demand: SandboxDemand) -> Option<String> {
        let gap = self.gap().unwrap_or_default();
        if demand == SandboxDemand::Complete && !self.is_complete() {
            return Some(format!(
                "scripts.sandbox is `required`, and this machine gives {self} only: {gap}"
            ));
        }
        (demand == SandboxDemand::Confined && !self.is_confined()).then(|| {
            format!(
                "a script of a repository or plugin, or with a runner of the project, runs only where the sandbox holds, and \
                 this machine gives {self} only: {gap}. The operator may serve a reviewed copy with --dir, install the \
                 runner on the machine, or set scripts.sandbox=off"
            )
        })
    }

    fn is_complete(&self) -> bool {
        self.seccomp && self.landlock.is_some_and(|version| version >= COMPLETE_LANDLOCK_VERSION)
    }

    /// What is not confined, in words; none where the sandbox is complete.
    pub(crate) fn gap(&self) -> Option<&'static str> {
        if self.sandbox_exec {
            return Some("other processes, limits and system calls are not confined");
        }
        match (self.landlock, self.seccomp) {
            (None, false) => Some("scripts are not confined at all"),
            (None, true) => Some("files are not confined"),
            (Some(_), false) => Some("network and system calls are not confined"),
            (Some(version), true) if version < TRUNCATION_LANDLOCK_VERSION => {
                Some("emptying files and signals to other processes are not confined")
            }
            (Some(version), true) if version < COMPLETE_LANDLOCK_VERSION => {
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
            // A PID namespace alone confines nothing.
            (None, false) => return f.write_str("none"),
        }
        f.write_str(if self.pid_namespace { "+pid-namespace" } else { "" })
    }
}

/// Applies the policy to this process for good, as far as the kernel can; an error where that is less than is demanded.
#[cfg(target_os = "linux")]
pub(super) fn apply(policy: &SandboxPolicy) -> Result<Enforced, String> {
    if policy.demand == SandboxDemand::None {
        return Ok(Enforced::default());
    }
    limits::set(policy.cpu_seconds)
        .map_err(|error| format!("its limits cannot be set: {error}"))?;
    privileges::drop_all().map_err(|error| format!("privileges cannot be dropped: {error}"))?;
    let landlock = files::confine(policy);
    // Last, because it forbids system calls that the others need.
    let seccomp = calls::confine(policy.network);
    let enforced = Enforced { landlock, seccomp, ..Enforced::default() };
    enforced.refused(policy.demand).map_or(Ok(enforced), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_named_by_its_parts() {
        let sandbox = |landlock, seccomp| Enforced { landlock, seccomp, ..Enforced::default() };
        for (enforced, name, complete) in [
            (sandbox(Some(7), true), "landlock-v7+seccomp", true),
            (sandbox(Some(6), true), "landlock-v6+seccomp", true),
            (sandbox(Some(3), true), "landlock-v3+seccomp", false),
            (sandbox(Some(7), false), "landlock-v7", false),
            (sandbox(None, true), "seccomp", false),
            (sandbox(None, false), "none", false),
        ] {
            assert_eq!((enforced.to_string().as_str(), enforced.is_complete()), (name, complete));
            assert_eq!(enforced.gap().is_none(), complete, "{name}");
        }
        assert!(sandbox(Some(2), true).gap().unwrap().contains("emptying files"));
        let namespaced =
            |landlock| Enforced { landlock, pid_namespace: true, ..Enforced::default() };
        assert_eq!(namespaced(Some(7)).to_string(), "landlock-v7+pid-namespace");
        assert_eq!(namespaced(None).to_string(), "none");
    }

    #[test]
    fn e04_a_demand_is_met_by_a_confined_or_a_complete_sandbox_only() {
        let sandbox = |landlock, seccomp| Enforced { landlock, seccomp, ..Enforced::default() };
        let profile = Enforced { sandbox_exec: true, ..Enforced::default() };
        for (enforced, confined, complete) in [
            (sandbox(Some(7), true), true, true),
            (sandbox(Some(1), true), true, false),
            (sandbox(Some(7), false), false, false),
            (sandbox(None, true), false, false),
            (sandbox(None, false), false, false),
            (profile, true, false),
        ] {
            let admits = |demand| enforced.refused(demand).is_none();
            assert!(admits(SandboxDemand::BestEffort) && admits(SandboxDemand::None));
            let admitted = (admits(SandboxDemand::Confined), admits(SandboxDemand::Complete));
            assert_eq!(admitted, (confined, complete), "{enforced}");
        }
    }
}
