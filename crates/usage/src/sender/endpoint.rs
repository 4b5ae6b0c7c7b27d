//! [`Endpoint`]: where events are sent, and with which token. A token is sent only over https or within this machine.

use std::fmt;

use axum::http::Uri;

use skills_http::client::is_loopback_host;

/// Where to send.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) url: String,
    /// All that a log may say of it: the rest may be a secret.
    pub(super) host: String,
    authorization: Option<String>,
}

impl Endpoint {
    /// An endpoint, or why nothing is sent there.
    pub fn new(url: &str, token: Option<String>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| {
            "analytics.endpoint is no URL, so events wait; set it to one such as https://host/v1/events"
                .to_owned()
        })?;
        let host = uri.host().unwrap_or_default().to_owned();
        let closed = uri.scheme_str() == Some("https") || is_loopback_host(&host);
        if token.is_some() && !closed {
            return Err(format!(
                "events wait: {} is set, and would travel to {host} for all to read; use https",
                super::TOKEN_VARIABLE
            ));
        }
        let authorization = token.map(|token| format!("Bearer {}", token.trim()));
        Ok(Self { url: url.to_owned(), host, authorization })
    }

    /// The host that events go to.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn headers<'a>(&'a self, key: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![("Content-Type", "application/json"), ("Idempotency-Key", key)];
        headers.extend(self.authorization.as_deref().map(|token| ("Authorization", token)));
        headers
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_in_secret_or_not_at_all() {
        let token = || Some("canary".to_owned());
        for url in [
            "https://events.example.org/x",
            "http://127.0.0.1:8787/v1/events",
            "http://localhost/x",
            "http://[::1]:9/x",
        ] {
            let endpoint = Endpoint::new(url, token()).unwrap();
            assert!(endpoint.headers("k").contains(&("Authorization", "Bearer canary")), "{url}");
            assert!(!format!("{endpoint:?}").contains("canary"));
        }
        for url in [
            "http://events.example.org/x",
            "http://10.0.0.1/x",
            "http://localhost.example.org/x",
            "http://localhost@example.org/x",
            "http://127.0.0.1.example.org/",
        ] {
            let why = Endpoint::new(url, token()).unwrap_err();
            assert!(why.contains("use https") && !why.contains("canary"), "{why}");
            let open = Endpoint::new(url, None).unwrap();
            assert_eq!(open.headers("k").len(), 2, "{url}: without a token anybody may listen");
        }
        assert!(Endpoint::new("http://", None).is_err());
    }
}
