//! Paths that lead outside, in every spelling, in every place that takes a path (F-01 to F-04).
//!
//! Each spelling leads to a file that exists and holds the canary, for code that joins, decodes or normalises it.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use skills_testkit::{Client, Home, TEST_TIMEOUT};

use crate::{
    hostile::diagnostics,
    support::{client, run, server, skill},
};

/// What no answer may ever hold.
const CANARY: &str = "magpie-7f3a90";

/// What a spelling is to code that decodes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Not a path inside the root.
    Escape,
    /// A strange name, under which there happens to be nothing.
    Name,
}

/// A spelling of "so many folders up, then this target".
type Template = (Form, fn(usize, &str) -> String);

/// F-01: plain.
const PLAIN: &[Template] = &[
    (Form::Escape, |ups, target| "../".repeat(ups) + target),
    (Form::Escape, |ups, target| format!("./{}{target}", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("././{}{target}", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("assets/{}{target}", "../".repeat(ups + 1))),
    (Form::Escape, |ups, target| format!("assets/./{}{target}", "../".repeat(ups + 1))),
    (Form::Escape, |ups, target| format!("assets/A.tsx/{}{target}", "../".repeat(ups + 2))),
    (Form::Escape, |ups, target| format!("none/{}{target}", "../".repeat(ups + 1))),
    (Form::Escape, |ups, target| "..//".repeat(ups) + target),
    (Form::Escape, |ups, target| ".././".repeat(ups) + target),
    (Form::Escape, |ups, target| "....//".repeat(ups) + target),
    (Form::Escape, |ups, target| format!("assets//{}{target}", "../".repeat(ups + 1))),
    (Form::Escape, |ups, target| format!("{}{target}/..", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("{}{target}/.", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("{}{target}/", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("/{}{target}", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("\t{}{target}", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("{}{target}\n", "../".repeat(ups))),
    (Form::Name, |ups, target| ".../".repeat(ups) + target),
    (Form::Name, |ups, target| ".. /".repeat(ups) + target),
    (Form::Name, |ups, target| "..;/".repeat(ups) + target),
];

/// F-02: encoded, or in characters that look like dots and slashes.
const ENCODED: &[Template] = &[
    (Form::Name, |ups, target| "%2e%2e%2f".repeat(ups) + target),
    (Form::Name, |ups, target| "%2E%2E/".repeat(ups) + target),
    (Form::Name, |ups, target| "..%2f".repeat(ups) + target),
    (Form::Name, |ups, target| ".%2e/".repeat(ups) + target),
    (Form::Name, |ups, target| "%252e%252e%252f".repeat(ups) + target),
    (Form::Name, |ups, target| "..%5c".repeat(ups) + target),
    (Form::Name, |ups, target| "..%255c".repeat(ups) + target),
    (Form::Name, |ups, target| "%c0%ae%c0%ae/".repeat(ups) + target),
    (Form::Name, |ups, target| "..%c0%af".repeat(ups) + target),
    (Form::Name, |ups, target| "\u{c0}\u{ae}\u{c0}\u{ae}/".repeat(ups) + target),
    (Form::Name, |ups, target| "..\u{e0}\u{20}\u{af}".repeat(ups) + target),
    (Form::Name, |ups, target| "%u002e%u002e/".repeat(ups) + target),
    (Form::Name, |ups, target| "&#46;&#46;/".repeat(ups) + target),
    (Form::Name, |ups, target| "\u{ff0e}\u{ff0e}/".repeat(ups) + target),
    (Form::Name, |ups, target| "\u{2024}\u{2024}/".repeat(ups) + target),
    (Form::Name, |ups, target| "..\u{ff0f}".repeat(ups) + target),
    (Form::Name, |ups, target| "..\u{2215}".repeat(ups) + target),
    (Form::Name, |ups, target| ".\u{200b}./".repeat(ups) + target),
    (Form::Escape, |ups, target| "\\u002e\\u002e/".repeat(ups) + target),
    (Form::Escape, |ups, target| "\\x2e\\x2e\\x2f".repeat(ups) + target),
    (Form::Escape, |ups, target| "..\\".repeat(ups) + &target.replace('/', "\\")),
    (Form::Escape, |ups, target| format!("assets\\{}{target}", "..\\".repeat(ups + 1))),
    (Form::Escape, |ups, target| "..\\/".repeat(ups) + target),
    (Form::Escape, |ups, target| format!("\\{}{target}", "..\\".repeat(ups))),
    (Form::Escape, |ups, target| "..\0/".repeat(ups) + target),
    (Form::Escape, |ups, target| format!("{}{target}\0.tsx", "../".repeat(ups))),
    (Form::Escape, |ups, target| format!("assets/A.tsx\0{}{target}", "/..".repeat(ups))),
    (Form::Escape, |ups, target| format!("%2e\u{1b}/{}{target}", "../".repeat(ups))),
];

/// F-04: absolute in some way or other. What is repeated does not matter; `target` is a whole path.
const ABSOLUTE: &[Template] = &[
    (Form::Escape, |_, target| target.to_owned()),
    (Form::Escape, |_, target| format!("/{target}")),
    (Form::Escape, |_, target| format!("//{target}")),
    (Form::Escape, |_, target| format!("./{target}")),
    (Form::Escape, |_, target| target.replace('/', "//")),
    (Form::Escape, |_, target| format!("file:{target}")),
    (Form::Escape, |_, target| format!("file://{target}")),
    (Form::Escape, |_, target| format!("FILE://localhost{target}")),
    (Form::Escape, |_, target| format!("https://localhost{target}")),
    (Form::Escape, |_, target| format!("skill://{target}")),
    (Form::Escape, |_, target| format!("/proc/self/root{target}")),
    (Form::Escape, |_, target| format!("/proc/thread-self/root{target}")),
    (Form::Escape, |_, target| format!("/dev/fd/../../proc/self/root{target}")),
    (Form::Escape, |_, target| format!("C:{target}")),
    (Form::Escape, |_, target| format!("C:{}", target.replace('/', "\\"))),
    (Form::Escape, |_, target| format!("\\\\localhost\\c${}", target.replace('/', "\\"))),
    (Form::Escape, |_, target| format!("\\\\?\\C:{}", target.replace('/', "\\"))),
    (Form::Escape, |_, target| format!("//localhost/share{target}")),
    (Form::Escape, |_, target| format!("assets/{target}")),
    (Form::Name, |_, target| target.replace('/', "%2f")),
];

/// F-04: by way of the home or the start directory, which are the same here.
const HOMELY: &[Template] = &[
    (Form::Escape, |_, target| format!("~/{target}")),
    (Form::Escape, |_, target| format!("~root/../{target}")),
    (Form::Escape, |_, target| format!("/proc/self/cwd/{target}")),
    (Form::Name, |_, target| format!("$HOME/{target}")),
    (Form::Name, |_, target| format!("${{HOME}}/{target}")),
    (Form::Name, |_, target| format!("$(pwd)/{target}")),
    (Form::Escape, |_, target| format!("%USERPROFILE%\\{target}")),
];

/// Content with one asset, and canaries all around it: beside the root, in a folder whose name begins as the root's.
fn home() -> Home {
    let home = Home::with(FIXTURE);
    let private = skill("wintergreen", CANARY, CANARY);
    for place in ["skills-private", "private", "."] {
        home.write(&format!("{place}/x.md"), &private);
        home.write(&format!("{place}/canary.txt"), CANARY);
    }
    home
}

const FIXTURE: &str = "\
//- ui/react/auth.md
---
keywords: [zimbel, quorsk]
description: Something
assets:
  - {file: assets/A.tsx, description: A file that is there}
---
Text.
//- ui/react/auth/assets/A.tsx
export const A = 1;
";

/// Every spelling, from the root of the content (one folder up) and from the resource folder (four).
fn spellings(home: &Home) -> BTreeMap<String, Form> {
    let below = ["canary.txt", "skills-private/x.md", "skills-private/x", "skills-private"];
    let relative = PLAIN.iter().chain(ENCODED);
    let mut all = BTreeMap::new();
    for (form, spell) in relative {
        for target in below {
            all.extend([1, 4].map(|ups| (spell(ups, target), *form)));
        }
    }
    for target in below {
        all.extend(HOMELY.iter().map(|(form, spell)| (spell(0, target), *form)));
        let target = format!("{}/{target}", home.path().display());
        all.extend(ABSOLUTE.iter().map(|(form, spell)| (spell(0, &target), *form)));
    }
    for bare in ["..", "../", "../..", "./..", "ui/..", "ui/react/auth/..", "ui/../..", ".\\.."] {
        all.insert(bare.to_owned(), Form::Escape);
    }
    let templates = PLAIN.len() + ENCODED.len() + ABSOLUTE.len() + HOMELY.len();
    assert!(templates >= 70 && all.len() >= 500, "{templates} make {}", all.len());
    all
}

/// Calls a tool: whether it refuses. The canary must not be in the answer, whatever the answer is.
fn refuses(client: &mut Client, tool: &str, arguments: &Value) -> bool {
    let reply = client.call(tool, arguments);
    assert!(!reply.text.contains(CANARY), "{tool} {arguments}: {}", reply.text);
    if reply.is_error {
        assert_eq!(reply.json["error"], true, "{tool} {arguments}: {}", reply.text);
        assert!(reply.json["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    reply.is_error || reply.json["no_match"] == true
}

/// Tries every spelling in one argument; the log must not hold the canary either.
fn try_all(arguments: impl Fn(&str) -> (&'static str, Value)) {
    let home = home();
    let mut client = client(&home);
    for spelling in spellings(&home).keys() {
        let (tool, arguments) = arguments(spelling);
        assert!(refuses(&mut client, tool, &arguments), "{tool} took {arguments}");
    }
    let found = client.call("get_skill", &json!({"context": "zimbel quorsk"}));
    assert_eq!(found.json["skill_path"], "ui/react/auth", "honest requests are served as before");
    let (status, _, log) = client.close();
    assert_eq!(status.code(), Some(0));
    assert!(!log.contains(CANARY), "{log}");
}

// ASSET-5
#[test]
fn f01_f02_f03_f04_the_file_of_get_asset_leads_nowhere_else() {
    try_all(|path| ("get_asset", json!({"skill_path": "ui/react/auth", "file": path})));
}

#[test]
fn f01_f02_f03_f04_the_skill_path_of_get_asset_leads_nowhere_else() {
    try_all(|path| ("get_asset", json!({"skill_path": path, "file": "assets/A.tsx"})));
    try_all(|path| ("get_asset", json!({"skill_path": path, "file": "canary.txt"})));
}

#[test]
fn f01_f02_f03_f04_the_skill_path_of_get_skill_leads_nowhere_else() {
    try_all(|path| ("get_skill", json!({"skill_path": path})));
    try_all(|path| ("get_skill", json!({"skill_path": path, "context": "zimbel quorsk"})));
}

#[test]
fn f01_f02_f03_f04_the_context_of_get_skill_leads_nowhere_else() {
    try_all(|path| ("get_skill", json!({"context": path, "include_assets": true})));
}

#[test]
fn f01_f02_f03_f04_the_path_of_list_skills_leads_nowhere_else() {
    try_all(|path| ("list_skills", json!({"path": path})));
}

#[test]
fn f01_f02_f03_f04_the_skill_path_of_report_usage_leads_nowhere_else() {
    try_all(|path| ("report_usage", json!({"skill_path": path, "useful": true, "comment": path})));
}

#[test]
fn f01_a_path_with_its_source_before_it_leads_nowhere_else() {
    let home = home();
    let source = home.path().file_name().unwrap().to_str().unwrap().to_owned();
    let mut client = client(&home);
    for spelling in spellings(&home).keys() {
        let path = format!("{source}:{spelling}");
        for (tool, arguments) in [
            ("get_skill", json!({"skill_path": path})),
            ("get_asset", json!({"skill_path": path, "file": "canary.txt"})),
            ("list_skills", json!({"path": path})),
        ] {
            assert!(refuses(&mut client, tool, &arguments), "{tool} took {arguments}");
        }
    }
    let path = format!("{source}:ui/react/auth");
    assert!(!refuses(&mut client, "get_skill", &json!({"skill_path": path})));
}

#[test]
fn f01_a_way_out_and_back_in_is_refused_as_well() {
    let home = home();
    let mut client = client(&home);
    for file in [
        "../auth/assets/A.tsx",
        "assets/../assets/A.tsx",
        "assets/./A.tsx",
        "assets//A.tsx",
        "assets/A.tsx/",
        "/assets/A.tsx",
        "assets\\A.tsx",
        "assets%2fA.tsx",
        "assets/A.tsx\0",
        "ASSETS/a.tsx",
        "../auth.md",
        "auth.md",
        "",
        ".",
        "./",
        "assets",
    ] {
        let arguments = json!({"skill_path": "ui/react/auth", "file": file});
        assert!(refuses(&mut client, "get_asset", &arguments), "{file:?}");
    }
    for path in ["ui/../ui/react/auth", "./ui/react/auth", "ui//react/auth", "/ui/react/auth"] {
        assert!(refuses(&mut client, "get_skill", &json!({"skill_path": path})), "{path:?}");
        assert!(refuses(&mut client, "list_skills", &json!({"path": path})), "{path:?}");
    }
    let served = json!({"skill_path": "ui/react/auth", "file": "./assets/A.tsx"});
    assert!(!refuses(&mut client, "get_asset", &served), "one leading ./ is forgiven");
}

#[test]
fn f01_f04_declarations_that_lead_outside_are_diagnosed_and_not_served() {
    let home = home();
    let spellings = spellings(&home);
    let mut expected = BTreeMap::new();
    for (number, (spelling, form)) in spellings.iter().enumerate() {
        let file = json!(spelling);
        let front = format!(
            "keywords: [k{number}]\ndescription: d\nassets:\n  - {{file: {file}, description: d}}\n\
             scripts:\n  - {{file: {file}, description: d}}\n"
        );
        home.write(&format!("skills/s/{number}.md"), format!("---\n{front}---\nText.\n"));
        home.write(&format!("skills/s/{number}/assets/A.tsx"), "a resource folder");
        // Blanks around a value in front matter mean nothing; inside, all is as in a request.
        let code = match form {
            Form::Escape => "declaration-escapes",
            Form::Name => "file-missing",
        };
        expected.insert(format!("s/{number}.md"), (spelling.clone(), [code, code]));
    }
    let (exit, found) = diagnostics(&home);
    assert_eq!(exit, 1, "a declaration left out is worth an exit code");
    for (file, (spelling, codes)) in &expected {
        let of_file: Vec<&str> = found
            .iter()
            .filter(|diagnostic| diagnostic["file"] == *file)
            .map(|diagnostic| diagnostic["code"].as_str().unwrap())
            // Said of some spellings too, and rightly.
            .filter(|code| *code != "invisible-characters")
            .collect();
        assert_eq!(of_file, codes, "{spelling:?}");
    }
    let mut client = client(&home);
    for (number, spelling) in spellings.keys().enumerate() {
        let path = format!("s/{number}");
        let reply = client.call("get_skill", &json!({"skill_path": path, "include_assets": true}));
        assert_eq!((&reply.json["assets"], &reply.json["scripts"]), (&json!([]), &json!([])));
        assert!(!reply.text.contains(CANARY), "{spelling:?}");
        let arguments = json!({"skill_path": path, "file": spelling});
        assert!(refuses(&mut client, "get_asset", &arguments), "{spelling:?}");
    }
}

#[test]
fn f02_nothing_is_decoded_so_a_strange_name_is_that_name() {
    let home = home();
    let names = ["assets/%2e%2e%2fcanary.txt", "assets/..;/x.txt", "assets/.../x", "assets/..%5cx"];
    let declared = names.map(|name| format!("  - {{file: '{name}', description: d}}\n"));
    let assets = declared.concat();
    home.write(
        "skills/odd.md",
        format!("---\nkeywords: [odd]\ndescription: d\nassets:\n{assets}---\nText.\n"),
    );
    for name in names {
        home.write(&format!("skills/odd/{name}"), format!("plain {name}"));
    }
    let mut client = client(&home);
    for name in names {
        let reply = client.call("get_asset", &json!({"skill_path": "odd", "file": name}));
        assert_eq!(reply.json["content"], format!("plain {name}"), "{}", reply.text);
    }
}

#[test]
fn f01_f04_paths_on_the_command_line_lead_nowhere_else() {
    let home = home();
    let spellings = spellings(&home);
    let some = spellings.keys().filter(|spelling| !spelling.contains('\0')).step_by(11);
    for spelling in some {
        for command in ["show", "list"] {
            let (code, out, err) = run(server(&home).args([command, "--", spelling]));
            assert_eq!((code, out.as_str()), (2, ""), "{command} {spelling:?}");
            assert!(err.starts_with("error: there is no "), "{err}");
            assert!(!err.contains(CANARY), "{err}");
        }
    }
}

#[test]
fn a_name_of_300_kb_is_refused_at_once_and_not_repeated() {
    let home = home();
    for number in 0..200 {
        home.write(&format!("skills/many/skill-{number}.md"), skill("many", "d", "Text."));
    }
    let mut client = client(&home);
    let long = "skill/".repeat(50_000);
    let started = std::time::Instant::now();
    for (tool, arguments) in [
        ("get_skill", json!({"skill_path": long})),
        ("get_skill", json!({"context": long})),
        ("list_skills", json!({"path": long})),
        ("report_usage", json!({"skill_path": long, "useful": true})),
        ("get_asset", json!({"skill_path": long, "file": "x"})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": long})),
        ("get_asset", json!({"skill_path": "ui/react/auth", "file": format!("{long}x")})),
    ] {
        let reply = client.call(tool, &arguments);
        assert!(reply.is_error, "{tool}");
        assert!(reply.text.len() < 2_000, "{tool} repeats {} bytes", reply.text.len());
    }
    assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", started.elapsed());
}
