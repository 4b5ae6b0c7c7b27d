//! [`TracedRequest`] and [`TracedOutcome`]: as much of a request and its answer as may be sent.

/// The label of everything that is not in our tables.
pub const OTHER_LABEL: &str = "_OTHER";

/// A request, as far as it is sent.
#[derive(Debug, Clone)]
pub struct TracedRequest<'a> {
    /// Its method, from the tables; else [`OTHER_LABEL`].
    pub method: &'a str,
    /// The tool it calls, from the table; else [`OTHER_LABEL`]. None where it calls none.
    pub tool: Option<&'static str>,
    /// The resource it reads; sent only if there is one.
    pub resource: Option<&'a str>,
    /// Its number.
    pub id: String,
    /// The revision of the protocol, if the server speaks it.
    pub protocol: Option<String>,
    /// The span it is part of, as W3C writes it.
    pub traceparent: Option<&'a str>,
    /// What others add to that.
    pub tracestate: Option<&'a str>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedOutcome {
    /// Well.
    Done,
    /// With a tool's answer that says it failed.
    ToolError,
    /// With an error of the protocol, of this code.
    Refused(i32),
}
