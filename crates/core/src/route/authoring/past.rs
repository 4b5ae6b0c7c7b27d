//! [`PastRequest`]: what was asked before, and which skill was loaded for it.

use std::collections::BTreeMap;

use crate::{
    catalog::{Catalog, SkillId},
    route::MAX_REQUEST_CHARS,
};

/// A request of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRequest {
    /// Its words.
    pub request: String,
    /// The skill that was loaded for it and not called useless, by its identity; none where none was.
    pub skill: Option<String>,
}

/// The requests that a skill was loaded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSkill {
    /// Which skill.
    pub skill: SkillId,
    /// Each request once, in the order of the history, and how often it came.
    pub requests: Vec<(String, usize)>,
}

impl PastSkill {
    /// The requests of a history by skill, in the order of the skills' numbers. Skills that are gone are left out.
    pub fn all(past: &[PastRequest], catalog: &Catalog) -> Vec<Self> {
        let mut by_skill: BTreeMap<SkillId, Self> = BTreeMap::new();
        for PastRequest { request, skill } in past {
            let Some(skill) = skill.as_deref().and_then(|skill| catalog.find(skill)) else {
                continue;
            };
            let words = request.split_whitespace().collect::<Vec<_>>().join(" ");
            let words: String = words.chars().take(MAX_REQUEST_CHARS).collect();
            if words.is_empty() {
                continue;
            }
            let known = by_skill
                .entry(skill.id)
                .or_insert_with(|| Self { skill: skill.id, requests: Vec::new() });
            match known.requests.iter_mut().find(|(known, _)| *known == words) {
                Some((_, count)) => *count += 1,
                None => known.requests.push((words, 1)),
            }
        }
        by_skill.into_values().collect()
    }
}
