//! [`Issuer`]: checks the tokens (JWT) that an authorization server issued for this server.
//!
//! The issuer's keys are found as RFC 8414 and OpenID Connect say, kept, and fetched again where a token names a key that is not
//! known. A token is only looked at: it is sent nowhere and written nowhere. Not here: how a person signs in, which is between
//! the client and the issuer.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use http::Uri;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, decode, decode_header,
    jwk::{Jwk, JwkSet, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, task::spawn_blocking};

use crate::{
    bearer::Principal,
    client::{HttpClient, is_loopback_host},
    signatures::{self, ALGORITHMS},
};

const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
/// Keys are not fetched again sooner, whatever tokens come.
const MIN_KEYS_INTERVAL: Duration = Duration::from_secs(5);
/// Keys that are older are fetched again, and used on where that fails.
const MAX_KEYS_AGE: Duration = Duration::from_hours(1);
/// More keys than this are not looked at.
const MAX_ISSUER_KEYS: usize = 100;
/// A longer token is refused before it is decoded.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Clocks may differ by so many seconds.
const CLOCK_LEEWAY_SECONDS: u64 = 30;
/// A name for logs and limits is no longer.
const MAX_SUBJECT_CHARS: usize = 200;

/// What is accepted of an issuer.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// Its URL, as its tokens name it.
    pub url: String,
    /// What tokens must be for.
    pub audience: String,
    /// The scope that tokens must have, if any.
    pub scope: Option<String>,
    /// The claim that says what a token is limited to; without one no token is limited.
    pub limits_claim: Option<String>,
}

/// Why an issuer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IssuerError(String);

/// Why a token is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRefusal {
    /// Not one of the issuer's, or not any more; why, for the log.
    Invalid(String),
    /// It is valid, and lacks what this server asks for.
    Insufficient(String),
    /// The issuer's keys cannot be had now.
    Unavailable(String),
}

/// An issuer and its keys.
pub struct Issuer {
    settings: IssuerSettings,
    keys: Arc<KeyStore>,
}

/// The keys of an issuer as they were fetched last.
struct KeyStore {
    url: String,
    client: HttpClient,
    known: RwLock<Arc<IssuerKeys>>,
    /// When the last answer to asking for keys came, or none did. One request at a time asks.
    asked: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct IssuerKeys {
    /// The issuer's own spelling of its URL.
    issuer: String,
    keys: Vec<IssuerKey>,
    fetched: Option<Instant>,
}

struct IssuerKey {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    key: DecodingKey,
}

impl IssuerKeys {
    /// The keys that a token with this header may be signed with.
    fn fitting(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &IssuerKey> {
        self.keys.iter().filter(move |known| {
            let is_named = match (id, &known.id) {
                (Some(id), Some(known)) => id == known,
                // Without a name there must be no choice.
                (None, _) => self.keys.len() == 1,
                (Some(_), None) => false,
            };
            is_named
                && known.key.family() == algorithm.family()
                && known.algorithm.is_none_or(|only| only == algorithm)
        })
    }
}

/// The claims that are read by name; the audience and the times are checked where the signature is.
#[derive(Deserialize)]
struct Claims {
    sub: Option<String>,
    client_id: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    jwks_uri: String,
}

impl Issuer {
    /// The issuer of these settings. Its keys are fetched when they are first needed.
    pub fn new(settings: IssuerSettings) -> Result<Self, IssuerError> {
        check_url(&settings.url)?;
        signatures::install();
        let keys = KeyStore {
            url: settings.url.clone(),
            client: HttpClient::new(KEYS_TIMEOUT),
            known: RwLock::default(),
            asked: Mutex::default(),
        };
        Ok(Self { settings, keys: Arc::new(keys) })
    }

    /// What it was set up with.
    pub fn settings(&self) -> &IssuerSettings {
        &self.settings
    }

    /// Fetches the keys, to know at the start whether that works: how many there are.
    pub async fn prepare(&self) -> Result<usize, IssuerError> {
        self.keys.fetch(None).await?;
        Ok(self.keys.known().keys.len())
    }

    /// Whose token this is.
    pub async fn check(&self, token: &str) -> Result<Principal, TokenRefusal> {
        let invalid = |why: &str| TokenRefusal::Invalid(why.to_owned());
        if token.len() > MAX_TOKEN_BYTES {
            return Err(invalid("the token is too long"));
        }
        let header = decode_header(token).map_err(|_| invalid("the token is no JWT"))?;
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(invalid("its algorithm is not accepted"));
        }
        let id = header.kid.as_deref();
        let mut keys = self.keys.known();
        if keys.fitting(id, header.alg).next().is_some() {
            self.keys.refresh_if_old(&keys);
        } else {
            let fetched = self.keys.fetch(keys.fetched).await;
            keys = self.keys.known();
            if let (Err(error), true) = (fetched, keys.keys.is_empty()) {
                return Err(TokenRefusal::Unavailable(error.0));
            }
        }
        let mut refused = invalid("no key of the issuer fits");
        for known in keys.fitting(id, header.alg) {
            match decode::<Claims>(token, &known.key, &self.validation(&keys, header.alg)) {
                Ok(decoded) => return self.principal(decoded.claims),
                Err(error) => refused = TokenRefusal::Invalid(error.to_string()),
            }
        }
        Err(refused)
    }

    fn validation(&self, keys: &IssuerKeys, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = CLOCK_LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&keys.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation
    }

    fn principal(&self, claims: Claims) -> Result<Principal, TokenRefusal> {
        let insufficient = |why: String| Err(TokenRefusal::Insufficient(why));
        if let Some(scope) = &self.settings.scope {
            let granted = claims.others.get("scope").or_else(|| claims.others.get("scp"));
            if !granted.map(words).unwrap_or_default().contains(scope) {
                return insufficient(format!("the token lacks the scope `{scope}`"));
            }
        }
        let limited_to = match &self.settings.limits_claim {
            None => None,
            Some(claim) => match claims.others.get(claim) {
                Some(limits) => Some(words(limits).into()),
                None => return insufficient(format!("the token lacks the claim `{claim}`")),
            },
        };
        // Sessions and limits belong to a principal, so a token must name one.
        let subject = claims.sub.or(claims.client_id).filter(|subject| !subject.is_empty());
        let Some(subject) = subject else {
            return Err(TokenRefusal::Invalid("the token names no subject".to_owned()));
        };
        let name: String = subject.chars().take(MAX_SUBJECT_CHARS).collect();
        Ok(Principal { name: format!("{name}@issuer").into(), limited_to, token: None })
    }
}

impl KeyStore {
    fn known(&self) -> Arc<IssuerKeys> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has keys that are old fetched again, while they are used on: an issuer that does not answer keeps no client waiting.
    fn refresh_if_old(self: &Arc<Self>, keys: &IssuerKeys) {
        let is_old = keys.fetched.is_none_or(|fetched| fetched.elapsed() > MAX_KEYS_AGE);
        // Where they are being asked for, or were a moment ago, there is nothing to do.
        let is_due = || self.asked.try_lock().is_ok_and(|asked| !is_recent(*asked));
        if is_old && is_due() {
            let (store, before) = (Arc::clone(self), keys.fetched);
            tokio::spawn(async move { store.fetch(before).await });
        }
    }

    /// Fetches the keys, unless that was done since these were, or a moment ago.
    async fn fetch(&self, before: Option<Instant>) -> Result<(), IssuerError> {
        let mut asked = self.asked.lock().await;
        if self.known().fetched != before {
            return Ok(());
        }
        if is_recent(*asked) {
            return Err(IssuerError("its keys were asked for a moment ago".to_owned()));
        }
        let (client, url) = (self.client.clone(), self.url.clone());
        let fetched = spawn_blocking(move || fetch_keys(&client, &url)).await;
        // Those that waited meanwhile do not ask one after the other.
        *asked = Some(Instant::now());
        let keys = fetched.unwrap_or_else(|error| Err(IssuerError(error.to_string())));
        let keys = keys.inspect_err(|error| {
            tracing::warn!(issuer = self.url, "its keys were not fetched: {error}");
        })?;
        tracing::info!(issuer = self.url, keys = keys.keys.len(), "fetched its keys");
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }
}

fn is_recent(asked: Option<Instant>) -> bool {
    asked.is_some_and(|asked| asked.elapsed() < MIN_KEYS_INTERVAL)
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The words of a claim: a list of texts, or one text with blanks.
fn words(claim: &Value) -> Vec<String> {
    match claim {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Keys that come over a line that others can write to prove nothing.
fn check_url(url: &str) -> Result<(), IssuerError> {
    let uri: Uri = url.parse().map_err(|_| IssuerError(format!("`{url}` is no URL")))?;
    let host = uri.host().unwrap_or_default();
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(()),
        Some("http") if is_loopback_host(host) => Ok(()),
        _ => Err(IssuerError(format!("`{url}` is not https (http only on this machine)"))),
    }
}

/// Where an issuer describes itself: RFC 8414, then OpenID Connect in both spellings.
fn metadata_urls(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let after_scheme = issuer.find("://").map_or(0, |at| at + 3);
    let host_end = issuer
        .get(after_scheme..)
        .and_then(|rest| rest.find('/'))
        .map_or(issuer.len(), |at| after_scheme + at);
    let (origin, path) = issuer.split_at(host_end);
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{issuer}/.well-known/openid-configuration"));
    }
    urls
}

fn fetch_keys(client: &HttpClient, issuer: &str) -> Result<IssuerKeys, IssuerError> {
    let mut problem = String::new();
    for url in metadata_urls(issuer) {
        match fetch_json::<IssuerMetadata>(client, &url) {
            Ok(found) => return keys_of(client, issuer, found),
            Err(error) => problem = error.0,
        }
    }
    Err(IssuerError(problem))
}

fn keys_of(
    client: &HttpClient,
    issuer: &str,
    found: IssuerMetadata,
) -> Result<IssuerKeys, IssuerError> {
    if found.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
        return Err(IssuerError(format!("it calls itself `{}`, not `{issuer}`", found.issuer)));
    }
    check_url(&found.jwks_uri)?;
    let set: Value = fetch_json(client, &found.jwks_uri)?;
    // One key that cannot be read costs itself.
    let listed = set.get("keys").and_then(Value::as_array).cloned().unwrap_or_default();
    let readable = listed.into_iter().filter_map(|key| serde_json::from_value(key).ok());
    let set = JwkSet { keys: readable.take(MAX_ISSUER_KEYS).collect() };
    let keys: Vec<IssuerKey> = set.keys.iter().filter_map(issuer_key).collect();
    if keys.is_empty() {
        return Err(IssuerError(format!("{} has no key that can be used", found.jwks_uri)));
    }
    Ok(IssuerKeys { issuer: found.issuer, keys, fetched: Some(Instant::now()) })
}

/// A key that checks signatures with an algorithm that is accepted.
fn issuer_key(jwk: &Jwk) -> Option<IssuerKey> {
    let common = &jwk.common;
    let signs = common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
    let operations = common.key_operations.as_ref();
    let verifies = operations.is_none_or(|listed| listed.contains(&KeyOperations::Verify));
    let key = DecodingKey::from_jwk(jwk).ok()?;
    let algorithm = match common.key_algorithm {
        None => None,
        Some(named) => Some(Algorithm::try_from(named).ok()?),
    };
    let is_accepted = ALGORITHMS.iter().any(|accepted| accepted.family() == key.family())
        && algorithm.is_none_or(|algorithm| ALGORITHMS.contains(&algorithm));
    (signs && verifies && is_accepted).then(|| IssuerKey {
        id: common.key_id.clone(),
        algorithm,
        key,
    })
}

fn fetch_json<T: for<'de> Deserialize<'de>>(
    client: &HttpClient,
    url: &str,
) -> Result<T, IssuerError> {
    let answer = client.get(url, &[("accept", "application/json")]);
    let answer = answer.map_err(|error| IssuerError(format!("{url}: {error}")))?;
    if answer.status != 200 {
        return Err(IssuerError(format!("{url} answers {}", answer.status)));
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| IssuerError(format!("{url} is not what it should be: {error}")))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_issuer_is_looked_for_where_the_standards_say() {
        assert_eq!(
            metadata_urls("https://id.example.org/"),
            [
                "https://id.example.org/.well-known/oauth-authorization-server",
                "https://id.example.org/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            metadata_urls("https://id.example.org/realms/team"),
            [
                "https://id.example.org/.well-known/oauth-authorization-server/realms/team",
                "https://id.example.org/.well-known/openid-configuration/realms/team",
                "https://id.example.org/realms/team/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for url in ["https://id.example.org", "http://127.0.0.1:4000", "http://localhost/x"] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in ["http://id.example.org", "ftp://x", "id.example.org", "", "https://"] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    /// An issuer that takes connections and answers nothing until it is dropped.
    fn hanging() -> (TcpListener, Issuer) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (audience, scope, limits_claim) = ("x".to_owned(), None, None);
        let settings = IssuerSettings { url, audience, scope, limits_claim };
        (listener, Issuer::new(settings).unwrap())
    }

    /// Tokens of RS256 that name the key `known`, and the key `new`.
    const OF_KNOWN_KEY: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6Imtub3duIn0.e30.eA";
    const OF_NEW_KEY: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im5ldyJ9.e30.eA";

    // HTTP-13
    #[tokio::test]
    async fn an_issuer_that_does_not_answer_keeps_no_client_with_a_known_key_waiting() {
        let (listener, issuer) = hanging();
        let key = DecodingKey::from_rsa_components("AQAB", "AQAB").unwrap();
        let known = IssuerKey { id: Some("known".to_owned()), algorithm: None, key };
        // None fetched them: they are as old as can be.
        let keys = IssuerKeys { issuer: String::new(), keys: vec![known], fetched: None };
        *issuer.keys.known.write().unwrap() = Arc::new(keys);
        for _ in 0..3 {
            let refused = issuer.check(OF_KNOWN_KEY).await.unwrap_err();
            assert!(matches!(refused, TokenRefusal::Invalid(_)), "{refused:?}");
        }
        // They are asked for meanwhile, once.
        let asking = spawn_blocking(move || listener.accept().map(|_| listener)).await.unwrap();
        assert!(issuer.keys.asked.try_lock().is_err());
        drop(asking);
    }

    // HTTP-13
    #[tokio::test]
    async fn those_that_wait_for_an_issuer_do_not_ask_one_after_the_other() {
        let (listener, issuer) = hanging();
        let issuer = Arc::new(issuer);
        let check = || {
            let issuer = Arc::clone(&issuer);
            tokio::spawn(async move { issuer.check(OF_NEW_KEY).await })
        };
        let waiting = [check(), check(), check()];
        // Each address that describes an issuer is asked, and each connection breaks off.
        let asked = spawn_blocking(move || {
            for _ in metadata_urls("http://x") {
                drop(listener.accept().unwrap());
            }
            listener
        });
        for one in waiting {
            let refused = one.await.unwrap().unwrap_err();
            assert!(matches!(refused, TokenRefusal::Unavailable(_)), "{refused:?}");
        }
        let listener = asked.await.unwrap();
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "one of the three asked");
    }
}
