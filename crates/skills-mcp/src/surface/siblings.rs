//! [`Siblings`]: the families of some skills with the words that tell their members apart (FAMILY-1).
//!
//! Not here: which skills are siblings (core), and how a tool shows them.

use skills_core::{
    catalog::SkillId,
    route::{
        Candidate,
        ranked::{Family, SearchHit},
    },
};

use super::listing::one_line;
use crate::store::{Snapshot, clause_of};

/// Skills, best first, by family.
#[derive(Debug)]
pub struct Siblings(Vec<Sibling>);

/// A skill that a list shows, and those that say nearly the same.
#[derive(Debug)]
pub struct Sibling {
    /// Its place among the skills.
    pub place: usize,
    /// Whether it is the first of its family; the others follow it.
    pub is_first: bool,
    /// The clauses that the other members do not have; none where there is no other member, or nothing of its own.
    pub differs_by: Option<String>,
    /// The places of those that say nearly the same.
    pub duplicates: Vec<usize>,
}

impl Siblings {
    /// The families of a search's hits.
    pub fn of_hits(snapshot: &Snapshot, hits: &[SearchHit]) -> Self {
        let entries: Vec<usize> = hits.iter().map(|hit| hit.entry).collect();
        Self::of(snapshot, &entries, snapshot.families(&entries))
    }

    /// The families of candidates, each of which is shown.
    pub fn of_candidates(snapshot: &Snapshot, candidates: &[Candidate]) -> Self {
        let entries: Vec<usize> = candidates.iter().map(|one| one.hit.skill.index()).collect();
        Self::of(snapshot, &entries, snapshot.whole_families(&entries))
    }

    fn of(snapshot: &Snapshot, entries: &[usize], families: Vec<Family>) -> Self {
        let mut siblings = Vec::with_capacity(entries.len());
        for family in families {
            for (number, member) in family.members.into_iter().enumerate() {
                let skill = entries.get(member.place).map(|entry| SkillId::at(*entry));
                let skill = skill.and_then(|id| snapshot.catalog.skill(id));
                let clause = |number: &usize| clause_of(skill?, *number);
                let clauses: Vec<String> = member.telling.iter().filter_map(clause).collect();
                siblings.push(Sibling {
                    place: member.place,
                    is_first: number == 0,
                    differs_by: (!clauses.is_empty()).then(|| one_line(&clauses.join("; "))),
                    duplicates: member.duplicates,
                });
            }
        }
        Self(siblings)
    }

    /// Whether any two stand together.
    pub fn has_families(&self) -> bool {
        self.0.iter().any(|sibling| !sibling.is_first)
    }

    /// Every skill but the near duplicates, families together, in the order of their first ones.
    pub fn members(&self) -> impl Iterator<Item = &Sibling> {
        self.0.iter()
    }

    /// Every skill but the near duplicates, in the order of the skills.
    pub fn by_place(&self) -> Vec<&Sibling> {
        let mut all: Vec<&Sibling> = self.0.iter().collect();
        all.sort_by_key(|sibling| sibling.place);
        all
    }
}
