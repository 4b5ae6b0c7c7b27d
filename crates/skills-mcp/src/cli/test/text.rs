//! The results of routing tests for people.

use super::{ExplainedTest, Output, Results};
use crate::cli::output::{bold, counted, dim, fitted, safe};

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
            out.line(format!("   {won} for {expected}  {}", dim(&counted(*count, "request"))));
        }
        let left = results.confused.len().saturating_sub(MAX_LISTED_PAIRS);
        if left > 0 {
            out.line(dim(&format!(
                "   and {} more (--format json lists all)",
                counted(left, "pair")
            )));
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
    let of = |count: usize| format!("{count} of {}", scores.requests);
    let row = |what: &str, cells: [String; 3]| {
        let [formula, ranked, shown] = cells;
        let row = format!("   {what:<24}{formula:>16}{ranked:>16}{shown:>16}");
        row.trim_end().to_owned()
    };
    out.line("");
    out.line(dim(&row("", ["keywords", "ranked search", "together"].map(str::to_owned))));
    out.line(row(
        "first (hit@1)",
        [of(scores.decided_right), of(scores.ranked_first), of(scores.shown_first)],
    ));
    out.line(row(
        "first three (recall@3)",
        [String::new(), of(scores.ranked_third), of(scores.shown_third)],
    ));
    if scores.decided_wrong > 0 {
        let wrong = scores.decided_wrong;
        out.line(row("another skill", [of(wrong), String::new(), String::new()]));
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

/// Why a test fails, and what would turn it.
pub(in crate::cli) fn explanation(out: &mut Output, test: &ExplainedTest) {
    let lines = [
        ("", test.failure.as_ref()),
        ("keywords: ", Some(&test.formula)),
        ("ranked search: ", Some(&test.ranked)),
        ("smallest change: ", test.change.as_ref()),
    ];
    for (head, line) in lines {
        if let Some(line) = line {
            let line: String = safe(line).split_whitespace().collect::<Vec<_>>().join(" ");
            out.line(format!("   {}{line}", dim(head)));
        }
    }
}
