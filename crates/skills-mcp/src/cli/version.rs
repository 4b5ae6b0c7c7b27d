//! What this build calls itself: its version, the commit it was built from, and the name it was started by.

use std::{ffi::OsString, path::Path};

/// The version, and in builds that know it the commit: `0.1.0 (1a2b3c4d5e6f)`.
pub(super) const VERSION: &str = env!("SKILLS_MCP_VERSION");

/// The commit, where `build.rs` found one.
pub(super) fn commit() -> Option<&'static str> {
    Some(env!("SKILLS_MCP_BUILD_COMMIT")).filter(|commit| !commit.is_empty())
}

/// The name that a package gives to this program through its first argument. npm and Python packages hold one program and start it
/// under both names.
pub(super) fn called_name(first: Option<OsString>) -> Option<&'static str> {
    let first = first?;
    let name = Path::new(&first).file_stem()?;
    ["skills-mcp", "sk"].into_iter().find(|known| name == *known)
}

#[cfg(test)]
mod tests {
    use super::called_name;

    #[test]
    fn the_first_argument_names_the_program() {
        let name = |first: &str| called_name(Some(first.into()));
        assert_eq!(name("/usr/bin/sk"), Some("sk"));
        assert_eq!(name("skills-mcp.exe"), Some("skills-mcp"));
        assert_eq!(name("skills-mcp-server"), None);
        assert_eq!(called_name(None), None);
    }
}
