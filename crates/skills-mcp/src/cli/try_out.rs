//! `try`: searches as an agent would, and says which terms and clauses decided.

use std::process::ExitCode;

use serde_json::{Value, json};
use skills_core::{
    catalog::{Catalog, Skill, SkillId},
    diagnostic::Position,
    route::{
        KeywordHit, RouteVerdict,
        authoring::{ExpectedSkill, ResolvedTest, RoutingTest, smallest_edit},
        ranked,
    },
};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, fitted, safe},
    test::{ExplainedTest, TestPlace, body, explanation},
};
use crate::{
    store::{Snapshot, clause_of},
    surface::Siblings,
    usage::learn_now,
};

#[derive(clap::Args)]
pub(super) struct TryOutOptions {
    /// The request, in a sentence
    request: String,
    /// How many candidates to show
    #[arg(long, default_value_t = 5)]
    limit: usize,
    /// The path of the skill that the request should find; exits with 1 if it does not
    #[arg(long, value_name = "PATH|none")]
    expect: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, options: &TryOutOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    learn_now(&context.environment, &opened.store);
    let snapshot = opened.store.known().unwrap_or(opened.snapshot);
    let catalog = &snapshot.catalog;
    let expected = options.expect.as_deref().map(|path| expected(&snapshot, options, path));
    let expected = expected.transpose()?;
    let passed = expected.as_ref().is_none_or(ExplainedTest::passed);
    let code = if passed { ExitCode::SUCCESS } else { ExitCode::from(1) };
    let ranking = snapshot.search(&options.request, options.limit);
    let verdict = snapshot.route(&options.request);
    let keywords = Keywords::of(catalog, &options.request, &verdict);
    let siblings = Siblings::of_hits(&snapshot, &ranking.hits);
    let mut out = Output::new();
    if options.json {
        let mut hits: Vec<Value> =
            ranking.hits.iter().map(|hit| hit_json(&snapshot, hit)).collect();
        add_siblings(&mut hits, catalog, &ranking, &siblings);
        let expected = expected.map(|test| {
            json!({
                "skill": test.expected,
                "passed": test.passed(),
                "failure": test.failure,
                "change": test.change,
            })
        });
        let shown = json!({
            "request": options.request,
            "total": ranking.total,
            "confident": ranking.confident,
            "hits": hits,
            "get_skill": keywords.json(catalog),
            "expected": expected,
        });
        out.json(&shown);
        return Ok(code);
    }
    ranked(&mut out, &snapshot, &ranking, &siblings);
    keywords.print(&mut out, catalog);
    if let Some(test) = expected {
        out.heading(if test.passed() { "As expected" } else { "Not as expected" });
        if test.passed() {
            out.line(format!("   {}", safe(&test.expected)));
        } else {
            explanation(&mut out, &test);
        }
    }
    Ok(code)
}

/// Whether the request finds what was expected, and if not, what would change that.
fn expected(
    snapshot: &Snapshot,
    options: &TryOutOptions,
    path: &str,
) -> Result<ExplainedTest, Failure> {
    let place = TestPlace { file: "--expect".to_owned(), line: 1, column: 1 };
    let test = RoutingTest {
        request: options.request.clone(),
        expect: Some(match path {
            "none" => ExpectedSkill::Nothing,
            _ => ExpectedSkill::Named(path.to_owned()),
        }),
        not: None,
        within: 1,
        at: Position { line: 1, column: 1 },
    };
    let test = ResolvedTest::resolve(test, &snapshot.catalog)
        .map_err(|error| Failure::usage(format!("--expect: {}", error.message), error.hint))?;
    let routes = snapshot.routes();
    let judged = test.judge(&routes);
    let tests = [(test, judged)];
    let edit = smallest_edit(0, &tests, &routes, |skill| body(snapshot, skill));
    let [(test, judged)] = tests;
    Ok(ExplainedTest::new(snapshot, place, test, judged, edit))
}

fn ranked(out: &mut Output, snapshot: &Snapshot, ranking: &ranked::Ranking, siblings: &Siblings) {
    let catalog = &snapshot.catalog;
    out.line(bold(&format!("Ranked search: {} found", counted(ranking.total, "skill"))));
    if !ranking.hits.is_empty() {
        out.line(dim(if ranking.confident {
            "the first stands out"
        } else {
            "several match about equally well"
        }));
    }
    let labels = |places: &[usize]| {
        let hits = places.iter().filter_map(|place| ranking.hits.get(*place));
        hits.map(|hit| safe(&label(catalog, hit))).collect::<Vec<_>>().join(", ")
    };
    let mut first = None;
    for sibling in siblings.members() {
        let place = sibling.place;
        let Some(hit) = ranking.hits.get(place) else { continue };
        if sibling.is_first {
            first = Some(place);
        }
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
        let learned = learned_from(snapshot, hit);
        if learned > 0 {
            out.line(format!("   learned from: {}", counted(learned, "request")));
        }
        if !sibling.is_first {
            out.line(format!("   sibling of: {}", labels(first.as_slice())));
        }
        if let Some(differs_by) = &sibling.differs_by {
            let width = out.width.saturating_sub(15);
            out.line(format!("   differs by: {}", fitted(differs_by, width)));
        }
        if !sibling.duplicates.is_empty() {
            out.line(format!("   nearly the same: {}", labels(&sibling.duplicates)));
        }
    }
}

/// Adds to each hit whose sibling it is, what tells it apart, and which others say nearly the same.
fn add_siblings(
    hits: &mut [Value],
    catalog: &Catalog,
    ranking: &ranked::Ranking,
    siblings: &Siblings,
) {
    let label = |place: usize| ranking.hits.get(place).map(|hit| label(catalog, hit));
    let mut first = 0;
    for sibling in siblings.members() {
        if sibling.is_first {
            first = sibling.place;
        }
        let same: Vec<_> = sibling.duplicates.iter().filter_map(|place| label(*place)).collect();
        if let Some(Value::Object(hit)) = hits.get_mut(sibling.place) {
            let leader = if sibling.is_first { None } else { label(first) };
            hit.insert("sibling_of".to_owned(), json!(leader));
            hit.insert("differs_by".to_owned(), json!(sibling.differs_by));
            hit.insert("nearly_the_same".to_owned(), json!(same));
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

/// How many past requests the skill of a hit was loaded for, where that counts.
fn learned_from(snapshot: &Snapshot, hit: &ranked::SearchHit) -> usize {
    let skill = snapshot.catalog.skill(SkillId::at(hit.entry));
    skill.map_or(0, |skill| snapshot.learned_from(skill))
}

fn hit_json(snapshot: &Snapshot, hit: &ranked::SearchHit) -> Value {
    let catalog = &snapshot.catalog;
    json!({
        "skill": label(catalog, hit),
        "score": hit.score,
        "words": hit.bm25,
        "name": hit.name,
        "clauses": hit.clauses,
        "matched_terms": hit.matched_terms,
        "clause": clause(catalog, hit),
        "learned_from": learned_from(snapshot, hit),
    })
}
