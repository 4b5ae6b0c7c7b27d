//! The same names without the feature `otel`: nothing, inlined away.

use std::sync::Arc;

use super::{TracedOutcome, TracedRequest, Variables};
use crate::{
    event::{RecordedEvent, Sink},
    served::ServedCatalog,
};

/// An operator who sets one of these expects spans or metrics.
const ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// No spans and no metrics.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(());

/// Nothing is kept of a request.
#[derive(Debug)]
pub struct RequestSpan;

impl Telemetry {
    /// Warns where a variable asks for more.
    pub fn start(variables: &Variables, _: &Arc<dyn ServedCatalog>) -> Self {
        if let Some(name) = ENDPOINTS.iter().find(|name| variables.contains_key(**name)) {
            tracing::warn!(
                "{name} is set, and this program is built without OpenTelemetry, so nothing is sent there: build it with `--features otel`"
            );
        }
        Self::default()
    }

    /// Starts no span; `request` is not even made.
    #[inline]
    pub fn watch<'a>(&self, _asked: impl FnOnce() -> TracedRequest<'a>) -> RequestSpan {
        RequestSpan
    }

    /// Counts nothing.
    #[inline]
    pub fn heard(&self, _: &RecordedEvent) {}

    /// A sink that drops events.
    #[inline]
    pub fn sink(&self) -> Sink {
        Sink::silent()
    }

    /// There is nothing to end.
    #[inline]
    pub fn close(&self) {}
}

impl RequestSpan {
    /// The same future.
    #[inline]
    pub fn over<F: Future>(&self, answering: F) -> impl Future<Output = F::Output> + use<F> {
        answering
    }

    /// Ends no span; `outcome` is not even made.
    #[inline]
    pub fn answered(self, _outcome: impl FnOnce() -> TracedOutcome) {}
}

/// The same work.
#[inline]
pub fn in_span<T, W: FnOnce() -> T>(work: W) -> W {
    work
}
