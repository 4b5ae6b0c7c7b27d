//! Which folder holds the skills of the repository that a command is run in, and which layouts it has.
//!
//! Decided by names alone, as a person does who looks at the folder. Not here: what is served of it (source).

use std::path::{Path, PathBuf};

use super::created::names_in;
use crate::{
    cli::Context,
    paths::{exists, is_file, is_folder},
};

/// What a repository's folder of skills is called.
pub(super) const SKILLS_FOLDER: &str = "skills";
/// The file of a bundle.
pub(super) const BUNDLE_FILE: &str = "SKILL.md";
/// The rules of everything in a tree.
const ROOT_FILE: &str = "_root.md";
/// The rules of a folder of a tree.
pub(super) const INDEX_FILE: &str = "_index.md";

/// The folder of skills around a folder: the nearest, up to the repository's root.
pub(super) fn around(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    for folder in start.ancestors() {
        if let Some(found) = at(folder) {
            return Some(found);
        }
        if exists(&folder.join(".git")) || Some(folder) == home {
            break;
        }
    }
    None
}

/// A command as it is, or over the repository that it is run in where it names no sources.
pub(in crate::cli) fn in_repository(context: &Context) -> Context {
    let mut context = context.clone();
    let environment = &context.environment;
    let is_named =
        !context.shared.directories.is_empty() || !context.shared.repositories.is_empty();
    let found = around(&environment.directory, environment.home.as_deref());
    context.shared.directories.extend(found.filter(|_| !is_named));
    context
}

/// The folder of skills that a folder is or has.
pub(super) fn at(folder: &Path) -> Option<PathBuf> {
    let below = folder.join(SKILLS_FOLDER);
    if is_file(&folder.join(ROOT_FILE)) {
        return Some(folder.to_path_buf());
    }
    if is_folder(&below) {
        return Some(below);
    }
    let is_called_so = folder.file_name().is_some_and(|name| name == SKILLS_FOLDER);
    let is_bundle = is_file(&folder.join(BUNDLE_FILE));
    (!is_bundle && (is_called_so || holds_tree(folder) || holds_bundles(folder)))
        .then(|| folder.to_path_buf())
}

/// Whether a folder has a tree's rules, or a category right below it.
pub(super) fn holds_tree(folder: &Path) -> bool {
    is_file(&folder.join(ROOT_FILE)) || any_below(folder, INDEX_FILE)
}

/// Whether a folder right below is a bundle.
pub(super) fn holds_bundles(folder: &Path) -> bool {
    any_below(folder, BUNDLE_FILE)
}

fn any_below(folder: &Path, file: &str) -> bool {
    names_in(folder).iter().any(|name| is_file(&folder.join(name).join(file)))
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn the_nearest_folder_of_skills_is_found_from_anywhere_in_the_repository() {
        let home = Home::new();
        for file in [
            "team/.git/HEAD",
            "team/config.yaml",
            "team/skills/_root.md",
            "team/skills/ui/react/auth.md",
            "team/docs/page.md",
            "bundles/one/SKILL.md",
            "bundles/one/assets/a.txt",
            "tree/api/_index.md",
            "project/.claude/skills/pdf/SKILL.md",
            "plain/.git/HEAD",
            "plain/src/main.rs",
            "empty/skills/.keep",
            "skills/.git/HEAD",
            "skills/skills/one/SKILL.md",
        ] {
            home.write(file, "");
        }
        let found = |start: &str| {
            let found = around(&home.path().join(start), Some(home.path()))?;
            Some(found.strip_prefix(home.path()).unwrap().to_string_lossy().into_owned())
        };
        for (start, expected) in [
            ("team", "team/skills"),
            ("team/skills", "team/skills"),
            ("team/skills/ui/react", "team/skills"),
            ("team/docs", "team/skills"),
            ("bundles", "bundles"),
            ("bundles/one/assets", "bundles"),
            ("tree", "tree"),
            ("tree/api", "tree"),
            ("project/.claude/skills", "project/.claude/skills"),
            ("project/.claude/skills/pdf", "project/.claude/skills"),
            ("empty", "empty/skills"),
            ("skills", "skills/skills"),
        ] {
            assert_eq!(found(start).as_deref(), Some(expected), "{start}");
        }
        // The search ends at the repository's root.
        assert_eq!(found("plain/src"), None);
    }
}
