//! Why a sync failed, and what to do. What git itself prints is one line in English.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::token;

/// A sync that brought no new generation. The generation before is still served.
#[derive(Debug, Error)]
pub enum GitError {
    /// There is no such program.
    #[error("there is no `{name}` program on the PATH{}", except_for(passed_over))]
    NoProgram {
        /// Its name.
        name: &'static str,
        /// Programs of this name that a script could have written.
        passed_over: Vec<PathBuf>,
    },
    /// The program lacks settings that make it safe.
    #[error("the `git` program is version {}.{}, older than {}.{}", version.0, version.1, oldest.0, oldest.1)]
    OldProgram {
        /// Its version.
        version: (u32, u32),
        /// The oldest that is accepted.
        oldest: (u32, u32),
    },
    /// The system does not start it.
    #[error("`git` cannot be started: {0}")]
    Start(io::Error),
    /// The remote took too long.
    #[error("{host} did not finish answering within {seconds} s")]
    Slow {
        /// The remote's host.
        host: String,
        /// The timeout.
        seconds: u64,
    },
    /// The remote sends too much.
    #[error("{host} sends more than {bytes} bytes")]
    Large {
        /// The remote's host.
        host: String,
        /// The limit.
        bytes: u64,
    },
    /// This process ends.
    #[error("it was stopped before it was done")]
    Stopped,
    /// Another process of this user is syncing it.
    #[error("another process is syncing it at this moment")]
    Busy,
    /// Another process has just failed.
    #[error("{message}")]
    Earlier {
        /// Its error.
        message: String,
        /// What to do.
        hint: String,
    },
    /// HTTP 401 or 403, or no SSH key.
    #[error("{host} refuses {}", if *with_token { "the token in GITHUB_TOKEN: it has expired, or may not read this repository" } else { "us without credentials, or with the ones that git has" })]
    Unauthorized {
        /// The remote's host.
        host: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// HTTP 404, or no such folder.
    #[error("{host} has no such repository, or does not show it to us")]
    NoRepository {
        /// The remote's host.
        host: String,
    },
    /// The branch does not exist.
    #[error("there is no branch `{branch}`; {}", there_are(others))]
    NoBranch {
        /// The branch.
        branch: String,
        /// Some branches that exist.
        others: Vec<String>,
    },
    /// The pinned commit does not exist.
    #[error("the repository has no commit {0}, or does not give it")]
    NoCommit(String),
    /// No connection to the host.
    #[error("{host} cannot be reached: {message}")]
    Unreachable {
        /// The remote's host.
        host: String,
        /// What git printed.
        message: String,
    },
    /// The commit is not served.
    #[error("the commit {commit} is not served: {why}")]
    Refused {
        /// The commit.
        commit: String,
        /// The reason.
        why: String,
    },
    /// All repositories together would take more of the disk than `git.max_total_bytes`.
    #[error(
        "the commit {commit} is not served: it takes {bytes} on disk, the repositories in {} take {stored} already, and git.max_total_bytes allows {limit}",
        folder.display()
    )]
    OverQuota {
        /// The commit.
        commit: String,
        /// What it would take.
        bytes: String,
        /// What all generations take now.
        stored: String,
        /// What they may take.
        limit: String,
        /// The folder of all repositories.
        folder: PathBuf,
    },
    /// Another user could change the folder it is stored in.
    #[error("{}: {why}", path.display())]
    Storage {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The disk is full or not writable.
    #[error("{}: {error}", path.display())]
    Disk {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Git failed on the local copy.
    #[error("git cannot use its copy: {0}")]
    Broken(String),
    /// Any other error of git about the remote.
    #[error("git says: {0}")]
    Other(String),
}

fn there_are(others: &[String]) -> String {
    if others.is_empty() {
        return "there is none at all, so the repository is empty".to_owned();
    }
    format!("there are {}", others.join(", "))
}

fn except_for(passed_over: &[PathBuf]) -> String {
    let Some(path) = passed_over.first() else { return String::new() };
    format!(" but for {}, which scripts could have put there", path.display())
}

impl GitError {
    /// What to do.
    pub(crate) fn hint(&self) -> String {
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
                token::TOKEN_VARIABLE,
                token::TOKEN_VARIABLE
            ),
            Self::Unauthorized { with_token: false, .. } | Self::NoRepository { .. } => format!(
                "check the URL; for a private repository put a token that may read it into {} where the client starts skills-mcp, or log in so that `git ls-remote URL` works in a terminal, then run `skills-mcp sync`",
                token::TOKEN_VARIABLE
            ),
            Self::NoBranch { .. } => {
                "name one of them: SKILLS_BRANCH, git.branch or URL#branch".to_owned()
            }
            Self::NoCommit(_) => "pin a commit that was pushed, by all of its digits".to_owned(),
            Self::Slow { .. } | Self::Unreachable { .. } => {
                "it is tried again by itself; `skills-mcp sync` tries now".to_owned()
            }
            Self::OverQuota { folder, .. } => format!(
                "set git.max_total_bytes to more in your own configuration, or remove the folders of repositories that are not used any more from {}; what was fetched before is still served",
                folder.display()
            ),
            Self::Refused { .. } => "fix it in the repository; the next sync takes it".to_owned(),
            Self::Storage { .. } => {
                "fix or remove it; it holds nothing that cannot be fetched again".to_owned()
            }
            Self::Disk { .. } => {
                "make room, or fix its permissions; then run `skills-mcp sync`".to_owned()
            }
            Self::Earlier { hint, .. } => hint.clone(),
            Self::Busy | Self::Stopped => "try again in a moment".to_owned(),
            Self::Start(_) | Self::Broken(_) | Self::Other(_) => {
                "run `skills-mcp sync --log debug` to see more".to_owned()
            }
        }
    }

    /// Whether a fresh copy of the repository might help.
    pub(super) fn is_broken_copy(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Other(_))
    }
}
