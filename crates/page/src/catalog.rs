//! The catalog on a page: as a tree, as a list, and what is wrong with it.

use askama::Template;

use crate::{
    format,
    frame::{Frame, Paging},
};

/// Which of the three a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogView {
    /// Folders and what is in them.
    #[default]
    Tree,
    /// A table of skills.
    List,
    /// What is wrong with the content.
    Findings,
}

impl CatalogView {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Tree, Self::List, Self::Findings];

    /// Its word in an address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::List => "list",
            Self::Findings => "findings",
        }
    }

    /// By its word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.word() == word)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Tree => "Tree",
            Self::List => "List",
            Self::Findings => "Findings",
        }
    }

    fn address(self) -> String {
        match self {
            Self::Tree => "/skills".to_owned(),
            Self::List | Self::Findings => format!("/skills?view={}", self.word()),
        }
    }
}

/// What is above each of the three.
#[derive(Debug, Clone)]
pub struct CatalogHead {
    /// How many skills are served.
    pub skills: usize,
    /// The names of the sources.
    pub sources: Vec<String>,
    /// How many files give no skill.
    pub errors: usize,
    /// How many findings cost less.
    pub warnings: usize,
}

/// A skill or a folder in the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeRow {
    /// Its own name.
    pub name: String,
    /// The skill that describes it.
    pub identity: Option<String>,
    /// What the skill says of itself.
    pub about: String,
    /// Whether the skill is a bundle.
    pub is_bundle: bool,
    /// How many skills are below it.
    pub below: usize,
    /// Where it is opened, if what is below it is not shown here.
    pub opened_at: Option<String>,
    /// What is wrong with the skill.
    pub findings: usize,
}

/// The tree, in the order in which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeStep {
    /// A row with rows below it.
    Open(TreeRow),
    /// A row without.
    Leaf(TreeRow),
    /// The rows below are over.
    Close,
}

/// A folder above the one that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCrumb {
    /// Its name.
    pub name: String,
    /// Where it is shown.
    pub address: String,
}

/// The tree, or a part of it.
#[derive(Debug, Template)]
#[template(path = "tree.html")]
pub struct TreePage {
    /// What is above it.
    pub head: CatalogHead,
    /// The head of the page.
    pub frame: Frame,
    /// The folders above, where only a part is shown.
    pub crumbs: Vec<TreeCrumb>,
    /// The folder that is shown, where it is not the whole.
    pub folder: Option<TreeRow>,
    /// The rows.
    pub steps: Vec<TreeStep>,
    /// Which of the rows directly below the folder these are.
    pub paging: Paging,
}

/// A skill in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRow {
    /// The skill.
    pub identity: String,
    /// What it says of itself.
    pub about: String,
    /// `tree` or `bundle`.
    pub kind: &'static str,
    /// The name of its source.
    pub source: String,
    /// What its text costs, where it can be read.
    pub tokens: Option<usize>,
    /// What is wrong with it.
    pub findings: usize,
    /// How often it was served, where that is counted.
    pub served: Option<u64>,
}

/// Which skills are listed, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Words that all occur in the name or the description.
    pub words: String,
    /// Of this kind.
    pub kind: String,
    /// From this source.
    pub source: String,
    /// By what they are ordered.
    pub order: ListOrder,
}

/// What a list is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// By source and path.
    #[default]
    Place,
    /// Those with the most findings first.
    Findings,
    /// Those that were served most first.
    Served,
}

impl ListOrder {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Place, Self::Findings, Self::Served];

    /// Its word in an address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Place => "path",
            Self::Findings => "findings",
            Self::Served => "served",
        }
    }

    /// By its word; else the usual one.
    pub fn of(word: &str) -> Self {
        Self::ALL.into_iter().find(|order| order.word() == word).unwrap_or_default()
    }

    fn title(self) -> &'static str {
        match self {
            Self::Place => "path",
            Self::Findings => "most findings",
            Self::Served => "most served",
        }
    }
}

impl ListFilter {
    /// The address of the first page.
    pub fn address(&self) -> String {
        let Self { words, kind, source, order } = self;
        let [words, kind, source] = [words, kind, source].map(format::query);
        let mut address = CatalogView::List.address();
        for (name, value) in [("q", &*words), ("kind", &kind), ("source", &source)] {
            if !value.is_empty() {
                address = format!("{address}&{name}={value}");
            }
        }
        if *order == ListOrder::default() {
            address
        } else {
            format!("{address}&order={}", order.word())
        }
    }

    fn is_any(&self) -> bool {
        self.words.is_empty() && self.kind.is_empty() && self.source.is_empty()
    }
}

/// The list.
#[derive(Debug, Template)]
#[template(path = "list.html")]
pub struct ListPage {
    /// What is above it.
    pub head: CatalogHead,
    /// The head of the page.
    pub frame: Frame,
    /// What was asked for.
    pub filter: ListFilter,
    /// Whether it says how often each was served, and in how many days.
    pub days: Option<u64>,
    /// The skills.
    pub rows: Vec<ListRow>,
    /// Which of them.
    pub paging: Paging,
}

/// Something wrong with a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindingRow {
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// Its stable name.
    pub code: &'static str,
    /// The file and the line.
    pub place: String,
    /// The source of the file.
    pub source: String,
    /// The skill that the file gives.
    pub identity: Option<String>,
    /// What is true.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl FindingRow {
    /// Its colour, which never stands alone.
    pub(crate) fn class(&self) -> &'static str {
        match self.severity {
            "error" => "bad",
            "warning" => "warn",
            _ => "quiet",
        }
    }
}

/// All that is wrong.
#[derive(Debug, Template)]
#[template(path = "findings.html")]
pub struct FindingsPage {
    /// What is above it.
    pub head: CatalogHead,
    /// The head of the page.
    pub frame: Frame,
    /// The findings.
    pub rows: Vec<FindingRow>,
    /// Which of them.
    pub paging: Paging,
}

impl TreePage {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}

impl ListPage {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}

impl FindingsPage {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}
