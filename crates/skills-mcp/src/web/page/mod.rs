//! The page: HTML and SVG made here, from a [`Report`] that is made for each request. It needs no script, no other
//! host and no build step.
//!
//! Everything it shows was written by others, so every value passes [`shown::Shown`]. Not here: who may see it (`door`), what
//! the numbers mean (`analytics`).

mod format;
mod overview;
mod shown;
mod skill;
mod svg;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Query, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use overview::Section;
use serde::Deserialize;

use super::{
    Door, Refused,
    serving::{refusal, said, written},
};
use crate::{
    analytics::{
        archive::{Archive, ArchiveError, Evidence, Period},
        report::{ENOUGH, Report, Shelf},
    },
    clock,
    store::{Snapshot, Store},
};

/// The periods to choose from, in days.
const PERIODS: [u64; 4] = [7, 30, 90, 365];
/// The one that is shown to whoever does not choose.
const USUAL: u64 = 30;
/// A program may ask for so many.
const MOST: u64 = 3_660;
const STYLE: &str = include_str!("../../../templates/style.css");
const ICON: &str = include_str!("../../../templates/icon.svg");
const DAY: u64 = 24 * 60 * 60;

/// What pages are made from.
#[derive(Debug)]
pub struct Pages {
    /// Where the events are.
    pub archive: Arc<Archive>,
    /// Where the skills are, where that is known.
    pub store: Option<Arc<Store>>,
}

/// What an address asks for.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    #[serde(default)]
    days: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    of: Option<String>,
}

/// The pages under `/`, behind this door.
pub fn pages(pages: Pages, door: Arc<Door>) -> Router {
    Router::new()
        .route("/", get(first))
        .route("/all", get(all))
        .route("/skill", get(one))
        .route("/v1/stats", get(stats))
        .route("/style.css", get(async || typed("text/css; charset=utf-8", STYLE)))
        .route("/icon.svg", get(async || typed("image/svg+xml", ICON)))
        .with_state(Arc::new(pages))
        .layer(from_fn_with_state(door, enter))
}

/// A browser without the token is asked for it; how that page looks is no secret.
async fn enter(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let looks = ["/style.css", "/icon.svg"].contains(&request.uri().path());
    let headers = request.headers();
    match if looks { door.knows(headers) } else { door.admits(headers) } {
        Ok(()) => next.run(request).await,
        Err(Refused::Token) if !request.uri().path().starts_with("/v1/") => login(false),
        Err(refused) => refusal(refused),
    }
}

/// Asks for the token; again, where the one that was brought is not it.
pub(super) fn login(wrong: bool) -> Response {
    let asked = Login { wrong, days: USUAL, here: "/?", periods: &[], enough: ENOUGH };
    (StatusCode::UNAUTHORIZED, page(asked.render())).into_response()
}

fn typed(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

async fn first(State(pages): State<Arc<Pages>>, Query(asked): Query<Asked>) -> Response {
    let days = asked.days();
    match pages.seen(days).await {
        Ok(seen) => page(overview::overview(&seen.report, days)),
        Err(error) => unreadable(&error, days),
    }
}

/// The same for programs, of any number of days.
async fn stats(State(pages): State<Arc<Pages>>, Query(asked): Query<Asked>) -> Response {
    let days = asked.days.as_deref().map_or(Some(USUAL), |days| days.parse().ok());
    let Some(days) = days.filter(|days| (1..=MOST).contains(days)) else {
        return said(StatusCode::BAD_REQUEST, &format!("`days` is a number from 1 to {MOST}"));
    };
    match pages.seen(days).await {
        Ok(seen) => written(StatusCode::OK, &seen.report),
        Err(error) => said(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

async fn all(State(pages): State<Arc<Pages>>, Query(asked): Query<Asked>) -> Response {
    let days = asked.days();
    let name = asked.of.as_deref().unwrap_or_default();
    let Some(section) = Section::of(name) else {
        let message = "There is no such list. The overview leads to those there are.";
        return trouble(StatusCode::NOT_FOUND, "No such list", message, days);
    };
    match pages.seen(days).await {
        Ok(seen) => page(overview::all(&seen.report, section, name, days)),
        Err(error) => unreadable(&error, days),
    }
}

async fn one(State(pages): State<Arc<Pages>>, Query(asked): Query<Asked>) -> Response {
    let days = asked.days();
    let Some(name) = asked.name.as_deref().filter(|name| !name.is_empty()) else {
        let message = "The address names no skill. The overview leads to those there are.";
        return trouble(StatusCode::NOT_FOUND, "No skill named", message, days);
    };
    let seen = match pages.seen(days).await {
        Ok(seen) => seen,
        Err(error) => return unreadable(&error, days),
    };
    // Only its days: requests and answers are among the evidence.
    let story = match pages.archive.story(name, seen.period, 0).await {
        Ok(story) => story,
        Err(error) => return unreadable(&error, days),
    };
    let told = skill::Told {
        name,
        days,
        report: &seen.report,
        evidence: &seen.evidence,
        story: &story,
        catalog: pages.store.as_deref().zip(seen.snapshot.as_deref()),
    };
    page(skill::skill(&told))
}

/// What one request looked at.
struct Seen {
    period: Period,
    evidence: Evidence,
    snapshot: Option<Arc<Snapshot>>,
    report: Report,
}

impl Pages {
    /// The last so many days, today included.
    async fn seen(&self, days: u64) -> Result<Seen, ArchiveError> {
        let today = i64::try_from(clock::since_epoch().as_secs() / DAY).unwrap_or(0);
        let period = Period::last(days, today);
        let evidence = self.archive.evidence(period).await?;
        let snapshot = match &self.store {
            Some(store) => Some(store.fresh().await),
            None => None,
        };
        let known = snapshot.as_deref().map(Shelf::of);
        let report = Report::of(&evidence, known.as_ref(), period, today);
        Ok(Seen { period, evidence, snapshot, report })
    }
}

impl Asked {
    /// One of the periods; the usual one where it is none of them.
    fn days(&self) -> u64 {
        let asked = self.days.as_deref().and_then(|days| days.parse().ok());
        asked.filter(|days| PERIODS.contains(days)).unwrap_or(USUAL)
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    wrong: bool,
    days: u64,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble<'a> {
    title: &'a str,
    message: &'a str,
    days: u64,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
}

fn page(rendered: askama::Result<String>) -> Response {
    match rendered {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn unreadable(error: &ArchiveError, days: u64) -> Response {
    tracing::warn!(%error, "the events cannot be read");
    let message = format!("{error}; {}.", error.hint());
    trouble(StatusCode::SERVICE_UNAVAILABLE, "The events cannot be read", &message, days)
}

fn trouble(status: StatusCode, title: &str, message: &str, days: u64) -> Response {
    let trouble = Trouble { title, message, days, here: "/?", periods: &PERIODS, enough: ENOUGH };
    (status, page(trouble.render())).into_response()
}
