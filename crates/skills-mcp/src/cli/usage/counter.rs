//! How often each skill was served, from an archive, for the pages of the catalog.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use skills_usage::{
    archive::{Archive, ArchiveError, Period},
    tally::Metric,
};

use crate::{
    browse::{CountsFuture, ServedCounter, ServedCounts},
    clock,
};

/// Counts are of the last so many days.
const COUNTED_DAYS: u64 = 30;
/// Counts are made again after this: pages are opened one after another, and a history may be long.
const COUNT_LIFETIME: Duration = Duration::from_secs(10);

/// Counts what an archive has.
#[derive(Debug, Clone)]
pub(super) struct ArchiveCounter {
    archive: Arc<Archive>,
    /// Whether a zero means that a skill was not served: events are recorded, or the operator named the archive.
    is_recorded: bool,
    known: Arc<Mutex<Option<(Instant, ServedCounts)>>>,
}

impl ArchiveCounter {
    pub(super) fn new(archive: Arc<Archive>, is_recorded: bool) -> Self {
        Self { archive, is_recorded, known: Arc::default() }
    }

    fn known(&self) -> Option<ServedCounts> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (made, counts) = known.as_ref()?;
        (made.elapsed() < COUNT_LIFETIME).then(|| counts.clone())
    }

    async fn counted(&self) -> Result<ServedCounts, ArchiveError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let evidence =
            self.archive.evidence(Period::last(COUNTED_DAYS, clock::today()), None).await?;
        let mut by_skill: HashMap<String, u64> = HashMap::new();
        for (key, sum) in evidence.tally.iter().filter(|(key, _)| key.metric == Metric::Served) {
            *by_skill.entry(key.subject.clone()).or_default() += sum.n;
        }
        let counts = ServedCounts { days: COUNTED_DAYS, by_skill: Arc::new(by_skill) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), counts.clone()));
        Ok(counts)
    }
}

impl ServedCounter for ArchiveCounter {
    fn counts(&self) -> CountsFuture {
        let counter = self.clone();
        Box::pin(async move {
            match counter.counted().await {
                Ok(counts) => {
                    (counter.is_recorded || !counts.by_skill.is_empty()).then_some(counts)
                }
                Err(error) => {
                    tracing::warn!(hint = error.hint(), "the events cannot be read: {error}");
                    None
                }
            }
        })
    }
}
