//! The search page, from what `try` shows too.

use skills_page::{
    frame::PageGroup,
    search::{FoundSkills, KeywordRow, KeywordVerdict, RankedRow, SearchPage},
};

use super::PageSource;
use crate::surface::{ExplainedHit, ExplainedSearch};

/// So many skills are shown.
const MAX_SHOWN_HITS: usize = 10;

pub(super) fn search_page(source: &PageSource, request: String) -> SearchPage {
    let found = (!request.is_empty()).then(|| found(source, &request));
    SearchPage { frame: source.frame.at(PageGroup::Search), request, found }
}

fn found(source: &PageSource, request: &str) -> FoundSkills {
    let search = ExplainedSearch::of(&source.snapshot, request, MAX_SHOWN_HITS);
    let (decision, judgement) = (search.get_skill.sentence(), search.judgement());
    let keywords = search.get_skill.candidates.into_iter().map(|candidate| KeywordRow {
        identity: candidate.skill_path.to_owned(),
        score: candidate.score,
        keywords: candidate.matched_keywords,
    });
    FoundSkills {
        total: search.total,
        judgement,
        ranked: search.hits.into_iter().map(ranked).collect(),
        decision,
        verdict: match search.get_skill.keywords {
            "match" => KeywordVerdict::Match,
            "ambiguous" => KeywordVerdict::Ambiguous,
            _ => KeywordVerdict::NoMatch,
        },
        keywords: keywords.collect(),
    }
}

fn ranked(hit: ExplainedHit<'_>) -> RankedRow {
    RankedRow {
        identity: hit.identity.to_owned(),
        about: hit.about,
        score: hit.score,
        words: hit.words,
        name: hit.name,
        clauses: hit.clauses,
        coverage: hit.coverage,
        terms: hit.matched_terms,
        clause: hit.clause,
    }
}
