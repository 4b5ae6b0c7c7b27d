//! What changed between two catalogs.

use super::*;

const BEFORE: &str = "\
//- a.md
---
keywords: [one]
description: d
assets: [{file: x.ts, description: d}]
scripts: [{file: x.sh, description: d}]
---
one
//- b.md
---
keywords: [b]
description: d
---
two
";

/// What changes when one source's files are replaced by others.
fn change(before: &str, after: &str) -> Delta {
    let given = |fixture| scan("main", &skills_testkit::files(fixture));
    let (before, _) = refreshed(&Catalog::default(), 0, &given(before));
    refreshed(&before, 0, &given(after)).1
}

fn names(delta: &Delta) -> [Vec<&str>; 3] {
    [&delta.added, &delta.removed, &delta.changed]
        .map(|names| names.iter().map(|name| &**name).collect())
}

#[test]
fn the_same_files_read_again_are_no_change() {
    let delta = change(BEFORE, BEFORE);
    assert!(delta.is_empty());
    assert_eq!(delta, Delta::default());
}

#[test]
fn skills_come_go_and_change() {
    let after = BEFORE.replace("//- b.md", "//- c.md").replace("one", "another");
    let after = format!("{after}//- 0.md\n---\nkeywords: [x]\ndescription: d\n---\n");
    let delta = change(BEFORE, &after);
    assert!(!delta.is_empty());
    assert_eq!(names(&delta), [vec!["0", "c"], vec!["b"], vec!["a"]]);
}

#[test]
fn front_matter_is_part_of_the_text() {
    let after = BEFORE.replace("[b]", "[b, c]");
    let delta = change(BEFORE, &after);
    assert_eq!(names(&delta), [vec![], vec![], vec!["b"]]);
}

#[test]
fn a_declared_file_that_comes_or_goes_is_a_change_of_its_skill() {
    for file in ["a/x.ts", "a/x.sh"] {
        let with = format!("{BEFORE}//- {file}\n");
        assert_eq!(names(&change(BEFORE, &with)), [vec![], vec![], vec!["a"]]);
        assert_eq!(names(&change(&with, BEFORE)), [vec![], vec![], vec!["a"]]);
    }
}

#[test]
fn an_undeclared_file_is_no_change() {
    let after = format!("{BEFORE}//- a/undeclared.ts\n//- README.md\n# Hello\n");
    assert!(change(BEFORE, &after).is_empty());
}

#[test]
fn a_skill_that_becomes_unreadable_is_gone() {
    let after = BEFORE.replace("keywords: [b]", "keywords: []");
    let delta = change(BEFORE, &after);
    assert_eq!(names(&delta), [vec![], vec!["b"], vec![]]);
}
