//! [`Home`]: a temporary folder for each test, with an empty environment and content from a fixture.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::{NamedTempFile, TempDir};

use crate::fixture;

/// A temporary folder that holds a test's content and its HOME; it is removed when the test ends.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
}

#[expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test's home is made of real files, and a test that cannot make it has failed"
)]
impl Home {
    /// An empty home.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A home whose `skills/` folder holds the files of a fixture.
    pub fn with(fixture: &str) -> Self {
        let home = Self::new();
        fs::create_dir_all(home.skills()).expect("a skills folder");
        for (path, text) in fixture::files(fixture) {
            home.write(&format!("skills/{path}"), text);
        }
        home
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where [`Home::with`] puts the content.
    pub fn skills(&self) -> PathBuf {
        self.path().join("skills")
    }

    /// Writes a file below the folder. If there is one already, no process has it open any more when this returns.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("its folder");
        if !file.is_file() || overwrite(&file, text.as_ref()).is_err() {
            fs::write(file, text).expect("the file");
        }
    }

    /// A command with no environment but this home, started in it.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path());
        command
    }
}

/// Writes to a file that is there, from a program of its own. A program that another test starts while this process writes has a
/// copy of the open file for a moment, and the kernel reports a file as written once every copy is closed.
#[expect(clippy::disallowed_methods, reason = "a test's home is made of real files")]
fn overwrite(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut source = NamedTempFile::new()?;
    source.write_all(text)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat \"$1\" > \"$0\""]).arg(file).arg(source.path());
    let status = command.env_clear().env("PATH", "/usr/bin:/bin").status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("the file was not written")) }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}
