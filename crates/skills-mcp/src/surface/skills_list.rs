//! `skills_list`: every skill with its metadata, a page at a time (FLAT-1 to FLAT-3).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use skills_core::catalog::Skill;

use super::{
    Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments, listing::one_line, profile::Loader,
    summary::Summary,
};

pub(super) const TOOL: Tool = Tool {
    name: "skills_list",
    tool_set: ToolSet::Flat,
    title: "List skills",
    description: "List skills with their metadata.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<SkillsListInput>,
    output: Some(output),
    blocking,
    run,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SkillsListInput {
    /// Optional substring filter applied to install name, meta.name, or description
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// Include the SKILL.md body (minus YAML front-matter) in the structured payload
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    include_body: bool,
    // Said by their names; every word here costs every client.
    #[schemars(with = "usize", range(min = 1, max = 1000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Terse on purpose: every client pays for it, whether it reads it or not.
fn output() -> Map<String, Value> {
    arguments::object(json!({
        "type": "object",
        "properties": {"skills": {"type": "array"}, "total": {"type": "integer"}, "nextCursor": {"type": "string"}},
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SkillsListOutput {
    skills: Vec<ListedSkill>,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct ListedSkill {
    #[serde(flatten)]
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

/// A query is looked for in so many skills within a millisecond.
const MAX_SHORT_FILTER_SKILLS: usize = 1_000;

/// Bodies are read from the disk, and a query is looked for in every skill.
fn blocking(call: &Call, arguments: &Map<String, Value>) -> Blocking {
    let bodies = arguments.get("includeBody") == Some(&Value::Bool(true));
    let filtered = arguments.contains_key("query");
    let is_long = bodies || (filtered && call.snapshot.catalog.len() > MAX_SHORT_FILTER_SKILLS);
    if is_long { Blocking::LongRead } else { Blocking::Never }
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: SkillsListInput = arguments::read(arguments)?;
    input.query.as_deref().map_or(Ok(()), arguments::refuse_long_query)?;
    let query = input.query.map(|query| query.to_lowercase());
    let catalog = &call.snapshot.catalog;
    let after = input.cursor.as_deref().map(|cursor| decode(call, cursor)).transpose()?;
    let mut skills: Vec<&Skill> =
        catalog.skills().filter(|skill| call.profile.offers_skill(skill)).collect();
    skills.retain(|skill| matches(skill, query.as_deref()));
    skills.sort_by(|a, b| a.identity.cmp(&b.identity));
    let total = skills.len();
    // By name, not by number: what is added or removed meanwhile neither repeats nor hides a skill.
    let rest = skills
        .into_iter()
        .filter(|skill| after.as_deref().is_none_or(|after| *skill.identity > *after));
    let limit = input.limit.or(call.profile.page).unwrap_or(usize::MAX);
    let mut page: Vec<&Skill> = rest.take(limit.saturating_add(1)).collect();
    let more = page.len() > limit;
    page.truncate(limit);
    let next_cursor = page.last().filter(|_| more).map(|last| encode(&last.identity));
    let listed = |skill: &&Skill| {
        if !input.include_body {
            return Ok(ListedSkill { summary: Summary::of(call, skill), body: None });
        }
        let (skill, text) = call.skill_and_text(skill)?;
        let body = Some(text.body().to_owned());
        Ok(ListedSkill { summary: Summary::of(call, &skill), body })
    };
    let skills = page.iter().map(listed).collect::<Result<Vec<ListedSkill>, Refusal>>()?;
    let loader = call.profile.loader();
    let line = |listed: &ListedSkill| {
        let name = match loader {
            Loader::File if call.profile.client.is_some() => {
                format!("{} ({})", listed.summary.name(), listed.summary.file())
            }
            Loader::File | Loader::Skill | Loader::GetSkill => listed.summary.name().to_owned(),
        };
        format!("- {}: {}", one_line(&name), one_line(listed.summary.description()))
    };
    let mut lines = vec![format!("{} of {total} skills", skills.len())];
    lines.extend(skills.iter().map(line));
    lines.extend(
        next_cursor.iter().map(|cursor| format!("More: call again with cursor \"{cursor}\".")),
    );
    let text = lines.join("\n");
    if !call.profile.is_structured() {
        return Ok(Reply::text(text));
    }
    Reply::structured(text, &SkillsListOutput { skills, total, next_cursor })
}

/// Whether a skill is meant by a query in lower case.
fn matches(skill: &Skill, query: Option<&str>) -> bool {
    let Some(query) = query else { return true };
    let name = skill.fields().name.as_deref().unwrap_or_default();
    [skill.path.as_str(), name, &skill.label, &skill.fields().description]
        .iter()
        .any(|field| field.to_lowercase().contains(query))
}

/// The mark of a cursor, so that no other text passes for one.
const MARK: &str = "after:";

fn encode(identity: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{MARK}{identity}"))
}

fn decode(call: &Call, cursor: &str) -> Result<String, Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let after = text.as_deref().and_then(|text| text.strip_prefix(MARK)).map(str::to_owned);
    after.ok_or_else(|| {
        let name = call.profile.tool_name(&TOOL);
        Refusal::Params(format!("{name}: 'cursor' is none that {name} gave"))
    })
}
