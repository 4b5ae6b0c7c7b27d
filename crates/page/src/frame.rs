//! What is around every page: the head with its links, and the one stylesheet.

use std::{borrow::Borrow, fmt};

use askama::Template;

use crate::format;

/// The stylesheet of every page.
pub const STYLE: &str = include_str!("../templates/style.css");
/// The icon of every page.
pub const ICON: &str = include_str!("../templates/icon.svg");
/// Where the two are.
pub const STYLE_ADDRESS: &str = "/style.css";
/// Where the icon is.
pub const ICON_ADDRESS: &str = "/icon.svg";

/// A group of pages that the head leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageGroup {
    /// What was used.
    Statistics,
    /// The catalog, and each skill.
    Skills,
    /// Search as an agent would.
    Search,
}

impl PageGroup {
    /// Its first page.
    pub fn address(self) -> &'static str {
        match self {
            // With a query: without one, the first page may lead to the catalog.
            Self::Statistics => "/?days=30",
            Self::Skills => "/skills",
            Self::Search => "/skills/search",
        }
    }
}

impl fmt::Display for PageGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Statistics => "Statistics",
            Self::Skills => "Skills",
            Self::Search => "Search",
        })
    }
}

/// Which pages the server has, and which one this is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    /// Whether it has the statistics.
    pub statistics: bool,
    /// Whether it has the catalog.
    pub skills: bool,
    /// The group that this page belongs to.
    pub here: Option<PageGroup>,
}

impl Frame {
    /// The same for a page of this group.
    #[must_use]
    pub fn at(self, group: PageGroup) -> Self {
        Self { here: Some(group), ..self }
    }

    /// The groups that there are.
    pub fn groups(self) -> Vec<PageGroup> {
        let statistics = self.statistics.then_some(PageGroup::Statistics);
        let skills = [PageGroup::Skills, PageGroup::Search].into_iter().filter(|_| self.skills);
        skills.chain(statistics).collect()
    }

    /// Whether this page belongs to a group.
    pub fn is_in(self, group: impl Borrow<PageGroup>) -> bool {
        self.here == Some(*group.borrow())
    }

    /// Where the program's name leads.
    pub fn home(self) -> &'static str {
        if self.statistics || !self.skills { "/" } else { PageGroup::Skills.address() }
    }
}

/// A list that is shown in pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// Which page this is, from 1.
    pub page: usize,
    /// How many there are.
    pub pages: usize,
    /// How many rows there are in all.
    pub rows: usize,
    /// The address, up to the number of the page.
    base: String,
}

impl Paging {
    /// The page of this number, or the nearest that there is. `address` has its query, if any.
    pub fn new(wanted: usize, rows: usize, rows_per_page: usize, address: &str) -> Self {
        let pages = rows.div_ceil(rows_per_page.max(1)).max(1);
        let mark = if address.contains('?') { '&' } else { '?' };
        let base = format!("{address}{mark}page=");
        Self { page: wanted.clamp(1, pages), pages, rows, base }
    }

    /// The address of another page.
    pub fn address(&self, page: usize) -> String {
        format!("{}{page}", self.base)
    }

    /// How many rows are on the pages before this one.
    pub fn skipped(&self, rows_per_page: usize) -> usize {
        (self.page - 1) * rows_per_page
    }
}

/// A page that says why there is no other.
#[derive(Debug, Template)]
#[template(path = "notice.html")]
pub struct NoticePage<'a> {
    /// The head.
    pub frame: Frame,
    /// Its heading.
    pub title: &'a str,
    /// What is true, and the way out.
    pub message: &'a str,
    /// Skills that may be meant.
    pub near: Vec<&'a str>,
}

impl NoticePage<'_> {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}

/// A page that asks for the token of an agent.
#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// The head.
    pub frame: Frame,
    /// Where the form is sent.
    pub action: &'static str,
    /// Whether one was sent that is not valid.
    pub wrong: bool,
}

impl SignInPage {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_from_one_and_a_number_beyond_is_the_last() {
        let paging = |wanted, rows| Paging::new(wanted, rows, 100, "/skills?view=list");
        assert_eq!((paging(0, 0).page, paging(0, 0).pages), (1, 1));
        assert_eq!((paging(3, 250).page, paging(9, 250).page), (3, 3));
        assert_eq!(paging(3, 250).skipped(100), 200);
        assert_eq!(paging(1, 250).address(2), "/skills?view=list&page=2");
        assert_eq!(Paging::new(1, 250, 100, "/skills").address(2), "/skills?page=2");
    }

    #[test]
    fn the_head_leads_to_the_pages_that_there_are() {
        let all = Frame { statistics: true, skills: true, here: None };
        assert_eq!(all.groups(), [PageGroup::Skills, PageGroup::Search, PageGroup::Statistics]);
        assert_eq!((all.home(), Frame { statistics: false, ..all }.home()), ("/", "/skills"));
        assert_eq!(Frame::default().groups(), []);
    }
}
