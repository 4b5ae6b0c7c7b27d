//! The collector's requests: events come in, and are there when that is said.
//!
//! `POST /v1/events` takes the batches of SEND-2: `{"events": […]}`. An event that cannot be read costs no other: it is named
//! in the answer. Whatever was accepted is in the archive; where that could not be done nothing is acknowledged, and the
//! sender sends it again. `GET /healthz` says whether the archive answers.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skills_http::{
    bodies::{BodyBudget, BodyRefusal},
    guard::HttpGuard,
    log_limit::LogLimit,
    serving::{MAX_REQUESTS, PeerAddress, error, guarded, json, refused, unavailable},
    shares::RequestSender,
};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{
    archive::{Archive, ArchiveError},
    clock,
    event::RecordedEvent,
};

const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
const MAX_BODY_EVENTS: usize = 5_000;
/// Batches that are not small share this much memory while they come and are written; those of one address have a quarter.
const BATCH_MEMORY_BYTES: usize = 128 * 1024 * 1024;
const HEALTH_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Between two warnings that events came too late.
const LATE_WARNING_INTERVAL: Duration = Duration::from_hours(1);
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);

/// What the collector's requests need.
#[derive(Debug, Clone)]
pub struct Collector {
    archive: Arc<Archive>,
    guard: Arc<HttpGuard>,
    late: Arc<LogLimit>,
    bodies: Arc<BodyBudget>,
    /// Batches that have come whole and are written at once.
    writing: Arc<Semaphore>,
}

/// What became of a batch.
#[derive(Serialize)]
struct BatchOutcome {
    accepted: u64,
    known: u64,
    expired: u64,
    refused: Vec<RefusedEvent>,
}

/// An event that is none.
#[derive(Serialize)]
struct RefusedEvent {
    index: usize,
    reason: String,
}

#[derive(Deserialize)]
struct PostedBatch<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

impl Collector {
    /// A collector for this archive, behind this guard.
    pub fn new(archive: Arc<Archive>, guard: Arc<HttpGuard>) -> Self {
        let bodies = Arc::new(BodyBudget::new(BATCH_MEMORY_BYTES));
        let writing = Arc::new(Semaphore::new(MAX_REQUESTS));
        let late = Arc::new(LogLimit::every(LATE_WARNING_INTERVAL));
        Self { archive, guard, late, bodies, writing }
    }

    /// Its routes. Whether it is well may be asked without a token.
    pub fn routes(self) -> Router {
        let guard = Arc::clone(&self.guard);
        let events = Router::new().route("/v1/events", post(take)).with_state(self.clone());
        guarded(events, guard).route("/healthz", get(health).with_state(self))
    }
}

impl Collector {
    /// Says now and then how many events came too late: a clock far behind looks the same as an old event.
    fn note_late(&self, events: u64) {
        if let Some(events) = self.late.count(events) {
            tracing::warn!(
                events,
                "events came that are older than any that are kept, and were not kept: they waited too long, or a clock is far behind"
            );
        }
    }
}

async fn take(State(collector): State<Collector>, request: Request) -> Response {
    if !is_json(request.headers()) {
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON as application/json");
    }
    let from = request.extensions().get::<PeerAddress>().copied();
    let sender = from.map_or(RequestSender::Any, |from| RequestSender::at(from.0));
    let body = request.into_body();
    let (body, _share) = match collector.bodies.read(body, MAX_BODY_BYTES, &sender).await {
        Ok(read) => read,
        Err(BodyRefusal::TooLarge(most)) => {
            let most = format!("send at most {most} bytes and {MAX_BODY_EVENTS} events at once");
            return error(StatusCode::PAYLOAD_TOO_LARGE, &most);
        }
        Err(refusal) => return refusal.into_response(),
    };
    // Only now: a batch that comes slowly keeps out no others.
    let Ok(_turn) = collector.writing.try_acquire() else {
        return unavailable("too many requests at once");
    };
    let (events, refused) = match read(&body) {
        Ok(read) => read,
        Err((status, reason)) => return error(status, &reason),
    };
    match collector.archive.take(events).await {
        Ok(taken) => {
            let (accepted, known, expired) = (taken.new, taken.known, taken.expired);
            collector.note_late(expired);
            json(StatusCode::OK, &BatchOutcome { accepted, known, expired, refused })
        }
        Err(failed) => unwell(&failed),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// The events of a body, and those that are none.
fn read(body: &[u8]) -> Result<(Vec<RecordedEvent>, Vec<RefusedEvent>), (StatusCode, String)> {
    let posted: PostedBatch<'_> = serde_json::from_slice(body).map_err(|reason| {
        (StatusCode::BAD_REQUEST, format!("not {{\"events\": […]}}: {reason}"))
    })?;
    if posted.events.len() > MAX_BODY_EVENTS {
        let most = format!("send at most {MAX_BODY_EVENTS} events at once");
        return Err((StatusCode::PAYLOAD_TOO_LARGE, most));
    }
    let (mut events, mut refused) = (Vec::with_capacity(posted.events.len()), Vec::new());
    for (index, text) in posted.events.into_iter().enumerate() {
        match RecordedEvent::read(text.get()) {
            Ok(event) if clock::millis_of(&event.timestamp).is_some() => events.push(event),
            Ok(event) => {
                let timestamp: String = event.timestamp.chars().take(40).collect();
                let reason = format!("'{timestamp}' is no time as ISO 8601 has it");
                refused.push(RefusedEvent { index, reason });
            }
            Err(unreadable) => refused.push(RefusedEvent { index, reason: unreadable.to_string() }),
        }
    }
    Ok((events, refused))
}

async fn health(
    State(collector): State<Collector>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = collector.guard.check_origin(&method, &headers) {
        return refused(refusal);
    }
    match timeout(HEALTH_TIMEOUT, collector.archive.answers()).await {
        Ok(Ok(())) => "ok".into_response(),
        Ok(Err(failed)) => unwell(&failed),
        Err(_) => unavailable("the archive does not answer in time"),
    }
}

/// The archive failed: the log says how, the answer says when to try again.
fn unwell(failed: &ArchiveError) -> Response {
    tracing::error!("{failed}");
    unavailable("the archive does not answer")
}

/// Forgets what is too old, now and every hour, for as long as it is polled.
pub async fn keep_pruned(archive: Arc<Archive>) {
    loop {
        let now = i64::try_from(clock::since_epoch().as_millis()).unwrap_or(i64::MAX);
        if let Err(failed) = archive.prune(now).await {
            tracing::warn!("old events were not forgotten: {failed}");
        }
        sleep(PRUNE_INTERVAL).await;
    }
}
