//! [`HttpGuard`]: which requests are let in, by the host they name, the page that sent them, and their token.
//!
//! A web page that a user has open can make the user's browser send any request to this machine. It cannot choose what
//! the browser says of it: a page that reached this server under a name of its own sends that name as the host, and one that
//! writes from elsewhere sends its origin. Both are refused. Only a link is followed from anywhere: it is a `GET`, which
//! changes nothing. On loopback no more is required unless a token is set; elsewhere a token must be set. Tokens are
//! kept as digests and compared in constant time.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{
    HeaderMap, Method, StatusCode,
    header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN},
};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// A shorter token can be guessed.
pub(crate) const MIN_TOKEN_CHARS: usize = 16;
const SESSION_LIFETIME: Duration = Duration::from_hours(12);
/// The oldest session ends where there would be more.
const MAX_SESSIONS: usize = 1_000;
const SESSION_COOKIE: &str = "skills_session";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

pub(crate) type TokenDigest = [u8; 32];

/// The tokens that a guard lets in; without any it asks for none.
#[derive(Default)]
pub struct AccessTokens(Vec<TokenDigest>);

impl AccessTokens {
    /// Reads tokens that are separated by commas.
    pub fn parse(text: &str) -> Result<Self, GuardError> {
        let tokens = text.split(',').map(str::trim).filter(|token| !token.is_empty());
        let digests = tokens.map(|token| {
            (token.chars().count() >= MIN_TOKEN_CHARS)
                .then(|| digest(token))
                .ok_or(GuardError::ShortToken)
        });
        digests.collect::<Result<_, _>>().map(Self)
    }

    fn contain(&self, token: &str) -> bool {
        let given = digest(token);
        // All are compared, so that the time it takes reveals nothing of the tokens.
        self.0.iter().fold(false, |found, known| is_same(known, &given) | found)
    }
}

impl std::fmt::Debug for AccessTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccessTokens({})", self.0.len())
    }
}

/// Why there is no guard to serve behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Every machine that reaches the address would be let in.
    #[error("{0} can be reached from other machines, and no token is set")]
    Open(SocketAddr),
    /// A token can be guessed.
    #[error("a token has fewer than {MIN_TOKEN_CHARS} characters")]
    ShortToken,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardRefusal {
    /// It names a host that this server is not.
    Host,
    /// A page from elsewhere sent it.
    Origin,
    /// It has no token, or a wrong one.
    Token,
}

impl GuardRefusal {
    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    /// The text of the answer.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Host => "this server has no such host name; start it with --host NAME",
            Self::Origin => "pages of other sites may not send requests to this server",
            Self::Token => "send the token: Authorization: Bearer TOKEN",
        }
    }
}

/// The guard of a server.
#[derive(Debug)]
pub struct HttpGuard {
    listen: IpAddr,
    hosts: Vec<String>,
    tokens: AccessTokens,
    sessions: BrowserSessions<()>,
}

impl HttpGuard {
    /// The guard of a server that listens here, and is known by these names too.
    pub fn new(
        listen: SocketAddr,
        hosts: &[String],
        tokens: AccessTokens,
    ) -> Result<Self, GuardError> {
        if tokens.0.is_empty() && !listen.ip().to_canonical().is_loopback() {
            return Err(GuardError::Open(listen));
        }
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self {
            listen: listen.ip().to_canonical(),
            hosts,
            tokens,
            sessions: BrowserSessions::default(),
        })
    }

    /// The guard of a server that checks by itself who sends a request: this one checks host and origin only.
    pub fn of_host(listen: SocketAddr, hosts: &[String]) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let (tokens, sessions) = (AccessTokens::default(), BrowserSessions::default());
        Self { listen: listen.ip().to_canonical(), hosts, tokens, sessions }
    }

    /// Checks host, origin and token.
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), GuardRefusal> {
        self.check_origin(method, headers)?;
        let bearer = single(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let token = bearer.is_some_and(|(_, token)| self.tokens.contain(token.trim()));
        if token || self.tokens.0.is_empty() || self.sessions.find(headers).is_some() {
            return Ok(());
        }
        Err(GuardRefusal::Token)
    }

    /// Checks host and origin only.
    pub fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), GuardRefusal> {
        let host = single(headers, &HOST).ok_or(GuardRefusal::Host)?;
        if !self.is_own_host(without_port(host)) {
            return Err(GuardRefusal::Host);
        }
        if is_from_elsewhere(method, headers) {
            return Err(GuardRefusal::Origin);
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = single(headers, &ORIGIN).and_then(|origin| origin.split_once("://"));
        let (scheme, from) = origin.ok_or(GuardRefusal::Origin)?;
        let port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return Err(GuardRefusal::Origin),
        };
        let plain = |host: &str| host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
        if plain(from) == plain(host) { Ok(()) } else { Err(GuardRefusal::Origin) }
    }

    /// Checks a token that a browser posted, and opens a session: returns its cookie.
    pub fn open_session(&self, headers: &HeaderMap, token: &str) -> Result<String, GuardRefusal> {
        self.check_origin(&Method::POST, headers)?;
        if !self.tokens.contain(token.trim()) {
            return Err(GuardRefusal::Token);
        }
        Ok(self.sessions.open(headers, ()))
    }

    /// Whether this server is this host. No page can make an address lead elsewhere, as it can a name; so a server that
    /// listens on all of its addresses is known by any.
    fn is_own_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address.map(|address| address.to_canonical()) {
            Ok(address) => {
                address.is_loopback() || address == self.listen || self.listen.is_unspecified()
            }
            Err(_) => host == "localhost" || self.hosts.contains(&host),
        }
    }
}

/// Browsers that brought a token once and are known by a cookie from then on, each with what is remembered of it.
pub struct BrowserSessions<T>(Mutex<VecDeque<(TokenDigest, Instant, T)>>);

impl<T> Default for BrowserSessions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> std::fmt::Debug for BrowserSessions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserSessions")
    }
}

impl<T: Clone> BrowserSessions<T> {
    /// Opens a session for the browser that sent these headers: returns its cookie.
    pub fn open(&self, headers: &HeaderMap, remembered: T) -> String {
        let value = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(_, since, _)| since.elapsed() < SESSION_LIFETIME);
        if sessions.len() >= MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((digest(&value), Instant::now(), remembered));
        drop(sessions);
        let encrypted = single(headers, &ORIGIN).is_some_and(|origin| origin.starts_with("https:"));
        let secure = if encrypted { "; Secure" } else { "" };
        let seconds = SESSION_LIFETIME.as_secs();
        format!(
            "{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}"
        )
    }

    /// What is remembered of the browser that sent these headers.
    pub fn find(&self, headers: &HeaderMap) -> Option<T> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';'));
        let value = cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == SESSION_COOKIE).then(|| digest(value))
        })?;
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = sessions.iter().filter(|(_, since, _)| since.elapsed() < SESSION_LIFETIME);
        let mut found = None;
        for (known, _, remembered) in live {
            if is_same(known, &value) {
                found = Some(remembered.clone());
            }
        }
        found
    }
}

/// Whether the browser says that a page elsewhere sent the request. A user may follow a link from there; a form that such
/// a page sends is a navigation too, but no link.
fn is_from_elsewhere(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, words: &[&str]| {
        headers.get_all(name).iter().any(|value| words.iter().any(|word| value == word))
    };
    let is_link = is(&FETCH_MODE, &["navigate"]) && matches!(*method, Method::GET | Method::HEAD);
    is(&FETCH_SITE, &["cross-site", "same-site"]) && !is_link
}

/// A header that is there exactly once.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

pub(crate) fn digest(text: &str) -> TokenDigest {
    Sha256::digest(text.as_bytes()).into()
}

pub(crate) fn is_same(one: &TokenDigest, other: &TokenDigest) -> bool {
    one.iter().zip(other).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn guard(listen: &str, hosts: &[&str], tokens: &str) -> Result<HttpGuard, GuardError> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        HttpGuard::new(listen.parse().unwrap(), &hosts, AccessTokens::parse(tokens)?)
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_page_elsewhere_asks_for_nothing_and_its_links_lead_here() {
        let guard = guard("127.0.0.1:8787", &[], "").unwrap();
        for (site, mode, admitted) in [
            ("cross-site", "no-cors", false),
            ("same-site", "cors", false),
            ("cross-site", "navigate", true),
            ("same-origin", "no-cors", true),
            ("none", "navigate", true),
        ] {
            let headers =
                headers(&[(HOST, "127.0.0.1:8787"), (FETCH_SITE, site), (FETCH_MODE, mode)]);
            assert_eq!(guard.check(&Method::GET, &headers).is_ok(), admitted, "{site} {mode}");
        }
    }

    #[test]
    fn e13_a_page_elsewhere_sends_no_form_even_where_no_origin_is_said() {
        let guard = guard("127.0.0.1:8787", &[], "").unwrap();
        let asked = |method: Method, site: &str| {
            let from = [(HOST, "127.0.0.1:8787"), (FETCH_SITE, site), (FETCH_MODE, "navigate")];
            guard.check(&method, &headers(&from))
        };
        for site in ["cross-site", "same-site"] {
            assert_eq!(asked(Method::GET, site), Ok(()));
            assert_eq!(asked(Method::HEAD, site), Ok(()));
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
                assert_eq!(
                    asked(method.clone(), site),
                    Err(GuardRefusal::Origin),
                    "{method} {site}"
                );
            }
        }
        for site in ["same-origin", "none"] {
            assert_eq!(asked(Method::POST, site), Ok(()), "{site}");
        }
    }

    #[test]
    fn only_our_own_names_and_our_own_pages_are_let_in() {
        let guard = guard("127.0.0.1:8787", &["Stats.Example"], "").unwrap();
        let asked = |host: &str, origin: &str| {
            let mut pairs = vec![(HOST, host)];
            if !origin.is_empty() {
                pairs.push((ORIGIN, origin));
            }
            guard.check(&Method::GET, &headers(&pairs))
        };
        for (host, origin) in [
            ("127.0.0.1:8787", ""),
            ("localhost:8787", ""),
            ("LOCALHOST", ""),
            ("localhost.:8787", ""),
            ("[::1]:8787", ""),
            ("127.0.0.1:8787", "http://127.0.0.1:8787"),
            ("localhost:9000", "http://localhost:9000"),
            ("stats.example", "https://stats.example"),
            ("stats.example", "https://stats.example:443"),
        ] {
            assert_eq!(asked(host, origin), Ok(()), "{host} {origin}");
        }
        for host in
            ["evil.example", "evil.example:8787", "192.168.0.9", "127.0.0.1.evil.example", ""]
        {
            assert_eq!(asked(host, ""), Err(GuardRefusal::Host), "{host}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:3000",
            "http://127.0.0.1:8788",
            "http://127.0.0.1",
            "file://",
            "http://127.0.0.1:8787.evil.example",
            "chrome-extension://127.0.0.1:8787",
        ] {
            assert_eq!(asked("127.0.0.1:8787", origin), Err(GuardRefusal::Origin), "{origin}");
        }
        assert_eq!(guard.check(&Method::GET, &headers(&[])), Err(GuardRefusal::Host));
        let two = headers(&[(HOST, "localhost"), (HOST, "evil.example")]);
        assert_eq!(guard.check(&Method::GET, &two), Err(GuardRefusal::Host));
    }

    #[test]
    fn a_server_that_others_reach_has_a_token_and_every_token_of_a_rotation_is_let_in() {
        for listen in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
            let error = guard(listen, &[], " , ").unwrap_err();
            assert!(matches!(error, GuardError::Open(_)), "{listen}");
        }
        assert_eq!(guard("0.0.0.0:1", &[], "short").unwrap_err(), GuardError::ShortToken);
        let other = TOKEN.replace('0', "z");
        let guard = guard("0.0.0.0:1", &[], &format!("{TOKEN}, {other}")).unwrap();
        let asked = |value: &str| {
            guard.check(&Method::GET, &headers(&[(HOST, "10.0.0.7:1"), (AUTHORIZATION, value)]))
        };
        assert_eq!(asked(&format!("Bearer {TOKEN}")), Ok(()));
        assert_eq!(asked(&format!("bearer {other}")), Ok(()));
        for wrong in ["", "Bearer", "Bearer ", TOKEN, "Basic 0123456789abcdef", "Bearer 0123"] {
            assert_eq!(asked(wrong), Err(GuardRefusal::Token), "{wrong}");
        }
        assert!(!format!("{guard:?}").contains(TOKEN));
    }

    #[test]
    fn a_browser_that_brought_the_token_is_known_by_its_cookie() {
        let guard = guard("127.0.0.1:1", &[], TOKEN).unwrap();
        let host = (HOST, "localhost:1");
        let plain = headers(std::slice::from_ref(&host));
        assert_eq!(guard.check(&Method::GET, &plain), Err(GuardRefusal::Token));
        assert_eq!(guard.open_session(&plain, "wrong"), Err(GuardRefusal::Token));
        let elsewhere = headers(&[host.clone(), (ORIGIN, "http://evil.example")]);
        assert_eq!(guard.open_session(&elsewhere, TOKEN), Err(GuardRefusal::Origin));
        let set = guard.open_session(&plain, TOKEN).unwrap();
        assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/;") && !set.contains(TOKEN));
        let cookie = set.split(';').next().unwrap();
        let known = headers(&[host.clone(), (COOKIE, &format!("a=b; {cookie}"))]);
        assert_eq!(guard.check(&Method::GET, &known), Ok(()));
        let forged = headers(&[host, (COOKIE, "skills_session=1")]);
        assert_eq!(guard.check(&Method::GET, &forged), Err(GuardRefusal::Token));
    }
}
