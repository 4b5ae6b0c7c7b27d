//! [`Source`]: what the catalog keeps of each source.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, LazyLock, OnceLock},
};

use super::{Folder, Origin, layout::Role};
use crate::{
    catalog::layout::{BUNDLE_FILE, in_resources, plugin_folder},
    diagnostic::{Code, Finding},
    document::Parsed,
    relpath::RelPath,
    sorted::{Sorted, SortedItem},
};

/// A source as the catalog was built from it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, unique among the sources.
    pub name: Arc<str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Everything below its root.
    pub root: Arc<Folder>,
    /// Problems of the scan: file, as text, and finding.
    pub(super) scan_findings: Arc<[(String, Finding)]>,
    /// Every file with a role or a finding, by path.
    pub(super) held: Sorted<Arc<SourceFile>>,
    /// The names of the plugins in it, by their folders.
    pub(super) plugins: Arc<BTreeMap<RelPath, Arc<str>>>,
    /// Where its skills are; known once a file asks that may be no skill.
    pub(super) places: OnceLock<SkillPlaces>,
}

/// Where the skills of a source are, to tell a broken skill from a file for something else.
#[derive(Debug, Clone, Default)]
pub(super) struct SkillPlaces {
    /// The folders with tree skills right in them.
    tree_folders: HashSet<RelPath>,
    /// The folders of bundles.
    bundles: HashSet<RelPath>,
    /// The last parts of these, in lower case.
    bundle_names: HashSet<String>,
    /// The finding about bundles that are not read, if there is no skill.
    unread: Option<Finding>,
}

impl Source {
    /// Problems of the scan: file, as text, and finding.
    pub fn scan_findings(&self) -> &[(String, Finding)] {
        &self.scan_findings
    }

    /// The plugin that a folder belongs to, the nearest around it, with its folder.
    pub(super) fn plugin_of(&self, folder: &RelPath) -> Option<(RelPath, &Arc<str>)> {
        let mut above = folder.clone();
        while !self.plugins.is_empty() {
            if let Some(plugin) = self.plugins.get(&above) {
                return Some((above, plugin));
            }
            if above.is_root() {
                break;
            }
            above = above.folder();
        }
        None
    }

    /// Takes the plugins from the files that name them, if one of these does; returns the bundles that may belong to another plugin
    /// than before.
    pub(super) fn renew_plugins(&mut self, files: &BTreeSet<RelPath>) -> Vec<RelPath> {
        let is_manifest = |file: &&RelPath| file.name() == "plugin.json";
        let changed: Vec<RelPath> = files.iter().filter(is_manifest).map(plugin_folder).collect();
        if changed.is_empty() {
            return Vec::new();
        }
        let plugin = |held: &Arc<SourceFile>| {
            let name = held.parsed.as_ref().filter(|_| held.role == Some(Role::Plugin))?;
            Some((plugin_folder(&held.file), name.plugin.clone()?))
        };
        self.plugins = Arc::new(self.held.iter().filter_map(plugin).collect());
        let is_below = |file: &RelPath| {
            let below = |folder: &RelPath| file.as_str().strip_prefix(folder.as_str());
            changed.iter().any(|folder| folder.is_root() || below(folder).is_some())
        };
        let bundles = self.held.iter().filter(|held| held.role == Some(Role::Bundle));
        bundles.map(|held| held.file.clone()).filter(is_below).collect()
    }

    /// Where its skills are.
    fn places(&self) -> &SkillPlaces {
        self.places.get_or_init(|| {
            let mut places = SkillPlaces::default();
            for held in self.held.iter().filter(|held| held.is_skill()) {
                let folder = held.file.folder();
                if held.role == Some(Role::Bundle) {
                    places.bundle_names.insert(folder.name().to_lowercase());
                    places.bundles.insert(folder);
                } else if held.role == Some(Role::Tree) {
                    places.tree_folders.insert(folder);
                }
            }
            if places.tree_folders.is_empty() && places.bundles.is_empty() {
                places.unread = unread(&self.root);
            }
            places
        })
    }

    /// Says where bundles lie that are not read, if the source gives no skill.
    pub(super) fn unread(&self) -> Option<&Finding> {
        let is_empty = !self.held.iter().any(|held| held.is_skill());
        is_empty.then(|| self.places().unread.as_ref()).flatten()
    }

    /// What each file that was read says, by path.
    pub fn parsed(&self) -> impl Iterator<Item = (&RelPath, &Arc<Parsed>)> {
        self.held.iter().filter_map(|held| Some((&held.file, held.parsed.as_ref()?)))
    }

    /// Whether its scan found the same problems.
    pub fn has_same_scan_findings(&self, other: &Self) -> bool {
        self.scan_findings == other.scan_findings
    }
}

/// The finding about Markdown that is for something else.
static NO_SKILL: LazyLock<Finding> = LazyLock::new(|| {
    let message =
        "front matter without `keywords` or another field of a tree skill, so this is not a skill";
    Finding::whole(Code::MarkdownNoSkill, message)
        .hint("add `keywords:` and `description:` to make it one")
});

/// The finding about bundles in a source that gives no skill.
fn unread(root: &Folder) -> Option<Finding> {
    let mut found: Vec<RelPath> = Vec::new();
    let mut left = vec![(RelPath::root(), root)];
    while let Some((path, folder)) = left.pop() {
        found.extend(folder.own_file(BUNDLE_FILE).map(|_| path.clone()));
        let below = folder.folders().iter();
        left.extend(below.filter_map(|(name, below)| Some((path.child(name).ok()?, &**below))));
    }
    found.sort();
    let first = found.first()?;
    let message = match found.len() {
        1 => format!("no skill is read here; a SKILL.md lies in `{first}`"),
        count => {
            format!("no skill is read here; {count} SKILL.md files lie in `{first}` and elsewhere")
        }
    };
    let hint = "name that folder, or the one around it, as a source";
    Some(Finding::whole(Code::SkillsUnread, message).hint(hint))
}

/// Whether a folder is called as clients call those of their commands and agents.
fn is_clients(folder: &RelPath) -> bool {
    matches!(folder.name(), "commands" | "agents" | "prompts")
}

/// Whether a file says what is common to its folder.
fn is_of_folder(file: &RelPath) -> bool {
    matches!(file.name(), "_root.md" | "_index.md")
}

/// A file that has a role or a finding.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) file: RelPath,
    pub(super) role: Option<Role>,
    /// Findings about its name or place.
    pub(super) layout: Vec<Finding>,
    /// Its parsed text, where it has a role.
    pub(super) parsed: Option<Arc<Parsed>>,
}

impl SourceFile {
    fn is_skill(&self) -> bool {
        self.parsed.as_ref().is_some_and(|parsed| parsed.skill.is_some())
            && matches!(self.role, Some(Role::Tree | Role::Bundle))
    }

    /// Whether there may be a finding about the file itself; most files have none, and every refresh asks all of them.
    pub(super) fn has_findings(&self) -> bool {
        let has_findings = |parsed: &Arc<Parsed>| !parsed.findings.is_empty();
        !self.layout.is_empty() || self.parsed.as_ref().is_some_and(has_findings)
    }

    /// All findings about the file itself.
    pub(super) fn findings(&self, source: &Source) -> impl Iterator<Item = &Finding> {
        let is_no_skill = self.is_no_skill(source);
        // Markdown among resources need not be a skill; only if it is one, `layout` has a finding.
        let is_markdown = !matches!(self.role, Some(Role::Resource | Role::Plugin));
        let parsed = self.parsed.iter().filter(move |_| is_markdown);
        let parsed = parsed.filter(move |_| !is_no_skill).flat_map(|parsed| &parsed.findings);
        self.layout.iter().chain(is_no_skill.then_some(&*NO_SKILL)).chain(parsed)
    }

    /// Whether it gives no skill and may have been meant as one: a `SKILL.md`, or Markdown with front matter.
    pub(super) fn is_broken_skill(&self) -> bool {
        let Some(parsed) = self.parsed.as_ref().filter(|parsed| parsed.skill.is_none()) else {
            return false;
        };
        let is_plain = || parsed.findings.iter().any(|it| it.code == Code::FrontMatterMissing);
        match self.role {
            Some(Role::Bundle) => true,
            Some(Role::Tree) => !is_plain(),
            Some(Role::Resource | Role::Plugin) | None => false,
        }
    }

    /// Whether it is for something else than a skill: Markdown such as a command or an agent of a client; a `SKILL.md` without front
    /// matter that is part of a bundle, or a translation of one.
    fn is_no_skill(&self, source: &Source) -> bool {
        let is_missing = |finding: &Finding| finding.code == Code::FrontMatterMissing;
        let parsed = self.parsed.as_ref().filter(|parsed| parsed.is_other_markdown);
        let Some(parsed) = parsed.filter(|parsed| !parsed.findings.iter().any(is_missing)) else {
            return false;
        };
        let folder = self.file.folder();
        match self.role {
            Some(Role::Tree) => {
                !is_of_folder(&self.file)
                    && (is_clients(&folder) || !source.places().tree_folders.contains(&folder))
            }
            Some(Role::Bundle) if !parsed.findings.is_empty() => {
                let places = source.places();
                let mut above = folder.clone();
                while !above.is_root() {
                    above = above.folder();
                    if places.bundles.contains(&above) {
                        return true;
                    }
                }
                places.bundle_names.contains(&folder.name().to_lowercase())
            }
            Some(Role::Bundle | Role::Resource | Role::Plugin) | None => false,
        }
    }

    /// Whether role, findings and text are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Arc<Parsed>, b: &Arc<Parsed>| Arc::ptr_eq(a, b) || a.is_same(b);
        self.role == other.role
            && self.layout == other.layout
            && match (&self.parsed, &other.parsed) {
                (Some(a), Some(b)) => same(a, b),
                (a, b) => a.is_none() && b.is_none(),
            }
    }

    /// A file with this role and text. A skill among resources gets a finding.
    pub(super) fn new(
        file: RelPath,
        role: Option<Role>,
        mut layout: Vec<Finding>,
        parsed: Option<Arc<Parsed>>,
    ) -> Self {
        let is_skill = parsed.as_ref().is_some_and(|parsed| parsed.skill.is_some());
        if role == Some(Role::Resource) && is_skill {
            layout.push(in_resources());
        }
        Self { file, role, layout, parsed }
    }
}

impl SortedItem for Arc<SourceFile> {
    fn order(&self, other: &Self) -> Ordering {
        self.file.cmp(&other.file)
    }
}
