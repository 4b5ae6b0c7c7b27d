//! `show`: what an agent receives with a skill.

use std::process::ExitCode;

use serde_json::json;
use skills_core::resolve::{Resolved, resolve};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, safe, with_other_name},
};

#[derive(clap::Args)]
pub(super) struct Options {
    /// The skill, such as `ui/react/auth`
    path: String,
    /// List every file of its folder, with size and digest
    #[arg(long)]
    files: bool,
    /// Print what the `get_skill` tool answers
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &Options) -> Result<ExitCode, Failure> {
    let mut out = Output::new();
    if options.json {
        out.json_text(&context.call("get_skill", &json!({"skill_path": options.path}))?);
        return Ok(ExitCode::SUCCESS);
    }
    let (_, snapshot) = context.opened()?;
    let catalog = &snapshot.catalog;
    let skill = catalog.find(&options.path).ok_or_else(|| {
        let near = catalog.near(&options.path).join(", ");
        let hint = if near.is_empty() {
            "`skills-mcp list` draws the tree".to_owned()
        } else {
            format!("did you mean {near}?")
        };
        Failure::usage(format!("there is no skill `{}`", safe(&options.path)), hint)
    })?;
    let max_tokens = snapshot.settings().content.max_tokens;
    let resolved = resolve(catalog, skill, max_tokens, |skill| {
        snapshot.text(skill).map_err(|error| {
            let message = format!("{} {error}", safe(skill.file.as_str()));
            Failure::usage(message, "it is being changed; try again")
        })
    })?;
    out.line(format!(
        "{}  {}",
        bold(&safe(&with_other_name(&skill.identity, Some(skill)))),
        dim(&safe(&skill.fields().description))
    ));
    let keywords = safe(&skill.fields().keywords.join(", "));
    let keywords =
        if keywords.is_empty() { String::new() } else { format!("; keywords: {keywords}") };
    out.line(dim(&format!("about {}{keywords}", counted(resolved.content.tokens, "token"))));
    out.line("");
    out.line(safe(&resolved.content.text));
    files(&mut out, &resolved);
    if options.files {
        out.heading("Files");
        for file in snapshot.files(skill) {
            let digest = file
                .digest
                .map_or_else(|error| error.to_string(), |digest| format!("sha256:{digest}"));
            out.line(format!("  {}  {}  {}", safe(file.path.as_str()), file.bytes, dim(&digest)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn files(out: &mut Output, resolved: &Resolved<'_>) {
    let own_assets = resolved
        .assets
        .iter()
        .map(|asset| (asset.file.as_str(), asset.kind.word(), &asset.description, None));
    let assets = resolved.inherited_assets.iter().map(|found| {
        let asset = found.declaration;
        (asset.file.as_str(), asset.kind.word(), &asset.description, Some(&found.from.identity))
    });
    let own_scripts = resolved
        .scripts
        .iter()
        .map(|script| (script.file.as_str(), script.execution.word(), &script.description, None));
    let scripts = resolved.inherited_scripts.iter().map(|found| {
        let script = found.declaration;
        (
            script.file.as_str(),
            script.execution.word(),
            &script.description,
            Some(&found.from.identity),
        )
    });
    let groups = [
        ("Assets", own_assets.chain(assets).collect::<Vec<_>>()),
        ("Scripts", own_scripts.chain(scripts).collect()),
    ];
    for (title, rows) in groups.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        out.heading(title);
        for (file, kind, description, from) in rows {
            let from = from.map(|from| format!(", from {}", safe(from))).unwrap_or_default();
            out.line(format!(
                "  {}  {}",
                safe(file),
                dim(&format!("({kind}{from}) {}", safe(description)))
            ));
        }
    }
}
