//! Lints of secrets: texts that have the shape of a token, a private key or a URL with a password.
//!
//! A password elsewhere has no shape: of `password: …` in real skills nearly all are examples. So it is not looked for.
//!
//! A short list of shapes that hardly anything else has. What an author wrote in the place of a secret (`ghp_xxxx…`,
//! `AKIAIOSFODNN7EXAMPLE`) has too few different characters or says so. A finding never repeats the secret.

use super::CheckedSkill;
use crate::{
    diagnostic::{Code, Finding, Position},
    relpath::RelPath,
};

/// The shape of one kind of token: a prefix and how many characters of a kind follow it at least.
struct TokenShape {
    what: &'static str,
    prefix: &'static str,
    min_chars: usize,
    /// No longer run of such characters is this token; zero for any length.
    max_chars: usize,
    /// Whether it has letters and digits only.
    is_plain: bool,
}

const SHAPES: &[TokenShape] = &[
    shape("an AWS access key", "AKIA", 16, 16),
    shape("an AWS access key", "ASIA", 16, 16),
    shape("a GitHub token", "ghp_", 36, 0),
    shape("a GitHub token", "gho_", 36, 0),
    shape("a GitHub token", "ghu_", 36, 0),
    shape("a GitHub token", "ghs_", 36, 0),
    shape("a GitHub token", "ghr_", 36, 0),
    shape("a GitHub token", "github_pat_", 50, 0),
    shape("a GitLab token", "glpat-", 20, 0),
    shape("an Anthropic key", "sk-ant-", 40, 0),
    shape("an OpenAI key", "sk-proj-", 40, 0),
    shape("an OpenAI key", "sk-svcacct-", 40, 0),
    // Of the older form; only its length tells it from other words.
    TokenShape { is_plain: true, ..shape("an OpenAI key", "sk-", 48, 48) },
    shape("a Google key", "AIza", 35, 35),
    shape("a Slack token", "xoxb-", 24, 0),
    shape("a Slack token", "xoxp-", 24, 0),
    shape("a Slack token", "xapp-", 24, 0),
    shape("a Stripe key", "sk_live_", 24, 0),
    shape("a Stripe key", "rk_live_", 24, 0),
    shape("an npm token", "npm_", 36, 36),
    shape("a PyPI token", "pypi-AgEIcHlwaS5vcmc", 50, 0),
    shape("a Hugging Face token", "hf_", 34, 34),
    shape("a SendGrid key", "SG.", 60, 0),
];

const fn shape(
    what: &'static str,
    prefix: &'static str,
    min_chars: usize,
    max_chars: usize,
) -> TokenShape {
    TokenShape { what, prefix, min_chars, max_chars, is_plain: false }
}

/// A real token has many different characters.
const MIN_DISTINCT_CHARS: usize = 10;
/// So many secrets of one file are reported one by one.
const MAX_SECRETS_PER_FILE: usize = 10;
/// A shorter password of a URL is a placeholder.
const MIN_PASSWORD_CHARS: usize = 6;
/// A key has several lines of data; fewer are an excerpt.
const MIN_KEY_LINES: usize = 3;

pub(super) fn lint(checked: &CheckedSkill<'_>) -> Vec<(RelPath, Finding)> {
    let mut found = Vec::new();
    let own = all(checked.text.whole());
    found.extend(own.into_iter().map(|finding| (checked.skill.file.clone(), finding)));
    for file in checked.files {
        let Some(path) = checked.skill.resource(&file.path) else { continue };
        found.extend(all(&file.text).into_iter().map(|finding| (path.clone(), finding)));
    }
    found
}

/// The likely secrets of a text, in their order; the last one that is reported says how many more there are.
fn all(text: &str) -> Vec<Finding> {
    let mut secrets: Vec<(usize, &str)> =
        private_keys(text).chain(tokens(text)).chain(url_passwords(text)).collect();
    secrets.sort_unstable();
    secrets.dedup_by_key(|(at, _)| *at);
    let more = secrets.len().saturating_sub(MAX_SECRETS_PER_FILE);
    let shown = secrets.iter().take(MAX_SECRETS_PER_FILE);
    let mut findings: Vec<Finding> = shown.map(|(at, what)| finding(text, *at, what)).collect();
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.message = format!("{}; {more} more in this file are not listed", last.message);
    }
    findings
}

fn finding(text: &str, at: usize, what: &str) -> Finding {
    let before = text.get(..at).unwrap_or_default();
    let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let column = u32::try_from(column).unwrap_or(u32::MAX);
    Finding::new(Code::SecretLikely, Position { line, column }, format!("looks like {what}"))
        .hint("take it out and revoke it: agents and everybody with this repository can read it; name an environment variable instead")
}

/// Where tokens begin, and what they are.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    SHAPES.iter().flat_map(move |shape| {
        let starts = text.match_indices(shape.prefix).map(|(at, _)| at);
        starts.filter(move |at| is_token(text, *at, shape)).map(|at| (at, shape.what))
    })
}

fn is_token(text: &str, at: usize, shape: &TokenShape) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let starts_word =
        text.get(..at).is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let rest = text.get(at + shape.prefix.len()..).unwrap_or_default();
    let run: &str =
        rest.split(|c: char| !is_part(c)).next().unwrap_or_default().trim_end_matches('.');
    let length = run.len();
    let fits = length >= shape.min_chars && (shape.max_chars == 0 || length <= shape.max_chars);
    let is_kind = !shape.is_plain || run.chars().all(|c| c.is_ascii_alphanumeric());
    starts_word && fits && is_kind && is_random(run)
}

/// Whether a run of characters was not typed by a person as a placeholder.
fn is_random(run: &str) -> bool {
    let lowered = run.to_ascii_lowercase();
    let distinct: std::collections::HashSet<char> = run.chars().collect();
    let says_so = [
        "example",
        "xxxx",
        "your",
        "abcdef",
        "123456",
        "placeholder",
        "redacted",
        "0000",
        "fake",
        "dummy",
    ];
    distinct.len() >= MIN_DISTINCT_CHARS
        && run.contains(|c: char| c.is_ascii_digit())
        && !says_so.iter().any(|word| lowered.contains(word))
}

/// Where URLs with a password begin, such as `postgres://ann:…@db.acme.org/orders`.
fn url_passwords(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let is_url = |at: &usize| {
        let rest = text.get(at + 3..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '<' | '>');
        let authority = rest.split(ends).next().unwrap_or_default();
        let Some((user_info, host)) = authority.rsplit_once('@') else { return false };
        let Some((user, password)) = user_info.split_once(':') else { return false };
        is_password(user, password) && is_remote(host)
    };
    let scheme = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        before.trim_end_matches(is_part).len()
    };
    let starts = text.match_indices("://").map(|(at, _)| at);
    starts.filter(is_url).map(move |at| (scheme(at), "a URL with a password"))
}

/// Whether this was not written in the place of a password.
fn is_password(user: &str, password: &str) -> bool {
    let lowered = password.to_ascii_lowercase();
    let says_so = ["pass", "pwd", "secret", "token", "example", "your", "xxx", "changeme", "key"];
    let is_variable = |c: char| matches!(c, '$' | '*' | '{' | '}' | '[' | ']' | '(' | ')' | '…');
    password.chars().count() >= MIN_PASSWORD_CHARS
        && password != user
        && !password.contains(is_variable)
        && !says_so.iter().any(|word| lowered.contains(word))
}

/// Whether this is the name of a machine that others may reach, too.
fn is_remote(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or(host);
    let is_placeholder =
        matches!(name, "" | "host" | "hostname" | "localhost" | "127.0.0.1" | "db");
    !is_placeholder && !name.contains("example")
}

/// Where PEM blocks of a private key with data in them begin.
fn private_keys(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let is_data = |line: &&str| {
        let line = line.trim();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        line.len() >= 40 && line.chars().all(is_part) && is_random(line)
    };
    let is_key = move |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        let head = rest.lines().next().unwrap_or_default().trim_end();
        let data = rest.lines().skip(1).take_while(|line| !line.contains("-----END"));
        head.ends_with("PRIVATE KEY-----") && data.filter(is_data).count() >= MIN_KEY_LINES
    };
    let starts = text.match_indices("-----BEGIN ").map(|(at, _)| at);
    starts.filter(is_key).map(|at| (at, "a private key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made here, so that no scanner takes this file for one with secrets.
    fn made(prefix: &str, length: usize) -> String {
        let letters = "q7Rt2WmZ9xKpL4vNcB8sYdJh3FgTuA5e";
        prefix.to_owned() + &letters.chars().cycle().take(length).collect::<String>()
    }

    #[test]
    fn tokens_are_found_with_their_place_and_placeholders_are_not() {
        for shape in SHAPES {
            let text = format!("one\nset X={}\n", made(shape.prefix, shape.min_chars));
            let found = all(&text);
            let [finding] = &*found else { panic!("{}: {found:?}", shape.prefix) };
            assert_eq!(finding.at, Position { line: 2, column: 7 });
            assert!(!finding.message.contains("q7Rt"), "{}", finding.message);
        }
        for text in [
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "sk-ant-api03-your-key-goes-here-and-is-long-enough-0",
            "ghp_short",
            "https://user:pass@proxy.com and postgres://postgres:postgres@db.acme.org",
            "postgres://ann:<password>@db.acme.org, redis://:$REDIS@cache.acme.org/0",
            "postgres://ann:q7Rt2WmZ@localhost:5432/x, http://acme.org:8080/@ann",
            "https://ann:***@acme.org/x, https://${USER}:${PASSWORD}@acme.org",
            "git@acme.org:team/x.git, ssh://git@acme.org:22/x",
            "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----",
        ] {
            assert_eq!(all(text), [], "{text}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_found_and_not_repeated() {
        let password = made("", 12);
        for url in [
            format!("postgres://ann:{password}@db.acme.org:5432/orders"),
            format!("https://ann:{password}@git.acme.org/team/x.git"),
            format!("redis://:{password}@cache.acme.org"),
        ] {
            let found = all(&format!("one\nset X=\"{url}\"\n"));
            let [finding] = &*found else { panic!("{url}: {found:?}") };
            assert_eq!(finding.at, Position { line: 2, column: 8 });
            assert_eq!(finding.message, "looks like a URL with a password");
        }
    }

    #[test]
    fn a_private_key_is_found_by_its_lines() {
        let line = made("", 64);
        let text = format!(
            "x\n-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n{line}\n-----END RSA PRIVATE KEY-----\n"
        );
        let found = all(&text);
        let [finding] = &*found else { panic!("{found:?}") };
        assert_eq!((finding.at.line, &*finding.message), (2, "looks like a private key"));
    }

    #[test]
    fn every_secret_of_a_file_is_reported_up_to_a_limit() {
        let (github, aws) = (made("ghp_", 36), made("AKIA", 16));
        let lines: Vec<u32> =
            all(&format!("{github}\n\n{aws} {github}\n")).iter().map(|one| one.at.line).collect();
        assert_eq!(lines, [1, 3, 3]);
        let many = all(&format!("{aws}\n").repeat(MAX_SECRETS_PER_FILE + 2));
        assert_eq!(many.len(), MAX_SECRETS_PER_FILE);
        assert!(
            many[MAX_SECRETS_PER_FILE - 1].message.ends_with("2 more in this file are not listed")
        );
    }
}
