//! From git's error messages, which are English text, to a [`GitError`].

use std::io;

use skills_core::diagnostic::escaped;

use super::{
    error::{Credentials, GitError},
    url::Remote,
};

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
    if any(&["host key verification failed"]) {
        return GitError::HostKey { host };
    }
    if any(&["permission denied ("]) {
        return GitError::Unauthorized { host, credentials: Credentials::SshKey };
    }
    if any(UNAUTHORIZED) {
        let credentials = match (with_token, remote.takes_token()) {
            (true, _) => Credentials::Token,
            (false, true) => Credentials::Helper,
            (false, false) => Credentials::Withheld,
        };
        return GitError::Unauthorized { host, credentials };
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
        |line: &str| ["fatal:", "error:", "remote:"].iter().any(|start| line.starts_with(start));
    let mut from_last = stderr.lines().rev().skip_while(|line| !is_error(line));
    let last = from_last.next();
    let of_ssh = last.filter(|line| *line == SSH_FAILED).and_then(|_| {
        let mut before = from_last.filter(|line| !line.trim().is_empty());
        before.next()
    });
    let last = of_ssh.or(last).or_else(|| stderr.lines().next_back());
    escaped(last.unwrap_or("nothing")).chars().take(300).collect()
}

/// What git says when ssh has failed; the line before is ssh's own.
const SSH_FAILED: &str = "fatal: Could not read from remote repository.";

/// In the line of git that names the size of the object; git's last line does not.
const OVER_MEMORY_LIMIT: &str = "over limit";
const UNAUTHORIZED: &[&str] = &[
    "authentication failed",
    "could not read username",
    "could not read password",
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

    #[test]
    fn the_reason_of_ssh_is_shown_with_a_way_out_for_ssh() {
        let remote = Remote::parse("git@h.example:x/y").unwrap();
        for (of_ssh, expected, way_out) in [
            (
                "ssh: connect to host h.example port 22: Connection refused",
                "h.example cannot be reached: ssh: connect to host h.example port 22: Connection refused",
                "tries again",
            ),
            (
                "Bad owner or permissions on /home/x/.ssh/config",
                "git says: Bad owner or permissions on /home/x/.ssh/config",
                "--log debug",
            ),
            (
                "git@h.example: Permission denied (publickey).",
                "h.example refuses your SSH key, or there is none",
                "`git ls-remote URL`",
            ),
            (
                "Host key verification failed.",
                "ssh does not accept the host key of h.example",
                "`git ls-remote URL`",
            ),
        ] {
            let stderr = format!(
                "{of_ssh}\r\n{SSH_FAILED}\n\nPlease make sure you have the correct access rights\nand the repository exists.\n"
            );
            let error = classify(&stderr, Some(&remote), false);
            assert_eq!(error.to_string(), expected);
            assert!(error.hint().contains(way_out), "{}", error.hint());
            assert!(!error.hint().contains("GITHUB_TOKEN"), "{}", error.hint());
        }
        assert_eq!(last_message(&format!("{SSH_FAILED}\n")), SSH_FAILED);
    }

    #[test]
    fn settings_that_are_not_used_are_named_where_they_may_be_why() {
        let remote = Remote::parse("https://h.example/x").unwrap();
        let unused = || vec!["`credential.helper` in file:/x is not used".to_owned()];
        let others = Remote::parse("https://git.example/x").unwrap().of_others();
        let withheld = classify("fatal: Authentication failed for 'x'", Some(&others), false);
        assert!(withheld.to_string().contains("GITHUB_TOKEN is withheld"), "{withheld}");
        assert!(withheld.hint().contains("`skills-mcp add URL`"), "{}", withheld.hint());
        let refused = classify("fatal: Authentication failed for 'x'", Some(&remote), false);
        let message = refused.to_string();
        let refused = refused.without(unused());
        assert_eq!(refused.to_string(), message);
        for hint in [refused.hint(), refused.hint_before_adding()] {
            assert!(hint.contains("`credential.helper` in file:/x is not used"), "{hint}");
        }
        let broken = GitError::Other("odd".to_owned()).without(unused());
        assert!(matches!(broken, GitError::Other(_)));
    }
}
