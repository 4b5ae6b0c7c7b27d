//! Makes the next snapshot of what the scans found: catalog, router, settings, and the index where it was ready.

use std::sync::Arc;

use skills_core::{
    catalog::{Access, Catalog, Delta},
    diagnostic::{Code, Diagnostic, Finding},
    relpath::RelPath,
};

use super::{
    LivePlugins, Snapshot,
    cache::Restored,
    index::{Index, MAX_INDEXED_AT_ONCE, Unindexed},
    refresher::Refresher,
    snapshot::SourceRoot,
};
use crate::{
    config::{PendingConsent, ResolvedConfig},
    source::{Bodies, Directory, ScannedSource},
};

impl Refresher {
    /// The next snapshot, and what changed; the one before, if nothing is different. `replaced` is the first source that is
    /// another one now, `scanned` are the sources that were scanned; `steady` says that nothing else can have changed the
    /// settings.
    pub(super) fn next_snapshot(
        &mut self,
        before: Option<&Arc<Snapshot>>,
        replaced: Option<usize>,
        scanned: &[usize],
        steady: bool,
    ) -> (Arc<Snapshot>, Delta) {
        let bodies = Bodies::default();
        // What an earlier process knew is of use to the first refresh only.
        let restored = self.cache.take().and_then(|cache| cache.restore());
        let (catalog, delta) = self.next_catalog(
            before.map(Arc::as_ref),
            replaced,
            scanned,
            &bodies,
            restored.as_ref(),
        );
        // Before the settings are read: what is written meanwhile is found to be different the next time.
        let configs: Vec<_> = self.sources.iter().map(Directory::config_stamps).collect();
        let consent = self.layers.consent_stamp();
        let resolved = self.resolve_config(before.map(Arc::as_ref), steady);
        let same = |before: &&Arc<Snapshot>| {
            let sources = catalog.sources().iter().zip(before.catalog.sources());
            Arc::ptr_eq(&before.config, &resolved)
                && before.catalog.sources().len() == catalog.sources().len()
                && sources
                    .into_iter()
                    .all(|(a, b)| Arc::ptr_eq(&a.root, &b.root) && a.has_same_scan_findings(b))
                && delta.numbers.is_empty()
                && delta.found.is_empty()
                && before.is_rooted_in(&self.scanned)
                && before.has_configurations(&configs, consent)
        };
        if let Some(before) = before.filter(same) {
            return (Arc::clone(before), delta);
        }
        let router = before.map(|before| before.router.clone()).unwrap_or_default();
        let router = router.with(&catalog, &delta.numbers);
        let root = |((source, scanned), config): ((&Directory, &ScannedSource), _)| {
            SourceRoot::of(source, scanned, config)
        };
        let roots = self.sources.iter().zip(&self.scanned).zip(configs).map(root).collect();
        let ready = before.and_then(|before| before.ready_index());
        let is_ready = ready.is_some();
        let unindexed = match ready {
            Some(base) => {
                let (base, changed) = (base.clone(), delta.numbers.clone());
                Unindexed { base, changed, bodies, exact: false }
            }
            None => match restored.map(|restored| restored.index(&catalog)) {
                Some((base, changed)) => Unindexed { base, changed, bodies, exact: true },
                None => Unindexed { bodies, ..Unindexed::all(&catalog) },
            },
        };
        let learned = before.and_then(|before| before.index.learned.clone());
        let index = Index::new(unindexed, learned);
        let (config, access) = (resolved, Access::All);
        let snapshot = Snapshot { catalog, router, config, roots, consent, index, access };
        if is_ready && delta.numbers.len() <= MAX_INDEXED_AT_ONCE {
            snapshot.ranked();
        }
        (Arc::new(snapshot), delta)
    }

    /// The catalog with what the scanned sources hold now, and what that changed.
    fn next_catalog(
        &self,
        before: Option<&Snapshot>,
        replaced: Option<usize>,
        scanned: &[usize],
        bodies: &Bodies,
        restored: Option<&Restored>,
    ) -> (Catalog, Delta) {
        let mut catalog = before.map(|before| before.catalog.clone()).unwrap_or_default();
        let mut delta = Delta::default();
        if let Some(replaced) = replaced {
            (catalog, delta) = catalog.shortened(replaced);
        }
        for number in scanned {
            let (Some(source), Some(scanned)) =
                (self.sources.get(*number), self.scanned.get(*number))
            else {
                continue;
            };
            let intake = scanned.intake(source);
            let update = catalog.update(*number, &intake);
            let known = |file: &RelPath, entry| {
                restored.and_then(|restored| restored.parsed(*number, file, entry))
            };
            let parsed = scanned.read(update.files(), bodies, known);
            let (next, change) = catalog.with(update, parsed);
            catalog = next;
            delta = delta.and(change);
        }
        if scanned.len() > 1 && !delta.found.is_empty() {
            // What one source's change made wrong another's may have put right.
            let wrong = catalog.diagnostics();
            delta.found.retain(|found| wrong.contains(found));
        }
        (catalog, delta)
    }

    /// The settings of this moment. Only the first source's `config.yaml` counts; for each other one there is a finding.
    fn resolve_config(&self, before: Option<&Snapshot>, steady: bool) -> Arc<ResolvedConfig> {
        if let Some(before) = before
            && steady
            && before.has_same_configuration(&self.sources, self.layers.consent_stamp())
        {
            return Arc::clone(&before.config);
        }
        let mut served = self.sources.iter().map(Directory::served);
        let mut resolved = self.layers.resolve_source(served.next().flatten().as_ref());
        for served in served.flatten() {
            let own = self.layers.resolve_source(Some(&served));
            let waiting = own.waiting.into_iter().filter(PendingConsent::is_of_its_source);
            resolved.diagnostics.extend(waiting.map(|waiting| waiting.diagnostic));
            let Some(config) = served.config else { continue };
            let finding =
                Finding::whole(Code::ConfigRefused, "only the first source's config.yaml counts")
                    .hint("name its directory first, or set the keys in your own configuration");
            resolved
                .diagnostics
                .push(finding.in_file(&config.source, &config.file.to_string_lossy()));
        }
        resolved.diagnostics.extend(self.source_failures());
        match before {
            Some(before) if before.config.is_same(&resolved) => Arc::clone(&before.config),
            _ => Arc::new(resolved),
        }
    }

    /// What is wrong with the plugins' records, and with sources as a whole.
    fn source_failures(&self) -> impl Iterator<Item = Diagnostic> {
        let records = self.plugins.iter().flat_map(LivePlugins::diagnostics);
        records.chain(self.failures.iter().flatten()).cloned()
    }
}
