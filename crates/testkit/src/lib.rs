//! What tests share: content from one string, a hermetic home, a plain MCP client, a server over HTTP and
//! how it is asked, a git repository to follow.
//!
//! Depends on neither of the product's crates, so that both may use it: it yields files and frames. Not here:
//! any knowledge of skills.

#![expect(clippy::disallowed_methods, reason = "tests use real files, processes and sockets")]

mod client;
mod endpoint;
pub mod events;
mod fixture;
mod home;
mod listening;
mod remote;
mod waiting;

pub use client::{Client, Reply};
pub use endpoint::{Behaviour, Endpoint, Posted};
pub use fixture::files;
pub use home::Home;
pub use listening::{Answer, Listening, ask};
pub use remote::{Asked, GitServer, Manner, Remote};
pub use waiting::{LIMIT, PROMPT, eventually, wait_until};
