//! Who is let in: by the name they asked for, by the page that sent them, by the token they bring.
//!
//! A web page that somebody has open can make their browser ask anything of this machine. It cannot choose what the
//! browser says of it: a page that reached us under a name of its own says that name as the host, and one that writes
//! from elsewhere says its origin. Both are refused. Only a link is followed from anywhere: it asks with `GET`, which
//! changes nothing. On loopback no more is asked for unless a token is set; elsewhere
//! one must be. Tokens are kept as digests and compared in constant time.

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

/// A shorter token is one that can be guessed.
const SHORTEST: usize = 16;
/// A browser is known for this long.
const SESSION: Duration = Duration::from_hours(12);
/// So many browsers at once; the first to come are the first to be forgotten.
const SESSIONS: usize = 1_000;
const SESSION_COOKIE: &str = "skills_session";
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

type Digest = [u8; 32];

/// The tokens that open a door; none where it is open.
#[derive(Default)]
pub struct Tokens(Vec<Digest>);

impl Tokens {
    /// Reads tokens that are separated by commas.
    pub fn parse(text: &str) -> Result<Self, DoorError> {
        let tokens = text.split(',').map(str::trim).filter(|token| !token.is_empty());
        let digests = tokens.map(|token| {
            (token.chars().count() >= SHORTEST).then(|| digest(token)).ok_or(DoorError::Short)
        });
        digests.collect::<Result<_, _>>().map(Self)
    }

    fn hold(&self, token: &str) -> bool {
        let given = digest(token);
        // All are compared, so that the time it takes says nothing.
        self.0.iter().fold(false, |found, known| is_same(known, &given) | found)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

/// Why a door is not opened at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DoorError {
    /// Anybody could come in.
    #[error("{0} can be reached from other machines, and no token is set")]
    Open(SocketAddr),
    /// A token can be guessed.
    #[error("a token in COLLECT_TOKEN has fewer than {SHORTEST} characters")]
    Short,
}

impl DoorError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Open(_) => {
                "set COLLECT_TOKEN in the environment, such as to the output of `openssl rand -hex 32`, or listen on 127.0.0.1"
            }
            Self::Short => "use a long random one, such as the output of `openssl rand -hex 32`",
        }
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They ask for a host that we are not.
    Host,
    /// A page from elsewhere sent them.
    Origin,
    /// They bring no token, or a wrong one.
    Token,
}

impl Refused {
    /// What they are answered.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    /// And told.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Host => "this server has no such host name; start it with --host NAME",
            Self::Origin => "pages of other sites may not send requests to this server",
            Self::Token => "send the token: Authorization: Bearer TOKEN",
        }
    }
}

/// The door of a server.
#[derive(Debug)]
pub struct Door {
    listen: IpAddr,
    hosts: Vec<String>,
    tokens: Tokens,
    sessions: Mutex<VecDeque<(Digest, Instant)>>,
}

impl Door {
    /// The door of a server that listens here, and is known by these names too.
    pub fn new(listen: SocketAddr, hosts: &[String], tokens: Tokens) -> Result<Self, DoorError> {
        if tokens.0.is_empty() && !listen.ip().to_canonical().is_loopback() {
            return Err(DoorError::Open(listen));
        }
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self { listen: listen.ip().to_canonical(), hosts, tokens, sessions: Mutex::default() })
    }

    /// Whether whoever sends this is let in.
    pub fn admits(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
        self.knows(method, headers)?;
        let bearer = one(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let token = bearer.is_some_and(|(_, token)| self.tokens.hold(token.trim()));
        if token || self.tokens.0.is_empty() || self.remembers(headers) {
            return Ok(());
        }
        Err(Refused::Token)
    }

    /// Whether this is for us and from no page elsewhere, whoever sends it.
    pub fn knows(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
        let host = one(headers, &HOST).ok_or(Refused::Host)?;
        if !self.is_ours(name(host)) {
            return Err(Refused::Host);
        }
        if is_from_elsewhere(method, headers) {
            return Err(Refused::Origin);
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = one(headers, &ORIGIN).and_then(|origin| origin.split_once("://"));
        let (scheme, from) = origin.ok_or(Refused::Origin)?;
        let port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return Err(Refused::Origin),
        };
        let plain = |host: &str| host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
        if plain(from) == plain(host) { Ok(()) } else { Err(Refused::Origin) }
    }

    /// Takes a token that a browser posts: the cookie by which it is known from now on.
    pub fn greet(&self, headers: &HeaderMap, token: &str) -> Result<String, Refused> {
        self.knows(&Method::POST, headers)?;
        if !self.tokens.hold(token.trim()) {
            return Err(Refused::Token);
        }
        let value = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(_, since)| since.elapsed() < SESSION);
        if sessions.len() >= SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((digest(&value), Instant::now()));
        drop(sessions);
        let encrypted = one(headers, &ORIGIN).is_some_and(|origin| origin.starts_with("https:"));
        let secure = if encrypted { "; Secure" } else { "" };
        let seconds = SESSION.as_secs();
        Ok(format!(
            "{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}"
        ))
    }

    fn remembers(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';'));
        let value = cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == SESSION_COOKIE).then(|| digest(value))
        });
        let Some(value) = value else { return false };
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let live = sessions.iter().filter(|(_, since)| since.elapsed() < SESSION);
        live.fold(false, |found, (known, _)| is_same(known, &value) | found)
    }

    /// Whether we are this host. An address cannot be made to lead elsewhere as a name can; so one that listens on all
    /// of its addresses is known by any.
    fn is_ours(&self, host: &str) -> bool {
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

/// Whether the browser says that a page elsewhere asks. A user who follows a link from there may; a form that such a page
/// sends is a navigation too, but no link.
fn is_from_elsewhere(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, words: &[&str]| {
        headers.get_all(name).iter().any(|value| words.iter().any(|word| value == word))
    };
    let is_link = is(&MODE, &["navigate"]) && matches!(*method, Method::GET | Method::HEAD);
    is(&SITE, &["cross-site", "same-site"]) && !is_link
}

/// A header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn digest(text: &str) -> Digest {
    Sha256::digest(text.as_bytes()).into()
}

fn is_same(one: &Digest, other: &Digest) -> bool {
    one.iter().zip(other).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn door(listen: &str, hosts: &[&str], tokens: &str) -> Result<Door, DoorError> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Door::new(listen.parse().unwrap(), &hosts, Tokens::parse(tokens)?)
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
        let door = door("127.0.0.1:8787", &[], "").unwrap();
        for (site, mode, admitted) in [
            ("cross-site", "no-cors", false),
            ("same-site", "cors", false),
            ("cross-site", "navigate", true),
            ("same-origin", "no-cors", true),
            ("none", "navigate", true),
        ] {
            let headers = headers(&[(HOST, "127.0.0.1:8787"), (SITE, site), (MODE, mode)]);
            assert_eq!(door.admits(&Method::GET, &headers).is_ok(), admitted, "{site} {mode}");
        }
    }

    #[test]
    fn e13_a_page_elsewhere_sends_no_form_even_where_no_origin_is_said() {
        let door = door("127.0.0.1:8787", &[], "").unwrap();
        let asked = |method: Method, site: &str| {
            let from = [(HOST, "127.0.0.1:8787"), (SITE, site), (MODE, "navigate")];
            door.admits(&method, &headers(&from))
        };
        for site in ["cross-site", "same-site"] {
            assert_eq!(asked(Method::GET, site), Ok(()));
            assert_eq!(asked(Method::HEAD, site), Ok(()));
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
                assert_eq!(asked(method.clone(), site), Err(Refused::Origin), "{method} {site}");
            }
        }
        for site in ["same-origin", "none"] {
            assert_eq!(asked(Method::POST, site), Ok(()), "{site}");
        }
    }

    #[test]
    fn only_our_own_names_and_our_own_pages_are_let_in() {
        let door = door("127.0.0.1:8787", &["Stats.Example"], "").unwrap();
        let asked = |host: &str, origin: &str| {
            let mut pairs = vec![(HOST, host)];
            if !origin.is_empty() {
                pairs.push((ORIGIN, origin));
            }
            door.admits(&Method::GET, &headers(&pairs))
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
            assert_eq!(asked(host, ""), Err(Refused::Host), "{host}");
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
            assert_eq!(asked("127.0.0.1:8787", origin), Err(Refused::Origin), "{origin}");
        }
        assert_eq!(door.admits(&Method::GET, &headers(&[])), Err(Refused::Host));
        let two = headers(&[(HOST, "localhost"), (HOST, "evil.example")]);
        assert_eq!(door.admits(&Method::GET, &two), Err(Refused::Host));
    }

    #[test]
    fn a_door_to_the_world_has_a_token_and_every_token_of_a_rotation_opens_it() {
        for listen in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
            let error = door(listen, &[], " , ").unwrap_err();
            assert!(matches!(error, DoorError::Open(_)), "{listen}");
        }
        assert_eq!(door("0.0.0.0:1", &[], "short").unwrap_err(), DoorError::Short);
        let other = TOKEN.replace('0', "z");
        let door = door("0.0.0.0:1", &[], &format!("{TOKEN}, {other}")).unwrap();
        let asked = |value: &str| {
            door.admits(&Method::GET, &headers(&[(HOST, "10.0.0.7:1"), (AUTHORIZATION, value)]))
        };
        assert_eq!(asked(&format!("Bearer {TOKEN}")), Ok(()));
        assert_eq!(asked(&format!("bearer {other}")), Ok(()));
        for wrong in ["", "Bearer", "Bearer ", TOKEN, "Basic 0123456789abcdef", "Bearer 0123"] {
            assert_eq!(asked(wrong), Err(Refused::Token), "{wrong}");
        }
        assert!(!format!("{door:?}").contains(TOKEN));
    }

    #[test]
    fn a_browser_that_brought_the_token_is_known_by_its_cookie() {
        let door = door("127.0.0.1:1", &[], TOKEN).unwrap();
        let host = (HOST, "localhost:1");
        let plain = headers(std::slice::from_ref(&host));
        assert_eq!(door.admits(&Method::GET, &plain), Err(Refused::Token));
        assert_eq!(door.greet(&plain, "wrong"), Err(Refused::Token));
        let elsewhere = headers(&[host.clone(), (ORIGIN, "http://evil.example")]);
        assert_eq!(door.greet(&elsewhere, TOKEN), Err(Refused::Origin));
        let set = door.greet(&plain, TOKEN).unwrap();
        assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/;") && !set.contains(TOKEN));
        let cookie = set.split(';').next().unwrap();
        let known = headers(&[host.clone(), (COOKIE, &format!("a=b; {cookie}"))]);
        assert_eq!(door.admits(&Method::GET, &known), Ok(()));
        let forged = headers(&[host, (COOKIE, "skills_session=1")]);
        assert_eq!(door.admits(&Method::GET, &forged), Err(Refused::Token));
    }
}
