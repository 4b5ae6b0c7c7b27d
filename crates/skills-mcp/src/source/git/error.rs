//! Why a sync failed, and what to do. What git itself prints is one line in English.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::{token, url::THIS_MACHINE};

/// A sync that brought no new generation. The generation before is still served.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say what the variants and fields are")]
pub enum GitError {
    #[error("there is no `{name}` program on the PATH{}", except_for(passed_over))]
    NoProgram {
        name: &'static str,
        /// Programs of this name that a script could have written.
        passed_over: Vec<PathBuf>,
    },
    /// The program lacks settings that make it safe.
    #[error("the `git` program is version {}.{}, older than {}.{}", version.0, version.1, oldest.0, oldest.1)]
    OldProgram { version: (u32, u32), oldest: (u32, u32) },
    #[error("`git` cannot be started: {0}")]
    Start(io::Error),
    #[error("{host} did not finish answering within {seconds} s")]
    Slow { host: String, seconds: u64 },
    #[error("{host} sends more than {bytes} bytes")]
    Large { host: String, bytes: u64 },
    /// An object that takes more memory than git may use.
    #[error("{host} sends an object that takes too much memory: {message}")]
    TooMuchMemory { host: String, message: String },
    /// This process ends.
    #[error("it was stopped before it was done")]
    Stopped,
    #[error("another process is syncing it at this moment")]
    Busy,
    /// Another process has just failed.
    #[error("{message}")]
    Earlier { message: String, hint: String },
    /// HTTP 401 or 403, or an SSH key that the host does not know.
    #[error("{host} refuses {}", credentials.described())]
    Unauthorized { host: String, credentials: Credentials },
    /// An unknown host, or one whose key has changed.
    #[error("ssh does not accept the host key of {host}")]
    HostKey { host: String },
    /// The error comes without settings that the user has, and they may be what is missing.
    #[error("{error}")]
    WithoutSettings { error: Box<GitError>, unused: Vec<String> },
    /// HTTP 404, or no such folder.
    #[error("{host} has no such repository, or does not show it to us")]
    NoRepository { host: String },
    #[error("there is no branch `{branch}`; {}", there_are(others))]
    NoBranch { branch: String, others: Vec<String> },
    #[error("the repository has no commit {0}, or does not give it")]
    NoCommit(String),
    #[error("{host} cannot be reached: {message}")]
    Unreachable { host: String, message: String },
    #[error("the commit {commit} is not served: {why}")]
    Refused { commit: String, why: String },
    #[error(
        "the commit {commit} is not served: it takes {bytes} on disk, the repositories in {} take {stored} already, and git.max_total_bytes allows {limit}",
        folder.display()
    )]
    OverQuota { commit: String, bytes: String, stored: String, limit: String, folder: PathBuf },
    /// Another user could change the folder it is stored in.
    #[error("{}: {why}", path.display())]
    Storage { path: PathBuf, why: String },
    #[error("{}: {error}", path.display())]
    Disk { path: PathBuf, error: io::Error },
    /// Git failed on the local copy.
    #[error("git cannot use its copy: {0}")]
    Broken(String),
    /// Any other error of git about the remote.
    #[error("git says: {0}")]
    Other(String),
}

/// How a host that a project's file names gets the user's token.
const MAKE_YOURS: &str = "to send it the token, name the repository yourself: `skills-mcp add URL`; or log in so that `git ls-remote URL` works in a terminal";

/// What git had to offer when a host refused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// The token in `GITHUB_TOKEN`.
    Token,
    /// Those of a credential helper, or none: a token does not go to a host that only a project's file names.
    Withheld,
    /// Those of a credential helper, or none.
    Helper,
    /// A key of ssh, or none.
    SshKey,
}

impl Credentials {
    fn described(self) -> &'static str {
        match self {
            Self::Token => {
                "the token in GITHUB_TOKEN: it has expired, or may not read this repository"
            }
            Self::Withheld => {
                "us without credentials: GITHUB_TOKEN is withheld, because only the project's file names this host"
            }
            Self::Helper => "us without credentials, or with the ones that git has",
            Self::SshKey => "your SSH key, or there is none",
        }
    }
}

/// What the user can do about settings that are not used.
fn use_settings(unused: &[String], then: &str) -> String {
    let named: Vec<&str> = unused.iter().take(MAX_NAMED_SETTINGS).map(String::as_str).collect();
    format!(
        "this may be why: {}. Move what is named there out of the folders that scripts may write (the start directory, scripts.roots and folders in which a script has run), or, for https, put a token into {}; then {then}",
        named.join("; "),
        token::TOKEN_VARIABLE
    )
}

/// What to do about an SSH key that a host refuses.
const ADD_SSH_KEY: &str = "see that `git ls-remote URL` works in a terminal without a question, with a key in an agent or one without a passphrase";
/// What to do about a host key that ssh does not accept.
const ACCEPT_HOST_KEY: &str =
    "run `git ls-remote URL` in a terminal, where ssh shows the key and asks whether you trust it";
/// How many settings that are not used a hint names.
const MAX_NAMED_SETTINGS: usize = 2;

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
    /// The same with the user's settings that were not used, where they could have led to the remote.
    pub(super) fn without(self, unused: Vec<String>) -> Self {
        let may_be_why = matches!(
            self,
            Self::Unauthorized { .. } | Self::NoRepository { .. } | Self::Unreachable { .. }
        );
        if unused.is_empty() || !may_be_why {
            return self;
        }
        Self::WithoutSettings { error: Box::new(self), unused }
    }

    /// What to do.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::OldProgram { .. } => "install a newer git".to_owned(),
            Self::TooMuchMemory { .. } => {
                "remove it from the repository, or keep skills in a repository of their own"
                    .to_owned()
            }
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
            Self::Unauthorized { credentials: Credentials::Token, .. } => format!(
                "make a new token that may read the repository, put it into {} where the client starts skills-mcp (with the GitHub CLI: export {}=$(gh auth token)), then run `skills-mcp sync`",
                token::TOKEN_VARIABLE,
                token::TOKEN_VARIABLE
            ),
            Self::Unauthorized { credentials: Credentials::Withheld, .. } => {
                format!("{MAKE_YOURS}, then run `skills-mcp sync`")
            }
            Self::NoRepository { host } if host == THIS_MACHINE => {
                "check the path; then run `skills-mcp sync`".to_owned()
            }
            Self::WithoutSettings { unused, .. } => use_settings(unused, "run `skills-mcp sync`"),
            Self::Unauthorized { credentials: Credentials::SshKey, .. } => {
                format!("{ADD_SSH_KEY}; then run `skills-mcp sync`")
            }
            Self::HostKey { .. } => format!("{ACCEPT_HOST_KEY}; then run `skills-mcp sync`"),
            Self::Unauthorized { .. } | Self::NoRepository { .. } => format!(
                "check the URL; for a private repository put a token that may read it into {} where the client starts skills-mcp, or log in so that `git ls-remote URL` works in a terminal, then run `skills-mcp sync`",
                token::TOKEN_VARIABLE
            ),
            Self::NoBranch { .. } => {
                "name one of them: SKILLS_BRANCH, git.branch or URL#branch".to_owned()
            }
            Self::NoCommit(_) => "pin a commit that was pushed, by all of its digits".to_owned(),
            Self::Slow { .. } | Self::Unreachable { .. } => {
                "a server tries again by itself; `skills-mcp sync` tries now".to_owned()
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

    /// What to do where the repository is not a source yet: a sync would not know of it.
    pub(crate) fn hint_before_adding(&self) -> String {
        let variable = token::TOKEN_VARIABLE;
        match self {
            Self::Unauthorized { credentials: Credentials::Token, .. } => format!(
                "make a new token that may read the repository, put it into {variable} (with the GitHub CLI: export {variable}=$(gh auth token)), then run the command again"
            ),
            Self::NoRepository { host } if host == THIS_MACHINE => {
                "check the path, then run the command again".to_owned()
            }
            Self::WithoutSettings { unused, .. } => use_settings(unused, "run the command again"),
            Self::Unauthorized { credentials: Credentials::SshKey, .. } => {
                format!("{ADD_SSH_KEY}; then run the command again")
            }
            Self::HostKey { .. } => format!("{ACCEPT_HOST_KEY}; then run the command again"),
            Self::Unauthorized { .. } | Self::NoRepository { .. } => format!(
                "check the URL; for a private repository put a token that may read it into {variable}, or log in so that `git ls-remote URL` works in a terminal; then run the command again"
            ),
            Self::NoBranch { .. } => "name one of them with --branch".to_owned(),
            Self::Slow { .. }
            | Self::Unreachable { .. }
            | Self::Earlier { .. }
            | Self::Busy
            | Self::Stopped => "run the command again".to_owned(),
            Self::Disk { .. } => {
                "make room, or fix its permissions; then run the command again".to_owned()
            }
            Self::Start(_) | Self::Broken(_) | Self::Other(_) => {
                "run the command again with --log debug to see more".to_owned()
            }
            Self::OldProgram { .. }
            | Self::Large { .. }
            | Self::TooMuchMemory { .. }
            | Self::NoProgram { .. }
            | Self::NoCommit(_)
            | Self::OverQuota { .. }
            | Self::Refused { .. }
            | Self::Storage { .. } => self.hint(),
        }
    }

    /// Whether a fresh copy of the repository might help.
    pub(super) fn is_broken_copy(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Other(_))
    }
}
