//! `get_asset`: the content of a declared asset or script, own or inherited.

use std::string::FromUtf8Error;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::{
    catalog::{Catalog, Folder, Presence, Skill, SkillKind},
    relpath::RelPath,
    resolve::{self, Declared, TextLimit, find_file, is_binary, lines_from, mime_type},
};

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};
use crate::{
    event::{AssetServed, Event},
    store::ContentError,
};

pub(super) const NAME: &str = "get_asset";
/// The path of a file and the mark where its content is cut take no more than this.
const HEAD_CHARS: usize = 1_000;

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    tool_set: ToolSet::Tree,
    title: "Get an asset or script",
    description: "Return the content of an asset or script of a skill. Use the file paths that get_skill returned.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<GetAssetInput>,
    output: None,
    blocking: |_, _| Blocking::ShortRead,
    run,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetAssetInput {
    /// The skill, as `get_skill` returned it
    skill_path: String,
    /// The file, such as "assets/template.tsx"
    file: String,
    /// Read on from this line
    #[schemars(with = "usize", range(min = 1, max = 1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_line: Option<usize>,
}

#[derive(Serialize)]
struct GetAssetOutput<'a> {
    skill_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_from: Option<&'a str>,
    file: &'a str,
    #[serde(flatten)]
    content: Content,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    size_bytes: usize,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
}

#[derive(Serialize)]
enum Content {
    #[serde(rename = "content")]
    Text(String),
    #[serde(rename = "content_base64")]
    Base64(String),
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: GetAssetInput = arguments::read(arguments)?;
    let catalog = &call.snapshot.catalog;
    let skill = call.skill(&input.skill_path)?;
    let file = RelPath::parse(&input.file).map_err(|escape| {
        Refusal::tool(format!(
            "Path traversal refused for '{:.200}': {escape}. Use a file that get_skill returned.",
            input.file
        ))
    })?;
    // Its other files are what the prompt needs that its user starts.
    let is_own_text = skill.kind == SkillKind::Bundle && file.as_str() == skill.file.name();
    if let Some(refusal) = call.only_its_user_starts(skill).filter(|_| is_own_text) {
        return Err(Refusal::Tool(refusal));
    }
    let found = look_up(catalog, skill, &file)?;
    let limit = call.snapshot.settings().assets.max_size_bytes;
    let bytes = call.snapshot.read(found.owner, &file, limit).map_err(|error| match error {
        ContentError::Missing => Refusal::Tool(missing(&file, found.owner)),
        ContentError::TooLarge { .. } => {
            Refusal::tool(format!("Asset '{file}' {error} (assets.max_size_bytes)."))
        }
        ContentError::Refused(_) | ContentError::Changed => {
            Refusal::tool(format!("Asset '{file}' {error}."))
        }
    })?;
    answer(call, skill, &found, (&file, input.from_line.unwrap_or(1)), bytes)
}

/// A file that may be served: whose it is, and what it is called in answers.
struct Servable<'a> {
    owner: &'a Skill,
    kind: &'static str,
}

/// In the tree only what is declared is served; everything in a bundle's folder belongs to the bundle.
fn look_up<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
    file: &RelPath,
) -> Result<Servable<'a>, Refusal> {
    if skill.kind == SkillKind::Bundle {
        let listed = catalog.files(skill).and_then(|folder| folder.file(file));
        let kind = if file.segments().next() == Some("scripts") { "script" } else { "other" };
        return match listed {
            Some(_) => Ok(Servable { owner: skill, kind }),
            None => Err(Refusal::Tool(unknown(catalog, skill, file))),
        };
    }
    let found = find_file(catalog, skill, file)
        .ok_or_else(|| Refusal::Tool(unknown(catalog, skill, file)))?;
    match found.presence {
        Presence::Present => {}
        Presence::Missing => return Err(Refusal::Tool(missing(file, found.owner))),
        Presence::Special => {
            return Err(Refusal::tool(format!(
                "Asset '{file}' is not a regular file, so it is not served."
            )));
        }
    }
    let kind = match found.declared {
        Declared::Asset(asset) => asset.kind.word(),
        Declared::Script(_) => "script",
    };
    Ok(Servable { owner: found.owner, kind })
}

fn answer(
    call: &Call,
    skill: &Skill,
    found: &Servable<'_>,
    (file, from_line): (&RelPath, usize),
    bytes: Vec<u8>,
) -> Result<Reply, Refusal> {
    let size_bytes = bytes.len();
    let is_inherited = found.owner.id != skill.id;
    let kind = found.kind;
    // What calls itself text and is not UTF-8 is served whole as base64, never mangled.
    let content = if is_binary(file.as_str()) {
        Err(bytes)
    } else {
        String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes)
    };
    let limit = call.text_limit(HEAD_CHARS).unwrap_or(TextLimit::of_tokens(usize::MAX));
    let mut truncated = false;
    let (content, mime_type) = match content {
        Ok(text) => {
            let part = lines_from(&text, from_line, limit);
            truncated = part.truncated;
            (Content::Text(part.text), None)
        }
        Err(bytes) if bytes.len().div_ceil(3).saturating_mul(4) > limit.chars => {
            let way = match call.profile.remote {
                None => call.snapshot.path_of(found.owner, file),
                Some(_) => "there with resources/read".to_owned(),
            };
            return Err(Refusal::tool(format!(
                "Asset '{file}' is binary and, with {size_bytes} bytes, too long for an answer that your client shows. Read it at {way}."
            )));
        }
        Err(bytes) => (Content::Base64(STANDARD.encode(bytes)), Some(mime_type(file.as_str()))),
    };
    let reply = Reply::json(&GetAssetOutput {
        skill_path: &skill.identity,
        resolved_from: is_inherited.then_some(&*found.owner.identity),
        file: file.as_str(),
        content,
        truncated,
        size_bytes,
        kind,
        mime_type,
    })?;
    call.sink.record(|| {
        Event::AssetServed(AssetServed {
            skill_path: call.recorded(skill),
            file: file.to_string(),
            asset_type: kind.to_owned(),
            is_inherited,
            size_bytes: size_bytes as u64,
            declared_by: is_inherited.then(|| call.recorded(found.owner)),
        })
        .about(call.snapshot.version(skill))
    });
    Ok(reply)
}

fn missing(file: &RelPath, owner: &Skill) -> String {
    format!(
        "Asset '{file}' is declared by '{}' but missing on disk. Tell the skill's author; go on without it.",
        owner.identity
    )
}

/// A file that no skill on the way declares, with those that are.
fn unknown(catalog: &Catalog, skill: &Skill, file: &RelPath) -> String {
    let files: Vec<String> = match skill.kind {
        SkillKind::Bundle => catalog
            .files(skill)
            .map(Folder::paths)
            .unwrap_or_default()
            .iter()
            .filter(|path| path.as_str() != skill.file.name())
            .map(ToString::to_string)
            .take(10)
            .collect(),
        SkillKind::Tree => declared(catalog, skill),
    };
    let available = if files.is_empty() {
        "It has no files.".to_owned()
    } else {
        format!("Available: {}.", files.join(", "))
    };
    format!("Asset '{:.200}' not found for skill '{}'. {available}", file.as_str(), skill.identity)
}

fn declared(catalog: &Catalog, skill: &Skill) -> Vec<String> {
    let files = resolve::files(catalog, skill);
    files.iter().map(|declared| declared.file().to_string()).take(10).collect()
}
