//! [`Remembered`]: which skills the hook named in a conversation, so that it names none twice.
//!
//! One small file for each conversation in `~/.skills-mcp/hints`. Files of conversations that are long over are removed.

#![expect(clippy::disallowed_methods, reason = "this file keeps the record of hints")]

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;

use crate::config::{create_private_folder, private};

/// A record that no hint was added to for so long is removed.
const MAX_RECORD_AGE: Duration = Duration::from_hours(14 * 24);
/// A longer record is not read: nothing is named any more.
const MAX_RECORD_BYTES: u64 = 256 * 1024;
/// So many records are looked at for their age at a time.
const MAX_SWEPT: usize = 200;

/// The record of one conversation.
pub(super) struct Remembered {
    path: PathBuf,
    text: String,
}

impl Remembered {
    /// The record of the conversation of this id.
    pub(super) fn open(home: &Path, conversation: &str) -> Self {
        let digest = hex(&Sha256::digest(conversation));
        let name = digest.get(..32).unwrap_or(&digest);
        let path = home.join(".skills-mcp/hints").join(name);
        let is_short = fs::metadata(&path).is_ok_and(|found| found.len() <= MAX_RECORD_BYTES);
        let text =
            if is_short { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        Self { path, text }
    }

    /// Whether the hook named this skill in the conversation.
    pub(super) fn has(&self, skill: &str) -> bool {
        self.text.lines().any(|line| line == skill)
    }

    /// Adds skills to the record. Where that fails nothing may be said, because it would be said again.
    pub(super) fn add<'a>(&self, skills: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let is_new = self.text.is_empty();
        if is_new {
            create_private_folder(folder)?;
            sweep(folder);
        }
        let lines: Vec<&str> = skills.flat_map(|skill| [skill, "\n"]).collect();
        let mut file = private(OpenOptions::new().create(true).append(true)).open(&self.path)?;
        if file.metadata()?.len() > MAX_RECORD_BYTES {
            return Err(io::Error::other("the record is full"));
        }
        file.write_all(lines.concat().as_bytes())
    }
}

/// Removes records of conversations that are over.
fn sweep(folder: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_SWEPT) {
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > MAX_RECORD_AGE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
