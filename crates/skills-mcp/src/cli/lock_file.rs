//! `skills.lock`: source, commit and a digest per skill, so that a build takes what was reviewed and nothing else.

#![expect(clippy::disallowed_methods, reason = "the operator names the file that is read")]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use skills_core::{catalog::Skill, digest::hex};

use super::Failure;
use crate::{
    config::NamedSources,
    paths::is_link,
    source::{
        Directory,
        git::{Repository, is_commit},
    },
    store::{Snapshot, Store},
    whole_file::{NewFileReaders, replace_whole},
};

/// What it is called.
pub(super) const NAME: &str = "skills.lock";

/// The file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockFile {
    version: u32,
    sources: Vec<Locked>,
}

/// One source in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Locked {
    /// Its address, with `#branch` where the URL names one.
    source: String,
    commit: String,
    /// Skill to digest of all its files.
    skills: BTreeMap<String, String>,
}

impl LockFile {
    /// What is served now.
    pub(super) fn of(store: &Store, snapshot: &Snapshot) -> Self {
        let locked = |(number, _, repository): (usize, &Directory, &Arc<Repository>)| {
            let skills = snapshot.catalog.skills().filter(|skill| skill.source == number);
            Locked {
                source: repository.remote().url().to_owned(),
                commit: repository.commit().unwrap_or_default(),
                skills: skills
                    .map(|skill| (skill.identity.to_string(), digest(snapshot, skill)))
                    .collect(),
            }
        };
        Self { version: 1, sources: store.repositories().map(locked).collect() }
    }

    /// The one in this folder.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let hint = "run `skills-mcp sync --lock` and commit the file";
        let text = fs::read_to_string(folder.join(NAME))
            .map_err(|error| Failure::usage(format!("{NAME}: {error}"), hint))?;
        let lock: Self = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("{NAME}: {error}"), hint))?;
        if lock.version == 1 {
            return Ok(lock);
        }
        Err(Failure::usage(
            format!("{NAME} has version {}", lock.version),
            "use a newer skills-mcp",
        ))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Failure::bug(error.to_string()))?;
        let file = folder.join(NAME);
        // A project may bring a link to a file that is not its own.
        if is_link(&file) {
            return Err(Failure::usage(
                format!("{} is a symbolic link, and is not written through", file.display()),
                "remove the link, or run the command in another folder",
            ));
        }
        replace_whole(&file, &format!("{text}\n"), NewFileReaders::Usual, || Ok(true))
            .map_err(|error| Failure::environment(format!("{}: {error}", file.display())))
    }

    /// The repositories it names, for where no other place names any.
    pub(super) fn named(&self) -> NamedSources {
        NamedSources::repositories(self.sources.iter().map(|locked| locked.source.as_str()), NAME)
    }

    /// The commits that these repositories are locked at, by the sources' names.
    pub(super) fn commits(&self, store: &Store) -> Result<HashMap<String, String>, Failure> {
        let mut commits = HashMap::new();
        for (_, _, repository) in store.repositories() {
            let url = repository.remote().url();
            let locked = self.sources.iter().find(|locked| locked.source == url);
            let Some(locked) = locked.filter(|locked| is_commit(&locked.commit)) else {
                return Err(Failure::finding(format!("{NAME} has no entry for {url}"))
                    .with_hint("run `skills-mcp sync --lock` with the same sources"));
            };
            commits.insert(repository.name().to_string(), locked.commit.clone());
        }
        Ok(commits)
    }

    /// Whether what came is what was locked.
    pub(super) fn verify(&self, now: &Self) -> Result<(), Failure> {
        let mut wrong = Vec::new();
        for locked in &now.sources {
            let Some(expected) = self.sources.iter().find(|other| other.source == locked.source)
            else {
                continue;
            };
            if expected.commit != locked.commit {
                wrong.push(format!(
                    "{} is at {}, not {}",
                    locked.source, locked.commit, expected.commit
                ));
            }
            for (skill, digest) in &locked.skills {
                match expected.skills.get(skill) {
                    Some(known) if known == digest => {}
                    Some(_) => wrong.push(format!("{skill} has another digest")),
                    None => wrong.push(format!("{skill} is not in the lock")),
                }
            }
            let gone = expected.skills.keys().filter(|skill| !locked.skills.contains_key(*skill));
            wrong.extend(gone.map(|skill| format!("{skill} is missing")));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let more = wrong.len().saturating_sub(10);
        wrong.truncate(10);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(Failure::finding(format!("not what {NAME} says: {}{more}", wrong.join("; ")))
            .with_hint("review the change, then run `skills-mcp sync --lock`"))
    }
}

/// A digest of a skill's own file and of all that belongs to it, by name and content.
fn digest(snapshot: &Snapshot, skill: &Skill) -> String {
    let mut hash = Sha256::new();
    hash.update(skill.document().digest());
    for file in snapshot.files(skill) {
        hash.update(file.path.as_str().as_bytes());
        hash.update([0]);
        hash.update(file.digest.unwrap_or_else(|error| error.to_string()).as_bytes());
        hash.update([0]);
    }
    format!("sha256:{}", hex(&hash.finalize()))
}
