//! The kernel's rules on files (Landlock): a path that no rule names cannot be opened.
//!
//! They do not cover reading a file's metadata, or changing its mode and times.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use rustix::fs::{FileType, fstat};

use super::SandboxPolicy;

/// The newest version that is asked for; older kernels enforce what they have.
const NEWEST_ABI: ABI = ABI::V9;
/// Devices that hold nothing.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Confines this process; the version of Landlock, none where the kernel has none.
pub(super) fn confine(policy: &SandboxPolicy) -> Option<u8> {
    let status = ruleset(policy).and_then(RulesetCreated::restrict_self).ok()?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u8),
        _ => None,
    }
}

fn ruleset(policy: &SandboxPolicy) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?;
    if !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI))?;
    }
    let mut created = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST_ABI);
    for path in &policy.read {
        created = allow(created, path, read)?;
    }
    for device in DEVICES {
        created = allow(created, Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    for path in &policy.write {
        created = allow(created, path, AccessFs::from_all(NEWEST_ABI) & !AccessFs::IoctlDev)?;
    }
    Ok(created)
}

/// Adds a rule for a path that exists.
fn allow(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(created) };
    // The rights on folders do not apply to a file. The handle is checked, because the path may lead elsewhere by now.
    let is_folder = fstat(&opened)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST_ABI) };
    created.add_rule(PathBeneath::new(opened, access))
}
