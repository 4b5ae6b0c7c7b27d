//! Unsent events → the endpoint, each at least once, oldest first.
//!
//! One process at a time sends. An event goes from the disk only after the endpoint took it, so that a
//! process that is killed leaves copies and no gaps; copies are known by their `event_id`, a batch by its `Idempotency-Key`.
//! Not here: how events get to the disk (`journal`), and when a round is due (`recorder`).

mod answer;
mod backoff;
mod batch;
mod endpoint;

use std::{fs::File, io, time::Duration};

use answer::{BatchVerdict, NotKept};
use backoff::Backoff;
use batch::{EventBatch, MAX_BATCH_EVENTS};
pub use endpoint::Endpoint;
use skills_http::client::HttpClient;

use crate::{
    clock,
    journal::{JournalFolder, Segment, SenderState, disk::LockedFile},
};

/// The variable that holds the token for the endpoint.
pub const TOKEN_VARIABLE: &str = "ANALYTICS_TOKEN";
/// A request is given up after this.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two requests of a round.
const REQUEST_PAUSE: Duration = Duration::from_secs(1);

/// Reads the token for the endpoint, where one is set.
pub type ReadToken = fn() -> Option<String>;

/// Sends what is unsent in a folder.
#[derive(Debug)]
pub struct Sender {
    folder: JournalFolder,
    token: ReadToken,
    client: HttpClient,
    /// What was said of the endpoint last, so that it is said once.
    said: Option<String>,
    /// Whether it was said that the endpoint does not answer.
    is_down: bool,
    /// Whether it was said that the endpoint takes some events not, and that some are too old for it.
    noted: (bool, bool),
    /// What this process knows, where the disk does not take it for all.
    backoff: Backoff,
}

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Nothing is unsent but what came meanwhile.
    Done,
    /// Another process is at it.
    Busy,
    /// There is more, and it has to wait so long at least.
    Later(Duration),
}

/// What became of a batch.
enum BatchResult {
    /// There was nothing to send in it.
    Empty,
    /// It is off the disk.
    Gone,
    /// The endpoint wants less at a time.
    Smaller,
    /// It stays for so long.
    Stays(Duration),
}

impl Sender {
    /// A sender of what is in this folder.
    pub fn new(folder: JournalFolder, token: ReadToken) -> Self {
        let client = HttpClient::new(REQUEST_TIMEOUT);
        Self {
            folder,
            token,
            client,
            said: None,
            is_down: false,
            noted: (false, false),
            backoff: Backoff::default(),
        }
    }

    /// The same for this folder; another one if it is another folder's.
    #[must_use]
    pub fn of(self, folder: JournalFolder) -> Self {
        if self.folder == folder { self } else { Self::new(folder, self.token) }
    }

    /// Sends what is unsent, with a pause between requests. It ends when all is sent, when the endpoint does not take
    /// more, or when `pause` says so.
    pub fn round(&mut self, url: &str, pause: impl FnMut(Duration) -> bool) -> Round {
        let round = self.try_round(url, false, pause);
        self.ended(round)
    }

    /// Sends one more batch before the process ends. An endpoint that took the last one is not given its pause; one that
    /// did not is not asked before its time.
    pub(crate) fn last_round(&mut self, url: &str) -> Round {
        let round = self.try_round(url, true, |_| false);
        self.ended(round)
    }

    fn ended(&mut self, round: io::Result<Round>) -> Round {
        match round {
            Ok(round) => round,
            Err(error) => {
                self.say(&format!(
                    "events wait, since what is unsent cannot be read or changed: {error}"
                ));
                Round::Later(self.failed(None))
            }
        }
    }

    fn try_round(
        &mut self,
        url: &str,
        leaving: bool,
        mut pause: impl FnMut(Duration) -> bool,
    ) -> io::Result<Round> {
        let Some(_turn) = self.folder.turn()? else { return Ok(Round::Busy) };
        let state = SenderState::read(&self.folder);
        let now = now();
        let SenderState { failures, since, not_before, .. } = state;
        let known = Backoff { failures, since, not_before };
        if failures == 0 && since >= self.backoff.since {
            // Another process has sent since this one failed.
            self.backoff = Backoff::default();
        }
        let is_paced = failures == 0 && self.backoff.failures == 0;
        if let Some(wait) = known.pending(now).max(self.backoff.pending(now))
            && !(leaving && is_paced)
        {
            return Ok(Round::Later(wait));
        }
        // The operator's token is for the operator's endpoint.
        let token = (self.token)().filter(|_| !self.folder.of_content);
        let endpoint = match Endpoint::new(url, token) {
            Ok(endpoint) => endpoint,
            Err(why) => {
                self.say(&why);
                return Ok(Round::Later(self.failed(None)));
            }
        };
        self.folder.sweep()?;
        let mut has_buffer = false;
        loop {
            let mut next = self.next()?;
            if next.is_none() && !has_buffer {
                next = self.folder.open_buffer()?;
                has_buffer = next.is_some();
            }
            let Some((segment, file)) = &next else { return Ok(Round::Done) };
            let more = match self.step(&endpoint, segment, file)? {
                BatchResult::Stays(wait) => return Ok(Round::Later(wait)),
                BatchResult::Empty => continue,
                BatchResult::Gone => !self.folder.segments()?.is_empty(),
                BatchResult::Smaller => {
                    has_buffer &= segment.path != self.folder.buffer();
                    true
                }
            };
            if more && !pause(REQUEST_PAUSE) {
                return Ok(Round::Later(REQUEST_PAUSE));
            }
        }
    }

    /// The oldest segment that no process is removing. One that cannot be opened, such as another user's, is passed over.
    fn next(&mut self) -> io::Result<Option<(Segment, LockedFile)>> {
        for segment in self.folder.segments()? {
            match segment.hold() {
                Ok(Some(file)) => return Ok(Some((segment, file))),
                Ok(None) => {}
                Err(error) => {
                    let path = segment.path.display();
                    self.say(&format!("unsent events in {path} wait: {error}"));
                }
            }
        }
        Ok(None)
    }

    /// Sends the next batch of a segment, which this process has locked.
    fn step(
        &mut self,
        endpoint: &Endpoint,
        segment: &Segment,
        file: &File,
    ) -> io::Result<BatchResult> {
        let most = SenderState::read(&self.folder)
            .batch
            .unwrap_or(MAX_BATCH_EVENTS)
            .clamp(1, MAX_BATCH_EVENTS);
        let batch = EventBatch::read(file, segment.cursor(), segment.bytes, most)?;
        if batch.events == 0 {
            self.gone(segment, file, &batch)?;
            return Ok(BatchResult::Empty);
        }
        let (key, body) = (batch.key(), batch.body());
        let headers = endpoint.headers(&key);
        let answer = if self.folder.of_content {
            self.client.post_to_public(&endpoint.url, &headers, body)
        } else {
            self.client.post(&endpoint.url, &headers, body)
        };
        let verdict = BatchVerdict::of(answer, batch.events);
        let host = &endpoint.host;
        match verdict {
            BatchVerdict::Taken(except) => {
                self.put_aside(host, &batch, &except)?;
                self.gone(segment, file, &batch)?;
                self.count_expired(host, except.expired)?;
                self.succeeded(host, batch.events, most)?;
                Ok(BatchResult::Gone)
            }
            BatchVerdict::TooLarge if batch.events > 1 => {
                SenderState::change(&self.folder, |state| state.batch = Some(batch.events / 2))?;
                Ok(BatchResult::Smaller)
            }
            BatchVerdict::TooLarge | BatchVerdict::Refused(_) => {
                let why = if let BatchVerdict::Refused(status) = verdict { status } else { 413 };
                tracing::warn!(
                    events = batch.events,
                    "analytics: {host} refuses events for good (status {why}); they are in {}",
                    self.folder.refused().display()
                );
                self.folder.refuse(&batch.lines)?;
                self.gone(segment, file, &batch)?;
                Ok(BatchResult::Gone)
            }
            BatchVerdict::Later { why, retry_after, astray } => {
                if astray {
                    self.say(&format!(
                        "events wait, since {host} does not take them: {why}; set analytics.endpoint to where they are taken, and {TOKEN_VARIABLE} if it wants one"
                    ));
                } else {
                    self.went_down(host, &why);
                }
                Ok(BatchResult::Stays(self.failed(retry_after.as_deref())))
            }
        }
    }

    /// Keeps what the endpoint took a batch without, for people to look at.
    fn put_aside(&mut self, host: &str, batch: &EventBatch, except: &NotKept) -> io::Result<()> {
        if except.refused.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.noted.0, true) {
            tracing::warn!(
                events = except.refused.len(),
                "analytics: {host} cannot read some events ({:?}); they are in {}",
                except.reason,
                self.folder.refused().display()
            );
        }
        self.folder.refuse(&batch.lines_at(&except.refused))
    }

    /// Counts what the endpoint got too late.
    fn count_expired(&mut self, host: &str, expired: u64) -> io::Result<()> {
        if expired == 0 {
            return Ok(());
        }
        if !std::mem::replace(&mut self.noted.1, true) {
            tracing::warn!(
                expired,
                "analytics: {host} keeps no events that are as old as some it got; is the clock of this machine right?"
            );
        }
        SenderState::change(&self.folder, |state| state.expired += expired).map(drop)
    }

    /// Says once that an endpoint does not take events.
    fn went_down(&mut self, host: &str, why: &str) {
        if std::mem::replace(&mut self.is_down, true) {
            tracing::debug!("analytics: {host}: {why}; trying again later");
            return;
        }
        tracing::warn!(
            "analytics: events wait, since {host} does not take them: {why}; they are in {} and are sent once it does",
            self.folder.buffer().display()
        );
    }

    /// Takes a batch off the disk.
    fn gone(&self, segment: &Segment, file: &File, batch: &EventBatch) -> io::Result<()> {
        self.folder.sent(segment, file, batch.end)?;
        if batch.spoilt > 0 {
            tracing::warn!(
                lines = batch.spoilt,
                "analytics: torn or damaged lines among unsent events were passed over"
            );
            SenderState::change(&self.folder, |state| state.spoilt += batch.spoilt)?;
        }
        Ok(())
    }

    /// The endpoint took so many events of a batch that may have `most`.
    fn succeeded(&mut self, host: &str, events: usize, most: usize) -> io::Result<()> {
        let state = SenderState::read(&self.folder);
        let was_down = std::mem::take(&mut self.is_down) | self.said.take().is_some();
        if was_down || state.failures > 0 {
            tracing::warn!(
                failed_tries = state.failures,
                sent = events,
                left_bytes = self.folder.unsent(),
                "analytics: events are sent again to {host}"
            );
        }
        if state.failures > 0 || state.batch.is_some() {
            let next = most.saturating_mul(2);
            SenderState::change(&self.folder, |state| {
                // The next process to send waits for the pause, and no longer.
                state.since = now();
                let wait = if state.failures > 0 { millis(REQUEST_PAUSE) } else { 0 };
                state.not_before = state.since + wait;
                state.failures = 0;
                state.batch = Some(next).filter(|next| *next < MAX_BATCH_EVENTS);
            })?;
        }
        self.backoff = Backoff::default();
        Ok(())
    }

    /// How long to wait after one more failure.
    fn failed(&mut self, retry_after: Option<&str>) -> Duration {
        let now = now();
        let known = SenderState::read(&self.folder).failures.max(self.backoff.failures);
        let before = Backoff { failures: known, ..Backoff::default() };
        self.backoff = before.failed(now, clock::jitter(), retry_after);
        let Backoff { failures, since, not_before } = self.backoff;
        // A disk that takes nothing is logged by the writer.
        let _ = SenderState::change(&self.folder, |state| {
            state.failures = failures;
            state.since = since;
            state.not_before = not_before;
        });
        self.backoff.pending(now).unwrap_or(REQUEST_PAUSE)
    }

    /// Warns, unless that was the last warning.
    fn say(&mut self, what: &str) {
        if self.said.as_deref() != Some(what) {
            tracing::warn!("analytics: {what}");
            self.said = Some(what.to_owned());
        }
    }
}

fn now() -> u64 {
    millis(clock::since_epoch())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
