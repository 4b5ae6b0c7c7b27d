//! Which Markdown file is a skill, and which folder belongs to one.
//!
//! The rules look at names only, so that they can be applied before anything is read: `X/` beside `X.md` is
//! X's resource folder, unless it has an `_index.md` of its own; `_index/` and `_root/` always are; a folder
//! with `SKILL.md` is a bundle, and all below it belongs to it. Two listings of one source are compared folder by
//! folder: those that did not change are not looked at.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use super::{
    folder::{FileEntry, Folder},
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
    /// It is in a resource folder: not a skill; it is read to report one that looks like a skill.
    Resource,
    /// It says that its folder is a plugin, and the plugin's name.
    Plugin,
}

impl Role {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Tree | Self::Resource | Self::Plugin => Dialect::Tree,
            Self::Bundle => Dialect::Bundle,
        }
    }
}

/// A file's role, and findings about its name or place.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RoleAssignment {
    pub(super) role: Option<Role>,
    pub(super) findings: Vec<Finding>,
}

/// What differs between two listings of a source.
#[derive(Debug, Default)]
pub(super) struct ListingDiff {
    /// Changed files, and folders with findings, with their roles now.
    pub(super) files: Vec<(RelPath, RoleAssignment)>,
    /// Folders in which anything changed.
    pub(super) folders: Vec<RelPath>,
}

/// What is looked for in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Tree skills and bundles.
    All,
    /// Tree skills and bundles, in a folder that is called `skills`.
    Content,
    /// Bundles only.
    Bundles,
}

/// What a folder's files may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderRole {
    /// Tree skills and bundles may be anywhere in it.
    Whole,
    /// The same, but its `assets/` and `scripts/` belong to the skill beside it.
    ButResources,
    /// Only bundles are looked for.
    Bundles,
    /// It belongs to a skill.
    Resources,
    /// A client's own folder at the top of a source, such as `.claude`, or a plugin in one: bundles are in its `skills`.
    Client,
    /// The `plugins` of such a folder.
    Plugins,
    /// Any other folder whose name begins with a dot.
    Hidden,
}

/// A folder with its view.
struct ViewedFolder<'a> {
    folder: &'a Arc<Folder>,
    view: FolderRole,
    is_root: bool,
    /// Whether it is called `skills`: in its folders that begin with a dot there are bundles.
    is_called_skills: bool,
    /// Its files called `SKILL.md` in any case; the exact spelling comes first.
    spellings: Vec<&'a str>,
}

impl ListingDiff {
    /// Compares two listings; none means that there was nothing.
    pub(super) fn between(old: Option<&Arc<Folder>>, new: &Arc<Folder>, scope: Scope) -> Self {
        let view = if scope == Scope::Bundles { FolderRole::Bundles } else { FolderRole::Whole };
        let seen = |folder| ViewedFolder {
            is_called_skills: scope == Scope::Content,
            ..ViewedFolder::new(folder, view, true)
        };
        let mut diff = Self::default();
        let (old, new) = (old.map(seen), seen(new));
        diff.compare(&RelPath::root(), old.as_ref(), Some(&new));
        diff
    }

    fn compare<'a>(
        &mut self,
        path: &RelPath,
        old: Option<&ViewedFolder<'a>>,
        new: Option<&ViewedFolder<'a>>,
    ) {
        if let (Some(old), Some(new)) = (old, new)
            && Arc::ptr_eq(old.folder, new.folder)
            && old.view == new.view
        {
            return;
        }
        self.folders.push(path.clone());
        // Whether the roles of all its files may differ.
        let reframed = match (old, new) {
            (Some(old), Some(new)) => old.view != new.view || old.spellings != new.spellings,
            _ => true,
        };
        let changed = self.compare_files(path, old, new, reframed);
        let below = |seen: Option<&ViewedFolder<'a>>| seen.map(|seen| &**seen.folder);
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
            let twofold = |seen: &Option<(ViewedFolder<'_>, bool)>| matches!(seen, Some((_, true)));
            if twofold(&was) != twofold(&is) {
                let findings = if twofold(&is) { vec![two_roles(name)] } else { Vec::new() };
                self.files.push((below.clone(), RoleAssignment { role: None, findings }));
            }
            let seen = |seen: Option<(ViewedFolder<'a>, bool)>| seen.map(|(seen, _)| seen);
            self.compare(&below, seen(was).as_ref(), seen(is).as_ref());
        }
    }

    /// Compares the files of a folder; the names, without their extension, of the Markdown files that came or went.
    fn compare_files<'a>(
        &mut self,
        path: &RelPath,
        old: Option<&ViewedFolder<'a>>,
        new: Option<&ViewedFolder<'a>>,
        reframed: bool,
    ) -> HashSet<&'a str> {
        let files = |seen: Option<&ViewedFolder<'a>>| seen.map(|seen| seen.folder.files());
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
            let assignment = |seen: Option<&ViewedFolder<'_>>, there: Option<&FileEntry>| {
                seen.filter(|_| there.is_some()).map(|seen| seen.assignment(name, &file))
            };
            let (before, now) = (assignment(old, was), assignment(new, is).unwrap_or_default());
            let before = before.unwrap_or_default();
            if before != now || (!same && now.role.is_some()) {
                self.files.push((file, now));
            }
        }
        changed
    }
}

impl<'a> ViewedFolder<'a> {
    fn new(folder: &'a Arc<Folder>, view: FolderRole, is_root: bool) -> Self {
        let names = folder.files().iter().map(|(name, _)| &**name);
        let mut spellings: Vec<&str> = names.filter(|name| is_bundle_file(name)).collect();
        spellings.sort_by_key(|name| *name != BUNDLE_FILE);
        Self { folder, view, is_root, is_called_skills: false, spellings }
    }

    fn is_bundle(&self) -> bool {
        !self.is_root && !self.spellings.is_empty()
    }

    /// What a file of this folder is.
    fn assignment(&self, name: &str, file: &RelPath) -> RoleAssignment {
        let role = |role, findings| RoleAssignment { role: Some(role), findings };
        match self.view {
            FolderRole::Whole
            | FolderRole::ButResources
            | FolderRole::Client
            | FolderRole::Hidden
                if is_plugin_manifest(file) =>
            {
                role(Role::Plugin, Vec::new())
            }
            FolderRole::Resources if !has_extension(name) => RoleAssignment::default(),
            FolderRole::Resources if is_bundle_file(name) => {
                RoleAssignment { role: None, findings: vec![in_resources()] }
            }
            FolderRole::Resources => role(Role::Resource, Vec::new()),
            FolderRole::Whole | FolderRole::ButResources | FolderRole::Bundles
                if is_bundle_file(name) =>
            {
                if self.spellings.first() == Some(&name) {
                    role(Role::Bundle, spelled(&self.spellings))
                } else {
                    RoleAssignment::default()
                }
            }
            // All in a bundle belongs to it.
            FolderRole::Whole | FolderRole::ButResources
                if is_candidate(name) && !self.is_bundle() =>
            {
                role(Role::Tree, about_name(file))
            }
            FolderRole::Whole
            | FolderRole::ButResources
            | FolderRole::Bundles
            | FolderRole::Client
            | FolderRole::Plugins
            | FolderRole::Hidden => RoleAssignment::default(),
        }
    }

    /// One of its folders with its view, and whether that folder has two roles.
    fn below(&self, name: &str, folder: &'a Arc<Folder>) -> (Self, bool) {
        let is_called_skills = name == SKILLS_FOLDER;
        let seen = |view| Self { is_called_skills, ..Self::new(folder, view, false) };
        let view = match self.view {
            FolderRole::Whole | FolderRole::ButResources if self.is_bundle() => FolderRole::Bundles,
            FolderRole::Whole | FolderRole::ButResources if is_hidden(name) => {
                match (self.is_called_skills, self.is_root) {
                    (true, _) => FolderRole::Bundles,
                    (false, true) => FolderRole::Client,
                    (false, false) => FolderRole::Hidden,
                }
            }
            FolderRole::Client if is_called_skills => FolderRole::Bundles,
            FolderRole::Client if name == "plugins" => FolderRole::Plugins,
            FolderRole::Plugins => FolderRole::Client,
            FolderRole::Whole | FolderRole::ButResources => {
                let named_resource = matches!(name, INDEX | ROOT)
                    || (self.view == FolderRole::ButResources
                        && matches!(name, "assets" | "scripts"));
                if named_resource {
                    FolderRole::Resources
                } else if self.folder.own_file(&format!("{name}.md")).is_none() {
                    FolderRole::Whole
                } else if folder.own_file("_index.md").is_some() {
                    return (seen(FolderRole::ButResources), true);
                } else {
                    FolderRole::Resources
                }
            }
            FolderRole::Client => FolderRole::Hidden,
            FolderRole::Bundles | FolderRole::Resources | FolderRole::Hidden => self.view,
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

/// Where skills are known to lie.
pub(super) const SKILLS_FOLDER: &str = "skills";
/// What the file of a bundle is called.
pub(super) const BUNDLE_FILE: &str = "SKILL.md";

/// Whether a file says that a folder is a plugin: `plugin.json` in the folder or in its `.claude-plugin`.
fn is_plugin_manifest(file: &RelPath) -> bool {
    let folder = file.folder();
    file.name() == "plugin.json"
        && (folder.name() == PLUGIN_FOLDER || !folder.as_str().split('/').any(is_hidden))
}

/// The folder of a file that says that the folder around is a plugin.
pub(super) fn plugin_folder(manifest: &RelPath) -> RelPath {
    let folder = manifest.folder();
    if folder.name() == PLUGIN_FOLDER { folder.folder() } else { folder }
}

const PLUGIN_FOLDER: &str = ".claude-plugin";

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

/// The finding about a skill in a resource folder.
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

/// Findings about the spelling of a bundle's file.
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

/// Findings about the name of a tree skill's file.
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
