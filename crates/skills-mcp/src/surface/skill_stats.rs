//! `skill_stats`: what the report says, for an agent that looks after skills. Offered only where the operator says so.
//!
//! A few rows of each list, as short as they can be said; the whole report is what `skills-mcp stats --json` prints.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skills_core::{diagnostic::one_line, estimate};
use skills_usage::{
    archive::Period,
    clock,
    report::{CatalogSummary, UsageReport},
};

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};

pub(super) const TOOL: Tool = Tool {
    name: "skill_stats",
    tool_set: ToolSet::Maintainer,
    title: "Say how skills are used",
    description: "For maintainers of skills: what was used, what helped, what was missing and what to fix first.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<SkillStatsInput>,
    output: None,
    blocking: |_, _| Blocking::LongRead,
    run,
};

/// Rows of each list, where they fit.
const MAX_ROWS: usize = 10;
/// An answer has no more tokens than about this.
const MAX_ANSWER_TOKENS: usize = 1_500;
/// Of a text so much is shown.
const MAX_TEXT_CHARS: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillStatsInput {
    /// The last so many days
    #[schemars(range(min = 1, max = 365))]
    #[serde(default = "thirty")]
    days: u64,
    /// Only this skill
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skill: Option<String>,
}

fn thirty() -> u64 {
    30
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: SkillStatsInput = arguments::read(arguments)?;
    let settings = &call.snapshot.settings().analytics;
    let history = call.profile.history.as_ref().and_then(|history| history.lines(settings));
    let Some(lines) = history else {
        return Err(Refusal::Plain("No history of events is kept here.".to_owned()));
    };
    let today = clock::today();
    let period = Period::last(input.days, today);
    let evidence =
        lines.evidence(period, None).map_err(|error| Refusal::Plain(error.to_string()))?;
    let catalog = CatalogSummary::of(&call.snapshot.catalog);
    let mut report = UsageReport::of(&evidence, Some(&catalog), period, today);
    if let Some(skill) = &input.skill {
        // A skill that events are about need not be served any more.
        let is_known = report.skills.iter().any(|used| used.skill == *skill);
        report = report.narrowed(if is_known { skill } else { &call.skill(skill)?.identity });
    }
    // Rows go until it fits.
    let fits =
        |rows: &usize| estimate::tokens(&short(&report, *rows).to_string()) <= MAX_ANSWER_TOKENS;
    let rows = (2..=MAX_ROWS).rev().find(fits).unwrap_or(1);
    let said = short(&report, rows).to_string();
    Ok(Reply::text(said))
}

/// The report in few words, each list with so many rows.
fn short(report: &UsageReport, rows: usize) -> Value {
    let UsageReport { totals, period, .. } = report;
    let list = |rows: Vec<Value>| Value::Array(rows);
    let advice = report.advice.iter().take(rows.min(5));
    let advice = advice.map(|advice| {
        json!({"about": cut(&advice.subject), "seen": cut(&advice.seen), "do": cut(&advice.action)})
    });
    let skills = report.skills.iter().take(rows).map(|skill| {
        json!({"skill": cut(&skill.skill), "served": skill.served, "tokens": skill.tokens, "useful": skill.useful.to_string()})
    });
    let misses = report.misses.iter().take(rows).map(|group| {
        let example = group.examples.first().map(|example| cut(example));
        json!({"requests": group.requests, "words": cut(&group.terms.join(" ")), "example": example, "nearest": group.nearest.as_deref().map(cut), "keywords": cut(&group.keywords.join(" "))})
    });
    let scripts = report.scripts.iter().take(rows).map(|script| {
        json!({"script": cut(&format!("{}: {}", script.skill, script.file)), "failed": script.failed.to_string()})
    });
    let assets = report.assets.iter().take(rows);
    let assets = assets
        .map(|asset| json!([cut(&format!("{}: {}", asset.skill, asset.file)), asset.fetched]));
    let never = report.never_served.as_ref().map(|never| {
        let names = never.iter().take(rows).map(|unused| json!(cut(&unused.skill)));
        json!({"count": never.len(), "skills": list(names.collect())})
    });
    json!({
        "from": period.from,
        "to": period.to,
        "events": totals.events,
        "served": totals.served,
        "tokens": totals.tokens,
        "loaded": totals.loaded.to_string(),
        "chosen": totals.chosen,
        "left": totals.left,
        "none": totals.none,
        "useful": totals.useful.to_string(),
        "fix_first": list(advice.collect()),
        "skills": list(skills.collect()),
        "never_served": never,
        "requests_that_found_nothing": list(misses.collect()),
        "scripts": list(scripts.collect()),
        "files": list(assets.collect()),
    })
}

/// A text that we did not write, as one short line.
fn cut(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= MAX_TEXT_CHARS {
        return line;
    }
    let kept: String = line.chars().take(MAX_TEXT_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}
