//! The pages of the catalog on the server of MCP: people see what an agent with their token sees.
//!
//! Where a token is asked for, a browser posts it in a form once and has a session cookie from then on. The session remembers the
//! token, which is checked again for every page, so that a token that has ended shows nothing any more. A cookie opens pages
//! only: `/mcp` wants the token itself. Not here: what a page says (`browse`).

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::to_bytes,
    extract::{Query, Request, State},
    http::{StatusCode, Uri, header, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use serde::Deserialize;
use skills_core::catalog::Access;
use skills_http::{guard::BrowserSessions, serving::error};
use skills_page::frame::{Frame, ICON_ADDRESS, PageGroup, STYLE_ADDRESS, SignInPage};
use tokio::time::timeout;

use super::Gate;
use crate::{
    browse::{self, Browser, SnapshotFuture, SnapshotProvider},
    surface::Dispatcher,
};

const SIGN_IN_PATH: &str = "/login";
const MAX_FORM_BYTES: usize = 20 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// Who may see pages.
#[derive(Debug)]
struct PageGate {
    gate: Arc<Gate>,
    /// The token that each browser brought.
    sessions: BrowserSessions<Arc<str>>,
}

/// The snapshot with the skills that the request's token may see.
#[derive(Debug)]
struct AllowedCatalog(Arc<Dispatcher>);

impl SnapshotProvider for AllowedCatalog {
    fn snapshot(&self, request: &Parts) -> SnapshotFuture {
        // Without an access nothing was checked, and nothing is shown.
        let access = request.extensions.get::<Access>().cloned();
        let access = access.unwrap_or_else(|| Access::only::<&str>([]));
        let dispatcher = Arc::clone(&self.0);
        Box::pin(async move { dispatcher.snapshot(&access).await })
    }
}

#[derive(Deserialize)]
struct TokenForm {
    token: String,
}

/// The pages, behind this gate.
pub(super) fn routes(dispatcher: Arc<Dispatcher>, gate: Arc<Gate>) -> Router {
    let page_gate = Arc::new(PageGate { gate, sessions: BrowserSessions::default() });
    let browser = Browser { snapshots: Arc::new(AllowedCatalog(dispatcher)), counter: None };
    let pages = browse::routes(browser).route("/", get(first));
    let sign_in =
        Router::new().route(SIGN_IN_PATH, post(sign_in)).with_state(Arc::clone(&page_gate));
    pages.layer(from_fn_with_state(page_gate, check)).merge(sign_in)
}

async fn first() -> Redirect {
    Redirect::temporary(PageGroup::Skills.address())
}

/// Lets a request through to its page with what it may see, or asks for the token; how that page looks is no secret.
async fn check(State(pages): State<Arc<PageGate>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let looks = [STYLE_ADDRESS, ICON_ADDRESS].contains(&parts.uri.path());
    let brought = pages.sessions.find(&parts.headers);
    match pages.gate.admit_page(&parts, brought.as_deref()).await {
        Err(refused) => refused,
        Ok(None) if !looks => ask(false),
        Ok(admitted) => {
            let Some(admitted) = admitted else {
                return next.run(Request::from_parts(parts, body)).await;
            };
            let sender = admitted.sender();
            parts.extensions.insert(admitted.access);
            let mut response = next.run(Request::from_parts(parts, body)).await;
            response.extensions_mut().insert(sender);
            response
        }
    }
}

/// Takes the token of a form, and opens a session where it is valid.
async fn sign_in(State(pages): State<Arc<PageGate>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // Host, origin and rate are checked before the body is read.
    if let Err(refused) = pages.gate.admit_page(&parts, None).await {
        return refused;
    }
    let Ok(Ok(body)) = timeout(FORM_TIMEOUT, to_bytes(body, MAX_FORM_BYTES)).await else {
        return error(StatusCode::BAD_REQUEST, "send a form with the field `token`");
    };
    let token = token(&body).unwrap_or_default();
    match pages.gate.admit_page(&parts, Some(token.trim())).await {
        Err(refused) => refused,
        Ok(None) => ask(true),
        Ok(Some(_)) => {
            let cookie = pages.sessions.open(&parts.headers, token.trim().into());
            let location = PageGroup::Skills.address().to_owned();
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, location)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
    }
}

fn ask(wrong: bool) -> Response {
    let asked = SignInPage { frame: Frame::default(), action: SIGN_IN_PATH, wrong };
    match asked.html() {
        Ok(html) => (StatusCode::UNAUTHORIZED, Html(html)).into_response(),
        Err(_) => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// A form is written like a query.
fn token(body: &[u8]) -> Option<String> {
    let uri: Uri = format!("/?{}", str::from_utf8(body).ok()?).parse().ok()?;
    Query::<TokenForm>::try_from_uri(&uri).ok().map(|Query(form)| form.token)
}
