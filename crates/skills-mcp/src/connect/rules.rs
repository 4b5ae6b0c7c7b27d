//! The marked block of two lines in a project's `AGENTS.md`, for clients whose models never see a server's instructions.
//!
//! The words come from the instructions (`surface`). All clients read one block, so it says what is right for each of them.

use super::json::line_break;
use crate::clients::{CLIENTS, KnownClient};

/// The file that these clients read.
pub const RULES_FILE: &str = "AGENTS.md";
const BLOCK_BEGIN: &str = "<!-- skills-mcp:begin -->";
const BLOCK_END: &str = "<!-- skills-mcp:end -->";

/// Whether a rule is of use: the client has a project, and shows its model no instructions of a server.
pub fn has_rules(client: &KnownClient) -> bool {
    let hides = client.handling.is_some_and(|handling| handling.instructions.value == 0);
    hides && client.id != "claude-desktop"
}

/// Whether a block may be there for this client: also Codex may run in code mode, which looks the same from outside.
pub fn may_need_rules(client: &KnownClient) -> bool {
    has_rules(client) || client.id == "codex"
}

/// The clients whose models the block is for.
pub fn rule_readers() -> impl Iterator<Item = &'static KnownClient> {
    CLIENTS.iter().filter(|client| has_rules(client))
}

/// One rule in place of those that each client would get. Where two differ in the name of a tool, it says both names.
pub fn shared_rule(rules: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for rule in rules {
        if !distinct.contains(&rule.as_str()) {
            distinct.push(rule);
        }
    }
    let mut said: Vec<String> = Vec::new();
    while let Some((rule, others)) = distinct.split_first() {
        let mut rest = others.to_vec();
        let joined = rest.iter().position(|other| with_both_names(rule, other).is_some());
        let joined = joined.and_then(|at| with_both_names(rule, rest.remove(at)));
        said.push(joined.unwrap_or_else(|| (*rule).to_owned()));
        distinct = rest;
    }
    let Some((first, others)) = said.split_first() else { return String::new() };
    let first_line = first.lines().next().unwrap_or_default();
    others.iter().fold(first.clone(), |rule, other| {
        let other = other.strip_prefix(first_line).unwrap_or(other).trim_start();
        let (initial, rest) = other.split_at(other.chars().next().map_or(0, char::len_utf8));
        format!("{rule} Where there is no such tool: {}{rest}", initial.to_lowercase())
    })
}

/// Two texts as one, where they differ in nothing but one word.
fn with_both_names(one: &str, other: &str) -> Option<String> {
    let (words, others): (Vec<&str>, Vec<&str>) =
        (one.split(' ').collect(), other.split(' ').collect());
    let mut pairs = words.iter().zip(&others).filter(|(one, other)| one != other);
    let differing = pairs.next()?;
    if words.len() != others.len() || pairs.any(|pair| pair != differing) {
        return None;
    }
    let (name, other) = differing;
    let joined = words.iter().zip(&others).map(|(word, paired)| {
        if word == paired { (*word).to_owned() } else { format!("{name} or {other}") }
    });
    Some(joined.collect::<Vec<_>>().join(" "))
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

/// What is before the block, the block with its line break, and what is after. A mark without its other one is no block: what
/// is beside it is the person's.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let mut ends = text.match_indices(BLOCK_END).map(|(at, _)| at);
    let mut from = 0;
    let (start, end) = ends.find_map(|end| {
        let begin = text.get(from..end)?.rfind(BLOCK_BEGIN).map(|at| from + at);
        from = end;
        Some((begin?, end + BLOCK_END.len()))
    })?;
    let rest = text.get(end..)?;
    let line = ["\r\n", "\n"].iter().find_map(|end| rest.starts_with(end).then_some(end.len()));
    let end = end + line.unwrap_or(0);
    Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_is_right_for_all_that_read_it() {
        let rule = |ask: &str| format!("It has skills.\n{ask}");
        let rules = [
            rule("Before a task, call load_skill with a skill."),
            rule("Before a task, call skill with a skill."),
            rule("Before a task, call load_skill with a skill."),
        ];
        let shared = rule("Before a task, call load_skill or skill with a skill.");
        assert_eq!(shared_rule(&rules), shared);
        assert_eq!(shared_rule(rules.get(..1).unwrap()), rules[0]);
        let other = rule("Before a task, search with find.");
        let both = shared_rule(&[rules[1].clone(), other]);
        assert_eq!(
            both,
            format!("{} Where there is no such tool: before a task, search with find.", rules[1])
        );
        assert_eq!(shared_rule(&[]), "");
    }

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

    #[test]
    fn text_beside_a_mark_without_its_other_one_stays() {
        let (begin, end) = (BLOCK_BEGIN, BLOCK_END);
        let alone = [
            format!("# A\n{begin}\nfoo\n"),
            format!("# A\n{end}\nfoo\n"),
            format!("# A\n{end}\nfoo\n{begin}\nbar\n"),
            format!("{begin}\nfoo\n{begin}\nbar\n"),
        ];
        for text in alone {
            assert_eq!(without_block(&text), text);
            let once = with_block(&text, "One.");
            assert_eq!(once, format!("{text}\n{begin}\nOne.\n{end}\n"));
            assert_eq!(with_block(&once, "One."), once);
            assert_eq!(without_block(&once), text);
        }
    }
}
