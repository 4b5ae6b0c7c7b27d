//! `test`: runs the routing tests of the content, and says of each failure what won and by which words.
//!
//! Not here: when a test passes (core).

mod collected;
mod explained;
mod formats;
mod text;

use std::{path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use collected::CollectedTests;
pub(super) use collected::TestPlace;
pub(super) use explained::ExplainedTest;
use skills_core::route::authoring::{ResolvedTest, RoutingScores};
pub(super) use text::explanation;

use super::{Context, Failure, Output, authoring::in_repository, output::safe};
use crate::{source::map, store::Snapshot};

#[derive(clap::Args)]
pub(super) struct TestOptions {
    /// A skills directory, instead of those that are named elsewhere; or a file of tests for them
    path: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = TestFormat::Human)]
    format: TestFormat,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TestFormat {
    /// For people
    Human,
    /// One JSON object
    Json,
    /// `JUnit`'s XML, for build servers
    Junit,
    /// GitHub's workflow commands, for annotations in a pull request
    Github,
}

pub(super) fn run(context: &Context, options: &TestOptions) -> Result<ExitCode, Failure> {
    let (context, file) = served(context, options.path.as_ref());
    let opened = context.opened()?;
    let snapshot = &*opened.snapshot;
    let directory = &context.environment.directory;
    let collected = CollectedTests::of(snapshot, directory, file.as_deref())?;
    let mut out = Output::new();
    if !collected.errors.is_empty() {
        formats::errors(&mut out, options.format, &collected.errors);
        return Ok(ExitCode::from(2));
    }
    if collected.tests.is_empty() {
        return Err(Failure::usage(
            "there are no routing tests",
            "write `routing.yaml` in the skills directory, with `- {request: …, expect: PATH}` for each test, or `tests:` in a skill's front matter",
        ));
    }
    let results = Results::of(snapshot, collected);
    match options.format {
        TestFormat::Human => text::print(&mut out, &results),
        TestFormat::Json => out.json(&formats::json(&results)),
        TestFormat::Junit => out.line(formats::junit(&results).trim_end()),
        TestFormat::Github => {
            for line in formats::annotations(&results) {
                out.line(line);
            }
        }
    }
    opened.store.save_index(snapshot);
    Ok(if results.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What is served: the directory of the argument, or what is named elsewhere; and the file of the argument.
fn served(context: &Context, path: Option<&PathBuf>) -> (Context, Option<PathBuf>) {
    let mut context = in_repository(context);
    match path {
        Some(path) if crate::paths::is_folder(path) => {
            context.shared.directories = vec![path.clone()];
            context.shared.repositories.clear();
            (context, None)
        }
        path => (context, path.cloned()),
    }
}

/// Every test with what became of it.
pub(super) struct Results {
    pub(super) tests: Vec<ExplainedTest>,
    pub(super) scores: RoutingScores,
    /// The skill that was expected, the one that came first instead, and how often; most often first.
    pub(super) confused: Vec<(String, String, usize)>,
    /// How many skills there are.
    pub(super) skills: usize,
}

impl Results {
    fn of(snapshot: &Snapshot, collected: CollectedTests) -> Self {
        let routes = snapshot.routes();
        let (places, tests): (Vec<_>, Vec<ResolvedTest>) = collected.tests.into_iter().unzip();
        let judged = map(&tests, || (), |(), test| test.judge(&routes));
        let judged: Vec<_> = tests.into_iter().zip(judged).collect();
        let mut scores = RoutingScores::default();
        for (test, result) in &judged {
            if let Some(expected) = test.expected {
                scores.add(&result.routed, expected);
            }
        }
        let explained = places.into_iter().zip(judged);
        let tests: Vec<ExplainedTest> = explained
            .map(|(place, (test, result))| ExplainedTest::new(snapshot, place, test, result))
            .collect();
        let confused = confused(&tests);
        Self { tests, scores, confused, skills: snapshot.catalog.len() }
    }

    pub(super) fn failed(&self) -> usize {
        self.tests.iter().filter(|test| !test.passed()).count()
    }
}

fn confused(tests: &[ExplainedTest]) -> Vec<(String, String, usize)> {
    let mut pairs: std::collections::BTreeMap<(&str, &str), usize> =
        std::collections::BTreeMap::new();
    for test in tests {
        if let Some((expected, won)) = test.confused() {
            *pairs.entry((expected, won)).or_default() += 1;
        }
    }
    let mut pairs: Vec<(String, String, usize)> = pairs
        .into_iter()
        .map(|((expected, won), count)| (safe(expected), safe(won), count))
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.2));
    pairs
}
