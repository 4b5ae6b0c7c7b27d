//! The one door to the network: a request over HTTP, bounded in time and size, sent nowhere but where it was meant for.
//!
//! Redirects are answers, not orders, so that no token follows one. Certificates are checked against what the system
//! trusts. `HTTPS_PROXY` and its like are honoured, but what is meant for this machine stays on it. What content named is
//! reached at public addresses only, whatever its name resolves to. Not here: what is sent, and when to try again.

use std::{net::IpAddr, time::Duration};

use ureq::{
    Agent, RequestBuilder,
    config::Config,
    http::{Response, Uri, header::RETRY_AFTER},
    tls::{RootCerts, TlsConfig},
    typestate::WithBody,
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

use crate::config::is_public;

/// Of an answer, no more than this is read.
const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// The way out. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Network {
    out: Agent,
    /// For this machine: no proxy stands in between.
    here: Agent,
    /// For what content named: public addresses only.
    public: Agent,
}

/// What the other side said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header `Retry-After` as it came.
    pub retry_after: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(String);

impl Network {
    /// A way out that gives up after so long, whatever it is doing then.
    pub fn new(patience: Duration) -> Self {
        let roots = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = || {
            Config::builder()
                .timeout_global(Some(patience))
                .max_redirects(0)
                .max_redirects_will_error(false)
                .http_status_as_error(false)
                .tls_config(roots.clone())
                .user_agent(concat!("skills-mcp/", env!("CARGO_PKG_VERSION")))
        };
        let here = config().proxy(None).build();
        let public =
            Agent::with_parts(config().build(), DefaultConnector::default(), PublicOnly::default());
        Self { out: config().build().new_agent(), here: here.new_agent(), public }
    }

    fn to(&self, url: &str) -> &Agent {
        let here = url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_here));
        if here { &self.here } else { &self.out }
    }

    /// Asks for what is there.
    pub fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Unreachable> {
        let mut request = self.to(url).get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answered(request.call())
    }

    /// Brings something there.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, Unreachable> {
        brought(self.to(url).post(url), headers, body)
    }

    /// Brings something to where content wants it: only to a public address.
    pub fn post_to_public(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, Unreachable> {
        brought(self.public.post(url), headers, body)
    }
}

fn brought(
    mut request: RequestBuilder<WithBody>,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Answer, Unreachable> {
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answered(request.send(body))
}

/// Resolves names as ever, and leaves out every address that is not public: a name that content chose may resolve to
/// anything, and to something else every time. A proxy is the operator's, and may stand anywhere.
#[derive(Debug, Default)]
struct PublicOnly(DefaultResolver);

impl Resolver for PublicOnly {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let host = |uri: &Uri| uri.authority().map(|authority| authority.as_str().to_owned());
        if config.proxy().is_some_and(|proxy| host(proxy.uri()) == host(uri)) {
            return Ok(found);
        }
        let mut public = self.empty();
        for address in found.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            let why = "its name resolves to no public address, and content named it";
            return Err(ureq::Error::Other(why.into()));
        }
        Ok(public)
    }
}

/// Whether a host is this machine.
pub fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn answered(result: Result<Response<ureq::Body>, ureq::Error>) -> Result<Answer, Unreachable> {
    let mut response = result.map_err(unreachable)?;
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let status = response.status().as_u16();
    let limited = response.body_mut().with_config().limit(MAX_ANSWER_BYTES);
    let body = limited.read_to_vec().map_err(unreachable)?;
    Ok(Answer { status, retry_after, body })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unreachable(error: ureq::Error) -> Unreachable {
    Unreachable(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn e05_a_name_that_resolves_to_this_machine_is_not_connected_to_for_content() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = Network::new(Duration::from_secs(10));
        for host in
            ["localhost", "127.1", "2130706433", "127.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]"]
        {
            for scheme in ["https", "http"] {
                let url = format!("{scheme}://{host}:{port}/x");
                let why = network.post_to_public(&url, &[], b"x").unwrap_err().to_string();
                assert!(listener.accept().is_err(), "{url} was connected to: {why}");
            }
        }
        let url = format!("http://localhost:{port}/x");
        let why = network.post_to_public(&url, &[], b"x").unwrap_err().to_string();
        assert!(why.contains("resolves to no public address"), "{why}");
    }
}
