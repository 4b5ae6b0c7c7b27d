//! Lints of the files beside a skill: those that no declaration and no text names.

use std::collections::BTreeSet;

use super::{CheckedSkill, listed};
use crate::{
    catalog::{Folder, SkillKind},
    diagnostic::{Code, Finding},
    relpath::RelPath,
};

/// Names of files that belong to a folder for the people and programs around it, not for an agent.
const FILES_OF_FOLDERS: &[&str] = &[
    "license",
    "licence",
    "notice",
    "readme",
    "changelog",
    "contributing",
    "makefile",
    "dockerfile",
    "package",
    "package-lock",
    "pyproject",
    "requirements",
    "uv",
    "poetry",
    "yarn",
    "pnpm-lock",
    "cargo",
    "go",
    "tsconfig",
    "__init__",
    "conftest",
    "thumbs",
];
/// Extensions of programs, which name others without their extension.
const PROGRAM_EXTENSIONS: &[&str] =
    &["py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "rb", "sh", "go", "rs"];
/// With fewer letters a name is found in any text.
const MIN_STEM_CHARS: usize = 4;

pub(super) fn lint(checked: &CheckedSkill<'_>, found: &mut Vec<Finding>) {
    let Some(folder) = checked.catalog.files(checked.skill) else { return };
    let unnamed: Vec<RelPath> = match checked.skill.kind {
        SkillKind::Tree => undeclared(checked, folder),
        // Whatever of a source is no other skill's belongs to a bundle at its top.
        SkillKind::Bundle if checked.skill.file.folder().is_root() => return,
        SkillKind::Bundle => unreferenced(checked, folder),
    };
    if unnamed.is_empty() {
        return;
    }
    let names: Vec<&str> = unnamed.iter().map(RelPath::as_str).collect();
    let (is, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    found.push(match checked.skill.kind {
        SkillKind::Tree => {
            let message =
                format!("{} {is} in the resource folder and not declared", listed(&names));
            Finding::whole(Code::FileUndeclared, message)
                .hint(format!("declare {them} under `assets` or `scripts`, or remove {them}"))
        }
        SkillKind::Bundle => {
            let message = format!("no text of the bundle names {}", listed(&names));
            Finding::whole(Code::FileUnreferenced, message)
                .hint(format!("say in the text when to read {them}, or remove {them}"))
        }
    });
}

/// Files of a tree skill's resource folder that are not declared, and that no declared file names.
fn undeclared(checked: &CheckedSkill<'_>, folder: &Folder) -> Vec<RelPath> {
    let declared: BTreeSet<&RelPath> = checked.skill.declared().collect();
    let is_category = folder.own_file("_index.md").is_some();
    let is_resource = |path: &RelPath| {
        // A folder with an `_index.md` is a category too, and only these two belong to the skill beside it.
        !is_category
            || path.segments().next().is_some_and(|first| matches!(first, "assets" | "scripts"))
    };
    let is_named = |path: &RelPath| {
        let texts = checked.files.iter().filter(|file| declared.contains(&file.path));
        texts.into_iter().any(|file| names_file(&file.text, path))
    };
    let paths = folder.paths().into_iter();
    paths
        .filter(|path| !declared.contains(path) && is_resource(path) && !is_of_folder(path))
        .filter(|path| !is_named(path))
        .collect()
}

/// Files of a bundle that no text of it names.
fn unreferenced(checked: &CheckedSkill<'_>, folder: &Folder) -> Vec<RelPath> {
    let own = checked.skill.file.name();
    let nested = nested_bundles(folder);
    let is_nested = |path: &RelPath| {
        nested.iter().any(|bundle| path.as_str().starts_with(&format!("{bundle}/")))
    };
    let paths = folder.paths().into_iter();
    paths
        .filter(|path| path.as_str() != own && !is_nested(path) && !is_of_folder(path))
        .filter(|path| {
            !names_file(checked.text.body(), path)
                && !checked
                    .files
                    .iter()
                    .any(|file| file.path != *path && names_file(&file.text, path))
        })
        .collect()
}

/// The folders below that are bundles of their own.
fn nested_bundles(folder: &Folder) -> Vec<RelPath> {
    let is_bundle =
        |path: &RelPath| path.name().eq_ignore_ascii_case("SKILL.md") && !path.folder().is_root();
    folder.paths().iter().filter(|path| is_bundle(path)).map(RelPath::folder).collect()
}

/// Whether a file is for the people and programs around the folder, or hidden.
fn is_of_folder(path: &RelPath) -> bool {
    let stem = path.name().split('.').next().unwrap_or_default().to_lowercase();
    path.segments().any(|name| {
        name.starts_with('.') || matches!(name, "__pycache__" | "node_modules" | "agents")
    }) || FILES_OF_FOLDERS.contains(&stem.as_str())
        || path.name().rsplit('.').next().is_some_and(|extension| extension == "lock")
}

/// Whether a text names a file: by its path, its name, a folder it is in, or, for a program, its name without extension.
fn names_file(text: &str, path: &RelPath) -> bool {
    if text.contains(path.name()) {
        return true;
    }
    let mut above = path.folder();
    while !above.is_root() {
        if text.contains(&format!("{above}/")) || text.contains(&format!("`{above}`")) {
            return true;
        }
        above = above.folder();
    }
    path.name().rsplit_once('.').is_some_and(|(stem, extension)| {
        PROGRAM_EXTENSIONS.contains(&extension)
            && stem.chars().count() >= MIN_STEM_CHARS
            && text.contains(stem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_file_in_several_ways() {
        let path = |path: &str| RelPath::parse(path).unwrap();
        for (text, file, named) in [
            ("see references/a.md", "references/a.md", true),
            ("read a.md first", "references/a.md", true),
            ("everything in references/ counts", "references/deep/a.md", true),
            ("from helpers import x", "scripts/helpers.py", true),
            ("nothing of the kind", "references/a.md", false),
            ("an ab here", "scripts/ab.py", false),
        ] {
            assert_eq!(names_file(text, &path(file)), named, "{text} / {file}");
        }
        assert!(is_of_folder(&path("LICENSE.txt")) && is_of_folder(&path("a/.hidden/x")));
        assert!(!is_of_folder(&path("references/api.md")));
    }
}
