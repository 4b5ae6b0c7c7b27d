//! `try`: searches as an agent would, and says which terms and clauses decided.

use std::process::ExitCode;

use serde_json::{Value, json};
use skills_core::{
    catalog::{Catalog, Skill, SkillId},
    route::{KeywordHit, RouteVerdict, ranked},
};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, fitted, safe},
};
use crate::store::clause_of;

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
    let catalog = &snapshot.catalog;
    let ranking = snapshot.search(&options.request, options.limit);
    let verdict = snapshot.route(&options.request);
    let keywords = Keywords::of(catalog, &options.request, &verdict);
    let mut out = Output::new();
    if options.json {
        let hits: Vec<Value> = ranking.hits.iter().map(|hit| hit_json(catalog, hit)).collect();
        let shown = json!({
            "request": options.request,
            "total": ranking.total,
            "confident": ranking.confident,
            "hits": hits,
            "get_skill": keywords.json(catalog),
        });
        out.json(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    ranked(&mut out, catalog, &ranking);
    keywords.print(&mut out, catalog);
    Ok(ExitCode::SUCCESS)
}

fn ranked(out: &mut Output, catalog: &Catalog, ranking: &ranked::Ranking) {
    out.line(bold(&format!("Ranked search: {} found", counted(ranking.total, "skill"))));
    if !ranking.hits.is_empty() {
        out.line(dim(if ranking.confident {
            "the first stands out"
        } else {
            "several match about equally well"
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

/// What `get_skill` makes of the request.
struct Keywords<'a> {
    /// The skill whose path the request is; then keywords do not decide.
    at_path: Option<&'a Skill>,
    verdict: &'static str,
    hits: &'a [KeywordHit],
}

impl<'a> Keywords<'a> {
    fn of(catalog: &'a Catalog, request: &str, verdict: &'a RouteVerdict) -> Self {
        let (verdict, hits) = match verdict {
            RouteVerdict::NoMatch { closest } => ("no_match", closest.as_slice()),
            RouteVerdict::Match(hit) => ("match", std::slice::from_ref(hit)),
            RouteVerdict::Ambiguous(hits) => ("ambiguous", hits.as_slice()),
        };
        Self { at_path: catalog.at_path(request), verdict, hits }
    }

    fn print(&self, out: &mut Output, catalog: &Catalog) {
        out.heading("Keyword formula (get_skill)");
        if let Some(skill) = self.at_path {
            let path = safe(&skill.identity);
            out.line(format!(
                "   the request is the path of {path}, so get_skill loads it whatever follows"
            ));
        }
        match (self.verdict, self.hits) {
            ("no_match", []) => out.line("   no keyword matches"),
            ("no_match", _) => out.line("   nothing reaches matching.min_score; the closest:"),
            ("ambiguous", _) => out.line("   ambiguous, the scores are too close:"),
            _ => {}
        }
        for hit in self.hits {
            let name = catalog.skill(hit.skill).map(|skill| safe(&skill.identity));
            let name = name.unwrap_or_default();
            let matched = dim(&safe(&hit.matched.join(", ")));
            out.line(format!("   {name}  {}  {matched}", hit.score.rounded()));
        }
    }

    fn json(&self, catalog: &Catalog) -> Value {
        let hit = |hit: &KeywordHit| {
            json!({
                "skill_path": catalog.skill(hit.skill).map(|skill| skill.identity.to_string()),
                "score": hit.score.rounded(),
                "matched_keywords": hit.matched,
            })
        };
        json!({
            "path": self.at_path.map(|skill| skill.identity.to_string()),
            "keywords": self.verdict,
            "candidates": self.hits.iter().map(hit).collect::<Vec<_>>(),
        })
    }
}

fn label(catalog: &Catalog, hit: &ranked::SearchHit) -> String {
    catalog.skill(SkillId::at(hit.entry)).map(|skill| skill.label.to_string()).unwrap_or_default()
}

fn clause(catalog: &Catalog, hit: &ranked::SearchHit) -> Option<String> {
    clause_of(catalog.skill(SkillId::at(hit.entry))?, hit.clause?)
}

fn hit_json(catalog: &Catalog, hit: &ranked::SearchHit) -> Value {
    json!({
        "skill": label(catalog, hit),
        "score": hit.score,
        "words": hit.bm25,
        "name": hit.name,
        "clauses": hit.clauses,
        "matched_terms": hit.matched_terms,
        "clause": clause(catalog, hit),
    })
}
