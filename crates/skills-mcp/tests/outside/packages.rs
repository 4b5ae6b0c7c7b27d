//! Every package as its own tool installs it, without a registry: `scripts/packages --light`; and what a new user does with it, from the
//! first command to an answer: `scripts/quickstart`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::tools::{NODE, PYTHON};

/// The program without what is there for debuggers, which would take most of the time to pack.
static STRIPPED: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stripped-skills-mcp");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_skills-mcp"));
    assert!(strip.status().expect("strip comes with the linker").success());
    program
});

fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name))
}

/// Does what a new user does, with a program of an SDK for the client: it ends with 1 where that takes too long.
fn quickstart(mode: &str, sdk: &str) {
    let mut command = script("quickstart");
    command.arg(mode).args(["--sdk", sdk, "--program"]).arg(&*STRIPPED);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("of which ours"), "{said}");
}

// PACKAGE-5
#[test]
fn with_node_alone_the_first_command_leads_to_an_answer_in_time() {
    quickstart("node", &format!("node {}", NODE.join("sdk.mjs").display()));
}

// PACKAGE-5
#[test]
fn with_python_alone_the_first_command_leads_to_an_answer_in_time() {
    let (python, program) = (PYTHON.join("env/bin/python"), PYTHON.join("sdk.py"));
    quickstart("python", &format!("{} {}", python.display(), program.display()));
}

// PACKAGE-1
#[test]
fn npm_pip_bundles_and_archives_install_a_server_that_answers() {
    let output =
        script("packages").args(["--light", "--program"]).arg(&*STRIPPED).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    for way in
        ["npm, from the files", "pip, from the file", "MCPB bundle", "archive of the release"]
    {
        let row = out.lines().find(|line| line.starts_with(way)).unwrap_or_default();
        assert!(row.contains("healthy"), "{way}: {out}");
    }
}
