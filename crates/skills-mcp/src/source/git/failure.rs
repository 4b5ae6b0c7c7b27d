//! From git's error messages, which are English text, to a [`GitError`].

use std::io;

use skills_core::diagnostic::escaped;

use super::{error::GitError, url::Remote};

/// The error that git's messages mean. The last line says most.
pub(super) fn classify(stderr: &str, remote: Option<&Remote>, with_token: bool) -> GitError {
    let lower = stderr.to_ascii_lowercase();
    let line = last_message(stderr);
    let any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let Some(remote) = remote else { return GitError::Broken(line) };
    let host = remote.host().to_owned();
    if any(&["no space left", "disk quota exceeded", "read-only file system"]) {
        return GitError::Disk { path: "git".into(), error: io::Error::other(line) };
    }
    if let Some(line) = stderr.lines().find(|line| line.contains(OVER_MEMORY_LIMIT)) {
        return GitError::TooMuchMemory { host, message: escaped(line) };
    }
    if any(UNAUTHORIZED) {
        return GitError::Unauthorized { host, with_token };
    }
    if any(&[
        "does not appear to be a git repository",
        "' not found",
        "repository not found",
        "error: 404",
    ]) {
        return GitError::NoRepository { host };
    }
    if any(UNREACHABLE) {
        return GitError::Unreachable { host, message: line };
    }
    GitError::Other(line)
}

/// The line that says why git failed.
pub(super) fn last_message(stderr: &str) -> String {
    let is_error =
        |line: &&str| ["fatal:", "error:", "remote:"].iter().any(|start| line.starts_with(start));
    let last = stderr.lines().rev().find(is_error).or_else(|| stderr.lines().next_back());
    escaped(last.unwrap_or("nothing")).chars().take(300).collect()
}

/// In the line of git that names the size of the object; git's last line does not.
const OVER_MEMORY_LIMIT: &str = "over limit";
const UNAUTHORIZED: &[&str] = &[
    "authentication failed",
    "could not read username",
    "could not read password",
    "permission denied (",
    "error: 403",
    "error: 401",
    "terminal prompts disabled",
];
const UNREACHABLE: &[&str] = &[
    "could not resolve",
    "failed to connect",
    "couldn't connect",
    "connection refused",
    "connection reset",
    "connection timed out",
    "network is unreachable",
    "no route to host",
    "operation too slow",
    "unexpected disconnect",
    "hung up unexpectedly",
    "returned error: 5",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_git_are_classified() {
        let remote = Remote::parse("https://h.example/x").unwrap();
        let kind = |stderr: &str| {
            format!("{:?}", classify(stderr, Some(&remote), true))
                .split([' ', '('])
                .next()
                .unwrap()
                .to_owned()
        };
        for (stderr, expected) in [
            ("fatal: Authentication failed for 'https://h.example/x/'\n", "Unauthorized"),
            (
                "fatal: attempting to allocate 3221225281 over limit 268435456\nfatal: index-pack failed\n",
                "TooMuchMemory",
            ),
            (
                "fatal: could not read Username for 'https://h.example': terminal prompts disabled\n",
                "Unauthorized",
            ),
            (
                "git@h.example: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
                "Unauthorized",
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://h.example/x/' not found\n",
                "NoRepository",
            ),
            (
                "fatal: unable to access 'https://h.example/x/': Could not resolve host: h.example\n",
                "Unreachable",
            ),
            (
                "fatal: unable to access 'https://h.example/x/': The requested URL returned error: 503\n",
                "Unreachable",
            ),
            ("error: index-pack died\nfatal: fetch-pack: invalid index-pack output\n", "Other"),
        ] {
            assert_eq!(kind(stderr), expected, "{stderr}");
        }
        assert!(matches!(classify("fatal: bad object", None, false), GitError::Broken(_)));
    }
}
