//! One table as CSV (RFC 4180), harmless to a spreadsheet: a cell that it would take for a formula starts with an
//! apostrophe.

use skills_core::diagnostic::escaped;

use skills_usage::report::{Rate, Unused, UsageReport};

use crate::cli::Output;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CsvTable {
    /// One row for each skill
    Skills,
    /// One row for each group of requests that found nothing
    Misses,
    /// One row for each script
    Scripts,
    /// One row for each file
    Assets,
    /// One row for each day
    Days,
    /// One row for each skill that was never served
    #[value(alias = "never_served")]
    NeverServed,
    /// One row for each declared file that was never fetched
    #[value(alias = "never_fetched")]
    NeverFetched,
    /// One row for each word that leads to a skill
    Patterns,
    /// One row: who runs scripts
    Execution,
    /// One row for each server
    Servers,
}

/// Prints the table; lines end as the standard says.
pub(super) fn print(out: &mut Output, report: &UsageReport, table: CsvTable) {
    for row in rows(report, table) {
        let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
        out.line(format!("{}\r", cells.join(",")));
    }
}

type CsvRow = Vec<String>;

fn rows(report: &UsageReport, table: CsvTable) -> Vec<CsvRow> {
    let (head, rows): (&str, Vec<CsvRow>) = match table {
        CsvTable::Skills => (
            "skill served tokens loaded useful useful_of useful_low useful_high useless_in_a_row shown taken tied chosen nearly",
            skills(report),
        ),
        CsvTable::Misses => {
            ("terms requests nearest nearest_score keywords example", misses(report))
        }
        CsvTable::Scripts => (
            "skill file runs failed failed_low failed_high refused fetched p50_ms p95_ms",
            scripts(report),
        ),
        CsvTable::Assets => ("skill file fetched bytes", assets(report)),
        CsvTable::Days => ("date served misses searches scripts tokens", days(report)),
        CsvTable::NeverServed => {
            ("skill description", never(report.never_served.as_deref(), false))
        }
        CsvTable::NeverFetched => {
            ("skill file description", never(report.never_fetched.as_deref(), true))
        }
        CsvTable::Patterns => ("skill requests word requests_with_it", patterns(report)),
        CsvTable::Servers => (
            "server version older_version commit older_commit calls last_seen clients",
            servers(report),
        ),
        CsvTable::Execution => ("server claude share low high", vec![execution(report)]),
    };
    std::iter::once(head.split(' ').map(str::to_owned).collect()).chain(rows).collect()
}

fn skills(report: &UsageReport) -> Vec<CsvRow> {
    let row = |skill: &skills_usage::report::SkillUse| {
        let mut row = vec![
            skill.skill.clone(),
            skill.served.to_string(),
            skill.tokens.to_string(),
            skill.loaded.to_string(),
            skill.useful.n.to_string(),
            skill.useful.of.to_string(),
        ];
        row.extend(bounds(&skill.useful));
        let (shown, taken, tied, chosen) = (skill.shown, skill.taken.n, skill.tied, skill.chosen);
        let counts = [skill.useless_in_a_row, shown, taken, tied, chosen, skill.nearly];
        row.extend(counts.map(|count| count.to_string()));
        row
    };
    report.skills.iter().map(row).collect()
}

fn misses(report: &UsageReport) -> Vec<CsvRow> {
    let row = |group: &skills_usage::report::Misses| {
        vec![
            group.terms.join(" "),
            group.requests.to_string(),
            group.nearest.clone().unwrap_or_default(),
            number(group.nearest_score, 4),
            group.keywords.join(" "),
            group.examples.first().cloned().unwrap_or_default(),
        ]
    };
    report.misses.iter().map(row).collect()
}

fn scripts(report: &UsageReport) -> Vec<CsvRow> {
    let row = |script: &skills_usage::report::ScriptUse| {
        let mut row = vec![
            script.skill.clone(),
            script.file.clone(),
            script.runs.to_string(),
            script.failed.n.to_string(),
        ];
        row.extend(bounds(&script.failed));
        row.extend([script.refused.to_string(), script.fetched.to_string()]);
        row.extend([number(script.p50_ms, 0), number(script.p95_ms, 0)]);
        row
    };
    report.scripts.iter().map(row).collect()
}

fn assets(report: &UsageReport) -> Vec<CsvRow> {
    let row = |asset: &skills_usage::report::AssetUse| {
        let counts = [asset.fetched, asset.bytes].map(|count| count.to_string());
        [asset.skill.clone(), asset.file.clone()].into_iter().chain(counts).collect()
    };
    report.assets.iter().map(row).collect()
}

fn days(report: &UsageReport) -> Vec<CsvRow> {
    let row = |day: &skills_usage::report::Day| {
        let counts = [day.served, day.misses, day.searches, day.scripts, day.tokens];
        std::iter::once(day.date.clone()).chain(counts.map(|count| count.to_string())).collect()
    };
    report.days.iter().map(row).collect()
}

/// Where no catalog is known there is nothing to say.
fn never(list: Option<&[Unused]>, is_of_files: bool) -> Vec<CsvRow> {
    let row = |unused: &Unused| {
        let file = is_of_files.then(|| unused.file.clone().unwrap_or_default());
        let row = std::iter::once(unused.skill.clone()).chain(file);
        row.chain([unused.description.clone()]).collect()
    };
    list.unwrap_or_default().iter().map(row).collect()
}

fn patterns(report: &UsageReport) -> Vec<CsvRow> {
    let rows = report.patterns.iter().flat_map(|pattern| {
        pattern.terms.iter().map(|term| {
            let requests = pattern.requests.to_string();
            vec![pattern.skill.clone(), requests, term.name.clone(), term.n.to_string()]
        })
    });
    rows.collect()
}

fn execution(report: &UsageReport) -> CsvRow {
    let execution = &report.execution;
    let mut row = vec![execution.server.to_string(), execution.claude.to_string()];
    row.push(number(execution.share.share, 4));
    row.extend(bounds(&execution.share));
    row
}

fn servers(report: &UsageReport) -> Vec<CsvRow> {
    let row = |server: &skills_usage::report::ServerUse| {
        vec![
            server.server.clone(),
            server.version.clone().unwrap_or_default(),
            server.older_version.to_string(),
            server.commit.clone().unwrap_or_default(),
            server.older_commit.to_string(),
            server.calls.to_string(),
            server.last_seen.clone(),
            server.clients.join(" "),
        ]
    };
    report.servers.iter().map(row).collect()
}

fn bounds(rate: &Rate) -> [String; 2] {
    [number(rate.low, 4), number(rate.high, 4)]
}

fn number(number: Option<f64>, digits: usize) -> String {
    number.map(|number| format!("{number:.digits$}")).unwrap_or_default()
}

/// A cell as it is written.
fn quoted(cell: &str) -> String {
    // It may be a terminal that reads it: of what steers one, only the end of a line is left.
    let cell: String = cell.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
    // A return before the sign would hide it from us and not from a spreadsheet.
    let formula = cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        || cell.starts_with('\n');
    let text = if formula { format!("'{cell}") } else { cell };
    // Where commas are for numbers, semicolons part cells.
    if text.contains(['"', ',', ';', '\n']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use skills_usage::report::{Counted, Misses, Pattern, SkillUse};

    #[test]
    fn cells_are_quoted_and_no_formula_gets_through() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(1,2)", " =1", "\n=1", "＝1"] {
            let safe = quoted(formula);
            assert!(safe.trim_start_matches('"').starts_with('\''), "{formula:?}: {safe:?}");
        }
    }

    #[test]
    fn no_cell_steers_a_terminal_or_is_two_where_semicolons_part_them() {
        assert_eq!(quoted("a\u{1b}[2J\u{202e}b\tc\rd"), r"a\u{1b}[2J\u{202e}b\u{9}c\u{d}d");
        assert_eq!(quoted("a;=1+1"), "\"a;=1+1\"");
    }

    #[test]
    fn every_row_has_a_cell_for_each_heading() {
        let report = UsageReport {
            skills: vec![SkillUse::default()],
            misses: vec![Misses::default()],
            scripts: vec![skills_usage::report::ScriptUse::default()],
            assets: vec![skills_usage::report::AssetUse::default()],
            days: vec![skills_usage::report::Day::default()],
            servers: vec![skills_usage::report::ServerUse::default()],
            never_served: Some(vec![Unused::default()]),
            never_fetched: Some(vec![Unused::default()]),
            patterns: vec![Pattern { terms: vec![Counted::default()], ..Pattern::default() }],
            ..UsageReport::default()
        };
        for table in CsvTable::value_variants() {
            let table = *table;
            let rows = rows(&report, table);
            assert_eq!(rows.len(), 2, "{table:?}");
            assert_eq!(rows[0].len(), rows[1].len(), "{table:?}");
        }
    }
}
