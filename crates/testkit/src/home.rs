//! [`Home`]: a temporary folder for each test, with an empty environment and content from a fixture.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

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

    /// Writes a file below the folder.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("its folder");
        fs::write(file, text).expect("the file");
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

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}
