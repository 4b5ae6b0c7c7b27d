//! `try`: searches as an agent would, and says which terms and clauses decided.

use std::process::ExitCode;

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, fitted, safe},
};
use crate::surface::{ExplainedRoute, ExplainedSearch};

#[derive(clap::Args)]
pub(super) struct TryOutOptions {
    /// The request, in a sentence
    request: String,
    /// How many candidates to show
    #[arg(long, default_value_t = 5)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &TryOutOptions) -> Result<ExitCode, Failure> {
    let snapshot = context.opened()?.snapshot;
    let search = ExplainedSearch::of(&snapshot, &options.request, options.limit);
    let mut out = Output::new();
    if options.json {
        out.json(&search);
        return Ok(ExitCode::SUCCESS);
    }
    ranked(&mut out, &search);
    keywords(&mut out, &search.get_skill);
    Ok(ExitCode::SUCCESS)
}

fn ranked(out: &mut Output, search: &ExplainedSearch<'_>) {
    out.line(bold(&format!("Ranked search: {} found", counted(search.total, "skill"))));
    if !search.hits.is_empty() {
        out.line(dim(if search.confident {
            "the first stands out"
        } else {
            "several match about equally well"
        }));
    }
    for (place, hit) in search.hits.iter().enumerate() {
        out.line("");
        let label = safe(hit.skill);
        out.line(format!("{}. {}  {}", place + 1, bold(&label), dim(&format!("{:.3}", hit.score))));
        out.line(format!(
            "   words {:.3} + name {:.3} + clauses {:.3}",
            hit.words, hit.name, hit.clauses
        ));
        out.line(format!("   matched: {}", safe(&hit.matched_terms.join(", "))));
        if let Some(clause) = &hit.clause {
            out.line(format!("   best clause: {}", fitted(clause, out.width.saturating_sub(16))));
        }
    }
}

/// What `get_skill` makes of the request.
fn keywords(out: &mut Output, route: &ExplainedRoute<'_>) {
    out.heading("Keyword formula (get_skill)");
    if let Some(path) = route.path {
        let path = safe(path);
        out.line(format!(
            "   the request is the path of {path}, so get_skill loads it whatever follows"
        ));
    }
    match (route.keywords, &*route.candidates) {
        ("no_match", []) => out.line("   no keyword matches"),
        ("no_match", _) => out.line("   nothing reaches matching.min_score; the closest:"),
        ("ambiguous", _) => out.line("   ambiguous, the scores are too close:"),
        _ => {}
    }
    for candidate in &route.candidates {
        let name = safe(candidate.skill_path);
        let matched = dim(&safe(&candidate.matched_keywords.join(", ")));
        out.line(format!("   {name}  {}  {matched}", candidate.score));
    }
}
