//! For people who write skills: whether requests find what they should, and which past requests would help.
//!
//! A [`RoutingTest`] says what a request should find. [`Routes`] answers requests as a server would. Not here: which files hold
//! tests, and how results are shown.

mod examples;
mod judge;
mod past;
mod patch;
mod routes;
mod routing_file;

pub use examples::{ProposedExamples, propose_examples};
pub use judge::{JudgedTest, ResolvedTest, RoutingScores, TestFailure};
pub use past::{PastRequest, PastSkill};
pub use patch::with_examples;
pub use routes::{RoutedRequest, Routes};
pub use routing_file::{ExpectedSkill, RoutingFileError, RoutingTest, read_routing_file, tests_of};
