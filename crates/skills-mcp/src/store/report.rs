//! What a refresh came to, and what the log says of it.

use std::{fmt, sync::Arc, time::Duration};

use skills_core::{
    catalog::Delta,
    diagnostic::{Diagnostic, Severity, escaped},
};

use super::Snapshot;

/// Why there is a refresh; of several causes the last of this list is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The watch has reported a change, or a sync has fetched one.
    Change,
    /// A call needs every change.
    Call,
    /// The interval is over.
    Periodic,
    /// A call of `refresh_skills`.
    Asked,
    /// The server starts.
    Start,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Asked => "refresh_skills",
            Self::Call => "call",
            Self::Change => "change",
            Self::Periodic => "periodic",
        })
    }
}

/// What a refresh came to.
#[derive(Debug, Clone)]
pub struct Refreshed {
    /// The new snapshot.
    pub snapshot: Arc<Snapshot>,
    /// What is different from the one before.
    pub delta: Delta,
    /// How long it took.
    pub took: Duration,
    /// Sources that could not be read, each with what is true of it.
    pub failures: Vec<String>,
}

/// So many diagnostics are logged one by one; the rest is a number.
const MAX_LOGGED: usize = 20;

impl Snapshot {
    /// What is wrong with the configuration. It is of all sources, and so not for a caller that sees some of the skills.
    fn config_diagnostics(&self) -> &[Diagnostic] {
        if self.is_limited() { &[] } else { &self.config.diagnostics }
    }

    /// Everything that is wrong with the content, its configuration included.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.config_diagnostics().to_vec();
        diagnostics.extend(self.catalog.diagnostics());
        diagnostics
    }

    /// How many diagnostics there are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let config = self.config_diagnostics().iter();
        let config = config.filter(|diagnostic| diagnostic.finding.code.severity() == severity);
        config.count() + self.catalog.findings_count(severity)
    }
}

impl Refreshed {
    pub(super) fn log(&self, cause: Cause, before: Option<&Snapshot>) {
        let Self { snapshot, delta, took, .. } = self;
        // A refresh that was not asked for and finds nothing new is not logged.
        let asked = matches!(cause, Cause::Start | Cause::Asked);
        if asked || !delta.is_empty() {
            tracing::info!(
                %cause,
                skills = snapshot.catalog.len(),
                added = delta.added.len(),
                removed = delta.removed.len(),
                changed = delta.changed.len(),
                errors = snapshot.count(Severity::Error),
                warnings = snapshot.count(Severity::Warning),
                ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "indexed"
            );
        }
        // What the last refresh logged is not logged again.
        let said = before.map(|before| before.config.diagnostics.as_slice()).unwrap_or_default();
        let config = snapshot.config.diagnostics.iter().filter(|found| !said.contains(found));
        let worth = |diagnostic: &&Diagnostic| diagnostic.finding.code.severity() != Severity::Info;
        let news: Vec<&Diagnostic> = config.chain(&delta.found).filter(worth).collect();
        for diagnostic in news.iter().take(MAX_LOGGED) {
            let hint = escaped(diagnostic.finding.hint.as_deref().unwrap_or_default());
            tracing::warn!(hint, "{}", snapshot.described(diagnostic));
        }
        if let Some(more) = news.len().checked_sub(MAX_LOGGED).filter(|more| *more > 0) {
            tracing::warn!("{more} more; `skills-mcp doctor` lists all of them");
        }
        let said = before.map(|before| before.config.notices.as_slice()).unwrap_or_default();
        let notices = snapshot.config.notices.iter().filter(|notice| !said.contains(notice));
        notices.for_each(|notice| tracing::warn!("{}", escaped(notice)));
    }
}
