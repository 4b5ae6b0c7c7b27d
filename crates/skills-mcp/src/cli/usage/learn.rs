//! `learn`: proposes past requests for the `examples` of skills, as a list and as a patch.
//!
//! Nothing is changed: the command prints. Not here: which requests are proposed, and how a file is edited (core).

use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use serde_json::{Value, json};
use similar::TextDiff;
use skills_core::{
    catalog::{Skill, SkillKind},
    document::{Dialect, SkillText},
    route::authoring::{PastRequest, propose_examples, with_examples},
};
use skills_usage::{
    archive::{Archive, Period},
    clock,
    learning::past_requests,
};

use super::{collect::archive_address, stats::history};
use crate::{
    cli::{
        Context, Failure, Output,
        output::{aside, bold, counted, fitted, safe},
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
    /// Print a patch of the skills directory, for `git apply`
    #[arg(long)]
    patch: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "patch")]
    json: bool,
}

pub(super) fn run(context: &Context, options: &LearnOptions) -> Result<ExitCode, Failure> {
    let opened = context.opened()?;
    let past = past(context, options, &opened.snapshot)?;
    let proposals = proposals(&opened.snapshot, &past);
    let mut out = Output::new();
    if options.json {
        out.json(&json!({
            "requests": past.len(),
            "proposals": proposals.iter().map(Proposal::json).collect::<Vec<_>>(),
            "patch": patch(&opened.snapshot, &proposals),
        }));
    } else if options.patch {
        match patch(&opened.snapshot, &proposals).trim_end_matches('\n') {
            "" => aside("no proposal changes a file; `skills-mcp learn` shows what there is"),
            patch => out.line(patch),
        }
    } else {
        print(&mut out, &past, &proposals, options.days);
    }
    Ok(ExitCode::SUCCESS)
}

/// The requests of the past, oldest first.
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

/// Requests for the examples of one skill.
struct Proposal<'a> {
    skill: &'a Skill,
    requests: Vec<String>,
    evidence: usize,
    /// The edit of its file; none where the file cannot be edited in place.
    patch: Option<String>,
}

impl Proposal<'_> {
    fn json(&self) -> Value {
        json!({
            "skill": &*self.skill.identity,
            "file": self.skill.file.as_str(),
            "examples": self.requests,
            "evidence": self.evidence,
            "in_patch": self.patch.is_some(),
        })
    }
}

fn proposals<'a>(snapshot: &'a Snapshot, past: &[PastRequest]) -> Vec<Proposal<'a>> {
    let proposed = propose_examples(&snapshot.routes(), past).into_iter();
    let proposal = proposed.filter_map(|proposed| {
        let skill = snapshot.catalog.skill(proposed.skill)?;
        let patch = patch_of(snapshot, skill, &proposed.requests);
        Some(Proposal { skill, requests: proposed.requests, evidence: proposed.evidence, patch })
    });
    proposal.collect()
}

/// The edit of a skill's file; none where it cannot be edited in place.
fn patch_of(snapshot: &Snapshot, skill: &Skill, requests: &[String]) -> Option<String> {
    let dialect = match skill.kind {
        SkillKind::Tree => Dialect::Tree,
        SkillKind::Bundle => Dialect::Bundle,
    };
    let before = snapshot.text(skill).map(SkillText::into_whole).ok()?;
    let after = with_examples(&before, dialect, requests)?;
    let file = skill.file.as_str();
    // Git quotes such names; nothing of ours is worth that.
    if file.contains(['"', '\\', '\n', '\t']) || !file.is_ascii() {
        return None;
    }
    let (old, new) = (format!("a/{file}"), format!("b/{file}"));
    let diff = TextDiff::from_lines(&before, &after);
    let diff = diff.unified_diff().header(&old, &new).to_string();
    Some(format!("diff --git {old} {new}\n{diff}"))
}

/// All edits, by source and file, so that each source's part can be applied in its folder.
fn patch(snapshot: &Snapshot, proposals: &[Proposal<'_>]) -> String {
    let mut edits: Vec<(usize, &str, &str)> = proposals
        .iter()
        .filter_map(|one| Some((one.skill.source, one.skill.file.as_str(), one.patch.as_deref()?)))
        .collect();
    edits.sort_unstable();
    let mut patch = String::new();
    let mut last = None;
    for (source, _, edit) in edits {
        if last.replace(source) != Some(source) {
            let folder = snapshot.source_path(source);
            let _ = writeln!(patch, "To be applied in {}", folder.display());
        }
        patch.push_str(edit);
    }
    patch
}

fn print(out: &mut Output, past: &[PastRequest], proposals: &[Proposal<'_>], days: u64) {
    let days = counted(usize::try_from(days).unwrap_or(usize::MAX), "day");
    let missed = counted(proposals.len(), "skill");
    let head = format!("{} of the last {days}", counted(past.len(), "request"));
    out.line(bold(&head));
    if past.is_empty() {
        out.sentence("   ", "the history has no text of a request; `analytics.enabled: true` and `analytics.context: full` keep them");
        return;
    }
    let about = match proposals.len() {
        0 => "Every skill that was loaded is shown first for its requests. Nothing is proposed.".to_owned(),
        1 => "1 skill was loaded although another, or none, was shown first. These requests would be `examples` of it:".to_owned(),
        _ => format!("{missed} were loaded although another, or none, was shown first. These requests would be `examples` of them:"),
    };
    out.sentence("", &about);
    for Proposal { skill, requests, evidence, patch } in proposals {
        out.line("");
        out.line(format!(
            "{}  {}",
            bold(&safe(skill.file.as_str())),
            counted(*evidence, "request")
        ));
        let width = out.width.saturating_sub(5);
        for request in requests {
            out.line(format!("   - {}", fitted(request, width)));
        }
        if patch.is_none() {
            out.dim_sentence("   ", "To be edited by hand: its list cannot be extended in place.");
        }
    }
    if proposals.iter().any(|one| one.patch.is_some()) {
        out.line("");
        out.dim_sentence("", "`skills-mcp learn --patch` prints the edits for `git apply`. Nothing was changed. Read each request before you commit it: people wrote them.");
    }
}
