//! What this build calls itself: its version, the commit it was built from, and the name it was started by.

use std::{ffi::OsString, path::Path};

use crate::{config::Environment, connect::WantedEntry, paths::own_program};

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

/// What a person types to start this program, for every next step that is shown: its name, or the command of npx or uvx, whose
/// copy has no name in a shell.
pub(super) fn typed_command(program: &str, environment: &Environment) -> String {
    own_program()
        .map_or_else(|_| program.to_owned(), |own| typed_command_of(&own, program, environment))
}

fn typed_command_of(own: &Path, program: &str, environment: &Environment) -> String {
    let entry = WantedEntry::new(own, environment, Vec::new(), false);
    if entry.launch_args.is_empty() {
        return program.to_owned();
    }
    format!("{} {}", entry.command, entry.launch_args.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_step_is_a_command_that_the_person_has() {
        let typed =
            |own: &str| typed_command_of(Path::new(own), "skills-mcp", &Environment::default());
        assert_eq!(typed("/usr/local/bin/skills-mcp"), "skills-mcp");
        assert_eq!(
            typed("/h/.npm/_npx/1f/node_modules/@skills-mcp/server-linux-x64/skills-mcp"),
            "npx -y @skills-mcp/server"
        );
        assert_eq!(typed("/h/.cache/uv/archive-v0/x/bin/skills-mcp"), "uvx skills-mcp-server");
    }

    #[test]
    fn the_first_argument_names_the_program() {
        let name = |first: &str| called_name(Some(first.into()));
        assert_eq!(name("/usr/bin/sk"), Some("sk"));
        assert_eq!(name("skills-mcp.exe"), Some("skills-mcp"));
        assert_eq!(name("skills-mcp-server"), None);
        assert_eq!(called_name(None), None);
    }
}
