//! Proposals as the text of a pull request.

use skills_core::diagnostic::one_line;

use super::Proposed;

/// So much of a request is quoted.
const MAX_QUOTED_CHARS: usize = 160;

pub(super) fn text(proposed: &Proposed, days: u64) -> String {
    let (before, after) = (&proposed.set.before, &proposed.set.after);
    let mut lines = vec![
        "# Find skills by what people ask for".to_owned(),
        String::new(),
        format!(
            "From {} requests of the last {days} days. Of {} different ones that loaded a skill: {} with that skill first now, {} with every edit below; {} and {} with it among the first three.",
            proposed.requests,
            before.requests,
            before.shown_first,
            after.shown_first,
            before.shown_third,
            after.shown_third
        ),
    ];
    for shown in &proposed.shown {
        lines.push(String::new());
        lines.push(format!("## {}", plain(&shown.text.title)));
        lines.push(String::new());
        lines.extend(shown.text.lines.iter().map(|line| format!("- {}", code(line))));
        if !shown.text.lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("Evidence: {}.", shown.text.because));
        lines.push(String::new());
        lines.extend(shown.proposal.examples.iter().map(|request| format!("- {}", code(request))));
        if let Some(effect) = &shown.text.effect {
            lines.push(String::new());
            lines.push(format!("Effect: {effect}."));
        }
    }
    if !proposed.patch.is_empty() {
        // A fence longer than any in the patch.
        let longest = proposed.patch.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        lines.extend([
            String::new(),
            "## Patch".to_owned(),
            String::new(),
            format!("{fence}diff"),
            proposed.patch.trim_end_matches('\n').to_owned(),
            fence,
        ]);
    }
    lines.join("\n")
}

/// A text of the history as code: no mark in it means anything.
fn code(text: &str) -> String {
    let line = one_line(text).replace('`', "'");
    let cut: String = line.chars().take(MAX_QUOTED_CHARS).collect();
    let dots = if cut.len() < line.len() { "…" } else { "" };
    format!("`{}{dots}`", cut.trim())
}

/// A title without marks that would make it something else.
fn plain(text: &str) -> String {
    one_line(text).replace(['`', '<', '>', '[', ']', '*', '#'], "")
}
