//! The ranked search over a catalog: what a skill offers to be found by, which skills a request excludes, and in which order equals
//! come.

use super::{
    Exclusions,
    ranked::{RankedIndex, Ranking, SearchScope, SearchText},
};
use crate::catalog::{Catalog, Skill, SkillId, SkillKind};

/// Finds the skills of a catalog that a request most likely means, but for those that it excludes by name. What is as good as
/// another goes by its place.
pub fn search(catalog: &Catalog, index: &RankedIndex, request: &str, limit: usize) -> Ranking {
    let exclusions = Exclusions::new(request);
    let skill = |entry| catalog.skill(SkillId::at(entry));
    let place = |entry| skill(entry).map(|skill| (skill.source, skill.kind, skill.path.as_str()));
    let scope = SearchScope {
        has: &|entry| skill(entry).is_some_and(|skill| !exclusions.has(own_name(skill))),
        order: &|a, b| place(a).cmp(&place(b)),
    };
    index.search_in(request, limit, scope)
}

/// Its author's clauses: triggers, examples, keywords.
pub fn clauses(skill: &Skill) -> Vec<String> {
    let fields = skill.fields();
    fields.phrases.iter().chain(&fields.keywords).cloned().collect()
}

/// A skill with these clauses as the ranked search takes it, without its body.
pub fn search_text<'a>(skill: &'a Skill, clauses: &'a [String]) -> SearchText<'a> {
    let name = match skill.kind {
        SkillKind::Bundle => own_name(skill),
        SkillKind::Tree => &skill.identity,
    };
    SearchText { name, description: &skill.fields().description, body: "", clauses }
}

/// The name of a skill without what stands before it: a bundle's name, the last part of a tree skill's path.
pub fn own_name(skill: &Skill) -> &str {
    let bundle = || skill.fields().name.as_deref().filter(|_| skill.kind == SkillKind::Bundle);
    bundle().unwrap_or(skill.path.name())
}
