//! Looks again: reads every source, builds a catalog, swaps it in, and says in the log what changed.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use skills_core::{
    catalog::{Catalog, Delta, Intake},
    diagnostic::{Code, Diagnostic, Finding, Severity, escaped},
    route::Router,
};

use super::{Snapshot, Store, snapshot::SourceRoot};
use crate::{
    config::Settled,
    source::{Directory, Root, SourceError},
};

/// Why somebody looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The server starts.
    Start,
    /// A call of `refresh_skills`.
    Asked,
    /// A call to a server that looks again for each.
    Call,
    /// The time has come.
    Periodic,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Asked => "refresh_skills",
            Self::Call => "call",
            Self::Periodic => "periodic",
        })
    }
}

/// What a refresh came to.
#[derive(Debug)]
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

/// What one source gave last.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    root: Option<Arc<Root>>,
    /// Which folder that is; another one of the same name and content is another one.
    identity: Option<(u64, u64)>,
    intake: Arc<Intake>,
}

/// So many diagnostics are written to the log one by one; the rest is a number.
const LOGGED: usize = 20;

impl Store {
    /// Reads every source again; blocks while it reads. A second caller waits for its turn.
    pub fn refresh(&self, cause: Cause) -> Refreshed {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let mut failures = Vec::new();
        let now: Vec<Taken> = self
            .sources
            .iter()
            .enumerate()
            .map(|(number, source)| take(source, taken.get(number), &mut failures))
            .collect();
        let failed =
            failures.iter().map(|failure: &Diagnostic| failure.finding.message.clone()).collect();
        let settled = self.settle(failures);
        let before = self.current.load_full();
        let unchanged = |before: &&Arc<Snapshot>| {
            let same = |(a, b): (&Taken, &Taken)| Arc::ptr_eq(&a.intake, &b.intake);
            now.iter().zip(taken.iter()).all(same) && before.settled.is_same(&settled)
        };
        let snapshot = match before.as_ref().filter(unchanged) {
            Some(before) => Arc::clone(before),
            None => Arc::new(self.snapshot_of(&now, settled)),
        };
        *taken = now;
        if cause == Cause::Periodic {
            // Nobody waits for this look, so nobody should have to wait for its index.
            snapshot.ranked();
        }
        let empty = Catalog::default();
        let old = before.as_ref().map_or(&empty, |before| &before.catalog);
        let delta = Delta::between(old, &snapshot.catalog);
        let refreshed = Refreshed { snapshot, delta, took: started.elapsed(), failures: failed };
        // First said, then served: whoever has an answer from it can find it in the log.
        refreshed.log(cause, before.as_deref());
        self.current.store(Some(Arc::clone(&refreshed.snapshot)));
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &refreshed.snapshot)) {
            self.generations.send_modify(|generation| *generation += 1);
        }
        refreshed
    }

    fn snapshot_of(&self, taken: &[Taken], settled: Settled) -> Snapshot {
        let intakes: Vec<Arc<Intake>> =
            taken.iter().map(|taken| Arc::clone(&taken.intake)).collect();
        let catalog = Catalog::build(&intakes);
        let router = Router::new(&catalog);
        let root = |(source, taken): (&Directory, &Taken)| SourceRoot {
            path: source.path().to_owned(),
            root: taken.root.clone(),
        };
        let roots = self.sources.iter().zip(taken).map(root).collect();
        Snapshot { catalog, router, settled, roots, ranked: OnceLock::new() }
    }

    /// The settings of this moment. Only the first source's `config.yaml` counts, and the others hear of it.
    fn settle(&self, failures: Vec<Diagnostic>) -> Settled {
        let mut configs = self.sources.iter().map(Directory::config);
        let mut settled = self.stack.settle(configs.next().flatten().as_ref());
        for config in configs.flatten() {
            let finding =
                Finding::whole(Code::ConfigRefused, "only the first source's config.yaml counts")
                    .hint("name its directory first, or set the keys in your own configuration");
            settled
                .diagnostics
                .push(finding.in_file(&config.source, &config.file.to_string_lossy()));
        }
        settled.diagnostics.extend(self.standing.iter().cloned().chain(failures));
        settled
    }
}

fn take(source: &Directory, last: Option<&Taken>, failures: &mut Vec<Diagnostic>) -> Taken {
    match source.read() {
        Ok((root, intake)) => {
            let identity = root.as_ref().and_then(|root| root.identity());
            match last.filter(|last| last.identity == identity && last.intake.is_same(&intake)) {
                Some(last) => last.clone(),
                None => Taken { root, identity, intake: Arc::new(intake) },
            }
        }
        Err(error) => {
            failures.push(unreadable(source, &error, last.is_some()));
            let nothing = || Taken { root: None, identity: None, intake: Arc::new(source.empty()) };
            last.cloned().unwrap_or_else(nothing)
        }
    }
}

fn unreadable(source: &Directory, error: &SourceError, has_last: bool) -> Diagnostic {
    let served = if has_last { "; what it held before is still served" } else { "" };
    Finding::whole(Code::Unreadable, format!("{error}{served}"))
        .hint(error.hint())
        .in_file(source.name(), "")
}

impl Snapshot {
    /// Everything that is wrong with the content, its configuration included.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let Settled { diagnostics, .. } = &self.settled;
        diagnostics.iter().chain(self.catalog.diagnostics())
    }

    /// How many diagnostics there are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics()
            .filter(|diagnostic| diagnostic.finding.code.severity() == severity)
            .count()
    }
}

impl Refreshed {
    fn log(&self, cause: Cause, before: Option<&Snapshot>) {
        let Self { snapshot, delta, took, .. } = self;
        // A look that nobody asked for and that finds nothing new is not worth a line.
        let quiet = matches!(cause, Cause::Call | Cause::Periodic) && delta.is_empty();
        if !quiet {
            tracing::info!(
                %cause,
                skills = snapshot.catalog.skills().len(),
                added = delta.added.len(),
                removed = delta.removed.len(),
                changed = delta.changed.len(),
                errors = snapshot.count(Severity::Error),
                warnings = snapshot.count(Severity::Warning),
                ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "indexed"
            );
        }
        // What was said at the last look is not said again.
        let said: HashSet<&Diagnostic> =
            before.into_iter().flat_map(Snapshot::diagnostics).collect();
        let worth = |diagnostic: &&Diagnostic| {
            diagnostic.finding.code.severity() != Severity::Info && !said.contains(diagnostic)
        };
        let news: Vec<&Diagnostic> = snapshot.diagnostics().filter(worth).collect();
        for diagnostic in news.iter().take(LOGGED) {
            let hint = escaped(diagnostic.finding.hint.as_deref().unwrap_or_default());
            tracing::warn!(hint, "{}", snapshot.described(diagnostic));
        }
        if let Some(more) = news.len().checked_sub(LOGGED).filter(|more| *more > 0) {
            tracing::warn!("{more} more; `skills-mcp doctor` lists all of them");
        }
        let notices = |settled: &Settled| settled.notices.clone();
        if before.is_none_or(|before| notices(&before.settled) != notices(&snapshot.settled)) {
            snapshot
                .settled
                .notices
                .iter()
                .for_each(|notice| tracing::warn!("{}", escaped(notice)));
        }
    }
}
