//! [`Analytics`]: the settings `analytics.*`, as the configuration resolved them.

use crate::event::KeptContext;

/// `analytics.*`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analytics {
    /// Whether events are recorded.
    pub enabled: bool,
    /// Where they are sent.
    pub endpoint: Option<String>,
    /// Whether content named that.
    pub endpoint_by_content: bool,
    /// Where they are kept.
    pub file: String,
    /// How much of a request's text is in them.
    pub context: KeptContext,
    /// What they call this machine, where the operator says so.
    pub server_id: Option<String>,
    /// How often they are sent.
    pub interval_seconds: u64,
    /// Whether agents may ask what they say.
    pub tool: bool,
}
