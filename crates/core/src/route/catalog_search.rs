//! The ranked search over a catalog: what a skill offers to be found by, and in which order equals come.

use super::ranked::{RankedIndex, Ranking, SearchHit, SearchText};
use crate::catalog::{Catalog, Skill, SkillId, SkillKind};

/// The skills of a catalog that a request most likely means. What is as good as another goes by its place.
pub fn search(catalog: &Catalog, index: &RankedIndex, request: &str, limit: usize) -> Ranking {
    let mut ranking = index.search(request, limit);
    ranking.order_ties(|hit: &SearchHit| {
        let skill = catalog.skill(SkillId::at(hit.entry));
        skill.map(|skill| (skill.source, skill.kind, skill.path.as_str()))
    });
    ranking
}

/// Its author's clauses: triggers, examples, keywords.
pub fn clauses(skill: &Skill) -> Vec<String> {
    let fields = skill.fields();
    fields.phrases.iter().chain(&fields.keywords).cloned().collect()
}

/// A skill with these clauses as the ranked search takes it, without its body.
pub fn search_text<'a>(skill: &'a Skill, clauses: &'a [String]) -> SearchText<'a> {
    let fields = skill.fields();
    let name = match skill.kind {
        SkillKind::Bundle => fields.name.as_deref().unwrap_or(skill.path.name()),
        SkillKind::Tree => &skill.identity,
    };
    SearchText { name, description: &fields.description, body: "", clauses }
}
