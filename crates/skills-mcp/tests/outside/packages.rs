//! Every package as its own tool installs it, without a registry: `scripts/packages --light`.

use std::{path::Path, process::Command};

// PACKAGE-1
#[test]
fn npm_pip_bundles_and_archives_install_a_server_that_answers() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/packages");
    // Without what is there for debuggers, which would take most of the time to pack.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stripped-skills-mcp");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_skills-mcp"));
    assert!(strip.status().expect("strip comes with the linker").success());
    let output =
        Command::new(script).args(["--light", "--program"]).arg(&program).output().unwrap();
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
