//! [`Repository::edits`]: the files of a generation that differ from what was written. `status` shows them, and a sync that a
//! person asks for writes them again.

use std::{collections::HashSet, time::Duration};

use super::{Generation, GitError, Repository, program::GitCommand, storage};
use crate::paths::{is_file, is_folder};

/// How long git may take to hash the files of a generation.
const HASH_TIMEOUT: Duration = Duration::from_mins(1);

impl Repository {
    /// Files of a generation that were changed, removed or added after it was written.
    pub(crate) fn edits(&self, generation: &Generation) -> Result<Vec<String>, GitError> {
        let (folder, manifest) = (generation.folder(), generation.manifest());
        let present: Vec<(&String, &str)> = manifest
            .files
            .iter()
            .filter(|(path, _)| is_file(&folder.join(path)))
            .map(|(path, file)| (path, file.blob.as_str()))
            .collect();
        let paths: Vec<String> =
            present.iter().map(|(path, _)| folder.join(path).display().to_string()).collect();
        let input = if paths.is_empty() { String::new() } else { paths.join("\n") + "\n" };
        let mut hashes = String::new();
        let mirror = self.storage.mirror();
        let arguments = ["hash-object", "--no-filters", "--stdin-paths"];
        let command = GitCommand::local(&mirror, &arguments, HASH_TIMEOUT);
        let command = GitCommand { input: input.as_bytes(), ..command };
        if !input.is_empty() {
            self.git.run(&command, &mut |out| out.read_to_string(&mut hashes).map(drop))?;
        }
        let same: HashSet<&String> = present
            .iter()
            .zip(hashes.lines())
            .filter(|((_, blob), now)| blob == now)
            .map(|((path, _), _)| *path)
            .collect();
        let mut edits: Vec<String> =
            manifest.files.keys().filter(|path| !same.contains(path)).cloned().collect();
        let mut open = vec!["skills".to_owned()];
        while let Some(inside) = open.pop() {
            for name in storage::names(&folder.join(&inside)) {
                let path = format!("{inside}/{name}");
                if is_folder(&folder.join(&path)) {
                    open.push(path);
                } else if !manifest.files.contains_key(&path) {
                    edits.push(path);
                }
            }
        }
        edits.sort();
        Ok(edits)
    }
}
