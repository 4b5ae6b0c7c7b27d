//! [`Refresher`]: the one owner of everything that changes with a refresh. It runs on a thread of its own, answers one batch
//! of requests after the other (those that wait for the same together), and publishes what it finds.
//!
//! Not here: how sources are scanned (`scan`), how the next snapshot is made of that (`build`), who asks (`schedule`, `sync`
//! and calls).

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, mpsc::Receiver},
    thread,
    time::Instant,
};

use skills_core::diagnostic::Diagnostic;

use super::{
    Cause, LivePlugins, Refreshed, Snapshot,
    cache::Cache,
    publisher::{Published, Publisher},
};
use crate::{
    config::ConfigLayers,
    source::{Directory, PluginRecords, ScannedSource, Watch},
};

/// What is known of the sources between two refreshes.
#[derive(Debug)]
pub(super) struct Refresher {
    pub(super) layers: Arc<ConfigLayers>,
    /// Where an earlier process kept what it knew, until the first refresh.
    pub(super) cache: Option<Cache>,
    pub(super) publisher: Arc<Publisher>,
    /// How many of the sources stay; those behind them are plugins'.
    pub(super) fixed: usize,
    /// The sources, first-named first.
    pub(super) sources: Arc<Vec<Directory>>,
    /// What was found in each.
    pub(super) scanned: Vec<ScannedSource>,
    /// What is wrong with each as a whole.
    pub(super) failures: Vec<Option<Diagnostic>>,
    /// The plugins, where they are served.
    pub(super) plugins: Option<LivePlugins>,
    pub(super) watch: Option<Watch>,
    /// Why nothing is watched.
    pub(super) unwatched: Option<String>,
    /// The folders in which those of missing sources will appear, and which are watched for that.
    pub(super) awaited_in: BTreeSet<PathBuf>,
    /// When everything, or everything that is not watched, was last scanned.
    pub(super) scanned_at: Option<Instant>,
    /// The last refresh panicked, and may have lost events.
    unfinished: bool,
}

impl Refresher {
    pub(super) fn new(
        sources: Vec<Directory>,
        records: Option<PluginRecords>,
        layers: Arc<ConfigLayers>,
        publisher: Arc<Publisher>,
    ) -> Self {
        let fixed = sources.len();
        let mut plugins = records.map(LivePlugins::new);
        let sources = match &mut plugins {
            Some(plugins) => plugins.read(&sources),
            None => sources,
        };
        Self {
            layers,
            cache: None,
            publisher,
            fixed,
            sources: Arc::new(sources),
            scanned: Vec::new(),
            failures: Vec::new(),
            plugins,
            watch: None,
            unwatched: None,
            awaited_in: BTreeSet::new(),
            scanned_at: None,
            unfinished: false,
        }
    }

    /// Answers requests on a thread of its own, which ends when the sender is dropped.
    pub(super) fn start(self, requests: Receiver<RefreshRequest>) {
        let run = move || self.run(&requests);
        if let Err(error) = thread::Builder::new().name("refresh".to_owned()).spawn(run) {
            tracing::error!("there is no thread to refresh on: {error}");
        }
    }

    fn run(mut self, requests: &Receiver<RefreshRequest>) {
        while let Some(Batch { others, changes, all }) = Batch::receive(requests) {
            for other in others {
                // A panic is logged by the panic hook, and drops the reply.
                let _ = catch_unwind(AssertUnwindSafe(|| self.answer(other)));
            }
            // First the quick one: calls wait for it.
            self.refresh_for(changes, RefreshScope::Changes);
            self.refresh_for(all, RefreshScope::All);
        }
    }

    fn refresh_for(&mut self, group: Option<Group>, scope: RefreshScope) {
        let Some(group) = group else { return };
        let refresh = || self.refresh(scope, group.cause);
        // After a panic, which the panic hook has logged, the next refresh scans everything.
        if let Ok(refreshed) = catch_unwind(AssertUnwindSafe(refresh)) {
            group.answer(&refreshed);
        }
    }

    fn answer(&mut self, request: RefreshRequest) {
        match request {
            RefreshRequest::Watch => self.start_watching(),
            RefreshRequest::WatchState(reply) => reply(self.watch_state()),
            RefreshRequest::Replace { old, new, reply } => {
                let now = self.publisher.load();
                let now = now.filter(|now| Arc::ptr_eq(&now.snapshot, &old));
                let replaced = now.map(|now| {
                    self.publisher.publish(Published { snapshot: new, ..(*now).clone() });
                });
                reply(replaced.is_some());
            }
            RefreshRequest::Refresh { .. } => {}
        }
    }

    /// Scans what may have changed, or everything, and publishes what that comes to.
    pub(super) fn refresh(&mut self, scope: RefreshScope, cause: Cause) -> Refreshed {
        let started = Instant::now();
        let unfinished = std::mem::replace(&mut self.unfinished, true);
        self.publisher.begin();
        let changes = self.watch.as_mut().map(Watch::drain).unwrap_or_default();
        if changes.lost {
            tracing::info!("the watch queue overflowed; scanning everything");
        }
        let before = self.publisher.load();
        let before = before.as_ref().map(|before| &before.snapshot);
        let all = scope == RefreshScope::All || unfinished || changes.lost || before.is_none();
        let replaced = self.update_sources(&changes, all, before);
        // The refresh that panicked may have replaced them already, without a catalog to show for it.
        let replaced =
            if unfinished { replaced.map(|first| first.min(self.fixed)) } else { replaced };
        let failures = self.failures.clone();
        let scanned = self.scan(&changes, all, replaced);
        let steady = !all && replaced.is_none() && self.failures == failures;
        let (snapshot, delta) = self.next_snapshot(before, replaced, &scanned, steady);
        let failures = self.failures.iter().flatten();
        let failures = failures.map(|failure| failure.finding.message.clone()).collect();
        let refreshed = Refreshed { snapshot, delta, took: started.elapsed(), failures };
        // First logged, then published: what an answer is made of can be found in the log.
        refreshed.log(cause, before.map(Arc::as_ref));
        self.publish(&refreshed);
        self.publisher.end();
        self.unfinished = false;
        refreshed
    }

    fn publish(&self, refreshed: &Refreshed) {
        self.publisher.publish(Published {
            snapshot: Arc::clone(&refreshed.snapshot),
            sources: Arc::clone(&self.sources),
            links: self.scanned.iter().map(ScannedSource::link_targets).collect(),
            plugins: self.plugins.as_ref().map(|plugins| plugins.stamps().clone()),
            watched: self.watch.is_some() && self.scanned.iter().all(ScannedSource::is_watched),
            unwatched_scanned_at: self.scanned_at.filter(|_| !self.is_all_watched()),
        });
    }
}

/// Sends the answer of a request. Dropped unanswered if the refresh panics.
pub(super) type Respond<T> = Box<dyn FnOnce(T) + Send>;

/// How much to refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshScope {
    /// What the watch has reported, and what it does not report.
    Changes,
    /// Everything.
    All,
}

/// A request to the refresher.
pub(super) enum RefreshRequest {
    /// Watch the sources from now on.
    Watch,
    /// Bring the snapshot up to date.
    Refresh { scope: RefreshScope, cause: Cause, reply: Respond<Refreshed> },
    /// Publish a snapshot with another index in the place of one that is the same otherwise; answers whether that one was
    /// still current.
    Replace { old: Arc<Snapshot>, new: Arc<Snapshot>, reply: Respond<bool> },
    /// How many folders are watched, or why not all are.
    WatchState(Respond<Result<usize, String>>),
}

/// All requests that were waiting at one moment.
#[derive(Default)]
pub(super) struct Batch {
    /// In the order they came.
    pub(super) others: Vec<RefreshRequest>,
    pub(super) changes: Option<Group>,
    pub(super) all: Option<Group>,
}

/// Requests for the same refresh.
pub(super) struct Group {
    pub(super) cause: Cause,
    replies: Vec<Respond<Refreshed>>,
}

impl Batch {
    /// Waits for a request, and takes all that wait by then. None if there can be no more.
    pub(super) fn receive(requests: &Receiver<RefreshRequest>) -> Option<Self> {
        let mut batch = Self::default();
        batch.add(requests.recv().ok()?);
        for request in requests.try_iter() {
            batch.add(request);
        }
        Some(batch)
    }

    fn add(&mut self, request: RefreshRequest) {
        let (group, cause, reply) = match request {
            RefreshRequest::Refresh { scope: RefreshScope::Changes, cause, reply } => {
                (&mut self.changes, cause, reply)
            }
            RefreshRequest::Refresh { scope: RefreshScope::All, cause, reply } => {
                (&mut self.all, cause, reply)
            }
            other @ (RefreshRequest::Watch
            | RefreshRequest::Replace { .. }
            | RefreshRequest::WatchState(_)) => return self.others.push(other),
        };
        let group = group.get_or_insert(Group { cause, replies: Vec::new() });
        group.cause = group.cause.max(cause);
        group.replies.push(reply);
    }
}

impl Group {
    pub(super) fn answer(self, refreshed: &Refreshed) {
        self.replies.into_iter().for_each(|reply| reply(refreshed.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn requests_that_wait_for_the_same_are_answered_together() {
        let (send, requests) = channel();
        let refresh =
            |scope, cause| RefreshRequest::Refresh { scope, cause, reply: Box::new(drop) };
        send.send(refresh(RefreshScope::Changes, Cause::Change)).unwrap();
        send.send(refresh(RefreshScope::All, Cause::Periodic)).unwrap();
        send.send(RefreshRequest::Watch).unwrap();
        send.send(refresh(RefreshScope::Changes, Cause::Call)).unwrap();
        send.send(refresh(RefreshScope::All, Cause::Asked)).unwrap();
        let Batch { others, changes, all } = Batch::receive(&requests).unwrap();
        let group = |group: Option<Group>| group.map(|group| (group.cause, group.replies.len()));
        assert_eq!(others.len(), 1);
        assert_eq!(group(changes), Some((Cause::Call, 2)));
        assert_eq!(group(all), Some((Cause::Asked, 2)));
        drop(send);
        assert!(Batch::receive(&requests).is_none(), "without a store there are no requests");
    }
}
