//! `POST /login`: a browser posts the token in a form once, and has a session cookie from then on.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest as _, Query, Request, State},
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde::Deserialize;
use skills_http::{
    guard::{GuardRefusal, HttpGuard},
    serving::{error, refused},
};
use tokio::time::timeout;

use super::page;

const MAX_FORM_BYTES: usize = 4 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct LoginForm {
    token: String,
}

/// The route, which the guard does not ask a token of.
pub fn login(guard: Arc<HttpGuard>) -> Router {
    Router::new().route("/login", post(log_in).with_state(guard))
}

async fn log_in(State(guard): State<Arc<HttpGuard>>, mut request: Request) -> Response {
    // Before the body is read.
    let headers = request.headers().clone();
    if let Err(refusal) = guard.check_origin(request.method(), &headers) {
        return refused(refusal);
    }
    DefaultBodyLimit::max(MAX_FORM_BYTES).apply(&mut request);
    let Ok(Ok(body)) = timeout(FORM_TIMEOUT, Bytes::from_request(request, &())).await else {
        return error(StatusCode::BAD_REQUEST, "send a form with the field `token`");
    };
    match guard.open_session(&headers, token(&body).as_deref().unwrap_or_default()) {
        Ok(cookie) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(GuardRefusal::Token) => page::login(true),
        Err(refusal) => refused(refusal),
    }
}

/// A form is written like a query.
fn token(body: &[u8]) -> Option<String> {
    let uri: Uri = format!("/?{}", str::from_utf8(body).ok()?).parse().ok()?;
    Query::<LoginForm>::try_from_uri(&uri).ok().map(|Query(form)| form.token)
}
