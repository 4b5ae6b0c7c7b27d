//! Which Markdown file is a skill, and which folder belongs to one.
//!
//! The rules look at names only, so that they can be applied before anything is read: `X/` beside `X.md` is
//! X's resource folder, unless it has an `_index.md` of its own; `_index/` and `_root/` always are; a folder
//! with `SKILL.md` is a bundle, and all below it belongs to it. Two listings of one source are compared folder by
//! folder: those that did not change are not looked at.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use super::{
    folder::{Entry, Folder},
    path::{INDEX, ROOT},
};
use crate::{
    diagnostic::{Code, Finding},
    document::Dialect,
    relpath::RelPath,
};

/// What a Markdown file is to the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It may be a tree skill.
    Tree,
    /// It is a bundle's `SKILL.md`.
    Bundle,
    /// It lies in a resource folder: no skill, but looked at, to say so.
    Resource,
}

impl Role {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Tree | Self::Resource => Dialect::Tree,
            Self::Bundle => Dialect::Bundle,
        }
    }
}

/// A file's role, and what is odd about its name or place.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Assigned {
    pub(super) role: Option<Role>,
    pub(super) findings: Vec<Finding>,
}

/// What differs between two listings of a source.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Files, and the odd folder, that are not what they were, with what they are now.
    pub(super) files: Vec<(RelPath, Assigned)>,
    /// Folders in which anything differs.
    pub(super) folders: Vec<RelPath>,
}

/// What is looked for in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Tree skills and bundles.
    All,
    /// Bundles only.
    Bundles,
}

/// How a folder is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// Tree skills and bundles may be anywhere in it.
    Whole,
    /// The same, but its `assets/` and `scripts/` belong to the skill beside it.
    ButResources,
    /// Only bundles are looked for.
    Bundles,
    /// It belongs to a skill.
    Resources,
    /// A tool's own folder.
    Hidden,
}

/// A folder and how it is looked at.
struct Seen<'a> {
    folder: &'a Arc<Folder>,
    view: View,
    is_root: bool,
    /// Its `SKILL.md` in every spelling there is; the exact one wins over others.
    spellings: Vec<&'a str>,
}

impl Differences {
    /// Compares two listings; none means that there was nothing.
    pub(super) fn between(old: Option<&Arc<Folder>>, new: &Arc<Folder>, scope: Scope) -> Self {
        let view = if scope == Scope::Bundles { View::Bundles } else { View::Whole };
        let seen = |folder| Seen::new(folder, view, true);
        let mut differences = Self::default();
        let (old, new) = (old.map(seen), seen(new));
        differences.compare(&RelPath::root(), old.as_ref(), Some(&new));
        differences
    }

    fn compare<'a>(&mut self, path: &RelPath, old: Option<&Seen<'a>>, new: Option<&Seen<'a>>) {
        if let (Some(old), Some(new)) = (old, new)
            && Arc::ptr_eq(old.folder, new.folder)
            && old.view == new.view
        {
            return;
        }
        self.folders.push(path.clone());
        // What decides about every file in it alike.
        let reframed = match (old, new) {
            (Some(old), Some(new)) => old.view != new.view || old.spellings != new.spellings,
            _ => true,
        };
        let changed = self.compare_files(path, old, new, reframed);
        let below = |seen: Option<&Seen<'a>>| seen.map(|seen| &**seen.folder);
        let (was, is) = (below(old), below(new));
        for (name, was, is) in side_by_side(
            was.map(Folder::folders).unwrap_or_default(),
            is.map(Folder::folders).unwrap_or_default(),
        ) {
            let same = matches!((was, is), (Some(was), Some(is)) if Arc::ptr_eq(was, is));
            // `X/` is something else once `X.md` comes or goes beside it.
            if same && !reframed && !changed.contains(name) {
                continue;
            }
            let Ok(below) = path.child(name) else { continue };
            let was = old.zip(was).map(|(seen, was)| seen.below(name, was));
            let is = new.zip(is).map(|(seen, is)| seen.below(name, is));
            let twofold = |seen: &Option<(Seen<'_>, bool)>| matches!(seen, Some((_, true)));
            if twofold(&was) != twofold(&is) {
                let findings = if twofold(&is) { vec![two_roles(name)] } else { Vec::new() };
                self.files.push((below.clone(), Assigned { role: None, findings }));
            }
            let seen = |seen: Option<(Seen<'a>, bool)>| seen.map(|(seen, _)| seen);
            self.compare(&below, seen(was).as_ref(), seen(is).as_ref());
        }
    }

    /// Compares the files of a folder; the names, without their extension, of the Markdown files that came or went.
    fn compare_files<'a>(
        &mut self,
        path: &RelPath,
        old: Option<&Seen<'a>>,
        new: Option<&Seen<'a>>,
        reframed: bool,
    ) -> HashSet<&'a str> {
        let files = |seen: Option<&Seen<'a>>| seen.map(|seen| seen.folder.files());
        let mut changed = HashSet::new();
        for (name, was, is) in
            side_by_side(files(old).unwrap_or_default(), files(new).unwrap_or_default())
        {
            let same = matches!((was, is), (Some(was), Some(is)) if was.is_same(*is));
            if same && !reframed {
                continue;
            }
            if was.is_some() != is.is_some() {
                changed.extend(name.strip_suffix(".md"));
            }
            let Ok(file) = path.child(name) else { continue };
            let assigned = |seen: Option<&Seen<'_>>, there: Option<&Entry>| {
                seen.filter(|_| there.is_some()).map(|seen| seen.assigned(name, &file))
            };
            let (before, now) = (assigned(old, was), assigned(new, is).unwrap_or_default());
            let before = before.unwrap_or_default();
            if before != now || (!same && now.role.is_some()) {
                self.files.push((file, now));
            }
        }
        changed
    }
}

impl<'a> Seen<'a> {
    fn new(folder: &'a Arc<Folder>, view: View, is_root: bool) -> Self {
        let names = folder.files().iter().map(|(name, _)| &**name);
        let mut spellings: Vec<&str> = names.filter(|name| is_bundle_file(name)).collect();
        spellings.sort_by_key(|name| *name != BUNDLE_FILE);
        Self { folder, view, is_root, spellings }
    }

    fn is_bundle(&self) -> bool {
        !self.is_root && !self.spellings.is_empty()
    }

    /// What a file of this folder is.
    fn assigned(&self, name: &str, file: &RelPath) -> Assigned {
        let role = |role, findings| Assigned { role: Some(role), findings };
        match self.view {
            View::Resources if !has_extension(name) => Assigned::default(),
            View::Resources if is_bundle_file(name) => {
                Assigned { role: None, findings: vec![in_resources()] }
            }
            View::Resources => role(Role::Resource, Vec::new()),
            View::Whole | View::ButResources | View::Bundles if is_bundle_file(name) => {
                if self.spellings.first() == Some(&name) {
                    role(Role::Bundle, spelled(&self.spellings))
                } else {
                    Assigned::default()
                }
            }
            // All in a bundle belongs to it.
            View::Whole | View::ButResources if is_candidate(name) && !self.is_bundle() => {
                role(Role::Tree, about_name(file))
            }
            View::Whole | View::ButResources | View::Bundles | View::Hidden => Assigned::default(),
        }
    }

    /// How one of its folders is looked at, and whether that one has two roles.
    fn below(&self, name: &str, folder: &'a Arc<Folder>) -> (Self, bool) {
        let seen = |view| Self::new(folder, view, false);
        let view = match self.view {
            View::Whole | View::ButResources if self.is_bundle() => View::Bundles,
            View::Whole | View::ButResources if is_hidden(name) => View::Hidden,
            View::Whole | View::ButResources => {
                let named_resource = matches!(name, INDEX | ROOT)
                    || (self.view == View::ButResources && matches!(name, "assets" | "scripts"));
                if named_resource {
                    View::Resources
                } else if self.folder.own_file(&format!("{name}.md")).is_none() {
                    View::Whole
                } else if folder.own_file("_index.md").is_some() {
                    return (seen(View::ButResources), true);
                } else {
                    View::Resources
                }
            }
            View::Bundles | View::Resources | View::Hidden => self.view,
        };
        (seen(view), false)
    }
}

/// Two lists sorted by name, side by side.
fn side_by_side<'a, T>(
    mut old: &'a [(Arc<str>, T)],
    mut new: &'a [(Arc<str>, T)],
) -> impl Iterator<Item = (&'a str, Option<&'a T>, Option<&'a T>)> {
    std::iter::from_fn(move || {
        let order = match (old.first(), new.first()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            // Most names are shared, and need not be read.
            (Some((a, _)), Some((b, _))) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let take = |list: &mut &'a [(Arc<str>, T)]| {
            let (first, rest) = list.split_first()?;
            *list = rest;
            Some(first)
        };
        let was = if order == Ordering::Greater { None } else { take(&mut old) };
        let is = if order == Ordering::Less { None } else { take(&mut new) };
        let name = was.or(is).map_or("", |(name, _)| name);
        Some((name, was.map(|(_, item)| item), is.map(|(_, item)| item)))
    })
}

/// What the file of a bundle is called.
const BUNDLE_FILE: &str = "SKILL.md";

fn is_bundle_file(name: &str) -> bool {
    name.eq_ignore_ascii_case(BUNDLE_FILE)
}

fn has_extension(name: &str) -> bool {
    name.strip_suffix(".md").is_some()
}

fn is_candidate(name: &str) -> bool {
    !is_hidden(name) && !is_bundle_file(name) && has_extension(name)
}

/// Editors' and tools' own files; assets may well be hidden, skills are not.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// What is said of a skill that lies where none is looked for.
pub(super) fn in_resources() -> Finding {
    Finding::whole(Code::SkillInResources, "a skill inside a resource folder is not served")
        .hint("move it out, or give the folder an _index.md to make it a category")
}

fn two_roles(name: &str) -> Finding {
    Finding::whole(
        Code::FolderHasTwoRoles,
        format!(
            "a category, because it has _index.md, and the resource folder of {name}.md beside it"
        ),
    )
}

/// What is odd about how a bundle's file is spelled.
fn spelled(spellings: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(other) = spellings.get(1) {
        let message = format!("`{other}` stands beside it and is not read");
        findings.push(Finding::whole(Code::FileNameTwice, message));
    }
    if spellings.first() != Some(&BUNDLE_FILE) {
        findings.push(Finding::whole(Code::FileNameUnusual, "should be called `SKILL.md`"));
    }
    findings
}

/// What is odd about the name of a tree skill's file.
fn about_name(file: &RelPath) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.name() == "_root.md" && !file.folder().is_root() {
        let message = "`_root.md` counts only at the top; this is a plain skill";
        findings.push(Finding::whole(Code::RootMisplaced, message));
    }
    let awkward =
        |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@' | '/'));
    if let Some(c) = file.as_str().chars().find(|c| awkward(*c)) {
        let message = format!("{c:?} in the name is awkward to type in a skill path");
        findings.push(Finding::whole(Code::NameUnusual, message));
    }
    findings
}
