//! [`HttpClient`]: a request over HTTP, limited in time and size, that reaches the host it names and no other.
//!
//! A redirect is returned as it came, so that no token follows one. Certificates are checked against those that the
//! system trusts. `HTTPS_PROXY` and similar variables are honoured, but a request to this machine takes no proxy. A URL that
//! content named is connected to at public addresses only, whatever its host resolves to. Not here: what is sent, and
//! when to try again.

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

use crate::public::is_public;

/// A longer body of a response is an error.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;

/// The client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HttpClient {
    ordinary: Agent,
    /// For this machine: without a proxy.
    loopback: Agent,
    /// For URLs that content named: public addresses only.
    public: Agent,
}

/// What the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The header `Retry-After` as it came.
    pub retry_after: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(String);

impl HttpClient {
    /// A client whose requests, from the lookup of the name to the end of the body, take no longer than `timeout`.
    pub fn new(timeout: Duration) -> Self {
        let roots = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = || {
            Config::builder()
                .timeout_global(Some(timeout))
                .max_redirects(0)
                .max_redirects_will_error(false)
                .http_status_as_error(false)
                .tls_config(roots.clone())
                .user_agent(concat!("skills-mcp/", env!("CARGO_PKG_VERSION")))
        };
        let loopback = config().proxy(None).build();
        let public =
            Agent::with_parts(config().build(), DefaultConnector::default(), PublicOnly::default());
        Self { ordinary: config().build().new_agent(), loopback: loopback.new_agent(), public }
    }

    fn agent(&self, url: &str) -> &Agent {
        let host = |uri: Uri| uri.host().is_some_and(is_loopback_host);
        if url.parse().is_ok_and(host) { &self.loopback } else { &self.ordinary }
    }

    /// Sends a `GET`.
    pub fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, Unreachable> {
        let mut request = self.agent(url).get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.call())
    }

    /// Sends a `POST`.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpResponse, Unreachable> {
        send(self.agent(url).post(url), headers, body)
    }

    /// Sends a `POST` to a URL that content named: only to a public address.
    pub fn post_to_public(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpResponse, Unreachable> {
        send(self.public.post(url), headers, body)
    }
}

fn send(
    mut request: RequestBuilder<WithBody>,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<HttpResponse, Unreachable> {
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.send(body))
}

/// Resolves names and leaves out every address that is not public: a name that content chose may resolve to
/// anything, and to something else every time. A proxy is the operator's, and may have any address.
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
pub fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn read(result: Result<Response<ureq::Body>, ureq::Error>) -> Result<HttpResponse, Unreachable> {
    let mut response = result.map_err(unreachable)?;
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let status = response.status().as_u16();
    let limited = response.body_mut().with_config().limit(MAX_RESPONSE_BYTES);
    let body = limited.read_to_vec().map_err(unreachable)?;
    Ok(HttpResponse { status, retry_after, body })
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
        let client = HttpClient::new(Duration::from_secs(10));
        for host in
            ["localhost", "127.1", "2130706433", "127.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]"]
        {
            for scheme in ["https", "http"] {
                let url = format!("{scheme}://{host}:{port}/x");
                let why = client.post_to_public(&url, &[], b"x").unwrap_err().to_string();
                assert!(listener.accept().is_err(), "{url} was connected to: {why}");
            }
        }
        let url = format!("http://localhost:{port}/x");
        let why = client.post_to_public(&url, &[], b"x").unwrap_err().to_string();
        assert!(why.contains("resolves to no public address"), "{why}");
    }
}
