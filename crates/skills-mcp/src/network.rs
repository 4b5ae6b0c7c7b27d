//! The one door to the network: a request over HTTP, bounded in time and size, sent nowhere but where it was meant for.
//!
//! Redirects are answers, not orders, so that no token follows one. Certificates are checked against what the system
//! trusts. `HTTPS_PROXY` and its like are honoured, but what is meant for this machine stays on it. Not here: what is sent, and when to try again.

use std::{net::IpAddr, time::Duration};

use ureq::{
    Agent, RequestBuilder,
    config::Config,
    http::{Response, Uri, header::RETRY_AFTER},
    tls::{RootCerts, TlsConfig},
    typestate::WithBody,
};

/// Of an answer, no more than this is read.
const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// The way out. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Network {
    out: Agent,
    /// For this machine: no proxy stands in between.
    here: Agent,
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
        Self { out: config().build().new_agent(), here: here.new_agent() }
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
        let mut request: RequestBuilder<WithBody> = self.to(url).post(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answered(request.send(body))
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
