//! `skills_search`: finds skills by words, either all of them (FLAT-4) or best first (FLAT-6).

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use skills_core::{
    catalog::{Skill, SkillId},
    document::SkillText,
    estimate,
    route::{
        excerpt,
        ranked::{self, Certainty},
    },
};

use super::{
    Blocking, Call, Match, Refusal, Reply, ServerProfile, Tool, ToolSet, arguments,
    listing::{
        HitForm, MAX_HITS_TOKENS, OTHER_HIT_CHARS, WHOLE_HITS, better_request, grouped, one_line,
        shortened_to,
    },
    profile::Loader,
    recent_answers::{SearchAnswer, SearchKey},
    siblings::Siblings,
    summary::{Summary, haystack},
};
use crate::{
    event::{Event, SkillSearched},
    source::map,
    store::clause_of,
};

/// Its name: the tool that finds what the `skill` tool's listing has no room for.
pub(super) const NAME: &str = "skills_search";

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    tool_set: ToolSet::Flat,
    title: "Search skills",
    description: "Find skills for a task.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<SkillsSearchInput>,
    output: Some(output),
    blocking,
    run,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillsSearchInput {
    /// The user's request, whole, then the product, library or file type
    #[schemars(length(min = 1))]
    query: String,
    /// Maximum number of hits
    #[schemars(range(min = 1, max = 25))]
    #[serde(default = "ten")]
    limit: usize,
    /// Every word, or best first
    #[schemars(with = "String", extend("enum" = ["all", "ranked"]))]
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "match")]
    matching: Option<Match>,
    /// Say what each hit was found by
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    explain: bool,
}

/// The description in a profile's words.
pub(super) fn description(profile: &ServerProfile) -> Cow<'static, str> {
    match (profile.matching, profile.client) {
        (Match::All, _) => {
            "Keyword search across install name, metadata, and SKILL.md body.".into()
        }
        (Match::Ranked, None) => TOOL.description.into(),
        (Match::Ranked, Some(_)) => {
            let load = profile.loader().sentence(profile);
            format!(
                "Find a skill for a task. Pass the user's request, whole, then the product, library or file type it is about.\n{load}"
            )
            .into()
        }
    }
}

/// Gives the arguments this profile's words and takes away those that its contract does not have.
pub(super) fn word_arguments(profile: &ServerProfile, input: &mut Map<String, Value>) {
    let Some(arguments) = input.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    if profile.client.is_none() {
        arguments.remove("explain");
    }
    // It says nothing that its name does not, and the request needs the room.
    let limit = arguments.get_mut("limit").and_then(Value::as_object_mut);
    if let Some(limit) = limit.filter(|_| profile.matching == Match::Ranked) {
        limit.remove("description");
    }
    let is_word_search = profile.matching == Match::All && arguments.contains_key("match");
    let query = arguments.get_mut("query").and_then(Value::as_object_mut);
    if let Some(query) = query.filter(|_| is_word_search) {
        query.insert(
            "description".to_owned(),
            json!("Keywords to match (all whitespace-separated tokens must be present)"),
        );
    }
}

/// So much of the query is repeated in the text.
const QUERY_CHARS: usize = 200;
/// The answer to a longer query is not kept: no second client writes the same.
const MAX_KEPT_QUERY_BYTES: usize = 1_000;

fn ten() -> usize {
    10
}

/// Terse on purpose: every client pays for it, whether it reads it or not.
fn output() -> Map<String, Value> {
    arguments::object(json!({
        "type": "object",
        "properties": {"total": {"type": "integer"}, "results": {"type": "array"}, "confident": {"type": "boolean"}},
    }))
}

#[derive(Serialize)]
struct SkillsSearchOutput {
    query: String,
    limit: usize,
    total: usize,
    /// Whether the first of a ranked search fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    confident: Option<bool>,
    #[serde(skip)]
    certainty: Option<Certainty>,
    results: Vec<Hit>,
    /// The results by what they say, of a ranked search.
    #[serde(skip)]
    siblings: Option<Siblings>,
}

#[derive(Serialize)]
struct Hit {
    #[serde(skip)]
    identity: Arc<str>,
    #[serde(flatten)]
    summary: Summary,
    score: Value,
    excerpt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_terms: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clause: Option<String>,
}

impl Hit {
    /// What it is loaded by. Without a tool that loads it, a skill is read from its file.
    fn name(&self, call: &Call) -> String {
        one_line(&match call.profile.loader() {
            Loader::File if call.profile.client.is_some() => {
                format!("{} ({})", self.summary.name(), self.summary.file())
            }
            Loader::File | Loader::Skill | Loader::GetSkill => self.summary.name().to_owned(),
        })
    }

    /// What the skill was found by, in a line.
    fn explanation(&self) -> Option<String> {
        let terms = self.matched_terms.as_ref()?.join(", ");
        let clause = self.clause.as_ref().map(|clause| format!("; clause: {}", one_line(clause)));
        Some(format!("  score {}; words: {terms}{}", self.score, clause.unwrap_or_default()))
    }
}

/// A search for every word reads every text; the ranked one reads its index and a few texts.
fn blocking(call: &Call, arguments: &Map<String, Value>) -> Blocking {
    let ranked = match arguments.get("match") {
        Some(matching) => matching == "ranked",
        None => call.profile.matching == Match::Ranked,
    };
    if ranked { Blocking::ShortRead } else { Blocking::LongRead }
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: SkillsSearchInput = arguments::read(arguments)?;
    arguments::refuse_long_query(&input.query)?;
    let answer = match input.matching.unwrap_or(call.profile.matching) {
        Match::Ranked => ranked_answer(call, input)?,
        Match::All => Arc::new(answer(call, input, all)?),
    };
    call.sink.record(|| searched(call, &answer));
    Ok(answer.reply.clone())
}

/// The answer of the ranked search: the one that another client had lately, where there is one.
fn ranked_answer(call: &Call, input: SkillsSearchInput) -> Result<Arc<SearchAnswer>, Refusal> {
    let is_short = input.query.len() <= MAX_KEPT_QUERY_BYTES;
    let Some(recent) = call.recent.as_ref().filter(|_| is_short) else {
        return answer(call, input, ranked).map(Arc::new);
    };
    let client = call.profile.client.map(|client| client.id);
    let SkillsSearchInput { limit, explain, .. } = input;
    let key = SearchKey { client, query: input.query.clone(), limit, explain };
    if let Some(known) = recent.searches.find(&call.snapshot, &key) {
        return Ok(known);
    }
    let answer = Arc::new(answer(call, input, ranked)?);
    recent.searches.keep(&call.snapshot, key, &answer);
    Ok(answer)
}

/// The answer that a way of searching gives.
fn answer(
    call: &Call,
    input: SkillsSearchInput,
    search: fn(&Call, SkillsSearchInput) -> SkillsSearchOutput,
) -> Result<SearchAnswer, Refusal> {
    let explain = input.explain;
    let output = search(call, input);
    let text = worded(call, &output, explain);
    let reply = if call.profile.is_structured() {
        Reply::structured(text, &output)?
    } else {
        Reply::text(text)
    };
    let SkillsSearchOutput { query, total, certainty, results, .. } = output;
    let shown = results.into_iter().map(|hit| hit.identity).collect();
    Ok(SearchAnswer { reply, query, shown, total, certainty })
}

/// Puts the hits into words: how many, how to load one, and what each is for.
fn worded(call: &Call, output: &SkillsSearchOutput, explain: bool) -> String {
    let Some(siblings) = &output.siblings else { return matched_words(call, output) };
    let max_tokens = MAX_HITS_TOKENS * output.limit.max(10) / 10;
    let text = |form| by_family(call, output, siblings, form, explain);
    // An explanation that was asked for costs what it costs.
    if explain {
        return text(HitForm::LONGEST);
    }
    HitForm::fitting(max_tokens, text, |text| estimate::tokens(text))
}

/// FLAT-7 where every word must occur.
fn matched_words(call: &Call, output: &SkillsSearchOutput) -> String {
    let (shown, total, query) = (output.results.len(), output.total, one_line(&output.query));
    let mut lines = vec![format!("{shown} of {total} skills for '{query:.QUERY_CHARS$}'")];
    let line = |hit: &Hit| format!("- {}: {}", hit.name(call), one_line(&hit.excerpt));
    lines.extend(output.results.iter().map(line));
    if output.results.is_empty() {
        lines.push("Every word must occur; try fewer words, or match: \"ranked\".".to_owned());
    }
    lines.join("\n")
}

/// The hits of a ranked search, each family together.
fn by_family(
    call: &Call,
    output: &SkillsSearchOutput,
    siblings: &Siblings,
    form: HitForm,
    explain: bool,
) -> String {
    let mut lines = vec![head(call, output, siblings)];
    for member in siblings.members() {
        let Some(hit) = output.results.get(member.place) else { continue };
        let indent = if member.is_first { "" } else { "  " };
        let about = match member.differs_by.as_deref().filter(|_| !member.is_first) {
            // The first hits show their descriptions, which set them apart.
            Some(differs_by) if member.place >= WHOLE_HITS => {
                shortened_to(differs_by, OTHER_HIT_CHARS)
            }
            _ => form.about(member.place, hit.summary.description()),
        };
        let same = member.duplicates.iter().filter_map(|place| output.results.get(*place));
        let same: Vec<String> = same.map(|hit| hit.name(call)).collect();
        let same = if same.is_empty() {
            String::new()
        } else {
            format!(" (nearly the same: {})", same.join(", "))
        };
        lines.push(format!("{indent}- {}: {about}{same}", hit.name(call)));
        if explain {
            lines.extend(hit.explanation());
        }
    }
    lines.join("\n")
}

/// Says what was searched, and how to load a hit.
fn head(call: &Call, output: &SkillsSearchOutput, siblings: &Siblings) -> String {
    let searched = grouped(call.snapshot.searched_skills() as u64);
    if output.results.is_empty() {
        return format!(
            "None of {searched} skills has a word of this request. Try other words, or go on without a skill."
        );
    }
    let load = call.profile.loader().sentence(&call.profile);
    let best = format!("Best {} of {searched} skills", output.results.len());
    let mut head = match output.certainty {
        Some(Certainty::Unsure) => format!(
            "Probably none of {searched} skills fits; to go on without one is a good choice. The nearest {}: {load}",
            output.results.len()
        ),
        Some(Certainty::Several) if output.results.len() > 1 => {
            format!("{best}; one of the first probably fits. {load}")
        }
        Some(Certainty::Several | Certainty::Sure) | None => format!("{best}. {load}"),
    };
    if siblings.has_families() {
        head.push_str(" An indented skill resembles the one above it.");
    }
    if let Some(better) = better_request(&output.query) {
        head.push(' ');
        head.push_str(better);
    }
    head
}

fn searched(call: &Call, answer: &SearchAnswer) -> Event {
    call.session.showed(&answer.query, answer.shown.iter());
    Event::SkillSearched(SkillSearched {
        shown: (answer.shown.iter())
            .map(|shown| call.catalog().recorded_name(shown).to_string())
            .collect(),
        total: answer.total as u64,
        certainty: answer.certainty.map(|certainty| certainty.word().to_owned()),
        context: Some(answer.query.clone()),
    })
}

/// FLAT-4: every word of the query must occur somewhere.
fn all(call: &Call, input: SkillsSearchInput) -> SkillsSearchOutput {
    let lowered = input.query.to_lowercase();
    let mut tokens: Vec<&str> = lowered.split_ascii_whitespace().collect();
    tokens.sort_unstable();
    tokens.dedup();
    let offered = call.snapshot.catalog.skills().filter(|skill| call.profile.offers_skill(skill));
    let skills: Vec<&Skill> = offered.collect();
    // Every text is read, so every core reads. One that cannot be read now is looked for by what is known of it.
    let has = map(
        &skills,
        || (),
        |(), skill| {
            let text = call.snapshot.text(skill).ok();
            let text = haystack(skill, text.as_ref().map(SkillText::body).unwrap_or_default());
            !tokens.is_empty() && tokens.iter().all(|token| text.contains(token))
        },
    );
    let found: Vec<&Skill> =
        skills.into_iter().zip(has).filter(|(_, has)| *has).map(|(skill, _)| skill).collect();
    let hit = |skill: &&Skill| Hit {
        identity: Arc::clone(&skill.identity),
        summary: Summary::of(call, skill),
        score: json!(tokens.len()),
        excerpt: excerpt_of(call, skill, &tokens),
        matched_terms: None,
        clause: None,
    };
    let results = found.iter().take(input.limit).map(hit).collect();
    SkillsSearchOutput {
        total: found.len(),
        limit: input.limit,
        confident: None,
        certainty: None,
        results,
        siblings: None,
        query: input.query,
    }
}

fn ranked(call: &Call, input: SkillsSearchInput) -> SkillsSearchOutput {
    let ranking = call.snapshot.search(&input.query, input.limit);
    let certainty = ranking.certainty();
    let siblings = Some(Siblings::of_hits(&call.snapshot, &ranking.hits));
    let hit = |hit: ranked::SearchHit| {
        let skill = call.snapshot.catalog.skill(SkillId::at(hit.entry))?;
        let terms: Vec<&str> = hit.matched_terms.iter().map(String::as_str).collect();
        Some(Hit {
            identity: Arc::clone(&skill.identity),
            summary: Summary::of(call, skill),
            score: json!((hit.score * 1e4).round() / 1e4),
            // The text of a ranked search has descriptions, so only structured content has excerpts.
            excerpt: if call.profile.is_structured() {
                excerpt_of(call, skill, &terms)
            } else {
                String::new()
            },
            matched_terms: Some(hit.matched_terms),
            clause: hit.clause.and_then(|number| clause_of(skill, number)),
        })
    };
    let results = ranking.hits.into_iter().filter_map(hit).collect();
    SkillsSearchOutput {
        total: ranking.total,
        limit: input.limit,
        confident: Some(certainty == Certainty::Sure),
        certainty: Some(certainty),
        results,
        siblings,
        query: input.query,
    }
}

/// About 160 characters around the first word that matches: in the description if it is there, else in the text.
fn excerpt_of(call: &Call, skill: &Skill, words: &[&str]) -> String {
    let description = skill.fields().description.as_str();
    let lowered = description.to_lowercase();
    let text = if words.iter().any(|word| lowered.contains(&word.to_lowercase())) {
        None
    } else {
        call.snapshot.text(skill).ok()
    };
    excerpt(text.as_ref().map_or(description, SkillText::body), words)
}
