//! The proposals of `skills-mcp learn` on a page: requests that would help to find a skill.

use askama::Template;
use skills_core::route::authoring::{ProposedExamples, propose_examples};
use skills_page::frame::Frame;

use super::{PERIODS, PageData, PageScope, format};
use crate::{learning::past_requests, report::MIN_OBSERVATIONS};

/// Of so many past requests, the latest: each is searched for, and a reader waits.
const MAX_PROPOSED_REQUESTS: usize = 200;
/// So many proposals are shown.
const MAX_SHOWN_PROPOSALS: usize = 50;

#[derive(Template)]
#[template(path = "proposals.html")]
struct ProposalsPage<'a> {
    frame: Frame,
    scope: &'a PageScope,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    /// How many past requests there are with words.
    requests: u64,
    /// Each with the skill's file.
    proposals: Vec<(String, ProposedExamples)>,
}

pub(super) fn proposals(
    data: &PageData,
    scope: &PageScope,
    frame: Frame,
) -> askama::Result<String> {
    // Evidence has the newest first.
    let mut past = past_requests(data.evidence.recent.iter().rev());
    past.drain(..past.len().saturating_sub(MAX_PROPOSED_REQUESTS));
    let proposals = data.snapshot.as_deref().map(|snapshot| {
        let proposed = propose_examples(&snapshot.routes(), &past);
        let with_file = |proposal: ProposedExamples| {
            let file = snapshot.catalog().skill(proposal.skill)?.file.to_string();
            Some((file, proposal))
        };
        proposed.into_iter().filter_map(with_file).take(MAX_SHOWN_PROPOSALS).collect()
    });
    let page = ProposalsPage {
        frame,
        scope,
        here: "/proposals?",
        periods: &PERIODS,
        enough: MIN_OBSERVATIONS,
        requests: past.len() as u64,
        proposals: proposals.unwrap_or_default(),
    };
    page.render()
}
