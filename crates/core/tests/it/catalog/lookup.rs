//! How a requested name is found.

use super::*;

fn found<'a>(catalog: &'a Catalog, asked: &str) -> Option<&'a str> {
    catalog.find(asked).map(|skill| &*skill.identity)
}

#[test]
fn a_skill_is_found_by_its_path_its_file_or_its_category() {
    let catalog = skills(&["_root.md", "ui/_index.md", "ui/auth.md"]);
    let table = [
        ("ui/auth", "ui/auth"),
        ("ui/auth.md", "ui/auth"),
        ("main:ui/auth", "ui/auth"),
        ("  ui/auth ", "ui/auth"),
        ("ui/auth/", "ui/auth"),
        ("UI/Auth", "ui/auth"),
        ("ui", "ui/_index"),
        ("ui/", "ui/_index"),
        ("ui/_index", "ui/_index"),
        ("ui/_index.md", "ui/_index"),
        ("Ui", "ui/_index"),
        ("_root", "_root"),
        ("_ROOT.md", "_root"),
    ];
    for (asked, expected) in table {
        assert_eq!(found(&catalog, asked), Some(expected), "{asked:?}");
    }
}

// LAYOUT-6
#[test]
fn exact_case_wins_over_other_case() {
    let catalog = skills(&["Auth.md", "auth.md", "AUTH/_index.md"]);
    assert_eq!(found(&catalog, "auth"), Some("auth"));
    assert_eq!(found(&catalog, "Auth"), Some("Auth"));
    assert_eq!(found(&catalog, "AUTH"), Some("AUTH/_index"));
    // Of those that differ in case only, the first in order: capitals sort first.
    assert_eq!(found(&catalog, "aUTH"), Some("Auth"));
}

#[test]
fn a_leaf_wins_over_the_category_of_its_name() {
    let catalog = skills(&["auth.md", "auth/_index.md"]);
    assert_eq!(found(&catalog, "auth"), Some("auth"));
    assert_eq!(found(&catalog, "auth/_index"), Some("auth/_index"));
}

// LAYOUT-6
#[test]
fn names_are_never_joined_to_a_path() {
    let catalog = skills(&["_root.md", "ui/_index.md", "ui/auth.md"]);
    for asked in [
        "",
        " ",
        "/",
        ".",
        "..",
        "../../../etc/passwd",
        "/etc/passwd",
        "/ui/auth",
        "./ui/auth",
        "ui/../ui/auth",
        "ui//auth",
        "ui\\auth",
        "ui/auth\0",
        "%75i/auth",
        "file:ui/auth",
        ".md",
    ] {
        assert_eq!(found(&catalog, asked), None, "{asked:?}");
    }
}

#[test]
fn every_identity_finds_its_own_skill() {
    let catalog = skills(&["a.md", "a.md.md", " b .md", "b.md", "c/d.md.md", "d/e /_index.md"]);
    assert_eq!(catalog.len(), 6);
    for skill in catalog.skills() {
        assert_eq!(found(&catalog, &skill.identity), Some(&*skill.identity));
    }
}

#[test]
fn near_names_come_best_first_and_a_right_name_in_the_wrong_folder_counts() {
    let catalog =
        skills(&["ui/react/auth.md", "ui/react/testing.md", "api/database.md", "deploy/_index.md"]);
    assert_eq!(catalog.near("ui/react/aut"), ["ui/react/auth", "ui/react/testing"]);
    assert_eq!(catalog.near("backend/auth"), ["ui/react/auth"]);
    assert_eq!(catalog.near("deplyo"), ["deploy/_index"]);
    assert_eq!(catalog.near("DATABSE"), ["api/database"]);
    assert_eq!(catalog.near("zzz"), [""; 0]);
    assert_eq!(catalog.near(""), [""; 0]);
}

// ANSWER-3
#[test]
fn at_most_five_near_names_are_named_and_ties_go_by_name() {
    let files: Vec<_> = (0..9).map(|n| format!("skill-{n}.md")).collect();
    let catalog = skills(&files.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(catalog.near("skill-x"), ["skill-0", "skill-1", "skill-2", "skill-3", "skill-4"]);
}
