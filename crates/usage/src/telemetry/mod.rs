//! What happens here, for a system that watches many services: spans and metrics of OpenTelemetry.
//!
//! In: requests as they are asked and answered, and the events that fall out of them. Out: OTLP over HTTP, where the
//! standard `OTEL_*` variables name an endpoint; else nothing at all, no thread and no connection. Built with the
//! feature `otel` only; without it the same names are here and do nothing, so that nobody else has to know. Names follow
//! the conventions for MCP; what they have no word for begins with `skills.`. Deliberately not here: what was asked for
//! and what was answered. No argument, no text, no message of an error leaves by this door, and a label is a word
//! from our own tables or a skill of the catalog, never what a client made up.

mod asked;
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

use std::collections::HashMap;

pub use asked::{Asked, OTHER, Outcome};
#[cfg(not(feature = "otel"))]
pub use off::{Telemetry, Watch, carried};
#[cfg(feature = "otel")]
pub use on::{Telemetry, Watch, carried};

/// The variables `OTEL_*` that are set, by name.
pub type Variables = HashMap<&'static str, String>;
