//! [`Remote`]: the address of a repository and the revision it names, parsed from the URLs that are accepted.
//!
//! Every other URL is refused before a process is started, because git also accepts URLs that run commands. An accepted URL
//! holds no secret, so that it may be shown, logged and stored. Not here: authorization (token).

use std::fmt;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The host of the tokens in `GITHUB_TOKEN`.
const GITHUB_HOST: &str = "github.com";

/// The checked address of a repository, and the revision it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    url: String,
    scheme: Scheme,
    /// `host` or `host:port`; empty for a file.
    authority: String,
    revision: Revision,
    /// Whether the operator named it, and not a file that others write.
    of_operator: bool,
}

/// The branch or commit that a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Revision {
    /// Neither: the settings name a branch.
    Configured,
    /// This branch.
    Branch(String),
    /// This commit.
    Commit(String),
}

/// How a repository is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    /// On this machine only.
    Http,
    /// With the user's configuration.
    Ssh,
    /// A folder of this machine.
    File,
}

/// The host of a repository that a `file://` URL names.
pub(super) const THIS_MACHINE: &str = "this machine";

/// Why a URL is not accepted. No message repeats the URL, which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum UrlError {
    #[error("holds white space, a control character or a backslash")]
    Character,
    /// Git would take it for an option.
    #[error("starts with `-`")]
    Option,
    #[error("is not https://, ssh://, git@host:path or file://")]
    Scheme,
    #[error("is plain http, which is taken for this machine only")]
    Plain,
    /// `https://user:password@host`.
    #[error("holds a user name or password")]
    UserInfo,
    #[error("has no usable host")]
    Host,
    /// Nothing after the host.
    #[error("has no path")]
    Path,
    #[error("names something that cannot be a branch")]
    Branch,
    #[error("names a commit by less than its full 40 digits")]
    Commit,
}

impl UrlError {
    /// What to do.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::UserInfo => {
                "leave out what stands before the @; a token goes into GITHUB_TOKEN, else git's credential helper is asked"
            }
            Self::Plain => "use https://",
            Self::Branch => "write URL#branch, such as https://example.org/team/skills.git#main",
            Self::Commit => "write URL@ and all 40 digits, as `git rev-parse HEAD` prints them",
            Self::Scheme => {
                "write it as https://example.org/team/skills.git, ssh://git@example.org/team/skills.git, git@example.org:team/skills.git or file:///srv/skills.git; a folder is named by its path, with --dir PATH or `skills-mcp add PATH`"
            }
            Self::Character | Self::Option | Self::Host | Self::Path => {
                "write it as https://example.org/team/skills.git; a folder is named by its path, with --dir PATH or `skills-mcp add PATH`"
            }
        }
    }
}

impl Remote {
    /// Reads `URL`, `URL#branch` or `URL@commit`.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        if text.starts_with('-') {
            return Err(UrlError::Option);
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '\\' | '"')) {
            return Err(UrlError::Character);
        }
        let (url, revision) = split_revision(text)?;
        let (scheme, authority, url) = address(url)?;
        Ok(Self { url, scheme, authority, revision, of_operator: true })
    }

    /// The same address, named by a file that others write.
    #[must_use]
    pub(super) fn of_others(self) -> Self {
        Self { of_operator: false, ..self }
    }

    /// Whether `GITHUB_TOKEN` may be sent there: to any host that the operator named, and where others name one only to GitHub,
    /// whose token it is.
    pub(super) fn takes_token(&self) -> bool {
        self.of_operator || self.authority == GITHUB_HOST
    }

    /// The address without the revision.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How it is reached.
    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The branch or commit that the URL names.
    pub(super) fn revision(&self) -> &Revision {
        &self.revision
    }

    /// Scheme, host and port of an address that a token may be sent to.
    pub(super) fn web_origin(&self) -> Option<String> {
        match self.scheme {
            Scheme::Https => Some(format!("https://{}", self.authority)),
            Scheme::Http => Some(format!("http://{}", self.authority)),
            Scheme::Ssh | Scheme::File => None,
        }
    }

    /// Its host, for messages.
    pub(super) fn host(&self) -> &str {
        if self.authority.is_empty() { THIS_MACHINE } else { &self.authority }
    }

    /// The name of its folder: the last part of the URL for people, and a digest that makes it unique.
    pub(super) fn key(&self) -> String {
        let last = self.url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let last: String = last.trim_end_matches(".git").chars().filter(plain).take(40).collect();
        format!("{last}-{}", short_digest(&self.url))
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.revision {
            Revision::Configured => f.write_str(&self.url),
            Revision::Branch(branch) => write!(f, "{}#{branch}", self.url),
            Revision::Commit(commit) => write!(f, "{}@{commit}", self.url),
        }
    }
}

/// Sixteen hexadecimal digits of a text's digest.
pub(super) fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{number:016x}")
}

/// Whether a text is a whole commit hash.
pub(crate) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
}

/// Whether a text is a branch name to git, and nothing else.
pub(crate) fn is_branch(text: &str) -> bool {
    let odd = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && part.strip_suffix(".lock").is_none()
    };
    text.len() <= 240
        && text != "@"
        && !text.contains(odd)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text.split('/').all(part)
}

fn split_revision(text: &str) -> Result<(&str, Revision), UrlError> {
    if let Some((url, branch)) = text.split_once('#') {
        let revision = is_branch(branch).then(|| Revision::Branch(branch.to_owned()));
        return revision.map(|revision| (url, revision)).ok_or(UrlError::Branch);
    }
    let Some((url, tail)) = text.rsplit_once('@') else { return Ok((text, Revision::Configured)) };
    let tail = tail.to_ascii_lowercase();
    if is_commit(&tail) {
        return Ok((url, Revision::Commit(tail)));
    }
    // A user name stands before a host; hexadecimal digits alone are neither.
    let partial = tail.len() >= 4 && tail.chars().all(|c| c.is_ascii_hexdigit());
    if partial { Err(UrlError::Commit) } else { Ok((text, Revision::Configured)) }
}

fn address(url: &str) -> Result<(Scheme, String, String), UrlError> {
    let Some((scheme, rest)) = url.split_once("://") else { return ssh_short(url) };
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        "ssh" => Scheme::Ssh,
        "file" => Scheme::File,
        _ => return Err(UrlError::Scheme),
    };
    let (authority, path) = rest.split_once('/').ok_or(UrlError::Path)?;
    if path.trim_matches('/').is_empty() || path.contains('?') {
        return Err(UrlError::Path);
    }
    let authority = authority.to_ascii_lowercase();
    match scheme {
        Scheme::File if !authority.is_empty() => return Err(UrlError::Host),
        Scheme::File => return Ok((scheme, authority, format!("file:///{path}"))),
        Scheme::Https | Scheme::Http if authority.contains('@') => return Err(UrlError::UserInfo),
        Scheme::Ssh => {
            let (user, host) = authority.split_once('@').unwrap_or(("git", &authority));
            if !is_plain(user) {
                return Err(UrlError::UserInfo);
            }
            checked_host(host)?;
        }
        Scheme::Https | Scheme::Http => checked_host(&authority)?,
    }
    if scheme == Scheme::Http && !is_this_machine(&authority) {
        return Err(UrlError::Plain);
    }
    let name = match scheme {
        Scheme::Https => "https",
        Scheme::Http => "http",
        Scheme::Ssh | Scheme::File => "ssh",
    };
    let whole = format!("{name}://{authority}/{path}");
    Ok((scheme, authority, whole))
}

/// `git@host:path`.
fn ssh_short(url: &str) -> Result<(Scheme, String, String), UrlError> {
    let (before, path) = url.split_once(':').ok_or(UrlError::Scheme)?;
    let (user, host) = before.split_once('@').ok_or(UrlError::Scheme)?;
    // `ext::command` and its like have a second colon.
    if path.starts_with(':') || before.contains('/') {
        return Err(UrlError::Scheme);
    }
    if !is_plain(user) {
        return Err(UrlError::UserInfo);
    }
    checked_host(host)?;
    if path.trim_matches('/').is_empty() || path.starts_with('-') {
        return Err(UrlError::Path);
    }
    let host = host.to_ascii_lowercase();
    Ok((Scheme::Ssh, host.clone(), format!("{user}@{host}:{path}")))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A name or address, with or without a port.
fn checked_host(authority: &str) -> Result<(), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(UrlError::Host)?;
            let address = host.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'));
            (if address && !host.is_empty() { "v6" } else { "" }, port)
        }
        None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
    };
    let port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    if is_plain(host) && !host.starts_with('.') && port { Ok(()) } else { Err(UrlError::Host) }
}

fn is_this_machine(authority: &str) -> bool {
    if authority.starts_with('[') {
        return authority.starts_with("[::1]");
    }
    let host = authority.split(':').next().unwrap_or_default();
    let loopback = |address: std::net::Ipv4Addr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn what_people_write_is_accepted() {
        for (text, url, revision) in [
            (
                "https://github.com/org/repo.git",
                "https://github.com/org/repo.git",
                Revision::Configured,
            ),
            ("HTTPS://GitHub.com/Org/Repo", "https://github.com/Org/Repo", Revision::Configured),
            (
                "https://h.example:8443/r#next/two",
                "https://h.example:8443/r",
                Revision::Branch("next/two".into()),
            ),
            ("git@github.com:org/repo.git", "git@github.com:org/repo.git", Revision::Configured),
            ("ssh://git@host:2222/x/y.git", "ssh://git@host:2222/x/y.git", Revision::Configured),
            ("file:///srv/skills.git", "file:///srv/skills.git", Revision::Configured),
            ("http://127.0.0.1:8080/x.git", "http://127.0.0.1:8080/x.git", Revision::Configured),
            ("http://[::1]:80/x.git", "http://[::1]:80/x.git", Revision::Configured),
        ] {
            let remote = Remote::parse(text).unwrap();
            assert_eq!((remote.url(), remote.revision()), (url, &revision), "{text}");
        }
        for base in ["https://github.com/org/repo.git", "git@github.com:org/repo.git"] {
            let pinned = Remote::parse(&format!("{base}@{COMMIT}")).unwrap();
            assert_eq!(pinned.revision(), &Revision::Commit(COMMIT.into()));
            assert_eq!(pinned.url(), base);
        }
    }

    #[test]
    fn g01_g02_everything_else_is_refused() {
        use UrlError as E;
        for (text, error) in [
            ("--upload-pack=touch x", E::Option),
            ("-u", E::Option),
            ("ext::sh -c id", E::Character),
            ("ext::sh", E::Scheme),
            ("EXT::sh", E::Scheme),
            ("fd::3", E::Scheme),
            ("a@b::c", E::Scheme),
            ("git://host/x", E::Scheme),
            ("ftp://host/x", E::Scheme),
            ("/srv/x.git", E::Scheme),
            ("../x.git", E::Scheme),
            ("host:x.git", E::Scheme),
            ("ssh://-oProxyCommand=x/y", E::Host),
            ("ssh://-evil@host/y", E::UserInfo),
            ("-oProxyCommand=x@host:y", E::Option),
            ("git@-oProxyCommand=x:y", E::Host),
            ("git@host:-x", E::Path),
            ("https://host\n/x", E::Character),
            ("https://host%0a/x", E::Host),
            ("https://user:secret@host/x", E::UserInfo),
            ("https://token@host/x", E::UserInfo),
            ("https://good.example@evil.example/x", E::UserInfo),
            ("https://evil.example\\@good.example/x", E::Character),
            ("https:///x", E::Host),
            ("https://host", E::Path),
            ("https://host/", E::Path),
            ("https://host:99999/x", E::Host),
            ("http://example.org/x", E::Plain),
            ("http://127.0.0.1.example.org/x", E::Plain),
            ("http://localhost.example.org/x", E::Plain),
            ("file://host/x", E::Host),
            ("https://host/x#-evil", E::Branch),
            ("https://host/x#", E::Branch),
            ("https://host/x#a..b", E::Branch),
            ("https://host/x#--upload-pack=y", E::Branch),
            ("https://host/x@0123abc", E::Commit),
        ] {
            assert_eq!(Remote::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn branches_are_names_and_nothing_else() {
        for good in ["main", "feature/x", "v1.2", "a-b_c"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in [
            "", "-x", "a/-x", "a b", "a..b", "a.lock", ".a", "a/", "/a", "a~1", "a^", "a:b", "@",
            "a@{1}", "a\\b",
        ] {
            assert!(!is_branch(bad), "{bad}");
        }
    }

    #[test]
    fn repositories_are_kept_apart_by_their_whole_address() {
        let key = |text: &str| Remote::parse(text).unwrap().key();
        assert_ne!(key("https://a.example/t/skills.git"), key("https://b.example/t/skills.git"));
        assert_eq!(key("https://a.example/t/x.git#a"), key("https://a.example/t/x.git#b"));
        assert!(key("https://a.example/t/skills.git").starts_with("skills-"));
    }
}
