//! What tests share: content from one string, a hermetic home, a plain MCP client, a program that serves HTTP and
//! requests to it, an endpoint for events, a git repository with a server.
//!
//! Depends on neither of the product's crates, so that both may use it: it yields files and frames. Not here:
//! any knowledge of skills, and of the server no more than one setting (`patient`).

#![expect(clippy::disallowed_methods, reason = "tests use real files, processes and sockets")]

mod client;
mod endpoint;
pub mod events;
mod fixture;
mod home;
mod listening;
mod patient;
mod remote;
mod waiting;

pub use client::{Client, Reply};
pub use endpoint::{Endpoint, EndpointBehaviour, PostedRequest};
pub use fixture::files;
pub use home::Home;
pub use listening::{HttpAnswer, Listening, http_request};
pub use remote::{GitRequest, GitServer, GitServerBehaviour, Remote};
pub use waiting::{PROMPT_TIMEOUT, TEST_TIMEOUT, eventually, wait_until};
