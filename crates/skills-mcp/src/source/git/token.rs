//! [`Token`]: `GITHUB_TOKEN`, given to git for one host and for one command.
//!
//! Git asks a credential helper of ours, which it is given through its environment and which answers for this scheme and
//! host alone. So the token is in no URL, no argument and no file; and where the server sends git on to another host,
//! git asks again, and nobody answers. No other helper is asked meanwhile: one might keep what we gave.

use std::fmt;

use super::url::Remote;
use crate::config::secret;

/// The variable that the token is read from.
pub(super) const VARIABLE: &str = "GITHUB_TOKEN";
/// The variable that git's helper finds it in.
const PASSED: &str = "SKILLS_MCP_GIT_PASSWORD";
/// Answers `get`, and keeps nothing when it is told to.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' \"$SKILLS_MCP_GIT_PASSWORD\"; }; f";

/// A secret that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token of the environment, for an address that takes one. What cannot be a token is none.
    pub(super) fn for_remote(remote: &Remote) -> Option<Self> {
        remote.web_origin()?;
        secret(VARIABLE).and_then(Self::new)
    }

    /// A line break would be a second answer to git's question.
    fn new(text: String) -> Option<Self> {
        text.chars().all(|c| c.is_ascii_graphic()).then_some(Self(text))
    }

    /// The settings that make git ask for it.
    pub(super) fn settings(remote: &Remote) -> Vec<(String, String)> {
        let Some(origin) = remote.web_origin() else { return Vec::new() };
        // The empty one takes back all that were named before.
        vec![
            ("credential.helper".to_owned(), String::new()),
            (format!("credential.{origin}.helper"), HELPER.to_owned()),
        ]
    }

    /// The variable that carries it.
    pub(super) fn variable(&self) -> (&'static str, &str) {
        (PASSED, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown_and_is_one_word() {
        let token = Token::new("canary-token".to_owned()).unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert!(Token::new("a\nurl=https://evil.example".to_owned()).is_none());
        let remote = Remote::parse("https://h.example:8443/x").unwrap();
        let settings = format!("{:?}", Token::settings(&remote));
        assert!(settings.contains("credential.https://h.example:8443.helper"));
        assert!(!settings.contains("canary"));
    }
}
