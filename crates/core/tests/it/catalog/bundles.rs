//! Bundles: their names, their order, what they shadow.

use super::*;

use skills_core::catalog::{NameMatch, Origin, SkillKind};

use crate::support::{catalog_from_sources, scan_from};

fn bundle(path: &str, name: &str, body: &str) -> (String, String) {
    (path.to_owned(), format!("---\nname: {name}\ndescription: about {name}\n---\n{body}\n"))
}

fn plugin(name: &str) -> Origin {
    Origin::Plugin(name.into())
}

fn labels(catalog: &Catalog) -> Vec<&str> {
    catalog.skills().map(|skill| &*skill.label).collect()
}

// LAYOUT-5
#[test]
fn e07_no_bundle_outside_plugins_has_a_colon_in_its_name() {
    let acme = || {
        let real = bundle("deploy/SKILL.md", "deploy", "real");
        scan_from("acme", plugin("acme"), &vec![real])
    };
    for name in ["acme:deploy", "\"acme\u{ff1a}deploy\"", "acme\u{a789}deploy", "ACME:Deploy"] {
        for (origin, folder, called) in [
            (Origin::Project, "ship", "ship"),
            (Origin::User, "ship", "ship"),
            (Origin::Named, "ship", "ship"),
            (Origin::Project, "acme:deploy", "acme-deploy"),
        ] {
            let file = format!("{folder}/SKILL.md");
            let forged = vec![bundle(&file, name, "forged")];
            let forged = scan_from("project", origin, &forged);
            let catalog = catalog_from_sources([forged, acme()]);
            assert_eq!(body(skill(&catalog, "acme:deploy").document()), "real", "{name}");
            assert_eq!(body(skill(&catalog, called).document()), "forged", "{name}");
            let said = diagnostics(&catalog);
            let [said] = said.as_slice() else { panic!("{said:?}") };
            assert!(said.contains("SKILL.md:2:1 warning[name-invalid]"), "{said}");
            assert!(said.ends_with(&format!("| write `name: {called}`")), "{said}");
        }
    }
    // Without a name, too.
    let file = ("acme:deploy/SKILL.md".to_owned(), "---\ndescription: d\n---\nforged".to_owned());
    let forged = scan_from("project", Origin::Project, &vec![file]);
    let catalog = catalog_from_sources([forged, acme()]);
    assert_eq!(body(skill(&catalog, "acme:deploy").document()), "real");
    assert_eq!(identities(&catalog), ["acme-deploy", "acme:deploy"]);
}

#[test]
fn e07_no_path_outside_plugins_is_the_name_of_a_plugins_skill_or_of_one_in_another_source() {
    let acme =
        scan_from("acme", plugin("acme"), &vec![bundle("deploy/SKILL.md", "deploy", "real")]);
    let tree = |file: &str| {
        (file.to_owned(), "---\nkeywords: [k]\ndescription: d\n---\nforged".to_owned())
    };
    let files = vec![
        tree("acme:deploy.md"),
        tree("team:ui.md"),
        bundle("team:api/SKILL.md", "api", "forged"),
    ];
    let forged = scan_from("first", Origin::Named, &files);
    let real =
        |file: &str| (file.to_owned(), "---\nkeywords: [k]\ndescription: d\n---\nreal".to_owned());
    let team = scan_from("team", Origin::Named, &vec![real("ui.md"), real("api.md")]);
    let catalog = catalog_from_sources([forged, team, acme]);
    for name in ["acme:deploy", "team:ui", "team:api", "Team:UI"] {
        assert_eq!(body(skill(&catalog, name).document()), "real", "{name}");
    }
    for name in ["first:acme:deploy", "first:team:ui", "first:team:api"] {
        assert_eq!(body(skill(&catalog, name).document()), "forged", "{name}");
    }
    let said = diagnostics(&catalog);
    assert_eq!(said.iter().filter(|said| said.contains("path-shadowed")).count(), 2, "{said:?}");
}

#[test]
fn a02_a_catalog_without_its_last_sources_is_as_if_they_had_never_been() {
    let own = || scan_from("user", Origin::User, &vec![bundle("pdf/SKILL.md", "pdf", "own")]);
    let first = || scan_from("p1", plugin("p1"), &vec![bundle("a/SKILL.md", "a", "1")]);
    let second = || {
        let files = vec![bundle("a/SKILL.md", "a", "2"), bundle("pdf/SKILL.md", "pdf", "2")];
        scan_from("p2", plugin("p2"), &files)
    };
    let whole = catalog_from_sources([own(), first(), second()]);
    for (kept, alone) in [
        (3, catalog_from_sources([own(), first(), second()])),
        (2, catalog_from_sources([own(), first()])),
        (1, catalog_from_sources([own()])),
        (0, Catalog::default()),
    ] {
        let (catalog, delta) = whole.shortened(kept);
        assert_eq!(identities(&catalog), identities(&alone));
        assert_eq!(catalog.len(), alone.len());
        assert_eq!(catalog.sources().len(), kept);
        assert_eq!(delta.removed.len(), whole.len() - alone.len());
        assert_eq!(diagnostics(&catalog), diagnostics(&alone));
    }
    // What comes in their place is what it would be anyway.
    let (catalog, _) = whole.shortened(1);
    let (catalog, delta) = refreshed(&catalog, 1, &second());
    assert_eq!(identities(&catalog), identities(&catalog_from_sources([own(), second()])));
    assert_eq!(delta.added.len(), 2);
}

// LAYOUT-1
#[test]
fn all_below_a_folder_with_skill_md_belongs_to_it() {
    let catalog = catalog_from(&vec![
        bundle("pdf/SKILL.md", "pdf", "x"),
        skill_file("pdf/reference.md", "one", "not a skill of its own"),
        bundle("pdf/nested/SKILL.md", "nested", "a bundle of its own"),
        bundle("office/word/Skill.md", "word", "x"),
        skill_file("office/excel.md", "one", "x"),
    ]);
    assert_eq!(identities(&catalog), ["office/excel", "office/word", "pdf", "pdf/nested"]);
    assert_eq!(labels(&catalog), ["office/excel", "word", "pdf", "nested"]);
    assert!(catalog.skills().skip(1).all(|skill| skill.kind == SkillKind::Bundle));
    assert_eq!(
        diagnostics(&catalog),
        ["office/word/Skill.md:0:0 info[file-name-unusual] should be called `SKILL.md`"]
    );
    let tree = catalog.tree();
    let pdf = tree.children.iter().find(|node| node.name == "pdf").unwrap();
    assert_eq!((pdf.path.as_str(), pdf.children[0].path.as_str()), ("pdf", "pdf/nested"));
}

// LAYOUT-1
#[test]
fn a_skill_md_at_the_top_does_not_swallow_the_rest() {
    let catalog = catalog_from(&vec![
        bundle("SKILL.md", "whole", "x"),
        skill_file("a.md", "one", "x"),
        skill_file("ui/b.md", "one", "x"),
    ]);
    assert_eq!(identities(&catalog), ["a", "ui/b", "whole"]);
    assert!(catalog.tree().children.iter().any(|node| node.path == "whole"));
}

#[test]
fn source_6_in_a_named_source_the_first_has_the_name_and_the_other_its_folder() {
    let catalog = catalog_from(&vec![
        bundle("a/pdf/SKILL.md", "pdf", "one"),
        bundle("b/pdf/SKILL.md", "pdf", "two"),
        bundle("c/pdf/SKILL.md", "pdf", "one"),
    ]);
    assert_eq!(labels(&catalog), ["pdf", "b/pdf"]);
    assert_eq!(&*catalog.find("c/pdf").unwrap().identity, "a/pdf", "identical copies are one");
    assert!(matches!(catalog.named("PDF"), NameMatch::One(skill) if &*skill.identity == "a/pdf"));
    assert!(matches!(catalog.named("b/pdf"), NameMatch::One(skill) if &*skill.identity == "b/pdf"));
    let shadowed = catalog.shadowed();
    let copies: Vec<_> = shadowed.iter().map(|copy| copy.served_as.as_deref()).collect();
    assert_eq!(copies, [Some("b/pdf"), None]);
    assert_eq!(
        diagnostics(&catalog),
        [
            "b/pdf/SKILL.md:0:0 warning[name-taken] another bundle is called `pdf` too | this one loads \
          as `b/pdf`; rename one of the two"
        ]
    );
}

#[test]
fn source_6_between_agent_directories_the_later_copy_is_shadowed() {
    let catalog = catalog_from_sources(vec![
        scan_from("project", Origin::Project, &vec![bundle("git/SKILL.md", "git", "mine")]),
        scan_from(
            "user",
            Origin::User,
            &vec![
                bundle("git/SKILL.md", "git", "other"),
                bundle("pdf/SKILL.md", "pdf", "same"),
                skill_file("loose.md", "one", "not refreshed at here"),
            ],
        ),
        scan_from("more", Origin::User, &vec![bundle("x/SKILL.md", "pdf", "same")]),
    ]);
    assert_eq!(identities(&catalog), ["git", "pdf"]);
    let shadowed = catalog.shadowed();
    let copies: Vec<_> = shadowed.iter().map(|copy| (&*copy.label, copy.identical)).collect();
    assert_eq!(copies, [("git", false), ("pdf", true)]);
    let said = diagnostics(&catalog);
    assert!(
        said.iter()
            .any(|line| line.contains("bundle-shadowed") && line.contains("`git` of project"))
    );
    assert!(!said.iter().any(|line| line.contains("bundle-shadowed") && line.contains("pdf")));
}

// LAYOUT-5
#[test]
fn plugins_have_namespaces_and_short_names_that_may_be_ambiguous() {
    let catalog = catalog_from_sources(vec![
        scan_from(
            "p1",
            plugin("office"),
            &vec![bundle("pdf/SKILL.md", "pdf", "1"), bundle("doc/SKILL.md", "doc", "1")],
        ),
        scan_from("p2", plugin("print"), &vec![bundle("pdf/SKILL.md", "pdf", "2")]),
    ]);
    assert_eq!(labels(&catalog), ["office:doc", "office:pdf", "print:pdf"]);
    assert!(matches!(catalog.named("Doc"), NameMatch::One(skill) if &*skill.label == "office:doc"));
    assert!(
        matches!(catalog.named("PRINT:pdf"), NameMatch::One(skill) if &*skill.label == "print:pdf")
    );
    let NameMatch::Several(several) = catalog.named("pdf") else { panic!("pdf is ambiguous") };
    assert_eq!(
        several.iter().map(|skill| &*skill.label).collect::<Vec<_>>(),
        ["office:pdf", "print:pdf"]
    );
    assert!(matches!(catalog.named("../../../etc/passwd"), NameMatch::NotFound));
    assert!(catalog.find("pdf").is_none());
}

// SKILL-4
#[test]
fn an_exact_name_wins_over_a_plugins_short_one() {
    let catalog = catalog_from_sources(vec![
        scan_from("user", Origin::User, &vec![bundle("pdf/SKILL.md", "pdf", "plain")]),
        scan_from("p", Origin::Plugin("x".into()), &vec![bundle("pdf/SKILL.md", "pdf", "other")]),
    ]);
    assert!(matches!(catalog.named("pdf"), NameMatch::One(skill) if &*skill.label == "pdf"));
}

#[test]
fn a_missing_or_odd_name_is_served_under_the_folders() {
    let catalog = catalog_from(&vec![
        ("a/SKILL.md".to_owned(), "---\ndescription: x\n---\n".to_owned()),
        ("b/SKILL.md".to_owned(), "---\nname: [x]\ndescription: x\n---\n".to_owned()),
        ("c/SKILL.md".to_owned(), "---\nname: My Skill\ndescription: x\n---\n".to_owned()),
        (
            "d/SKILL.md".to_owned(),
            "---\nname: \"zero\\u200Bwidth\"\ndescription: x\n---\n".to_owned(),
        ),
        ("e/SKILL.md".to_owned(), "---\nname: e\n---\n".to_owned()),
    ]);
    assert_eq!(labels(&catalog), ["a", "b", "My Skill", "d"]);
    let said = diagnostics(&catalog);
    for (file, code) in [
        ("a", "name-missing"),
        ("b", "name-invalid"),
        ("c", "name-unconventional"),
        ("d", "name-invalid"),
        ("e", "field-missing"),
    ] {
        assert!(
            said.iter()
                .any(|line| line.starts_with(&format!("{file}/SKILL.md")) && line.contains(code)),
            "{code}: {said:?}"
        );
    }
}

#[test]
fn a11_a_bundle_is_found_by_its_name_and_by_its_folder() {
    let catalog = catalog_from_sources(vec![
        scan_from(
            "user",
            Origin::User,
            &vec![
                bundle("functions/SKILL.md", "browserbase-functions", "1"),
                bundle("group/deep/SKILL.md", "other", "2"),
                // Its folder is the name of another, which names win.
                bundle("other/SKILL.md", "third", "3"),
                bundle("a/twin/SKILL.md", "first-twin", "4"),
                bundle("b/twin/SKILL.md", "second-twin", "5"),
            ],
        ),
        scan_from(
            "p1",
            Origin::Plugin("office".into()),
            &vec![bundle("sheets/SKILL.md", "excel", "6")],
        ),
    ]);
    let table = [
        ("functions", "browserbase-functions"),
        ("Functions", "browserbase-functions"),
        ("browserbase-functions", "browserbase-functions"),
        ("group/deep", "other"),
        ("deep", "other"),
        ("other", "other"),
        ("a/twin", "first-twin"),
        ("b/twin/", "second-twin"),
        ("sheets", "office:excel"),
        ("office:sheets", "office:excel"),
        ("excel", "office:excel"),
    ];
    for (asked, label) in table {
        assert_eq!(catalog.find(asked).map(|skill| &*skill.label), Some(label), "{asked}");
        let NameMatch::One(skill) = catalog.named(asked) else { panic!("{asked} is not one") };
        assert_eq!(&*skill.label, label, "{asked}");
    }
    assert!(catalog.find("twin").is_none());
    assert!(matches!(catalog.named("twin"), NameMatch::Several(both) if both.len() == 2));
    assert!(matches!(catalog.named("user"), NameMatch::NotFound));
}

#[test]
fn f12_names_that_differ_in_case_have_one_winner_and_are_never_merged() {
    let catalog = catalog_from_sources(vec![scan_from(
        "p",
        Origin::Project,
        &vec![bundle("git/SKILL.md", "git", "a"), bundle("Git/SKILL.md", "Git", "b")],
    )]);
    assert_eq!(labels(&catalog), ["Git"]);
    assert_eq!(catalog.shadowed().len(), 1);
    let both =
        catalog_from(&vec![bundle("x/SKILL.md", "x", "exact"), bundle("x/skill.md", "x", "other")]);
    assert_eq!(body(both.skills().next().unwrap().document()), "exact");
    assert!(diagnostics(&both).iter().any(|line| line.contains("file-name-twice")));
    // In a directory that the operator named, each folder leads to its own bundle, for every tool.
    let folders =
        catalog_from(&vec![bundle("git/SKILL.md", "git", "a"), bundle("GIT/SKILL.md", "GIT", "b")]);
    for name in ["git", "GIT"] {
        assert_eq!(&*folders.find(name).unwrap().identity, name);
        assert!(matches!(folders.named(name), NameMatch::One(skill) if &*skill.identity == name));
    }
}

// ROUTE-8
#[test]
fn a_bundle_with_keywords_is_scored_and_one_without_is_not() {
    let catalog = catalog_from(&vec![
        (
            "a/SKILL.md".to_owned(),
            "---\nname: a\ndescription: x\nkeywords: alpha, beta\n---\n".to_owned(),
        ),
        bundle("beta/SKILL.md", "beta", "x"),
    ]);
    let router = skills_core::route::Router::new(&catalog);
    let verdict = router.route(&catalog, "alpha beta", &skills_core::route::Matching::default());
    assert!(
        matches!(verdict, skills_core::route::RouteVerdict::Match(hit) if hit.matched == ["alpha", "beta"])
    );
}

// ANSWER-3
#[test]
fn a11_a_misspelled_folder_or_name_leads_to_its_bundle() {
    let catalog = catalog_from_sources(vec![
        scan_from(
            "team",
            Origin::Named,
            &vec![bundle("tools/functions/SKILL.md", "browserbase-functions", "d")],
        ),
        scan_from("user", Origin::User, &vec![bundle("pdf/SKILL.md", "pdf", "d")]),
    ]);
    for asked in ["functionz", "tools/functonis", "browserbase-functionz"] {
        assert_eq!(catalog.near(asked), ["tools/functions"], "{asked}");
        assert_eq!(catalog.near_labels(asked), ["browserbase-functions"], "{asked}");
    }
    assert_eq!(catalog.near("pfd"), ["pdf"]);
    assert_eq!(catalog.near("zzz"), [""; 0]);
}
