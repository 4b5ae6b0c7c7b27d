//! Lints over whole catalogs: what an author is shown, and what is left alone.

use skills_core::{
    catalog::{Catalog, Skill, SkillId},
    check::{self, CheckLimits, CheckedSkill, DescriptionLimit, FieldPlaces, TextFile},
    diagnostic::{Code, Finding, Position},
};

use crate::support::{catalog, text};

fn limits() -> CheckLimits {
    CheckLimits {
        runnable: [".sh", ".py"].map(str::to_owned).to_vec(),
        max_tokens: 8_000,
        min_score: 0.2,
        description_chars: vec![
            DescriptionLimit { client: "the format", chars: 1_024, cuts: false },
            DescriptionLimit { client: "a client", chars: 1_536, cuts: true },
        ],
    }
}

/// The lints of one skill of a fixture whose other files have these texts.
fn lints(fixture: &str, path: &str) -> Vec<(String, Finding)> {
    let catalog = catalog(fixture);
    let skill = catalog.find(path).unwrap();
    let folder = skill.resources.as_ref().map(|folder| format!("{folder}/"));
    let files: Vec<TextFile> = skills_testkit::files(fixture)
        .into_iter()
        .filter(|(file, _)| file != skill.file.as_str())
        .filter_map(|(file, text)| {
            let path = file.strip_prefix(folder.as_deref()?)?.to_owned();
            Some(TextFile { path: skills_core::relpath::RelPath::parse(&path).unwrap(), text })
        })
        .collect();
    let text = text(skill.document());
    let source_folder = Some("main");
    let checked = CheckedSkill {
        catalog: &catalog,
        skill,
        text: &text,
        files: &files,
        linked_scripts: &[],
        source_folder,
    };
    let found = check::skill(&checked, &limits());
    // The fixtures say as little as they can.
    let is_of_fixture =
        |finding: &Finding| matches!(finding.code, Code::DescriptionVague | Code::TextEmpty);
    let found = found.findings.into_iter().filter(|(_, finding)| !is_of_fixture(finding));
    found.map(|(file, finding)| (file.to_string(), finding)).collect()
}

fn codes(fixture: &str, path: &str) -> Vec<Code> {
    lints(fixture, path).into_iter().map(|(_, finding)| finding.code).collect()
}

/// What comparing all skills finds: path and finding.
fn compared(catalog: &Catalog, is_asked: impl Fn(&Skill) -> bool) -> Vec<(String, Finding)> {
    let places = |_: SkillId| FieldPlaces::default();
    let found = check::skills(catalog, places, is_asked, &limits());
    let name = |id: SkillId| catalog.skill(id).unwrap().identity.to_string();
    found.into_iter().map(|(id, finding)| (name(id), finding)).collect()
}

fn tree(name: &str, keywords: &str, more: &str) -> String {
    format!(
        "//- {name}.md\n---\nkeywords: [{keywords}]\ndescription: About {name}\n{more}---\nText\n"
    )
}

fn bundle(name: &str, description: &str) -> String {
    format!("//- {name}/SKILL.md\n---\nname: {name}\ndescription: {description}\n---\nText\n")
}

#[test]
fn equal_keywords_never_decide_and_a_longer_list_wins_only_by_priority() {
    let found = |content: &str| compared(&catalog(content), |_| true);
    let both = found(&(tree("a", "x1, y1, z1", "") + &tree("b", "Z1, y1, x1", "")));
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[0].1.message.contains("`b` has the same keywords"), "{both:?}");
    assert!(found(&(tree("a", "x1, y1, z1", "") + &tree("b", "x1, y1, z1, u1", ""))).is_empty());
    let long =
        "k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19";
    // Nineteen of twenty keywords are a score of 0.95, and the priorities differ by 0.11.
    let wins =
        tree("a", long, "priority: -50\n") + &tree("b", &format!("{long}, k20"), "priority: 60\n");
    let wins = found(&wins);
    assert_eq!(wins.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(wins[0].1.message.contains("higher priority"), "{wins:?}");
    // Among equals the one with the higher priority decides.
    let by_priority = found(&(tree("a", "x1, y1", "priority: 1\n") + &tree("b", "x1, y1", "")));
    assert_eq!(by_priority.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn few_and_repeated_keywords_are_named() {
    assert_eq!(codes(&tree("a", "x1", ""), "a"), [Code::KeywordsFew]);
    assert_eq!(codes(&tree("a", "x1, y1, X1, z1", ""), "a"), [Code::KeywordRepeated]);
    assert_eq!(codes(&tree("a", "x1, y1, z1", ""), "a"), []);
    assert_eq!(codes(&bundle("a", "All about a"), "a"), [], "a bundle needs no keywords");
}

#[test]
fn misspelled_and_unknown_fields_are_told_apart() {
    for (field, code, hint) in [
        ("priorty: 5", Code::FieldMisspelled, "write `priority`"),
        ("inherits: false", Code::FieldMisspelled, "write `inherit`"),
        ("asset: []", Code::FieldMisspelled, "write `assets`"),
        ("trigger: [x]", Code::FieldMisspelled, "write `triggers`"),
        ("keyword: [x]", Code::FieldMisspelled, "`keywords` is there already; join the two"),
        ("owner: team", Code::FieldUnknown, "known are"),
        ("license: MIT", Code::FieldUnknown, "remove it"),
    ] {
        let found = lints(&tree("a", "x1, y1, z1", &format!("{field}\n")), "a");
        let (_, finding) = found.first().unwrap_or_else(|| panic!("{field}"));
        assert_eq!((finding.code, finding.at.line), (code, 4), "{field}");
        assert!(finding.hint.as_ref().unwrap().contains(hint), "{finding:?}");
    }
    let nested = "scripts:\n  - file: scripts/a.sh\n    description: A\n    excution: server\n";
    let found = lints(&tree("a", "x1, y1, z1", nested), "a");
    assert_eq!((found[0].1.code, found[0].1.at.line), (Code::FieldMisspelled, 7));
}

#[test]
fn a_bundle_is_compared_with_the_agent_skills_format() {
    let with = |fields: &str| {
        codes(
            &format!("//- a/SKILL.md\n---\nname: a\ndescription: All\n{fields}\n---\nText\n"),
            "a",
        )
    };
    assert_eq!(with("license: MIT\ncompatibility: Linux\nmetadata:\n  owner: team"), []);
    assert_eq!(with("model: opus"), [Code::FieldNonstandard]);
    assert_eq!(with("triggers: [x]"), [Code::FieldNonstandard]);
    assert_eq!(with("version: 1"), [Code::FieldUnknown]);
    assert_eq!(with("licence: MIT"), [Code::FieldMisspelled]);
    assert_eq!(with("metadata: text"), [Code::FieldForm]);
    assert_eq!(with("metadata:\n  version: 1.0"), [Code::FieldForm]);
    assert_eq!(with("metadata:\n  version: \"1.0\""), []);
    assert_eq!(with("metadata:\n  tags: [a, b]"), [Code::FieldForm]);
    assert_eq!(with(&format!("compatibility: {}", "x".repeat(501))), [Code::FieldForm]);
    let top = "//- SKILL.md\n---\nname: other\ndescription: All\n---\nText\n";
    assert_eq!(codes(top, "other"), [Code::NameUnconventional]);
    assert_eq!(codes(&top.replace("other", "main"), "main"), []);
}

#[test]
fn descriptions_have_a_length_that_clients_take() {
    let found = lints(&bundle("a", &"word ".repeat(250)), "a");
    assert_eq!(found[0].1.code, Code::DescriptionLong);
    assert_eq!(found[0].1.message, "1249 characters; the format allows 1024");
    let found = lints(&bundle("a", &"word ".repeat(320)), "a");
    assert!(found[0].1.message.ends_with("a client cuts it at 1536"), "{found:?}");
}

#[test]
fn the_later_of_two_like_descriptions_is_named_with_what_tells_them_apart() {
    let one = "Review pull requests of the payment service for security problems, missing tests and style";
    let other = "Review pull requests of the billing service for security problems, missing tests and style";
    let pair = catalog(
        &(bundle("a", one) + &bundle("b", other) + &bundle("c", "Draw herons in ink, with a beak")),
    );
    let found = compared(&pair, |_| true);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0.as_str(), found[0].1.code), ("b", Code::DescriptionConfusable));
    assert!(found[0].1.message.contains("this one has `billing`, `a` has `payment`"), "{found:?}");
    let asked = compared(&pair, |skill| &*skill.identity == "a");
    assert_eq!(asked[0].0, "a", "the one that is asked for gets the finding");
    let same = compared(&catalog(&(bundle("a", one) + &bundle("b", one))), |_| true);
    assert_eq!((same[0].0.as_str(), same[0].1.code), ("b", Code::DescriptionDuplicate));
}

#[test]
fn a_script_that_the_server_cannot_run_is_named() {
    let script = |file: &str, who: &str| {
        let declared =
            format!("scripts:\n  - file: {file}\n    description: A\n    execution: {who}\n");
        let content = tree("a", "x1, y1, z1", &declared) + &format!("//- a/{file}\nputs 1\n");
        codes(&content, "a")
    };
    assert_eq!(script("scripts/a.rb", "server"), [Code::ScriptNotRunnable]);
    assert_eq!(script("scripts/a", "server"), [Code::ScriptNotRunnable]);
    assert_eq!(script("scripts/a.rb", "claude"), []);
    assert_eq!(script("scripts/a.SH", "server"), []);
}

#[test]
fn links_lead_somewhere_or_are_named_once_with_their_line() {
    let content = "//- pdf/SKILL.md\n---\nname: pdf\ndescription: All about PDF\n---\n\n\
         [ok](refs/a.md) [up](../pdf/refs)\n[gone](refs/b.md)\n[gone](refs/b.md) [out](../../x.md)\n\
         //- pdf/refs/a.md\nA\n";
    let found = lints(content, "pdf");
    assert_eq!(
        (found[0].1.code, found[0].1.at),
        (Code::LinkBroken, Position { line: 7, column: 8 })
    );
    assert_eq!(
        found[0].1.message,
        "the links to `refs/b.md`, `../../x.md` lead to files that do not exist"
    );
    let own = tree("ui", "x1, y1, z1", "assets:\n  - file: assets/t.ts\n    description: T\n")
        .replace("Text", "[own](assets/t.ts) [by folder](ui/assets/t.ts) [no](assets/u.ts)")
        + "//- ui/assets/t.ts\nx\n";
    let found = lints(&own, "ui");
    assert_eq!(found[0].1.message, "the link to `assets/u.ts` leads to a file that does not exist");
}

#[test]
fn files_that_nothing_names_are_listed() {
    let content = "//- pdf/SKILL.md\n---\nname: pdf\ndescription: All about PDF\n---\nRun scripts/a.py.\n\
         //- pdf/scripts/a.py\nimport helpers\n//- pdf/scripts/helpers.py\nx\n//- pdf/LICENSE\nx\n\
         //- pdf/refs/lost.md\nx\n//- pdf/inner/SKILL.md\n---\nname: inner\ndescription: Inner\n---\nx\n\
         //- pdf/inner/own.md\nx\n";
    let found = lints(content, "pdf");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1.message, "no text of the bundle names `refs/lost.md`");
    let declared = tree(
        "ui",
        "x1, y1, z1",
        "scripts:\n  - file: scripts/a.sh\n    description: A\n",
    ) + "//- ui/scripts/a.sh\n. ./lib.sh\n//- ui/scripts/lib.sh\nx\n//- ui/assets/lost.txt\nx\n";
    let found = lints(&declared, "ui");
    assert_eq!(found[0].1.code, Code::FileUndeclared);
    assert_eq!(found[0].1.message, "`assets/lost.txt` is in the resource folder and not declared");
}

#[test]
fn long_texts_are_measured() {
    let long = tree("a", "x1, y1, z1", "").replace("Text", &"one two three four\n".repeat(3_000));
    assert_eq!(codes(&long, "a"), [Code::TextCut]);
    let long = bundle("a", "All").replace("Text", &"one two three four\n".repeat(3_000));
    assert_eq!(codes(&long, "a"), [Code::TextLong]);
    assert_eq!(
        codes(&bundle("a", "All").replace("Text", &"- x\n".repeat(501)), "a"),
        [Code::TextLong]
    );
    assert_eq!(codes(&bundle("a", "All").replace("Text", &"- x\n".repeat(499)), "a"), []);
}

#[test]
fn secrets_are_found_in_the_file_that_holds_them() {
    let token = format!("ghp_{}", "q7Rt2WmZ9xKpL4vNcB8sYdJh3FgTuA5e6QwE");
    let content = bundle("a", "All") + &format!("//- a/Text.sh\nexport T={token}\n");
    let found = lints(&content, "a");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0.as_str(), found[0].1.code), ("a/Text.sh", Code::SecretLikely));
    assert!(!format!("{found:?}").contains("q7Rt"), "a finding never repeats the secret");
}
