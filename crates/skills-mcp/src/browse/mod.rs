//! The pages of the catalog, for any HTTP server of this program: people see what their agents see.
//!
//! [`routes`] answers `GET` below `/skills`. Each answer is made from one snapshot, which a [`SnapshotProvider`] chooses for the
//! request: a request that may see less gets a smaller snapshot, and no page reads anything else. Not here: who may ask (the guard
//! that the server puts before these routes), how a page looks (`skills_page`), and the statistics (`skills_usage`).

mod contents;
mod download;
mod filtered;
mod folders;
mod searched;

use std::{collections::HashMap, fmt, future::ready, pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::get,
};
use serde::Deserialize;
use skills_core::catalog::{NameMatch, Skill};
use skills_http::places::{UnfinishedWork, WorkPlaces};
use skills_page::{
    PageError,
    catalog::{CatalogView, ListFilter, ListOrder},
    format::skill_address,
    frame::{Frame, ICON, ICON_ADDRESS, NoticePage, PageGroup, STYLE, STYLE_ADDRESS},
};
use tokio::task::spawn_blocking;

use crate::store::{Snapshot, Store};

/// Made at once: each reads files and may start git.
const MAX_PAGES_AT_ONCE: usize = 4;
/// The next page waits no longer.
const PAGE_SLOT_TIMEOUT: Duration = Duration::from_secs(10);
/// A longer page is not sent. Each part of a page has a limit, so that only content that is made for it could get there.
const MAX_PAGE_BYTES: usize = 500_000;
/// A longer request is cut before it is searched for.
const MAX_REQUEST_CHARS: usize = 2_000;

/// A snapshot that may take a moment.
pub type SnapshotFuture = Pin<Box<dyn Future<Output = Arc<Snapshot>> + Send>>;

/// Chooses the snapshot that a request is answered from.
pub trait SnapshotProvider: fmt::Debug + Send + Sync {
    /// What this request may see, as it is now.
    fn snapshot(&self, request: &Parts) -> SnapshotFuture;
}

/// Everything in a store, for every request.
#[derive(Debug)]
pub struct WholeCatalog(pub Arc<Store>);

impl SnapshotProvider for WholeCatalog {
    fn snapshot(&self, _: &Parts) -> SnapshotFuture {
        let store = Arc::clone(&self.0);
        Box::pin(async move { store.fresh().await })
    }
}

/// How often each skill was served.
#[derive(Debug, Clone, Default)]
pub struct ServedCounts {
    /// In the last so many days.
    pub days: u64,
    /// By identity.
    pub by_skill: Arc<HashMap<String, u64>>,
}

/// Counts that may take a moment; none where nothing is counted.
pub type CountsFuture = Pin<Box<dyn Future<Output = Option<ServedCounts>> + Send>>;

/// Knows how often skills were served.
pub trait ServedCounter: fmt::Debug + Send + Sync {
    /// The counts of the last days.
    fn counts(&self) -> CountsFuture;
}

/// What the pages are made from.
#[derive(Debug)]
pub struct Browser {
    /// What each request may see.
    pub snapshots: Arc<dyn SnapshotProvider>,
    /// How often skills were served, where the server knows that. Then it also has the statistics' pages, which bring the stylesheet.
    pub counter: Option<Arc<dyn ServedCounter>>,
}

/// The pages below `/skills`, without any guard; with the stylesheet, unless the statistics' pages bring it.
pub fn routes(browser: Browser) -> Router {
    let frame = Frame { statistics: browser.counter.is_some(), skills: true, here: None };
    let places = WorkPlaces::new(MAX_PAGES_AT_ONCE, PAGE_SLOT_TIMEOUT);
    let maker = Arc::new(BrowsePageMaker { browser, frame, places });
    let pages = Router::new()
        .route(PageGroup::Skills.address(), get(catalog))
        .route(PageGroup::Search.address(), get(search))
        .route("/skills/{*identity}", get(skill))
        .with_state(maker);
    if frame.statistics {
        return pages;
    }
    let style = typed("text/css; charset=utf-8", STYLE);
    let icon = typed("image/svg+xml", ICON);
    pages
        .route(STYLE_ADDRESS, get(move || ready(style.clone().into_response())))
        .route(ICON_ADDRESS, get(move || ready(icon.clone().into_response())))
}

type TypedText = ([(header::HeaderName, HeaderValue); 1], &'static str);

fn typed(kind: &'static str, text: &'static str) -> TypedText {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text)
}

/// What an address asks of the catalog.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CatalogQuery {
    view: String,
    under: String,
    q: String,
    kind: String,
    source: String,
    order: String,
    page: String,
}

/// What an address asks of a search.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchQuery {
    q: String,
}

/// What an address asks of a skill.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SkillQuery {
    file: Option<String>,
}

async fn catalog(
    State(maker): State<Arc<BrowsePageMaker>>,
    Query(query): Query<CatalogQuery>,
    request: Parts,
) -> Response {
    let made = maker.made(&request, move |source| {
        let page = query.page.parse().unwrap_or(1);
        let made = match CatalogView::of(&query.view).unwrap_or_default() {
            CatalogView::Tree => match folders::tree_page(source, &query.under, page) {
                Some(made) => made.html(),
                None => return source.no_skill(&query.under),
            },
            CatalogView::List => {
                let filter = ListFilter {
                    words: query.q.chars().take(MAX_REQUEST_CHARS).collect(),
                    kind: query.kind,
                    source: query.source,
                    order: ListOrder::of(&query.order),
                };
                filtered::list_page(source, filter, page).html()
            }
            CatalogView::Findings => filtered::findings_page(source, page).html(),
        };
        html(made)
    });
    made.await
}

async fn search(
    State(maker): State<Arc<BrowsePageMaker>>,
    Query(query): Query<SearchQuery>,
    request: Parts,
) -> Response {
    let made = maker.made(&request, move |source| {
        let request: String = query.q.trim().chars().take(MAX_REQUEST_CHARS).collect();
        html(searched::search_page(source, request).html())
    });
    made.await
}

async fn skill(
    State(maker): State<Arc<BrowsePageMaker>>,
    Path(identity): Path<String>,
    Query(query): Query<SkillQuery>,
    request: Parts,
) -> Response {
    let made = maker.made(&request, move |source| {
        let Some(skill) = source.snapshot.catalog.find(&identity) else {
            return source.no_skill(&identity);
        };
        if let Some(file) = query.file {
            return download::download(source, skill, &file);
        }
        // One address for one skill, however it was asked for.
        if *skill.identity != *identity.trim_end_matches('/') {
            return Redirect::temporary(&skill_address(&*skill.identity)).into_response();
        }
        html(contents::skill_page(source, skill).html())
    });
    made.await
}

/// Where pages are made, few at once.
#[derive(Debug)]
struct BrowsePageMaker {
    browser: Browser,
    frame: Frame,
    places: WorkPlaces,
}

/// What one page is made from.
struct PageSource {
    snapshot: Arc<Snapshot>,
    counts: Option<ServedCounts>,
    frame: Frame,
}

impl BrowsePageMaker {
    /// An answer to this request. Reading files and writing a page take their time, on a thread that has it.
    async fn made(
        &self,
        request: &Parts,
        make: impl FnOnce(&PageSource) -> Response + Send + 'static,
    ) -> Response {
        let counts = self.browser.counter.as_ref().map(|counter| counter.counts());
        let (snapshot, frame) = (self.browser.snapshots.snapshot(request), self.frame);
        let answer = self.places.run(async move {
            let counts = match counts {
                Some(counts) => counts.await,
                None => None,
            };
            let source = PageSource { snapshot: snapshot.await, counts, frame };
            spawn_blocking(move || make(&source)).await
        });
        match answer.await {
            Ok(Ok(response)) => response,
            Err(UnfinishedWork::NoPlace) => self.busy(),
            Ok(Err(_)) | Err(UnfinishedWork::Panicked) => {
                tracing::error!("a page could not be made");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    fn busy(&self) -> Response {
        let notice = NoticePage {
            frame: self.frame.at(PageGroup::Skills),
            title: "Too many at once",
            message: "Others are being answered. Come again soon.",
            near: Vec::new(),
        };
        let retry = [(header::RETRY_AFTER, HeaderValue::from_static("1"))];
        (StatusCode::SERVICE_UNAVAILABLE, retry, html(notice.html())).into_response()
    }
}

impl PageSource {
    /// How often a skill was served, where that is counted.
    fn served(&self, skill: &Skill) -> Option<u64> {
        let by_skill = &self.counts.as_ref()?.by_skill;
        Some(by_skill.get(&**self.snapshot.catalog.recorded_identity(skill)).copied().unwrap_or(0))
    }

    /// The page for a name that no skill has, or several.
    fn no_skill(&self, name: &str) -> Response {
        let catalog = &self.snapshot.catalog;
        let near = match catalog.named(name) {
            NameMatch::Several(skills) => skills.iter().map(|skill| &*skill.identity).collect(),
            NameMatch::One(_) | NameMatch::NotFound => catalog.near(name),
        };
        self.not_found(
            "No such skill",
            "There is no skill or folder of this name. The list of skills has those there are.",
            near,
        )
    }

    fn not_found(&self, title: &str, message: &str, near: Vec<&str>) -> Response {
        let frame = self.frame.at(PageGroup::Skills);
        let notice = NoticePage { frame, title, message, near };
        (StatusCode::NOT_FOUND, html(notice.html())).into_response()
    }
}

fn html(made: Result<String, PageError>) -> Response {
    match made {
        Ok(html) if html.len() > MAX_PAGE_BYTES => {
            tracing::warn!(bytes = html.len(), "a page is too long to be sent");
            let why = "the page is too long to be shown: names, descriptions or findings are unusually long";
            (StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests;
