//! A name somebody asked for → one skill. Names are looked up, never joined to a path.

use std::{collections::HashMap, sync::Arc};

use super::{Catalog, Skill, SkillId};
use crate::diagnostic::one_line;

/// What a skill can be asked for by, in the order in which it is looked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Tree paths, and `source:path`.
    pub(super) paths: Table,
    /// Bundles' folders, and `source:folder`.
    pub(super) folders: Table,
    /// Bundles' labels.
    pub(super) labels: Table,
    /// Plugin bundles by the name behind the colon, lower-cased.
    pub(super) short: HashMap<String, Vec<SkillId>>,
}

/// Names by their exact spelling and by what a reader sees of them, whatever the case; of two that look the same, the
/// first counts.
#[derive(Debug, Default)]
pub(super) struct Table {
    exact: HashMap<Arc<str>, SkillId>,
    folded: HashMap<String, SkillId>,
}

impl Table {
    /// Claims a name; `false` where it is taken.
    pub(super) fn claim(&mut self, name: &Arc<str>, id: SkillId) -> bool {
        if self.exact.contains_key(name) {
            return false;
        }
        self.exact.insert(Arc::clone(name), id);
        self.folded.entry(name.to_lowercase()).or_insert(id);
        // Listings show one line of visible text, and what they show must load.
        self.folded.entry(one_line(name).to_lowercase()).or_insert(id);
        true
    }

    /// Whether somebody has exactly this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.exact.contains_key(name)
    }

    /// Who has these letters, in whatever case.
    pub(super) fn holder(&self, name: &str) -> Option<SkillId> {
        self.folded.get(&name.to_lowercase()).copied()
    }
}

impl Names {
    fn tables(&self) -> [&Table; 3] {
        [&self.paths, &self.folders, &self.labels]
    }

    /// Who has this path, as a tree skill or as a bundle's folder. Labels are looked for later, and take no path from
    /// anybody.
    pub(super) fn find_path(&self, path: &str) -> Option<SkillId> {
        self.paths.exact.get(path).or_else(|| self.folders.exact.get(path)).copied()
    }
}

/// What a name comes to in the `skill` tool.
#[derive(Debug)]
pub enum Named<'a> {
    /// One skill.
    One(&'a Skill),
    /// A short name that several plugins have.
    Several(Vec<&'a Skill>),
    /// None.
    Nobody,
}

impl Catalog {
    /// The skill of this name, wherever a `skill_path` is taken: a tree path, a category's path without `/_index`,
    /// a bundle's folder, a bundle's name. `source:` may stand before it, `.md` behind it. Exact case wins over the
    /// same letters in another case.
    pub fn find(&self, asked: &str) -> Option<&Skill> {
        let trimmed = asked.trim().trim_end_matches('/');
        let bare = trimmed.strip_suffix(".md").unwrap_or(trimmed);
        let index = format!("{bare}/_index");
        // As it stands first: a file may be called `a.md.md`, or have blanks in its name.
        let names = [asked, trimmed, bare, &index];
        let tables = self.names.tables();
        let exact =
            tables.iter().find_map(|table| names.iter().find_map(|name| table.exact.get(*name)));
        let folded = || {
            tables.iter().find_map(|table| {
                names.iter().find_map(|name| table.folded.get(&name.to_lowercase()))
            })
        };
        if let Some(id) = exact.or_else(folded) {
            return self.skill(*id);
        }
        match self.by_short_name(asked) {
            Named::One(skill) => Some(skill),
            Named::Several(_) | Named::Nobody => None,
        }
    }

    /// The skill the `skill` tool loads by this name. A full name always wins over a short one.
    pub fn named(&self, asked: &str) -> Named<'_> {
        let asked = asked.trim();
        let labels = &self.names.labels;
        let label = labels.exact.get(asked).or_else(|| labels.folded.get(&asked.to_lowercase()));
        match label.and_then(|id| self.skill(*id)) {
            Some(skill) => Named::One(skill),
            None => match self.by_short_name(asked) {
                Named::Nobody => self.find(asked).map_or(Named::Nobody, Named::One),
                found @ (Named::One(_) | Named::Several(_)) => found,
            },
        }
    }

    fn by_short_name(&self, asked: &str) -> Named<'_> {
        let ids = self
            .names
            .short
            .get(&asked.trim().to_lowercase())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut skills: Vec<&Skill> = ids.iter().filter_map(|id| self.skill(*id)).collect();
        match (skills.pop(), skills.is_empty()) {
            (None, _) => Named::Nobody,
            (Some(only), true) => Named::One(only),
            (Some(last), false) => {
                skills.push(last);
                Named::Several(skills)
            }
        }
    }

    /// Names that look like what was asked for, best first, at most five: identities for those who ask for paths.
    pub fn near(&self, asked: &str) -> Vec<&str> {
        self.near_by(asked, |skill| &skill.identity)
    }

    /// The same with the names the `skill` tool knows.
    pub fn near_labels(&self, asked: &str) -> Vec<&str> {
        self.near_by(asked, |skill| &skill.label)
    }

    fn near_by<'a>(&'a self, asked: &str, called: fn(&'a Skill) -> &'a str) -> Vec<&'a str> {
        // No name is that long, and comparing takes time in its length.
        let asked: String = asked.to_lowercase().chars().take(200).collect();
        let last = asked.rsplit(['/', ':']).next().unwrap_or_default();
        let mut scored: Vec<(f64, &str)> = self
            .skills
            .iter()
            .map(|skill| {
                let name = called(skill).to_lowercase();
                let whole = name.strip_suffix("/_index").unwrap_or(&name);
                let tail = whole.rsplit(['/', ':']).next().unwrap_or_default();
                // A right name in the wrong folder is nearer than a wrong name in the right one.
                let by_tail = strsim::jaro_winkler(last, tail) * 0.98;
                // Two letters swapped are a slip of the fingers, however short the name.
                let slip =
                    if strsim::osa_distance(last, tail) <= 1 && tail.len() > 2 { 0.9 } else { 0.0 };
                (strsim::jaro_winkler(&asked, whole).max(by_tail).max(slip), called(skill))
            })
            .filter(|(score, _)| *score >= 0.8)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(5).map(|(_, name)| name).collect()
    }
}
