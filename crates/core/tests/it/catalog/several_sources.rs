//! Paths that several sources have.

use super::*;

// SOURCE-5
#[test]
fn the_first_named_source_wins_a_bare_path() {
    let catalog = sources(&[
        ("first", &["_root.md", "ui/auth.md"]),
        ("second", &["_root.md", "api/auth.md", "ui/auth.md"]),
    ]);
    assert_eq!(
        identities(&catalog),
        ["_root", "ui/auth", "second:_root", "api/auth", "second:ui/auth"]
    );
    assert_eq!(
        diagnostics(&catalog),
        [
            "_root.md:0:0 warning[path-shadowed] a source named earlier has `_root` too | this \
             one loads as `second:_root`",
            "ui/auth.md:0:0 warning[path-shadowed] a source named earlier has `ui/auth` too | \
             this one loads as `second:ui/auth`",
        ]
    );
    assert_eq!(catalog.sources().iter().map(|s| &*s.name).collect::<Vec<_>>(), ["first", "second"]);
}

// SOURCE-5
#[test]
fn parents_never_cross_sources() {
    let catalog = sources(&[("first", &["_root.md", "ui/_index.md"]), ("second", &["ui/auth.md"])]);
    assert_eq!(catalog.ancestors(skill(&catalog, "ui/auth")).count(), 0);
}

#[test]
fn every_skill_is_found_by_its_qualified_name_too() {
    let catalog =
        sources(&[("first", &["ui/auth.md"]), ("second", &["ui/auth.md", "ui/_index.md"])]);
    let from = |name: &str| Some(body(catalog.find(name)?.document()));
    assert_eq!(from("ui/auth").as_deref(), Some("first"));
    assert_eq!(from("first:ui/auth").as_deref(), Some("first"));
    assert_eq!(from("second:ui/auth").as_deref(), Some("second"));
    assert_eq!(from("SECOND:UI/Auth").as_deref(), Some("second"));
    assert_eq!(from("second:ui").as_deref(), Some("second"));
    assert_eq!(from("ui").as_deref(), Some("second"));
    assert_eq!(from("third:ui/auth").as_deref(), None);
}

#[test]
fn a_file_that_is_not_served_shadows_nothing() {
    let catalog = catalog_of(&[
        ("first", "//- a.md\n# Only a readme\n"),
        ("second", "//- a.md\n---\nkeywords: [x]\ndescription: d\n---\n"),
    ]);
    assert_eq!(identities(&catalog), ["a"]);
}
