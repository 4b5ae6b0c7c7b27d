//! `stats`: what was used, what helped, what was missing.
//!
//! From the history of this machine, from an archive, or from a collector. Not here: what the numbers are (`skills_usage::report`).

mod collector;
mod csv;
mod table;
mod text;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
};

use skills_core::catalog::Catalog;
use skills_usage::{
    archive::{Archive, Period, Story, lines::LineArchive},
    clock, journal,
    report::{CatalogSummary, UsageReport},
    settings::Analytics,
};

use super::collect::archive_address;
use crate::{
    cli::{
        Context, Failure, Output,
        opened::Opened,
        output::{aside, counted, safe},
    },
    source::Directory,
};

#[derive(clap::Args)]
pub(crate) struct StatsOptions {
    /// The last N days, including today
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3_660), conflicts_with_all = ["since", "until"])]
    days: u64,
    /// From this day on, such as 2026-02-18 (UTC)
    #[arg(long, value_name = "DAY", conflicts_with = "from")]
    since: Option<String>,
    /// Up to this day and including it
    #[arg(long, value_name = "DAY", conflicts_with = "from")]
    until: Option<String>,
    /// Read this history, not the one that `analytics.file` names
    #[arg(long, value_name = "FILE", conflicts_with_all = ["store", "from"])]
    file: Option<PathBuf>,
    /// Read an archive: `sqlite:FILE`, `postgres://USER@HOST/DATABASE`, or `postgres` for the URL in
    /// `DATABASE_URL`
    #[arg(long, value_name = "ARCHIVE", conflicts_with = "from")]
    store: Option<String>,
    /// Ask a collector, with the token in `ANALYTICS_TOKEN` if it needs one
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// Only this skill
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Only the calls of this client, such as claude-code
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Show at most N rows of each list
    #[arg(long, value_name = "N", default_value = "10")]
    top: usize,
    /// Print the whole report as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print one table as CSV
    #[arg(long, value_enum, value_name = "TABLE")]
    csv: Option<csv::CsvTable>,
}

/// Without a terminal there is no width; this is as wide as a table gets.
const MAX_WIDTH: usize = 160;
/// Shown of one skill.
const MAX_SKILL_EVENTS: usize = 10;
/// So many names are proposed for one that does not exist.
const MAX_NEAR_NAMES: usize = 3;
/// So many clients are named where another was asked for.
const MAX_NAMED_CLIENTS: usize = 10;

pub(super) fn run(context: &Context, options: &StatsOptions) -> Result<ExitCode, Failure> {
    let today = clock::today();
    let period = options.period(today)?;
    let asked = if let Some(url) = &options.from {
        let report = collector::report(url, options.days, options.client.as_deref())?;
        FoundStats {
            skill: options.skill.as_deref().map(|skill| named_in(skill, &in_events(&report), None)),
            report,
            story: None,
            settings: None,
            place: String::new(),
        }
    } else {
        asked(context, options, period, today)?
    };
    let FoundStats { mut report, skill, story, settings, place } = asked;
    if let Some(client) = options.client.as_deref().filter(|client| !report.has_caller(client)) {
        return Err(unknown_client(client, &report));
    }
    let skill = skill.transpose()?;
    let nothing = report.totals.events == 0;
    if let Some(skill) = &skill {
        report = report.narrowed(skill);
    }
    let mut out = Output::new();
    if options.json {
        out.json(&report);
    } else if let Some(table) = options.csv {
        csv::print(&mut out, &report, table);
    } else if nothing {
        let said = text::nothing(&report, &place, settings.as_ref());
        said.lines().for_each(|sentence| out.sentence("", sentence));
    } else {
        let width = out.width.min(MAX_WIDTH);
        let page = text::StatsText { report: &report, story: story.as_ref(), top: options.top };
        page.lines(width, skill.as_deref()).iter().for_each(|line| out.line(line));
    }
    Ok(ExitCode::SUCCESS)
}

/// What an archive answered.
struct FoundStats {
    report: UsageReport,
    /// What events call the skill that was asked for.
    skill: Option<Result<String, Failure>>,
    story: Option<Story>,
    /// Those that say where the history is, where it was asked.
    settings: Option<Analytics>,
    place: String,
}

fn asked(
    context: &Context,
    options: &StatsOptions,
    period: Period,
    today: i64,
) -> Result<FoundStats, Failure> {
    let Opened { store, snapshot, .. } = context.opened()?;
    let is_there = store.sources().iter().any(Directory::is_there);
    let settings = snapshot.settings().analytics.clone();
    let catalog = is_there.then(|| CatalogSummary::of(&snapshot.catalog));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (archive, place) = match &options.store {
            Some(address) => (Archive::look(&archive_address(address)?).await?, String::new()),
            None => history(context, options.file.as_deref(), &settings)?,
        };
        let client = options.client.as_deref();
        let evidence = archive.evidence(period, client).await?;
        let report = UsageReport::of(&evidence, catalog.as_ref(), period, today);
        let skill = options.skill.as_deref().map(|skill| {
            let mut named = in_events(&report);
            let served = catalog.iter().flat_map(|catalog| &catalog.skills);
            named.extend(served.map(|skill| skill.name.clone()));
            named_in(skill, &named, Some(&snapshot.catalog))
        });
        let story = match &skill {
            Some(Ok(skill)) => Some(archive.story(skill, period, client, MAX_SKILL_EVENTS).await?),
            Some(Err(_)) | None => None,
        };
        passed_over(&archive);
        let settings = options.store.is_none().then_some(settings);
        Ok(FoundStats { report, skill, story, settings, place })
    })
}

/// What events call a skill that a person names, by its identity or by another name that the catalog knows it by.
fn named_in(
    skill: &str,
    named: &BTreeSet<String>,
    catalog: Option<&Catalog>,
) -> Result<String, Failure> {
    if named.contains(skill) {
        return Ok(skill.to_owned());
    }
    let served = catalog.and_then(|catalog| catalog.find(skill));
    served.map(|served| served.identity.to_string()).ok_or_else(|| unknown_skill(skill, named))
}

/// The skills that the events of a report are about.
fn in_events(report: &UsageReport) -> BTreeSet<String> {
    report.skills.iter().map(|used| used.skill.clone()).collect()
}

fn unknown_client(client: &str, report: &UsageReport) -> Failure {
    let callers: Vec<String> =
        report.callers.iter().take(MAX_NAMED_CLIENTS).map(|caller| safe(&caller.name)).collect();
    let hint = if callers.is_empty() {
        "no call of these days names its client".to_owned()
    } else {
        format!("these called: {}", callers.join(", "))
    };
    Failure::usage(format!("no client `{}` called in these days", safe(client)), hint)
}

fn unknown_skill(skill: &str, named: &BTreeSet<String>) -> Failure {
    let asked = skill.to_lowercase();
    let mut near: Vec<(usize, &String)> = named
        .iter()
        .map(|name| (strsim::osa_distance(&asked, &name.to_lowercase()), name))
        .collect();
    near.sort();
    let is_near = |distance: usize, name: &str| {
        distance * 2 < asked.chars().count().max(4) || name.to_lowercase().contains(&asked)
    };
    let near: Vec<&str> = near
        .into_iter()
        .filter(|(distance, name)| is_near(*distance, name))
        .take(MAX_NEAR_NAMES)
        .map(|(_, name)| name.as_str())
        .collect();
    let hint = if near.is_empty() {
        "`skills-mcp list` shows the skills that are served".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    let message = format!("there is no skill `{}`, and no event is about one", safe(skill));
    Failure::usage(message, hint)
}

/// Says how many lines of a history were no events.
fn passed_over(archive: &Archive) {
    let Archive::Lines(lines) = archive else { return };
    let (passed, place) = (lines.unreadable(), safe(&lines.place()));
    if passed > 0 {
        let passed = counted(usize::try_from(passed).unwrap_or(usize::MAX), "line");
        aside(&format!("{passed} of {place} and what it was before: no events, passed over"));
    }
}

/// The history of this machine.
pub(super) fn history(
    context: &Context,
    named: Option<&Path>,
    settings: &Analytics,
) -> Result<(Archive, String), Failure> {
    let home = context.environment.home.as_deref();
    let file = named.map(Path::to_owned).or_else(|| journal::history(settings, home)).ok_or_else(
        || {
            Failure::usage(
                format!("`analytics.file` is {} and there is no home folder", settings.file),
                "name the history with --file FILE",
            )
        },
    )?;
    let lines = LineArchive::new(file);
    // The history of the settings begins with the first event; a file that a person names is there.
    if named.is_some() {
        lines.check()?;
    }
    let place = lines.place();
    Ok((Archive::Lines(lines), place))
}

impl StatsOptions {
    fn period(&self, today: i64) -> Result<Period, Failure> {
        let day = |flag: &str, text: &str| {
            let millis = clock::millis_of(&format!("{text}T00:00:00Z"));
            millis.map(|millis| millis.div_euclid(clock::DAY_MILLIS)).ok_or_else(|| {
                Failure::usage(
                    format!("{flag} is `{}`, which is no day", safe(text)),
                    "use a day such as 2026-02-18",
                )
            })
        };
        let to = self.until.as_deref().map_or(Ok(today), |text| day("--until", text))?;
        let from = match self.since.as_deref() {
            Some(text) => day("--since", text)?,
            None => Period::last(self.days, to).from,
        };
        if from > to {
            let message = "--since is a later day than --until".to_owned();
            return Err(Failure::usage(message, "swap them"));
        }
        Ok(Period { from, to })
    }
}
