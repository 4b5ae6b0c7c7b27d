//! Scans the sources for the refresher: all of them, or those that may have changed; and watches them.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Instant};

use skills_core::{
    diagnostic::{Code, Diagnostic, Finding, escaped},
    relpath::RelPath,
};

use super::{LivePlugins, Snapshot, publisher::UNWATCHED_SCAN_INTERVAL, refresher::Refresher};
use crate::source::{
    Directory, Queue, QueuedChanges, ScanScope, ScannedSource, SourceError, Watch,
    is_in_content_folder,
};

/// What watches of folders in which sources will appear are numbered with: no source has this number.
const AWAITED_NUMBER: usize = usize::MAX - 1;
/// How often it is looked which those are, where folders come and go all the time.
const MAX_LOOKS: usize = 4;

impl Refresher {
    /// Watches from now on, if the system can.
    pub(super) fn start_watching(&mut self) {
        // The operator's setting alone: no content was read yet.
        if !self.layers.resolve(None).settings.refresh.watch {
            self.unwatched = Some("refresh.watch is false".to_owned());
            return;
        }
        match Watch::open() {
            Ok(watch) => {
                self.publisher.set_queue(Some(Arc::clone(watch.queue())));
                self.watch = Some(watch);
            }
            Err(error) => {
                let why = error.to_string();
                tracing::warn!("{}", unwatched(&why));
                self.unwatched = Some(why);
            }
        }
    }

    /// Ends the watch of everything: a part of the watches would only be missing elsewhere.
    fn stop_watching(&mut self, why: String) {
        self.unwatched = Some(why);
        self.watch = None;
        self.awaited_in.clear();
        self.scanned.iter_mut().for_each(ScannedSource::stop_watching);
        self.plugins.iter_mut().for_each(LivePlugins::stop_watching);
        self.publisher.set_queue(None);
    }

    /// How many folders are watched, or why not all are.
    pub(super) fn watch_state(&self) -> Result<usize, String> {
        let why = |(source, scanned): (&Directory, &ScannedSource)| {
            scanned.unwatchable().map(|why| format!("{}: {why}", source.path().display()))
        };
        let missing: Vec<String> = self.sources.iter().zip(&self.scanned).filter_map(why).collect();
        match (&self.watch, &self.unwatched) {
            (Some(watch), _) if missing.is_empty() => Ok(watch.len()),
            (Some(_), _) => Err(unwatched(&missing.join("; "))),
            (None, why) => Err(unwatched(why.as_deref().unwrap_or("no watch was asked for"))),
        }
    }

    /// Whether every change is reported.
    pub(super) fn is_all_watched(&self) -> bool {
        self.scanned.iter().all(ScannedSource::is_watched)
            && self.plugins.as_ref().is_none_or(LivePlugins::is_watched)
    }

    /// Whether something is not watched, and was not scanned lately.
    fn is_outdated(&self) -> bool {
        let recent = |scanned: Instant| scanned.elapsed() < UNWATCHED_SCAN_INTERVAL;
        !self.scanned_at.is_some_and(recent) && !self.is_all_watched()
    }

    /// Reads the plugins' records again, if they or the plugins' folders may have changed. If everything is refreshed, or a change
    /// may have decided it, also decides again which folder of a named directory is meant. The number of the first source that was
    /// replaced; none if nothing was read.
    pub(super) fn update_sources(
        &mut self,
        changes: &QueuedChanges,
        all: bool,
        published: Option<&Arc<Snapshot>>,
    ) -> Option<usize> {
        let outdated = self.is_outdated();
        let before = Arc::clone(&self.sources);
        let decided = |(number, source): (usize, &Directory)| {
            let is_open = published.is_some_and(|published| {
                all || source.may_mean_its_content()
                    && self.may_have_decided(number, changes, published)
            });
            if is_open { source.renewed() } else { source.clone() }
        };
        let fixed: Vec<Directory> =
            before.iter().take(self.fixed).enumerate().map(decided).collect();
        let moved = fixed.iter().zip(&*before).any(|(now, before)| !now.is_same(before));
        let now = match &mut self.plugins {
            Some(plugins)
                if all
                    || moved
                    || outdated
                    || LivePlugins::are_among(changes)
                    || !plugins.stamps().are_same() =>
            {
                plugins.renew(&fixed, self.watch.as_mut())
            }
            None if moved => fixed,
            Some(_) | None => return None,
        };
        let same = before.iter().zip(&now).take_while(|(a, b)| a.is_same(b)).count();
        for number in same..before.len() {
            if let Some(watch) = &mut self.watch {
                watch.forget(number, &RelPath::root());
            }
        }
        // A source that gets one of these numbers is scanned as if for the first time.
        self.scanned.truncate(same);
        self.failures.truncate(same);
        self.sources = Arc::new(now);
        Some(same)
    }

    /// Whether a change may have decided that a source, which is served whole, means its `skills/`: any change while it has no
    /// skill beside that folder, and afterwards one that removes something.
    fn may_have_decided(
        &self,
        number: usize,
        changes: &QueuedChanges,
        published: &Snapshot,
    ) -> bool {
        let Some(scanned) = self.scanned.get(number) else { return false };
        let mut paths = changes.paths.iter().filter(|(other, _)| *other == number).peekable();
        let mut skills = published.catalog.skills().filter(|skill| skill.source == number);
        paths.peek().is_some()
            && (!skills.any(|skill| !is_in_content_folder(skill.path.as_str()))
                || paths.any(|(_, path)| scanned.is_gone(path)))
    }

    /// Scans the sources that may have changed; their numbers. `replaced` is the first source that is another one now.
    pub(super) fn scan(
        &mut self,
        changes: &QueuedChanges,
        all: bool,
        replaced: Option<usize>,
    ) -> Vec<usize> {
        self.await_missing(changes);
        let outdated = self.is_outdated();
        let mut numbers = Vec::new();
        let sources = Arc::clone(&self.sources);
        self.scanned.resize_with(sources.len(), ScannedSource::default);
        self.failures.resize(sources.len(), None);
        for (number, source) in sources.iter().enumerate() {
            let Some(scanned) = self.scanned.get(number) else { continue };
            let paths: Vec<RelPath> = changes
                .paths
                .iter()
                .filter(|(other, _)| *other == number)
                .map(|(_, path)| path.clone())
                .collect();
            let moved =
                || scanned.identity() != source.identity() || !scanned.link_targets().are_same();
            let another = replaced.is_some_and(|replaced| number >= replaced);
            let unseen = outdated && !scanned.is_watched();
            let scope = if all || another || unseen || moved() {
                ScanScope::All
            } else if paths.is_empty() {
                continue;
            } else {
                ScanScope::Paths(&paths)
            };
            numbers.push(number);
            self.scan_source(number, source, scope);
        }
        if all || outdated {
            // Counted from its end, so that a scan that takes long is not repeated all the time.
            self.scanned_at = Some(Instant::now());
        }
        numbers
    }

    /// Watches for the folders of sources that are missing, so that clients are notified of them without a call. Before the
    /// sources are scanned: a folder that appears meanwhile is scanned or reported.
    fn await_missing(&mut self, changes: &QueuedChanges) {
        let Some(watch) = &mut self.watch else { return };
        // Such a folder may be another one by now, which has to be watched anew.
        let is_itself = |(number, path): &(usize, RelPath)| {
            *number == AWAITED_NUMBER && path.folder().is_root()
        };
        if changes.paths.iter().any(is_itself) {
            self.awaited_in.clear();
        }
        for _ in 0..MAX_LOOKS {
            let now: BTreeSet<PathBuf> =
                self.sources.iter().filter_map(Directory::awaited_in).collect();
            if now == self.awaited_in {
                return;
            }
            // A folder that cannot be watched is looked at with the next scan.
            let _ = watch.watch_only(AWAITED_NUMBER, now.iter());
            self.awaited_in = now;
        }
    }

    fn scan_source(&mut self, number: usize, source: &Directory, scope: ScanScope<'_>) {
        let Some(scanned) = self.scanned.get_mut(number) else { return };
        let had_content = scanned.identity().is_some();
        let known = scanned.unwatchable().map(str::to_owned);
        let result = scanned.scan(source, number, scope, self.watch.as_mut());
        let new = scanned.unwatchable().filter(|why| known.as_deref() != Some(*why));
        if let Some(why) = new.filter(|_| self.watch.is_some()) {
            tracing::warn!("{}", unwatched(&format!("{}: {why}", source.path().display())));
        }
        let failure = match &result {
            Ok(_) => source.missed().map(|error| unreadable(source, &error, false)),
            Err(error) => Some(unreadable(source, error, had_content)),
        };
        if let Some(known) = self.failures.get_mut(number) {
            *known = failure;
        }
        if let Ok(Some(error)) = result
            && Queue::is_exhausted(&error)
        {
            self.stop_watching(format!("{}: {error}", source.path().display()));
        }
    }
}

fn unwatched(why: &str) -> String {
    format!(
        "changes are not watched ({}); directories are scanned again when a call comes a second after the last scan",
        escaped(why)
    )
}

fn unreadable(source: &Directory, error: &SourceError, has_last: bool) -> Diagnostic {
    let served = if has_last { "; what it held before is still listed" } else { "" };
    Finding::whole(Code::Unreadable, format!("{error}{served}"))
        .hint(error.hint())
        .in_file(source.name(), "")
}
