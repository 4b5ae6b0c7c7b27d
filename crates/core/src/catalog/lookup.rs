//! A requested name → one skill. Names are looked up, never joined to a path.

use std::{iter, sync::Arc};

use super::{
    Catalog, Origin, Skill, SkillKind,
    name::{folded, hash, hashes},
};
use crate::{diagnostic::one_line, relpath::RelPath};

/// What a skill can be requested by, in the order of lookup.
#[derive(Clone, Copy)]
enum LookupTable {
    /// Tree paths, and `source:path`.
    Paths,
    /// Bundles' folders, and `source:folder`.
    Folders,
    /// Bundles' names.
    Labels,
}

/// A requested name.
struct NameQuery<'a> {
    written: &'a str,
    folded: String,
}

impl<'a> NameQuery<'a> {
    fn new(written: &'a str) -> Self {
        Self { written, folded: folded(written) }
    }

    /// Whether a name is the requested one: exactly, or by its visible characters in any case. Listings show one line of
    /// visible text, and what they show must load.
    fn is(&self, name: &str, exact: bool) -> bool {
        if exact {
            return name == self.written;
        }
        folded(name) == self.folded || folded(&one_line(name)) == self.folded
    }
}

impl Skill {
    /// The part behind the colon of a plugin's bundle.
    fn short_name(&self) -> Option<&str> {
        let (_, name) = self.wanted.split_once(':')?;
        Some(name)
    }
}

impl Catalog {
    /// The hashes of every name that a skill claims.
    pub(super) fn names_of(&self, skill: &Skill) -> Vec<u64> {
        let path = skill.path.as_str();
        let mut names = vec![path.to_owned(), self.qualified(skill)];
        if skill.kind == SkillKind::Bundle {
            names.push(skill.wanted.to_string());
            names.extend(
                self.is_plugin(skill).then(|| skill.short_name()).flatten().map(str::to_owned),
            );
        }
        hashes(&names)
    }

    /// The same, with the names of folders, which lead to a skill without taking the name from another.
    pub(super) fn looked_up_by(&self, skill: &Skill) -> Vec<u64> {
        let mut all = self.names_of(skill);
        if skill.kind == SkillKind::Bundle {
            all.extend(hashes(&self.folder_names(skill)));
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// The names of a bundle's folder: its own, and `plugin:folder` for a plugin's.
    fn folder_names(&self, skill: &Skill) -> Vec<String> {
        let folder = skill.path.name();
        let mut names = vec![folder.to_owned()];
        if let Some((plugin, _)) = skill.wanted.split_once(':').filter(|_| self.is_plugin(skill)) {
            names.push(format!("{plugin}:{folder}"));
        } else if let Some(plugin) = &skill.plugin {
            names.extend([format!("{plugin}:{folder}"), format!("{plugin}:{}", skill.wanted)]);
        }
        names
    }

    /// `source:path`, which no other skill has.
    pub(super) fn qualified(&self, skill: &Skill) -> String {
        format!("{}:{}", self.source_name(skill), skill.path)
    }

    pub(super) fn source_name(&self, skill: &Skill) -> &str {
        self.sources.get(skill.source).map(|source| &*source.name).unwrap_or_default()
    }

    pub(super) fn is_named(&self, skill: &Skill) -> bool {
        self.sources.get(skill.source).is_some_and(|source| source.origin == Origin::Named)
    }

    pub(super) fn is_plugin(&self, skill: &Skill) -> bool {
        let origin = self.sources.get(skill.source).map(|source| &source.origin);
        matches!(origin, Some(Origin::Plugin(_)))
    }

    /// Every skill, served or not, that may have this lower-cased name.
    pub(super) fn sharing(&self, folded: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.hashed(hash(folded))
    }

    pub(super) fn hashed(&self, hash: u64) -> impl Iterator<Item = &Arc<Skill>> {
        let names = self.names.matching(move |name| name.hash.cmp(&hash));
        names.filter_map(|name| self.skill_by_id(name.skill))
    }

    /// The skill that has a name; of several, the first.
    fn holder(&self, table: LookupTable, requested: &NameQuery<'_>, exact: bool) -> Option<&Skill> {
        let is = |name: &str| requested.is(name, exact);
        let has = |skill: &&Arc<Skill>| {
            let has_path = || &*skill.identity == skill.path.as_str() && is(skill.path.as_str());
            match (table, skill.kind) {
                (LookupTable::Paths, SkillKind::Tree) => has_path() || is(&self.qualified(skill)),
                (LookupTable::Folders, SkillKind::Bundle) if skill.name_status.served => {
                    (self.is_named(skill) && has_path()) || is(&self.qualified(skill))
                }
                // A copy's folder leads to the skill that is served instead.
                (LookupTable::Folders, SkillKind::Bundle) => {
                    skill.name_status.identical && self.is_named(skill) && is(skill.path.as_str())
                }
                (LookupTable::Labels, SkillKind::Bundle) => {
                    skill.name_status.served
                        && skill.name_status.winner.is_none()
                        && is(&skill.wanted)
                }
                (LookupTable::Paths, SkillKind::Bundle)
                | (LookupTable::Folders | LookupTable::Labels, SkillKind::Tree) => false,
            }
        };
        let first =
            self.sharing(&requested.folded).filter(has).min_by(|a, b| a.place().cmp(&b.place()))?;
        if first.name_status.served { Some(first) } else { self.skill(first.name_status.winner?) }
    }
}

/// The result of looking up a name for the `skill` tool.
#[derive(Debug)]
pub enum NameMatch<'a> {
    /// One skill.
    One(&'a Skill),
    /// A short name that several plugins have.
    Several(Vec<&'a Skill>),
    /// No skill has the name.
    NotFound,
}

impl<'a> NameMatch<'a> {
    fn of(skills: impl Iterator<Item = &'a Arc<Skill>>) -> Self {
        let mut skills: Vec<&Skill> = skills.map(|skill| &**skill).collect();
        skills.sort_by(|a, b| a.place().cmp(&b.place()));
        match skills.as_slice() {
            [] => Self::NotFound,
            [only] => Self::One(only),
            [..] => Self::Several(skills),
        }
    }
}

impl Catalog {
    /// The skill of this name, for every `skill_path` argument: a tree path, a category's path without `/_index`,
    /// a bundle's folder, a bundle's name, a plugin's skill without the plugin, the last part of a bundle's folder.
    /// `source:` may stand before it, `.md` behind it. Exact case wins over the same letters in another case.
    pub fn find(&self, requested: &str) -> Option<&Skill> {
        let trimmed = requested.trim().trim_end_matches('/');
        let bare = trimmed.strip_suffix(".md").unwrap_or(trimmed);
        let index = format!("{bare}/_index");
        // First as written: a file may be called `a.md.md`, or have blanks in its name.
        let names = [requested, trimmed, bare, &index].map(NameQuery::new);
        let tables = [LookupTable::Paths, LookupTable::Folders, LookupTable::Labels];
        let found = |exact| {
            tables
                .iter()
                .find_map(|table| names.iter().find_map(|name| self.holder(*table, name, exact)))
        };
        let found = found(true).or_else(|| found(false)).or_else(|| self.by_plugin(requested));
        if let Some(skill) = found {
            return Some(skill);
        }
        let found = match self.by_short_name(requested) {
            NameMatch::NotFound => self.by_folder(requested),
            found @ (NameMatch::One(_) | NameMatch::Several(_)) => found,
        };
        match found {
            NameMatch::One(skill) => Some(skill),
            NameMatch::Several(_) | NameMatch::NotFound => None,
        }
    }

    /// The skill whose path the request is. A single word is a request in words, unless it is the whole path of a
    /// skill.
    pub fn at_path(&self, request: &str) -> Option<&Skill> {
        let skill = self.find(request)?;
        let is_path = *skill.identity == *request
            || (request.contains('/') && !request.contains(char::is_whitespace));
        is_path.then_some(skill)
    }

    /// The skill the `skill` tool loads by this name. A full name always wins over a short one.
    pub fn named(&self, requested: &str) -> NameMatch<'_> {
        let requested = requested.trim();
        let name = NameQuery::new(requested);
        let label = |exact| self.holder(LookupTable::Labels, &name, exact);
        let folder = || self.holder(LookupTable::Folders, &name, true);
        match label(true).or_else(folder).or_else(|| label(false)) {
            Some(skill) => NameMatch::One(skill),
            None => match self.by_short_name(requested) {
                NameMatch::NotFound => {
                    self.find(requested).map_or_else(|| self.by_folder(requested), NameMatch::One)
                }
                found @ (NameMatch::One(_) | NameMatch::Several(_)) => found,
            },
        }
    }

    /// The folder of the plugin that a skill belongs to.
    pub fn plugin_folder(&self, skill: &Skill) -> Option<RelPath> {
        if self.is_plugin(skill) {
            return Some(RelPath::root());
        }
        let source = self.sources.get(skill.source)?;
        Some(source.plugin_of(skill.resources.as_ref()?)?.0)
    }

    /// The bundle of a plugin in a named source, as other skills of the plugin name it: `plugin:skill`.
    fn by_plugin(&self, requested: &str) -> Option<&Skill> {
        let requested = folded(requested.trim());
        let has = |skill: &&Arc<Skill>| {
            let is = |name: &str| {
                skill
                    .plugin
                    .as_ref()
                    .is_some_and(|plugin| folded(&format!("{plugin}:{name}")) == requested)
            };
            !self.is_plugin(skill) && (is(&skill.wanted) || is(skill.path.name()))
        };
        let first =
            self.sharing(&requested).filter(has).min_by(|a, b| a.place().cmp(&b.place()))?;
        if first.name_status.served { Some(first) } else { self.skill(first.name_status.winner?) }
    }

    fn by_short_name(&self, requested: &str) -> NameMatch<'_> {
        let requested = folded(requested.trim());
        let has = |skill: &&Arc<Skill>| {
            let short = self.is_plugin(skill).then(|| skill.short_name()).flatten();
            skill.name_status.served && short.is_some_and(|short| folded(short) == requested)
        };
        NameMatch::of(self.sharing(&requested).filter(has))
    }

    /// The bundles with this folder name, whatever their own name: every name in a tree must load. A whole folder below
    /// an agent's directory leads to the first such bundle; a last part, or a plugin's folder, only to a unique one.
    fn by_folder(&self, requested: &str) -> NameMatch<'_> {
        let requested = NameQuery::new(requested.trim().trim_end_matches('/'));
        let bundles = || {
            let sharing = self.sharing(&requested.folded);
            sharing.filter(|skill| skill.kind == SkillKind::Bundle && skill.name_status.served)
        };
        for exact in [true, false] {
            let is = |name: &str| requested.is(name, exact);
            let whole = bundles().filter(|skill| !self.is_plugin(skill) && is(skill.path.as_str()));
            if let Some(first) = whole.min_by(|a, b| a.place().cmp(&b.place())) {
                return NameMatch::One(first);
            }
            let called = |skill: &&Arc<Skill>| self.folder_names(skill).iter().any(|name| is(name));
            match NameMatch::of(bundles().filter(called)) {
                NameMatch::NotFound => {}
                found @ (NameMatch::One(_) | NameMatch::Several(_)) => return found,
            }
        }
        NameMatch::NotFound
    }

    /// Identities similar to the requested name, best first, at most five. A bundle has two names, its own and its
    /// folder's, which may differ; either may be the one that was meant.
    pub fn near(&self, requested: &str) -> Vec<&str> {
        self.near_by(requested, |skill| &skill.identity)
    }

    /// The same with the names of the `skill` tool.
    pub fn near_labels(&self, requested: &str) -> Vec<&str> {
        self.near_by(requested, |skill| &skill.label)
    }

    fn near_by<'a>(&'a self, requested: &str, called: fn(&'a Skill) -> &'a str) -> Vec<&'a str> {
        let requested: String = requested.to_lowercase().chars().take(MAX_COMPARED_CHARS).collect();
        let requested = MisspelledName::new(&requested);
        let mut scored: Vec<(f64, &str)> = self
            .skills()
            .filter_map(|skill| {
                let name = called(skill);
                let further = [&*skill.label, skill.path.name()].into_iter().filter(|further| {
                    skill.kind == SkillKind::Bundle && tail(name) != tail(further)
                });
                let names = iter::once(name).chain(further);
                let similarity = names.filter_map(|name| requested.similarity(name));
                similarity.max_by(f64::total_cmp).map(|similarity| (similarity, name))
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(MAX_NEAR_NAMES).map(|(_, name)| name).collect()
    }
}

/// A requested name that no skill has, in lower case, whole and from its last `/` or `:` on.
struct MisspelledName<'a> {
    whole: LetterCounts<'a>,
    tail: LetterCounts<'a>,
}

impl<'a> MisspelledName<'a> {
    fn new(requested: &'a str) -> Self {
        Self { whole: LetterCounts::of(requested), tail: LetterCounts::of(tail(requested)) }
    }

    /// How similar a name is; none where it is not near.
    fn similarity(&self, name: &str) -> Option<f64> {
        let name = folded(name);
        let whole = name.strip_suffix("/_index").unwrap_or(&name);
        let tail = tail(whole);
        // Most names differ so much that counting letters excludes them.
        if !self.whole.may_be_near(whole) && !self.tail.may_be_near(tail) {
            return None;
        }
        // A right name in the wrong folder is nearer than a wrong name in the right one.
        let by_tail = strsim::jaro_winkler(self.tail.name, tail) * 0.98;
        // One typing mistake is near, however short the name.
        let is_slip = strsim::osa_distance(self.tail.name, tail) <= 1 && tail.len() > 2;
        let slip = if is_slip { 0.9 } else { 0.0 };
        let similarity = strsim::jaro_winkler(self.whole.name, whole).max(by_tail).max(slip);
        (similarity >= NEAR_NAME_SIMILARITY).then_some(similarity)
    }
}

/// A name from its last `/` or `:` on.
fn tail(name: &str) -> &str {
    name.rsplit(['/', ':']).next().unwrap_or_default()
}

/// How many similar names are offered.
const MAX_NEAR_NAMES: usize = 5;
/// A longer name is cut before it is compared, which takes time in its length.
const MAX_COMPARED_CHARS: usize = 200;
/// The least Jaro-Winkler similarity of a near name.
const NEAR_NAME_SIMILARITY: f64 = 0.8;

/// How often each letter occurs in a name: an upper bound of what it shares with another.
struct LetterCounts<'a> {
    name: &'a str,
    counts: [u8; 64],
    total: u32,
}

impl<'a> LetterCounts<'a> {
    fn of(name: &'a str) -> Self {
        let mut letters = Self { name, counts: [0; 64], total: 0 };
        for c in name.chars() {
            letters.total += 1;
            if let Some(count) = letters.counts.get_mut(letter_bucket(c)) {
                *count = count.saturating_add(1);
            }
        }
        letters
    }

    /// Whether the similarity of the two may reach [`NEAR_NAME_SIMILARITY`]: an upper bound, from the letters they share.
    fn may_be_near(&self, other: &str) -> bool {
        let mut left = self.counts;
        let (mut shared, mut total) = (0_u32, 0_u32);
        for c in other.chars() {
            total += 1;
            if let Some(count) = left.get_mut(letter_bucket(c)).filter(|count| **count > 0) {
                *count -= 1;
                shared += 1;
            }
        }
        // One typing mistake leaves all letters but one.
        if self.total.abs_diff(total) <= 1 && shared + 1 >= self.total.max(total) {
            return true;
        }
        let share = |of: u32| f64::from(shared) / f64::from(of.max(1));
        let jaro = (share(self.total) + share(total) + 1.0) / 3.0;
        // Letters alike at the start, four at most, each make up a tenth of what is missing.
        let start = self.name.chars().zip(other.chars()).take(4).take_while(|(a, b)| a == b);
        let bonus = start.map(|_| 0.1).sum::<f64>() * (1.0 - jaro);
        shared > 0 && jaro + bonus + 1e-9 >= NEAR_NAME_SIMILARITY
    }
}

/// Which of the counts a letter belongs to.
fn letter_bucket(c: char) -> usize {
    (u32::from(c) % 64) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_near_name_is_missed(a in "[a-d/é-]{0,12}", b in "[a-d/é-]{0,12}") {
            let near = strsim::jaro_winkler(&a, &b) >= NEAR_NAME_SIMILARITY
                || (strsim::osa_distance(&a, &b) <= 1 && b.len() > 2);
            prop_assert!(!near || LetterCounts::of(&a).may_be_near(&b), "{a:?} {b:?}");
        }
    }
}
