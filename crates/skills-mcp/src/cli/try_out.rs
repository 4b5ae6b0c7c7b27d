//! `try`: searches as an agent would, and says which terms and clauses decided.

use std::process::ExitCode;

use serde_json::{Value, json};
use skills_core::{
    catalog::{Catalog, SkillId},
    route::{Hit, Verdict, ranked},
};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, fitted, safe},
};
use crate::store::clause_of;

#[derive(clap::Args)]
pub(super) struct Options {
    /// The request, in a sentence
    request: String,
    /// How many candidates
    #[arg(long, default_value_t = 5)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &Options) -> Result<ExitCode, Failure> {
    let (_, snapshot) = context.opened()?;
    let catalog = &snapshot.catalog;
    let ranking = snapshot.search(&options.request, options.limit);
    let mut out = Output::new();
    if options.json {
        let hits: Vec<Value> = ranking.hits.iter().map(|hit| hit_json(catalog, hit)).collect();
        let (total, confident) = (ranking.total, ranking.confident);
        out.json(&json!({"request": options.request, "total": total, "confident": confident, "hits": hits}));
        return Ok(ExitCode::SUCCESS);
    }
    ranked(&mut out, catalog, &ranking);
    let verdict = snapshot.router.route(catalog, &options.request, &snapshot.settings().matching);
    formula(&mut out, catalog, &verdict);
    Ok(ExitCode::SUCCESS)
}

fn ranked(out: &mut Output, catalog: &Catalog, ranking: &ranked::Ranking) {
    out.line(bold(&format!(
        "Ranked search: {} with a word of it",
        counted(ranking.total, "skill")
    )));
    if !ranking.hits.is_empty() {
        out.line(dim(if ranking.confident {
            "the first stands out"
        } else {
            "several fit about as well"
        }));
    }
    for (place, hit) in ranking.hits.iter().enumerate() {
        out.line("");
        let label = safe(&label(catalog, hit));
        out.line(format!("{}. {}  {}", place + 1, bold(&label), dim(&format!("{:.3}", hit.score))));
        out.line(format!(
            "   words {:.3} + name {:.3} + clauses {:.3}",
            hit.bm25, hit.name, hit.clauses
        ));
        out.line(format!("   matched: {}", safe(&hit.matched_terms.join(", "))));
        if let Some(clause) = clause(catalog, hit) {
            out.line(format!("   best clause: {}", fitted(&clause, out.width.saturating_sub(16))));
        }
    }
}

fn formula(out: &mut Output, catalog: &Catalog, verdict: &Verdict) {
    out.heading("Keyword formula (get_skill)");
    let hits: &[Hit] = match verdict {
        Verdict::NoMatch { closest: None } => {
            out.line("   no keyword matches");
            &[]
        }
        Verdict::NoMatch { closest: Some(hit) } => {
            out.line("   nothing reaches matching.min_score; the closest:");
            std::slice::from_ref(hit)
        }
        Verdict::Match(hit) => std::slice::from_ref(hit),
        Verdict::Ambiguous(hits) => {
            out.line("   too close to call:");
            hits
        }
    };
    for hit in hits {
        let name = catalog.skill(hit.skill).map(|skill| safe(&skill.identity)).unwrap_or_default();
        out.line(format!(
            "   {name}  {}  {}",
            hit.score.rounded(),
            dim(&safe(&hit.matched.join(", ")))
        ));
    }
}

fn label(catalog: &Catalog, hit: &ranked::Hit) -> String {
    catalog.skill(SkillId::at(hit.entry)).map(|skill| skill.label.to_string()).unwrap_or_default()
}

fn clause(catalog: &Catalog, hit: &ranked::Hit) -> Option<String> {
    clause_of(catalog.skill(SkillId::at(hit.entry))?, hit.clause?)
}

fn hit_json(catalog: &Catalog, hit: &ranked::Hit) -> Value {
    json!({
        "skill": label(catalog, hit),
        "score": hit.score,
        "bm25": hit.bm25,
        "name": hit.name,
        "clauses": hit.clauses,
        "matched_terms": hit.matched_terms,
        "clause": clause(catalog, hit),
    })
}
