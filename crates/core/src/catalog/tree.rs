//! The catalog as folders and skills, for whoever wants to browse it.

use std::collections::BTreeMap;

use super::{Catalog, Skill};

/// A folder or a skill. A folder's own skill is its `_index`, the root's is `_root`.
#[derive(Debug)]
pub struct TreeNode<'a> {
    /// The folder's or the skill's name; `root` for the root.
    pub name: &'a str,
    /// The catalog path of its skill, else the folder's path.
    pub path: String,
    /// The skill that describes it.
    pub skill: Option<&'a Skill>,
    /// What lies below, by name.
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
        match self.sources.as_slice() {
            [] => TreeNode {
                name: "root",
                path: "_root".to_owned(),
                skill: None,
                children: Vec::new(),
            },
            [_] => self.branch(0).into_root("root", "_root".to_owned()),
            sources => {
                let branch =
                    |(index, name)| self.branch(index).into_root(name, format!("{name}:_root"));
                let children = sources.iter().map(AsRef::as_ref).enumerate().map(branch).collect();
                TreeNode { name: "root", path: "_root".to_owned(), skill: None, children }
            }
        }
    }

    /// The node of this name: a skill's as [`Catalog::find`] finds it, a folder's path, a source's name.
    pub fn subtree(&self, asked: &str) -> Option<TreeNode<'_>> {
        let asked = asked.trim().trim_end_matches('/');
        let root = self.tree();
        if matches!(asked, "" | "root") {
            return Some(root);
        }
        let wanted = self.find(asked).map_or(asked, |skill| &*skill.identity).to_owned();
        root.take(&wanted)
    }

    fn branch(&self, source: usize) -> Branch<'_> {
        let mut root = Branch::default();
        for skill in self.skills.iter().filter(|skill| skill.source == source) {
            let mut branch = &mut root;
            for folder in skill.path.folder().split('/').filter(|name| !name.is_empty()) {
                branch = branch.folders.entry(folder).or_default();
            }
            let describes_its_folder =
                skill.path.is_root() || (skill.path.is_index() && !skill.path.folder().is_empty());
            if describes_its_folder {
                branch.own = Some(skill);
            } else {
                branch.leaves.insert(skill.path.name(), skill);
            }
        }
        root
    }
}

impl<'a> Branch<'a> {
    fn into_root(self, name: &'a str, path: String) -> TreeNode<'a> {
        let mut root = self.into_node(name, "");
        root.path = root.skill.map_or(path, |skill| skill.identity.to_string());
        root
    }

    fn into_node(self, name: &'a str, folder: &str) -> TreeNode<'a> {
        let path = self.own.map_or_else(|| folder.to_owned(), |skill| skill.identity.to_string());
        let leaf = |(name, skill): (&'a str, &'a Skill)| TreeNode {
            name,
            path: skill.identity.to_string(),
            skill: Some(skill),
            children: Vec::new(),
        };
        let mut children: Vec<TreeNode<'a>> = self.leaves.into_iter().map(leaf).collect();
        children.extend(self.folders.into_iter().map(|(name, branch)| {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            branch.into_node(name, &path)
        }));
        children.sort_by(|a, b| a.name.cmp(b.name).then_with(|| a.path.cmp(&b.path)));
        TreeNode { name, path, skill: self.own, children }
    }
}

impl TreeNode<'_> {
    /// The node with this path, at or below this one.
    fn take(self, path: &str) -> Option<Self> {
        if self.path == path || self.path.strip_suffix("/_index") == Some(path) {
            return Some(self);
        }
        self.children.into_iter().find_map(|child| child.take(path))
    }

    /// How many skills lie at or below this node.
    pub fn count(&self) -> usize {
        usize::from(self.skill.is_some()) + self.children.iter().map(Self::count).sum::<usize>()
    }
}
