//! For people who write skills: whether requests find what they should, and what text would change that.
//!
//! A [`RoutingTest`] says what a request should find. [`Routes`] answers requests as a server would, also with an
//! [edit](FrontMatterEdit) of front matter that is not saved, so that a proposal is tried before it is made. Not here:
//! which files hold tests, and how results are shown.

mod judge;
mod past;
mod patch;
mod proposals;
mod routes;
mod routing_file;
mod smallest_edit;
mod unified_diff;

pub use judge::{FoundBy, JudgedTest, ResolvedTest, RoutingScores, TestFailure};
pub use past::{PastRequest, PastSkill};
pub use patch::patched;
pub use proposals::{EditEffect, LearnedProposal, ProposalKind, ProposalSet, propose};
pub use routes::{FrontMatterEdit, RoutedRequest, Routes};
pub use routing_file::{ExpectedSkill, RoutingFileError, RoutingTest, read_routing_file, tests_of};
pub use smallest_edit::{SmallestEdit, smallest_edit};
pub use unified_diff::unified_diff;
