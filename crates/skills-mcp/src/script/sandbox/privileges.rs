//! Drops all capabilities, for good.

use std::io;

use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    },
};

pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    // Kernels before 4.3 have none to clear.
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // The kernel does not know the capability, or this process lacks the right to drop it; with
            // `no_new_privs` no program file can give it any.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?)
}
