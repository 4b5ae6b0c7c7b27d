//! Which skill gets which name, and which skills are shadowed by another.
//!
//! The result depends only on the skills that share a name, not on the order of changes; so a changed skill affects
//! only those it shares a name with. The first in the order of precedence wins.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    Catalog, Skill, SkillId, SkillKind, layout::SKILLS_FOLDER, name::folded, skill::NameStatus,
};
use crate::diagnostic::{Code, Finding};

/// Which skill has a bundle's name, cached while names are resolved: many bundles may claim the same.
#[derive(Default)]
pub(super) struct NameHolders(HashMap<String, Option<SkillId>>);

impl Catalog {
    /// Every skill whose names may change because of these skills, which are given as they were and as they are.
    /// Whether a bundle is served depends on those that claim its name; what a skill is called depends on which
    /// of those that share its path are served.
    pub(super) fn affected_by(&self, changed: &[Arc<Skill>]) -> BTreeSet<SkillId> {
        let bundles = changed.iter().filter(|skill| skill.kind == SkillKind::Bundle);
        let labels: BTreeSet<String> = bundles.map(|skill| folded(&skill.wanted)).collect();
        let rivals = labels.iter().flat_map(|label| self.sharing(label));
        let mut hashes = BTreeSet::new();
        for skill in rivals.chain(changed) {
            hashes.extend(self.names_of(skill));
        }
        hashes.iter().flat_map(|hash| self.hashed(*hash)).map(|skill| skill.id).collect()
    }

    /// The skill with its names and its status resolved.
    pub(super) fn with_names(&self, skill: &Skill, holders: &mut NameHolders) -> Skill {
        let mut resolved = skill.clone();
        let (identity, label, name_status) = match skill.kind {
            SkillKind::Tree => self.tree_names(skill, holders),
            SkillKind::Bundle => self.bundle_names(skill, holders),
        };
        // Two equal names share one allocation.
        resolved.label = if label == identity { Arc::clone(&identity) } else { label };
        resolved.identity = identity;
        resolved.name_status = name_status;
        resolved
    }

    fn tree_names(
        &self,
        skill: &Skill,
        holders: &mut NameHolders,
    ) -> (Arc<str>, Arc<str>, NameStatus) {
        let served = NameStatus { served: true, ..NameStatus::default() };
        let Some(winner) = self.path_holder(skill, holders) else {
            let identity = skill.path.shared();
            return (Arc::clone(identity), Arc::clone(identity), served);
        };
        let qualified: Arc<str> = self.qualified(skill).into();
        let message = if self.named_by_path(skill).is_some() {
            format!("`{}` names a skill of a plugin or of another source", skill.path)
        } else {
            format!("a source named earlier has `{}` too", skill.path)
        };
        let finding = Finding::whole(Code::PathShadowed, message)
            .hint(format!("this one loads as `{qualified}`"));
        let name_status = NameStatus { winner: Some(winner), finding: Some(finding), ..served };
        (Arc::clone(&qualified), qualified, name_status)
    }

    fn bundle_names(
        &self,
        skill: &Skill,
        holders: &mut NameHolders,
    ) -> (Arc<str>, Arc<str>, NameStatus) {
        let wanted = || Arc::clone(&skill.wanted);
        let identity: Arc<str> = if !self.is_named(skill) {
            wanted()
        } else if self.path_holder(skill, holders).is_none() {
            Arc::clone(skill.path.shared())
        } else {
            self.qualified(skill).into()
        };
        let Some(held) = self.rival(skill, holders) else {
            let name_status = NameStatus { served: true, ..NameStatus::default() };
            return (identity, wanted(), name_status);
        };
        let identical = is_copy(skill, held);
        let served = !identical && self.is_named(skill) && !is_elsewhere(skill, held);
        let winner = Some(held.id);
        let mut name_status = NameStatus { winner, served, identical, finding: None };
        if !served {
            if !identical {
                let place = self.source_name(held);
                let message =
                    format!("`{}` of {place} ({}) is served instead", skill.wanted, held.file);
                name_status.finding = Some(if is_elsewhere(skill, held) {
                    Finding::whole(Code::BundleElsewhere, message)
                        .hint("rename it if it is another skill, and no copy or translation")
                } else {
                    Finding::whole(Code::BundleShadowed, message)
                        .hint("rename one of the two, or remove one")
                });
            }
            return (identity, wanted(), name_status);
        }
        // Its folder may be the name of yet another bundle.
        let label: Arc<str> = if self.claiming(&folded(&identity)).next().is_some() {
            self.qualified(skill).into()
        } else {
            Arc::clone(&identity)
        };
        let message = format!("another bundle is called `{}` too", skill.wanted);
        let finding = Finding::whole(Code::NameTaken, message);
        let hint = format!("this one loads as `{label}`; rename one of the two");
        name_status.finding = Some(finding.hint(hint));
        (identity, label, name_status)
    }

    /// The first bundle that claims the same name, unless it is this one.
    fn rival(&self, skill: &Skill, holders: &mut NameHolders) -> Option<&Arc<Skill>> {
        let label = folded(&skill.wanted);
        let known = holders.0.get(&label).copied();
        let first = known.unwrap_or_else(|| {
            let first = self.claiming(&label).min_by(|a, b| rank(a).cmp(&rank(b)));
            first.map(|skill| skill.id)
        });
        if known.is_none() {
            holders.0.insert(label, first);
        }
        self.skill_by_id(first.filter(|first| *first != skill.id)?)
    }

    /// The bundles that claim this name.
    fn claiming(&self, label: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.sharing(label)
            .filter(move |other| other.kind == SkillKind::Bundle && folded(&other.wanted) == label)
    }

    /// The first skill before this one that has its path, as a path or as a folder. Labels are looked up later and
    /// never take a path from another skill, but for one with a colon.
    fn path_holder(&self, skill: &Skill, holders: &mut NameHolders) -> Option<SkillId> {
        if let Some(named) = self.named_by_path(skill) {
            return Some(named);
        }
        let path = skill.path.as_str();
        let mut first: Option<(&Arc<Skill>, SkillId)> = None;
        for other in self.sharing(&folded(path)) {
            let is_earlier =
                other.place() < first.map_or(skill.place(), |(first, _)| first.place());
            if is_earlier && let Some(served) = self.served_at(other, path, holders) {
                first = Some((other, served));
            }
        }
        first.map(|(_, served)| served)
    }

    /// The skill of a plugin or of another source, wherever that stands, whose whole name is this skill's path. Both names have a
    /// colon, and content must not take them by a file of that name.
    fn named_by_path(&self, skill: &Skill) -> Option<SkillId> {
        let path = skill.path.as_str();
        if !path.contains(':') {
            return None;
        }
        let path = folded(path);
        let is_named = |other: &&Arc<Skill>| {
            let is_plugins = self.is_plugin(other) && folded(&other.wanted) == path;
            is_plugins || (other.source != skill.source && folded(&self.qualified(other)) == path)
        };
        let named = self.sharing(&path).filter(is_named);
        named.min_by(|a, b| a.place().cmp(&b.place())).map(|other| other.id)
    }

    /// What is served at a path because of this skill: itself, or what it is a copy of.
    fn served_at(&self, skill: &Skill, path: &str, holders: &mut NameHolders) -> Option<SkillId> {
        let own = skill.path.as_str() == path;
        let has = |named: bool| (own && named) || self.qualified(skill) == path;
        if skill.kind == SkillKind::Tree {
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

/// The order in which bundles of one name take it: by source, then where skills are known to lie, then the shallower folder, then
/// by path. A visible folder comes before one that begins with a dot.
fn rank(skill: &Skill) -> (usize, (bool, bool), usize, &str) {
    let (source, _, folder) = skill.place();
    (source, distance(folder), folder.split('/').count(), folder)
}

/// Whether a bundle's folder is outside the top `skills`, and whether it is in a folder that begins with a dot.
fn distance(folder: &str) -> (bool, bool) {
    let is_content = folder.split('/').next() == Some(SKILLS_FOLDER);
    let is_dotted = folder.split('/').any(|name| name.starts_with('.'));
    (!is_content, is_dotted)
}

/// Whether a bundle lies elsewhere than the one of its source that has its name: a copy for another client, or a translation.
fn is_elsewhere(skill: &Skill, held: &Skill) -> bool {
    let ((is_outside, is_dotted), (holder_is_outside, _)) =
        (distance(skill.place().2), distance(held.place().2));
    skill.source == held.source && (is_dotted || is_outside && !holder_is_outside)
}

/// Whether two bundles are the same to the byte.
fn is_copy(a: &Skill, b: &Skill) -> bool {
    a.document().digest() == b.document().digest()
}
