//! A search as an agent makes it, with why.

use askama::Template;

use crate::{format, frame::Frame};

/// A skill that the ranked search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankedRow {
    /// The skill.
    pub identity: String,
    /// The part of its description that a model is shown.
    pub about: String,
    /// The sum of the four that follow.
    pub score: f64,
    /// For words anywhere in it.
    pub words: f64,
    /// For its name.
    pub name: f64,
    /// For clauses of its description.
    pub clauses: f64,
    /// For how much of the request it has.
    pub coverage: f64,
    /// The words of the request that occur in it.
    pub terms: Vec<String>,
    /// The clause that fits best.
    pub clause: Option<String>,
}

/// A skill that the keyword formula names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeywordRow {
    /// The skill.
    pub identity: String,
    /// Its score.
    pub score: f64,
    /// Its keywords that matched.
    pub keywords: Vec<String>,
}

/// What the keyword formula decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeywordVerdict {
    /// One skill stands out.
    Match,
    /// The scores of several are too close.
    Ambiguous,
    /// None reaches the least score.
    #[default]
    NoMatch,
}

/// What a request finds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundSkills {
    /// How many the ranked search found.
    pub total: usize,
    /// How sure the ranked search is, in words.
    pub judgement: &'static str,
    /// The best of them.
    pub ranked: Vec<RankedRow>,
    /// The decision of `get_skill`, in a sentence.
    pub decision: String,
    /// What the keyword formula decides.
    pub verdict: KeywordVerdict,
    /// The skills that it decided among.
    pub keywords: Vec<KeywordRow>,
}

/// The search.
#[derive(Debug, Template)]
#[template(path = "search.html")]
pub struct SearchPage {
    /// The head.
    pub frame: Frame,
    /// The request.
    pub request: String,
    /// What it finds; none where nothing was asked.
    pub found: Option<FoundSkills>,
}

/// The most that the parts of a score can be together.
const MAX_RANKED_SCORE: f64 = 1.65;

impl RankedRow {
    /// Where the parts of the score are on a track, each with its beginning and its length.
    fn parts(&self) -> [(&'static str, String, String); 4] {
        let at = |score: f64| format!("{:.1}%", (score / MAX_RANKED_SCORE).clamp(0.0, 1.0) * 100.0);
        [
            ("words", at(0.0), at(self.words)),
            ("naming", at(self.words), at(self.name)),
            ("clauses", at(self.words + self.name), at(self.clauses)),
            ("covering", at(self.score - self.coverage), at(self.coverage)),
        ]
    }
}

impl SearchPage {
    /// The page.
    pub fn html(&self) -> askama::Result<String> {
        self.render()
    }
}
