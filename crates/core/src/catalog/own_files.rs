//! Which files belong to a skill: those of its folder, without what is another's.
//!
//! Everything below a bundle's folder belongs to it, with two exceptions. A bundle at the top of a source takes nothing from the
//! skills beside it, and a bundle has no file of another that its caller may not see. A skill that cannot be read because of a
//! mistake in it keeps its files: the mistake must not show them to others. Every list of a skill's files comes from here. Not
//! here: which of a tree skill's files are served (those that it declares).

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use super::{
    Catalog, FileEntry, Folder, Skill, SkillKind, layout::Role, path::INDEX, skill::ByPlace,
};
use crate::{relpath::RelPath, sorted::Sorted};

/// Files at the top of a source that are the source's own, whatever skill is there.
const SETTINGS_FILES: [&str; 2] = ["config.yaml", "routing.yaml"];

/// Where authors keep the requests that they test a bundle with.
static EVAL_FILES: LazyLock<Vec<RelPath>> = LazyLock::new(|| {
    let files = ["evals/evals.json", "trigger-eval.json", "trigger-evals.json"];
    files.into_iter().filter_map(|file| RelPath::parse(file).ok()).collect()
});

/// The files of a bundle's folder with the requests that its author tests it with.
pub(super) fn evals(folder: &Folder) -> Vec<(RelPath, FileEntry)> {
    let listed = |file: &RelPath| Some((file.clone(), folder.file(file)?));
    EVAL_FILES.iter().filter_map(listed).collect()
}

impl Catalog {
    /// The folder of a skill's own files.
    pub fn files(&self, skill: &Skill) -> Option<&Folder> {
        let folder = skill.resources.as_ref()?;
        if skill.kind == SkillKind::Bundle
            && let Some(own) = self.own_folders.get(&(skill.source, folder.clone()))
        {
            return Some(own);
        }
        self.listed(skill.source, folder)
    }

    /// A folder of a source as it was listed, whatever belongs to whom.
    fn listed(&self, source: usize, folder: &RelPath) -> Option<&Folder> {
        self.sources.get(source)?.root.folder(folder)
    }

    /// Notes what belongs to the bundle at the top of a source, if there is one.
    pub(super) fn update_top(&mut self, source: usize) {
        let top = (source, RelPath::root());
        self.own_folders.remove(&top);
        let Some(bundle) = self.skill_by_place((source, SkillKind::Bundle, top.1.as_str())) else {
            return;
        };
        let of_source = self.by_place.matching(|other| other.0.source.cmp(&source));
        let others = of_source.map(|other| &*other.0).filter(|other| other.id != bundle.id);
        let skills =
            others.map(|it| self.places_of(source, it.kind, &it.file, it.resources.clone()));
        let broken = self.broken_skills(source).filter(|(_, _, folder)| !folder.is_root());
        let broken = broken.map(|(kind, file, folder)| {
            let folder = Some(folder).filter(|folder| self.listed(source, folder).is_some());
            self.places_of(source, kind, file, folder)
        });
        let settings = SETTINGS_FILES.iter().filter_map(|name| RelPath::parse(name).ok());
        let left_out: HashSet<RelPath> = skills.chain(broken).flatten().chain(settings).collect();
        if let Some(own) =
            self.listed(source, &top.1).map(|folder| Arc::new(folder.without(&left_out)))
        {
            self.own_folders.insert(top, own);
        }
    }

    /// The files of a source that were meant as skills and give none: kind, file, and the folder that is theirs.
    fn broken_skills(&self, source: usize) -> impl Iterator<Item = (SkillKind, &RelPath, RelPath)> {
        let held = self.sources.get(source).into_iter().flat_map(|source| source.held.iter());
        held.filter(|held| held.is_broken_skill()).filter_map(|held| {
            let (file, folder) = (&held.file, held.file.folder());
            if held.role == Some(Role::Bundle) {
                return Some((SkillKind::Bundle, file, folder));
            }
            let name = file.name().rsplit_once('.').map_or(file.name(), |(name, _)| name);
            Some((SkillKind::Tree, file, folder.child(name).ok()?))
        })
    }

    /// The files and folders that are a skill's alone.
    fn places_of(
        &self,
        source: usize,
        kind: SkillKind,
        file: &RelPath,
        folder: Option<RelPath>,
    ) -> Vec<RelPath> {
        if kind == SkillKind::Bundle {
            return folder.into_iter().collect();
        }
        let is_category = |folder: &RelPath| {
            let listed = self.listed(source, folder);
            listed.is_some_and(|folder| folder.own_file(&format!("{INDEX}.md")).is_some())
        };
        let resources = match folder {
            Some(folder) if is_category(&folder) => ["assets", "scripts"]
                .into_iter()
                .filter_map(|name| folder.child(name).ok())
                .collect(),
            folder => folder.into_iter().collect::<Vec<RelPath>>(),
        };
        std::iter::once(file.clone()).chain(resources).collect()
    }

    /// Takes out of the folders of these skills, which are all that a caller may see, what belongs to bundles of `all` that the
    /// caller may not see.
    pub(super) fn leave_out_hidden(&mut self, all: &Self, allowed: &[Arc<Skill>]) {
        for skill in allowed.iter().filter(|skill| skill.kind == SkillKind::Bundle) {
            let Some(folder) = &skill.resources else { continue };
            let own = if folder.is_root() {
                all.own_folders.get(&(skill.source, folder.clone())).cloned()
            } else {
                let unseen = bundles_below(&all.by_place, skill.source, folder)
                    .filter(|below| self.skill_by_id(below.id).is_none())
                    .filter_map(|below| below.resources.as_ref()?.below(folder));
                let broken = all
                    .broken_skills(skill.source)
                    .filter(|(kind, _, below)| *kind == SkillKind::Bundle && below != folder)
                    .filter_map(|(_, _, below)| below.below(folder));
                let hidden: HashSet<RelPath> = unseen.chain(broken).collect();
                let listed = self.listed(skill.source, folder).filter(|_| !hidden.is_empty());
                listed.map(|folder| Arc::new(folder.without(&hidden)))
            };
            if let Some(own) = own {
                self.own_folders.insert((skill.source, folder.clone()), own);
            }
        }
    }
}

/// The bundles of a source in folders below this one.
fn bundles_below<'a>(
    all: &'a Sorted<ByPlace>,
    source: usize,
    folder: &RelPath,
) -> impl Iterator<Item = &'a Skill> {
    let start = format!("{folder}/");
    let below = all.matching(move |other| {
        let (other_source, kind, place) = other.0.place();
        let by_kind = (other_source, kind).cmp(&(source, SkillKind::Bundle));
        by_kind.then_with(|| {
            if place.starts_with(&start) { std::cmp::Ordering::Equal } else { place.cmp(&start) }
        })
    });
    below.map(|other| &*other.0)
}
