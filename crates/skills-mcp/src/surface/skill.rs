//! `skill`: loads a skill by its name. What there is stands in its description.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use skills_core::{
    catalog::{NameMatch, Skill, SkillKind},
    estimate::tokens,
    resolve::{has_files, lines_from},
};

use super::{
    Blocking, Budget, Call, ListingStyle, Refusal, Reply, ServerProfile, Tool, ToolSet, arguments,
    host_names::explained,
    listing::{Entries, Entry},
    recent_answers::{LoadAnswer, LoadKey},
};
use crate::event::{Ambiguous, Event, NoMatch};

pub(super) const TOOL: Tool = Tool {
    name: "skill",
    tool_set: ToolSet::Skill,
    title: "Load Skill",
    description: "Load a skill by name to get specialized instructions.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<SkillInput>,
    output: None,
    blocking: |_, _| Blocking::ShortRead,
    run,
};

/// Its name where the client has a tool called `skill` of its own. Calls may use it everywhere.
pub(super) const OTHER_NAME: &str = "load_skill";

/// The list of what there is, when a name is not found, costs at most this.
const NOT_FOUND_TOKENS: usize = 1_000;
/// No name is longer, and no more of one is repeated.
const MAX_ASKED_CHARS: usize = 200;
/// The lines above a skill's text and the mark where it is cut take no more than this.
const HEAD_CHARS: usize = 1_000;
/// A longer name is no example: it would cost more than it shows.
const MAX_EXAMPLE_BYTES: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    /// Name of the skill to load (case-insensitive)
    #[schemars(length(min = 1))]
    name: String,
    /// Read on from this line
    #[schemars(with = "usize", range(min = 1, max = 1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_line: Option<usize>,
}

/// Takes away the argument that clients without a known limit do not need (SKILL-1).
pub(super) fn word_arguments(profile: &ServerProfile, input: &mut Map<String, Value>) {
    let arguments = input.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(arguments) = arguments.filter(|_| profile.client.is_none()) {
        arguments.remove("from_line");
    }
}

/// The description with every skill in it.
pub(super) fn description(profile: &ServerProfile, finder: &Tool, entries: &Entries) -> String {
    match profile.budget(finder) {
        Budget::Tokens(0) => without_listing(profile, finder),
        Budget::Tokens(_) | Budget::Unlimited => {
            framed(profile, finder, entries, &entries.whole(profile.listing()), true)
        }
    }
}

/// The description without any skill, to know what it costs.
pub(super) fn frame(profile: &ServerProfile, finder: &Tool, entries: &Entries) -> String {
    if profile.budget(finder) == Budget::Tokens(0) {
        without_listing(profile, finder)
    } else {
        framed(profile, finder, entries, "", false)
    }
}

/// The description with as many skills as `room` tokens hold.
pub(super) fn shortened(
    profile: &ServerProfile,
    finder: &Tool,
    entries: &Entries,
    room: usize,
) -> String {
    if profile.budget(finder) == Budget::Tokens(0) {
        return without_listing(profile, finder);
    }
    let others = format!("find the others with {}.", profile.tool_name(finder));
    let list = entries.fitted(profile.listing(), room, &others);
    framed(profile, finder, entries, &list.text, list.is_whole)
}

pub(super) fn without_listing(profile: &ServerProfile, finder: &Tool) -> String {
    let finder = profile.tool_name(finder);
    match profile.client {
        None => format!("Load a skill by name; find names with {finder}."),
        Some(_) => {
            format!("Load a skill (instructions for a task) by its name. Find names with {finder}.")
        }
    }
}

fn framed(
    profile: &ServerProfile,
    finder: &Tool,
    entries: &Entries,
    list: &str,
    is_whole: bool,
) -> String {
    match profile.listing() {
        ListingStyle::List => format!("{}\n\nAvailable skills:\n{list}", TOOL.description),
        ListingStyle::Xml => {
            // Skills that are not in the list are not out of reach.
            let finder = profile.tool_name(finder);
            let finder = (!is_whole && !entries.is_empty()).then_some(&*finder);
            template(&examples(entries), list, finder)
        }
    }
}

/// The template of LISTING-1; its examples come from the catalog.
fn template(examples: &str, list: &str, finder: Option<&str>) -> String {
    let found = finder.map(|finder| format!(", or found with {finder}")).unwrap_or_default();
    format!(
        "Execute a skill within the main conversation

<skills_instructions>
When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

How to use skills:
- Invoke skills using this tool with the skill name only (no arguments)
- When you invoke a skill, you will see `Loading: {{name}}`
- The skill's prompt will expand and provide detailed instructions on how to complete the task
- Examples:
{examples}

Important:
- Only use skills listed in <available_skills> below{found}
- Do not invoke a skill that is already running
- Do not use this tool for built-in CLI commands (like /help, /clear, etc.)
</skills_instructions>

<available_skills>
{list}
</available_skills>"
    )
}

/// Two plain names and a qualified one, where the catalog has them; one of ours where it is empty. The text around
/// them is ours, so a name that could be taken for more than a name is no example.
fn examples(entries: &Entries) -> String {
    let usable = |name: &&String| {
        name.len() <= MAX_EXAMPLE_BYTES && !name.contains(['<', '>', '&', '"', '`'])
    };
    let names = entries.first.iter().map(|Entry { name, .. }| name).filter(usable);
    let plain = names.filter(|name| !name.contains(':')).take(2);
    let qualified = entries.qualified.as_ref().filter(usable);
    let mut lines: Vec<String> =
        plain.map(|name| format!("  - `name: \"{name}\"` - invoke the {name} skill")).collect();
    lines.extend(
        qualified.map(|name| format!("  - `name: \"{name}\"` - invoke using fully qualified name")),
    );
    if lines.is_empty() {
        lines.push("  - `name: \"pdf\"` - invoke the pdf skill".to_owned());
    }
    lines.join("\n")
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: SkillInput = arguments::read(arguments)?;
    match call.named(&input.name) {
        NameMatch::One(skill) => match call.only_its_user_starts(skill) {
            Some(refusal) => Err(Refusal::Plain(refusal)),
            None => load(call, skill, input.from_line.unwrap_or(1)),
        },
        NameMatch::Several(skills) => {
            call.sink.record(|| ambiguous(call, &input.name, &skills));
            let names: Vec<&str> = skills.iter().map(|skill| &*skill.label).collect();
            let message = format!(
                "Skill '{:.200}' is ambiguous.\n\nUse one of the full names: {}",
                input.name,
                names.join(", ")
            );
            Err(Refusal::Plain(message))
        }
        NameMatch::NotFound => {
            call.sink.record(|| no_match(call, &input.name));
            Err(Refusal::Plain(not_found(call, &input.name)))
        }
    }
}

/// What was asked for, as far as a name goes.
fn cut(asked: &str) -> String {
    asked.chars().take(MAX_ASKED_CHARS).collect()
}

fn ambiguous(call: &Call, asked: &str, skills: &[&Skill]) -> Event {
    let candidates: Vec<String> = skills.iter().map(|skill| skill.identity.to_string()).collect();
    call.session.offered(&candidates, None);
    let candidates = skills.iter().map(|skill| call.recorded(skill)).collect();
    Event::Ambiguous(Ambiguous { context: Some(cut(asked)), candidates, certainty: None })
}

fn no_match(call: &Call, asked: &str) -> Event {
    call.session.offered(&[], None);
    let catalog = &call.snapshot.catalog;
    let nearest = call.offered(catalog.near_labels(asked)).into_iter().next();
    // Events name a skill by its identity, whichever tool was called.
    let identity = nearest.and_then(|label| match catalog.named(label) {
        NameMatch::One(skill) => Some(call.recorded(skill)),
        NameMatch::Several(_) | NameMatch::NotFound => None,
    });
    Event::NoMatch(NoMatch {
        context: Some(cut(asked)),
        closest_candidate: identity,
        closest_score: None,
        certainty: None,
    })
}

fn load(call: &Call, skill: &Skill, from_line: usize) -> Result<Reply, Refusal> {
    if skill.kind == SkillKind::Bundle {
        return load_bundle(call, skill, from_line);
    }
    let (content, inherited_from) = tree(call, skill, from_line)?;
    record(call, skill, &inherited_from, || tokens(&content));
    Ok(loading(call, skill, &content))
}

/// Loads a bundle: with the answer that another client had lately, where its file is certainly what it was then.
fn load_bundle(call: &Call, skill: &Skill, from_line: usize) -> Result<Reply, Refusal> {
    let client = call.profile.client.map(|client| client.id);
    let key = LoadKey { client, skill: skill.id, from_line };
    // A text that changes while it is read is of no snapshot, and a file that changed a moment ago is read at every call.
    let is_kept = || !call.accept_changed && call.snapshot.is_as_indexed(skill);
    let loads = call.recent.as_ref().filter(|_| is_kept()).map(|recent| &recent.loads);
    if let Some(known) = loads.and_then(|loads| loads.find(&call.snapshot, &key)) {
        record(call, skill, &[], || known.tokens);
        return Ok(known.reply.clone());
    }
    let content = bundle(call, skill, from_line)?;
    record(call, skill, &[], || tokens(&content));
    let reply = loading(call, skill, &content);
    let Some(loads) = loads else { return Ok(reply) };
    let reply = reply.encoded();
    let answer = LoadAnswer { reply: reply.clone(), tokens: tokens(&content) };
    loads.keep(&call.snapshot, key, &Arc::new(answer));
    Ok(reply)
}

fn record(call: &Call, skill: &Skill, inherited_from: &[&Skill], tokens: impl Fn() -> usize) {
    call.sink.record(|| call.skill_served(skill, inherited_from, tokens(), None, None));
}

fn loading(call: &Call, skill: &Skill, content: &str) -> Reply {
    let base = base_directory(call, skill);
    let names = explained(call, skill, content).map(|line| format!("\n{line}"));
    let names = names.unwrap_or_default();
    Reply::text(format!("Loading: {}\nBase directory: {base}{names}\n\n{content}", skill.label))
}

/// The folder of a skill's files; for a client on another machine, its address and how its files are read.
pub(super) fn base_directory(call: &Call, skill: &Skill) -> String {
    if call.profile.remote.is_none() {
        return call.snapshot.place(skill);
    }
    let tool = call.profile.offers(ToolSet::Tree, &call.snapshot);
    let tool = tool.then(|| format!("get_asset and skill_path \"{}\"", skill.identity));
    let has_files = has_files(call.catalog(), skill);
    match (call.address(skill), tool) {
        (folder, _) if !has_files => folder.unwrap_or_else(|| "on the server".to_owned()),
        (Some(folder), Some(tool)) => format!(
            "{folder}\nFiles in it are on the server: read one as {folder}/FILE with resources/read, or with {tool}."
        ),
        (Some(folder), None) => format!(
            "{folder}\nFiles in it are on the server: read one as {folder}/FILE with resources/read."
        ),
        (None, Some(tool)) => format!("on the server\nFiles in it are read with {tool}."),
        // A bundle that does not conform to Agent Skills; a diagnostic says why.
        (None, None) => "on the server\nFiles in it cannot be read from here.".to_owned(),
    }
}

/// A bundle's file: its own bytes, or as many of its lines as are known to reach the model.
fn bundle(call: &Call, skill: &Skill, from_line: usize) -> Result<String, Refusal> {
    let whole = call.text(skill)?.into_whole();
    Ok(match call.text_limit(HEAD_CHARS) {
        None => whole,
        Some(limit) => lines_from(&whole, from_line, limit).text,
    })
}

/// A tree skill's composed text, and where its files are: its own below the base directory, inherited ones elsewhere.
fn tree<'a>(
    call: &'a Call,
    skill: &'a Skill,
    from_line: usize,
) -> Result<(String, Vec<&'a Skill>), Refusal> {
    let snapshot = &call.snapshot;
    let resolved = call.resolve(skill, from_line, HEAD_CHARS)?;
    let own =
        resolved.assets.iter().map(|a| &a.file).chain(resolved.scripts.iter().map(|s| &s.file));
    let assets = resolved.inherited_assets.iter().map(|a| (a.from, &a.declaration.file));
    let scripts = resolved.inherited_scripts.iter().map(|s| (s.from, &s.declaration.file));
    let mut files: Vec<String> = own.map(|file| format!("- {file}")).collect();
    files.extend(assets.chain(scripts).map(|(from, file)| match call.profile.remote {
        None => format!("- {file} (from {}: {})", from.identity, snapshot.path_of(from, file)),
        Some(_) => format!("- {file} (from {})", from.identity),
    }));
    let mut text = resolved.content.text;
    if !files.is_empty() {
        let by_tool = call.profile.offers(ToolSet::Tree, snapshot);
        let fetch = if by_tool {
            format!("; get_asset with skill_path \"{}\" fetches any of them", skill.identity)
        } else {
            String::new()
        };
        text = format!(
            "{text}\n\nFiles (own ones lie below the base directory{fetch}):\n{}",
            files.join("\n")
        );
    }
    Ok((text, resolved.ancestors))
}

/// SKILL-5: what was asked, near names, what there is, and how to ask.
fn not_found(call: &Call, asked: &str) -> String {
    let asked = cut(asked);
    let catalog = call.catalog();
    let near = call.offered(catalog.near_labels(&asked));
    let near = if near.is_empty() {
        String::new()
    } else {
        format!("Did you mean: {}?\n\n", near.join(", "))
    };
    let entries = Entries::of(catalog, Some(NOT_FOUND_TOKENS), &[]);
    let list = if entries.is_empty() {
        "(none)".to_owned()
    } else {
        entries.fitted(ListingStyle::List, NOT_FOUND_TOKENS, "ask for any by its name.").text
    };
    format!(
        "Skill '{asked}' not found.\n\n{near}Available skills:\n{list}\n\nUse the exact skill name (case-insensitive) to load a skill."
    )
}
