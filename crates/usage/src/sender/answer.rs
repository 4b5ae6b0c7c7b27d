//! What an endpoint's answer means for a batch.
//!
//! Any 2xx takes it. Our own collector says in the body what became of each event; the body of others means nothing.

use serde::Deserialize;

use skills_http::client::{HttpResponse, Unreachable};

/// Of what an endpoint says, so much is repeated.
const MAX_REASON_CHARS: usize = 200;

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BatchVerdict {
    /// The endpoint has it, but for what it says.
    Taken(NotKept),
    /// The endpoint wants less at a time.
    TooLarge,
    /// The endpoint will never take it: its status.
    Refused(u16),
    /// Another time.
    Later {
        /// What came instead.
        why: String,
        /// When, if the endpoint said so.
        retry_after: Option<String>,
        /// Whether the operator has to change something: the URL or the token is wrong.
        astray: bool,
    },
}

/// What an endpoint has not kept of a batch that it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NotKept {
    /// The places of events that it will never take.
    pub(super) refused: Vec<usize>,
    /// Why it does not take the first of them.
    pub(super) reason: String,
    /// How many were older than it keeps any.
    pub(super) expired: u64,
}

/// What a collector says of a batch.
#[derive(Deserialize)]
struct CollectorAnswer {
    accepted: u64,
    known: u64,
    expired: u64,
    refused: Vec<UnreadEvent>,
}

#[derive(Deserialize)]
struct UnreadEvent {
    index: usize,
    reason: String,
}

impl NotKept {
    /// Reads an answer to a batch of so many events. A body that does not add up to them is no collector's.
    fn of(body: &[u8], events: usize) -> Option<Self> {
        let CollectorAnswer { accepted, known, expired, refused } =
            serde_json::from_slice(body).ok()?;
        let unread = u64::try_from(refused.len()).ok()?;
        let all = accepted.checked_add(known)?.checked_add(expired)?.checked_add(unread)?;
        let in_order = refused.is_sorted_by(|one, next| one.index < next.index);
        if usize::try_from(all) != Ok(events) || !in_order {
            return None;
        }
        if refused.last().is_some_and(|last| last.index >= events) {
            return None;
        }
        let first = refused.first().map(|first| first.reason.chars().take(MAX_REASON_CHARS));
        let reason = first.map(String::from_iter).unwrap_or_default();
        Some(Self { refused: refused.iter().map(|unread| unread.index).collect(), reason, expired })
    }
}

impl BatchVerdict {
    /// Of an answer to a batch of so many events.
    pub(super) fn of(answer: Result<HttpResponse, Unreachable>, events: usize) -> Self {
        match answer {
            Err(error) => Self::Later { why: error.to_string(), retry_after: None, astray: false },
            Ok(HttpResponse { status: 200..300, body, .. }) => {
                Self::Taken(NotKept::of(&body, events).unwrap_or_default())
            }
            Ok(HttpResponse { status: 413, .. }) => Self::TooLarge,
            Ok(HttpResponse { status, retry_after, .. }) => {
                let astray = matches!(status, 300..=399 | 401 | 403 | 404 | 405 | 407);
                match status {
                    408 | 429 | 0..=399 | 500.. => {}
                    _ if astray => {}
                    _ => return Self::Refused(status),
                }
                Self::Later { why: format!("status {status}"), retry_after, astray }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b05_an_answer_sends_a_batch_one_of_four_ways() {
        let of = |status| {
            BatchVerdict::of(Ok(HttpResponse { status, retry_after: None, body: Vec::new() }), 1)
        };
        let later = |status, astray| BatchVerdict::Later {
            why: format!("status {status}"),
            retry_after: None,
            astray,
        };
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(of(status), BatchVerdict::Taken(NotKept::default()));
        }
        for status in [408, 429, 500, 502, 503, 504, 599, 100] {
            assert_eq!(of(status), later(status, false));
        }
        for status in [301, 302, 304, 307, 308, 401, 403, 404, 405, 407] {
            assert_eq!(of(status), later(status, true));
        }
        for status in [400, 402, 406, 409, 410, 415, 422, 451] {
            assert_eq!(of(status), BatchVerdict::Refused(status));
        }
        assert_eq!(of(413), BatchVerdict::TooLarge);
    }

    #[test]
    fn a_collector_says_what_it_did_not_keep_and_others_say_nothing() {
        let of = |body: &str| {
            let answer =
                HttpResponse { status: 200, retry_after: None, body: body.as_bytes().to_vec() };
            let BatchVerdict::Taken(except) = BatchVerdict::of(Ok(answer), 4) else {
                panic!("{body}")
            };
            (except.refused, except.reason, except.expired)
        };
        let said = r#"{"accepted":1,"known":0,"expired":1,"refused":[{"index":0,"reason":"a"},{"index":3,"reason":"b"}]}"#;
        assert_eq!(of(said), (vec![0, 3], "a".to_owned(), 1));
        for foreign in [
            "",
            "ok",
            "[]",
            r#"{"accepted":4}"#,
            r#"{"refused":[{"index":0,"reason":"a"}]}"#,
            // These do not add up, lead past the end, and name one twice.
            r#"{"accepted":4,"known":0,"expired":0,"refused":[{"index":0,"reason":"a"}]}"#,
            r#"{"accepted":3,"known":0,"expired":0,"refused":[{"index":4,"reason":"a"}]}"#,
            r#"{"accepted":2,"known":0,"expired":0,"refused":[{"index":0,"reason":"a"},{"index":0,"reason":"a"}]}"#,
            r#"{"accepted":18446744073709551615,"known":1,"expired":4,"refused":[]}"#,
        ] {
            assert_eq!(of(foreign), (Vec::new(), String::new(), 0), "{foreign}");
        }
    }
}
