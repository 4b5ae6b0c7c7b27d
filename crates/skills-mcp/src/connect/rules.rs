//! The marked block of two lines in a project's `AGENTS.md`, for clients whose models never see a server's instructions.
//!
//! The words come from the instructions (`surface`).

use super::json::line_break;
use crate::clients::KnownClient;

/// The file that these clients read.
pub const RULES_FILE: &str = "AGENTS.md";
const BLOCK_BEGIN: &str = "<!-- skills-mcp:begin -->";
const BLOCK_END: &str = "<!-- skills-mcp:end -->";

/// Whether a rule is of use: the client has a project, and shows its model no instructions of a server.
pub fn has_rules(client: &KnownClient) -> bool {
    let hides = client.handling.is_some_and(|handling| handling.instructions.value == 0);
    hides && client.id != "claude-desktop"
}

/// The text with a block that says this, in the place of the one that is there.
pub(super) fn with_block(text: &str, rule: &str) -> String {
    let end = line_break(text);
    let block = format!("{BLOCK_BEGIN}{end}{}{end}{BLOCK_END}{end}", rule.replace('\n', end));
    if let Some((before, _, after)) = parts(text) {
        return format!("{before}{block}{after}");
    }
    let gap = match text {
        "" => "",
        _ if text.ends_with('\n') => end,
        _ => return format!("{text}{end}{end}{block}"),
    };
    format!("{text}{gap}{block}")
}

/// The text without the block, and without the blank line before it.
pub(super) fn without_block(text: &str) -> String {
    let Some((before, _, after)) = parts(text) else { return text.to_owned() };
    let end = line_break(text);
    let before = match before.strip_suffix(end) {
        Some(shorter) if shorter.is_empty() || shorter.ends_with('\n') => shorter,
        _ => before,
    };
    format!("{before}{after}")
}

/// What is before the block, the block with its line break, and what is after.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find(BLOCK_BEGIN)?;
    let end = start + text.get(start..)?.find(BLOCK_END)? + BLOCK_END.len();
    let rest = text.get(end..)?;
    let line = ["\r\n", "\n"].iter().find_map(|end| rest.starts_with(end).then_some(end.len()));
    let end = end + line.unwrap_or(0);
    Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_replaced_and_removed() {
        for text in ["", "# Rules\n\nBe kind.\n", "# Rules\r\n"] {
            let once = with_block(text, "One.\nTwo.");
            assert_eq!(with_block(&once, "One.\nTwo."), once);
            assert!(once.replace("\r\n", "\n").contains("begin -->\nOne.\nTwo.\n<!--"), "{once}");
            assert!(
                with_block(&once, "Three.").contains("Three.")
                    && !with_block(&once, "Three.").contains("One.")
            );
            assert_eq!(without_block(&once), text);
            let followed = format!("{once}More.\n");
            assert_eq!(without_block(&followed), format!("{text}More.\n"));
        }
        assert_eq!(without_block("# Rules\n"), "# Rules\n");
    }
}
