//! `list`: the tree of skills, drawn; with `--sources` where they come from.

mod sources;

use std::process::ExitCode;

use serde_json::{Value, json};
use skills_core::{
    catalog::{Skill, TreeNode},
    diagnostic::{Diagnostic, Severity},
};

use super::{
    Context, Failure, Output, finding,
    opened::Opened,
    output::{bold, counted, dim, fitted, safe, with_other_name},
};
use crate::store::{Snapshot, Store};

#[derive(clap::Args)]
pub(super) struct ListOptions {
    /// Only this part of the tree, such as `ui`
    path: Option<String>,
    /// Show what is not served too, and why
    #[arg(long)]
    all: bool,
    /// Show the sources instead, and what names each
    #[arg(long, conflicts_with_all = ["path", "all"])]
    sources: bool,
    /// Print JSON, as the `list_skills` tool does
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &ListOptions) -> Result<ExitCode, Failure> {
    let mut out = Output::new();
    let opened = context.opened()?;
    if options.sources {
        sources::print(&opened, options.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !options.json {
        opened.expect_source("there are no skills to list")?;
    }
    let Opened { store, snapshot, .. } = &opened;
    let asked = options.path.as_deref().unwrap_or("");
    let tree = snapshot.catalog.subtree(asked).ok_or_else(|| {
        let near = snapshot.catalog.near(asked).join(", ");
        let hint = if near.is_empty() {
            "`skills-mcp list` draws the whole tree".to_owned()
        } else {
            format!("did you mean {near}?")
        };
        Failure::usage(format!("there is no `{}`", safe(asked)), hint)
    })?;
    if options.json {
        if options.all {
            out.json(&all_json(snapshot));
        } else {
            let path = options.path.iter().map(|path| ("path".to_owned(), json!(path)));
            out.json_text(&opened.call("list_skills", path.collect())?);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let column = widest(&tree, 0).min(out.width / 2) + 2;
    let drawing = Drawing { column, width: out.width };
    let title = title(store, &tree);
    // The title names the only source already.
    let tree = match &*tree.children {
        [only] if tree.name == "root" && only.name == title => only,
        _ => &tree,
    };
    out.line(format!("{}  {}", bold(&title), dim(&counted(tree.count(), "skill"))));
    if let Some(skill) = tree.skill {
        out.line(dim(&fitted(&skill.fields().description, out.width)));
    }
    drawing.children(&mut out, tree, "");
    if tree.count() == 0 {
        out.line(dim("no skills yet: add a folder with a SKILL.md, or a .md file with keywords"));
    }
    if options.all {
        not_served(&mut out, snapshot);
        return Ok(ExitCode::SUCCESS);
    }
    let problems = snapshot.count(Severity::Error) + snapshot.count(Severity::Warning);
    if problems > 0 {
        out.line("");
        out.line(dim(&format!("{}; `skills-mcp doctor` explains", counted(problems, "problem"))));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is drawn: the sources, one of them by its name, or a part of one by its path.
fn title(store: &Store, tree: &TreeNode<'_>) -> String {
    let is_root = tree.path == "_root" || tree.path.ends_with(":_root");
    if !is_root {
        return safe(&with_other_name(&tree.path, tree.skill));
    }
    if tree.name != "root" {
        return safe(tree.name);
    }
    let sources = store.sources();
    let there = sources.iter().filter(|source| source.is_there());
    there.map(|source| safe(source.name())).collect::<Vec<_>>().join(", ")
}

/// Skills that do not have the name they want, and files that gave no skill.
fn not_served(out: &mut Output, snapshot: &Snapshot) {
    let catalog = &snapshot.catalog;
    let source = |number: usize| {
        catalog.sources().get(number).map(|source| safe(&source.name)).unwrap_or_default()
    };
    out.heading("Shadowed");
    for copy in catalog.shadowed() {
        let winner =
            catalog.skill(copy.winner).map(|skill| source(skill.source)).unwrap_or_default();
        let why = match &copy.served_as {
            Some(name) => format!("served as {}", safe(name)),
            None if copy.identical => format!("the same as in {winner}"),
            None => format!("{winner} comes first"),
        };
        let file = safe(copy.file.as_str());
        out.line(format!(
            "  {}  {}: {file}  {}",
            safe(&copy.label),
            source(copy.source),
            dim(&why)
        ));
    }
    if catalog.shadowed().is_empty() {
        out.line(dim("  none"));
    }
    out.heading("Not served");
    let skipped = refused(snapshot);
    if skipped.is_empty() {
        out.line(dim("  none"));
    }
    for diagnostic in &skipped {
        finding::print(out, snapshot, diagnostic);
    }
}

fn refused(snapshot: &Snapshot) -> Vec<Diagnostic> {
    let mut found = snapshot.diagnostics();
    found.retain(|found| found.finding.code.refuses());
    found
}

fn all_json(snapshot: &Snapshot) -> Value {
    let catalog = &snapshot.catalog;
    let served: Vec<&str> = catalog.skills().map(|skill| &*skill.label).collect();
    let shadowed: Vec<Value> = catalog
        .shadowed()
        .iter()
        .map(|copy| {
            let source = catalog.sources().get(copy.source).map(|source| source.name.to_string());
            json!({
                "name": &*copy.label, "source": source, "file": copy.file.as_str(),
                "identical": copy.identical, "served_as": copy.served_as.as_deref(),
            })
        })
        .collect();
    let not_served: Vec<Value> = refused(snapshot)
        .iter()
        .map(|found| json!({"path": snapshot.file_of(found), "code": found.finding.code.name(), "message": found.finding.message}))
        .collect();
    json!({"served": served, "shadowed": shadowed, "not_served": not_served})
}

/// The longest drawn name.
fn widest(node: &TreeNode<'_>, depth: usize) -> usize {
    let below = node.children.iter().map(|child| widest(child, depth + 1)).max().unwrap_or(0);
    below.max(depth * 4 + drawn(node).chars().count())
}

/// A node's name, and what else its skill is called.
fn drawn(node: &TreeNode<'_>) -> String {
    with_other_name(node.name, node.skill)
}

/// What a skill is for, and whether models are offered it.
fn about(skill: &Skill) -> String {
    let who = if skill.is_for_models() { "" } else { "(only its user starts it) " };
    format!("{who}{}", skill.fields().description)
}

struct Drawing {
    /// Where descriptions start.
    column: usize,
    width: usize,
}

impl Drawing {
    fn children(&self, out: &mut Output, node: &TreeNode<'_>, indent: &str) {
        let last = node.children.len().saturating_sub(1);
        for (number, child) in node.children.iter().enumerate() {
            let (branch, below) =
                if number == last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let head = format!("{indent}{branch}");
            let name =
                fitted(&drawn(child), self.width.saturating_sub(head.chars().count()).max(4));
            let used = head.chars().count() + name.chars().count();
            let gap = self.column.saturating_sub(used).max(2);
            let room = self.width.saturating_sub(used + gap);
            let about = child.skill.map(about).unwrap_or_default();
            // A description that would be a stump is left out.
            let about = if room < 12 { String::new() } else { fitted(&about, room) };
            out.line(format!(
                "{}{name}{}{}",
                dim(&head),
                " ".repeat(if about.is_empty() { 0 } else { gap }),
                dim(&about)
            ));
            self.children(out, child, &format!("{indent}{below}"));
        }
    }
}
