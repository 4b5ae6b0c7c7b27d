//! Which Markdown file is a skill, and which folder belongs to one.
//!
//! The rules look at names only, so that they can be applied before anything is read: `X/` beside `X.md` is
//! X's resource folder, unless it has an `_index.md` of its own; `_index/` and `_root/` always are; a folder
//! with `SKILL.md` is a bundle, and all below it belongs to it.

use super::{
    intake::Folder,
    path::{INDEX, ROOT, SkillPath},
};
use crate::{
    diagnostic::{Code, Finding},
    document::Dialect,
    relpath::RelPath,
};

/// The roles of the files of one source.
#[derive(Debug, Default)]
pub struct Layout {
    /// Markdown files that may be tree skills, by path.
    pub candidates: Vec<RelPath>,
    /// The `SKILL.md` of each bundle, by path.
    pub bundles: Vec<RelPath>,
    /// Markdown files inside resource folders: not searched for skills, but looked at, to say so.
    pub resource_markdown: Vec<RelPath>,
    /// What is odd about the names.
    pub(super) findings: Vec<(RelPath, Finding)>,
}

impl Layout {
    /// Assigns the roles.
    pub fn of(root: &Folder, scope: Scope) -> Self {
        let mut layout = Self::default();
        layout.visit(root, &RelPath::root(), Searched::Whole, scope);
        // By skill path, not by file: `a` comes before `a-b`, though `a.md` comes after `a-b.md`.
        layout.candidates.sort_by(|a, b| SkillPath::of_file(a).cmp(&SkillPath::of_file(b)));
        layout.bundles.sort_by_key(RelPath::folder);
        layout.resource_markdown.sort();
        layout
    }

    /// Every file that has to be read to build a catalog.
    pub fn markdown(&self) -> Vec<(RelPath, Dialect)> {
        let tree =
            self.candidates.iter().chain(&self.resource_markdown).map(|file| (file, Dialect::Tree));
        let bundles = self.bundles.iter().map(|file| (file, Dialect::Bundle));
        tree.chain(bundles).map(|(file, dialect)| (file.clone(), dialect)).collect()
    }

    fn visit(&mut self, folder: &Folder, path: &RelPath, searched: Searched, scope: Scope) {
        if self.take_bundle(folder, path) && !path.is_root() {
            // All below belongs to the bundle; nested bundles are bundles of their own too.
            return self.visit_bundles(folder, path);
        }
        if scope == Scope::Bundles {
            return self.visit_bundles(folder, path);
        }
        for name in folder.files.keys().filter(|name| is_candidate(name)) {
            let Ok(file) = path.child(name) else { continue };
            self.look_at_name(&file);
            self.candidates.push(file);
        }
        for (name, below) in folder.folders.iter().filter(|(name, _)| !is_hidden(name)) {
            let Ok(below_path) = path.child(name) else { continue };
            match role(folder, name, below, searched) {
                Role::Category => self.visit(below, &below_path, Searched::Whole, scope),
                Role::Resources => self.resources(below, &below_path),
                Role::Both => {
                    self.found(
                        &below_path,
                        Code::FolderHasTwoRoles,
                        format!("a category, because it has _index.md, and the resource folder of {name}.md beside it"),
                    );
                    self.visit(below, &below_path, Searched::ButResources, scope);
                }
            }
        }
    }

    /// Notes the folder's `SKILL.md`, where it has one. The exact spelling wins over others.
    fn take_bundle(&mut self, folder: &Folder, path: &RelPath) -> bool {
        let mut spellings: Vec<&str> =
            folder.files.keys().map(AsRef::as_ref).filter(|name| is_bundle_file(name)).collect();
        spellings.sort_by_key(|name| *name != BUNDLE_FILE);
        let Some(file) = spellings.first().and_then(|name| path.child(name).ok()) else {
            return false;
        };
        if let Some(other) = spellings.get(1) {
            self.found(
                &file,
                Code::FileNameTwice,
                format!("`{other}` stands beside it and is not read"),
            );
        }
        if file.name() != BUNDLE_FILE {
            self.found(&file, Code::FileNameUnusual, "should be called `SKILL.md`");
        }
        self.bundles.push(file);
        true
    }

    fn visit_bundles(&mut self, folder: &Folder, path: &RelPath) {
        for (name, below) in &folder.folders {
            let Ok(below_path) = path.child(name) else { continue };
            self.take_bundle(below, &below_path);
            self.visit_bundles(below, &below_path);
        }
    }

    fn resources(&mut self, folder: &Folder, path: &RelPath) {
        for name in folder.files.keys().filter(|name| name.ends_with(".md")) {
            match path.child(name) {
                Ok(file) if is_bundle_file(name) => {
                    self.findings.push((file, in_resources()));
                }
                file => self.resource_markdown.extend(file),
            }
        }
        for (name, below) in &folder.folders {
            if let Ok(below_path) = path.child(name) {
                self.resources(below, &below_path);
            }
        }
    }

    fn look_at_name(&mut self, file: &RelPath) {
        if file.name() == "_root.md" && !file.folder().is_root() {
            self.found(
                file,
                Code::RootMisplaced,
                "`_root.md` counts only at the top; this is a plain skill",
            );
        }
        let awkward =
            |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@' | '/'));
        if let Some(c) = file.as_str().chars().find(|c| awkward(*c)) {
            self.found(
                file,
                Code::NameUnusual,
                format!("{c:?} in the name is awkward to type in a skill path"),
            );
        }
    }

    fn found(&mut self, path: &RelPath, code: Code, message: impl Into<String>) {
        self.findings.push((path.clone(), Finding::whole(code, message)));
    }
}

/// What the file of a bundle is called.
const BUNDLE_FILE: &str = "SKILL.md";

fn is_bundle_file(name: &str) -> bool {
    name.eq_ignore_ascii_case(BUNDLE_FILE)
}

fn is_candidate(name: &str) -> bool {
    !is_hidden(name) && !is_bundle_file(name) && name.strip_suffix(".md").is_some()
}

/// What is looked for in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Tree skills and bundles.
    All,
    /// Bundles only.
    Bundles,
}

/// What is said of a skill that lies where none is looked for.
pub(super) fn in_resources() -> Finding {
    Finding::whole(Code::SkillInResources, "a skill inside a resource folder is not served")
        .hint("move it out, or give the folder an _index.md to make it a category")
}

/// Editors' and tools' own files; assets may well be hidden, skills are not.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// How a folder's own folders are looked at.
#[derive(Clone, Copy, PartialEq)]
enum Searched {
    Whole,
    /// `assets/` and `scripts/` belong to the skill beside the folder.
    ButResources,
}

enum Role {
    Category,
    Resources,
    Both,
}

fn role(parent: &Folder, name: &str, folder: &Folder, searched: Searched) -> Role {
    let named_resource = matches!(name, INDEX | ROOT)
        || (searched == Searched::ButResources && matches!(name, "assets" | "scripts"));
    if named_resource {
        Role::Resources
    } else if !parent.files.contains_key(format!("{name}.md").as_str()) {
        Role::Category
    } else if folder.files.contains_key("_index.md") {
        Role::Both
    } else {
        Role::Resources
    }
}
