//! Cursors: where the next page of a list begins. A cursor holds the last key of the page before, so that a list that changes
//! meanwhile neither repeats nor skips what was there throughout.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::Refusal;

/// A cursor is never longer: no address or name is.
const MAX_CURSOR_BYTES: usize = 16 * 1024;
/// So many bytes of a digest tell a cursor that the server gave from one that it did not.
const CHECK_BYTES: usize = 6;

/// A list that has pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagedList {
    /// `skills/list`.
    Skills,
    /// `resources/list`.
    Resources,
    /// `prompts/list`.
    Prompts,
}

impl PagedList {
    fn method(self) -> &'static str {
        match self {
            Self::Skills => "skills/list",
            Self::Resources => "resources/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The cursor behind this key.
    pub(super) fn cursor(self, key: &str) -> String {
        URL_SAFE_NO_PAD.encode([self.check(key).as_slice(), key.as_bytes()].concat())
    }

    /// The key that a cursor holds; none where the list begins.
    pub(super) fn key(self, cursor: Option<&str>) -> Result<Option<String>, Refusal> {
        let Some(cursor) = cursor else { return Ok(None) };
        let short = Some(cursor).filter(|cursor| cursor.len() <= MAX_CURSOR_BYTES);
        let bytes = short.and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok());
        let key = bytes.and_then(|bytes| {
            let (check, key) = bytes.split_at_checked(CHECK_BYTES)?;
            let key = String::from_utf8(key.to_vec()).ok()?;
            (check == self.check(&key)).then_some(key)
        });
        key.map(Some).ok_or_else(|| {
            let method = self.method();
            Refusal::Params(format!("unknown cursor '{cursor:.200}'; begin {method} without one"))
        })
    }

    fn check(self, key: &str) -> Vec<u8> {
        let digest = Sha256::new().chain_update(self.method()).chain_update([0]).chain_update(key);
        digest.finalize().iter().take(CHECK_BYTES).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p09_a_cursor_is_good_for_its_own_list_only() {
        let cursor = PagedList::Skills.cursor("skill://é");
        assert_eq!(PagedList::Skills.key(Some(&cursor)), Ok(Some("skill://é".to_owned())));
        assert_eq!(PagedList::Skills.key(None), Ok(None));
        let forged = URL_SAFE_NO_PAD.encode("skill://pdf");
        let long = "x".repeat(1_000_000);
        for wrong in [
            "",
            "-1",
            "2",
            &forged,
            &long,
            cursor.trim_start_matches(char::is_alphanumeric),
            &format!("{cursor}="),
        ] {
            assert!(
                matches!(PagedList::Skills.key(Some(wrong)), Err(Refusal::Params(_))),
                "{wrong:.40}"
            );
        }
        assert!(PagedList::Resources.key(Some(&cursor)).is_err());
    }
}
