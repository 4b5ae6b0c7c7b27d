//! [`NamedTokens`]: bearer tokens that the operator gave out, each with a name and with what it is limited to.
//!
//! Tokens are kept as digests and compared in constant time. Not here: where the tokens are written, and what a limit means.

use std::{fmt, sync::Arc};

use axum::http::{HeaderMap, header::AUTHORIZATION};

use crate::guard::{MIN_TOKEN_CHARS, TokenDigest, digest, is_same, single};

/// More tokens than this are a mistake, and each is compared with every request's.
const MAX_NAMED_TOKENS: usize = 1_000;

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The name: of a token, or of a person at an issuer.
    pub name: Arc<str>,
    /// What it is limited to, in the operator's or the issuer's words; none is not limited.
    pub limited_to: Option<Arc<[String]>>,
    /// Which of the operator's tokens it sent; none for one of an issuer, which come and go.
    pub token: Option<TokenMark>,
}

/// Tells one token from another, and is never shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenMark(TokenDigest);

impl fmt::Debug for TokenMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenMark")
    }
}

/// The tokens that are let in.
#[derive(Default)]
pub struct NamedTokens(Vec<(TokenDigest, Principal)>);

/// Why a list of tokens cannot be read. No message has a token in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TokenLineError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl NamedTokens {
    /// Reads lines of `NAME = TOKEN [LIMIT …]`. A semicolon ends a line too; `#` at the start of one begins a comment.
    pub fn parse(text: &str) -> Result<Self, TokenLineError> {
        let mut tokens: Vec<(TokenDigest, Principal)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for entry in line.split(';').map(str::trim) {
                if entry.is_empty() || entry.starts_with('#') {
                    continue;
                }
                let wrong = |problem: String| TokenLineError { line: number + 1, problem };
                let (digest, principal) = token(entry).map_err(wrong)?;
                if tokens.iter().any(|(_, other)| other.name == principal.name) {
                    let problem = format!("the name `{}` is there twice", principal.name);
                    return Err(wrong(problem));
                }
                if tokens.iter().any(|(other, _)| *other == digest) {
                    let problem = format!("the token of `{}` is another one's too", principal.name);
                    return Err(wrong(problem));
                }
                tokens.push((digest, principal));
                if tokens.len() > MAX_NAMED_TOKENS {
                    return Err(wrong(format!("there are more than {MAX_NAMED_TOKENS} tokens")));
                }
            }
        }
        Ok(Self(tokens))
    }

    /// Adds other tokens behind these.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether one of them is the one that this principal sent, with the same limits.
    pub fn has(&self, principal: &Principal) -> bool {
        self.0.iter().any(|(_, known)| known == principal)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whose token this is. All are compared, so that the time it takes reveals nothing of the tokens.
    pub fn find(&self, token: &str) -> Option<&Principal> {
        let given = digest(token);
        let mut found = None;
        for (known, principal) in &self.0 {
            if is_same(known, &given) {
                found = Some(principal);
            }
        }
        found
    }
}

impl fmt::Debug for NamedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedTokens({})", self.0.len())
    }
}

fn token(entry: &str) -> Result<(TokenDigest, Principal), String> {
    let (name, rest) = entry
        .split_once('=')
        .ok_or("it has no name; write NAME = TOKEN, and behind that what it is limited to")?;
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if name.is_empty() || !name.chars().all(plain) {
        return Err("its name must be letters, digits, `-`, `_`, `.` or `@`".to_owned());
    }
    let mut words = rest.split_whitespace();
    let token = words.next().unwrap_or_default();
    if token.chars().count() < MIN_TOKEN_CHARS {
        return Err(format!(
            "the token of `{name}` has fewer than {MIN_TOKEN_CHARS} characters; use the output of `openssl rand -hex 32`"
        ));
    }
    let limits: Vec<String> = words.map(|word| word.trim_matches(',').to_owned()).collect();
    let limited_to = (!limits.is_empty()).then(|| limits.into());
    let digest = digest(token);
    Ok((digest, Principal { name: name.into(), limited_to, token: Some(TokenMark(digest)) }))
}

/// The token of a request: in its one `Authorization` header, and nowhere else.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single(headers, &AUTHORIZATION)?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_tokens_and_their_limits() {
        let text = "# who\nada = 0123456789abcdef  \n\nteam-ui = fedcba9876543210 ui/ brand,\n a.b@c = 0011223344556677;x=8899aabbccddeeff *";
        let tokens = NamedTokens::parse(text).unwrap();
        assert_eq!(tokens.len(), 4);
        let ada = tokens.find("0123456789abcdef").unwrap();
        assert_eq!((&*ada.name, &ada.limited_to), ("ada", &None));
        let team = tokens.find("fedcba9876543210").unwrap();
        assert_eq!(team.limited_to.as_deref(), Some(&["ui/".to_owned(), "brand".to_owned()][..]));
        for wrong in ["", "0123456789abcde", "0123456789abcdef ", "ada", "fedcba9876543210 ui/"] {
            assert_eq!(tokens.find(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{tokens:?}"), "NamedTokens(4)");
    }

    // HTTP-4
    #[test]
    fn a_token_that_was_replaced_under_its_name_is_there_no_more_and_is_never_shown() {
        let tokens = |token: &str| NamedTokens::parse(&format!("ada = {token} ui")).unwrap();
        let (before, after) = (tokens("0123456789abcdef"), tokens("fedcba9876543210"));
        let ada = before.find("0123456789abcdef").unwrap();
        assert!(before.has(ada) && tokens("0123456789abcdef").has(ada) && !after.has(ada));
        assert!(format!("{ada:?}").ends_with("token: Some(TokenMark) }"), "{ada:?}");
    }

    #[test]
    fn a_wrong_line_is_named_and_no_token_is_repeated() {
        for (text, line, problem) in [
            ("\nsecretsecretsecret", 2, "no name"),
            ("a=short", 1, "fewer than 16"),
            ("a b = 0123456789abcdef", 1, "its name"),
            ("= 0123456789abcdef", 1, "its name"),
            ("a = 0123456789abcdef\na = 0123456789abcdeg", 2, "twice"),
            ("a = 0123456789abcdef\nb = 0123456789abcdef", 2, "another one's"),
        ] {
            let error = NamedTokens::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            let said = error.to_string();
            assert!(said.contains(problem), "{text}: {said}");
            assert!(!said.contains("0123456789") && !said.contains("secretsecret"), "{said}");
        }
    }
}
