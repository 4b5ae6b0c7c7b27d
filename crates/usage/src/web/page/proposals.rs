//! The proposals of `skills-mcp learn` on a page: what past requests say about the words that skills are found by.

use askama::Template;
use skills_core::{document, route::authoring::propose};
use skills_page::frame::Frame;

use super::{PERIODS, PageData, PageScope, format};
use crate::{
    learning::{ProposalText, past_requests},
    report::MIN_OBSERVATIONS,
};

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
    proposals: Vec<(ProposalText, Vec<String>)>,
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
        let body = |skill: &_| {
            let text = snapshot.text(skill).unwrap_or_default();
            document::body_of(&text).to_owned()
        };
        let set = propose(&snapshot.routes(), &past, &[], body);
        let shown = set.proposals.into_iter().take(MAX_SHOWN_PROPOSALS);
        let worded =
            |proposal| (ProposalText::of(&proposal, snapshot.catalog()), proposal.examples);
        shown.map(worded).collect()
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
