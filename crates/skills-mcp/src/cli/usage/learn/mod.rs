//! `learn`: proposals for front matter from what was asked and loaded before, as a patch and as a text for a pull request.
//!
//! Nothing is changed: the command prints. Not here: which proposals are made, and how a file is edited (core).

mod markdown;
mod text;

use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use serde_json::{Value, json};
use skills_core::{
    catalog::SkillKind,
    document::{Dialect, SkillText},
    route::authoring::{
        FrontMatterEdit, LearnedProposal, PastRequest, ProposalKind, ProposalSet, patched, propose,
        unified_diff,
    },
};
use skills_usage::{
    archive::{Archive, Period},
    clock,
    learning::{ProposalText, past_requests},
};

use super::{collect::archive_address, stats::history};
use crate::{
    cli::{
        Context, Failure, Output,
        output::aside,
        test::{body, judged_tests},
    },
    store::Snapshot,
};

#[derive(clap::Args)]
pub(crate) struct LearnOptions {
    /// From the last N days, including today
    #[arg(long, value_name = "N", default_value = "90", value_parser = clap::value_parser!(u64).range(1..=3_660))]
    days: u64,
    /// Read this history, not the one that `analytics.file` names
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    file: Option<PathBuf>,
    /// Read an archive: `sqlite:FILE`, `postgres://USER@HOST/DATABASE`, or `postgres` for the URL in
    /// `DATABASE_URL`
    #[arg(long, value_name = "ARCHIVE")]
    store: Option<String>,
    /// How to print the proposals
    #[arg(long, value_enum, default_value_t = LearnFormat::Human)]
    format: LearnFormat,
    /// The same as --format patch
    #[arg(long, conflicts_with = "format")]
    patch: bool,
    /// The same as --format markdown
    #[arg(long, conflicts_with_all = ["format", "patch"])]
    markdown: bool,
}

/// How proposals are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LearnFormat {
    /// For people
    Human,
    /// One JSON object
    Json,
    /// A patch of the skills directory, for `git apply`
    Patch,
    /// The text of a pull request
    Markdown,
}

pub(super) fn run(context: &Context, options: &LearnOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    let past = past(context, options, &opened.snapshot)?;
    let proposed = Proposed::of(&opened.snapshot, &past, &context.environment.directory)?;
    let mut out = Output::new();
    let format = match (options.patch, options.markdown) {
        (true, _) => LearnFormat::Patch,
        (_, true) => LearnFormat::Markdown,
        _ => options.format,
    };
    match format {
        LearnFormat::Human => text::print(&mut out, &proposed, options.days),
        LearnFormat::Json => out.json(&proposed.json()),
        LearnFormat::Markdown => out.line(markdown::text(&proposed, options.days).trim_end()),
        LearnFormat::Patch if proposed.patch.is_empty() => {
            aside("no proposal changes a file; `skills-mcp learn` shows what there is");
        }
        LearnFormat::Patch => out.line(proposed.patch.trim_end_matches('\n')),
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked before, oldest first.
fn past(
    context: &Context,
    options: &LearnOptions,
    snapshot: &Snapshot,
) -> Result<Vec<PastRequest>, Failure> {
    let settings = &snapshot.settings().analytics;
    let period = Period::last(options.days, clock::today());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let evidence = runtime.block_on(async {
        let archive = match &options.store {
            Some(address) => Archive::look(&archive_address(address)?).await?,
            None => history(context, options.file.as_deref(), settings)?.0,
        };
        Ok::<_, Failure>(archive.evidence(period, None).await?)
    })?;
    // Archives give the newest first.
    Ok(past_requests(evidence.recent.iter().rev()))
}

/// The proposals, and the patch of those that edit a file.
pub(super) struct Proposed {
    pub(super) set: ProposalSet,
    /// How many requests of the past there are, and how many of them loaded a skill.
    pub(super) requests: usize,
    pub(super) loaded: usize,
    /// Of each proposal what it asks for.
    pub(super) shown: Vec<ShownProposal>,
    pub(super) patch: String,
}

/// A proposal in words.
pub(super) struct ShownProposal {
    pub(super) proposal: LearnedProposal,
    pub(super) text: ProposalText,
    /// Whether the patch has it.
    pub(super) is_patched: bool,
}

impl Proposed {
    pub(super) fn of(
        snapshot: &Snapshot,
        past: &[PastRequest],
        directory: &std::path::Path,
    ) -> Result<Self, Failure> {
        let routes = snapshot.routes();
        let (tests, mistakes) = judged_tests(snapshot, &routes, directory)?;
        if mistakes > 0 {
            aside(
                "the routing tests have mistakes, so their effects are not counted; `skills-mcp test` shows them",
            );
        }
        let set = propose(&routes, past, &tests, |skill| body(snapshot, skill));
        let mut patches: Vec<(usize, String, String)> = Vec::new();
        let mut shown = Vec::new();
        for proposal in &set.proposals {
            let patch = match &proposal.kind {
                ProposalKind::Edit(edit) => patch_of(snapshot, edit),
                ProposalKind::Boundary { .. } | ProposalKind::NewSkill { .. } => None,
            };
            let text = ProposalText::of(proposal, &snapshot.catalog);
            let is_patched = patch.is_some();
            patches.extend(patch);
            shown.push(ShownProposal { proposal: proposal.clone(), text, is_patched });
        }
        // By source, then by file, so that each source's part can be applied in its folder.
        patches.sort();
        let mut patch = String::new();
        let mut last = None;
        for (source, _, text) in patches {
            if last != Some(source) {
                let folder = snapshot.source_path(source);
                let _ = writeln!(patch, "To be applied in {}", folder.display());
                last = Some(source);
            }
            patch.push_str(&text);
        }
        let loaded = past.iter().filter(|one| one.skill.is_some()).count();
        Ok(Self { set, requests: past.len(), loaded, shown, patch })
    }

    fn json(&self) -> Value {
        let proposal = |shown: &ShownProposal| {
            let LearnedProposal { kind, evidence, examples, effect } = &shown.proposal;
            let kind = match kind {
                ProposalKind::Edit(_) => "edit",
                ProposalKind::Boundary { .. } => "boundary",
                ProposalKind::NewSkill { .. } => "new_skill",
            };
            json!({
                "kind": kind,
                "title": shown.text.title,
                "lines": shown.text.lines,
                "evidence": evidence,
                "examples": examples,
                "effect": {
                    "found": effect.found,
                    "lost": effect.lost,
                    "tests_fixed": effect.tests_fixed,
                    "tests_broken": effect.tests_broken,
                },
                "in_patch": shown.is_patched,
            })
        };
        let scores = |scores: &skills_core::route::authoring::RoutingScores| json!({"requests": scores.requests, "first": scores.shown_first, "first_three": scores.shown_third});
        json!({
            "requests": self.requests,
            "loaded": self.loaded,
            "proposals": self.shown.iter().map(proposal).collect::<Vec<_>>(),
            "before": scores(&self.set.before),
            "after": scores(&self.set.after),
            "patch": self.patch,
        })
    }
}

/// Which source and file an edit is of, and its patch; none where the file cannot be edited in place.
fn patch_of(snapshot: &Snapshot, edit: &FrontMatterEdit) -> Option<(usize, String, String)> {
    let skill = snapshot.catalog.skill(edit.skill)?;
    let dialect = match skill.kind {
        SkillKind::Tree => Dialect::Tree,
        SkillKind::Bundle => Dialect::Bundle,
    };
    let before = snapshot.text(skill).map(SkillText::into_whole).ok()?;
    let after = patched(&before, dialect, edit)?;
    let file = skill.file.as_str().to_owned();
    // Git quotes such names; nothing of ours is worth that.
    if file.contains(['"', '\\', '\n', '\t']) || !file.is_ascii() {
        return None;
    }
    let patch = unified_diff(&file, &before, &after);
    Some((skill.source, file, patch))
}
