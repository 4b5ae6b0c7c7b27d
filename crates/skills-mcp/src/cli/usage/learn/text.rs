//! Proposals for people.

use super::{Proposed, ShownProposal};
use crate::cli::{
    Output,
    output::{bold, counted, fitted, safe, wrapped},
};

/// So much of a request is shown.
const MAX_SHOWN_CHARS: usize = 160;
/// So many requests of a proposal are shown.
const MAX_SHOWN_EXAMPLES: usize = 3;

pub(super) fn print(out: &mut Output, proposed: &Proposed, days: u64) {
    let requests = counted(proposed.requests, "request");
    let head = format!(
        "{requests} of the last {}: {}",
        counted(usize::try_from(days).unwrap_or(usize::MAX), "day"),
        counted(proposed.shown.len(), "proposal")
    );
    for line in wrapped(&head, out.width) {
        out.line(bold(&line));
    }
    if proposed.requests == 0 {
        out.sentence("   ", "the history has no text of a request; `analytics.enabled: true` and `analytics.context: full` keep them");
        return;
    }
    for (number, shown) in proposed.shown.iter().enumerate() {
        proposal(out, number + 1, shown);
    }
    let (before, after) = (&proposed.set.before, &proposed.set.after);
    out.line("");
    let effect = format!(
        "Of {} that loaded a skill: {} with that skill first now, {} with every edit; {} and {} with it among the first three.",
        counted(before.requests, "different request"),
        before.shown_first,
        after.shown_first,
        before.shown_third,
        after.shown_third,
    );
    out.sentence("", &effect);
    if !proposed.patch.is_empty() {
        out.dim_sentence("", "`skills-mcp learn --patch` prints the edits for `git apply`, `--markdown` a text for a pull request. Nothing was changed.");
    }
}

fn proposal(out: &mut Output, number: usize, shown: &ShownProposal) {
    out.line("");
    out.line(format!("{number}. {}", bold(&safe(&shown.text.title))));
    for line in &shown.text.lines {
        out.sentence("   ", &format!("- {}", fitted(line, MAX_SHOWN_CHARS)));
    }
    out.sentence("   ", &format!("{}, such as", shown.text.because));
    for request in shown.proposal.examples.iter().take(MAX_SHOWN_EXAMPLES) {
        out.sentence("     ", &format!("“{}”", fitted(request, MAX_SHOWN_CHARS)));
    }
    if let Some(effect) = &shown.text.effect {
        let by_hand = if shown.is_patched {
            ""
        } else {
            "; to be edited by hand: its lists cannot be extended in place"
        };
        out.sentence("   ", &format!("{effect}{by_hand}"));
    }
}
