//! A skill's own page: what it says, where it lies, and all that happened to it.

use askama::Template;
use skills_core::catalog::{Presence, Skill};

use super::{
    PERIODS, format,
    svg::{Chart, Names, Point},
};
use crate::{
    analytics::{
        archive::{Evidence, Story},
        report::{AssetUse, ENOUGH, Pattern, Report, ScriptUse, SkillUse},
        tally::Metric,
    },
    clock,
    event::{Event, Recorded},
    store::{Snapshot, Store, hex},
};

/// So many requests and answers are shown.
const SHOWN: usize = 12;

const NAMES: Names = Names {
    title: "How often it was served, and how often it was the nearest to a request that found nothing, by day",
    up: "Served",
    down: "Nearly found",
};

/// What a page is made of.
pub(super) struct Told<'a> {
    pub(super) name: &'a str,
    pub(super) days: u64,
    pub(super) report: &'a Report,
    pub(super) evidence: &'a Evidence,
    pub(super) story: &'a Story,
    pub(super) catalog: Option<(&'a Store, &'a Snapshot)>,
}

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage<'a> {
    name: &'a str,
    days: u64,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    report: &'a Report,
    known: Known,
    /// With its place in the report.
    used: Option<(usize, &'a SkillUse)>,
    chart: Chart,
    story: Vec<Point>,
    pattern: Option<&'a Pattern>,
    requests: Vec<Request<'a>>,
    nearly: Vec<Request<'a>>,
    feedback: Vec<Said<'a>>,
    files: Vec<File>,
}

/// What the catalog knows of it.
enum Known {
    NoCatalog,
    Nobody,
    Skill(Box<Described>),
}

struct Described {
    description: String,
    source: String,
    file: String,
    commit: Option<String>,
    digest: String,
    keywords: Vec<String>,
    ancestors: Vec<String>,
    text: Result<String, String>,
}

/// A request in words, and what became of it.
struct Request<'a> {
    words: &'a str,
    time: &'a str,
    day: &'a str,
    client: &'a str,
    score: Option<f64>,
    others: Vec<&'a str>,
}

/// What somebody said of it.
struct Said<'a> {
    useful: bool,
    comment: &'a str,
    time: &'a str,
    day: &'a str,
    client: &'a str,
}

/// A file that it declares, or that events speak of.
struct File {
    name: String,
    kind: &'static str,
    about: String,
    missing: bool,
    use_in_words: String,
}

/// The page.
pub(super) fn skill(told: &Told<'_>) -> askama::Result<String> {
    let Told { name, report, .. } = *told;
    let (known, found) = known(told);
    let story = points(told);
    let page = SkillPage {
        name,
        days: told.days,
        here: &format!("/skill?name={}&", format::query(name)),
        periods: &PERIODS,
        enough: ENOUGH,
        report,
        known,
        used: report.skills.iter().enumerate().find(|(_, used)| used.skill == name),
        chart: Chart::of(&story, report.period.unfinished, NAMES),
        story,
        pattern: report.patterns.iter().find(|pattern| pattern.skill == name),
        requests: requests(&told.evidence.recent, name),
        nearly: nearly(&told.evidence.recent, name),
        feedback: feedback(told),
        files: files(report, name, found),
    };
    page.render()
}

fn known<'a>(told: &Told<'a>) -> (Known, Option<&'a Skill>) {
    let Some((store, snapshot)) = told.catalog else { return (Known::NoCatalog, None) };
    let catalog = &snapshot.catalog;
    // By its very name: what events name is not guessed at.
    let is_it = |skill: &&Skill| *skill.identity == *told.name || *skill.label == *told.name;
    let Some(skill) = catalog.find(told.name).filter(is_it) else { return (Known::Nobody, None) };
    let sources = store.sources();
    let source = sources.get(skill.source);
    let repository = source.and_then(|source| source.repository());
    let place = match repository {
        Some(repository) => repository.remote().to_string(),
        None => snapshot.source_path(skill.source).to_string_lossy().into_owned(),
    };
    let name = source.map(|source| source.name().to_string()).unwrap_or_default();
    let described = Described {
        description: skill.fields().description.clone(),
        source: format!("{name} ({place})"),
        file: skill.file.as_str().to_owned(),
        commit: repository.and_then(|repository| repository.commit()),
        digest: format!("sha256:{}", hex(skill.document().digest())),
        keywords: skill.fields().keywords.clone(),
        ancestors: catalog.ancestors(skill).map(|above| above.identity.to_string()).collect(),
        text: snapshot
            .text(skill)
            .map(skills_core::document::Text::into_whole)
            .map_err(|error| error.to_string()),
    };
    (Known::Skill(Box::new(described)), Some(skill))
}

/// Day by day: served, and nearly found.
fn points(told: &Told<'_>) -> Vec<Point> {
    let mut points: Vec<Point> = told
        .report
        .days
        .iter()
        .map(|day| Point { date: day.date.clone(), ..Point::default() })
        .collect();
    for (day, metric, sum) in &told.story.days {
        let date = clock::day_of(day.saturating_mul(clock::DAY_MILLIS));
        let Ok(place) = points.binary_search_by(|point| point.date.cmp(&date)) else { continue };
        let Some(point) = points.get_mut(place) else { continue };
        if *metric == Metric::Served {
            point.up += sum.n;
        } else if *metric == Metric::Missed {
            point.down += sum.n;
        }
    }
    points
}

impl<'a> Request<'a> {
    fn of(recorded: &'a Recorded, score: Option<f64>, others: Vec<&'a str>) -> Option<Self> {
        Some(Self {
            words: recorded.event.context().filter(|words| !words.is_empty())?,
            time: &recorded.timestamp,
            day: day(recorded),
            client: recorded.client_name.as_deref().unwrap_or_default(),
            score,
            others,
        })
    }
}

fn day(recorded: &Recorded) -> &str {
    recorded.timestamp.get(..10).unwrap_or(&recorded.timestamp)
}

/// Taken from all the latest requests in words, like [`feedback`].
fn requests<'a>(recent: &'a [Recorded], name: &str) -> Vec<Request<'a>> {
    let served = recent.iter().filter_map(|recorded| {
        let Event::SkillServed(served) = &recorded.event else { return None };
        if served.skill_path != name {
            return None;
        }
        Request::of(recorded, served.score, Vec::new())
    });
    served.take(SHOWN).collect()
}

fn nearly<'a>(recent: &'a [Recorded], name: &str) -> Vec<Request<'a>> {
    let in_words = recent.iter().filter(|recorded| !recorded.call().is_by_name());
    let near = in_words.filter_map(|recorded| {
        if let Event::NoMatch(miss) = &recorded.event {
            let nearest = miss.closest_candidate.as_deref() == Some(name);
            return nearest.then(|| Request::of(recorded, miss.closest_score, Vec::new()))?;
        }
        let Event::Ambiguous(several) = &recorded.event else { return None };
        let candidates = several.candidates.iter().map(String::as_str);
        let others: Vec<&str> = candidates.filter(|other| *other != name).collect();
        let among = others.len() < several.candidates.len();
        among.then(|| Request::of(recorded, None, others))?
    });
    near.take(SHOWN).collect()
}

/// Answers are rare among a skill's events: they are taken from all the latest answers.
fn feedback<'a>(told: &Told<'a>) -> Vec<Said<'a>> {
    let said = told.evidence.recent.iter().filter_map(|recorded| {
        let Event::SkillFeedback(feedback) = &recorded.event else { return None };
        (feedback.skill_path == told.name).then(|| Said {
            useful: feedback.useful,
            comment: feedback.comment.as_deref().unwrap_or_default(),
            time: &recorded.timestamp,
            day: day(recorded),
            client: recorded.client_name.as_deref().unwrap_or_default(),
        })
    });
    said.take(SHOWN).collect()
}

/// Declared files first, in their order; then those that only events know.
fn files(report: &Report, name: &str, skill: Option<&Skill>) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    if let Some(skill) = skill {
        let assets = skill.assets().map(|(asset, presence)| {
            (asset.file.as_str(), asset.kind.word(), asset.description.clone(), presence)
        });
        let scripts = skill.scripts().map(|(script, presence)| {
            let kind = match script.execution.word() {
                "server" => "script, run here",
                _ => "script, run by the agent",
            };
            (script.file.as_str(), kind, script.description.clone(), presence)
        });
        files.extend(assets.chain(scripts).map(|(file, kind, about, presence)| File {
            name: file.to_owned(),
            kind,
            about,
            missing: presence != Presence::Present,
            use_in_words: String::new(),
        }));
    }
    let assets: Vec<&AssetUse> = report.assets.iter().filter(|used| used.skill == name).collect();
    let scripts: Vec<&ScriptUse> =
        report.scripts.iter().filter(|used| used.skill == name).collect();
    let in_events = assets.iter().map(|used| (&used.file, "asset"));
    for (file, kind) in in_events.chain(scripts.iter().map(|used| (&used.file, "script"))) {
        if !files.iter().any(|known| known.name == *file) {
            files.push(File {
                name: file.clone(),
                kind,
                about: String::new(),
                missing: false,
                use_in_words: String::new(),
            });
        }
    }
    for file in &mut files {
        let asset = assets.iter().find(|used| used.file == file.name);
        let script = scripts.iter().find(|used| used.file == file.name);
        file.use_in_words = in_words(asset.copied(), script.copied());
    }
    files
}

fn in_words(asset: Option<&AssetUse>, script: Option<&ScriptUse>) -> String {
    let mut words = Vec::new();
    if let Some(asset) = asset.filter(|asset| asset.fetched > 0) {
        words.push(format!("fetched {}×", format::count(asset.fetched)));
    }
    if let Some(script) = script {
        if script.runs > 0 {
            let (runs, failed) = (format::count(script.runs), format::count(script.failed.n));
            words.push(format!("run {runs}×, of which {failed} failed"));
            words.push(format!(
                "p50 {}, p95 {}",
                format::millis(script.p50_ms),
                format::millis(script.p95_ms)
            ));
        }
        if script.refused > 0 {
            words.push(format!("refused {}×", format::count(script.refused)));
        }
    }
    if words.is_empty() { "not used in these days".to_owned() } else { words.join(" · ") }
}
