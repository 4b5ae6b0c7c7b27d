//! Which folder belongs to which skill, and which declared files exist.

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
    let presence: Vec<_> = skill(&catalog, "ui/auth").assets().map(|(_, there)| there).collect();
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
    assets.chain(skill.scripts().map(|(script, there)| (script.file.to_string(), there))).collect()
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
    let fixture = format!("{DECLARES}//- ui/auth/assets/here.ts\n//- ui/auth/scripts/here.sh\n");
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
        [missing("6:5", "asset", "assets/gone.ts"), missing("9:5", "script", "scripts/gone.sh")]
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
    let scan = scan_with("main", &files, |root| {
        let special = Some(FolderItem::File(FileEntry::Special));
        root.put(&path_of("ui/auth/scripts/here.sh"), special);
    });
    let catalog = catalog_from_sources(vec![scan]);
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

fn files_of(catalog: &Catalog, name: &str) -> Vec<String> {
    let folder = catalog.files(skill(catalog, name));
    folder.map(Folder::paths).unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// A bundle at the top, a tree skill with resources, a category beside a skill, and a bundle in a bundle.
const SKILLS_WITHIN: &str = "\
//- SKILL.md
---
name: top
description: d
---
//- notes.txt
//- guides/README.md
Read me.
//- ui/auth.md
---
keywords: [one]
description: d
---
//- ui/auth/assets/x.css
//- ui/forms.md
---
keywords: [one]
description: d
---
//- ui/forms/_index.md
---
keywords: [one]
description: d
---
//- ui/forms/assets/y.css
//- ui/forms/plan.txt
//- tools/outer/SKILL.md
---
name: outer
description: d
---
//- tools/outer/a.txt
//- tools/outer/inner/SKILL.md
---
name: inner
description: d
---
//- tools/outer/inner/b.txt
";

#[test]
fn layout_1_a_bundle_at_the_top_takes_no_file_of_another_skill() {
    let files = skills_testkit::files(SKILLS_WITHIN);
    let (top, outer) = (
        ["SKILL.md", "notes.txt", "guides/README.md", "ui/forms/plan.txt"],
        ["SKILL.md", "a.txt", "inner/SKILL.md", "inner/b.txt"],
    );
    let all = catalog_from(&files);
    assert_eq!(files_of(&all, "top"), top);
    assert_eq!(files_of(&all, "tools/outer"), outer);
    assert_eq!(files_of(&all, "ui/auth"), ["assets/x.css"]);
    // Refreshes keep it so: a file that is a skill no more is the top's, and so is all once no other skill is there.
    let without = |gone: &[&str]| {
        let is_kept =
            |(path, _): &&(String, String)| !gone.iter().any(|gone| path.starts_with(gone));
        let left: Vec<(String, String)> = files.iter().filter(is_kept).cloned().collect();
        files_of(&refreshed(&all, 0, &scan("main", &left)).0, "top")
    };
    assert_eq!(
        without(&["tools/outer/SKILL.md", "tools/outer/inner"]),
        ["SKILL.md", "notes.txt", "guides/README.md", "tools/outer/a.txt", "ui/forms/plan.txt"]
    );
    assert_eq!(without(&["tools", "ui"]), ["SKILL.md", "notes.txt", "guides/README.md"]);
}

// HTTP-9
#[test]
fn a_skill_with_a_mistake_keeps_its_files_from_the_bundles_around_it() {
    let broken = SKILLS_WITHIN
        .replace("name: inner\ndescription: d", "name: [inner")
        .replace("//- ui/auth.md\n---\nkeywords: [one]", "//- ui/auth.md\n---\nkeywords: {one")
        + "//- config.yaml\nlog: info\n//- routing.yaml\n";
    let all = catalog(&broken);
    assert!(all.find("inner").is_none() && all.find("ui/auth").is_none());
    let top = ["SKILL.md", "notes.txt", "guides/README.md", "ui/forms/plan.txt"];
    assert_eq!(files_of(&all, "top"), top);
    let limited = all.limited_to(&Access::only(["outer"]));
    assert_eq!(files_of(&limited, "tools/outer"), ["SKILL.md", "a.txt"]);
}

// HTTP-9
#[test]
fn a_bundle_has_no_file_of_a_bundle_that_its_caller_may_not_see() {
    let all = catalog(SKILLS_WITHIN);
    let limited = |names: &[&str]| all.limited_to(&Access::only(names));
    assert_eq!(files_of(&limited(&["top"]), "top"), files_of(&all, "top"));
    assert_eq!(files_of(&limited(&["outer"]), "tools/outer"), ["SKILL.md", "a.txt"]);
    assert_eq!(files_of(&limited(&["inner"]), "tools/outer/inner"), ["SKILL.md", "b.txt"]);
    let both = files_of(&limited(&["outer", "inner"]), "tools/outer");
    assert_eq!(both, files_of(&all, "tools/outer"));
}

#[test]
fn events_call_a_skill_the_same_for_every_caller() {
    let both = sources(&[("a", &["ui/x.md"]), ("b", &["ui/x.md", "ui/_index.md"])]);
    assert_eq!(identities(&both), ["ui/x", "ui/_index", "b:ui/x"]);
    let limited = both.limited_to(&Access::only(["b:ui/x"]));
    assert_eq!(identities(&limited), ["ui/x"], "no other has the name");
    let seen = skill(&limited, "ui/x");
    assert_eq!(&**limited.recorded_identity(seen), "b:ui/x");
    assert_eq!(&*limited.recorded_name("ui/x"), "b:ui/x");
    let above = limited.ancestors(seen).next().unwrap();
    assert_eq!(&**limited.recorded_identity(above), "ui/_index");
    assert_eq!(&*both.recorded_name("ui/x"), "ui/x");
    assert_eq!(&*limited.recorded_name("none"), "none");
}
