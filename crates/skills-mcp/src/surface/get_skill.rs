//! `get_skill`: the skill that fits a task, with its inherited rules and files.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::{
    catalog::{Folder, Skill, SkillKind},
    document::{Argument, AssetDeclaration, ScriptDeclaration},
    resolve::{is_binary, json_chars},
    route::{DecidedBy, Decision, KeywordHit},
};

use super::{
    Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments,
    candidates::{offered, skill_of},
    host_names::explained,
    skill::base_directory,
};
use crate::store::ContentError;

pub(super) const TOOL: Tool = Tool {
    name: "get_skill",
    tool_set: ToolSet::Tree,
    title: "Get the skill for a task",
    description: "Find and load the skill for a task. Pass the user's request, whole, then the product, library or file type \
        it is about.\nIt answers the skill with its files, or candidates: then call it again with the skill_path of one.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<GetSkillInput>,
    output: None,
    blocking: |_, _| Blocking::ShortRead,
    run,
};

/// Longer requests are refused.
const MAX_CONTEXT_CHARS: usize = skills_core::route::MAX_REQUEST_CHARS;

/// The share of an answer that a list of files may have. A text names the files that matter.
const FILES_SHARE: usize = 8;
/// Quotes, a comma, a line break and the indentation around a file's path.
const FILE_LINE_CHARS: usize = 8;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetSkillInput {
    /// The user's request, whole, in its own words, then the product, library, service or file type it is about
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// Load exactly this skill
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skill_path: Option<String>,
    /// Include the content of small text assets
    #[serde(default)]
    #[schemars(extend("default" = false))]
    include_assets: bool,
    /// Read on from this line
    #[schemars(with = "usize", range(min = 1, max = 1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_line: Option<usize>,
}

#[derive(Serialize)]
struct One<'a> {
    skill_path: &'a str,
    score: f64,
    matched_keywords: &'a [String],
    /// Said where a context was given and the keywords did not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_by: Option<&'static str>,
    /// Where a bundle's files are.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_directory: Option<String>,
    /// Explains the names in the text that other clients fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<String>,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// A bundle's files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// How many files there was no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_files: Option<usize>,
    assets: Vec<Asset<'a>>,
    scripts: Vec<Script<'a>>,
    inherited_assets: Vec<Asset<'a>>,
    inherited_scripts: Vec<Script<'a>>,
}

#[derive(Serialize)]
struct Asset<'a> {
    file: &'a str,
    description: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_omitted: Option<String>,
}

#[derive(Serialize)]
struct Script<'a> {
    file: &'a str,
    description: &'a str,
    execution: &'static str,
    args: Vec<Arg<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
}

#[derive(Serialize)]
struct Arg<'a> {
    name: &'a str,
    description: &'a str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'a str>,
}

/// What a call asks for beside the skill.
#[derive(Clone, Copy)]
struct Extent {
    include_assets: bool,
    from_line: usize,
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: GetSkillInput = arguments::read(arguments)?;
    let extent =
        Extent { include_assets: input.include_assets, from_line: input.from_line.unwrap_or(1) };
    match (input.skill_path.as_deref(), input.context.as_deref()) {
        (Some(path), context) => serve(call, call.skill(path)?, None, context, extent),
        (None, None) => Err(Refusal::Params(
            "get_skill needs 'context', the user's request, or 'skill_path'".to_owned(),
        )),
        (None, Some(context)) if context.chars().nth(MAX_CONTEXT_CHARS).is_some() => {
            Err(Refusal::tool(format!(
                "The context is over {MAX_CONTEXT_CHARS} characters. Describe the task in a sentence."
            )))
        }
        (None, Some(context)) => match call.snapshot.decide(context) {
            Decision::Offer(offer) => offered(call, context, &offer),
            Decision::Load(hit, by) => {
                serve(call, skill_of(call, &hit)?, Some((&hit, by)), Some(context), extent)
            }
        },
    }
}

fn serve(
    call: &Call,
    skill: &Skill,
    found: Option<(&KeywordHit, DecidedBy)>,
    context: Option<&str>,
    Extent { include_assets, from_line }: Extent,
) -> Result<Reply, Refusal> {
    if let Some(refusal) = call.only_its_user_starts(skill) {
        return Err(Refusal::Tool(refusal));
    }
    let is_bundle = skill.kind == SkillKind::Bundle;
    let listed = is_bundle && from_line == 1;
    let FileList { files, more } =
        if listed { FileList::new(call, skill) } else { FileList::default() };
    // Files that come with the answer leave the text at least half of it.
    let room = Cell::new(call.profile.max_answer_chars().unwrap_or(usize::MAX) / 2);
    let asset = |owner, declared, from| {
        asset_shape(call, owner, declared, from, include_assets.then_some(&room))
    };
    let mut resolved = call.resolve(skill, from_line, 0)?;
    let mut one = One {
        skill_path: &skill.identity,
        score: found.map_or(1.0, |(hit, _)| hit.score.rounded()),
        matched_keywords: found.map(|(hit, _)| hit.matched.as_slice()).unwrap_or_default(),
        matched_by: found.and_then(|(_, by)| match by {
            DecidedBy::Path | DecidedBy::Ranked => Some(by.word()),
            DecidedBy::Keywords | DecidedBy::Both => None,
        }),
        base_directory: is_bundle.then(|| base_directory(call, skill)),
        names: explained(call, skill, &resolved.content.text),
        content: "",
        truncated: resolved.content.truncated,
        files,
        more_files: Some(more).filter(|more| *more > 0),
        assets: resolved.assets.iter().copied().map(|one| asset(skill, one, None)).collect(),
        scripts: resolved.scripts.iter().map(|script| script_shape(script, None)).collect(),
        inherited_assets: resolved
            .inherited_assets
            .iter()
            .map(|found| asset(found.from, found.declaration, Some(&*found.from.identity)))
            .collect(),
        inherited_scripts: resolved
            .inherited_scripts
            .iter()
            .map(|found| script_shape(found.declaration, Some(&found.from.identity)))
            .collect(),
    };
    if let Some(max) = call.profile.max_answer_chars() {
        let beside = Reply::json(&one)?.text.chars().count();
        if beside + json_chars(&resolved.content.text) > max {
            resolved.content = call.resolve(skill, from_line, beside)?.content;
        }
    }
    one.content = &resolved.content.text;
    one.truncated = resolved.content.truncated;
    let reply = Reply::json(&one)?;
    call.sink.record(|| {
        let tokens = resolved.content.tokens;
        let found = found.filter(|(_, by)| *by != DecidedBy::Path);
        call.skill_served(skill, &resolved.ancestors, tokens, context, found)
    });
    Ok(reply)
}

/// The files beside a bundle's text, as many as there is room for.
#[derive(Default)]
struct FileList {
    files: Vec<String>,
    more: usize,
}

impl FileList {
    fn new(call: &Call, skill: &Skill) -> Self {
        let room = call.profile.max_listed_chars() / FILES_SHARE;
        let mut paths = call.catalog().files(skill).map(Folder::paths).unwrap_or_default();
        paths.retain(|path| path.as_str() != skill.file.name());
        let (mut files, mut chars) = (Vec::new(), 0);
        for path in &paths {
            let longer = chars + path.as_str().chars().count() + FILE_LINE_CHARS;
            if longer > room {
                break;
            }
            chars = longer;
            files.push(path.to_string());
        }
        Self { more: paths.len() - files.len(), files }
    }
}

fn asset_shape<'a>(
    call: &Call,
    owner: &Skill,
    asset: &'a AssetDeclaration,
    from: Option<&'a str>,
    room: Option<&Cell<usize>>,
) -> Asset<'a> {
    let room = room.filter(|_| !is_binary(asset.file.as_str()));
    let inlined = room.map(|room| inline(call, owner, asset, room));
    let (content, content_omitted) = match inlined {
        None => (None, None),
        Some(Ok(content)) => (Some(content), None),
        Some(Err(why)) => (None, Some(why)),
    };
    Asset {
        file: asset.file.as_str(),
        description: &asset.description,
        kind: asset.kind.word(),
        from,
        content,
        content_omitted,
    }
}

/// A text asset's content, or why it is left out; what it takes of the answer is taken from `room`.
fn inline(
    call: &Call,
    owner: &Skill,
    asset: &AssetDeclaration,
    room: &Cell<usize>,
) -> Result<String, String> {
    let limit = call.snapshot.settings().assets.inline_text_max_bytes;
    match call.snapshot.read(owner, &asset.file, limit) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| "not UTF-8 text; use get_asset")?;
            let left = room.get().checked_sub(json_chars(&text));
            room.set(left.ok_or("no room for it in this answer; use get_asset")?);
            Ok(text)
        }
        Err(ContentError::TooLarge { bytes, .. }) => {
            Err(format!("{bytes} bytes, over {limit}; use get_asset"))
        }
        Err(error @ (ContentError::Missing | ContentError::Changed | ContentError::Refused(_))) => {
            Err(error.to_string())
        }
    }
}

fn script_shape<'a>(script: &'a ScriptDeclaration, from: Option<&'a str>) -> Script<'a> {
    let arg = |argument: &'a Argument| Arg {
        name: &argument.name,
        description: &argument.description,
        required: argument.required,
        default: argument.default.as_deref(),
    };
    Script {
        file: script.file.as_str(),
        description: &script.description,
        execution: script.execution.word(),
        args: script.arguments.iter().map(arg).collect(),
        from,
    }
}
