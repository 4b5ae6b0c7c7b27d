//! The results of routing tests for people.

use super::{ExplainedTest, Output, Results};
use crate::cli::output::{bold, counted, dim, fitted, safe};

/// On a narrower terminal the scores are below each other.
const SCORE_TABLE_WIDTH: usize = 76;
/// So many pairs of confused skills are listed.
const MAX_LISTED_PAIRS: usize = 10;

pub(super) fn print(out: &mut Output, results: &Results) {
    let (tests, skills) = (results.tests.len(), results.skills);
    out.line(bold(&format!(
        "{} over {}",
        counted(tests, "routing test"),
        counted(skills, "skill")
    )));
    scores(out, results);
    for test in results.tests.iter().filter(|test| !test.passed()) {
        failure(out, test);
    }
    if !results.confused.is_empty() {
        out.heading("Confused");
        for (expected, won, count) in results.confused.iter().take(MAX_LISTED_PAIRS) {
            let requests = counted(*count, "request");
            out.sentence("   ", &format!("{won} for {expected} ({requests})"));
        }
        let left = results.confused.len().saturating_sub(MAX_LISTED_PAIRS);
        if left > 0 {
            let left = counted(left, "pair");
            out.dim_sentence("   ", &format!("and {left} more (--format json lists all)"));
        }
    }
    out.line("");
    let failed = results.failed();
    out.line(match (failed, tests) {
        (0, 1) => "The test passes.".to_owned(),
        (0, _) => format!("All {} pass.", counted(tests, "test")),
        (1, _) => format!("1 of {} fails.", counted(tests, "test")),
        _ => format!("{failed} of {} fail.", counted(tests, "test")),
    });
}

fn scores(out: &mut Output, results: &Results) {
    let scores = results.scores;
    if scores.requests == 0 {
        return;
    }
    let of = |count: usize| Some(format!("{count} of {}", scores.requests));
    let heads = ["loaded", "ranked search", "shown"];
    let mut rows = vec![
        (
            "first (hit@1)",
            [of(scores.loaded_right), of(scores.ranked_first), of(scores.shown_first)],
        ),
        ("first three (recall@3)", [None, of(scores.ranked_third), of(scores.shown_third)]),
    ];
    if scores.loaded_wrong > 0 {
        rows.push(("another skill", [of(scores.loaded_wrong), None, None]));
    }
    out.line("");
    if out.width < SCORE_TABLE_WIDTH {
        for (what, cells) in &rows {
            out.line(format!("   {what}"));
            for (head, cell) in heads.iter().zip(cells) {
                if let Some(cell) = cell {
                    out.line(format!("     {} {cell}", dim(head)));
                }
            }
        }
        return;
    }
    let row = |what: &str, cells: [&str; 3]| {
        let [formula, ranked, shown] = cells;
        let row = format!("   {what:<24}{formula:>16}{ranked:>16}{shown:>16}");
        row.trim_end().to_owned()
    };
    out.line(dim(&row("", heads)));
    for (what, cells) in &rows {
        out.line(row(what, cells.each_ref().map(|cell| cell.as_deref().unwrap_or_default())));
    }
}

fn failure(out: &mut Output, test: &ExplainedTest) {
    let place = &test.place;
    let at = format!("{}:{}:{}", place.file, place.line, place.column);
    out.line("");
    out.line(format!("{} {}", bold("FAIL"), safe(&at)));
    out.line(format!(
        "   “{}”",
        fitted(&test.test.test.request, out.width.saturating_sub(6).min(200))
    ));
    explanation(out, test);
}

/// Why a test fails.
pub(in crate::cli) fn explanation(out: &mut Output, test: &ExplainedTest) {
    let lines = [
        ("", test.failure.as_ref()),
        ("keywords: ", Some(&test.formula)),
        ("ranked search: ", Some(&test.ranked)),
    ];
    for (head, line) in lines {
        if let Some(line) = line {
            out.led("   ", head.trim_end(), dim, line);
        }
    }
}
