//! What these tests fetch, once for all of them, into the build's own folder: packages of npm and of Python.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// A folder with the npm packages and the scripts that use them.
pub(crate) static NODE: LazyLock<PathBuf> = LazyLock::new(|| {
    let scripts = ["browser.mjs", "browse.mjs", "oidc.mjs", "page.mjs", "pictures.mjs", "sdk.mjs"];
    let files = [&["package.json", "package-lock.json", ".npmrc"][..], &scripts].concat();
    let folder = copied("node", &files);
    fetched(&folder, "package-lock.json", || {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
        run(&mut npm, "npm is installed: apt-get install npm");
    });
    folder
});

/// A folder with MCP Inspector. Some of its packages are there for one platform only, so that no lock file suits `npm ci`
/// everywhere.
pub(crate) static INSPECTOR: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = copied("inspector", &["inspector.txt"]);
    fetched(&folder, "inspector.txt", || {
        let package = fs::read_to_string(folder.join("inspector.txt")).unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]);
        npm.args(["--ignore-scripts", "--prefix", ".", package.trim()]).current_dir(&folder);
        run(&mut npm, "npm is installed: apt-get install npm");
    });
    folder
});

/// A folder with a Python that has the packages, in `env/bin`, and the scripts that use them.
pub(crate) static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let scripts = ["check.py", "sdk.py", "sign_in.py", "skills.py"];
    let folder = copied("python", &[&["requirements.txt"][..], &scripts].concat());
    fetched(&folder, "requirements.txt", || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "env"]).current_dir(&folder);
        run(&mut venv, "Python can make environments: apt-get install python3-venv");
        let mut pip = Command::new(folder.join("env/bin/pip"));
        pip.args(["install", "--quiet", "-r", "requirements.txt"]).current_dir(&folder);
        run(&mut pip, "pip runs");
    });
    folder
});

fn copied(name: &str, files: &[&str]) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for file in files {
        fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    folder
}

/// Fetches packages, unless those that this file names are there.
fn fetched(folder: &Path, list: &str, fetch: impl Fn()) {
    let (wanted, brought) = (fs::read(folder.join(list)).unwrap(), folder.join("brought"));
    if fs::read(&brought).ok().as_ref() != Some(&wanted) {
        fetch();
        fs::write(&brought, &wanted).unwrap();
    }
}

fn run(command: &mut Command, needs: &str) {
    let output = command.output().expect(needs);
    assert!(output.status.success(), "{needs}: {}", String::from_utf8_lossy(&output.stderr));
}
