//! A skill's own page: what it says, where it comes from, and all that happened to it.

use askama::Template;
use skills_core::{
    catalog::{Presence, Skill},
    digest::hex,
};
use skills_page::frame::Frame;

use super::{
    PERIODS, PageScope, format,
    svg::{Chart, ChartNames, ChartPoint},
};
use crate::{
    archive::{Evidence, Story},
    clock,
    event::{Event, RecordedEvent},
    report::{AssetUse, MIN_OBSERVATIONS, Pattern, ScriptUse, SkillUse, UsageReport},
    served::CatalogSnapshot,
    tally::Metric,
};

/// So many requests and answers are shown.
const MAX_SHOWN_REQUESTS: usize = 12;

const NAMES: ChartNames = ChartNames {
    title: "How often it was served, and how often it was the nearest to a request that found nothing, by day",
    up: "Served",
    down: "Nearly found",
};

/// What a page is made of.
pub(super) struct SkillPageData<'a> {
    pub(super) name: &'a str,
    pub(super) scope: &'a PageScope,
    pub(super) report: &'a UsageReport,
    pub(super) evidence: &'a Evidence,
    pub(super) story: &'a Story,
    pub(super) catalog: Option<&'a dyn CatalogSnapshot>,
    pub(super) frame: Frame,
}

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage<'a> {
    frame: Frame,
    name: &'a str,
    scope: &'a PageScope,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
    report: &'a UsageReport,
    known: KnownSkill,
    /// With its place in the report.
    used: Option<(usize, &'a SkillUse)>,
    chart: Chart,
    story: Vec<ChartPoint>,
    pattern: Option<&'a Pattern>,
    requests: Vec<ShownRequest<'a>>,
    nearly: Vec<ShownRequest<'a>>,
    feedback: Vec<ShownFeedback<'a>>,
    files: Vec<ShownFile>,
}

/// What the catalog knows of it.
enum KnownSkill {
    NoCatalog,
    Unknown,
    Skill(Box<SkillDescription>),
}

struct SkillDescription {
    identity: String,
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
struct ShownRequest<'a> {
    words: &'a str,
    time: &'a str,
    day: &'a str,
    client: &'a str,
    score: Option<f64>,
    /// The engine that decided for the skill, in words; empty if unknown.
    found_by: &'static str,
    others: Vec<&'a str>,
    /// How often it was made; the rest is of the latest.
    times: usize,
}

/// Feedback on it.
struct ShownFeedback<'a> {
    useful: bool,
    comment: &'a str,
    time: &'a str,
    day: &'a str,
    client: &'a str,
}

/// A file that it declares, or that events speak of.
struct ShownFile {
    name: String,
    kind: &'static str,
    about: String,
    missing: bool,
    use_in_words: String,
}

/// The page.
pub(super) fn skill(data: &SkillPageData<'_>) -> askama::Result<String> {
    let SkillPageData { name, report, .. } = *data;
    let (known, found) = known(data);
    let story = points(data);
    let page = SkillPage {
        frame: data.frame,
        name,
        scope: data.scope,
        here: &format!("/skill?name={}&", format::query(name)),
        periods: &PERIODS,
        enough: MIN_OBSERVATIONS,
        report,
        known,
        used: report.skills.iter().enumerate().find(|(_, used)| used.skill == name),
        chart: Chart::of(&story, report.period.unfinished, NAMES),
        story,
        pattern: report.patterns.iter().find(|pattern| pattern.skill == name),
        requests: requests(&data.evidence.recent, name),
        nearly: nearly(&data.evidence.recent, name),
        feedback: feedback(data),
        files: files(report, name, found),
    };
    page.render()
}

fn known<'a>(data: &SkillPageData<'a>) -> (KnownSkill, Option<&'a Skill>) {
    let Some(snapshot) = data.catalog else { return (KnownSkill::NoCatalog, None) };
    let catalog = snapshot.catalog();
    // By its very name: what events name is not guessed at.
    let is_it = |skill: &&Skill| *skill.identity == *data.name || *skill.label == *data.name;
    let Some(skill) = catalog.find(data.name).filter(is_it) else {
        return (KnownSkill::Unknown, None);
    };
    let origin = snapshot.origin(skill);
    let described = SkillDescription {
        identity: skill.identity.to_string(),
        description: skill.fields().description.clone(),
        source: format!("{} ({})", origin.source, origin.location),
        file: skill.file.as_str().to_owned(),
        commit: origin.commit,
        digest: format!("sha256:{}", hex(skill.document().digest())),
        keywords: skill.fields().keywords.clone(),
        ancestors: catalog.ancestors(skill).map(|above| above.identity.to_string()).collect(),
        text: snapshot.text(skill),
    };
    (KnownSkill::Skill(Box::new(described)), Some(skill))
}

/// Day by day: served, and nearly found.
fn points(data: &SkillPageData<'_>) -> Vec<ChartPoint> {
    let mut points: Vec<ChartPoint> = data
        .report
        .days
        .iter()
        .map(|day| ChartPoint { date: day.date.clone(), ..ChartPoint::default() })
        .collect();
    for (day, metric, sum) in &data.story.days {
        let day = clock::day_of(day.saturating_mul(clock::DAY_MILLIS));
        let Ok(place) = points.binary_search_by(|point| point.date.cmp(&day)) else { continue };
        let Some(point) = points.get_mut(place) else { continue };
        if *metric == Metric::Served {
            point.up += sum.n;
        } else if *metric == Metric::Missed {
            point.down += sum.n;
        }
    }
    points
}

impl<'a> ShownRequest<'a> {
    fn of(recorded: &'a RecordedEvent, score: Option<f64>, others: Vec<&'a str>) -> Option<Self> {
        Some(Self {
            words: recorded.event.context().filter(|words| !words.is_empty())?,
            time: &recorded.timestamp,
            day: day(recorded),
            client: recorded.client_name.as_deref().unwrap_or_default(),
            score,
            found_by: "",
            others,
            times: 1,
        })
    }
}

fn day(recorded: &RecordedEvent) -> &str {
    recorded.timestamp.get(..10).unwrap_or(&recorded.timestamp)
}

/// Taken from all the latest requests in words, like [`feedback`].
fn requests<'a>(recent: &'a [RecordedEvent], name: &str) -> Vec<ShownRequest<'a>> {
    let served = recent.iter().filter_map(|recorded| {
        let Event::SkillServed(served) = &recorded.event else { return None };
        if served.skill_path != name {
            return None;
        }
        let found_by = match served.matched_by.as_deref() {
            Some("keywords") => "keywords",
            Some("ranked") => "the ranked search",
            Some("both") => "keywords and the ranked search",
            _ => "",
        };
        Some(ShownRequest { found_by, ..ShownRequest::of(recorded, served.score, Vec::new())? })
    });
    different(served)
}

/// Requests of the same words that had the same end are one, with how often they were made. The newest come first.
fn different<'a>(requests: impl Iterator<Item = ShownRequest<'a>>) -> Vec<ShownRequest<'a>> {
    let mut shown: Vec<ShownRequest<'a>> = Vec::new();
    for request in requests {
        let is_same = |other: &&mut ShownRequest<'_>| {
            (other.words, &other.others, other.score.is_some())
                == (request.words, &request.others, request.score.is_some())
        };
        if let Some(same) = shown.iter_mut().find(is_same) {
            same.times += 1;
        } else if shown.len() < MAX_SHOWN_REQUESTS {
            shown.push(request);
        }
    }
    shown
}

fn nearly<'a>(recent: &'a [RecordedEvent], name: &str) -> Vec<ShownRequest<'a>> {
    let in_words = recent.iter().filter(|recorded| !recorded.call().is_by_name());
    let near = in_words.filter_map(|recorded| {
        if let Event::NoMatch(miss) = &recorded.event {
            let nearest = miss.closest_candidate.as_deref() == Some(name);
            return nearest.then(|| ShownRequest::of(recorded, miss.closest_score, Vec::new()))?;
        }
        let Event::Ambiguous(several) = &recorded.event else { return None };
        let candidates = several.candidates.iter().map(String::as_str);
        let others: Vec<&str> = candidates.filter(|other| *other != name).collect();
        let among = others.len() < several.candidates.len();
        among.then(|| ShownRequest::of(recorded, None, others))?
    });
    different(near)
}

/// Answers are rare among a skill's events: they are taken from all the latest answers.
fn feedback<'a>(data: &SkillPageData<'a>) -> Vec<ShownFeedback<'a>> {
    let said = data.evidence.recent.iter().filter_map(|recorded| {
        let Event::SkillFeedback(feedback) = &recorded.event else { return None };
        (feedback.skill_path == data.name).then(|| ShownFeedback {
            useful: feedback.useful,
            comment: feedback.comment.as_deref().unwrap_or_default(),
            time: &recorded.timestamp,
            day: day(recorded),
            client: recorded.client_name.as_deref().unwrap_or_default(),
        })
    });
    said.take(MAX_SHOWN_REQUESTS).collect()
}

/// Declared files first, in their order; then those that only events know.
fn files(report: &UsageReport, name: &str, skill: Option<&Skill>) -> Vec<ShownFile> {
    let mut files: Vec<ShownFile> = Vec::new();
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
        files.extend(assets.chain(scripts).map(|(file, kind, about, presence)| ShownFile {
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
            files.push(ShownFile {
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
