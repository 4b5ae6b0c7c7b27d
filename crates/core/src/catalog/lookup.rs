//! A name somebody asked for → one skill. Names are looked up, never joined to a path.

use std::{
    cmp::Ordering,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use super::{Catalog, Kind, Origin, Skill, SkillId};
use crate::{diagnostic::one_line, sorted::Sorts};

/// Something that a skill may be asked for by: its letters, whatever their case, as a hash. Who has the name is
/// decided among those that share it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    pub(super) hash: u64,
    pub(super) skill: SkillId,
}

impl Sorts for Name {
    fn order(&self, other: &Self) -> Ordering {
        (self.hash, self.skill).cmp(&(other.hash, other.skill))
    }
}

/// The letters of a name, whatever their case.
pub(super) fn folded(name: &str) -> String {
    name.to_lowercase()
}

fn hash(folded: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    folded.hash(&mut hasher);
    hasher.finish()
}

/// The hashes of these names, and of what a reader sees of them.
fn hashes(names: &[String]) -> Vec<u64> {
    let plain = |name: &&String| name.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    let visible: Vec<String> =
        names.iter().filter(|name| !plain(name)).map(|name| one_line(name)).collect();
    let mut hashes: Vec<u64> =
        names.iter().chain(&visible).map(|name| hash(&folded(name))).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// What a skill can be asked for by, in the order in which it is looked for.
#[derive(Clone, Copy)]
enum Table {
    /// Tree paths, and `source:path`.
    Paths,
    /// Bundles' folders, and `source:folder`.
    Folders,
    /// Bundles' names.
    Labels,
}

/// A name somebody asks for.
struct Asked<'a> {
    written: &'a str,
    folded: String,
}

impl<'a> Asked<'a> {
    fn new(written: &'a str) -> Self {
        Self { written, folded: folded(written) }
    }

    /// Whether a name is what is asked for: to the letter, or what a reader sees of it, whatever the case. Listings
    /// show one line of visible text, and what they show must load.
    fn is(&self, name: &str, to_the_letter: bool) -> bool {
        if to_the_letter {
            return name == self.written;
        }
        folded(name) == self.folded || folded(&one_line(name)) == self.folded
    }
}

impl Skill {
    /// The name behind the colon, of a plugin's bundle.
    fn short_name(&self) -> Option<&str> {
        let (_, name) = self.wanted.split_once(':')?;
        Some(name)
    }
}

impl Catalog {
    /// The hashes of everything that a skill may be asked for by.
    pub(super) fn names_of(&self, skill: &Skill) -> Vec<u64> {
        let path = skill.path.as_str();
        let mut names = vec![path.to_owned(), self.qualified(skill)];
        if skill.kind == Kind::Bundle {
            names.push(skill.wanted.to_string());
            names.extend(
                self.is_plugin(skill).then(|| skill.short_name()).flatten().map(str::to_owned),
            );
        }
        hashes(&names)
    }

    /// The same, with the names of folders, which lead to a skill and take no name from another.
    pub(super) fn looked_up_by(&self, skill: &Skill) -> Vec<u64> {
        let mut all = self.names_of(skill);
        if skill.kind == Kind::Bundle {
            all.extend(hashes(&self.folder_names(skill)));
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// What a bundle's folder is called: by itself, and of a plugin's with the plugin before it.
    fn folder_names(&self, skill: &Skill) -> Vec<String> {
        let folder = skill.path.name();
        let mut names = vec![folder.to_owned()];
        if let Some((plugin, _)) = skill.wanted.split_once(':').filter(|_| self.is_plugin(skill)) {
            names.push(format!("{plugin}:{folder}"));
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

    fn is_plugin(&self, skill: &Skill) -> bool {
        let origin = self.sources.get(skill.source).map(|source| &source.origin);
        matches!(origin, Some(Origin::Plugin(_)))
    }

    /// Every skill, served or not, that may be asked for by these letters.
    pub(super) fn sharing(&self, folded: &str) -> impl Iterator<Item = &Arc<Skill>> {
        self.hashed(hash(folded))
    }

    pub(super) fn hashed(&self, hash: u64) -> impl Iterator<Item = &Arc<Skill>> {
        let names = self.names.matching(move |name| name.hash.cmp(&hash));
        names.filter_map(|name| self.numbered(name.skill))
    }

    /// Who has a name; of several, the first.
    fn holder(&self, table: Table, asked: &Asked<'_>, to_the_letter: bool) -> Option<&Skill> {
        let is = |name: &str| asked.is(name, to_the_letter);
        let has = |skill: &&Arc<Skill>| {
            let has_path = || &*skill.identity == skill.path.as_str() && is(skill.path.as_str());
            match (table, skill.kind) {
                (Table::Paths, Kind::Tree) => has_path() || is(&self.qualified(skill)),
                (Table::Folders, Kind::Bundle) if skill.standing.served => {
                    (self.is_named(skill) && has_path()) || is(&self.qualified(skill))
                }
                // The copy's folder still leads to what is served instead of it.
                (Table::Folders, Kind::Bundle) => {
                    skill.standing.identical && self.is_named(skill) && is(skill.path.as_str())
                }
                (Table::Labels, Kind::Bundle) => {
                    skill.standing.served && skill.standing.winner.is_none() && is(&skill.wanted)
                }
                (Table::Paths, Kind::Bundle) | (Table::Folders | Table::Labels, Kind::Tree) => {
                    false
                }
            }
        };
        let first =
            self.sharing(&asked.folded).filter(has).min_by(|a, b| a.place().cmp(&b.place()))?;
        if first.standing.served { Some(first) } else { self.skill(first.standing.winner?) }
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

impl<'a> Named<'a> {
    fn of(skills: impl Iterator<Item = &'a Arc<Skill>>) -> Self {
        let mut skills: Vec<&Skill> = skills.map(|skill| &**skill).collect();
        skills.sort_by(|a, b| a.place().cmp(&b.place()));
        match skills.as_slice() {
            [] => Self::Nobody,
            [only] => Self::One(only),
            [..] => Self::Several(skills),
        }
    }
}

impl Catalog {
    /// The skill of this name, wherever a `skill_path` is taken: a tree path, a category's path without `/_index`,
    /// a bundle's folder, a bundle's name, a plugin's skill without the plugin, the last part of a bundle's folder.
    /// `source:` may stand before it, `.md` behind it. Exact case wins over the same letters in another case.
    pub fn find(&self, asked: &str) -> Option<&Skill> {
        let trimmed = asked.trim().trim_end_matches('/');
        let bare = trimmed.strip_suffix(".md").unwrap_or(trimmed);
        let index = format!("{bare}/_index");
        // As it stands first: a file may be called `a.md.md`, or have blanks in its name.
        let names = [asked, trimmed, bare, &index].map(Asked::new);
        let tables = [Table::Paths, Table::Folders, Table::Labels];
        let found = |to_the_letter| {
            tables.iter().find_map(|table| {
                names.iter().find_map(|name| self.holder(*table, name, to_the_letter))
            })
        };
        if let Some(skill) = found(true).or_else(|| found(false)) {
            return Some(skill);
        }
        let found = match self.by_short_name(asked) {
            Named::Nobody => self.by_folder(asked),
            found @ (Named::One(_) | Named::Several(_)) => found,
        };
        match found {
            Named::One(skill) => Some(skill),
            Named::Several(_) | Named::Nobody => None,
        }
    }

    /// The skill whose path a request is, to the letter. A single word is a request like any other, unless it is the
    /// whole path of a skill.
    pub fn at_path(&self, request: &str) -> Option<&Skill> {
        let skill = self.find(request)?;
        let is_path = *skill.identity == *request
            || (request.contains('/') && !request.contains(char::is_whitespace));
        is_path.then_some(skill)
    }

    /// The skill the `skill` tool loads by this name. A full name always wins over a short one.
    pub fn named(&self, asked: &str) -> Named<'_> {
        let asked = asked.trim();
        let name = Asked::new(asked);
        let label = self.holder(Table::Labels, &name, true);
        match label.or_else(|| self.holder(Table::Labels, &name, false)) {
            Some(skill) => Named::One(skill),
            None => match self.by_short_name(asked) {
                Named::Nobody => self.find(asked).map_or_else(|| self.by_folder(asked), Named::One),
                found @ (Named::One(_) | Named::Several(_)) => found,
            },
        }
    }

    fn by_short_name(&self, asked: &str) -> Named<'_> {
        let asked = folded(asked.trim());
        let has = |skill: &&Arc<Skill>| {
            let short = self.is_plugin(skill).then(|| skill.short_name()).flatten();
            skill.standing.served && short.is_some_and(|short| folded(short) == asked)
        };
        Named::of(self.sharing(&asked).filter(has))
    }

    /// The bundles whose folder is called this, whatever they call themselves: what trees are drawn with must load. A
    /// whole folder below an agent's directory leads to the first; a last part, or a plugin's folder, to the only one.
    fn by_folder(&self, asked: &str) -> Named<'_> {
        let asked = Asked::new(asked.trim().trim_end_matches('/'));
        let bundles = || {
            let sharing = self.sharing(&asked.folded);
            sharing.filter(|skill| skill.kind == Kind::Bundle && skill.standing.served)
        };
        for to_the_letter in [true, false] {
            let is = |name: &str| asked.is(name, to_the_letter);
            let whole = bundles().filter(|skill| !self.is_plugin(skill) && is(skill.path.as_str()));
            if let Some(first) = whole.min_by(|a, b| a.place().cmp(&b.place())) {
                return Named::One(first);
            }
            let called = |skill: &&Arc<Skill>| self.folder_names(skill).iter().any(|name| is(name));
            match Named::of(bundles().filter(called)) {
                Named::Nobody => {}
                found @ (Named::One(_) | Named::Several(_)) => return found,
            }
        }
        Named::Nobody
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
        let letters = [Letters::of(&asked), Letters::of(last)];
        let mut scored: Vec<(f64, &str)> = self
            .skills()
            .filter_map(|skill| {
                let name = folded(called(skill));
                let whole = name.strip_suffix("/_index").unwrap_or(&name);
                let tail = whole.rsplit(['/', ':']).next().unwrap_or_default();
                let [by_whole, by_tail] = &letters;
                // Most names have nothing to do with it, and that is seen at once.
                if !by_whole.may_be_near(whole) && !by_tail.may_be_near(tail) {
                    return None;
                }
                // A right name in the wrong folder is nearer than a wrong name in the right one.
                let by_tail = strsim::jaro_winkler(last, tail) * 0.98;
                // Two letters swapped are a slip of the fingers, however short the name.
                let slip =
                    if strsim::osa_distance(last, tail) <= 1 && tail.len() > 2 { 0.9 } else { 0.0 };
                let score = strsim::jaro_winkler(&asked, whole).max(by_tail).max(slip);
                (score >= NEAR).then_some((score, called(skill)))
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(5).map(|(_, name)| name).collect()
    }
}

/// How alike two names have to be to be near.
const NEAR: f64 = 0.8;

/// How often a name has which letters: what it can have in common with another at best.
struct Letters<'a> {
    name: &'a str,
    counts: [u8; 64],
    total: u32,
}

impl<'a> Letters<'a> {
    fn of(name: &'a str) -> Self {
        let mut letters = Self { name, counts: [0; 64], total: 0 };
        for c in name.chars() {
            letters.total += 1;
            if let Some(count) = letters.counts.get_mut(shelf(c)) {
                *count = count.saturating_add(1);
            }
        }
        letters
    }

    /// Whether the likeness of the two may reach [`NEAR`]: an upper bound, from the letters they share.
    fn may_be_near(&self, other: &str) -> bool {
        let mut left = self.counts;
        let (mut shared, mut total) = (0_u32, 0_u32);
        for c in other.chars() {
            total += 1;
            if let Some(count) = left.get_mut(shelf(c)).filter(|count| **count > 0) {
                *count -= 1;
                shared += 1;
            }
        }
        // A slip of the fingers leaves all letters but one.
        if self.total.abs_diff(total) <= 1 && shared + 1 >= self.total.max(total) {
            return true;
        }
        let share = |of: u32| f64::from(shared) / f64::from(of.max(1));
        let jaro = (share(self.total) + share(total) + 1.0) / 3.0;
        // Letters alike at the start, four at most, each make up a tenth of what is missing.
        let start = self.name.chars().zip(other.chars()).take(4).take_while(|(a, b)| a == b);
        let bonus = start.map(|_| 0.1).sum::<f64>() * (1.0 - jaro);
        shared > 0 && jaro + bonus + 1e-9 >= NEAR
    }
}

/// Which of the counts a letter goes to.
fn shelf(c: char) -> usize {
    (u32::from(c) % 64) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_near_is_passed_by(a in "[a-d/é-]{0,12}", b in "[a-d/é-]{0,12}") {
            let near = strsim::jaro_winkler(&a, &b) >= NEAR
                || (strsim::osa_distance(&a, &b) <= 1 && b.len() > 2);
            prop_assert!(!near || Letters::of(&a).may_be_near(&b), "{a:?} {b:?}");
        }
    }
}
