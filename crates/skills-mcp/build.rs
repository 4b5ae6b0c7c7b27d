//! Finds the commit that `--version` names: `SKILLS_MCP_COMMIT` of the build's environment, else what git says of the clone.
//!
//! Development builds name no commit, so that a commit does not make them build again. A build without git, or outside a clone,
//! names none either, and has the same bytes wherever it is made.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script asks the build's environment and git; it is no part of the program"
)]

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SKILLS_MCP_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = env::var("SKILLS_MCP_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(of_clone).unwrap_or_default();
    let full = if commit.is_empty() { version } else { format!("{version} ({commit})") };
    println!("cargo::rustc-env=SKILLS_MCP_VERSION={full}");
    println!("cargo::rustc-env=SKILLS_MCP_BUILD_COMMIT={commit}");
}

/// The commit of the clone that an optimised build is made in, marked where files differ from it.
fn of_clone() -> Option<String> {
    let clone = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    // A package unpacked below another project's clone has nothing to do with that project's commit.
    if env::var("PROFILE").ok()? != "release" || !clone.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&clone).args(arguments).output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !said.is_empty()).then_some(said)
    };
    // The log of HEAD changes with every commit and every checkout.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
        println!("cargo::rerun-if-changed={}", clone.join("crates").display());
    }
    git(&["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=-modified"])
}
