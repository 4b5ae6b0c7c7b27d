//! The catalog as a tree of folders and skills.

use std::collections::{BTreeMap, HashSet};

use super::{Catalog, Origin, Skill, SkillKind, Source};

/// A folder or a skill. A folder's own skill is its `_index`, the root's is `_root`.
#[derive(Debug)]
pub struct TreeNode<'a> {
    /// The folder's or the skill's name; `root` for the root.
    pub name: &'a str,
    /// The catalog path of its skill, else the folder's path.
    pub path: String,
    /// The skill that describes it.
    pub skill: Option<&'a Skill>,
    /// The nodes below, by name.
    pub children: Vec<TreeNode<'a>>,
}

#[derive(Default)]
struct Branch<'a> {
    own: Option<&'a Skill>,
    folders: BTreeMap<&'a str, Branch<'a>>,
    leaves: BTreeMap<&'a str, &'a Skill>,
}

impl Catalog {
    /// The whole tree: the root of the only source, or a root whose children are the sources.
    pub fn tree(&self) -> TreeNode<'_> {
        let mut roots = self.roots();
        if roots.len() > 1 {
            // An agent's directory without skills gets no branch.
            let mut named =
                self.visible_sources().map(|(_, source)| source.origin == Origin::Named);
            roots.retain(|root| named.next() == Some(true) || root.count() > 0);
            return TreeNode {
                name: "root",
                path: "_root".to_owned(),
                skill: None,
                children: roots,
            };
        }
        let nothing = || TreeNode {
            name: "root",
            path: "_root".to_owned(),
            skill: None,
            children: Vec::new(),
        };
        roots.pop().unwrap_or_else(nothing)
    }

    /// The node of this name: a skill's as [`Catalog::find`] finds it, a folder's path, a source's name.
    pub fn subtree(&self, requested: &str) -> Option<TreeNode<'_>> {
        if let Some(skill) = self.find(requested) {
            return self.tree().find(&|path| path == &*skill.identity);
        }
        let requested = requested.trim().trim_end_matches('/');
        if matches!(requested, "" | "root") {
            return Some(self.tree());
        }
        let folded = requested.to_lowercase();
        self.tree()
            .find(&|path| path == requested)
            .or_else(|| self.tree().find(&|path| path.to_lowercase() == folded))
            .or_else(|| self.in_source(&folded))
    }

    /// A source's root by the source's name, or one of its folders by `source:folder`.
    fn in_source(&self, requested: &str) -> Option<TreeNode<'_>> {
        let (name, folder) = requested.split_once(':').unwrap_or((requested, ""));
        let source =
            self.visible_sources().position(|(_, source)| source.name.to_lowercase() == name)?;
        let root = self.roots().into_iter().nth(source)?;
        if folder.is_empty() {
            Some(root)
        } else {
            root.find(&|path| path.to_lowercase() == folder)
        }
    }

    /// Each source's root, first-named first.
    fn roots(&self) -> Vec<TreeNode<'_>> {
        let only = self.visible_sources().count() == 1;
        let mut roots = Vec::with_capacity(self.sources.len());
        let mut claimed = HashSet::new();
        for (index, source) in self.visible_sources() {
            let source = &*source.name;
            let mut labels = FolderLabels { source, claimed: &mut claimed };
            let name = if only { "root" } else { source };
            let mut root = self.branch(index).into_node(name, "", &mut labels);
            if root.skill.is_none() {
                root.path = if only { "_root".to_owned() } else { format!("{source}:_root") };
            }
            roots.push(root);
        }
        roots
    }

    fn visible_sources(&self) -> impl Iterator<Item = (usize, &Source)> {
        self.sources.iter().enumerate().filter(|(number, _)| self.is_visible(*number))
    }

    fn branch(&self, source: usize) -> Branch<'_> {
        let mut root = Branch::default();
        for skill in self.skills().filter(|skill| skill.source == source) {
            // A bundle describes its folder, as an `_index` does.
            let is_bundle = skill.kind == SkillKind::Bundle && !skill.file.folder().is_root();
            let place = if is_bundle { skill.path.as_str() } else { skill.path.folder() };
            let mut branch = &mut root;
            for folder in place.split('/').filter(|name| !name.is_empty()) {
                branch = branch.folders.entry(folder).or_default();
            }
            let describes_its_folder = is_bundle
                || skill.path.is_root()
                || (skill.path.is_index() && !skill.path.folder().is_empty());
            if describes_its_folder {
                branch.own = Some(skill);
            } else {
                branch.leaves.insert(skill.path.name(), skill);
            }
        }
        root
    }
}

/// The labels of folders without a skill of their own: as with skills, the first-named source wins a bare path.
struct FolderLabels<'l> {
    source: &'l str,
    claimed: &'l mut HashSet<String>,
}

impl FolderLabels<'_> {
    fn label(&mut self, folder: &str) -> String {
        if self.claimed.insert(folder.to_owned()) {
            folder.to_owned()
        } else {
            format!("{}:{folder}", self.source)
        }
    }
}

impl<'a> Branch<'a> {
    fn into_node(self, name: &'a str, folder: &str, labels: &mut FolderLabels<'_>) -> TreeNode<'a> {
        let label = labels.label(folder);
        let leaf = |(name, skill): (&'a str, &'a Skill)| TreeNode {
            name,
            path: skill.identity.to_string(),
            skill: Some(skill),
            children: Vec::new(),
        };
        let mut children: Vec<TreeNode<'a>> = self.leaves.into_iter().map(leaf).collect();
        children.extend(self.folders.into_iter().map(|(name, branch)| {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            branch.into_node(name, &path, labels)
        }));
        children.sort_by(|a, b| a.name.cmp(b.name).then_with(|| a.path.cmp(&b.path)));
        let path = self.own.map_or(label, |skill| skill.identity.to_string());
        TreeNode { name, path, skill: self.own, children }
    }
}

impl TreeNode<'_> {
    /// The first node whose path is the wanted one, at or below this one.
    fn find(self, wanted: &impl Fn(&str) -> bool) -> Option<Self> {
        if wanted(&self.path) {
            return Some(self);
        }
        self.children.into_iter().find_map(|child| child.find(wanted))
    }

    /// Takes away the skills that only their users start, and the folders that hold nothing else.
    pub fn for_models(&mut self) {
        self.skill = self.skill.filter(|skill| skill.is_for_models());
        self.children.retain_mut(|child| {
            let before = child.count();
            child.for_models();
            before == 0 || child.count() > 0
        });
    }

    /// How many skills are at or below this node.
    pub fn count(&self) -> usize {
        usize::from(self.skill.is_some()) + self.children.iter().map(Self::count).sum::<usize>()
    }
}
