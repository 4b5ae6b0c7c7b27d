//! A skill's own page: its text as people read it beside what an agent receives, and where both come from.

use askama::Template;

use crate::{catalog::FindingRow, format, frame::Frame, markdown::RenderedMarkdown};

/// What an agent receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedText {
    /// The text, as much of it as is shown.
    pub text: String,
    /// What the whole of it costs.
    pub tokens: usize,
    /// Whether more is received than is shown.
    pub is_cut: bool,
    /// Whether `content.max_tokens` left something out.
    pub is_truncated: bool,
}

/// A file that comes with the skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileRow {
    /// Its path.
    pub name: String,
    /// `script`, the kind of an asset, or `file`.
    pub kind: &'static str,
    /// What its declaration says.
    pub about: String,
    /// The skill that declares it, where it is inherited.
    pub from: Option<String>,
    /// Its size, where it is there.
    pub bytes: Option<u64>,
}

/// A commit in which the file was other than in the one before, or the one that is served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitRow {
    /// The commit.
    pub commit: String,
    /// When it was made.
    pub time: String,
    /// Who made it.
    pub author: String,
    /// What its message says first.
    pub subject: String,
    /// Whether it is served.
    pub is_served: bool,
}

/// A skill of the same name that is not served under it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShadowRow {
    /// The name of its source.
    pub source: String,
    /// Its file.
    pub file: String,
    /// What became of it.
    pub outcome: String,
}

/// The page.
#[derive(Debug, Template)]
#[template(path = "browsed_skill.html")]
pub struct BrowsedSkill {
    /// The head.
    pub frame: Frame,
    /// The skill.
    pub identity: String,
    /// Its other name, where a bundle has one.
    pub other_name: Option<String>,
    /// What it says of itself.
    pub about: String,
    /// `tree` or `bundle`.
    pub kind: &'static str,
    /// The text; else why it cannot be shown.
    pub markdown: Result<RenderedMarkdown, String>,
    /// What an agent receives; else why it receives nothing.
    pub received: Result<ReceivedText, String>,
    /// The call that loads it.
    pub call: String,
    /// The lines above the text.
    pub front_matter: String,
    /// The skills whose texts come before its own, root first.
    pub chain: Vec<String>,
    /// Whether it takes texts from above, where there are any.
    pub inherits: bool,
    /// Skills directly below it.
    pub below: Vec<String>,
    /// How many more there are below.
    pub more_below: usize,
    /// Its files.
    pub files: Vec<FileRow>,
    /// How many more it has.
    pub more_files: usize,
    /// What is wrong with it.
    pub findings: Vec<FindingRow>,
    /// The name of its source.
    pub source: String,
    /// Where its file is in the source.
    pub file: String,
    /// The digest of its file.
    pub digest: String,
    /// When its file was last modified, in a directory.
    pub modified: Option<String>,
    /// The repository's commit, and those before it that this machine knows.
    pub history: Vec<CommitRow>,
    /// Skills that have its name, and are not served under it.
    pub shadows: Vec<ShadowRow>,
    /// How often it was served, and in how many days, where that is counted.
    pub served: Option<(u64, u64)>,
}

impl BrowsedSkill {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }

    /// Its name, and before it the folders that it is in.
    fn split_name(&self) -> (&str, &str) {
        let at = self.identity.rfind('/').map_or(0, |at| at + 1);
        self.identity.split_at(at)
    }

    fn is_composed(&self) -> bool {
        !self.chain.is_empty()
    }
}
