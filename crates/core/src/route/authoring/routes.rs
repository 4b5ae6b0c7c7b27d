//! [`Routes`]: what requests find over one catalog, also with edits that were not saved.

use std::sync::Arc;

use crate::{
    catalog::{Catalog, Skill, SkillId},
    route::{
        Matching, RouteVerdict, Router, clauses,
        ranked::{RankedIndex, Ranking, SearchEntry, SearchText, Tokenizer},
        search, search_text,
    },
};

/// A catalog with its indexes. A changed copy shares all that did not change.
#[derive(Debug, Clone)]
pub struct Routes<'a> {
    pub(super) catalog: &'a Catalog,
    router: Router,
    ranked: RankedIndex,
    matching: Matching,
}

/// Words that are added to the front matter of a skill, or taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatterEdit {
    /// Which skill.
    pub skill: SkillId,
    /// Phrases for `triggers`.
    pub triggers: Vec<String>,
    /// Words for `keywords`.
    pub keywords: Vec<String>,
    /// Words that `keywords` loses.
    pub without_keywords: Vec<String>,
}

impl FrontMatterEdit {
    /// No edit of this skill yet.
    pub fn of(skill: SkillId) -> Self {
        Self { skill, triggers: Vec::new(), keywords: Vec::new(), without_keywords: Vec::new() }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.triggers.is_empty() && self.keywords.is_empty() && self.without_keywords.is_empty()
    }
}

/// What a request finds.
#[derive(Debug, Clone)]
pub struct RoutedRequest {
    /// The skill whose path the request is.
    pub at_path: Option<SkillId>,
    /// What the keyword formula says.
    pub verdict: RouteVerdict,
    /// What the ranked search finds.
    pub ranking: Ranking,
}

impl RoutedRequest {
    /// The skill that `get_skill` loads.
    pub fn decided(&self) -> Option<SkillId> {
        self.at_path.or(match &self.verdict {
            RouteVerdict::Match(hit) => Some(hit.skill),
            RouteVerdict::NoMatch { .. } | RouteVerdict::Ambiguous(_) => None,
        })
    }

    /// Whether the keyword formula offers several.
    pub fn is_ambiguous(&self) -> bool {
        self.at_path.is_none() && matches!(self.verdict, RouteVerdict::Ambiguous(_))
    }

    /// The skills that an agent gets to see, best first: the one that is decided for, else the candidates, else what the
    /// ranked search finds.
    pub fn shown(&self) -> Vec<SkillId> {
        match (self.decided(), &self.verdict) {
            (Some(skill), _) => vec![skill],
            (None, RouteVerdict::Ambiguous(hits)) => hits.iter().map(|hit| hit.skill).collect(),
            (None, RouteVerdict::NoMatch { .. } | RouteVerdict::Match(_)) => {
                self.ranked().collect()
            }
        }
    }

    /// The hits of the ranked search, best first.
    pub fn ranked(&self) -> impl Iterator<Item = SkillId> {
        self.ranking.hits.iter().map(|hit| SkillId::at(hit.entry))
    }

    /// The place of a skill in the ranked search, from 1.
    pub fn ranked_place(&self, skill: SkillId) -> Option<usize> {
        self.ranked().position(|found| found == skill).map(|place| place + 1)
    }
}

impl<'a> Routes<'a> {
    /// Over a catalog and its indexes.
    pub fn new(
        catalog: &'a Catalog,
        router: Router,
        ranked: RankedIndex,
        matching: Matching,
    ) -> Self {
        Self { catalog, router, ranked, matching }
    }

    /// The catalog.
    pub fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// What a request finds, with at most so many hits of the ranked search.
    pub fn route(&self, request: &str, limit: usize) -> RoutedRequest {
        RoutedRequest {
            at_path: self.catalog.at_path(request).map(|skill| skill.id),
            verdict: self.verdict(request),
            ranking: search(self.catalog, &self.ranked, request, limit),
        }
    }

    /// What the keyword formula makes of a request.
    pub(super) fn verdict(&self, request: &str) -> RouteVerdict {
        self.router.route(self.catalog, request, &self.matching)
    }

    /// How many skills have a word.
    pub(super) fn skills_with(&self, word: &str) -> usize {
        self.ranked.skills_with(word)
    }

    /// The same routes as if this edit were saved; `body` is what the skill says.
    #[must_use]
    pub fn with(&self, edit: &FrontMatterEdit, body: &str) -> Self {
        let Some(skill) = self.catalog.skill(edit.skill) else { return self.clone() };
        let mut router = self.router.clone();
        if !edit.keywords.is_empty() || !edit.without_keywords.is_empty() {
            router = router.with_keywords(skill, &edit.keywords_of(skill));
        }
        let words = edit.clauses_of(skill);
        let text = SearchText { body, ..search_text(skill, &words) };
        let entry = SearchEntry::read(&text, &mut Tokenizer::new());
        let ranked = self.ranked.with([(skill.id.index(), Some(Arc::new(entry)))]);
        Self { catalog: self.catalog, router, ranked, matching: self.matching }
    }

    /// The same with many edits, exactly as if all were saved.
    #[must_use]
    pub fn with_all<'e>(
        &self,
        edits: impl IntoIterator<Item = (&'e FrontMatterEdit, String)>,
    ) -> Self {
        let mut routes = self.clone();
        for (edit, body) in edits {
            routes = routes.with(edit, &body);
        }
        routes.ranked = routes.ranked.merged();
        routes
    }
}

impl FrontMatterEdit {
    /// The keywords of a skill after the edit.
    fn keywords_of(&self, skill: &Skill) -> Vec<String> {
        let kept =
            skill.fields().keywords.iter().filter(|word| !self.without_keywords.contains(word));
        kept.chain(&self.keywords).cloned().collect()
    }

    /// The clauses of a skill after the edit.
    fn clauses_of(&self, skill: &Skill) -> Vec<String> {
        let phrases = skill.fields().phrases.iter().chain(&self.triggers).cloned();
        if self.keywords.is_empty() && self.without_keywords.is_empty() {
            let mut words = clauses(skill);
            words.extend(self.triggers.iter().cloned());
            return words;
        }
        phrases.chain(self.keywords_of(skill)).collect()
    }
}
