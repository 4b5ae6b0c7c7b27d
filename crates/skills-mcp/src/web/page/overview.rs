//! The first view: a [`Report`] on one page, and each of its lists on a page of its own.

use askama::Template;

use super::{
    PERIODS, ROWS, format,
    svg::{Chart, Names, Point},
};
// Named by the templates' settings.
use crate::analytics::report::{ENOUGH, Report, ScriptUse};

/// So many rows of each list stand on the first view.
const FIRST: usize = 8;
/// And so many skills.
const TOP: usize = 12;

const NAMES: Names = Names {
    title: "Skills served and requests that found nothing, by day",
    up: "Served",
    down: "Found nothing",
};

/// A list that has a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Advice,
    Skills,
    Never,
    Misses,
    Patterns,
    Assets,
    Scripts,
    Health,
}

impl Section {
    /// By its name in an address.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "advice" => Self::Advice,
            "skills" => Self::Skills,
            "never" => Self::Never,
            "misses" => Self::Misses,
            "patterns" => Self::Patterns,
            "assets" | "unfetched" => Self::Assets,
            "scripts" => Self::Scripts,
            "health" => Self::Health,
            _ => return None,
        })
    }

    fn title(self) -> &'static str {
        match self {
            Self::Advice => "Everything to fix",
            Self::Skills => "All skills with events",
            Self::Never => "All skills never used",
            Self::Misses => "All requests that found nothing",
            Self::Patterns => "All words that lead to a skill",
            Self::Assets => "All files",
            Self::Scripts => "All scripts",
            Self::Health => "All problems of the catalog",
        }
    }
}

/// What is common to all pages: `here` is an address that a period can be added to.
#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    report: &'a Report,
    days: u64,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    limit: usize,
    top: usize,
    chart: Chart,
    most_served: u64,
    most_by_client: u64,
    /// The worst first, each with its place in the report.
    scripts: Vec<(usize, &'a ScriptUse)>,
}

#[derive(Template)]
#[template(path = "all.html")]
struct All<'a> {
    section: Section,
    report: &'a Report,
    days: u64,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    limit: usize,
    top: usize,
    most_served: u64,
    scripts: Vec<(usize, &'a ScriptUse)>,
}

/// The first view.
pub(super) fn overview(report: &Report, days: u64) -> askama::Result<String> {
    let points: Vec<Point> = report
        .days
        .iter()
        .map(|day| Point { date: day.date.clone(), up: day.served, down: day.misses })
        .collect();
    let page = Overview {
        report,
        days,
        here: "/?",
        periods: &PERIODS,
        enough: ENOUGH,
        limit: FIRST,
        top: TOP,
        chart: Chart::of(&points, report.period.unfinished, NAMES),
        most_served: most_served(report),
        most_by_client: report.clients.iter().map(|client| client.n).max().unwrap_or(0),
        scripts: worst_first(&report.scripts),
    };
    page.render()
}

/// One list, as far as it goes.
pub(super) fn all(
    report: &Report,
    section: Section,
    name: &str,
    days: u64,
) -> askama::Result<String> {
    let page = All {
        section,
        report,
        days,
        here: &format!("/all?of={}&", format::query(name)),
        periods: &PERIODS,
        enough: ENOUGH,
        limit: ROWS,
        top: ROWS,
        most_served: most_served(report),
        scripts: worst_first(&report.scripts),
    };
    page.render()
}

fn most_served(report: &Report) -> u64 {
    report.skills.iter().map(|skill| skill.served).max().unwrap_or(0)
}

/// What surely fails most, then what is slowest.
fn worst_first(scripts: &[ScriptUse]) -> Vec<(usize, &ScriptUse)> {
    let mut scripts: Vec<(usize, &ScriptUse)> = scripts.iter().enumerate().collect();
    let number = |number: Option<f64>| number.unwrap_or(0.0);
    scripts.sort_by(|(_, a), (_, b)| {
        let failing = number(b.failed.low).total_cmp(&number(a.failed.low));
        failing.then_with(|| number(b.p95_ms).total_cmp(&number(a.p95_ms)))
    });
    scripts
}
