//! The same names without the feature `otel`: nothing, inlined away.

use std::sync::Arc;

use super::{Asked, Outcome, Variables};
use crate::{
    event::{Recorded, Sink},
    served::ServedCatalog,
};

/// Whoever sets one of these expects spans or metrics.
const ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// Nobody watches.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(());

/// Nothing is kept of a request.
#[derive(Debug)]
pub struct Watch;

impl Telemetry {
    /// Says so where somebody expects more.
    pub fn start(variables: &Variables, _: &Arc<dyn ServedCatalog>) -> Self {
        if let Some(name) = ENDPOINTS.iter().find(|name| variables.contains_key(**name)) {
            tracing::warn!(
                "{name} is set, and this program is built without OpenTelemetry, so nothing is sent there: build it with `--features otel`"
            );
        }
        Self::default()
    }

    /// Watches nothing; `asked` is not even made.
    #[inline]
    pub fn watch<'a>(&self, _asked: impl FnOnce() -> Asked<'a>) -> Watch {
        Watch
    }

    /// Hears nothing.
    #[inline]
    pub fn heard(&self, _: &Recorded) {}

    /// Where events go that nobody else counts: to nobody.
    #[inline]
    pub fn sink(&self) -> Sink {
        Sink::silent()
    }

    /// There is nothing to end.
    #[inline]
    pub fn close(&self) {}
}

impl Watch {
    /// The same future.
    #[inline]
    pub fn over<F: Future>(&self, answering: F) -> impl Future<Output = F::Output> + use<F> {
        answering
    }

    /// Tells nothing; `outcome` is not even made.
    #[inline]
    pub fn answered(self, _outcome: impl FnOnce() -> Outcome) {}
}

/// The same work.
#[inline]
pub fn carried<T, W: FnOnce() -> T>(work: W) -> W {
    work
}
