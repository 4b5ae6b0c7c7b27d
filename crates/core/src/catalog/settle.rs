//! Who has which name: what each skill is called, and what is in the shadow of what.
//!
//! A pure question about the skills that share a name, whatever came first in time; so one that changes settles anew
//! only those it shares a name with. The first in the order of precedence wins.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{Catalog, Kind, Skill, SkillId, lookup::folded, skill::Standing};
use crate::diagnostic::{Code, Finding};

/// Who has a bundle's name, remembered while a catalog is settled: many bundles may want the same.
#[derive(Default)]
pub(super) struct Holders(HashMap<String, Option<SkillId>>);

impl Catalog {
    /// Every skill whose standing may be another once these have changed, which are given as they were and as they
    /// are. Whether a bundle is served depends on those that want its name; what a skill is called depends on which
    /// of those that share its path are served.
    pub(super) fn unsettled(&self, changed: &[Arc<Skill>]) -> BTreeSet<SkillId> {
        let bundles = changed.iter().filter(|skill| skill.kind == Kind::Bundle);
        let labels: BTreeSet<String> = bundles.map(|skill| folded(&skill.wanted)).collect();
        let rivals = labels.iter().flat_map(|label| self.sharing(label));
        let mut hashes = BTreeSet::new();
        for skill in rivals.chain(changed) {
            hashes.extend(self.names_of(skill));
        }
        hashes.iter().flat_map(|hash| self.hashed(*hash)).map(|skill| skill.id).collect()
    }

    /// The skill with its names and its standing.
    pub(super) fn settled(&self, skill: &Skill, holders: &mut Holders) -> Skill {
        let mut settled = skill.clone();
        let (identity, label, standing) = match skill.kind {
            Kind::Tree => self.settled_tree(skill, holders),
            Kind::Bundle => self.settled_bundle(skill, holders),
        };
        // The same text twice is two texts in memory.
        settled.label = if label == identity { Arc::clone(&identity) } else { label };
        settled.identity = identity;
        settled.standing = standing;
        settled
    }

    fn settled_tree(&self, skill: &Skill, holders: &mut Holders) -> (Arc<str>, Arc<str>, Standing) {
        let served = Standing { served: true, ..Standing::default() };
        let Some(winner) = self.path_holder(skill, holders) else {
            let identity = skill.path.shared();
            return (Arc::clone(identity), Arc::clone(identity), served);
        };
        let qualified: Arc<str> = self.qualified(skill).into();
        let message = format!("a source named earlier has `{}` too", skill.path);
        let finding = Finding::whole(Code::PathShadowed, message)
            .hint(format!("this one loads as `{qualified}`"));
        let standing = Standing { winner: Some(winner), finding: Some(finding), ..served };
        (Arc::clone(&qualified), qualified, standing)
    }

    fn settled_bundle(
        &self,
        skill: &Skill,
        holders: &mut Holders,
    ) -> (Arc<str>, Arc<str>, Standing) {
        let wanted = || Arc::clone(&skill.wanted);
        let identity: Arc<str> = if !self.is_named(skill) {
            wanted()
        } else if self.path_holder(skill, holders).is_none() {
            Arc::clone(skill.path.shared())
        } else {
            self.qualified(skill).into()
        };
        let Some(held) = self.rival(skill, holders) else {
            let standing = Standing { served: true, ..Standing::default() };
            return (identity, wanted(), standing);
        };
        let identical = is_copy(skill, held);
        let served = !identical && self.is_named(skill);
        let winner = Some(held.id);
        let mut standing = Standing { winner, served, identical, finding: None };
        if !served {
            if !identical {
                let place = self.source_name(held);
                let message =
                    format!("`{}` of {place} ({}) is served instead", skill.wanted, held.file);
                let finding = Finding::whole(Code::BundleShadowed, message);
                standing.finding = Some(finding.hint("rename one of the two, or remove one"));
            }
            return (identity, wanted(), standing);
        }
        // Its folder may be what yet another one is called.
        let label: Arc<str> = if self.wanting(&folded(&identity)).next().is_some() {
            self.qualified(skill).into()
        } else {
            Arc::clone(&identity)
        };
        let message = format!("another bundle is called `{}` too", skill.wanted);
        let finding = Finding::whole(Code::NameTaken, message);
        let hint = format!("this one loads as `{label}`; rename one of the two");
        standing.finding = Some(finding.hint(hint));
        (identity, label, standing)
    }

    /// The first bundle that wants the name this one wants, unless it is this one.
    fn rival(&self, skill: &Skill, holders: &mut Holders) -> Option<&Arc<Skill>> {
        let label = folded(&skill.wanted);
        let known = holders.0.get(&label).copied();
        let first = known.unwrap_or_else(|| {
            let first = self.wanting(&label).min_by(|a, b| a.place().cmp(&b.place()));
            first.map(|skill| skill.id)
        });
        if known.is_none() {
            holders.0.insert(label, first);
        }
        self.numbered(first.filter(|first| *first != skill.id)?)
    }

    /// The bundles that want this name.
    fn wanting(&self, label: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.sharing(label)
            .filter(move |other| other.kind == Kind::Bundle && folded(&other.wanted) == label)
    }

    /// The first skill before this one that has its path, as a path or as a folder. Labels are looked for later, and
    /// take no path from anybody.
    fn path_holder(&self, skill: &Skill, holders: &mut Holders) -> Option<SkillId> {
        let path = skill.path.as_str();
        let mut first: Option<(&Arc<Skill>, SkillId)> = None;
        for other in self.sharing(&folded(path)) {
            let earlier = other.place() < first.map_or(skill.place(), |(first, _)| first.place());
            if let Some(served) = self.served_at(other, path, holders).filter(|_| earlier) {
                first = Some((other, served));
            }
        }
        first.map(|(_, served)| served)
    }

    /// What is served at a path because of this skill: itself, or what it is a copy of.
    fn served_at(&self, skill: &Skill, path: &str, holders: &mut Holders) -> Option<SkillId> {
        let own = skill.path.as_str() == path;
        let has = |named: bool| (own && named) || self.qualified(skill) == path;
        if skill.kind == Kind::Tree {
            return has(true).then_some(skill.id);
        }
        let named = self.is_named(skill);
        match self.rival(skill, holders) {
            // A copy's folder leads to what is served instead of it.
            Some(rival) if is_copy(skill, rival) => (own && named).then_some(rival.id),
            Some(_) if !named => None,
            Some(_) | None => has(named).then_some(skill.id),
        }
    }
}

/// Whether two bundles are the same to the byte.
fn is_copy(a: &Skill, b: &Skill) -> bool {
    a.document().digest() == b.document().digest()
}
