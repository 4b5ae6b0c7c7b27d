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

/// Shows a client's change, asks, and writes it. `is_off` says that the entry is switched off then.
pub(super) fn agree(
    out: &mut Output,
    client: &KnownClient,
    drafts: &Drafts,
    target: &TargetOptions,
    is_off: bool,
) -> Result<Chosen, Failure> {
    if drafts.changes().next().is_none() {
        let state = if is_off { "its entry is there" } else { "already connected" };
        out.line(format!("{}: {state}, nothing to change", headline(client)));
        return Ok(Chosen::Nothing);
    }
    let done = if is_off { "its entry is written" } else { "connected" };
    written(out, client, drafts, target, "Write this?", done)
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
