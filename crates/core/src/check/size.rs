//! Lints of a text's length: none at all, what agents receive cut, and what the Agent Skills format advises.

use super::{CheckLimits, CheckedSkill};
use crate::{
    catalog::SkillKind,
    diagnostic::{Code, Finding, Position},
    estimate,
};

/// The Agent Skills format advises to stay below these, and to move the rest to files that are read when needed.
const ADVISED_LINES: usize = 500;
const ADVISED_TOKENS: usize = 5_000;

pub(super) fn lint(checked: &CheckedSkill<'_>, limits: &CheckLimits, found: &mut Vec<Finding>) {
    let body = checked.text.body();
    // A token has a byte at least, so that a short text need not be estimated.
    let tokens = if body.len() < ADVISED_TOKENS { 0 } else { estimate::tokens(body) };
    let at = Position { line: checked.text.lines_above_body() + 1, column: 1 };
    // A folder may have only a description.
    let is_of_folder = ["_root.md", "_index.md"].contains(&checked.skill.file.name());
    if !is_of_folder && body.lines().all(says_nothing) {
        let finding = Finding::new(Code::TextEmpty, at, "the skill has no text yet");
        found.push(finding.hint("write down what an agent that has the skill should do"));
        return;
    }
    let move_rest = match checked.skill.kind {
        SkillKind::Tree => {
            "move parts to skills below it, or to assets that agents read when they need them"
        }
        SkillKind::Bundle => "move parts to files beside it, and name each file where it is needed",
    };
    if checked.skill.kind == SkillKind::Tree && tokens > limits.max_tokens {
        let message = format!(
            "about {tokens} tokens; `get_skill` cuts a text at {} (`content.max_tokens`)",
            limits.max_tokens
        );
        found.push(Finding::new(Code::TextCut, at, message).hint(move_rest));
        return;
    }
    let lines = body.lines().count();
    if lines > ADVISED_LINES || tokens > ADVISED_TOKENS {
        let tokens = if tokens == 0 { estimate::tokens(body) } else { tokens };
        let message = format!(
            "{lines} lines, about {tokens} tokens; {ADVISED_LINES} lines and {ADVISED_TOKENS} tokens are advised at most"
        );
        found.push(Finding::new(Code::TextLong, at, message).hint(move_rest));
    }
}

/// Whether a line is blank, a heading, or something still to do.
fn says_nothing(line: &str) -> bool {
    let marks = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '*' | '.' | '>');
    let text = line.trim().trim_start_matches(marks);
    text.is_empty() || text.starts_with('#') || text.starts_with("TODO")
}
