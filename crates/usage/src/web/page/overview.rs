//! The first view: a [`UsageReport`] on one page, and each of its lists on a page of its own.

use askama::Template;
use skills_page::frame::Frame;

use super::{
    MAX_ROWS, PERIODS, PageScope, format,
    svg::{Chart, ChartNames, ChartPoint},
};
// Named by the templates' settings.
use crate::report::{MIN_OBSERVATIONS, ScriptUse, UsageReport};

/// Of each list on the first view.
const MAX_OVERVIEW_ROWS: usize = 8;
/// On the first view.
const MAX_OVERVIEW_SKILLS: usize = 12;

const NAMES: ChartNames = ChartNames {
    title: "Skills served and requests that found nothing, by day",
    up: "Served",
    down: "Found nothing",
};

/// A list that has a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportSection {
    Advice,
    Skills,
    Never,
    Misses,
    Patterns,
    Assets,
    Scripts,
    Clients,
    Servers,
    Health,
}

impl ReportSection {
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
            "clients" => Self::Clients,
            "servers" => Self::Servers,
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
            Self::Clients => "All clients",
            Self::Servers => "All servers",
            Self::Health => "All findings",
        }
    }
}

/// What is common to all pages: `here` is an address that a period can be added to.
#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    frame: Frame,
    report: &'a UsageReport,
    scope: &'a PageScope,
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
struct ReportListPage<'a> {
    frame: Frame,
    section: ReportSection,
    report: &'a UsageReport,
    scope: &'a PageScope,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    limit: usize,
    top: usize,
    most_served: u64,
    scripts: Vec<(usize, &'a ScriptUse)>,
}

/// The first view.
pub(super) fn overview(
    report: &UsageReport,
    scope: &PageScope,
    frame: Frame,
) -> askama::Result<String> {
    let points: Vec<ChartPoint> = report
        .days
        .iter()
        .map(|day| ChartPoint { date: day.date.clone(), up: day.served, down: day.misses })
        .collect();
    let page = OverviewPage {
        frame,
        report,
        scope,
        here: "/?",
        periods: &PERIODS,
        enough: MIN_OBSERVATIONS,
        limit: MAX_OVERVIEW_ROWS,
        top: MAX_OVERVIEW_SKILLS,
        chart: Chart::of(&points, report.period.unfinished, NAMES),
        most_served: most_served(report),
        most_by_client: report.clients.iter().map(|client| client.n).max().unwrap_or(0),
        scripts: worst_first(&report.scripts),
    };
    page.render()
}

/// One list, as far as it goes.
pub(super) fn all(
    report: &UsageReport,
    section: ReportSection,
    name: &str,
    scope: &PageScope,
    frame: Frame,
) -> askama::Result<String> {
    let page = ReportListPage {
        frame,
        section,
        report,
        scope,
        here: &format!("/all?of={}&", format::query(name)),
        periods: &PERIODS,
        enough: MIN_OBSERVATIONS,
        limit: MAX_ROWS,
        top: MAX_ROWS,
        most_served: most_served(report),
        scripts: worst_first(&report.scripts),
    };
    page.render()
}

fn most_served(report: &UsageReport) -> u64 {
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
