//! Looks again: at every source or at what is told of, makes the next catalog and swaps it in.

use std::{
    sync::{Arc, OnceLock, PoisonError, atomic::Ordering},
    time::Instant,
};

use skills_core::{
    catalog::{Catalog, Delta},
    diagnostic::{Code, Diagnostic, Finding, escaped},
    relpath::RelPath,
};

use super::{Cause, LivePlugins, Refreshed, Snapshot, Store, snapshot::SourceRoot, state::State};
use crate::{
    config::{PendingConsent, ResolvedConfig},
    source::{Changes, Directory, Followed, Look, Queue, SourceError, Watch},
};

/// So many changed skills are put into the ranked index while a call may be waiting.
const FEW: usize = 256;

impl Store {
    /// From now on the system tells of changes, if it can.
    pub(super) fn watch(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Not the content's choice, which nobody has read yet.
        if !self.settings().refresh.watch {
            state.unwatched = Some("refresh.watch is false".to_owned());
            return;
        }
        match Watch::open() {
            Ok(watch) => {
                self.queue.store(Some(Arc::clone(watch.queue())));
                state.watch = Some(watch);
            }
            Err(error) => {
                let why = error.to_string();
                tracing::warn!("{}", unwatched(&why));
                state.unwatched = Some(why);
            }
        }
    }

    /// Whether the system tells of changes: of how many folders, or why not.
    pub fn watching(&self) -> Result<usize, String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let untold = |(source, followed): (&Directory, &Followed)| {
            followed.unwatchable().map(|why| format!("{}: {why}", source.path().display()))
        };
        let untold: Vec<String> =
            self.serving.load().iter().zip(&state.followed).filter_map(untold).collect();
        match (&state.watch, &state.unwatched) {
            (Some(watch), _) if untold.is_empty() => Ok(watch.len()),
            (Some(_), _) => Err(unwatched(&untold.join("; "))),
            (None, why) => Err(unwatched(why.as_deref().unwrap_or("nobody asked for it"))),
        }
    }

    /// Watches from now on, and looks at everything: for whoever wants to know how that goes.
    pub fn look_and_watch(&self) -> Refreshed {
        self.watch();
        self.refresh(Cause::Start)
    }

    /// Looks at every source again; blocks while it reads. A second caller waits for its turn.
    pub fn refresh(&self, cause: Cause) -> Refreshed {
        self.look(cause, true)
    }

    /// Takes in what the system has told of, and looks at what it does not tell of.
    pub(super) fn catch_up(&self, cause: Cause) -> Arc<Snapshot> {
        self.look(cause, false).snapshot
    }

    fn look(&self, cause: Cause, whole: bool) -> Refreshed {
        let asked = Instant::now();
        // A look that panicked may have lost what it was told.
        let (mut state, lost) = match self.state.lock() {
            Ok(state) => (state, false),
            Err(poisoned) => {
                self.state.clear_poison();
                (poisoned.into_inner(), true)
            }
        };
        // One look serves all who waited for their turn meanwhile.
        if !lost
            && matches!(cause, Cause::Call | Cause::Told)
            && state.has_looked_since(asked, whole)
            && let Some(snapshot) = self.current.load_full()
        {
            return Refreshed::unchanged(snapshot);
        }
        let started = Instant::now();
        let changes = state.watch.as_mut().map(Watch::drain).unwrap_or_default();
        if changes.lost {
            tracing::info!("too many changes to tell of; looking at everything");
        }
        let before = self.current.load_full();
        let whole = whole || lost || changes.lost || before.is_none();
        let renewed = self.renew(&mut state, &changes, whole, started);
        // The look that panicked may have renewed them already, without a catalog to show for it.
        let renewed =
            if lost { renewed.map(|first| first.min(self.sources.len())) } else { renewed };
        let failing = state.failures.clone();
        let looked = self.follow(&mut state, &changes, whole, renewed, started);
        let steady = !whole && renewed.is_none() && state.failures == failing;
        let (catalog, delta) = self.taken_in(&state, before.as_deref(), renewed, &looked);
        let standing = state.plugins.iter().flat_map(LivePlugins::standing);
        let failures = || standing.clone().chain(state.failures.iter().flatten());
        let failed = state.failures.iter().flatten();
        let failed = failed.map(|failure| failure.finding.message.clone()).collect();
        let snapshot = self.next(&state, before.as_ref(), catalog, &delta, |before| {
            self.settle(before, failures().cloned(), steady)
        });
        let refreshed = Refreshed { snapshot, delta, took: started.elapsed(), failures: failed };
        // First said, then served: whoever has an answer from it can find it in the log.
        refreshed.log(cause, before.as_deref());
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &refreshed.snapshot)) {
            self.current.store(Some(Arc::clone(&refreshed.snapshot)));
            self.generations.send_modify(|generation| *generation += 1);
        }
        let told = state.watch.is_some() && state.followed.iter().all(Followed::is_watched);
        self.told.store(told, Ordering::Relaxed);
        state.began = Some(started);
        if whole {
            state.began_whole = Some(started);
        }
        refreshed
    }

    /// Reads the plugins' records again, where they or the plugins' folders may have changed; when everything is looked at,
    /// also decides again which folder of a named directory is meant. The number of the first source that is another one
    /// now, if that was found out.
    fn renew(
        &self,
        state: &mut State,
        changes: &Changes,
        whole: bool,
        now: Instant,
    ) -> Option<usize> {
        let outdated = !state.is_current(now);
        let State { plugins, watch, followed, failures, .. } = state;
        let before = self.serving.load_full();
        let named = before.iter().take(self.sources.len());
        let again = whole && self.current.load().is_some();
        let fixed: Vec<Directory> =
            if again { named.map(Directory::renewed).collect() } else { named.cloned().collect() };
        let now = match plugins {
            Some(plugins)
                if whole || outdated || LivePlugins::are_among(changes) || !plugins.are_same() =>
            {
                plugins.renew(&fixed, watch.as_mut())
            }
            None if fixed.iter().zip(&*before).any(|(now, before)| !now.is_same(before)) => fixed,
            Some(_) | None => return None,
        };
        let same = before.iter().zip(&now).take_while(|(a, b)| a.is_same(b)).count();
        for number in same..before.len() {
            if let Some(watch) = watch {
                watch.forget(number, &RelPath::root());
            }
        }
        // Whatever has this number from now on is looked at as if for the first time.
        followed.truncate(same);
        failures.truncate(same);
        self.serving.store(Arc::new(now));
        Some(same)
    }

    /// The catalog with what these sources hold now, and what that changed. `renewed` is the number of the first source
    /// that is another one than before.
    fn taken_in(
        &self,
        state: &State,
        before: Option<&Snapshot>,
        renewed: Option<usize>,
        looked: &[usize],
    ) -> (Catalog, Delta) {
        let mut catalog = before.map(|before| before.catalog.clone()).unwrap_or_default();
        let mut delta = Delta::default();
        if let Some(renewed) = renewed {
            (catalog, delta) = catalog.shortened(renewed);
        }
        let sources = self.serving.load();
        for number in looked {
            let (Some(source), Some(followed)) =
                (sources.get(*number), state.followed.get(*number))
            else {
                continue;
            };
            let (next, change) =
                catalog.with(*number, &followed.intake(source), |files| followed.read(files));
            catalog = next;
            delta = delta.and(change);
        }
        if looked.len() > 1 && !delta.found.is_empty() {
            // What one source's change made wrong another's may have put right.
            let wrong = catalog.diagnostics();
            delta.found.retain(|found| wrong.contains(found));
        }
        (catalog, delta)
    }

    /// Looks at the sources that may have changed; their numbers.
    fn follow(
        &self,
        state: &mut State,
        changes: &Changes,
        whole: bool,
        renewed: Option<usize>,
        now: Instant,
    ) -> Vec<usize> {
        let outdated = !state.is_current(now);
        let mut looked = Vec::new();
        let sources = self.serving.load_full();
        state.followed.resize_with(sources.len(), Followed::default);
        state.failures.resize(sources.len(), None);
        for (number, source) in sources.iter().enumerate() {
            let paths: Vec<RelPath> = changes
                .paths
                .iter()
                .filter(|(other, _)| *other == number)
                .map(|(_, path)| path.clone())
                .collect();
            let Some(followed) = state.followed.get_mut(number) else { continue };
            let replaced = followed.identity() != source.identity() || !followed.has_same_links();
            let unseen = outdated && !followed.is_watched();
            let another = renewed.is_some_and(|renewed| number >= renewed);
            let how = if whole || another || replaced || unseen {
                Look::Whole
            } else if paths.is_empty() {
                continue;
            } else {
                Look::At(&paths)
            };
            let had = followed.identity().is_some();
            let said = followed.unwatchable().map(str::to_owned);
            looked.push(number);
            let result = followed.look(source, number, how, state.watch.as_mut());
            let news = followed.unwatchable().filter(|why| said.as_deref() != Some(*why));
            if let Some(why) = news.filter(|_| state.watch.is_some()) {
                tracing::warn!("{}", unwatched(&format!("{}: {why}", source.path().display())));
            }
            let failure = match &result {
                Ok(_) => source.missed().map(|error| unreadable(source, &error, false)),
                Err(error) => Some(unreadable(source, error, had)),
            };
            if let Some(known) = state.failures.get_mut(number) {
                *known = failure;
            }
            if let Ok(Some(error)) = result
                && Queue::is_exhausted(&error)
            {
                state.unwatched = Some(format!("{}: {error}", source.path().display()));
                state.stop_watching();
                self.queue.store(None);
            }
        }
        if whole || outdated {
            // When it was done, so that what takes long is not done all the time.
            state.looked = Some(Instant::now());
        }
        looked
    }

    /// The next snapshot; the one before, if nothing is different.
    fn next(
        &self,
        state: &State,
        before: Option<&Arc<Snapshot>>,
        catalog: Catalog,
        delta: &Delta,
        settle: impl FnOnce(Option<&Snapshot>) -> Arc<ResolvedConfig>,
    ) -> Arc<Snapshot> {
        // Before it is read: what is written meanwhile is found to be different the next time.
        let sources = self.serving.load();
        let configs: Vec<_> = sources.iter().map(Directory::config_stamps).collect();
        let consent = self.stack.consent_stamp();
        let settled = settle(before.map(Arc::as_ref));
        let same = |before: &&Arc<Snapshot>| {
            let roots = catalog.sources().iter().zip(before.catalog.sources());
            Arc::ptr_eq(&before.settled, &settled)
                && before.catalog.sources().len() == catalog.sources().len()
                && roots
                    .into_iter()
                    .all(|(a, b)| Arc::ptr_eq(&a.root, &b.root) && a.has_same_scan_findings(b))
                && delta.numbers.is_empty()
                && delta.found.is_empty()
                && before.is_rooted_in(&state.followed)
                && before.has_configurations(&configs, consent)
        };
        if let Some(before) = before.filter(same) {
            return Arc::clone(before);
        }
        let numbers = || delta.numbers.iter().copied();
        let router = before.map(|before| &before.router).cloned().unwrap_or_default();
        let router = router.with(&catalog, numbers());
        let root = |((source, followed), config): ((&Directory, &Followed), _)| SourceRoot {
            path: followed.place(source).to_owned(),
            root: followed.root().cloned(),
            identity: followed.identity(),
            config,
            remote: followed.is_remote(),
            commit: followed.commit().cloned(),
            changes: followed.changes(),
        };
        let roots = sources.iter().zip(&state.followed).zip(configs).map(root).collect();
        let ranked = OnceLock::new();
        let snapshot = Snapshot { catalog, router, settled, roots, consent, ranked };
        // An index that is ready stays ready: whoever searches next should not wait for it.
        let ready = before.and_then(|before| before.ranked.get());
        if let Some(ranked) = ready.filter(|_| delta.numbers.len() <= FEW) {
            snapshot.index_after(ranked, numbers());
        }
        Arc::new(snapshot)
    }

    /// Makes the ranked index ready, and exact if more skills than this have changed since it last was. What changes
    /// meanwhile is put into the index that was made, so that it need not be made again.
    pub(super) fn index(&self, most: usize) {
        let Some(indexed) = self.current.load_full() else { return };
        let ranked = match indexed.ranked.get() {
            Some(ranked) if ranked.pending() <= most => return,
            Some(ranked) => ranked.merged(),
            None => indexed.ranked().clone(),
        };
        loop {
            let Some(now) = self.current.load_full() else { return };
            if now.ranked.get().is_some_and(|known| known.is_same(&ranked)) {
                return;
            }
            let next = now.indexed_by(&ranked, &indexed);
            let found = self.current.compare_and_swap(&now, Some(Arc::new(next)));
            if found.as_ref().is_some_and(|found| Arc::ptr_eq(found, &now)) {
                // Whoever keeps the one before need not keep its index.
                self.generations.send_modify(|generation| *generation += 1);
                return;
            }
        }
    }

    /// The settings of this moment. Only the first source's `config.yaml` counts, and the others hear of it.
    fn settle(
        &self,
        before: Option<&Snapshot>,
        failures: impl Iterator<Item = Diagnostic>,
        steady: bool,
    ) -> Arc<ResolvedConfig> {
        if let Some(before) = before
            && steady
            && before.has_same_configuration(&self.serving.load(), self.stack.consent_stamp())
        {
            return Arc::clone(&before.settled);
        }
        let sources = self.serving.load();
        let mut served = sources.iter().map(Directory::served);
        let mut settled = self.stack.resolve_source(served.next().flatten().as_ref());
        for served in served.flatten() {
            let own = self.stack.resolve_source(Some(&served));
            let waiting = own.waiting.into_iter().filter(PendingConsent::is_of_its_source);
            settled.diagnostics.extend(waiting.map(|waiting| waiting.diagnostic));
            let Some(config) = served.config else { continue };
            let finding =
                Finding::whole(Code::ConfigRefused, "only the first source's config.yaml counts")
                    .hint("name its directory first, or set the keys in your own configuration");
            settled
                .diagnostics
                .push(finding.in_file(&config.source, &config.file.to_string_lossy()));
        }
        settled.diagnostics.extend(failures);
        match before {
            Some(before) if before.settled.is_same(&settled) => Arc::clone(&before.settled),
            _ => Arc::new(settled),
        }
    }
}

fn unwatched(why: &str) -> String {
    format!(
        "the system does not tell of changes ({}); directories are looked at again when a call comes a second after the last look",
        escaped(why)
    )
}

fn unreadable(source: &Directory, error: &SourceError, has_last: bool) -> Diagnostic {
    let served = if has_last { "; what it held before is still listed" } else { "" };
    Finding::whole(Code::Unreadable, format!("{error}{served}"))
        .hint(error.hint())
        .in_file(source.name(), "")
}
