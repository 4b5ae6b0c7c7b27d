//! `get_skill`: the skill that fits a task, with its inherited rules and files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::{
    catalog::Skill,
    document::{Argument, AssetDeclaration, ScriptDeclaration},
    resolve::is_binary,
    route::{KeywordHit, RouteVerdict},
};

use super::{
    Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments,
    candidates::{ambiguous, no_match, skill_of},
};
use crate::store::ContentError;

pub(super) const TOOL: Tool = Tool {
    name: "get_skill",
    tool_set: ToolSet::Tree,
    title: "Get the skill for a task",
    description: "Find the skill for a task and load it: instructions, inherited rules, assets and scripts. Describe the \
        task in a few words.\nWhere it answers candidates, call it again with the skill_path of one.",
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetSkillInput {
    /// The task, in a few words
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
    /// Of a skill whose text was cut, the text from this line on
    #[schemars(with = "usize", range(min = 1, max = 1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_line: Option<usize>,
}

#[derive(Serialize)]
struct One<'a> {
    skill_path: &'a str,
    score: f64,
    matched_keywords: &'a [String],
    /// Said where the keywords did not decide although a context was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_by: Option<&'static str>,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    assets: Vec<Asset<'a>>,
    scripts: Vec<Script<'a>>,
    inherited_assets: Vec<Asset<'a>>,
    inherited_scripts: Vec<Script<'a>>,
}

/// How a skill was found.
#[derive(Clone, Copy)]
enum How<'a> {
    /// The caller named it.
    Asked,
    /// The context is its path, to the letter.
    Path,
    /// By the keyword formula.
    Keywords(&'a KeywordHit),
}

impl<'a> How<'a> {
    fn hit(self) -> Option<&'a KeywordHit> {
        match self {
            Self::Keywords(hit) => Some(hit),
            Self::Asked | Self::Path => None,
        }
    }
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
    let catalog = &call.snapshot.catalog;
    let extent =
        Extent { include_assets: input.include_assets, from_line: input.from_line.unwrap_or(1) };
    match (input.skill_path.as_deref(), input.context.as_deref()) {
        (Some(path), context) => serve(call, call.skill(path)?, How::Asked, context, extent),
        (None, None) => Err(Refusal::Params(
            "get_skill needs 'context', the task in a few words, or 'skill_path'".to_owned(),
        )),
        (None, Some(context)) if context.chars().nth(MAX_CONTEXT_CHARS).is_some() => {
            Err(Refusal::tool(format!(
                "The context is over {MAX_CONTEXT_CHARS} characters. Describe the task in a sentence."
            )))
        }
        (None, Some(context)) => match catalog.at_path(context) {
            Some(skill) => serve(call, skill, How::Path, Some(context), extent),
            None => route(call, context, extent),
        },
    }
}

fn route(call: &Call, context: &str, extent: Extent) -> Result<Reply, Refusal> {
    match call.snapshot.route(context) {
        RouteVerdict::NoMatch { closest } => no_match(call, context, closest.as_ref()),
        RouteVerdict::Ambiguous(hits) => ambiguous(call, context, &hits),
        RouteVerdict::Match(hit) => {
            let skill = skill_of(call, &hit)?;
            serve(call, skill, How::Keywords(&hit), Some(context), extent)
        }
    }
}

fn serve(
    call: &Call,
    skill: &Skill,
    how: How<'_>,
    context: Option<&str>,
    Extent { include_assets, from_line }: Extent,
) -> Result<Reply, Refusal> {
    if let Some(refusal) = call.only_its_user_starts(skill) {
        return Err(Refusal::Tool(refusal));
    }
    let hit = how.hit();
    let resolved = call.resolve(skill, from_line)?;
    let matched = hit.map(|hit| hit.matched.as_slice()).unwrap_or_default();
    let reply = Reply::json(&One {
        skill_path: &skill.identity,
        score: hit.map_or(1.0, |hit| hit.score.rounded()),
        matched_keywords: matched,
        matched_by: matches!(how, How::Path).then_some("path"),
        content: &resolved.content.text,
        truncated: resolved.content.truncated,
        assets: resolved
            .assets
            .iter()
            .map(|asset| asset_shape(call, skill, asset, None, include_assets))
            .collect(),
        scripts: resolved.scripts.iter().map(|script| script_shape(script, None)).collect(),
        inherited_assets: resolved
            .inherited_assets
            .iter()
            .map(|found| {
                asset_shape(
                    call,
                    found.from,
                    found.declaration,
                    Some(&found.from.identity),
                    include_assets,
                )
            })
            .collect(),
        inherited_scripts: resolved
            .inherited_scripts
            .iter()
            .map(|found| script_shape(found.declaration, Some(&found.from.identity)))
            .collect(),
    })?;
    call.sink.record(|| {
        let tokens = resolved.content.tokens;
        call.skill_served(skill, &resolved.ancestors, tokens, context, hit)
    });
    Ok(reply)
}

fn asset_shape<'a>(
    call: &Call,
    owner: &Skill,
    asset: &'a AssetDeclaration,
    from: Option<&'a str>,
    include: bool,
) -> Asset<'a> {
    let inlined = (include && !is_binary(asset.file.as_str())).then(|| inline(call, owner, asset));
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

/// A text asset's content, or why it is left out.
fn inline(call: &Call, owner: &Skill, asset: &AssetDeclaration) -> Result<String, String> {
    let limit = call.snapshot.settings().assets.inline_text_max_bytes;
    match call.snapshot.read(owner, &asset.file, limit) {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|_| "not UTF-8 text; use get_asset".to_owned())
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
