//! Which commits of a repository were served on this machine, as far as a file differs between them.
//!
//! A mirror has no history: of each commit it has the files and the message. So what is known of earlier commits is what the
//! generations that are still stored say. Nothing is fetched here.

use std::{io::Read as _, time::Duration};

use skills_core::relpath::RelPath;

use super::{Generation, Repository, manifest::CONTENT_PREFIX, program::GitCommand, retention};

/// More stored generations are not compared.
const MAX_COMPARED_GENERATIONS: usize = 20;
/// For git to read the messages of these commits.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_MESSAGES_BYTES: u64 = 64 * 1024;
/// Between the fields of a commit, and between commits.
const FORMAT: &str = "--format=%H%x1f%ct%x1f%an%x1f%s%x1e";

/// A commit that was served on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedCommit {
    /// The commit.
    pub commit: String,
    /// When it was made, in seconds since 1970 began; none where the mirror does not know it any more.
    pub seconds: Option<i64>,
    /// Who made it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

impl Repository {
    /// The commit that is served, and before it those in which the file first was as it then was; newest first.
    pub(crate) fn history(&self, served: &str, file: &RelPath) -> Vec<ServedCommit> {
        let path = format!("{CONTENT_PREFIX}{file}");
        let blob = |commit: &str| {
            let generation = Generation::open(&self.storage, commit)?;
            Some(generation.manifest().files.get(&path)?.blob.clone())
        };
        let others = retention::commits(&self.storage).filter(|commit| commit != served);
        let known: Vec<(String, String)> = std::iter::once(served.to_owned())
            .chain(others)
            .take(MAX_COMPARED_GENERATIONS)
            .filter_map(|commit| blob(&commit).map(|blob| (commit, blob)))
            .collect();
        let commits: Vec<&str> = known.iter().map(|(commit, _)| commit.as_str()).collect();
        let messages = self.messages(&commits);
        let with_message = |(commit, blob): &(String, String)| {
            let message = messages.iter().find(|message| message.commit == *commit);
            let unknown = || ServedCommit { commit: commit.clone(), ..ServedCommit::default() };
            (message.cloned().unwrap_or_else(unknown), blob.clone())
        };
        changes(served, known.iter().map(with_message).collect())
    }

    /// What the mirror knows of these commits.
    fn messages(&self, commits: &[&str]) -> Vec<ServedCommit> {
        let mirror = self.storage.mirror();
        let mut arguments =
            vec!["log", "--no-walk=unsorted", "--ignore-missing", FORMAT, "--end-of-options"];
        arguments.extend(commits);
        let command = GitCommand::local(&mirror, &arguments, MESSAGE_TIMEOUT);
        let mut listed = Vec::new();
        let run = self.git.run(&command, &mut |out| {
            out.take(MAX_MESSAGES_BYTES).read_to_end(&mut listed).map(drop)
        });
        if let Err(error) = run {
            tracing::debug!("the messages of commits cannot be read: {error}");
        }
        let listed = String::from_utf8_lossy(&listed);
        listed.split('\u{1e}').filter_map(|line| parsed(line.trim_start())).collect()
    }
}

fn parsed(line: &str) -> Option<ServedCommit> {
    let mut fields = line.splitn(4, '\u{1f}').map(str::to_owned);
    let (commit, seconds) = (fields.next()?, fields.next()?);
    let (author, subject) = (fields.next()?, fields.next()?);
    Some(ServedCommit { commit, seconds: seconds.parse().ok(), author, subject })
}

/// Of commits with the file's blob: the one that is served, and the first of each row of commits with the same blob.
fn changes(served: &str, mut known: Vec<(ServedCommit, String)>) -> Vec<ServedCommit> {
    known.sort_by(|(a, _), (b, _)| {
        let is_served = |commit: &ServedCommit| commit.commit == served;
        (is_served(b), b.seconds).cmp(&(is_served(a), a.seconds))
    });
    let is_alone = known.windows(2).all(|pair| matches!(pair, [(_, a), (_, b)] if a == b));
    let mut shown = Vec::new();
    for (at, (commit, blob)) in known.iter().enumerate() {
        let differs_before = known.get(at + 1).is_none_or(|(_, before)| before != blob);
        if commit.commit == served || (differs_before && !is_alone) {
            shown.push(commit.clone());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(commits: &[(&str, i64, &str)]) -> Vec<(ServedCommit, String)> {
        let commit = |(commit, seconds, blob): &(&str, i64, &str)| {
            let commit = (*commit).to_owned();
            (
                ServedCommit { commit, seconds: Some(*seconds), ..ServedCommit::default() },
                (*blob).to_owned(),
            )
        };
        commits.iter().map(commit).collect()
    }

    fn shown(served: &str, commits: &[(&str, i64, &str)]) -> Vec<String> {
        changes(served, known(commits)).into_iter().map(|commit| commit.commit).collect()
    }

    #[test]
    fn a_commit_is_listed_where_the_file_became_what_it_then_was() {
        let commits = [("c4", 4, "x"), ("c1", 1, "a"), ("c3", 3, "x"), ("c2", 2, "a")];
        assert_eq!(shown("c4", &commits), ["c4", "c3", "c1"]);
        assert_eq!(shown("c4", &[("c4", 4, "x"), ("c3", 3, "x")]), ["c4"], "nothing changed");
        assert_eq!(
            shown("c1", &[("c2", 2, "b"), ("c1", 1, "a")]),
            ["c1", "c2"],
            "a branch that went back"
        );
        assert_eq!(shown("c1", &[]), Vec::<String>::new());
    }

    #[test]
    fn a_message_may_hold_anything_but_ends() {
        let commit = parsed("abc\u{1f}7\u{1f}A B\u{1f}fix: a\u{1f}b").unwrap();
        assert_eq!(
            (commit.seconds, &*commit.author, &*commit.subject),
            (Some(7), "A B", "fix: a\u{1f}b")
        );
        assert_eq!(parsed("abc"), None);
    }
}
