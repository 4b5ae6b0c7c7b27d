//! [`Mirror`]: a bare, shallow copy of a repository, and the git commands on it.
//!
//! One branch or commit is fetched, without its history, tags, submodules, or files that are too large to serve. The mirror's
//! own configuration is written anew before every use, so that no other change to it counts. Nothing is checked out: trees and
//! files are read, and no attribute, filter or hook applies.

use std::{
    collections::HashMap,
    io::{self, BufRead as _, BufReader, Read},
    path::PathBuf,
    time::Duration,
};

use skills_core::diagnostic::escaped;

use super::{
    error::GitError,
    lock::RepositoryLock,
    program::{GitCommand, InstalledGit, ReadOutput},
    storage::{self, PACK_FOLDER, RepositoryStorage},
    url::{Remote, is_branch, is_commit, short_digest},
};

/// Larger files are not served, and not even fetched where the remote can leave them out.
pub(super) const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;
/// How long a command without a remote may take.
const LOCAL_COMMAND_TIMEOUT: Duration = Duration::from_mins(5);
/// A commit whose list of files is longer is not served.
const MAX_LIST_BYTES: u64 = 64 * 1024 * 1024;
/// A commit with more files and folders is not served.
const MAX_TREE_ENTRIES: usize = 250_000;
/// How many branches an error message lists.
const MAX_LISTED_BRANCHES: usize = 10;

/// A mirror, its remote, and how to run git on it.
pub(super) struct Mirror<'a> {
    pub(super) git: &'a InstalledGit,
    pub(super) storage: &'a RepositoryStorage,
    pub(super) folder: PathBuf,
    pub(super) remote: &'a Remote,
    pub(super) lock: &'a RepositoryLock,
    pub(super) timeout: Duration,
    pub(super) sparse: bool,
    pub(super) progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// What to fetch.
#[derive(Debug, Clone, Copy)]
pub(super) enum FetchTarget<'a> {
    Branch(&'a str),
    Commit(&'a str),
}

/// One entry of a commit's tree.
#[derive(Debug)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) blob: String,
    pub(super) path: Vec<u8>,
}

/// The mode of a folder.
const FOLDER_MODE: &str = "040000";
/// Git's message about folders that are nested too deep.
const TOO_DEEP_MESSAGE: &str = "maximum allowed tree depth";

impl TreeEntry {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut halves = line.splitn(2, |byte| *byte == b'\t');
        let (about, path) = (halves.next()?, halves.next()?);
        let about = String::from_utf8_lossy(about);
        let mut about = about.split(' ').map(str::to_owned);
        let (mode, _, blob) = (about.next()?, about.next()?, about.next()?);
        Some(Self { mode, blob, path: path.to_vec() })
    }
}

impl Mirror<'_> {
    /// Makes the mirror if there is none, and removes what killed processes left in it.
    pub(super) fn prepare(&self) -> Result<(), GitError> {
        let written = || {
            for folder in [PACK_FOLDER, "refs/skills"] {
                storage::make_folder(&self.folder.join(folder))?;
            }
            // The processes that held these have ended: this one has the lock.
            for lock in
                ["shallow.lock", "packed-refs.lock", "index.lock", "HEAD.lock", "config.lock"]
            {
                storage::remove(&self.folder.join(lock));
            }
            let refs = self.folder.join("refs/skills");
            for name in
                storage::names(&refs).iter().filter(|name| name.strip_suffix(".lock").is_some())
            {
                storage::remove(&refs.join(name));
            }
            self.storage.replace(&self.folder.join("HEAD"), "ref: refs/heads/none\n")?;
            self.configure(false)
        };
        written().map_err(|error: io::Error| {
            // The path leads to something that is no folder.
            let not_a_folder = [
                io::ErrorKind::NotADirectory,
                io::ErrorKind::AlreadyExists,
                io::ErrorKind::IsADirectory,
            ];
            if not_a_folder.contains(&error.kind()) {
                return GitError::Broken(error.to_string());
            }
            self.storage.disk_error(error)
        })
    }

    /// Writes the mirror's configuration. Only for a fetch it is a partial clone: any other command must not fetch what is
    /// missing.
    fn configure(&self, partial: bool) -> io::Result<()> {
        let (url, filter) = (self.remote.url(), self.filter());
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned();
        let settings = if partial {
            format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = \"{url}\"\n\tpromisor = true\n\tpartialclonefilter = {filter}\n"
            )
        } else {
            plain
        };
        self.storage.replace(&self.folder.join("config"), &settings)
    }

    fn filter(&self) -> String {
        if self.sparse { "blob:none".to_owned() } else { format!("blob:limit={MAX_BLOB_BYTES}") }
    }

    /// Fetches a branch or commit; the commit.
    pub(super) fn fetch(&self, target: FetchTarget<'_>) -> Result<String, GitError> {
        let (from, name) = match target {
            FetchTarget::Branch(branch) => (format!("refs/heads/{branch}"), short_digest(branch)),
            FetchTarget::Commit(commit) => (commit.to_owned(), short_digest(commit)),
        };
        let here = format!("refs/skills/{name}");
        let (refspec, filter) = (format!("+{from}:{here}"), format!("--filter={}", self.filter()));
        let mut arguments = FETCH_ARGUMENTS.to_vec();
        arguments.extend(["--depth=1", filter.as_str()]);
        if self.progress.is_some() {
            arguments.push("--progress");
        }
        arguments.extend(["--end-of-options", "origin", refspec.as_str()]);
        self.run_remote(&arguments, &[], &mut discard_output)
            .map_err(|error| self.explain_missing(error, target))?;
        let mut commit = String::new();
        let name = format!("{here}^{{commit}}");
        self.run_local(&["rev-parse", "--verify", "--end-of-options", &name], &[], &mut |out| {
            out.take(100).read_to_string(&mut commit).map(drop)
        })?;
        let commit = commit.trim().to_owned();
        is_commit(&commit).then_some(commit).ok_or_else(|| GitError::Broken("no commit".to_owned()))
    }

    /// Turns git's message about a missing branch or commit into an error that names it.
    fn explain_missing(&self, error: GitError, target: FetchTarget<'_>) -> GitError {
        let GitError::Other(message) = &error else { return error };
        let lower = message.to_ascii_lowercase();
        match target {
            FetchTarget::Branch(branch) if lower.contains("couldn't find remote ref") => {
                let others = self.branches().unwrap_or_default();
                GitError::NoBranch { branch: branch.to_owned(), others }
            }
            FetchTarget::Commit(commit)
                if lower.contains("not our ref")
                    || lower.contains("unadvertised object")
                    || lower.contains("couldn't find remote ref") =>
            {
                GitError::NoCommit(commit.to_owned())
            }
            FetchTarget::Branch(_) | FetchTarget::Commit(_) => error,
        }
    }

    /// Some of the branches that the remote has.
    fn branches(&self) -> Result<Vec<String>, GitError> {
        let mut branches = Vec::new();
        self.run_remote(
            &["ls-remote", "--heads", "--end-of-options", "origin"],
            &[],
            &mut |out| {
                let lines = BufReader::new(out.take(MAX_LIST_BYTES)).split(b'\n');
                for line in lines.take(MAX_LISTED_BRANCHES) {
                    let line = line?;
                    let line = String::from_utf8_lossy(&line);
                    let name = line.split_once("refs/heads/").map(|(_, name)| escaped(name));
                    branches.extend(name);
                }
                Ok(())
            },
        )?;
        Ok(branches)
    }

    /// The branch that the remote follows itself.
    pub(super) fn default_branch(&self) -> Result<Option<String>, GitError> {
        let mut listed = String::new();
        let arguments = ["ls-remote", "--symref", "--end-of-options", "origin", "HEAD"];
        self.run_remote(&arguments, &[], &mut |out| {
            out.take(1_000).read_to_string(&mut listed).map(drop)
        })?;
        let named = |line: &str| {
            Some(line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD")?.to_owned())
        };
        Ok(listed.lines().find_map(named).filter(|branch| is_branch(branch)))
    }

    /// The commit that a branch of the remote is at now.
    pub(super) fn head(&self, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        let mut listed = String::new();
        self.run_remote(&["ls-remote", "--end-of-options", "origin", &name], &[], &mut |out| {
            out.take(1_000).read_to_string(&mut listed).map(drop)
        })?;
        let commit = listed.split_whitespace().next().filter(|commit| is_commit(commit));
        Ok(commit.map(str::to_owned))
    }

    /// Every file in a commit, whatever its mode. A commit of a few objects may have a tree without end, in which each folder
    /// contains the next one many times; so folders are counted too, and git is killed as soon as there are too many.
    pub(super) fn tree(&self, commit: &str) -> Result<Vec<TreeEntry>, GitError> {
        let refused = |why: String| GitError::Refused { commit: commit.to_owned(), why };
        let mut entries = Vec::new();
        let mut over = None;
        let arguments = ["ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit];
        let listed = self.run_local(&arguments, &[], &mut |out| {
            let mut out = BufReader::new(out.take(MAX_LIST_BYTES));
            for (number, line) in (&mut out).split(0).enumerate() {
                if number == MAX_TREE_ENTRIES {
                    over = Some(format!("it has more than {MAX_TREE_ENTRIES} files and folders"));
                    return Ok(());
                }
                entries.extend(TreeEntry::parse(&line?).filter(|entry| entry.mode != FOLDER_MODE));
            }
            if out.get_ref().limit() == 0 {
                over = Some(format!("its list of files is longer than {MAX_LIST_BYTES} bytes"));
            }
            Ok(())
        });
        match (over, listed) {
            (Some(why), _) => Err(refused(why)),
            (None, Err(GitError::Broken(message))) if message.contains(TOO_DEEP_MESSAGE) => {
                Err(refused("its folders are nested deeper than git allows".to_owned()))
            }
            (None, listed) => listed.map(|()| entries),
        }
    }

    /// The sizes of these blobs; those that the mirror does not have are left out.
    pub(super) fn sizes(&self, blobs: &[&str]) -> Result<HashMap<String, u64>, GitError> {
        let mut sizes = HashMap::new();
        let input = lines(blobs);
        self.run_local(&["cat-file", "--batch-check", "--buffer"], input.as_bytes(), &mut |out| {
            for line in BufReader::new(out).lines() {
                let line = line?;
                let mut words = line.split(' ');
                if let (Some(blob), Some("blob"), Some(Ok(size))) =
                    (words.next(), words.next(), words.next().map(str::parse))
                {
                    sizes.insert(blob.to_owned(), size);
                }
            }
            Ok(())
        })?;
        Ok(sizes)
    }

    /// Fetches blobs that a sparse mirror does not have yet.
    pub(super) fn fetch_blobs(&self, blobs: &[&str]) -> Result<(), GitError> {
        if blobs.is_empty() {
            return Ok(());
        }
        let filter = format!("--filter=blob:limit={MAX_BLOB_BYTES}");
        // A remote that hears of the mirror's commit would assume that the mirror has its files too.
        let mut arguments = vec!["-c", "fetch.negotiationAlgorithm=noop"];
        arguments.extend(FETCH_ARGUMENTS);
        arguments.extend([filter.as_str(), "--stdin", "--end-of-options", "origin"]);
        self.run_remote(&arguments, lines(blobs).as_bytes(), &mut discard_output)
    }

    /// Reads these blobs in this order; `each` gets the number and the bytes of each.
    pub(super) fn contents(
        &self,
        blobs: &[&str],
        each: &mut dyn FnMut(usize, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), GitError> {
        let input = lines(blobs);
        let mut whole = 0;
        let mut torn = None;
        self.run_local(&["cat-file", "--batch", "--buffer"], input.as_bytes(), &mut |out| {
            let mut out = BufReader::with_capacity(128 * 1024, out);
            for number in 0..blobs.len() {
                let mut head = String::new();
                (&mut out).take(200).read_line(&mut head)?;
                let size: Option<u64> =
                    head.trim_end().rsplit(' ').next().and_then(|size| size.parse().ok());
                let Some(size) = size.filter(|_| head.contains(" blob ")) else {
                    torn = Some(escaped(head.trim_end()));
                    return Ok(());
                };
                let mut content = (&mut out).take(size);
                each(number, &mut content)?;
                if content.limit() > 0 || (&mut out).bytes().next().is_none() {
                    torn = Some("a file ends early".to_owned());
                    return Ok(());
                }
                whole += 1;
            }
            Ok(())
        })?;
        match torn {
            None if whole == blobs.len() => Ok(()),
            torn => Err(GitError::Broken(torn.unwrap_or_else(|| "files are missing".to_owned()))),
        }
    }

    fn run_remote(
        &self,
        arguments: &[&str],
        input: &[u8],
        read: ReadOutput<'_>,
    ) -> Result<(), GitError> {
        let disk_error = |error| self.storage.disk_error(error);
        let held = self.lock.shared().map_err(disk_error)?;
        let command = GitCommand {
            input,
            held_lock: Some(&held),
            remote: Some(self.remote),
            progress: self.progress,
            ..GitCommand::local(&self.folder, arguments, self.timeout)
        };
        self.configure(true).map_err(disk_error)?;
        let result = self.git.run(&command, read);
        self.configure(false).map_err(disk_error)?;
        result
    }

    fn run_local(
        &self,
        arguments: &[&str],
        input: &[u8],
        read: ReadOutput<'_>,
    ) -> Result<(), GitError> {
        let command = GitCommand::local(&self.folder, arguments, LOCAL_COMMAND_TIMEOUT);
        self.git.run(&GitCommand { input, ..command }, read)
    }
}

/// The beginning of every fetch.
const FETCH_ARGUMENTS: [&str; 7] = [
    "fetch",
    "--no-tags",
    "--no-auto-gc",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--force",
    "--upload-pack=git-upload-pack",
];

fn discard_output(out: &mut dyn Read) -> io::Result<()> {
    io::copy(out, &mut io::sink()).map(drop)
}

fn lines(blobs: &[&str]) -> String {
    blobs.iter().flat_map(|blob| [*blob, "\n"]).collect()
}
