//! Which codes of a check are shown as one finding each, with a count and three places, so that one cause does not bury the others.

use std::collections::{BTreeMap, BTreeSet};

use skills_core::diagnostic::{Code, Severity};

use super::{CheckedFinding, explain};
use crate::cli::{Output, output::safe, report::level_name};

/// A code with findings in more files than this is one finding, however few lines there are.
const MAX_FILES_EACH: usize = 10;
/// Findings that take more lines than this are folded, those that occur most often first.
const MAX_LINES: usize = 36;
/// A folded code takes this many lines.
const FOLDED_LINES: usize = 3;
const SHOWN_PLACES: usize = 3;

/// Chooses the codes that are folded.
pub(super) fn codes(findings: &[&CheckedFinding]) -> BTreeSet<Code> {
    let mut by_code: BTreeMap<Code, Vec<&CheckedFinding>> = BTreeMap::new();
    for found in findings {
        by_code.entry(found.diagnostic.finding.code).or_default().push(found);
    }
    let files = |found: &[&CheckedFinding]| {
        found.iter().map(|found| &found.path).collect::<BTreeSet<_>>().len()
    };
    let mut folded: BTreeSet<Code> = by_code
        .iter()
        .filter(|(_, found)| files(found) > MAX_FILES_EACH)
        .map(|(code, _)| *code)
        .collect();
    let mut lines: usize = by_code
        .iter()
        .map(|(code, found)| if folded.contains(code) { FOLDED_LINES } else { lines(found) })
        .sum();
    // Errors stay whole the longest.
    let mut others: Vec<(&Code, &Vec<&CheckedFinding>)> =
        by_code.iter().filter(|(code, _)| !folded.contains(code)).collect();
    others.sort_by_key(|(_, found)| {
        (found.first().map(|found| found.level) == Some(Severity::Error), usize::MAX - found.len())
    });
    for (code, found) in others {
        if lines > MAX_LINES && self::lines(found) > FOLDED_LINES {
            lines -= self::lines(found) - FOLDED_LINES;
            folded.insert(*code);
        }
    }
    folded
}

/// How many lines these findings of one code take.
fn lines(found: &[&CheckedFinding]) -> usize {
    let each = |found: &&CheckedFinding| {
        let finding = &found.diagnostic.finding;
        1 + 2 * usize::from(finding.at.line > 0) + usize::from(finding.hint.is_some())
    };
    1 + found.iter().map(each).sum::<usize>()
}

/// Prints all findings of a code as one.
pub(super) fn print(out: &mut Output, code: Code, findings: &[&CheckedFinding]) {
    let Some(first) = findings.first() else { return };
    let (count, level) = (findings.len(), level_name(first.level));
    out.entry("", 0, &format!("{count} x {level}[{}]: {}", code.name(), code.meaning()));
    let places: Vec<String> =
        findings.iter().take(SHOWN_PLACES).map(|found| found.place()).collect();
    let more = if count > SHOWN_PLACES { ", …" } else { "" };
    let places = format!("in {}{more}; --all shows each", safe(&places.join(", ")));
    out.dim_sentence("      ", &places);
    out.dim_sentence("      ", &format!("explained by {}", explain::command(code)));
}
