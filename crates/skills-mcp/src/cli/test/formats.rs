//! The results of routing tests for programs: JSON, `JUnit`, GitHub.

use serde_json::{Value, json};
use skills_core::diagnostic::Severity;

use super::{ExplainedTest, Output, Results, TestFormat, collected::MisplacedTest};
use crate::cli::{
    output::safe,
    report::{
        Annotation, github,
        junit::{self, JunitCase, JunitOutcome},
    },
};

/// The kind of a failed test, and of a mistake in a file of tests.
const FAILED: &str = "routing-test-failed";
const MISTAKE: &str = "routing-test-invalid";

/// What is wrong in the files of tests.
pub(super) fn errors(out: &mut Output, format: TestFormat, errors: &[MisplacedTest]) {
    let annotation = |error: &MisplacedTest| Annotation {
        level: Severity::Error,
        code: MISTAKE.to_owned(),
        file: error.place.file.clone(),
        line: error.place.line,
        column: error.place.column,
        message: error.message.clone(),
        hint: Some(error.hint.clone()),
        help: None,
    };
    match format {
        TestFormat::Human => {
            for MisplacedTest { place, message, hint } in errors {
                let at = format!("{}:{}:{}", place.file, place.line, place.column);
                out.line(safe(&format!("{at}: error: {message}")));
                out.line(safe(&format!("   {hint}")));
            }
        }
        TestFormat::Json => {
            let errors: Vec<Value> = errors.iter().map(|error| annotation(error).json()).collect();
            out.json(&json!({"errors": errors}));
        }
        TestFormat::Junit => {
            let case = |error: &MisplacedTest| JunitCase {
                name: format!("line {}", error.place.line),
                class: error.place.file.clone(),
                file: Some(error.place.file.clone()),
                outcome: JunitOutcome::Failed {
                    kind: MISTAKE.to_owned(),
                    message: error.message.clone(),
                    detail: error.hint.clone(),
                },
            };
            let cases: Vec<JunitCase> = errors.iter().map(case).collect();
            out.line(junit::document("skills-mcp test", &cases).trim_end());
        }
        TestFormat::Github => {
            for error in errors {
                out.line(github::line(&annotation(error)));
            }
        }
    }
}

pub(super) fn json(results: &Results) -> Value {
    let scores = results.scores;
    let test = |test: &ExplainedTest| {
        json!({
            "file": test.place.file,
            "line": test.place.line,
            "column": test.place.column,
            "request": test.test.test.request,
            "expected": test.expected,
            "passed": test.passed(),
            "first": test.first,
            "found_by": test.found_by(),
            "ranked_place": test.test.expected.and_then(|skill| test.judged.routed.ranked_place(skill)),
            "keywords": test.formula,
            "ranked": test.ranked,
            "failure": test.failure,
        })
    };
    let confused: Vec<Value> = results
        .confused
        .iter()
        .map(|(expected, won, requests)| json!({"expected": expected, "won": won, "requests": requests}))
        .collect();
    json!({
        "tests": results.tests.iter().map(test).collect::<Vec<_>>(),
        "passed": results.tests.len() - results.failed(),
        "failed": results.failed(),
        "skills": results.skills,
        "scores": {
            "requests": scores.requests,
            "loaded": {"hit@1": scores.loaded_right, "wrong": scores.loaded_wrong},
            "ranked": {"hit@1": scores.ranked_first, "recall@3": scores.ranked_third},
            "shown": {"hit@1": scores.shown_first, "recall@3": scores.shown_third},
        },
        "confused": confused,
    })
}

/// Why a test fails, in lines.
fn detail(test: &ExplainedTest) -> String {
    format!("keywords: {}\nranked search: {}", test.formula, test.ranked)
}

pub(super) fn junit(results: &Results) -> String {
    let case = |test: &ExplainedTest| JunitCase {
        name: test.test.test.request.clone(),
        class: test.place.file.clone(),
        file: Some(test.place.file.clone()),
        outcome: match &test.failure {
            None => JunitOutcome::Passed,
            Some(failure) => JunitOutcome::Failed {
                kind: FAILED.to_owned(),
                message: failure.clone(),
                detail: detail(test),
            },
        },
    };
    let cases: Vec<JunitCase> = results.tests.iter().map(case).collect();
    junit::document("skills-mcp test", &cases)
}

pub(super) fn annotations(results: &Results) -> Vec<String> {
    let annotation = |test: &ExplainedTest| {
        let failure = test.failure.as_ref()?;
        Some(github::line(&Annotation {
            level: Severity::Error,
            code: FAILED.to_owned(),
            file: test.place.file.clone(),
            line: test.place.line,
            column: test.place.column,
            message: format!("“{:.120}”: {failure}", test.test.test.request),
            hint: Some(detail(test)),
            help: None,
        }))
    };
    results.tests.iter().filter_map(annotation).collect()
}
