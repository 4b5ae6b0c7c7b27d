//! A request's `traceparent` and `tracestate` → the span that it is part of.

use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator as _},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;

use super::TracedRequest;

/// A longer `tracestate` is not taken along. W3C asks for as much, and it waits in the queue with every span.
const MAX_TRACESTATE_CHARS: usize = 512;

/// What the request says of where it belongs. What cannot be read says nothing: the span begins a trace of its own.
pub(super) fn parent(request: &TracedRequest<'_>) -> Context {
    let parent = request.traceparent.filter(|parent| is_well_formed(parent));
    let said = TraceHeaders { parent, state: request.tracestate };
    TraceContextPropagator::new().extract_with_context(&Context::new(), &said)
}

/// Whether every part has its length: the SDK takes numbers of any, and would make up the parent of a stranger.
fn is_well_formed(parent: &str) -> bool {
    let mut parts = parent.split('-');
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let mut of =
        |length| parts.next().is_some_and(|part| part.len() == length && part.chars().all(hex));
    of(2) && of(32) && of(16) && of(2)
}

struct TraceHeaders<'a> {
    parent: Option<&'a str>,
    state: Option<&'a str>,
}

impl Extractor for TraceHeaders<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.parent,
            "tracestate" => self.state.filter(|state| state.len() <= MAX_TRACESTATE_CHARS),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TraceContextExt as _;

    use super::*;

    fn named(traceparent: &str, tracestate: Option<&str>) -> Option<(String, String, String)> {
        let (traceparent, method) = (Some(traceparent), "tools/call");
        let request = TracedRequest {
            method,
            tool: None,
            resource: None,
            id: "1".to_owned(),
            protocol: None,
            traceparent,
            tracestate,
        };
        let context = parent(&request);
        let span = context.span();
        let span = span.span_context();
        let text = (span.trace_id().to_string(), span.span_id().to_string());
        span.is_valid().then(|| (text.0, text.1, span.trace_state().header()))
    }

    #[test]
    fn a_parent_is_read_and_what_is_none_is_none() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let good = format!("00-{trace}-{span}-01");
        let found = |state: &str| Some((trace.to_owned(), span.to_owned(), state.to_owned()));
        assert_eq!(named(&good, None), found(""));
        assert_eq!(named(&good, Some("a=1,b=2")), found("a=1,b=2"));
        assert_eq!(named(&good, Some("no state")), found(""), "the parent is still one");
        let long = format!("a={}", "x".repeat(MAX_TRACESTATE_CHARS));
        assert_eq!(named(&good, Some(&long)), found(""));
        for bad in [
            "",
            "-",
            "00",
            "\u{1F980}",
            &good.to_uppercase(),
            &format!("ff-{trace}-{span}-01"),
            &format!("00-{}-{span}-01", "0".repeat(32)),
            &format!("00-{trace}-{}-01", "0".repeat(16)),
            &format!("00-{trace}0-{span}-01"),
            &format!("00-+{}-{span}-01", "1".repeat(31)),
            "00-1-1-01",
            &format!("00-{trace}-{span}-01-more"),
            &"00-".repeat(100_000),
        ] {
            assert_eq!(named(bad, Some("a=1")), None, "{bad:.80}");
        }
    }
}
