//! File names and parsed files → one catalog: which files are skills, their names and parents, which
//! folder belongs to which skill, how a skill is looked up, and what changed.

mod bundles;
mod deltas;
mod elsewhere;
mod lookup;
mod paths;
mod resources;
mod several_sources;
mod trees;

use proptest::prelude::*;
use skills_core::catalog::{
    Access, Catalog, Delta, FileEntry, Folder, FolderItem, Presence, TreeNode,
};

use crate::support::{
    body, catalog, catalog_from, catalog_from_sources, catalog_of, diagnostics, identities,
    path_of, refreshed, scan, scan_with, skill, skill_file,
};

/// A catalog of skills in these files, each with the same front matter.
fn skills(files: &[&str]) -> Catalog {
    catalog_from(&files.iter().map(|file| skill_file(file, "word", "body")).collect())
}

/// Like [`skills`], for several sources.
fn sources(sources: &[(&str, &[&str])]) -> Catalog {
    catalog_from_sources(sources.iter().map(|(source, files)| {
        let files = files.iter().map(|file| skill_file(file, "word", source)).collect();
        scan(source, &files)
    }))
}

/// A source with something odd of every kind.
fn odd_source() -> Vec<(String, String)> {
    let mut files: Vec<_> = [
        "_root.md",
        "_root/inside.md",
        "a.md",
        "a-b.md",
        "A.md",
        "ui/_index.md",
        "ui/auth.md",
        "ui/auth/_index.md",
        "ui/auth/login.md",
        "ui/auth/assets/inside.md",
        "ui/_root.md",
        "pdf/SKILL.md",
        "pdf/reference.md",
        "my skill.md",
    ]
    .map(|file| skill_file(file, "word", "body"))
    .into();
    files.extend([
        ("README.md".to_owned(), "# Hello\n".to_owned()),
        ("broken.md".to_owned(), "---\nkeywords: [\n---\n".to_owned()),
        (
            "files.md".to_owned(),
            "---\nkeywords: [x]\ndescription: a: b\nassets: [{file: gone, description: d}]\n---\n"
                .to_owned(),
        ),
    ]);
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_files_on_disk_does_not_matter(shuffled in Just(odd_source()).prop_shuffle()) {
        let (expected, got) = (catalog_from(&odd_source()), catalog_from(&shuffled));
        prop_assert_eq!(identities(&got), identities(&expected));
        prop_assert_eq!(diagnostics(&got), diagnostics(&expected));
        for (a, b) in expected.skills().zip(got.skills()) {
            let above = |catalog: &Catalog, skill| {
                catalog.ancestors(skill).map(|above| above.identity.to_string()).collect::<Vec<_>>()
            };
            prop_assert_eq!(above(&expected, a), above(&got, b));
        }
        let digests = |catalog: &Catalog| -> Vec<_> {
            catalog.skills().map(|skill| *skill.document().digest()).collect()
        };
        prop_assert_eq!(digests(&got), digests(&expected));
    }
}
