//! What is kept of a repository, and for how long: generations that nobody uses go after a day, a copy that was set aside stays
//! until the next one is. And what somebody has edited where nobody should.

use std::{collections::HashSet, time::Duration};

use super::{
    Generation, GitError, Repository, is_commit,
    lock::Lock,
    place::{self, Place},
    program::Call,
};

/// A generation that is not current any more stays this long.
const DAY: Duration = Duration::from_hours(24);
/// What a copy is called that was set aside.
const ASIDE: &str = "unusable-mirror.git";

/// Removes the generations that nobody points to, that were replaced a day ago, and that no process has served. Only while
/// the lock is held.
pub(super) fn remove_old(place: &Place) {
    let pointed = pointed(place);
    for commit in commits(place).filter(|commit| !pointed.contains(commit)) {
        if place::age(&place.lease(&commit)).is_none_or(|age| age > DAY) {
            remove_unused(place, &commit);
        }
    }
}

/// The generations there are.
pub(super) fn commits(place: &Place) -> impl Iterator<Item = String> {
    place::names(&place.generations()).into_iter().filter(|name| is_commit(name))
}

/// Those that are current for what somebody wants.
pub(super) fn pointed(place: &Place) -> HashSet<String> {
    place::names(&place.wanted())
        .iter()
        .filter_map(|name| place::read(&place.wanted().join(name).join("current")))
        .map(|commit| commit.trim_end().to_owned())
        .collect()
}

/// Removes a generation unless a process has served it: whether it is gone. Only while the lock is held.
pub(super) fn remove_unused(place: &Place, commit: &str) -> bool {
    let lease = place.lease(commit);
    // Whoever has served it holds it for as long as they live.
    let Ok(Some(_alone)) = Lock::take(&lease) else { return false };
    place.discard(&place.generation(commit));
    place::remove(&lease);
    true
}

/// Whether it is long enough ago that a copy was set aside: a remote that breaks every copy is not to be cloned all day.
pub(super) fn may_renew(place: &Place, pause: Duration) -> bool {
    place::age(&place.folder().join(ASIDE).join("HEAD")).is_none_or(|age| age > pause)
}

/// Sets the copy aside, for whoever wants to know what is wrong with it.
pub(super) fn set_aside(place: &Place) {
    let aside = place.folder().join(ASIDE);
    place.discard(&aside);
    if std::fs::rename(place.mirror(), &aside).is_err() {
        place.discard(&place.mirror());
    }
    // The time of the last renewal, also where there was no copy at all.
    let _ = place::make_folder(&aside);
    place::touch(&aside.join("HEAD"));
}

impl Repository {
    /// Files of a generation that are not what was written, that are gone, or that somebody added.
    pub fn edits(&self, generation: &Generation) -> Result<Vec<String>, GitError> {
        let (folder, manifest) = (generation.folder(), generation.manifest());
        let there: Vec<(&String, &str)> = manifest
            .files
            .iter()
            .filter(|(path, _)| folder.join(path).is_file())
            .map(|(path, file)| (path, file.blob.as_str()))
            .collect();
        let paths: Vec<String> =
            there.iter().map(|(path, _)| folder.join(path).display().to_string()).collect();
        let input = if paths.is_empty() { String::new() } else { paths.join("\n") + "\n" };
        let mut said = String::new();
        let call = Call {
            repository: &self.place.mirror(),
            arguments: &["hash-object", "--no-filters", "--stdin-paths"],
            input: input.as_bytes(),
            holding: None,
            remote: None,
            deadline: Duration::from_mins(1),
            progress: None,
        };
        if !input.is_empty() {
            self.git.run(&call, &mut |out| out.read_to_string(&mut said).map(drop))?;
        }
        let same: HashSet<&String> = there
            .iter()
            .zip(said.lines())
            .filter(|((_, blob), now)| blob == now)
            .map(|((path, _), _)| *path)
            .collect();
        let mut edits: Vec<String> =
            manifest.files.keys().filter(|path| !same.contains(path)).cloned().collect();
        let mut open = vec!["skills".to_owned()];
        while let Some(inside) = open.pop() {
            for name in place::names(&folder.join(&inside)) {
                let path = format!("{inside}/{name}");
                if folder.join(&path).is_dir() {
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
