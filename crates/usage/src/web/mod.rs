//! What a browser or another server sees over HTTP: the page, and the collector's requests.
//!
//! Every request passes the guard of `skills_http`. Not here: what a report says, where events
//! are kept.

mod collector;
mod login;
mod page;

pub use collector::{Collector, keep_pruned};
pub use login::login;
pub use page::{CatalogPages, Pages, behind_login, pages};
use skills_http::serving::{MAX_CONNECTIONS, ReservedRoute};

/// Slow pages keep out no events, no health check and no login. A batch that comes slowly is among the requests for events, so
/// there are as many as connections; the collector limits what they hold.
pub const RESERVED: [ReservedRoute; 3] = [
    ReservedRoute { path: "/v1/events", max_requests: MAX_CONNECTIONS },
    ReservedRoute { path: "/healthz", max_requests: 8 },
    ReservedRoute { path: "/login", max_requests: 8 },
];
