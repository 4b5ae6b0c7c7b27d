//! Why a repository could not be followed, in words that say what to do. What git itself says is English and one line.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::token;

/// A sync that did not come to a new generation. What was served before is still served.
#[derive(Debug, Error)]
pub enum GitError {
    /// Nothing to run.
    #[error("there is no `{name}` program on the PATH{}", but_for(passed_over))]
    NoProgram {
        /// Which is missing.
        name: &'static str,
        /// Those that are there, and that a script could have put there.
        passed_over: Vec<PathBuf>,
    },
    /// One that would not do as it is told.
    #[error("the `git` program is version {}.{}, older than {}.{}", version.0, version.1, oldest.0, oldest.1)]
    OldProgram {
        /// Which it is.
        version: (u32, u32),
        /// Which it must be at least.
        oldest: (u32, u32),
    },
    /// The system does not let us.
    #[error("`git` cannot be started: {0}")]
    Start(io::Error),
    /// It took too long.
    #[error("{host} did not finish answering within {seconds} s")]
    Slow {
        /// Who.
        host: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It sends too much.
    #[error("{host} sends more than {bytes} bytes")]
    Large {
        /// Who.
        host: String,
        /// How much is taken.
        bytes: u64,
    },
    /// The server leaves.
    #[error("it was stopped before it was done")]
    Stopped,
    /// Another process of this user is at it.
    #[error("another process is syncing it at this moment")]
    Busy,
    /// Another process has just tried.
    #[error("{message}")]
    Earlier {
        /// What it ran into.
        message: String,
        /// The way out.
        hint: String,
    },
    /// 401, 403, no key.
    #[error("{host} refuses {}", if *with_token { "the token in GITHUB_TOKEN: it has expired, or may not read this repository" } else { "us without credentials, or with the ones that git has" })]
    Unauthorized {
        /// Who.
        host: String,
        /// Whether a token was offered.
        with_token: bool,
    },
    /// 404, or no such folder.
    #[error("{host} has no such repository, or does not show it to us")]
    NoRepository {
        /// Who.
        host: String,
    },
    /// Nothing of that name; the ones there are.
    #[error("there is no branch `{branch}`; {}", there_are(others))]
    NoBranch {
        /// The branch.
        branch: String,
        /// Some of those that exist.
        others: Vec<String>,
    },
    /// A pinned commit that is not there.
    #[error("the repository has no commit {0}, or does not give it")]
    NoCommit(String),
    /// No name, no route, nobody there.
    #[error("{host} cannot be reached: {said}")]
    Unreachable {
        /// Who.
        host: String,
        /// What git says.
        said: String,
    },
    /// What came is not served.
    #[error("the commit {commit} is not served: {why}")]
    Refused {
        /// Which.
        commit: String,
        /// Why not.
        why: String,
    },
    /// All repositories together take as much of the disk as they may.
    #[error(
        "the commit {commit} is not served: it takes {bytes} on disk, the repositories in {} take {kept} already, and git.max_total_bytes allows {most}",
        folder.display()
    )]
    NoRoom {
        /// Which.
        commit: String,
        /// What it would take.
        bytes: String,
        /// What is taken.
        kept: String,
        /// What may be.
        most: String,
        /// Where.
        folder: PathBuf,
    },
    /// The place it is kept in is not ours alone.
    #[error("{}: {why}", path.display())]
    Place {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The disk is full, or closed.
    #[error("{}: {error}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Git failed on what is kept here.
    #[error("git cannot use its copy: {0}")]
    Broken(String),
    /// Anything else that git says about the remote.
    #[error("git says: {0}")]
    Said(String),
}

fn there_are(others: &[String]) -> String {
    if others.is_empty() {
        return "there is none at all, so the repository is empty".to_owned();
    }
    format!("there are {}", others.join(", "))
}

fn but_for(passed_over: &[PathBuf]) -> String {
    let Some(path) = passed_over.first() else { return String::new() };
    format!(" but for {}, which scripts could have put there", path.display())
}

impl GitError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            Self::OldProgram { .. } => "install a newer git".to_owned(),
            Self::Large { .. } => {
                "set git.sparse_checkout to true, or keep skills in a repository of their own"
                    .to_owned()
            }
            Self::NoProgram { name, passed_over } if !passed_over.is_empty() => format!(
                "install {name} outside the folders that scripts may write (the server's start directory and scripts.roots), or start skills-mcp elsewhere"
            ),
            Self::NoProgram { name, .. } => {
                format!("install {name}, or name a directory with SKILLS_DIR or --dir")
            }
            Self::Unauthorized { with_token: true, .. } => format!(
                "make a new token that may read the repository, put it into {} where the client starts skills-mcp (with the GitHub CLI: export {}=$(gh auth token)), then run `skills-mcp sync`",
                token::VARIABLE,
                token::VARIABLE
            ),
            Self::Unauthorized { with_token: false, .. } | Self::NoRepository { .. } => format!(
                "check the URL; for a private repository put a token that may read it into {} where the client starts skills-mcp, or log in so that `git ls-remote URL` works in a terminal, then run `skills-mcp sync`",
                token::VARIABLE
            ),
            Self::NoBranch { .. } => {
                "name one of them: SKILLS_BRANCH, git.branch or URL#branch".to_owned()
            }
            Self::NoCommit(_) => "pin a commit that was pushed, by all of its digits".to_owned(),
            Self::Slow { .. } | Self::Unreachable { .. } => {
                "it is tried again by itself; `skills-mcp sync` tries now".to_owned()
            }
            Self::NoRoom { folder, .. } => format!(
                "set git.max_total_bytes to more in your own configuration, or remove the folders of repositories that are not used any more from {}; what was fetched before is still served",
                folder.display()
            ),
            Self::Refused { .. } => "fix it in the repository; the next sync fetches it".to_owned(),
            Self::Place { .. } => {
                "fix or remove it; everything in it can be fetched again".to_owned()
            }
            Self::Disk { .. } => {
                "make room, or fix its permissions; then run `skills-mcp sync`".to_owned()
            }
            Self::Earlier { hint, .. } => hint.clone(),
            Self::Busy | Self::Stopped => "try again in a moment".to_owned(),
            Self::Start(_) | Self::Broken(_) | Self::Said(_) => {
                "run `skills-mcp sync --log debug` to see more".to_owned()
            }
        }
    }

    /// Whether another copy of the same repository might fare better.
    pub(super) fn is_broken_copy(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Said(_))
    }
}
