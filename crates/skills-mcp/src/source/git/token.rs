//! [`GithubToken`]: `GITHUB_TOKEN`, passed to git for one host and for one command.
//!
//! Git asks a credential helper, which it gets through its environment and which answers for this scheme and host alone. So the
//! token is in no URL, no argument and no file; and where the remote redirects git to another host, git asks again and gets no
//! answer. No other helper is asked, because it might store the token.

use std::fmt;

use super::url::Remote;
use crate::config::secret;

/// The variable that holds the token.
pub(super) const TOKEN_VARIABLE: &str = "GITHUB_TOKEN";
/// The variable in which the helper gets it.
const PASSWORD_VARIABLE: &str = "SKILLS_MCP_GIT_PASSWORD";
/// Answers `get`, and ignores `store` and `erase`.
const CREDENTIAL_HELPER: &str = "!f() { test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' \"$SKILLS_MCP_GIT_PASSWORD\"; }; f";

/// A secret that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct GithubToken(String);

impl fmt::Debug for GithubToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GithubToken(…)")
    }
}

impl GithubToken {
    /// The token of the environment, for an address that takes one.
    pub(super) fn for_remote(remote: &Remote) -> Option<Self> {
        remote.web_origin().filter(|_| remote.takes_token())?;
        secret(TOKEN_VARIABLE).and_then(Self::new)
    }

    /// A line break would add a second field to the helper's answer. `$GITHUB_TOKEN` is a reference of an entry that the client
    /// did not replace, because its own environment has no such variable.
    fn new(text: String) -> Option<Self> {
        let is_token = text.chars().all(|c| c.is_ascii_graphic()) && !text.starts_with('$');
        is_token.then_some(Self(text))
    }

    /// The settings that make git ask for it.
    pub(super) fn settings(remote: &Remote) -> Vec<(String, String)> {
        let Some(origin) = remote.web_origin() else { return Vec::new() };
        // The empty value removes all helpers before it.
        vec![
            ("credential.helper".to_owned(), String::new()),
            (format!("credential.{origin}.helper"), CREDENTIAL_HELPER.to_owned()),
        ]
    }

    /// The variable that carries it.
    pub(super) fn variable(&self) -> (&'static str, &str) {
        (PASSWORD_VARIABLE, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown_and_is_one_word() {
        let token = GithubToken::new("canary-token".to_owned()).unwrap();
        assert_eq!(format!("{token:?}"), "GithubToken(…)");
        assert!(GithubToken::new("a\nurl=https://evil.example".to_owned()).is_none());
        assert!(GithubToken::new("$GITHUB_TOKEN".to_owned()).is_none());
        let remote = Remote::parse("https://h.example:8443/x").unwrap();
        let settings = format!("{:?}", GithubToken::settings(&remote));
        assert!(settings.contains("credential.https://h.example:8443.helper"));
        assert!(!settings.contains("canary"));
    }

    // SOURCE-12
    #[test]
    fn a_file_that_others_write_sends_the_token_to_github_alone() {
        let of_others = |url: &str| Remote::parse(url).unwrap().of_others();
        assert!(!of_others("https://github.com.evil.example/x").takes_token());
        assert!(!of_others("https://h.example/github.com").takes_token());
        assert!(of_others("https://github.com/team/x").takes_token());
        assert!(Remote::parse("https://h.example/x").unwrap().takes_token());
    }
}
