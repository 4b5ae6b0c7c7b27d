//! [`PageScope`]: which days and which client's calls a page shows. Every link from one page to another keeps it.

use super::format;
use crate::report::{Counted, UsageReport};

/// So many clients are offered above a page; a list has them all.
const MAX_OFFERED_CLIENTS: usize = 8;
/// So many clients are named where another was asked for.
const MAX_NAMED_CLIENTS: usize = 10;

/// What a page is limited to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageScope {
    /// The last so many days.
    pub(super) days: u64,
    /// The client; none where the page is about all.
    pub(super) client: Option<String>,
}

impl PageScope {
    /// So many days of all clients.
    pub(super) fn of_all(days: u64) -> Self {
        Self { days, client: None }
    }

    /// The end of an address that leads to a page of the same scope.
    pub(super) fn query(&self) -> String {
        query_of(self.days, self.client.as_deref())
    }

    /// The same for another period.
    pub(super) fn with_days(&self, days: impl format::Whole) -> String {
        query_of(days.whole(), self.client.as_deref())
    }

    /// The same for another client.
    pub(super) fn with_client(&self, client: &str) -> String {
        query_of(self.days, Some(client))
    }

    /// The same for all clients.
    pub(super) fn without_client(&self) -> String {
        query_of(self.days, None)
    }

    /// The clients that a page offers to be limited to.
    pub(super) fn offered(report: &UsageReport) -> &[Counted] {
        report.callers.get(..MAX_OFFERED_CLIENTS).unwrap_or(&report.callers)
    }

    /// Whether the page is about this client.
    pub(super) fn is_of(&self, client: &str) -> bool {
        self.client.as_deref() == Some(client)
    }

    /// Why there is no page, where it should be about a client that did not call.
    pub(super) fn unknown_client(&self, report: &UsageReport) -> Option<String> {
        let client = self.client.as_deref().filter(|client| !report.has_caller(client))?;
        let callers: Vec<String> = report
            .callers
            .iter()
            .take(MAX_NAMED_CLIENTS)
            .map(|caller| format!("`{}`", caller.name))
            .collect();
        let others = if callers.is_empty() {
            "No call of these days names its client.".to_owned()
        } else {
            format!("These called: {}.", callers.join(", "))
        };
        Some(format!("No client `{}` called in these days. {others}", format::brief(client)))
    }
}

fn query_of(days: u64, client: Option<&str>) -> String {
    let client = client.map(|client| format!("&client={}", format::query(client)));
    format!("days={days}{}", client.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_the_client_and_an_unknown_one_is_told_who_called() {
        let scope = PageScope { days: 7, client: Some("a&b c".to_owned()) };
        assert_eq!(scope.query(), "days=7&client=a%26b%20c");
        assert_eq!(scope.with_days(30_u64), "days=30&client=a%26b%20c");
        assert_eq!(scope.with_client("codex"), "days=7&client=codex");
        assert_eq!(
            (scope.without_client(), PageScope::of_all(7).query()),
            ("days=7".to_owned(), "days=7".to_owned())
        );
        let mut report = UsageReport::default();
        assert!(scope.unknown_client(&report).unwrap().contains("names its client"));
        report.callers = vec![Counted { name: "codex".to_owned(), n: 3 }];
        let said = scope.unknown_client(&report).unwrap();
        assert_eq!(said, "No client `a&b c` called in these days. These called: `codex`.");
        assert_eq!(
            PageScope { days: 7, client: Some("codex".to_owned()) }.unknown_client(&report),
            None
        );
    }
}
