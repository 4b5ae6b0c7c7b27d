//! What an endpoint's answer means for a batch.

use crate::network::{Answer, Unreachable};

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The endpoint has it.
    Taken,
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
        /// Whether somebody has to change something: this is not the place, or not the token.
        astray: bool,
    },
}

impl Verdict {
    pub(super) fn of(answer: Result<Answer, Unreachable>) -> Self {
        match answer {
            Err(error) => Self::Later { why: error.to_string(), retry_after: None, astray: false },
            Ok(Answer { status: 200..300, .. }) => Self::Taken,
            Ok(Answer { status: 413, .. }) => Self::TooLarge,
            Ok(Answer { status, retry_after, .. }) => {
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
        let of = |status| Verdict::of(Ok(Answer { status, retry_after: None, body: Vec::new() }));
        let later = |status, astray| Verdict::Later {
            why: format!("status {status}"),
            retry_after: None,
            astray,
        };
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(of(status), Verdict::Taken);
        }
        for status in [408, 429, 500, 502, 503, 504, 599, 100] {
            assert_eq!(of(status), later(status, false));
        }
        for status in [301, 302, 304, 307, 308, 401, 403, 404, 405, 407] {
            assert_eq!(of(status), later(status, true));
        }
        for status in [400, 402, 406, 409, 410, 415, 422, 451] {
            assert_eq!(of(status), Verdict::Refused(status));
        }
        assert_eq!(of(413), Verdict::TooLarge);
    }
}
