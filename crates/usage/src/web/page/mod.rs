//! The page: HTML and SVG made here, from a [`UsageReport`] that is made for each request. It needs no script, no other
//! host and no build step.
//!
//! Everything it shows was written by others, so every value passes [`Shown`](skills_page::shown::Shown). Not here: who may see it (`skills_http::guard`), what
//! the numbers mean (`report`).

mod format;
mod overview;
mod proposals;
mod scope;
mod skill;
mod svg;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Router,
    extract::{Query, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use overview::ReportSection;
use scope::PageScope;
use serde::{Deserialize, Serialize};
use skills_http::{
    guard::{GuardRefusal, HttpGuard},
    places::{UnfinishedWork, WorkPlaces},
    serving::{error, json, refused, unavailable},
};
use skills_page::frame::{Frame, ICON, ICON_ADDRESS, PageGroup, STYLE, STYLE_ADDRESS};
use tokio::task::spawn_blocking;

use crate::{
    archive::{Archive, ArchiveError, Evidence, Period, Story},
    clock,
    report::{CatalogSummary, MIN_OBSERVATIONS, UsageReport},
    served::{CatalogSnapshot, ServedCatalog},
};

/// The periods to choose from, in days.
const PERIODS: [u64; 4] = [7, 30, 90, 365];
/// The period where the address names none.
const DEFAULT_DAYS: u64 = 30;
/// For programs.
const MAX_DAYS: u64 = 3_660;
/// Of each list.
const MAX_ROWS: usize = 1_000;
/// Made at once.
const MAX_REPORTS: usize = 2;
/// The next report waits no longer.
const REPORT_SLOT_TIMEOUT: Duration = Duration::from_secs(10);

/// What pages are made from.
#[derive(Debug)]
pub struct Pages {
    /// Where the events are.
    pub archive: Arc<Archive>,
    /// The skills that could have been served, where they are known.
    pub catalog: Option<Arc<dyn ServedCatalog>>,
    /// Whether the same server has the pages of the catalog.
    pub catalog_pages: CatalogPages,
}

/// Whether a server has the pages of the catalog beside these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogPages {
    /// It has not.
    #[default]
    Absent,
    /// It has.
    Beside,
    /// It has, and they come first where there are no events.
    BeforeNothing,
}

impl Pages {
    /// What these pages lead to.
    fn frame(&self) -> Frame {
        let skills = self.catalog_pages != CatalogPages::Absent;
        Frame { statistics: true, skills, here: None }.at(PageGroup::Statistics)
    }
}

/// What an address asks for.
#[derive(Debug, Default, Deserialize)]
struct PageQuery {
    #[serde(default)]
    days: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    of: Option<String>,
    #[serde(default)]
    client: Option<String>,
}

/// The pages under `/`, behind this guard.
pub fn pages(pages: Pages, guard: Arc<HttpGuard>) -> Router {
    let places = WorkPlaces::new(MAX_REPORTS, REPORT_SLOT_TIMEOUT);
    let routes = Router::new()
        .route("/", get(first))
        .route("/all", get(all))
        .route("/skill", get(one))
        .route("/proposals", get(proposed))
        .route("/v1/stats", get(stats))
        .route(STYLE_ADDRESS, get(async || typed("text/css; charset=utf-8", STYLE)))
        .route(ICON_ADDRESS, get(async || typed("image/svg+xml", ICON)))
        .with_state(Arc::new(PageMaker { pages, places }));
    behind_login(routes, guard)
}

/// Pages for people behind this guard: a browser without the token is asked for it.
pub fn behind_login(routes: Router, guard: Arc<HttpGuard>) -> Router {
    routes.layer(from_fn_with_state(guard, check))
}

/// A browser without the token is asked for it; how that page looks is no secret.
async fn check(State(guard): State<Arc<HttpGuard>>, request: Request, next: Next) -> Response {
    let looks = [STYLE_ADDRESS, ICON_ADDRESS].contains(&request.uri().path());
    let (method, headers) = (request.method(), request.headers());
    match if looks { guard.check_origin(method, headers) } else { guard.check(method, headers) } {
        Ok(()) => next.run(request).await,
        Err(GuardRefusal::Token) if !request.uri().path().starts_with("/v1/") => login(false),
        Err(refusal) => refused(refusal),
    }
}

/// Asks for the token; again, where the one that was brought is not it.
pub(super) fn login(wrong: bool) -> Response {
    let asked = LoginPage {
        frame: Frame::default(),
        wrong,
        scope: &PageScope::of_all(DEFAULT_DAYS),
        here: "/?",
        periods: &[],
        enough: MIN_OBSERVATIONS,
    };
    (StatusCode::UNAUTHORIZED, page(asked.render())).into_response()
}

fn typed(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

async fn first(State(maker): State<Arc<PageMaker>>, Query(asked): Query<PageQuery>) -> Response {
    let scope = asked.scope();
    let frame = maker.pages.frame();
    // An address with a period asks for the statistics, however few there are.
    let may_lead_on =
        asked.days.is_none() && maker.pages.catalog_pages == CatalogPages::BeforeNothing;
    maker
        .page(scope, frame, None, move |data, scope| {
            if may_lead_on && data.report.totals.events == 0 {
                return Redirect::to(PageGroup::Skills.address()).into_response();
            }
            page(overview::overview(&data.report, scope, frame))
        })
        .await
}

/// The same for programs, of any number of days.
async fn stats(State(maker): State<Arc<PageMaker>>, Query(asked): Query<PageQuery>) -> Response {
    let days = asked.days.as_deref().map_or(Some(DEFAULT_DAYS), |days| days.parse().ok());
    let Some(days) = days.filter(|days| (1..=MAX_DAYS).contains(days)) else {
        return error(StatusCode::BAD_REQUEST, &format!("`days` is a number from 1 to {MAX_DAYS}"));
    };
    let scope = PageScope { days, client: asked.client() };
    let made = maker.made(scope, None, |data, scope| {
        if let Some(reason) = scope.unknown_client(&data.report) {
            return error(StatusCode::NOT_FOUND, &reason);
        }
        let left_out = shortened(&mut data.report);
        json(StatusCode::OK, &StatsBody { report: &data.report, left_out })
    });
    made.await.unwrap_or_else(|unavailable_page| unavailable(unavailable_page.reason()))
}

/// A report whose lists end somewhere.
#[derive(Serialize)]
struct StatsBody<'a> {
    #[serde(flatten)]
    report: &'a UsageReport,
    /// So many rows are missing, of all lists together.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Shortens every list; by how much in all.
fn shortened(report: &mut UsageReport) -> usize {
    fn cut<T>(list: &mut Vec<T>) -> usize {
        let left_out = list.len().saturating_sub(MAX_ROWS);
        list.truncate(MAX_ROWS);
        left_out
    }
    let unused = report.never_served.iter_mut().chain(&mut report.never_fetched).map(cut);
    let unused: usize = unused.sum();
    let findings = report.health.as_mut().map_or(0, |health| cut(&mut health.findings));
    let lists = [
        cut(&mut report.advice),
        cut(&mut report.skills),
        cut(&mut report.misses),
        cut(&mut report.patterns),
        cut(&mut report.assets),
        cut(&mut report.scripts),
        cut(&mut report.latency),
        cut(&mut report.clients),
        cut(&mut report.callers),
    ];
    unused + findings + lists.into_iter().sum::<usize>()
}

async fn all(State(maker): State<Arc<PageMaker>>, Query(asked): Query<PageQuery>) -> Response {
    let scope = asked.scope();
    let frame = maker.pages.frame();
    let name = asked.of.unwrap_or_default();
    let Some(section) = ReportSection::of(&name) else {
        let message = "There is no such list. The overview leads to those there are.";
        return error_page(StatusCode::NOT_FOUND, "No such list", message, &scope, frame);
    };
    maker
        .page(scope, frame, None, move |data, scope| {
            page(overview::all(&data.report, section, &name, scope, frame))
        })
        .await
}

async fn one(State(maker): State<Arc<PageMaker>>, Query(asked): Query<PageQuery>) -> Response {
    let scope = asked.scope();
    let frame = maker.pages.frame();
    let Some(name) = asked.name.filter(|name| !name.is_empty()) else {
        let message = "The address names no skill. The overview leads to those there are.";
        return error_page(StatusCode::NOT_FOUND, "No skill named", message, &scope, frame);
    };
    let of_skill = Some(name.clone());
    maker
        .page(scope, frame, of_skill, move |data, scope| {
            let data = skill::SkillPageData {
                name: &name,
                scope,
                report: &data.report,
                evidence: &data.evidence,
                story: &data.story,
                catalog: data.snapshot.as_deref(),
                frame,
            };
            page(skill::skill(&data))
        })
        .await
}

async fn proposed(State(maker): State<Arc<PageMaker>>, Query(asked): Query<PageQuery>) -> Response {
    let scope = asked.scope();
    let frame = maker.pages.frame();
    let proposed = move |data: &mut PageData, scope: &PageScope| {
        page(proposals::proposals(data, scope, frame))
    };
    maker.page(scope, frame, None, proposed).await
}

/// What one request looked at.
struct PageData {
    evidence: Evidence,
    story: Story,
    snapshot: Option<Arc<dyn CatalogSnapshot>>,
    report: UsageReport,
}

/// Where pages are made, few at once.
struct PageMaker {
    pages: Pages,
    places: WorkPlaces,
}

impl PageMaker {
    /// A page for people, or one that says why there is none.
    async fn page(
        &self,
        scope: PageScope,
        frame: Frame,
        skill: Option<String>,
        make: impl FnOnce(&mut PageData, &PageScope) -> Response + Send + 'static,
    ) -> Response {
        let answer = self.made(scope.clone(), skill, move |data, scope| {
            match scope.unknown_client(&data.report) {
                Some(reason) => {
                    error_page(StatusCode::NOT_FOUND, "No such client", &reason, scope, frame)
                }
                None => make(data, scope),
            }
        });
        answer.await.unwrap_or_else(|unavailable_page| unavailable_page.page(&scope, frame))
    }

    /// An answer made of the last so many days, today included, of all clients or of one, and of one skill's story.
    /// Counting and writing take their time, on a thread that has it.
    async fn made(
        &self,
        scope: PageScope,
        skill: Option<String>,
        make: impl FnOnce(&mut PageData, &PageScope) -> Response + Send + 'static,
    ) -> Result<Response, PageUnavailable> {
        let (archive, catalog) = (Arc::clone(&self.pages.archive), self.pages.catalog.clone());
        match self.places.run(read_and_made(archive, catalog, scope, skill, make)).await {
            Ok(answer) => answer,
            Err(UnfinishedWork::NoPlace) => Err(PageUnavailable::Busy),
            Err(UnfinishedWork::Panicked) => Ok(not_made()),
        }
    }
}

/// The same, once it has a place.
async fn read_and_made(
    archive: Arc<Archive>,
    catalog: Option<Arc<dyn ServedCatalog>>,
    scope: PageScope,
    skill: Option<String>,
    make: impl FnOnce(&mut PageData, &PageScope) -> Response + Send + 'static,
) -> Result<Response, PageUnavailable> {
    let today = clock::today();
    let period = Period::last(scope.days, today);
    let client = scope.client.as_deref();
    let evidence = archive.evidence(period, client).await?;
    let story = match skill {
        // Only its days: requests and answers are among the evidence.
        Some(skill) => archive.story(&skill, period, client, 0).await?,
        None => Story::default(),
    };
    let snapshot = match catalog {
        Some(catalog) => Some(catalog.fresh().await),
        None => None,
    };
    let work = move || {
        let known = snapshot.as_deref().map(|snapshot| CatalogSummary::of(snapshot.catalog()));
        let report = UsageReport::of(&evidence, known.as_ref(), period, today);
        make(&mut PageData { evidence, story, snapshot, report }, &scope)
    };
    Ok(spawn_blocking(work).await.unwrap_or_else(|_| not_made()))
}

fn not_made() -> Response {
    tracing::error!("a page could not be made");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// Why there is no answer now. The log says more: where the events are is not for every visitor to know.
enum PageUnavailable {
    Busy,
    Unread,
}

impl From<ArchiveError> for PageUnavailable {
    fn from(error: ArchiveError) -> Self {
        tracing::warn!(hint = error.hint(), "the events cannot be read: {error}");
        Self::Unread
    }
}

impl PageUnavailable {
    fn reason(&self) -> &'static str {
        match self {
            Self::Busy => "too many reports at once",
            Self::Unread => "the archive does not answer",
        }
    }

    fn page(&self, scope: &PageScope, frame: Frame) -> Response {
        let (title, message) = match self {
            Self::Busy => ("Too many at once", "Others are being answered. Come again soon."),
            Self::Unread => (
                "The events cannot be read",
                "The archive does not answer. The log of this server says why.",
            ),
        };
        let mut response =
            error_page(StatusCode::SERVICE_UNAVAILABLE, title, message, scope, frame);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }
}

impl PageQuery {
    /// One of the periods, the usual one where it is none of them; and the client, where it names one.
    fn scope(&self) -> PageScope {
        let asked = self.days.as_deref().and_then(|days| days.parse().ok());
        let days = asked.filter(|days| PERIODS.contains(days)).unwrap_or(DEFAULT_DAYS);
        PageScope { days, client: self.client() }
    }

    fn client(&self) -> Option<String> {
        self.client.clone().filter(|client| !client.is_empty())
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    frame: Frame,
    wrong: bool,
    scope: &'a PageScope,
    here: &'a str,
    periods: &'a [u64],
    enough: u64,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct ErrorPage<'a> {
    frame: Frame,
    title: &'a str,
    message: &'a str,
    scope: &'a PageScope,
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

fn error_page(
    status: StatusCode,
    title: &str,
    message: &str,
    scope: &PageScope,
    frame: Frame,
) -> Response {
    let error_page = ErrorPage {
        frame,
        title,
        message,
        scope,
        here: "/?",
        periods: &PERIODS,
        enough: MIN_OBSERVATIONS,
    };
    (status, page(error_page.render())).into_response()
}
