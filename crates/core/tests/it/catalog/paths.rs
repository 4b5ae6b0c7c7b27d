//! Which files are skills, and the paths they get.

use super::*;

#[test]
fn layout_2_paths_are_files_without_their_extension() {
    let table = [
        ("_root.md", "_root"),
        ("no-inherit.md", "no-inherit"),
        ("ui/_index.md", "ui/_index"),
        ("ui/react/_index.md", "ui/react/_index"),
        ("ui/react/auth.md", "ui/react/auth"),
    ];
    let catalog = skills(&table.map(|(file, _)| file));
    let found: Vec<_> = catalog.skills().map(|s| (s.file.as_str(), s.path.as_str())).collect();
    assert_eq!(found, table);
    assert_eq!(identities(&catalog), table.map(|(_, path)| path));
    assert_eq!(diagnostics(&catalog), [""; 0]);
}

#[test]
fn skills_come_in_the_order_of_their_paths_and_not_of_their_files() {
    // As files, `a-b.md` comes before `a.md`.
    assert_eq!(identities(&skills(&["a-b.md", "a.md"])), ["a", "a-b"]);
}

fn ancestors<'a>(catalog: &'a Catalog, name: &str) -> Vec<&'a str> {
    catalog.ancestors(skill(catalog, name)).map(|above| above.path.as_str()).collect()
}

#[test]
fn layout_3_every_skill_has_the_chain_of_its_folders() {
    let catalog = skills(&[
        "_root.md",
        "ui/_index.md",
        "ui/react/_index.md",
        "ui/react/auth.md",
        "no-inherit.md",
    ]);
    assert_eq!(ancestors(&catalog, "_root"), [""; 0]);
    assert_eq!(ancestors(&catalog, "ui/_index"), ["_root"]);
    assert_eq!(ancestors(&catalog, "ui/react/_index"), ["ui/_index", "_root"]);
    assert_eq!(ancestors(&catalog, "ui/react/auth"), ["ui/react/_index", "ui/_index", "_root"]);
    assert_eq!(ancestors(&catalog, "no-inherit"), ["_root"]);
}

// LAYOUT-3
#[test]
fn a_missing_parent_is_skipped_for_its_own_parent() {
    let catalog = skills(&["a/_index.md", "a/b/c/d.md", "_root.md", "x/y/z.md"]);
    assert_eq!(ancestors(&catalog, "a/b/c/d"), ["a/_index", "_root"]);
    assert_eq!(ancestors(&catalog, "x/y/z"), ["_root"]);
}

#[test]
fn without_a_root_the_chain_ends_at_the_top_category() {
    let catalog = skills(&["a/_index.md", "a/b/c.md", "x.md"]);
    assert_eq!(ancestors(&catalog, "a/b/c"), ["a/_index"]);
    assert_eq!(ancestors(&catalog, "x"), [""; 0]);
}

// LAYOUT-3
#[test]
fn a_parent_that_is_not_served_is_skipped_too() {
    let mut files = vec![skill_file("_root.md", "word", ""), skill_file("ui/a.md", "word", "")];
    files.push(("ui/_index.md".to_owned(), "---\nkeywords: [x]\n---\n".to_owned()));
    let catalog = catalog_from(&files);
    assert_eq!(identities(&catalog), ["_root", "ui/a"]);
    assert_eq!(ancestors(&catalog, "ui/a"), ["_root"]);
}

#[test]
fn a_sibling_leaf_is_no_parent() {
    let catalog = skills(&["ui.md", "ui/_index.md", "ui/a.md"]);
    assert_eq!(ancestors(&catalog, "ui/a"), ["ui/_index"]);
    assert_eq!(ancestors(&catalog, "ui/_index"), [""; 0]);
}

// LAYOUT-2
#[test]
fn hidden_files_and_folders_hold_no_skills_and_get_no_word() {
    let catalog = skills(&[".draft.md", ".obsidian/a.md", "ui/.git/b.md", ".md", "ui/c.md"]);
    assert_eq!(identities(&catalog), ["ui/c"]);
    assert_eq!(diagnostics(&catalog), [""; 0]);
}

#[test]
fn odd_names_are_served_with_a_word_about_them() {
    let catalog = skills(&["ui/_root.md", "my skill.md", "ui/été.md"]);
    assert_eq!(identities(&catalog), ["my skill", "ui/_root", "ui/été"]);
    assert_eq!(
        diagnostics(&catalog),
        [
            "my skill.md:0:0 info[name-unusual] ' ' in the name is awkward to type in a skill path",
            "ui/_root.md:0:0 warning[root-misplaced] `_root.md` counts only at the top; this is a \
             plain skill",
        ]
    );
}
