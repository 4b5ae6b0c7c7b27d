//! Where spans and metrics go: what the standard variables say of it, and the requests that bring them there.
//!
//! The SDK reads most of its variables itself. Ours to decide is whether there is anything to do at all: it would take an
//! endpoint of its own if none is named, and another protocol for the one it can speak.

use std::{
    future::ready,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use opentelemetry_http::{Bytes, HttpClient as SdkHttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use skills_http::client::HttpClient;

use super::Variables;

/// The protocol that is spoken.
const PROTOCOL: &str = "http/protobuf";
/// For one request, unless a variable says otherwise.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// One of the kinds of things that are sent, and the variables that are about it alone and about all.
#[derive(Debug)]
pub(super) struct OtlpSignal {
    word: &'static str,
    path: &'static str,
    exporter: &'static str,
    endpoint: &'static str,
    protocol: [&'static str; 2],
    timeout: [&'static str; 2],
}

/// Where all go, unless a variable of one signal says otherwise.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

const SPANS: OtlpSignal = OtlpSignal {
    word: "spans",
    path: "v1/traces",
    exporter: "OTEL_TRACES_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    protocol: ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
    timeout: ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"],
};
const METRICS: OtlpSignal = OtlpSignal {
    word: "metrics",
    path: "v1/metrics",
    exporter: "OTEL_METRICS_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    protocol: ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
    timeout: ["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"],
};

/// The way out for spans, if one is asked for.
pub(super) fn spans(variables: &Variables) -> Option<SpanExporter> {
    let target = SPANS.target(variables)?;
    let builder = SpanExporter::builder().with_http().with_endpoint(target.url);
    built(&SPANS, builder.with_timeout(target.timeout).with_http_client(target.post).build())
}

/// The way out for metrics, if one is asked for.
pub(super) fn metrics(variables: &Variables) -> Option<MetricExporter> {
    let target = METRICS.target(variables)?;
    let builder = MetricExporter::builder().with_http().with_endpoint(target.url);
    built(&METRICS, builder.with_timeout(target.timeout).with_http_client(target.post).build())
}

fn built<T, E>(signal: &OtlpSignal, exporter: Result<T, E>) -> Option<T> {
    if exporter.is_err() {
        // Its own words repeat the endpoint, in which people put passwords.
        tracing::warn!(
            "no {} are sent: {} or {ENDPOINT} is no URL, or OTEL_EXPORTER_OTLP_COMPRESSION asks for more than `none`",
            signal.word,
            signal.endpoint
        );
    }
    exporter.ok()
}

struct ExportTarget {
    url: String,
    timeout: Duration,
    post: OtlpClient,
}

impl OtlpSignal {
    /// How it is sent; none where no variable asks for it, or one asks for what is not supported, which is logged.
    fn target(&self, variables: &Variables) -> Option<ExportTarget> {
        let get = |name: &str| variables.get(name).map(String::as_str);
        let first = |names: [&str; 2]| names.into_iter().find_map(get);
        if get("OTEL_SDK_DISABLED").is_some_and(|value| is(value, "true")) {
            return None;
        }
        let url = match (get(self.endpoint), get(ENDPOINT)) {
            (Some(url), _) => url.to_owned(),
            (None, Some(base)) => format!("{}/{}", base.trim_end_matches('/'), self.path),
            (None, None) => return None,
        };
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            let word = self.word;
            tracing::warn!(
                "no {word} are sent: {} or {ENDPOINT} must begin with `http://` or `https://`",
                self.endpoint
            );
            return None;
        }
        let exporter = get(self.exporter).unwrap_or("otlp");
        if !exporter.split(',').any(|name| is(name, "otlp")) {
            if !is(exporter, "none") {
                self.refuse(self.exporter, "otlp");
            }
            return None;
        }
        if !is(first(self.protocol).unwrap_or(PROTOCOL), PROTOCOL) {
            self.refuse(&self.protocol.join(" or "), PROTOCOL);
            return None;
        }
        let millis = first(self.timeout).and_then(|millis| millis.trim().parse().ok());
        let timeout = millis.map_or(EXPORT_TIMEOUT, Duration::from_millis);
        let post = OtlpClient::new(self.word, timeout);
        Some(ExportTarget { url, timeout, post })
    }

    fn refuse(&self, variable: &str, known: &str) {
        let word = self.word;
        tracing::warn!("no {word} are sent: {variable} asks for something else than `{known}`");
    }
}

fn is(value: &str, word: &str) -> bool {
    value.trim().eq_ignore_ascii_case(word)
}

/// The SDK's requests through our own client. The SDK has threads of its own, so that they may block.
#[derive(Debug)]
struct OtlpClient {
    word: &'static str,
    client: HttpClient,
    /// Whether the last one failed: a failure that stays is logged once.
    failing: AtomicBool,
}

impl OtlpClient {
    fn new(word: &'static str, timeout: Duration) -> Self {
        Self { word, client: HttpClient::new(timeout), failing: AtomicBool::new(false) }
    }

    fn sent(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let headers: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let answer = self.client.post(&request.uri().to_string(), &headers, request.body());
        let trouble = match &answer {
            Ok(answer) if (200..300).contains(&answer.status) => None,
            Ok(answer) => Some(format!("the endpoint answers {}", answer.status)),
            Err(error) => Some(error.to_string()),
        };
        self.tell(trouble);
        let answer = answer?;
        let mut response = Response::builder().status(answer.status);
        if let Some(moment) = answer.retry_after {
            response = response.header("retry-after", moment);
        }
        Ok(response.body(Bytes::from(answer.body))?)
    }

    fn tell(&self, trouble: Option<String>) {
        let word = self.word;
        let before = self.failing.swap(trouble.is_some(), Ordering::Relaxed);
        match trouble {
            Some(trouble) if !before => {
                tracing::warn!("{word} cannot be sent: {trouble}; said once until it works again");
            }
            Some(trouble) => tracing::debug!("{word} still cannot be sent: {trouble}"),
            None if before => tracing::info!("{word} are sent again"),
            None => {}
        }
    }
}

impl SdkHttpClient for OtlpClient {
    fn send_bytes<'me, 'answer>(
        &'me self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'me: 'answer,
        Self: 'answer,
    {
        Box::pin(ready(self.sent(&request)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(variables: &[(&'static str, &str)]) -> Option<(String, Duration)> {
        let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
        SPANS.target(&variables.collect()).map(|target| (target.url, target.timeout))
    }

    #[test]
    fn spans_go_where_the_variables_say_and_nowhere_else() {
        let all = (ENDPOINT, "http://a:1/x/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:2");
        let to = |url: &str| Some((url.to_owned(), EXPORT_TIMEOUT));
        assert_eq!(target(&[]), None);
        assert_eq!(target(&[all]), to("http://a:1/x/v1/traces"));
        assert_eq!(target(&[all, own]), to("http://b:2"), "as it stands");
        assert_eq!(target(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c:3")]), None);
        for (name, value, sends) in [
            ("OTEL_SDK_DISABLED", "TRUE", false),
            ("OTEL_SDK_DISABLED", "false", true),
            ("OTEL_TRACES_EXPORTER", "none", false),
            ("OTEL_TRACES_EXPORTER", "console", false),
            ("OTEL_TRACES_EXPORTER", "console,otlp", true),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", false),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", false),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", true),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc", true),
        ] {
            assert_eq!(target(&[all, (name, value)]).is_some(), sends, "{name}={value}");
        }
        let both = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
        ];
        assert!(target(&[all, both[0], both[1]]).is_some(), "its own counts more");
        let timeout = |value| target(&[all, ("OTEL_EXPORTER_OTLP_TIMEOUT", value)]).unwrap().1;
        assert_eq!(timeout("250"), Duration::from_millis(250));
        assert_eq!(timeout("soon"), EXPORT_TIMEOUT);
    }
}
