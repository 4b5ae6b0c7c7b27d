//! [`SkillPath`]: a tree skill's identity within its source, with its parent, title and name.

use std::{fmt, sync::Arc};

use crate::relpath::RelPath;

/// A tree skill's path: its file without `.md`, such as `ui/react/auth` or `ui/_index`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPath(Arc<str>);

/// The file name, without `.md`, of the skill above all others.
pub(super) const ROOT: &str = "_root";
/// The file name, without `.md`, of a folder's own skill.
pub(super) const INDEX: &str = "_index";

impl SkillPath {
    /// The path of the skill in this file, or `None` where the file is not Markdown.
    pub fn of_file(file: &RelPath) -> Option<Self> {
        let stem = file.as_str().strip_suffix(".md")?;
        (!stem.is_empty() && !stem.ends_with('/')).then(|| Self(Arc::from(stem)))
    }

    /// The path of the bundle in this folder. One at the top of its source is called by its name.
    pub(super) fn of_bundle(folder: &RelPath, name: &str) -> Self {
        Self(if folder.is_root() { Arc::from(name) } else { Arc::from(folder.as_str()) })
    }

    pub(super) fn shared(&self) -> &Arc<str> {
        &self.0
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the parent would be (LAYOUT-3); it need not exist.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if &*self.0 == ROOT {
            return None;
        }
        let (folder, last) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        let above = if last == INDEX {
            folder.rsplit_once('/').map_or("", |(above, _)| above)
        } else {
            folder
        };
        Some(Self(if above.is_empty() {
            Arc::from(ROOT)
        } else {
            format!("{above}/{INDEX}").into()
        }))
    }

    /// The folder that the skill is in.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is a folder's own skill.
    pub fn is_index(&self) -> bool {
        self.name() == INDEX
    }

    /// Whether this is the skill above all others.
    pub fn is_root(&self) -> bool {
        &*self.0 == ROOT
    }

    /// The heading of its section (COMPOSE-1): `UI > REACT > AUTH`.
    pub fn title(&self) -> String {
        if self.is_root() {
            return "GLOBAL RULES".to_owned();
        }
        let segments: Vec<String> =
            self.0.split('/').filter(|segment| *segment != INDEX).map(str::to_uppercase).collect();
        // Only an `_index.md` at the top has no segment left.
        if segments.is_empty() {
            return "INDEX".to_owned();
        }
        segments.join(" > ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SkillPath {
        SkillPath::of_file(&RelPath::parse(&format!("{text}.md")).unwrap()).unwrap()
    }

    #[test]
    fn layout_3_parents_are_derived_from_paths() {
        let table = [
            ("_root", None),
            ("ui/_index", Some("_root")),
            ("ui/react/_index", Some("ui/_index")),
            ("ui/react/auth", Some("ui/react/_index")),
            ("no-inherit", Some("_root")),
            ("_index", Some("_root")),
        ];
        for (child, parent) in table {
            assert_eq!(path(child).parent().as_ref().map(SkillPath::as_str), parent, "{child}");
        }
    }

    #[test]
    fn compose_1_titles_are_upper_case_without_index() {
        let table = [
            ("_root", "GLOBAL RULES"),
            ("ui/_index", "UI"),
            ("ui/react/_index", "UI > REACT"),
            ("ui/react/auth", "UI > REACT > AUTH"),
            ("my  docs/été", "MY DOCS > ÉTÉ"),
            ("_index", "INDEX"),
        ];
        for (skill, title) in table {
            assert_eq!(path(skill).title(), title);
        }
    }

    #[test]
    fn a_file_that_is_only_an_extension_is_no_skill() {
        for file in [".md", "ui/.md", "ui/notes.txt"] {
            assert_eq!(SkillPath::of_file(&RelPath::parse(file).unwrap()), None, "{file}");
        }
    }
}
