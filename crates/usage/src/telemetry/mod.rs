//! What happens here, for a system that watches many services: spans and metrics of OpenTelemetry.
//!
//! In: requests as they are asked and answered, and the events that fall out of them. Out: OTLP over HTTP, where the
//! standard `OTEL_*` variables name an endpoint; else nothing at all, no thread and no connection. Built with the
//! feature `otel` only; without it the same names are here and do nothing, so that callers need not know. Names follow
//! the conventions for MCP; what they have no word for begins with `skills.`. Deliberately not here: what was asked for
//! and what was answered. No argument, no text and no message of an error is sent, and a label is a word
//! from our own tables or a skill of the catalog, never what a client made up.

#[cfg(feature = "otel")]
mod exporter;
#[cfg(feature = "otel")]
mod instruments;
#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;
#[cfg(feature = "otel")]
mod parent;
mod request;

use std::collections::HashMap;

#[cfg(not(feature = "otel"))]
pub use off::{RequestSpan, Telemetry, in_span};
#[cfg(feature = "otel")]
pub use on::{RequestSpan, Telemetry, in_span};
pub use request::{OTHER_LABEL, TracedOutcome, TracedRequest};

/// The variables `OTEL_*` that are set, by name.
pub type Variables = HashMap<&'static str, String>;
