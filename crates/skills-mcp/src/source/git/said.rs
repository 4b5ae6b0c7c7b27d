//! What git says when it fails, understood: from its English words, since it has no other.

use std::io;

use skills_core::diagnostic::escaped;

use super::{error::GitError, url::Remote};

/// What a failure means, from what git says in English. The line it ends with says most.
pub(super) fn judged(said: &str, remote: Option<&Remote>, with_token: bool) -> GitError {
    let lower = said.to_ascii_lowercase();
    let telling =
        |line: &&str| ["fatal:", "error:", "remote:"].iter().any(|start| line.starts_with(start));
    let last = said.lines().rev().find(telling).or_else(|| said.lines().next_back());
    let line: String = escaped(last.unwrap_or("nothing")).chars().take(300).collect();
    let any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let Some(remote) = remote else { return GitError::Broken(line) };
    let host = remote.host().to_owned();
    if any(&["no space left", "disk quota exceeded", "read-only file system"]) {
        return GitError::Disk { path: "git".into(), error: io::Error::other(line) };
    }
    if any(&UNAUTHORIZED) {
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
    if any(&UNREACHABLE) {
        return GitError::Unreachable { host, said: line };
    }
    GitError::Said(line)
}

const UNAUTHORIZED: [&str; 7] = [
    "authentication failed",
    "could not read username",
    "could not read password",
    "permission denied (",
    "error: 403",
    "error: 401",
    "terminal prompts disabled",
];
const UNREACHABLE: [&str; 12] = [
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
    fn what_git_says_is_understood() {
        let remote = Remote::parse("https://h.example/x").unwrap();
        let kind = |said: &str| {
            format!("{:?}", judged(said, Some(&remote), true))
                .split([' ', '('])
                .next()
                .unwrap()
                .to_owned()
        };
        for (said, expected) in [
            ("fatal: Authentication failed for 'https://h.example/x/'\n", "Unauthorized"),
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
            ("error: index-pack died\nfatal: fetch-pack: invalid index-pack output\n", "Said"),
        ] {
            assert_eq!(kind(said), expected, "{said}");
        }
        assert!(matches!(judged("fatal: bad object", None, false), GitError::Broken(_)));
    }
}
