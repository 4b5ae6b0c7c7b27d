//! Bundles in folders that begin with a dot, copies and translations, and Markdown that is for something else.

use skills_core::{
    catalog::{Catalog, NameMatch},
    diagnostic::Severity,
};

use super::{catalog_from, identities, refreshed, scan};

fn bundle(folder: &str, text: &str) -> (String, String) {
    let name = folder.rsplit('/').next().unwrap();
    let front = format!("name: {name}\ndescription: Do {name} as {text} says.");
    (format!("{folder}/SKILL.md"), format!("---\n{front}\n---\n{text}\n"))
}

fn codes(catalog: &Catalog) -> Vec<String> {
    let found = catalog.diagnostics();
    found.iter().map(|found| format!("{} {}", found.file, found.finding.code.name())).collect()
}

// LAYOUT-2
#[test]
fn bundles_are_read_in_hidden_folders_where_skills_are_known_to_lie() {
    let catalog = catalog_from(&vec![
        bundle("skills/.curated/one", "a"),
        bundle(".claude/skills/two", "b"),
        bundle(".github/plugins/p/skills/deep/three", "c"),
        bundle(".claude/agents/no", "d"),
        bundle("docs/.hidden/no", "e"),
        bundle(".cache/no", "f"),
    ]);
    assert_eq!(
        identities(&catalog),
        [".claude/skills/two", ".github/plugins/p/skills/deep/three", "skills/.curated/one"]
    );
    assert_eq!(codes(&catalog), Vec::<String>::new());
}

// SOURCE-6
#[test]
fn a_name_goes_to_the_folder_of_skills_and_copies_elsewhere_are_no_skills() {
    let catalog = catalog_from(&vec![
        bundle("docs/tr/skills/pdf", "turkish"),
        bundle("skills/pdf", "english"),
        bundle(".claude/skills/pdf", "english with a change"),
        bundle("a/deep/folder/git", "deep"),
        bundle("z/git", "shallow"),
        bundle(".agents/skills/git", "hidden"),
    ]);
    let file = |name: &str| catalog.find(name).unwrap().file.as_str().to_owned();
    assert_eq!(file("pdf"), "skills/pdf/SKILL.md");
    assert_eq!(file("git"), "z/git/SKILL.md", "the shallower folder");
    assert_eq!(file("a/deep/folder/git"), "a/deep/folder/git/SKILL.md", "it is served, too");
    assert_eq!(identities(&catalog), ["a/deep/folder/git", "skills/pdf", "z/git"]);
    let elsewhere = [".agents/skills/git", ".claude/skills/pdf", "docs/tr/skills/pdf"];
    let elsewhere = elsewhere.map(|folder| format!("{folder}/SKILL.md bundle-elsewhere"));
    let mut found = codes(&catalog);
    found.retain(|found| !found.ends_with(" name-taken"));
    assert_eq!(found, elsewhere);
}

// FILE-2
#[test]
fn markdown_for_something_else_is_a_note_and_a_broken_tree_skill_an_error() {
    let file = |path: &str, front: &str| (path.to_owned(), format!("---\n{front}\n---\nText.\n"));
    let catalog = catalog_from(&vec![
        file("commands/deploy.md", "description: Deploys\nargument-hint: name"),
        file("notes/broken.md", "title: a: b: [\nx"),
        file("ui/auth.md", "keywords: [login]\ndescription: Signing in"),
        file("ui/beside.md", "description: No words"),
        file("other/meant.md", "inherit: false\ndescription: No words"),
        file("other/almost.md", "keyword: [a]"),
        file("deep/_index.md", "description: No words"),
        bundle("pdf", "x"),
        ("pdf/part/SKILL.md".to_owned(), "# A part\n".to_owned()),
        ("docs/tr/pdf/SKILL.md".to_owned(), "# A translation\n".to_owned()),
        ("alone/SKILL.md".to_owned(), "# Forgotten\n".to_owned()),
    ]);
    let errors = catalog.diagnostics();
    let of = |severity: Severity| {
        let mut files: Vec<&str> = errors
            .iter()
            .filter(|found| found.finding.code.severity() == severity)
            .map(|found| &*found.file)
            .collect();
        files.dedup();
        files
    };
    assert_eq!(
        of(Severity::Error),
        ["alone/SKILL.md", "deep/_index.md", "other/almost.md", "other/meant.md", "ui/beside.md"]
    );
    let notes =
        ["commands/deploy.md", "docs/tr/pdf/SKILL.md", "notes/broken.md", "pdf/part/SKILL.md"];
    assert_eq!(of(Severity::Info), notes);
}

#[test]
fn a_source_without_a_skill_says_where_some_are() {
    let catalog =
        catalog_from(&vec![bundle(".data/copies/pdf", "x"), bundle(".data/copies/git", "y")]);
    let found = catalog.diagnostics();
    assert_eq!(codes(&catalog), [" skills-unread"]);
    assert!(
        found[0].finding.message.contains("2 SKILL.md files lie in `.data/copies/git`"),
        "{found:?}"
    );
    let served = catalog_from(&vec![bundle(".data/copies/pdf", "x"), bundle("git", "y")]);
    assert_eq!(codes(&served), Vec::<String>::new());
}

// LAYOUT-5
#[test]
fn bundles_of_a_plugin_in_a_named_source_load_by_the_plugins_name_too() {
    let manifest = |path: &str, name: &str| (path.to_owned(), format!("{{\"name\": \"{name}\"}}"));
    let files = vec![
        manifest(".claude-plugin/plugin.json", "superpowers"),
        manifest("plugins/git/plugin.json", "git-tools"),
        bundle("skills/testing", "a"),
        bundle("plugins/git/skills/commit", "b"),
        bundle(".claude/skills/testing", "c"),
    ];
    let catalog = catalog_from(&files);
    let file = |name: &str| catalog.find(name).map(|skill| skill.file.as_str().to_owned());
    assert_eq!(file("superpowers:testing").as_deref(), Some("skills/testing/SKILL.md"));
    assert_eq!(file("Git-Tools:commit").as_deref(), Some("plugins/git/skills/commit/SKILL.md"));
    assert_eq!(file("superpowers:commit"), None, "the nearest plugin has it");
    assert!(matches!(catalog.named("git-tools:commit"), NameMatch::One(_)));
    assert_eq!(
        catalog.find("commit").unwrap().label.as_ref(),
        "commit",
        "listings keep the short name"
    );
    assert_eq!(codes(&catalog), [".claude/skills/testing/SKILL.md bundle-elsewhere"]);
    // Another name of the plugin counts at once, and so does its end.
    let mut renamed = files.clone();
    renamed[0] = manifest(".claude-plugin/plugin.json", "powers");
    let (next, _) = refreshed(&catalog, 0, &scan("main", &renamed));
    assert!(next.find("powers:testing").is_some() && next.find("superpowers:testing").is_none());
}
