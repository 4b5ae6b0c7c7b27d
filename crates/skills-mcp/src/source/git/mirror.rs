//! [`Mirror`]: a bare, shallow copy of a repository, and the commands we give git for it.
//!
//! Of the remote one branch or commit is fetched, without its history, its tags, its submodules, or files larger than we serve.
//! The copy's own settings are written anew before every use, so that nobody else's count. Nothing is ever checked out: trees
//! and files are read, and no attribute, filter or hook has a say.

use std::{
    collections::HashMap,
    io::{self, BufRead as _, BufReader, Read},
    path::PathBuf,
    time::Duration,
};

use skills_core::diagnostic::escaped;

use super::{
    error::GitError,
    lock::Lock,
    place::{self, PACKS, Place},
    program::{Call, Git, Take},
    url::{Remote, is_commit, short_digest},
};

/// Larger files are not even fetched, where the server can leave them out.
pub(super) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// What works on the disk alone is given this long.
const LOCAL: Duration = Duration::from_mins(5);
/// A commit whose list of files is longer is not served.
const MAX_LIST: u64 = 64 * 1024 * 1024;
/// A commit with more files and folders is not served.
const MAX_ENTRIES: usize = 250_000;
/// So many branches are told of.
const MAX_BRANCHES: usize = 10;

/// A copy and what it is a copy of.
pub(super) struct Mirror<'a> {
    pub(super) git: &'a dyn Git,
    pub(super) place: &'a Place,
    pub(super) folder: PathBuf,
    pub(super) remote: &'a Remote,
    pub(super) lock: &'a Lock,
    pub(super) timeout: Duration,
    pub(super) sparse: bool,
    pub(super) progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fetched<'a> {
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
const FOLDER: &str = "040000";
/// What git says of folders in folders in folders.
const TOO_DEEP: &str = "maximum allowed tree depth";

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
    /// Makes the copy if there is none, and takes out of it what others left there.
    pub(super) fn ready(&self) -> Result<(), GitError> {
        let written = || {
            for folder in [PACKS, "refs/skills"] {
                place::make_folder(&self.folder.join(folder))?;
            }
            // Whoever held one of these is gone: we have the lock.
            for lock in
                ["shallow.lock", "packed-refs.lock", "index.lock", "HEAD.lock", "config.lock"]
            {
                place::remove(&self.folder.join(lock));
            }
            let refs = self.folder.join("refs/skills");
            for name in
                place::names(&refs).iter().filter(|name| name.strip_suffix(".lock").is_some())
            {
                place::remove(&refs.join(name));
            }
            self.place.replace(&self.folder.join("HEAD"), "ref: refs/heads/none\n")?;
            self.configure(false)
        };
        written().map_err(|error: io::Error| {
            // Something that is no folder, and no copy of anything.
            let odd = [
                io::ErrorKind::NotADirectory,
                io::ErrorKind::AlreadyExists,
                io::ErrorKind::IsADirectory,
            ];
            if odd.contains(&error.kind()) {
                return GitError::Broken(error.to_string());
            }
            self.place.disk(error)
        })
    }

    /// Writes the copy's settings. Only to a fetch it is a part of something larger: to all else, what is not here is not here,
    /// and nobody goes and gets it.
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
        self.place.replace(&self.folder.join("config"), &settings)
    }

    fn filter(&self) -> String {
        if self.sparse { "blob:none".to_owned() } else { format!("blob:limit={MAX_FILE_BYTES}") }
    }

    /// Fetches what is wanted; the commit that it is.
    pub(super) fn fetch(&self, what: Fetched<'_>) -> Result<String, GitError> {
        let (from, name) = match what {
            Fetched::Branch(branch) => (format!("refs/heads/{branch}"), short_digest(branch)),
            Fetched::Commit(commit) => (commit.to_owned(), short_digest(commit)),
        };
        let here = format!("refs/skills/{name}");
        let (refspec, filter) = (format!("+{from}:{here}"), format!("--filter={}", self.filter()));
        let mut arguments = FETCH.to_vec();
        arguments.extend(["--depth=1", filter.as_str()]);
        if self.progress.is_some() {
            arguments.push("--progress");
        }
        arguments.extend(["--end-of-options", "origin", refspec.as_str()]);
        self.remotely(&arguments, &[], &mut to_the_end)
            .map_err(|error| self.missing(error, what))?;
        let mut commit = String::new();
        let name = format!("{here}^{{commit}}");
        self.locally(&["rev-parse", "--verify", "--end-of-options", &name], &[], &mut |out| {
            out.take(100).read_to_string(&mut commit).map(drop)
        })?;
        let commit = commit.trim().to_owned();
        is_commit(&commit).then_some(commit).ok_or_else(|| GitError::Broken("no commit".to_owned()))
    }

    /// Says what is missing, and what there is instead.
    fn missing(&self, error: GitError, what: Fetched<'_>) -> GitError {
        let GitError::Said(said) = &error else { return error };
        let lower = said.to_ascii_lowercase();
        match what {
            Fetched::Branch(branch) if lower.contains("couldn't find remote ref") => {
                let others = self.branches().unwrap_or_default();
                GitError::NoBranch { branch: branch.to_owned(), others }
            }
            Fetched::Commit(commit)
                if lower.contains("not our ref")
                    || lower.contains("unadvertised object")
                    || lower.contains("couldn't find remote ref") =>
            {
                GitError::NoCommit(commit.to_owned())
            }
            Fetched::Branch(_) | Fetched::Commit(_) => error,
        }
    }

    /// Some of the branches that the remote has.
    fn branches(&self) -> Result<Vec<String>, GitError> {
        let mut branches = Vec::new();
        self.remotely(&["ls-remote", "--heads", "--end-of-options", "origin"], &[], &mut |out| {
            for line in BufReader::new(out.take(MAX_LIST)).split(b'\n').take(MAX_BRANCHES) {
                let line = line?;
                let line = String::from_utf8_lossy(&line);
                let name = line.split_once("refs/heads/").map(|(_, name)| escaped(name));
                branches.extend(name);
            }
            Ok(())
        })?;
        Ok(branches)
    }

    /// The commit that a branch of the remote is at now.
    pub(super) fn head(&self, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        let mut said = String::new();
        self.remotely(&["ls-remote", "--end-of-options", "origin", &name], &[], &mut |out| {
            out.take(1_000).read_to_string(&mut said).map(drop)
        })?;
        let commit = said.split_whitespace().next().filter(|commit| is_commit(commit));
        Ok(commit.map(str::to_owned))
    }

    /// Every file in a commit, whatever it is. A commit of a few objects may hold folders without end, each many times in the
    /// next one; so folders are counted too, and git is ended as soon as there are too many.
    pub(super) fn tree(&self, commit: &str) -> Result<Vec<TreeEntry>, GitError> {
        let refused = |why: String| GitError::Refused { commit: commit.to_owned(), why };
        let mut entries = Vec::new();
        let mut over = None;
        let arguments = ["ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit];
        let listed = self.locally(&arguments, &[], &mut |out| {
            let mut out = BufReader::new(out.take(MAX_LIST));
            for (number, line) in (&mut out).split(0).enumerate() {
                if number == MAX_ENTRIES {
                    over = Some(format!("it has more than {MAX_ENTRIES} files and folders"));
                    return Ok(());
                }
                entries.extend(TreeEntry::parse(&line?).filter(|entry| entry.mode != FOLDER));
            }
            if out.get_ref().limit() == 0 {
                over = Some(format!("its list of files is longer than {MAX_LIST} bytes"));
            }
            Ok(())
        });
        match (over, listed) {
            (Some(why), _) => Err(refused(why)),
            (None, Err(GitError::Broken(said))) if said.contains(TOO_DEEP) => {
                Err(refused("its folders are nested deeper than git allows".to_owned()))
            }
            (None, listed) => listed.map(|()| entries),
        }
    }

    /// How large these are; of what is not here nothing is said.
    pub(super) fn sizes(&self, blobs: &[&str]) -> Result<HashMap<String, u64>, GitError> {
        let mut sizes = HashMap::new();
        let input = lines(blobs);
        self.locally(&["cat-file", "--batch-check", "--buffer"], input.as_bytes(), &mut |out| {
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

    /// Fetches files by themselves, which a sparse copy leaves for later.
    pub(super) fn fetch_blobs(&self, blobs: &[&str]) -> Result<(), GitError> {
        if blobs.is_empty() {
            return Ok(());
        }
        let filter = format!("--filter=blob:limit={MAX_FILE_BYTES}");
        // Told of the commit that we have, the server would think that we have its files too.
        let mut arguments = vec!["-c", "fetch.negotiationAlgorithm=noop"];
        arguments.extend(FETCH);
        arguments.extend([filter.as_str(), "--stdin", "--end-of-options", "origin"]);
        self.remotely(&arguments, lines(blobs).as_bytes(), &mut to_the_end)
    }

    /// Reads these, one after the other, in this order: which, and its bytes.
    pub(super) fn contents(
        &self,
        blobs: &[&str],
        each: &mut dyn FnMut(usize, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), GitError> {
        let input = lines(blobs);
        let mut whole = 0;
        let mut torn = None;
        self.locally(&["cat-file", "--batch", "--buffer"], input.as_bytes(), &mut |out| {
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

    fn remotely(&self, arguments: &[&str], input: &[u8], take: Take<'_>) -> Result<(), GitError> {
        let held = self.lock.shared().map_err(|error| self.place.disk(error))?;
        let call = Call {
            repository: &self.folder,
            arguments,
            input,
            holding: Some(&held),
            remote: Some(self.remote),
            deadline: self.timeout,
            progress: self.progress,
        };
        self.configure(true).map_err(|error| self.place.disk(error))?;
        let result = self.git.run(&call, take);
        self.configure(false).map_err(|error| self.place.disk(error))?;
        result
    }

    fn locally(&self, arguments: &[&str], input: &[u8], take: Take<'_>) -> Result<(), GitError> {
        let call = Call {
            repository: &self.folder,
            arguments,
            input,
            holding: None,
            remote: None,
            deadline: LOCAL,
            progress: None,
        };
        self.git.run(&call, take)
    }
}

/// What every fetch is told.
const FETCH: [&str; 7] = [
    "fetch",
    "--no-tags",
    "--no-auto-gc",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--force",
    "--upload-pack=git-upload-pack",
];

/// Waits for a command that says nothing of interest.
fn to_the_end(out: &mut dyn Read) -> io::Result<()> {
    io::copy(out, &mut io::sink()).map(drop)
}

fn lines(blobs: &[&str]) -> String {
    blobs.iter().flat_map(|blob| [*blob, "\n"]).collect()
}
