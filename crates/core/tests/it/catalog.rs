//! File names and parsed files → one catalog: who is a skill, what it is called, who its parent is, which
//! folder belongs to it, how it is found again, and what changed.

use proptest::prelude::*;
use skills_core::catalog::{Catalog, Delta, Entry, Node, Presence, TreeNode};

use crate::support::{
    body, catalog, catalog_from, catalog_from_sources, catalog_of, diagnostics, identities, intake,
    intake_with, looked, path_of, skill, skill_file,
};

/// A catalog of skills in these files, each with the same front matter.
fn skills(files: &[&str]) -> Catalog {
    catalog_from(&files.iter().map(|file| skill_file(file, "word", "body")).collect())
}

/// Like [`skills`], for several sources.
fn sources(sources: &[(&str, &[&str])]) -> Catalog {
    catalog_from_sources(sources.iter().map(|(source, files)| {
        let files = files.iter().map(|file| skill_file(file, "word", source)).collect();
        intake(source, &files)
    }))
}

mod paths {
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
}

mod resources {
    use super::*;

    fn folder(catalog: &Catalog, name: &str) -> Option<String> {
        skill(catalog, name).resources.as_ref().map(ToString::to_string)
    }

    #[test]
    fn layout_4_the_folder_beside_a_skill_is_its_own() {
        let catalog = catalog(
            "\
//- _root.md
---
keywords: [one]
description: d
---
//- _root/assets/x.css
//- ui/_index.md
---
keywords: [one]
description: d
---
//- ui/_index/assets/x.css
//- ui/auth.md
---
keywords: [one]
description: d
---
//- ui/auth/scripts/x.sh
//- ui/bare.md
---
keywords: [one]
description: d
---
",
        );
        assert_eq!(folder(&catalog, "_root").as_deref(), Some("_root"));
        assert_eq!(folder(&catalog, "ui/_index").as_deref(), Some("ui/_index"));
        assert_eq!(folder(&catalog, "ui/auth").as_deref(), Some("ui/auth"));
        assert_eq!(folder(&catalog, "ui/bare"), None);
        let file = skill(&catalog, "ui/auth").resource(&path_of("scripts/x.sh")).unwrap();
        assert_eq!(file.as_str(), "ui/auth/scripts/x.sh");
        assert_eq!(diagnostics(&catalog), [""; 0]);
    }

    #[test]
    fn a_name_that_no_request_could_spell_still_has_its_folder() {
        for name in ["~draft", "c:x", "a\\b"] {
            let files = vec![
                skill_file(&format!("{name}.md"), "word", ""),
                (format!("{name}/assets/x.ts"), String::new()),
            ];
            let catalog = catalog_from(&files);
            assert_eq!(catalog.skills().next().unwrap().resources, Some(path_of(name)));
        }
    }

    // LAYOUT-4
    #[test]
    fn a_skill_inside_a_resource_folder_is_not_served_and_said_so() {
        let catalog = skills(&[
            "_root.md",
            "_root/a.md",
            "ui/_index.md",
            "ui/_index/b.md",
            "ui/auth.md",
            "ui/auth/assets/deep/c.md",
            // Not even with a SKILL.md: a resource folder is not searched.
            "ui/auth/SKILL.md",
        ]);
        assert_eq!(identities(&catalog), ["_root", "ui/_index", "ui/auth"]);
        let not_served = |file: &str| {
            format!(
                "{file}:0:0 warning[skill-in-resources] a skill inside a resource folder is not \
                 served | move it out, or give the folder an _index.md to make it a category"
            )
        };
        assert_eq!(
            diagnostics(&catalog),
            [
                not_served("_root/a.md"),
                not_served("ui/_index/b.md"),
                not_served("ui/auth/SKILL.md"),
                not_served("ui/auth/assets/deep/c.md"),
            ]
        );
    }

    // LAYOUT-4
    #[test]
    fn folders_called_index_and_root_are_never_searched() {
        // Not where the skill beside them is missing, and not where they have an index of their own.
        let catalog = skills(&["_root/a.md", "_root/_index.md", "ui/_index/b.md", "ui/_root/c.md"]);
        assert_eq!(identities(&catalog), [""; 0]);
        let lines = diagnostics(&catalog);
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.contains("warning[skill-in-resources]")), "{lines:?}");
    }

    #[test]
    fn plain_markdown_inside_a_resource_folder_is_a_plain_file() {
        let mut files = vec![skill_file("auth.md", "word", "")];
        files.push(("auth/assets/notes.md".to_owned(), "# Notes\n".to_owned()));
        files.push(("auth/assets/broken.md".to_owned(), "---\nkeywords: [\n---\n".to_owned()));
        let catalog = catalog_from(&files);
        assert_eq!(identities(&catalog), ["auth"]);
        assert_eq!(diagnostics(&catalog), [""; 0]);
    }

    // LAYOUT-4
    #[test]
    fn a_folder_with_an_index_of_its_own_is_a_category_whose_assets_and_scripts_stay_resources() {
        let catalog = catalog(
            "\
//- ui/auth.md
---
keywords: [one]
description: d
assets:
  - {file: assets/t.ts, description: d}
  - {file: login.md, description: d}
---
//- ui/auth/_index.md
---
keywords: [one]
description: d
---
//- ui/auth/login.md
---
keywords: [one]
description: d
---
//- ui/auth/assets/t.ts
//- ui/auth/assets/inside.md
---
keywords: [one]
description: d
---
//- ui/auth/scripts/inside.md
---
keywords: [one]
description: d
---
//- ui/auth/deep/assets/served.md
---
keywords: [one]
description: d
---
",
        );
        assert_eq!(
            identities(&catalog),
            ["ui/auth", "ui/auth/_index", "ui/auth/deep/assets/served", "ui/auth/login"]
        );
        assert_eq!(folder(&catalog, "ui/auth").as_deref(), Some("ui/auth"));
        let presence: Vec<_> =
            skill(&catalog, "ui/auth").assets().map(|(_, there)| there).collect();
        assert_eq!(presence, [Presence::Present, Presence::Present]);
        let lines = diagnostics(&catalog);
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[0],
            "ui/auth:0:0 warning[folder-has-two-roles] a category, because it has _index.md, and the \
             resource folder of auth.md beside it"
        );
        assert!(lines[1].starts_with("ui/auth/assets/inside.md:0:0 warning[skill-in-resources]"));
        assert!(lines[2].starts_with("ui/auth/scripts/inside.md:0:0 warning[skill-in-resources]"));
    }

    #[test]
    fn a_category_may_have_folders_called_assets_and_scripts() {
        let catalog = skills(&["ui/_index.md", "ui/assets/icons.md", "scripts/bash.md"]);
        assert_eq!(identities(&catalog), ["scripts/bash", "ui/_index", "ui/assets/icons"]);
        assert_eq!(diagnostics(&catalog), [""; 0]);
    }

    const DECLARES: &str = "\
//- ui/auth.md
---
keywords: [one]
description: d
assets:
  - {file: assets/here.ts, description: d}
  - {file: assets/gone.ts, description: d}
scripts:
  - {file: scripts/here.sh, description: d}
  - {file: scripts/gone.sh, description: d}
---
";

    fn presence(catalog: &Catalog, name: &str) -> Vec<(String, Presence)> {
        let skill = skill(catalog, name);
        let assets = skill.assets().map(|(asset, there)| (asset.file.to_string(), there));
        assets
            .chain(skill.scripts().map(|(script, there)| (script.file.to_string(), there)))
            .collect()
    }

    fn missing(place: &str, what: &str, file: &str) -> String {
        format!(
            "ui/auth.md:{place} warning[file-missing] {what} `{file}` is declared but missing; left \
             out | create ui/auth/{file}, or remove the declaration"
        )
    }

    // FILE-9
    #[test]
    fn a_declared_file_that_is_not_there_is_said_where_it_is_declared() {
        let fixture =
            format!("{DECLARES}//- ui/auth/assets/here.ts\n//- ui/auth/scripts/here.sh\n");
        let catalog = catalog(&fixture);
        assert_eq!(
            presence(&catalog, "ui/auth"),
            [
                ("assets/here.ts".to_owned(), Presence::Present),
                ("assets/gone.ts".to_owned(), Presence::Missing),
                ("scripts/here.sh".to_owned(), Presence::Present),
                ("scripts/gone.sh".to_owned(), Presence::Missing),
            ]
        );
        assert_eq!(
            diagnostics(&catalog),
            [
                missing("6:5", "asset", "assets/gone.ts"),
                missing("9:5", "script", "scripts/gone.sh")
            ]
        );
    }

    #[test]
    fn without_a_resource_folder_every_declared_file_is_missing() {
        let catalog = catalog(DECLARES);
        assert!(presence(&catalog, "ui/auth").iter().all(|(_, there)| *there == Presence::Missing));
        assert_eq!(diagnostics(&catalog).len(), 4);
    }

    #[test]
    fn what_stands_under_a_declared_name_must_be_a_regular_file() {
        let files = skills_testkit::files(&format!(
            "{DECLARES}//- ui/auth/assets/here.ts\n//- ui/auth/assets/gone.ts/a-folder-then\n"
        ));
        let intake = intake_with("main", &files, |root| {
            let special = Some(Node::File(Entry::Special));
            root.put(&path_of("ui/auth/scripts/here.sh"), special);
        });
        let catalog = catalog_from_sources(vec![intake]);
        assert_eq!(
            diagnostics(&catalog),
            [
                "ui/auth.md:6:5 warning[not-regular] asset `assets/gone.ts` is not a regular file; \
                 left out"
                    .to_owned(),
                "ui/auth.md:8:5 warning[not-regular] script `scripts/here.sh` is not a regular file; \
                 left out"
                    .to_owned(),
                missing("9:5", "script", "scripts/gone.sh"),
            ]
        );
    }

    #[test]
    fn markdown_without_front_matter_is_only_worth_knowing() {
        let mut files = vec![skill_file("a.md", "word", "")];
        files.push(("README.md".to_owned(), "# Hello\n".to_owned()));
        let catalog = catalog_from(&files);
        assert_eq!(identities(&catalog), ["a"]);
        assert_eq!(
            diagnostics(&catalog),
            ["README.md:0:0 info[front-matter-missing] no front matter, so this is not a skill | \
              start the file with `---`, `keywords:` and `description:` lines, and `---`"]
        );
    }

    // FILE-2
    #[test]
    fn a_bad_file_costs_itself_and_nothing_else() {
        let mut files = vec![skill_file("a.md", "word", ""), skill_file("z.md", "word", "")];
        files.push(("m.md".to_owned(), "---\nkeywords: [x]\ndescription: [\n---\n".to_owned()));
        let catalog = catalog_from(&files);
        assert_eq!(identities(&catalog), ["a", "z"]);
        assert_eq!(diagnostics(&catalog).len(), 1);
        assert!(diagnostics(&catalog)[0].starts_with("m.md:"));
    }
}

mod bundles {
    use super::*;

    use skills_core::catalog::{Kind, Named, Origin};

    use crate::support::{catalog_from_sources, intake_from};

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
            intake_from("acme", plugin("acme"), &vec![real])
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
                let forged = intake_from("project", origin, &forged);
                let catalog = catalog_from_sources([forged, acme()]);
                assert_eq!(body(skill(&catalog, "acme:deploy").document()), "real", "{name}");
                assert_eq!(body(skill(&catalog, called).document()), "forged", "{name}");
                let said = diagnostics(&catalog);
                let [said] = said.as_slice() else { panic!("{said:?}") };
                assert!(said.contains("warning[name-invalid]"), "{said}");
                assert!(said.ends_with(&format!("| write `name: {called}`")), "{said}");
            }
        }
        // Without a name, too.
        let file =
            ("acme:deploy/SKILL.md".to_owned(), "---\ndescription: d\n---\nforged".to_owned());
        let forged = intake_from("project", Origin::Project, &vec![file]);
        let catalog = catalog_from_sources([forged, acme()]);
        assert_eq!(body(skill(&catalog, "acme:deploy").document()), "real");
        assert_eq!(identities(&catalog), ["acme-deploy", "acme:deploy"]);
    }

    #[test]
    fn a02_a_catalog_without_its_last_sources_is_as_if_they_had_never_been() {
        let own = || intake_from("user", Origin::User, &vec![bundle("pdf/SKILL.md", "pdf", "own")]);
        let first = || intake_from("p1", plugin("p1"), &vec![bundle("a/SKILL.md", "a", "1")]);
        let second = || {
            let files = vec![bundle("a/SKILL.md", "a", "2"), bundle("pdf/SKILL.md", "pdf", "2")];
            intake_from("p2", plugin("p2"), &files)
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
        let (catalog, delta) = looked(&catalog, 1, &second());
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
        assert!(catalog.skills().skip(1).all(|skill| skill.kind == Kind::Bundle));
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
        assert!(matches!(catalog.named("PDF"), Named::One(skill) if &*skill.identity == "a/pdf"));
        assert!(matches!(catalog.named("b/pdf"), Named::One(skill) if &*skill.identity == "b/pdf"));
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
            intake_from("project", Origin::Project, &vec![bundle("git/SKILL.md", "git", "mine")]),
            intake_from(
                "user",
                Origin::User,
                &vec![
                    bundle("git/SKILL.md", "git", "other"),
                    bundle("pdf/SKILL.md", "pdf", "same"),
                    skill_file("loose.md", "one", "not looked at here"),
                ],
            ),
            intake_from("more", Origin::User, &vec![bundle("x/SKILL.md", "pdf", "same")]),
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
            intake_from(
                "p1",
                plugin("office"),
                &vec![bundle("pdf/SKILL.md", "pdf", "1"), bundle("doc/SKILL.md", "doc", "1")],
            ),
            intake_from("p2", plugin("print"), &vec![bundle("pdf/SKILL.md", "pdf", "2")]),
        ]);
        assert_eq!(labels(&catalog), ["office:doc", "office:pdf", "print:pdf"]);
        assert!(matches!(catalog.named("Doc"), Named::One(skill) if &*skill.label == "office:doc"));
        assert!(
            matches!(catalog.named("PRINT:pdf"), Named::One(skill) if &*skill.label == "print:pdf")
        );
        let Named::Several(several) = catalog.named("pdf") else { panic!("pdf is ambiguous") };
        assert_eq!(
            several.iter().map(|skill| &*skill.label).collect::<Vec<_>>(),
            ["office:pdf", "print:pdf"]
        );
        assert!(matches!(catalog.named("../../../etc/passwd"), Named::Nobody));
        assert!(catalog.find("pdf").is_none());
    }

    // SKILL-4
    #[test]
    fn an_exact_name_wins_over_a_plugins_short_one() {
        let catalog = catalog_from_sources(vec![
            intake_from("user", Origin::User, &vec![bundle("pdf/SKILL.md", "pdf", "plain")]),
            intake_from(
                "p",
                Origin::Plugin("x".into()),
                &vec![bundle("pdf/SKILL.md", "pdf", "other")],
            ),
        ]);
        assert!(matches!(catalog.named("pdf"), Named::One(skill) if &*skill.label == "pdf"));
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
                said.iter().any(
                    |line| line.starts_with(&format!("{file}/SKILL.md")) && line.contains(code)
                ),
                "{code}: {said:?}"
            );
        }
    }

    #[test]
    fn a11_a_bundle_is_found_by_its_name_and_by_its_folder() {
        let catalog = catalog_from_sources(vec![
            intake_from(
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
            intake_from(
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
            let Named::One(skill) = catalog.named(asked) else { panic!("{asked} is not one") };
            assert_eq!(&*skill.label, label, "{asked}");
        }
        assert!(catalog.find("twin").is_none());
        assert!(matches!(catalog.named("twin"), Named::Several(both) if both.len() == 2));
        assert!(matches!(catalog.named("user"), Named::Nobody));
    }

    #[test]
    fn f12_names_that_differ_in_case_have_one_winner_and_are_never_merged() {
        let catalog = catalog_from_sources(vec![intake_from(
            "p",
            Origin::Project,
            &vec![bundle("git/SKILL.md", "git", "a"), bundle("Git/SKILL.md", "Git", "b")],
        )]);
        assert_eq!(labels(&catalog), ["Git"]);
        assert_eq!(catalog.shadowed().len(), 1);
        let both = catalog_from(&vec![
            bundle("x/SKILL.md", "x", "exact"),
            bundle("x/skill.md", "x", "other"),
        ]);
        assert_eq!(body(both.skills().next().unwrap().document()), "exact");
        assert!(diagnostics(&both).iter().any(|line| line.contains("file-name-twice")));
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
        let verdict =
            router.route(&catalog, "alpha beta", &skills_core::route::Matching::default());
        assert!(
            matches!(verdict, skills_core::route::Verdict::Match(hit) if hit.matched == ["alpha", "beta"])
        );
    }
}

mod several_sources {
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
        assert_eq!(
            catalog.sources().iter().map(|s| &*s.name).collect::<Vec<_>>(),
            ["first", "second"]
        );
    }

    // SOURCE-5
    #[test]
    fn parents_never_cross_sources() {
        let catalog =
            sources(&[("first", &["_root.md", "ui/_index.md"]), ("second", &["ui/auth.md"])]);
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
}

mod lookup {
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
        let catalog = skills(&[
            "ui/react/auth.md",
            "ui/react/testing.md",
            "api/database.md",
            "deploy/_index.md",
        ]);
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
        assert_eq!(
            catalog.near("skill-x"),
            ["skill-0", "skill-1", "skill-2", "skill-3", "skill-4"]
        );
    }
}

mod trees {
    use super::*;

    /// `name path`, indented by depth; a folder without a skill of its own is marked.
    fn drawn(node: &TreeNode<'_>) -> String {
        let mark = if node.skill.is_some() { "" } else { " (folder)" };
        let below: String = node.children.iter().map(drawn).collect();
        let below: String = below.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        format!("{} {}{mark}\n{below}", node.name, node.path)
    }

    fn below(catalog: &Catalog, asked: &str) -> String {
        catalog.subtree(asked).map_or_else(|| "nothing".to_owned(), |node| drawn(&node))
    }

    fn one_source() -> Catalog {
        skills(&[
            "_root.md",
            "ui/_index.md",
            "ui/react/_index.md",
            "ui/react/auth.md",
            "ui/vue/composition.md",
            "api/v1/auth.md",
            "no-inherit.md",
        ])
    }

    // LIST-2
    #[test]
    fn one_source_is_the_root_itself() {
        let catalog = one_source();
        assert_eq!(
            drawn(&catalog.tree()),
            "\
root _root
  api api (folder)
    v1 api/v1 (folder)
      auth api/v1/auth
  no-inherit no-inherit
  ui ui/_index
    react ui/react/_index
      auth ui/react/auth
    vue ui/vue (folder)
      composition ui/vue/composition
"
        );
        assert_eq!(catalog.tree().count(), 7);
        assert_eq!(catalog.subtree("ui").unwrap().count(), 4);
    }

    #[test]
    fn an_empty_source_and_no_source_are_an_empty_root() {
        assert_eq!(drawn(&skills(&[]).tree()), "root _root (folder)\n");
        assert_eq!(drawn(&Catalog::default().tree()), "root _root (folder)\n");
        assert_eq!(below(&skills(&[]), "_root"), "root _root (folder)\n");
    }

    #[test]
    fn a_leaf_and_the_category_of_its_name_stand_side_by_side() {
        let catalog = skills(&["auth.md", "auth/_index.md", "auth/login.md", "_index.md"]);
        assert_eq!(
            drawn(&catalog.tree()),
            "\
root _root (folder)
  _index _index
  auth auth
  auth auth/_index
    login auth/login
"
        );
        assert_eq!(below(&catalog, "auth"), "auth auth\n");
        assert_eq!(below(&catalog, "auth/_index"), "auth auth/_index\n  login auth/login\n");
    }

    // LIST-3
    #[test]
    fn a_subtree_is_asked_for_by_category_index_leaf_or_folder() {
        let catalog = one_source();
        let vue = "vue ui/vue (folder)\n  composition ui/vue/composition\n";
        for asked in ["ui/vue", "ui/vue/", " ui/vue ", "UI/Vue", "main:ui/vue"] {
            assert_eq!(below(&catalog, asked), vue, "{asked:?}");
        }
        for asked in ["ui/react", "ui/react/_index", "ui/react/_index.md", "Ui/React"] {
            assert_eq!(
                below(&catalog, asked),
                "react ui/react/_index\n  auth ui/react/auth\n",
                "{asked:?}"
            );
        }
        assert_eq!(below(&catalog, "ui/react/auth"), "auth ui/react/auth\n");
        for asked in ["", "/", "root", "_root", "main"] {
            assert_eq!(below(&catalog, asked), drawn(&catalog.tree()), "{asked:?}");
        }
        for asked in ["uix", "ui/rea", "react", "../ui", "other:ui", "main:uix"] {
            assert_eq!(below(&catalog, asked), "nothing", "{asked:?}");
        }
    }

    fn two_sources() -> Catalog {
        sources(&[
            ("first", &["_root.md", "ui/auth.md", "api/_index.md"]),
            ("second", &["ui/auth.md", "ui/deep/x.md", "api/y.md", "ops/run.md"]),
        ])
    }

    // LIST-2
    #[test]
    fn several_sources_are_the_children_of_the_root() {
        // A folder is called like a skill: the first-named source wins the bare path.
        assert_eq!(
            drawn(&two_sources().tree()),
            "\
root _root (folder)
  first _root
    api api/_index
    ui ui (folder)
      auth ui/auth
  second second:_root (folder)
    api second:api (folder)
      y api/y
    ops ops (folder)
      run ops/run
    ui second:ui (folder)
      auth second:ui/auth
      deep ui/deep (folder)
        x ui/deep/x
"
        );
    }

    #[test]
    fn every_path_in_a_tree_finds_its_node_again() {
        fn paths(node: &TreeNode<'_>, into: &mut Vec<String>) {
            into.push(drawn(node));
            node.children.iter().for_each(|child| paths(child, into));
        }
        let catalog = two_sources();
        let mut nodes = Vec::new();
        catalog.tree().children.iter().for_each(|child| paths(child, &mut nodes));
        // The first source's own root shares its path with the root above it.
        for node in nodes.iter().filter(|node| !node.starts_with("first ")) {
            let path = node.lines().next().unwrap().split(' ').nth(1).unwrap();
            assert_eq!(&below(&catalog, path), node, "{path}");
        }
    }

    #[test]
    fn a_source_and_its_folders_are_asked_for_by_name() {
        let catalog = two_sources();
        assert!(below(&catalog, "second").starts_with("second second:_root (folder)\n"));
        assert!(below(&catalog, "FIRST").starts_with("first _root\n  api"));
        assert_eq!(below(&catalog, "second:ops"), below(&catalog, "ops"));
        assert_eq!(below(&catalog, "first:ui"), "ui ui (folder)\n  auth ui/auth\n");
        assert_eq!(below(&catalog, "first:ops"), "nothing");
    }
}

mod deltas {
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
        let given = |fixture| intake("main", &skills_testkit::files(fixture));
        let (before, _) = looked(&Catalog::default(), 0, &given(before));
        looked(&before, 0, &given(after)).1
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
    fn a_file_that_nobody_declares_is_no_change() {
        let after = format!("{BEFORE}//- a/undeclared.ts\n//- README.md\n# Hello\n");
        assert!(change(BEFORE, &after).is_empty());
    }

    #[test]
    fn a_skill_that_becomes_unreadable_is_gone() {
        let after = BEFORE.replace("keywords: [b]", "keywords: []");
        let delta = change(BEFORE, &after);
        assert_eq!(names(&delta), [vec![], vec!["b"], vec![]]);
    }
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
