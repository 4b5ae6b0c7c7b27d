//! The kernel's rules on files (Landlock): what is not named in them cannot be opened, however it is reached.
//!
//! They say nothing about looking at a file's metadata or changing its mode and times.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use rustix::fs::{FileType, fstat};

use super::Policy;

/// The newest version that is known; older kernels give what they have.
const NEWEST: ABI = ABI::V9;
/// Devices that hold nothing.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Confines this process; the version of the rules that hold, none where the kernel has none.
pub(super) fn confine(policy: &Policy) -> Option<u8> {
    let status = ruleset(policy).and_then(RulesetCreated::restrict_self).ok()?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u8),
        _ => None,
    }
}

fn ruleset(policy: &Policy) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut created = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    for path in &policy.read {
        created = allow(created, path, read)?;
    }
    for device in DEVICES {
        created = allow(created, Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    for path in &policy.write {
        created = allow(created, path, AccessFs::from_all(NEWEST) & !AccessFs::IoctlDev)?;
    }
    Ok(created)
}

/// A rule for what is there; what is not needs none.
fn allow(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(created) };
    // A file has no rights of a folder's; the rest of them still holds. What is opened is asked, not its name again.
    let is_folder = fstat(&opened)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    created.add_rule(PathBeneath::new(opened, access))
}
