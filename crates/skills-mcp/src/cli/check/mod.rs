//! `check`: everything that is wrong with content, for its author and for build servers.
//!
//! Findings of reading and building plus the lints of `core:check`, in the order of what they cost. Not here: what is a
//! finding (core), the formats for programs (`report`), what this machine lacks (`doctor`).

mod examined;
mod explain;
mod fix;
mod folded;
mod rewrite;
mod target;

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode, sync::Arc};

use examined::{CheckedFinding, Examination};
pub use explain::page as diagnostics_page;
use serde_json::{Value, json};
use skills_core::diagnostic::{Code, Severity};
use target::CheckTarget;

use super::{
    Context, Failure, Opened, Output, finding,
    output::{bold, counted, dim, safe},
    report::{
        github,
        junit::{self, JunitCase, JunitOutcome},
        sarif::{self, SarifRule},
    },
};
use crate::{
    store::{Cause, keep},
    transport::signal,
};

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct CheckOptions {
    /// A skills directory, one skill's folder or one file; else the sources that every command uses
    #[arg(conflicts_with_all = ["directories", "repositories"])]
    path: Option<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Show notes too, and each of the findings that repeat
    #[arg(long)]
    all: bool,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    format: CheckFormat,
    /// Correct what is certain, and show the changes
    #[arg(long)]
    fix: bool,
    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with = "fix")]
    watch: bool,
    /// Explain a code, and check nothing
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CheckFormat {
    /// For people
    Human,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// `JUnit` XML, a test case for each file
    Junit,
}

pub(super) fn run(context: &Context, options: &CheckOptions) -> Result<ExitCode, Failure> {
    let mut out = Output::new();
    if let Some(code) = &options.explain {
        out.paragraphs(&explain::explained(code)?);
        return Ok(ExitCode::SUCCESS);
    }
    let target = CheckTarget::of(context, options.path.as_deref())?;
    let opened = target.context.opened()?;
    opened.expect_source("there is nothing to check")?;
    if options.watch {
        return watched(&mut out, &opened, &target, options);
    }
    let mut examination = Examination::of(&opened.snapshot, &target);
    let mut fixed = Vec::new();
    if options.fix {
        let shows = options.format == CheckFormat::Human;
        fixed = fix::apply(&mut out, &opened, &target, &examination, shows)?;
        if !fixed.is_empty() {
            let snapshot = opened.store.refresh(Cause::Asked).snapshot;
            examination = Examination::of(&snapshot, &target);
        }
    }
    if examination.skills == 0 && examination.findings.is_empty() {
        return Err(Failure::usage(
            format!("there is no skill in {}", target.described()),
            "a skill is a folder with a SKILL.md, or a .md file with keywords and a description in its front matter",
        ));
    }
    print(&mut out, &examination, options, &fixed);
    Ok(ExitCode::from(u8::from(examination.fails(options.strict))))
}

/// Checks now, and again whenever a file changes.
fn watched(
    out: &mut Output,
    opened: &Opened<'_>,
    target: &CheckTarget,
    options: &CheckOptions,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let ended = signal();
        tokio::pin!(ended);
        let mut generations = opened.store.generations();
        tokio::spawn(keep(Arc::clone(&opened.store)));
        let mut shown: Option<Vec<CheckedFinding>> = None;
        loop {
            let snapshot = opened.store.snapshot().await;
            let examination = Examination::of(&snapshot, target);
            if shown.as_ref() != Some(&examination.findings) {
                print(out, &examination, options, &[]);
                if options.format == CheckFormat::Human {
                    out.line(dim("watching for changes; Ctrl-C ends it"));
                }
                shown = Some(examination.findings);
            }
            tokio::select! {
                _ = generations.changed() => {}
                _ = &mut ended => break,
            }
        }
    });
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut Output, examination: &Examination, options: &CheckOptions, fixed: &[String]) {
    match options.format {
        CheckFormat::Human => human(out, examination, options),
        CheckFormat::Json => out.json(&json_report(examination, options, fixed)),
        CheckFormat::Sarif => {
            let rules: Vec<SarifRule> = Code::ALL.iter().map(|code| rule(*code)).collect();
            let annotations: Vec<_> =
                examination.findings.iter().map(CheckedFinding::annotation).collect();
            out.json(&sarif::log(&rules, &annotations));
        }
        CheckFormat::Github => {
            for found in &examination.findings {
                if options.all || found.level != Severity::Info {
                    out.line(github::line(&found.annotation()));
                }
            }
            let (word, counts) = examination.verdict(options.strict, options.all);
            out.line(format!("{word} {counts}"));
        }
        CheckFormat::Junit => {
            let cases = cases(examination, options.strict);
            out.line(junit::document("skills-mcp check", &cases).trim_end());
        }
    }
}

/// Errors first, then warnings, each with its line; notes are a number unless they are asked for.
fn human(out: &mut Output, examination: &Examination, options: &CheckOptions) {
    let mut explained: Vec<Code> = Vec::new();
    let shown = examination.findings.iter().filter(|found| found.level != Severity::Info);
    let folded =
        if options.all { BTreeSet::new() } else { folded::codes(&shown.collect::<Vec<_>>()) };
    for (level, title) in
        [(Severity::Error, "Errors"), (Severity::Warning, "Warnings"), (Severity::Info, "Notes")]
    {
        let of_level = examination.findings.iter().filter(|found| found.level == level);
        if level == Severity::Info && !options.all || of_level.clone().next().is_none() {
            continue;
        }
        out.line(bold(title));
        for found in of_level.clone() {
            let code = found.diagnostic.finding.code;
            if folded.contains(&code) {
                continue;
            }
            let head = found.head();
            finding::print_below(out, &head, &examination.snapshot, &found.diagnostic);
            if !explained.contains(&code) {
                explained.push(code);
                let explained = format!("explained by {}", explain::command(code));
                out.dim_sentence("      ", &explained);
            }
        }
        for code in &folded {
            let of_code = |found: &&CheckedFinding| found.diagnostic.finding.code == *code;
            folded::print(out, *code, &of_level.clone().filter(of_code).collect::<Vec<_>>());
        }
        out.line("");
    }
    let (word, counts) = examination.verdict(options.strict, options.all);
    out.led("", word, bold, &counts);
}

fn json_report(examination: &Examination, options: &CheckOptions, fixed: &[String]) -> Value {
    let findings: Vec<Value> = examination
        .findings
        .iter()
        .map(|found| {
            let mut object = found.annotation().json();
            if let Some(object) = object.as_object_mut() {
                object.insert("source".to_owned(), json!(&*found.diagnostic.source));
            }
            object
        })
        .collect();
    json!({
        "passed": !examination.fails(options.strict),
        "skills": examination.skills,
        "counts": {
            "errors": examination.count(Severity::Error),
            "warnings": examination.count(Severity::Warning),
            "notes": examination.count(Severity::Info),
        },
        "codes": examination.codes(),
        "fixed": fixed,
        "findings": findings,
    })
}

fn rule(code: Code) -> SarifRule {
    SarifRule {
        id: code.name(),
        meaning: code.meaning(),
        help: explain::section(code),
        level: super::report::level_name(code.severity()),
    }
}

/// A test case for each file with a skill or a finding; what makes the check fail fails its file.
fn cases(examination: &Examination, strict: bool) -> Vec<JunitCase> {
    let fails = |level: Severity| level == Severity::Error || strict && level == Severity::Warning;
    let case = |file: &String| {
        let failing: Vec<&CheckedFinding> = examination
            .findings
            .iter()
            .filter(|found| found.path == *file && fails(found.level))
            .collect();
        let outcome = failing.first().map_or(JunitOutcome::Passed, |first| JunitOutcome::Failed {
            kind: first.diagnostic.finding.code.name().to_owned(),
            message: safe(&first.diagnostic.finding.message),
            detail: failing.iter().map(|found| found.described()).collect::<Vec<_>>().join("\n"),
        });
        JunitCase {
            name: file.clone(),
            class: "skills-mcp.check".to_owned(),
            file: Some(file.clone()),
            outcome,
        }
    };
    examination.files.iter().map(case).collect()
}

impl Examination {
    /// Whether the check fails.
    fn fails(&self, strict: bool) -> bool {
        self.count(Severity::Error) > 0 || strict && self.count(Severity::Warning) > 0
    }

    /// The last line: whether the check passed, and how much there is of what.
    fn verdict(&self, strict: bool, all: bool) -> (&'static str, String) {
        let count = |level, what| counted(self.count(level), what);
        let mut parts = vec![count(Severity::Error, "error"), count(Severity::Warning, "warning")];
        let notes = self.count(Severity::Info);
        if notes > 0 {
            parts.push(counted(notes, "note"));
        }
        let more = if notes > 0 && !all { "; --all shows the notes" } else { "" };
        let word = if self.fails(strict) { "failed:" } else { "passed:" };
        let skills = counted(self.skills, "skill");
        (word, format!("{} in {skills}{more}", parts.join(", ")))
    }
}
