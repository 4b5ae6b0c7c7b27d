//! `why`: which copy of a skill is served, and over which others.

use std::process::ExitCode;

use serde_json::json;
use skills_core::catalog::{NameMatch, Skill};

use super::{
    Context, Failure, Output,
    output::{bold, safe},
};
use crate::store::Snapshot;

#[derive(clap::Args)]
pub(super) struct WhyOptions {
    /// The skill's name
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &WhyOptions) -> Result<ExitCode, Failure> {
    let snapshot = context.opened()?.snapshot;
    let catalog = &snapshot.catalog;
    let skills: Vec<&Skill> = match catalog.named(&options.name) {
        NameMatch::One(skill) => vec![skill],
        NameMatch::Several(skills) => skills,
        NameMatch::NotFound => return Err(not_found(&snapshot, &options.name)),
    };
    let mut out = Output::new();
    if options.json {
        out.json(&json!({"served": skills.iter().map(|skill| shape(&snapshot, skill)).collect::<Vec<_>>()}));
        return Ok(ExitCode::SUCCESS);
    }
    if skills.len() > 1 {
        let several = "is the short name of several skills; use a full name";
        out.sentence("", &format!("`{}` {several}", options.name));
    }
    for skill in skills {
        let label = safe(&skill.label);
        let file = file_of(&snapshot, skill.source, skill.file.as_str());
        out.entry(&bold(&label), label.chars().count(), &file);
        for copy in catalog.shadowed().iter().filter(|copy| copy.winner == skill.id) {
            let why = match &copy.served_as {
                Some(name) => format!("served as {name}"),
                None if copy.identical => "the same to the byte".to_owned(),
                None => "differs, and its directory comes later".to_owned(),
            };
            let file = file_of(&snapshot, copy.source, copy.file.as_str());
            out.entry("  over", 6, &format!("{file}: {why}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn not_found(snapshot: &Snapshot, name: &str) -> Failure {
    let skipped = snapshot.diagnostics().into_iter().find(|diagnostic| {
        let named = diagnostic
            .file
            .split('/')
            .any(|part| part.trim_end_matches(".md").eq_ignore_ascii_case(name));
        named && diagnostic.finding.code.severity() == skills_core::diagnostic::Severity::Error
    });
    let near = snapshot.catalog.near_labels(name);
    let hint = match (skipped, near.is_empty()) {
        (Some(diagnostic), _) => format!("it may be this one, which is not served: {diagnostic}"),
        (None, false) => format!("did you mean {}?", near.join(", ")),
        (None, true) => "`skills-mcp list --all` shows everything that was found".to_owned(),
    };
    Failure::usage(format!("there is no skill `{}`", safe(name)), safe(&hint))
}

fn file_of(snapshot: &Snapshot, source: usize, file: &str) -> String {
    let origin = snapshot.catalog.sources().get(source).map(|source| source.origin.location());
    let path = snapshot.source_path(source).join(file);
    match origin.filter(|origin| !origin.is_empty()) {
        Some(origin) => format!("{} ({origin})", path.display()),
        None => path.display().to_string(),
    }
}

fn shape(snapshot: &Snapshot, skill: &Skill) -> serde_json::Value {
    let source = |number: usize| {
        snapshot.catalog.sources().get(number).map(|source| source.name.to_string())
    };
    let copies: Vec<_> = snapshot
        .catalog
        .shadowed()
        .iter()
        .filter(|copy| copy.winner == skill.id)
        .map(|copy| json!({"source": source(copy.source), "file": copy.file.as_str(), "identical": copy.identical, "served_as": copy.served_as.as_deref()}))
        .collect();
    json!({"name": &*skill.label, "source": source(skill.source), "file": skill.file.as_str(), "over": copies})
}
