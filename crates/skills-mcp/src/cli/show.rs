//! `show`: what an agent receives with a skill.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Map, json};
use skills_core::estimate;

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, safe, with_other_name},
};

#[derive(clap::Args)]
pub(super) struct ShowOptions {
    /// The skill, such as `ui/react/auth`; quotes around a name of several words are not needed
    #[arg(required = true, value_name = "SKILL")]
    name: Vec<String>,
    /// List every file of its folder, with size and digest
    #[arg(long)]
    files: bool,
    /// Print what the `get_skill` tool answers
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &ShowOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    let skill = opened.skill(&options.name.join(" "))?;
    let request = Map::from_iter([("skill_path".to_owned(), json!(&*skill.identity))]);
    let answer = opened.call("get_skill", request)?;
    let mut out = Output::new();
    if options.json {
        out.json_text(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Received =
        serde_json::from_str(&answer).map_err(|error| Failure::bug(error.to_string()))?;
    let name = safe(&with_other_name(&skill.identity, Some(skill)));
    out.entry(&bold(&name), name.chars().count(), &skill.fields().description);
    let keywords = safe(&skill.fields().keywords.join(", "));
    let keywords =
        if keywords.is_empty() { String::new() } else { format!("; keywords: {keywords}") };
    let tokens = counted(estimate::tokens(&answer.content), "token");
    out.dim_sentence("", &format!("about {tokens}{keywords}"));
    if !skill.is_for_models() {
        out.dim_sentence("", &format!("only its user starts it: prompt `{}`", safe(&skill.label)));
    }
    out.line("");
    out.line(safe(&answer.content));
    files(&mut out, "Assets", &answer.assets, &answer.inherited_assets);
    files(&mut out, "Scripts", &answer.scripts, &answer.inherited_scripts);
    if options.files {
        out.heading("Files");
        for file in opened.snapshot.files(skill) {
            let digest = file
                .digest
                .map_or_else(|error| error.to_string(), |digest| format!("sha256:{digest}"));
            out.line(format!("  {}  {}  {}", safe(file.path.as_str()), file.bytes, dim(&digest)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What an agent receives: the answer of `get_skill`.
#[derive(Deserialize)]
struct Received {
    content: String,
    assets: Vec<ReceivedFile>,
    scripts: Vec<ReceivedFile>,
    inherited_assets: Vec<ReceivedFile>,
    inherited_scripts: Vec<ReceivedFile>,
}

/// An asset or a script.
#[derive(Deserialize)]
struct ReceivedFile {
    file: String,
    description: String,
    #[serde(alias = "type", alias = "execution")]
    kind: String,
    from: Option<String>,
}

fn files(out: &mut Output, title: &str, own: &[ReceivedFile], inherited: &[ReceivedFile]) {
    if own.is_empty() && inherited.is_empty() {
        return;
    }
    out.heading(title);
    for ReceivedFile { file, description, kind, from } in own.iter().chain(inherited) {
        let from = from.as_ref().map(|from| format!(", from {}", safe(from))).unwrap_or_default();
        out.line(format!(
            "  {}  {}",
            safe(file),
            dim(&format!("({}{from}) {}", safe(kind), safe(description)))
        ));
    }
}
