//! `try`: searches as an agent would, and says which terms and clauses decided.

use std::process::ExitCode;

use serde_json::json;
use skills_core::{
    diagnostic::Position,
    route::authoring::{ExpectedSkill, ResolvedTest, RoutingTest},
};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, fitted, safe},
    test::{ExplainedTest, TestPlace, explanation},
};
use crate::{
    store::Snapshot,
    surface::{ExplainedRoute, ExplainedSearch},
    usage::learn_now,
};

#[derive(clap::Args)]
pub(super) struct TryOutOptions {
    /// The request, in a sentence; quotes are not needed
    #[arg(required = true, value_name = "REQUEST")]
    words: Vec<String>,
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

impl TryOutOptions {
    /// The request; a shell gives its words one by one where they are not in quotes.
    fn request(&self) -> String {
        self.words.join(" ")
    }
}

pub(super) fn run(context: &Context, options: &TryOutOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    if !options.json {
        opened.expect_source("there are no skills to search")?;
    }
    learn_now(&context.environment, &opened.store);
    let snapshot = opened.store.known().unwrap_or(opened.snapshot);
    let expected = options.expect.as_deref().map(|path| expected(&snapshot, options, path));
    let expected = expected.transpose()?;
    let passed = expected.as_ref().is_none_or(ExplainedTest::passed);
    let code = if passed { ExitCode::SUCCESS } else { ExitCode::from(1) };
    let request = options.request();
    let search = ExplainedSearch::of(&snapshot, &request, options.limit);
    opened.store.save_index(&snapshot);
    let mut out = Output::new();
    if options.json {
        let mut shown = json!(search);
        if let (Some(test), Some(shown)) = (expected, shown.as_object_mut()) {
            let expected = json!({
                "skill": test.expected,
                "passed": test.passed(),
                "failure": test.failure,
            });
            shown.insert("expected".to_owned(), expected);
        }
        out.json(&shown);
        return Ok(code);
    }
    out.sentence("", &search.get_skill.sentence());
    out.line("");
    ranked(&mut out, &search);
    keywords(&mut out, &search.get_skill);
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

/// Whether the request finds what was expected.
fn expected(
    snapshot: &Snapshot,
    options: &TryOutOptions,
    path: &str,
) -> Result<ExplainedTest, Failure> {
    let place = TestPlace { file: "--expect".to_owned(), line: 1, column: 1 };
    let test = RoutingTest {
        request: options.request(),
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
    Ok(ExplainedTest::new(snapshot, place, test, judged))
}

fn ranked(out: &mut Output, search: &ExplainedSearch<'_>) {
    out.line(bold(&format!("Ranked search: {} found", counted(search.total, "skill"))));
    if !search.hits.is_empty() {
        out.line(dim(search.judgement()));
    }
    for place in search.shown_places() {
        let Some(hit) = search.hits.get(place) else { continue };
        out.line("");
        let label = safe(hit.skill);
        out.line(format!("{}. {}  {}", place + 1, bold(&label), dim(&format!("{:.3}", hit.score))));
        let sum = format!(
            "words {:.3} + name {:.3} + clauses {:.3} + coverage {:.3}",
            hit.words, hit.name, hit.clauses, hit.coverage
        );
        out.sentence("   ", &hit.about);
        out.sentence("   ", &sum);
        out.sentence("   ", &format!("matched: {}", hit.matched_terms.join(", ")));
        if let Some(clause) = &hit.clause {
            out.line(format!("   best clause: {}", fitted(clause, out.width.saturating_sub(16))));
        }
        if hit.learned_from > 0 {
            out.line(format!("   learned from: {}", counted(hit.learned_from, "request")));
        }
        if let Some(leader) = hit.sibling_of {
            out.line(format!("   sibling of: {}", safe(leader)));
        }
        if let Some(differs_by) = &hit.differs_by {
            let width = out.width.saturating_sub(15);
            out.line(format!("   differs by: {}", fitted(differs_by, width)));
        }
        if !hit.nearly_the_same.is_empty() {
            let same = hit.nearly_the_same.join(", ");
            out.sentence("   ", &format!("nearly the same: {same}"));
        }
    }
}

/// Prints the verdict of the keyword formula.
fn keywords(out: &mut Output, route: &ExplainedRoute<'_>) {
    out.heading("Keyword formula");
    match (route.keywords, &*route.candidates) {
        ("no_match", []) => out.line("   no keyword matches"),
        ("no_match", _) => {
            out.sentence("   ", "nothing reaches matching.min_score; the closest:");
        }
        ("ambiguous", _) => out.sentence("   ", "ambiguous, the scores are too close:"),
        _ => {}
    }
    for candidate in &route.candidates {
        let name = safe(candidate.skill_path);
        let head = format!("   {name}  {}", candidate.score);
        let width = head.chars().count();
        out.entry(&head, width, &candidate.matched_keywords.join(", "));
    }
}
