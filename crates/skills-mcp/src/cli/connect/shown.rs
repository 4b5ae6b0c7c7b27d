//! What a person sees of a change before it is made, and the question.

use similar::TextDiff;

use super::{TargetOptions, headline};
use crate::{
    cli::{
        Failure, Output,
        ask::confirmed,
        output::{fitted, safe},
    },
    clients::KnownClient,
    connect::{Drafts, FileDraft},
};

/// A line of a client's file may be the whole file.
const MAX_DIFF_LINE_CHARS: usize = 400;

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Chosen {
    /// The person does not want it.
    No,
    /// There was nothing to write, or nothing was to be written.
    Nothing,
    /// It is written.
    Yes,
}

/// Shows a client's change, asks, and writes it.
pub(super) fn agree(
    out: &mut Output,
    client: &KnownClient,
    drafts: &Drafts,
    target: &TargetOptions,
) -> Result<Chosen, Failure> {
    if drafts.changes().next().is_none() {
        out.line(format!("{}: already connected, nothing to change", headline(client)));
        return Ok(Chosen::Nothing);
    }
    written(out, client, drafts, target, "Write this?", "connected")
}

/// The same for any change.
pub(super) fn written(
    out: &mut Output,
    client: &KnownClient,
    drafts: &Drafts,
    target: &TargetOptions,
    question: &str,
    done: &str,
) -> Result<Chosen, Failure> {
    out.line(headline(client));
    show(out, drafts);
    if target.dry_run {
        return Ok(Chosen::Nothing);
    }
    if !target.yes && !confirmed(question) {
        out.line(format!("{}: left as it was", client.name));
        return Ok(Chosen::No);
    }
    drafts.write()?;
    out.line(format!("{}: {done}", client.name));
    Ok(Chosen::Yes)
}

/// Shows what every file would have more and less.
pub(super) fn show(out: &mut Output, drafts: &Drafts) {
    for draft in drafts.changes() {
        for line in diff(draft).lines() {
            let is_long = line.chars().count() > MAX_DIFF_LINE_CHARS;
            out.line(if is_long { fitted(line, MAX_DIFF_LINE_CHARS) } else { safe(line) });
        }
    }
}

/// The change of a file as a unified diff.
fn diff(draft: &FileDraft) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (before, after) = (text(&draft.before), text(&draft.after));
    let name = draft.file.display().to_string();
    let side = |there: bool| if there { name.clone() } else { "/dev/null".to_owned() };
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(1)
        .header(&side(draft.before.is_some()), &side(draft.after.is_some()))
        .to_string()
}
