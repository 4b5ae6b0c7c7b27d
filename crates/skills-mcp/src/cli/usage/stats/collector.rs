//! A collector asked for its report.

use std::time::Duration;

use skills_http::client::{HttpClient, is_loopback_host};
use skills_page::format::query;
use skills_usage::report::UsageReport;

use crate::{
    cli::{Failure, output::safe},
    config::secret,
};

/// A collector is given this long.
const COLLECTOR_TIMEOUT: Duration = Duration::from_mins(1);
/// So much of what it says besides is shown.
const MAX_SHOWN_CHARS: usize = 200;

/// The report of the last days, of all clients or of one. A token goes nowhere where others could read it.
pub(super) fn report(url: &str, days: u64, client: Option<&str>) -> Result<UsageReport, Failure> {
    if !is_private(url) {
        return Err(Failure::usage(
            format!("--from is `{}`", shown(url)),
            "use https://HOST, or http:// on this machine; no name or password before the host",
        ));
    }
    let only = client.map(|client| format!("&client={}", query(client))).unwrap_or_default();
    let asked = format!("{}/v1/stats?days={days}{only}", url.trim_end_matches('/'));
    let bearer = secret("ANALYTICS_TOKEN").map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> =
        bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
    let answer = HttpClient::new(COLLECTOR_TIMEOUT).get(&asked, &headers).map_err(|error| {
        Failure::environment(format!("{} does not answer: {error}", shown(url)))
            .with_hint("is it the address that `skills-mcp collect` printed?")
    })?;
    match answer.status {
        200 => {
            let report: UsageReport = serde_json::from_slice(&answer.body).map_err(|error| {
                Failure::environment(format!("{} gives no report: {error}", shown(url)))
                    .with_hint("is it a collector, and of this version?")
            })?;
            // An older collector passes over what it does not know.
            if report.client.as_deref() != client {
                let message = format!("{} does not report on one client", shown(url));
                return Err(Failure::environment(message)
                    .with_hint("bring the collector up to date, or leave out --client"));
            }
            Ok(report)
        }
        404 if client.is_some() => Err(Failure::usage(
            refusal(&answer.body),
            "name one that called, or leave out --client",
        )),
        401 | 403 => Err(Failure::environment(format!("{} needs a token", shown(url)))
            .with_hint("put one that the collector knows into ANALYTICS_TOKEN")),
        status => {
            let said: String =
                String::from_utf8_lossy(&answer.body).chars().take(MAX_SHOWN_CHARS).collect();
            Err(Failure::environment(format!("{} answers {status}: {}", shown(url), safe(&said))))
        }
    }
}

/// Why a collector gives no report, in its words.
fn refusal(body: &[u8]) -> String {
    let said: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let reason = said.as_ref().and_then(|said| said.get("error")?.as_str());
    let reason = reason.unwrap_or("the collector knows no such client");
    safe(&reason.chars().take(MAX_SHOWN_CHARS).collect::<String>())
}

/// Whether the connection is private: https, or this machine.
fn is_private(url: &str) -> bool {
    let (secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return false,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || url.contains(char::is_whitespace) {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    secure || is_loopback_host(host)
}

/// The URL without a password.
fn shown(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => safe(&format!("{scheme}://…@{host}")),
        _ => safe(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_only_over_tls_or_loopback() {
        for private in [
            "https://stats.example.org",
            "http://127.0.0.1:8787",
            "http://localhost:8787/",
            "http://[::1]:8787",
        ] {
            assert!(is_private(private), "{private}");
        }
        for public in [
            "http://stats.example.org",
            "http://127.0.0.1@example.org",
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
            "ftp://127.0.0.1",
            "https://",
            "https://ann:secret@example.org",
        ] {
            assert!(!is_private(public), "{public}");
        }
        assert_eq!(shown("https://ann:secret@example.org/x"), "https://…@example.org/x");
    }
}
