//! `POST /login`: a browser brings the token in a form, once, and is known by a cookie from then on.

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
use tokio::time::timeout;

use super::{
    Door, Refused, page,
    serving::{refusal, said},
};

/// A form with one token has no more bytes,
const BODY_BYTES: usize = 4 * 1024;
/// and takes no longer.
const BODY: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Form {
    token: String,
}

/// The route, which is on the outer side of the door.
pub fn login(door: Arc<Door>) -> Router {
    Router::new().route("/login", post(enter).with_state(door))
}

async fn enter(State(door): State<Arc<Door>>, mut request: Request) -> Response {
    // Before anything is read: whether it is for us at all.
    let headers = request.headers().clone();
    if let Err(refused) = door.knows(request.method(), &headers) {
        return refusal(refused);
    }
    DefaultBodyLimit::max(BODY_BYTES).apply(&mut request);
    let Ok(Ok(body)) = timeout(BODY, Bytes::from_request(request, &())).await else {
        return said(StatusCode::BAD_REQUEST, "send a form with the field `token`");
    };
    match door.greet(&headers, token(&body).as_deref().unwrap_or_default()) {
        Ok(cookie) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(Refused::Token) => page::login(true),
        Err(refused) => refusal(refused),
    }
}

/// A form is written like a query.
fn token(body: &[u8]) -> Option<String> {
    let uri: Uri = format!("/?{}", str::from_utf8(body).ok()?).parse().ok()?;
    Query::<Form>::try_from_uri(&uri).ok().map(|Query(form)| form.token)
}
