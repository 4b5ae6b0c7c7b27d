//! The agents' directories, plugins and bundles as they lie on people's disks: who loads what by itself, which copy
//! wins, where links may lead, and hostile names and texts.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_mcp::clients::CLIENTS;
use skills_testkit::{Client, Home, wait_until};

use crate::support::{
    ROOT_TREE, agents, agents_client, bundle, client, description, doctored, install_plugins,
    listed_names, offered, ordinary, result, run, server, skill,
};

/// The directories we look into by ourselves: whose, where, and the skill each holds in these tests.
const DEFAULTS: [(bool, &str, &str); 6] = [
    (true, ".agents/skills", "project-agents"),
    (true, ".agent/skills", "project-agent"),
    (false, ".agents/skills", "user-agents"),
    (false, ".agent/skills", "user-agent"),
    (true, ".claude/skills", "project-claude"),
    (false, ".claude/skills", "user-claude"),
];

/// Every default directory with a skill of its own, and a plugin.
fn full() -> Home {
    let home = Home::new();
    for (is_project, folder, name) in DEFAULTS {
        let base = if is_project { "project/" } else { "" };
        home.write(&format!("{base}{folder}/{name}/SKILL.md"), bundle(name, "One of six", "Text."));
    }
    install_plugins(&home, &[("office", &[("pdf", bundle("pdf", "Of a plugin", "Text."))])]);
    home
}

fn load(client: &mut Client, name: &str) -> String {
    let reply = client.call("skill", &json!({"name": name}));
    assert!(!reply.is_error, "{name}: {}", reply.text);
    reply.text
}

fn json_of(home: &Home, arguments: &[&str]) -> Value {
    let (code, out, err) = run(&mut agents(home, arguments));
    assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"))
}

// What a client loads by itself.

// SOURCE-4
#[test]
fn a_native_client_is_shown_exactly_what_it_does_not_load_by_itself() {
    for native in CLIENTS {
        let home = full();
        for below in native.project {
            home.write(&format!("project/{below}/own/SKILL.md"), bundle("own", "x", "Text."));
        }
        for below in native.user {
            home.write(&format!("{below}/own/SKILL.md"), bundle("own", "x", "Text."));
        }
        let mut expected: Vec<&str> = DEFAULTS
            .iter()
            .filter(|(is_project, folder, _)| {
                let loaded = if *is_project { native.project } else { native.user };
                !loaded.contains(folder)
            })
            .map(|(_, _, name)| *name)
            .collect();
        if !native.claude_plugins {
            expected.push("office:pdf");
        }
        let mut client = agents_client(&home, &["--native", native.id]);
        assert_eq!(listed_names(&description(&mut client, "skill")), expected, "{}", native.id);
        assert!(client.call("skill", &json!({"name": "own"})).is_error, "{}", native.id);
    }
}

#[test]
fn without_a_native_client_everything_is_shown_in_its_order() {
    let home = full();
    let mut client = agents_client(&home, &[]);
    let mut expected: Vec<&str> = DEFAULTS.iter().map(|(_, _, name)| *name).collect();
    expected.push("office:pdf");
    assert_eq!(listed_names(&description(&mut client, "skill")), expected);
    let mut any_case = agents_client(&home, &["--native", "Claude-Code"]);
    assert_eq!(listed_names(&description(&mut any_case, "skill")), expected[..4]);
}

#[test]
fn an_unknown_native_client_is_exit_2_with_a_near_name_and_all_there_are() {
    let home = full();
    for (wrong, near) in
        [("claude", Some("claude-code")), ("opncode", Some("opencode")), ("zzzzzz", None)]
    {
        let (code, out, err) = run(&mut agents(&home, &["--native", wrong]));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(
            err.starts_with(&format!("error: invalid value '{wrong}' for '--native <CLIENT>'")),
            "{err}"
        );
        let said = near.map(|near| format!("'{near}'"));
        assert_eq!(err.contains("tip: "), said.is_some(), "{err}");
        assert!(said.is_none_or(|said| err.contains(&said)), "{err}");
        assert!(CLIENTS.iter().all(|client| err.contains(client.id)), "{err}");
    }
}

// SOURCE-4
#[test]
fn the_default_directories_can_be_turned_off() {
    let home = full();
    let mut client = agents_client(&home, &["--no-default-dirs"]);
    assert_eq!(listed_names(&description(&mut client, "skill")), Vec::<&str>::new());
    let reply = client.call("skill", &json!({"name": "user-claude"}));
    assert!(reply.is_error && reply.text.contains("(none)"), "{}", reply.text);
    let (status, _, log) = client.close();
    assert!(status.success() && log.contains("no source is named"), "{log}");
    home.write("named/x/SKILL.md", bundle("x", "Named", "Text."));
    let mut client = agents_client(&home, &["--no-default-dirs", "--dir", "../named"]);
    assert!(load(&mut client, "x").starts_with("Loading: x\n"));
    let mut client = agents_client(&home, &["--dir", "../named"]);
    let listing = description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["x"], "a named source stands alone");
    assert!(listing.contains("<location>source</location>"), "{listing}");
}

#[test]
fn a_directory_that_appears_after_the_start_is_served() {
    let home = Home::new();
    home.write("project/.keep", "");
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    assert!(client.call("skill", &json!({"name": "late"})).is_error);
    home.write("project/.claude/skills/late/SKILL.md", bundle("late", "Comes later", "Here."));
    wait_until("it appears", || !client.call("skill", &json!({"name": "late"})).is_error);
}

// SOURCE-3
#[test]
fn plugins_that_are_not_installed_or_not_enabled_are_not_served() {
    let home = full();
    let cache = ".claude/plugins/cache/market";
    home.write(&format!("{cache}/office/0.9.0/skills/old/SKILL.md"), bundle("old", "x", "Text."));
    home.write(
        &format!("{cache}/stray/1.0.0/skills/stray/SKILL.md"),
        bundle("stray", "x", "Text."),
    );
    let served = |home: &Home| {
        let mut client = agents_client(home, &[]);
        let listing = description(&mut client, "skill");
        listed_names(&listing).iter().filter(|name| name.contains(':')).count()
    };
    assert_eq!(served(&home), 1, "the cache is never searched");
    let settings = json!({"enabledPlugins": {"office@market": false}}).to_string();
    home.write("project/.claude/settings.local.json", settings);
    assert_eq!(served(&home), 0, "the nearest settings decide");
}

// Which copy wins.

#[test]
fn why_says_which_copy_is_served_and_over_which() {
    let home = full();
    home.write("project/.claude/skills/git/SKILL.md", bundle("git", "The project's", "One."));
    home.write(".agents/skills/git/SKILL.md", bundle("git", "The user's", "Two."));
    home.write(".claude/skills/vcs/SKILL.md", bundle("Git", "Another", "Three."));
    let (code, out, err) = run(&mut agents(&home, &["why", "git"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        format!(
            "git  {home}/.agents/skills/git/SKILL.md (global)\n  \
             over  {home}/project/.claude/skills/git/SKILL.md (project): differs, and its directory comes later\n  \
             over  {home}/.claude/skills/vcs/SKILL.md (global): differs, and its directory comes later\n",
            home = home.path().display()
        )
    );
    assert_eq!(
        json_of(&home, &["why", "GIT", "--json"]),
        json!({"served": [{
            "name": "git", "source": "user-agents", "file": "git/SKILL.md", "over": [
                {"source": "project-claude", "file": "git/SKILL.md", "identical": false, "served_as": null},
                {"source": "user-claude", "file": "vcs/SKILL.md", "identical": false, "served_as": null},
            ],
        }]})
    );
    let mut client = agents_client(&home, &["--tools", "all"]);
    assert!(load(&mut client, "git").ends_with("Two.\n"));
    let listing = description(&mut client, "skill");
    assert_eq!(listing.matches("<name>git</name>").count(), 1, "{listing}");
    let found = result(&mut client, "skills_search", &json!({"query": "git", "match": "all"}));
    assert_eq!(found["structuredContent"]["total"], 1, "a shadowed copy is not found: {found}");
    let (_, found) = doctored(&mut agents(&home, &[]));
    let shadowed = found.iter().filter(|one| one.ends_with(" bundle-shadowed")).count();
    assert_eq!(shadowed, 2, "{found:?}");
}

#[test]
fn why_answers_for_short_names_mistakes_and_what_is_not_served() {
    let home = full();
    install_plugins(
        &home,
        &[
            ("office", &[("pdf", bundle("pdf", "One", "Text."))]),
            ("print", &[("pdf", bundle("pdf", "Two", "Text."))]),
        ],
    );
    home.write(".claude/skills/vague/SKILL.md", "---\nname: vague\n---\n");
    let served = json_of(&home, &["why", "pdf", "--json"]);
    let names: Vec<&Value> =
        served["served"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["office:pdf", "print:pdf"]);
    let (code, out, _) = run(&mut agents(&home, &["why", "pdf"]));
    assert!(code == 0 && out.contains("several") && out.contains("print:pdf"), "{out}");
    for (asked, said) in [
        ("user-cluade", "did you mean user-claude"),
        ("vague", "`description` is missing"),
        ("zzzzzz", "list --all"),
    ] {
        let (code, out, err) = run(&mut agents(&home, &["why", asked]));
        assert_eq!((code, out.as_str()), (2, ""), "{asked}");
        assert!(err.contains(said), "{asked}: {err}");
    }
}

// SOURCE-6
#[test]
fn byte_identical_copies_merge_silently() {
    let home = Home::new();
    let text = bundle("git", "The same everywhere", "Text.");
    for folder in ["project/.agents/skills", ".agents/skills", ".claude/skills"] {
        home.write(&format!("{folder}/git/SKILL.md"), &text);
    }
    let (code, found) = doctored(&mut agents(&home, &[]));
    assert_eq!((code, found), (0, vec![]));
    let mut client = agents_client(&home, &[]);
    assert_eq!(listed_names(&description(&mut client, "skill")), ["git"]);
    let place = home.path().join("project/.agents/skills/git");
    assert!(load(&mut client, "git").contains(&format!("Base directory: {}\n", place.display())));
    let why = json_of(&home, &["why", "git", "--json"]);
    let over = why["served"][0]["over"].as_array().unwrap();
    assert_eq!(over.len(), 2);
    assert!(over.iter().all(|copy| copy["identical"] == true), "{why}");
}

// SOURCE-6
#[test]
fn u14_no_skill_takes_anothers_place_in_silence() {
    let home = Home::new();
    home.write(".claude/skills/deploy/SKILL.md", bundle("deploy", "The user's", "Mine."));
    home.write("project/.claude/skills/deploy/SKILL.md", bundle("deploy", "Theirs", "Theirs."));
    home.write("project/.claude/skills/forged/SKILL.md", bundle("office:pdf", "Forged", "Forged."));
    home.write("project/.claude/skills/alike/SKILL.md", bundle("depl\u{43e}y", "Alike", "Alike."));
    install_plugins(&home, &[("office", &[("pdf", bundle("pdf", "The plugin's", "Real."))])]);
    let mut client = agents_client(&home, &[]);
    let listing = description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["deploy", "depl\u{43e}y", "forged", "office:pdf"]);
    for (name, whose) in [("deploy", "project<"), ("forged", "project<"), ("office:pdf", "plugin<")]
    {
        let entry = listing.split(&format!("<name>{name}</name>")).nth(1).unwrap();
        let location = entry.split("<location>").nth(1).unwrap();
        assert!(location.starts_with(whose), "it says whose it is: {entry}");
    }
    assert!(load(&mut client, "deploy").ends_with("Theirs.\n"));
    assert!(load(&mut client, "office:pdf").ends_with("Real.\n"));
    let (_, _, log) = client.close();
    for (file, code) in
        [("deploy/SKILL.md", "bundle-shadowed"), ("forged/SKILL.md", "name-invalid")]
    {
        let said = log.lines().any(|line| line.contains(file) && line.contains(code));
        assert!(said, "{file}: {log}");
    }
    let (_, found) = doctored(&mut agents(&home, &[]));
    for said in [
        "alike/SKILL.md name-unconventional",
        "forged/SKILL.md name-invalid",
        "deploy/SKILL.md bundle-shadowed",
    ] {
        assert!(found.iter().any(|one| one == said), "{said}: {found:?}");
    }
    let why = json_of(&home, &["why", "office:pdf", "--json"]);
    assert_eq!(why["served"][0]["source"], "plugin-office");
}

// Links.

// SOURCE-9
#[test]
fn links_of_a_project_stay_in_it_and_links_of_the_user_lead_anywhere() {
    let home = Home::new();
    home.write("project/tools/inside/SKILL.md", bundle("inside", "Below the project", "Inside."));
    home.write("elsewhere/far/SKILL.md", bundle("far", "Outside", "Far."));
    home.write("elsewhere/far/notes.md", "Notes.");
    home.write("project/.claude/skills/own/SKILL.md", bundle("own", "Plain", "Own."));
    home.write(".claude/skills/mine/SKILL.md", bundle("mine", "Plain", "Mine."));
    home.write(".ssh/keys/SKILL.md", bundle("keys", "canary", "canary"));
    let project = home.path().join("project/.claude/skills");
    let user = home.path().join(".claude/skills");
    symlink("../../tools/inside", project.join("inside")).unwrap();
    symlink("../../../elsewhere/far", project.join("far")).unwrap();
    symlink(home.path().join("elsewhere/far/SKILL.md"), project.join("own/more.md")).unwrap();
    symlink(home.path().join("elsewhere/far"), user.join("linked")).unwrap();
    symlink(home.path().join(".ssh/keys"), user.join("keys")).unwrap();
    let mut client = agents_client(&home, &["--tools", "all"]);
    let listing = description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["inside", "own", "far", "mine"]);
    assert!(load(&mut client, "inside").ends_with("Inside.\n"));
    let far = load(&mut client, "far");
    assert!(far.contains(".claude/skills/linked\n") && !far.contains("project"), "{far}");
    let asset = client.call("get_asset", &json!({"skill_path": "far", "file": "notes.md"}));
    assert_eq!(asset.json["content"], "Notes.", "{}", asset.text);
    let refused = client.call("get_asset", &json!({"skill_path": "own", "file": "more.md"}));
    assert!(refused.is_error && !refused.text.contains("Far."), "{}", refused.text);
    let (code, found) = doctored(&mut agents(&home, &[]));
    assert_eq!(code, 1);
    let mut refused: Vec<&String> =
        found.iter().filter(|one| one.ends_with(" link-refused")).collect();
    refused.sort();
    assert_eq!(refused, ["far link-refused", "keys link-refused", "own/more.md link-refused"]);
}

// Trees and bundles side by side.

/// A tree with bundles in it: one in a folder of its own, one among a category's skills.
fn mixed() -> Home {
    let home = Home::with(ROOT_TREE);
    home.write("skills/tools/pdf/SKILL.md", bundle("pdf-tools", "Fill PDF forms", "Fill it."));
    home.write("skills/tools/pdf/scripts/fill.py", "print('fill')\n");
    home.write("skills/tools/pdf/reference/forms.md", "# Forms\n");
    home.write("skills/tools/pdf/logo.png", [0x89, b'P', b'N', b'G']);
    home.write("skills/ui/react/charts/SKILL.md", bundle("charts", "Draw charts", "Draw."));
    home.write("skills/ui/react/charts/nested/SKILL.md", bundle("axes", "Label axes", "Label."));
    home.write("secret.txt", "canary");
    home
}

// TOOLS-1
#[test]
fn tools_of_both_kinds_are_offered_where_a_named_source_holds_both() {
    let home = mixed();
    let tools = offered(&mut client(&home));
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"get_skill") && names.contains(&"skill"), "{names:?}");
    let only_tree = Home::with(ROOT_TREE);
    let tools = offered(&mut client(&only_tree));
    assert!(tools.iter().all(|tool| tool["name"] != "skill"), "no bundles, no tool for them");
}

// LAYOUT-6
#[test]
fn get_skill_takes_a_tree_path_a_bundles_folder_and_a_bundles_name() {
    let home = mixed();
    // Each of these names something else too: paths come first, then folders, then names.
    home.write("skills/other/one/SKILL.md", bundle("ui", "Named like a category", "Not me."));
    home.write("skills/other/two/SKILL.md", bundle("tools/pdf", "Named like a folder", "Nor me."));
    let mut client = client(&home);
    for (asked, path, text) in [
        ("ui/react/auth", "ui/react/auth", "Cookies, not tokens."),
        ("ui", "ui/_index", "Mind the keyboard."),
        ("tools/pdf", "tools/pdf", "Fill it."),
        ("pdf-tools", "tools/pdf", "Fill it."),
        ("PDF-Tools", "tools/pdf", "Fill it."),
        ("charts", "ui/react/charts", "Draw."),
        ("ui/react/charts/nested", "ui/react/charts/nested", "Label."),
    ] {
        let answer = client.call("get_skill", &json!({"skill_path": asked}));
        assert_eq!(answer.json["skill_path"], path, "{asked}: {}", answer.text);
        assert!(answer.json["content"].as_str().unwrap().ends_with(text), "{asked}");
    }
    let alone = client.call("get_skill", &json!({"skill_path": "ui/react/charts"})).json;
    assert_eq!(alone["content"], "Draw.", "a bundle inherits nothing");
}

// ASSET-4
#[test]
fn get_asset_reads_any_regular_file_of_a_bundle_and_nothing_else() {
    let home = mixed();
    symlink(home.path().join("secret.txt"), home.skills().join("tools/pdf/.hidden")).unwrap();
    let mut client = client(&home);
    let mut asset = |path: &str, file: &str| {
        client.call("get_asset", &json!({"skill_path": path, "file": file}))
    };
    for (path, file, content) in [
        ("tools/pdf", "scripts/fill.py", "print('fill')\n"),
        ("pdf-tools", "reference/forms.md", "# Forms\n"),
        ("charts", "nested/SKILL.md", &bundle("axes", "Label axes", "Label.")),
    ] {
        let reply = asset(path, file);
        assert_eq!(reply.json["content"], content, "{}", reply.text);
    }
    assert_eq!(asset("tools/pdf", "logo.png").json["content_base64"], "iVBORw==");
    for file in [
        "../pdf/scripts/fill.py",
        "../../../secret.txt",
        "reference/../../../../secret.txt",
        "/etc/passwd",
        "scripts",
        "",
        "nothing.md",
        "../../ui/react/auth.md",
    ] {
        let reply = asset("tools/pdf", file);
        assert!(reply.is_error, "{file}: {}", reply.text);
        assert!(!reply.text.contains("canary") && !reply.text.contains("root:"), "{}", reply.text);
    }
    let unknown = asset("tools/pdf", "nothing.md");
    assert!(unknown.text.contains("scripts/fill.py"), "it says what there is: {}", unknown.text);
    fs::remove_file(home.skills().join("tools/pdf/scripts/fill.py")).unwrap();
    let gone = asset("tools/pdf", "scripts/fill.py");
    assert!(gone.is_error && gone.text.contains("not found"), "{}", gone.text);
}

/// A node's name, its path and what lies below it.
fn shape(node: &Value) -> Value {
    let children: Vec<Value> = node["children"].as_array().unwrap().iter().map(shape).collect();
    json!([node["name"], node["path"], children])
}

// LIST-2
#[test]
fn list_skills_hangs_bundles_under_their_folders() {
    let home = mixed();
    let mut client = client(&home);
    let tree = client.call("list_skills", &json!({})).json["tree"].clone();
    assert_eq!(
        shape(&tree),
        json!([
            "root",
            "_root",
            [
                ["api", "api", [["auth", "api/auth", []]]],
                ["tools", "tools", [["pdf", "tools/pdf", []]]],
                [
                    "ui",
                    "ui/_index",
                    [[
                        "react",
                        "ui/react/_index",
                        [
                            ["auth", "ui/react/auth", []],
                            [
                                "charts",
                                "ui/react/charts",
                                [["nested", "ui/react/charts/nested", []]]
                            ],
                        ]
                    ]]
                ],
            ]
        ])
    );
    let part = client.call("list_skills", &json!({"path": "tools/pdf"})).json["tree"].clone();
    assert_eq!(
        (&part["path"], &part["description"]),
        (&json!("tools/pdf"), &json!("Fill PDF forms"))
    );
}

// SKILL-7
#[test]
fn skill_loads_a_tree_skill_by_its_path_with_its_files() {
    let home = mixed();
    let mut client = client(&home);
    let folder = home.skills().join("ui/react/auth");
    let composed = client.call("get_skill", &json!({"skill_path": "ui/react/auth"})).json;
    let content = composed["content"].as_str().unwrap();
    let text = load(&mut client, "ui/react/auth");
    let head =
        format!("Loading: ui/react/auth\nBase directory: {}\n\n{content}\n\n", folder.display());
    let files = text.strip_prefix(&head).unwrap_or_else(|| panic!("{text}"));
    assert!(files.contains("get_asset") && files.contains("\"ui/react/auth\""), "{files}");
    let listed: Vec<&str> = files.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(listed, ["- assets/A.tsx"], "what is there, and nothing that is missing");
    let plain = load(&mut client, "api/auth");
    let folder = home.skills().join("api");
    let head = format!("Loading: api/auth\nBase directory: {}\n\n", folder.display());
    assert!(plain.starts_with(&head) && plain.ends_with("Check every call."), "{plain}");
    assert!(load(&mut client, "pdf-tools").starts_with("Loading: pdf-tools\n"));
}

// GET-4
#[test]
fn a_bundle_is_scored_by_its_keywords_or_else_the_closest_by_rank() {
    let home = mixed();
    home.write(
        "skills/tools/csv/SKILL.md",
        "---\nname: csv\ndescription: Tables\nkeywords: [zimbel, quorsk]\n---\nCommas.\n",
    );
    let mut client = client(&home);
    let scored = client.call("get_skill", &json!({"context": "zimbel quorsk"})).json;
    assert_eq!(
        (&scored["skill_path"], &scored["content"]),
        (&json!("tools/csv"), &json!("Commas."))
    );
    let closest = client.call("get_skill", &json!({"context": "fill a pdf form"})).json;
    assert_eq!(closest["no_match"], true, "{closest}");
    assert_eq!(
        (&closest["closest_candidate"], &closest["closest_by"]),
        (&json!("tools/pdf"), &json!("ranked"))
    );
    let rated = client.call("report_usage", &json!({"skill_path": "pdf-tools", "useful": true}));
    assert_eq!(rated.json["recorded"], true, "{}", rated.text);
}

// SOURCE-6
#[test]
fn inside_one_named_source_bundles_of_one_name_are_all_there() {
    let home = Home::new();
    home.write("skills/a/pdf/SKILL.md", bundle("pdf", "The first", "First."));
    home.write("skills/b/pdf/SKILL.md", bundle("pdf", "The second", "Second."));
    home.write("skills/c/same/SKILL.md", bundle("pdf", "The first", "First."));
    let mut command = server(&home);
    command.args(["--tools", "all"]);
    let mut client = Client::legacy(command, "2025-11-25");
    assert_eq!(listed_names(&description(&mut client, "skill")), ["b/pdf", "pdf"]);
    assert!(load(&mut client, "pdf").ends_with("First.\n"), "the first by path has the name");
    assert!(load(&mut client, "b/pdf").ends_with("Second.\n"));
    for (path, content) in [("a/pdf", "First."), ("b/pdf", "Second."), ("c/same", "First.")] {
        let answer = client.call("get_skill", &json!({"skill_path": path}));
        assert_eq!(answer.json["content"], content, "{path}: {}", answer.text);
    }
}

// SKILL-4
#[test]
fn every_listed_name_loads_its_own_skill_however_names_and_folders_cross() {
    let home = Home::new();
    let bundles = [
        ("a", "b", "A, called b"),
        ("b", "b", "B, in the folder that A is called by"),
        ("c", "d/e", "C, called like a folder"),
        ("d/e", "x", "E, in that folder"),
        ("f", "Two  blanks", "F"),
        ("g", "B", "G, called b in capitals"),
        ("h", "ui", "H, called like a category"),
    ];
    for (folder, name, about) in bundles {
        home.write(&format!("skills/{folder}/SKILL.md"), bundle(name, about, "Text."));
    }
    home.write("skills/ui/_index.md", skill("interface", "A category", "Text."));
    let mut client = client(&home);
    let listing = description(&mut client, "skill");
    let entries: Vec<(&str, &str)> = listing
        .split("<name>")
        .skip(1)
        .map(|entry| {
            let about = entry.split("<description>").nth(1).unwrap();
            (entry.split("</name>").next().unwrap(), about.split("</description>").next().unwrap())
        })
        .collect();
    assert_eq!(entries.len(), bundles.len() + 1, "{listing}");
    for (name, about) in entries {
        let text = load(&mut client, name);
        let own = format!("description: {about}\n");
        assert!(text.contains(&own) || about == "A category", "{name}: {text}");
        assert!(text.starts_with(&format!("Loading: {name}\n")), "{name}: {text}");
    }
    for (folder, _, about) in bundles {
        let answer = client.call("list_skills", &json!({"path": folder})).json;
        assert_eq!(answer["tree"]["description"], about, "{folder}: {answer}");
    }
}

// SOURCE-5
#[test]
fn the_first_named_source_wins_a_bare_path_whatever_lies_there() {
    let home = Home::new();
    home.write("one/tools/pdf/SKILL.md", bundle("pdf", "A bundle", "Bundle."));
    home.write("two/tools/pdf.md", skill("pdf", "A tree skill", "Tree."));
    for (first, second, wins, other) in
        [("one", "two", "Bundle.", "Tree."), ("two", "one", "Tree.", "Bundle.")]
    {
        let mut command = server(&home);
        command.args(["--dir", first, "--dir", second]);
        let mut client = Client::legacy(command, "2025-11-25");
        for (asked, text) in [
            ("tools/pdf", wins),
            (&format!("{first}:tools/pdf"), wins),
            (&format!("{second}:tools/pdf"), other),
        ] {
            let answer = client.call("get_skill", &json!({"skill_path": asked}));
            let content = answer.json["content"].as_str().unwrap_or_default();
            assert!(content.ends_with(text), "{first} first, {asked}: {}", answer.text);
        }
    }
}

// Trying out.

#[test]
fn try_explains_a_ranking_term_by_term_and_clause_by_clause() {
    let home = Home::new();
    for (name, about) in [
        ("pdf-forms", "Fill PDF forms. Use when somebody sends a form to fill in"),
        ("git-flow", "Commit and merge with care"),
        ("charts", "Draw charts and other forms of diagrams"),
    ] {
        home.write(&format!(".claude/skills/{name}/SKILL.md"), bundle(name, about, "Text."));
    }
    let request = "please fill in this PDF form";
    let tried = json_of(&home, &["try", request, "--json"]);
    assert_eq!((&tried["request"], &tried["total"]), (&json!(request), &json!(2)), "{tried}");
    let first = &tried["hits"][0];
    assert_eq!((&first["skill"], &tried["certainty"]), (&json!("pdf-forms"), &json!("sure")));
    let number = |key: &str| first[key].as_f64().unwrap();
    let sum = number("words") + number("name") + number("clauses") + number("coverage");
    assert!((number("score") - sum).abs() < 1e-4, "the terms add up: {first}");
    assert!(number("name") > 0.0 && number("clauses") > 0.0, "{first}");
    let terms = first["matched_terms"].as_array().unwrap();
    assert!(terms.contains(&json!("pdf")) && terms.contains(&json!("fill")), "{first}");
    assert!(first["clause"].as_str().unwrap().contains("form"), "{first}");
    let (code, out, err) = run(&mut agents(&home, &["try", request]));
    assert_eq!((code, err.as_str()), (0, ""));
    for said in ["2 skills", "the first fits", "1. pdf-forms", "2. charts", "best clause: "] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let one = json_of(&home, &["try", request, "--json", "--limit", "1"]);
    assert_eq!((one["hits"].as_array().unwrap().len(), &one["total"]), (1, &json!(2)));
    let nothing = json_of(&home, &["try", "zzzz", "--json"]);
    assert_eq!((&nothing["total"], &nothing["hits"]), (&json!(0), &json!([])));
    let again = json_of(&home, &["try", request, "--json"]);
    assert_eq!(tried, again, "deterministic");
}

// Hostile texts.

#[test]
fn u05_invisible_characters_are_diagnosed_kept_out_of_listings_and_served_unchanged() {
    let home = Home::new();
    let hidden = "Zero\u{200b}width, \u{202e}turned\u{202c}, tag\u{e0041}ged, sel\u{e0100}ected";
    let text =
        format!("---\nname: seen\ndescription: {hidden}\n---\n\nBody \u{2066}here\u{2069}.\n");
    home.write(".claude/skills/seen/SKILL.md", &text);
    home.write(".claude/skills/plain/SKILL.md", bundle("pl\u{200b}ain", "Its name hides one", "x"));
    home.write(
        ".claude/skills/emoji/SKILL.md",
        bundle("emoji", "Fine ✔\u{fe0f} 👩\u{200d}🌾", "x"),
    );
    home.write(
        ".claude/skills/turned-\u{202e}txt/SKILL.md",
        "---\ndescription: Of its folder\n---\n",
    );
    let mut client = agents_client(&home, &["--tools", "skill,flat"]);
    let listing = description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["emoji", "plain", "seen", "turned-txt"]);
    assert!(listing.contains("Zerowidth, turned, tagged, selected"), "{listing}");
    let mut texts = vec![listing];
    for (tool, arguments) in [
        ("skills_list", json!({})),
        ("skills_search", json!({"query": "width"})),
        ("skills_search", json!({"query": "width", "match": "all"})),
    ] {
        let answer = result(&mut client, tool, &arguments);
        texts.push(answer["content"][0]["text"].as_str().unwrap().to_owned());
    }
    texts.push(client.call("skill", &json!({"name": "turnd-txt"})).text);
    for text in &texts {
        let found = text.chars().find(|c| "\u{200b}\u{202e}\u{e0041}\u{e0100}".contains(*c));
        assert_eq!(found, None, "{text:?}");
    }
    let loaded = load(&mut client, "seen");
    assert_eq!(loaded.split_once("\n\n").unwrap().1, text, "to the byte");
    for name in ["plain", "turned-txt"] {
        assert!(load(&mut client, name).starts_with(&format!("Loading: {name}\n")), "as listed");
    }
    let (_, out, _) = run(&mut agents(&home, &["doctor", "--json"]));
    let examined: Value = serde_json::from_str(&out).unwrap();
    let said = |file: &str, code: &str| {
        let all = examined["diagnostics"].as_array().unwrap();
        all.iter().find(|one| one["file"] == file && one["code"] == code).cloned()
    };
    let seen = said("seen/SKILL.md", "invisible-characters").unwrap();
    let message = seen["message"].as_str().unwrap();
    assert!(message.contains("7 ") && message.contains("U+200B"), "{seen}");
    assert_eq!(seen["line"], 3);
    assert!(said("plain/SKILL.md", "name-invalid").is_some(), "{out}");
    assert_eq!(said("emoji/SKILL.md", "invisible-characters"), None, "{out}");
}

#[test]
fn u09_escape_sequences_in_bundles_reach_no_listing_no_terminal_and_no_log() {
    let home = Home::new();
    let attack = "\\e[2J\\e]0;owned\\a\\e]52;c;ZXZpbA==\\a";
    let body = "Body \x1b[2J\x1b]0;owned\x07 end";
    let text =
        format!("---\nname: \"evil{attack}\"\ndescription: \"Clears {attack} it\"\n---\n{body}\n");
    home.write(".claude/skills/evil/SKILL.md", &text);
    home.write(".claude/skills/bad/SKILL.md", format!("---\nname: bad\n\"{attack}\": [\n---\n"));
    let folder = home.path().join(".claude/skills/fold\x1b[2Jer");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), bundle("x", "y", "z")).unwrap();
    for arguments in [
        &["doctor"][..],
        &["doctor", "--all"],
        &["list"],
        &["list", "--all"],
        &["show", "evil"],
        &["why", "evil"],
        &["try", "clears it"],
    ] {
        let (_, out, err) = run(agents(&home, arguments).env("CLICOLOR_FORCE", "1"));
        let own = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
        let plain = own.iter().fold(out, |out, own| out.replace(own, ""));
        assert!(plain.contains("evil"), "{arguments:?}: {plain}{err}");
        let raw = plain.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(raw, None, "{arguments:?}: {plain:?}");
        assert!(!err.contains('\x1b'), "{arguments:?}: {err:?}");
    }
    let mut command = agents(&home, &["--tools", "all"]);
    command.env("SKILLS_LOG", "trace");
    let mut client = Client::legacy(command, "2025-11-25");
    let listing = description(&mut client, "skill");
    assert_eq!(listed_names(&listing), ["evil"], "the name was not one");
    assert_eq!(listing.chars().find(|c| c.is_control() && *c != '\n'), None, "{listing:?}");
    assert!(load(&mut client, "evil").ends_with(&format!("{body}\n")), "served as it is");
    client.call("skill", &json!({"name": "\x1b[2J\x1b]0;owned\x07"}));
    result(&mut client, "skills_search", &json!({"query": "\x1b]0;owned\x07"}));
    client.refused("skill", &json!({"\x1b[2J": 1}));
    let (_, _, log) = client.close();
    assert!(log.contains("yaml-invalid") || log.contains("field-missing"), "{log}");
    assert_eq!(log.chars().find(|c| c.is_control() && *c != '\n'), None, "{log:?}");
    let (_, found) = doctored(&mut agents(&home, &[]));
    assert!(found.contains(&"evil/SKILL.md invisible-characters".to_owned()), "{found:?}");
    assert!(found.contains(&"fold\\u{1b}[2Jer name-unusable".to_owned()), "{found:?}");
}

// Files in places that no author chooses on purpose.

#[test]
fn f12_names_that_collide_have_one_winner_and_are_reported() {
    let home = Home::new();
    let both = |name: &str| bundle("twice", "Two spellings", name);
    home.write(".claude/skills/twice/SKILL.md", both("SKILL.md"));
    home.write(".claude/skills/twice/Skill.md", both("Skill.md"));
    home.write(".claude/skills/odd/skill.md", bundle("odd", "Two odd ones", "skill.md"));
    home.write(".claude/skills/odd/Skill.md", bundle("odd", "Two odd ones", "Skill.md"));
    home.write(".claude/skills/Git/SKILL.md", bundle("Git", "Upper", "Upper."));
    home.write(".claude/skills/git/SKILL.md", bundle("git", "Lower", "Lower."));
    home.write(".claude/skills/caf\u{e9}/SKILL.md", bundle("caf\u{e9}", "Composed", "Composed."));
    home.write(".claude/skills/cafe\u{301}/SKILL.md", bundle("cafe\u{301}", "Apart", "Apart."));
    for _ in 0..2 {
        let mut client = agents_client(&home, &[]);
        let listing = description(&mut client, "skill");
        let expected = ["Git", "cafe\u{301}", "caf\u{e9}", "odd", "twice"];
        assert_eq!(listed_names(&listing), expected);
        for (name, body) in [
            ("twice", "SKILL.md"),
            ("odd", "Skill.md"),
            ("git", "Upper."),
            ("GIT", "Upper."),
            ("caf\u{e9}", "Composed."),
            ("cafe\u{301}", "Apart."),
        ] {
            assert!(load(&mut client, name).ends_with(&format!("\n\n{body}\n")), "{name}");
        }
    }
    let (code, found) = doctored(&mut agents(&home, &[]));
    assert_eq!(code, 0, "{found:?}");
    for said in [
        "twice/SKILL.md file-name-twice",
        "odd/Skill.md file-name-twice",
        "odd/Skill.md file-name-unusual",
        "git/SKILL.md bundle-shadowed",
    ] {
        assert!(found.iter().any(|one| one == said), "{said}: {found:?}");
    }
}

#[test]
fn f13_bundles_in_odd_deep_and_long_folders_are_served_or_named() {
    let home = Home::new();
    let root = home.path().join(".claude/skills");
    let served = ["dot.", "with blank", "it's", "a:b", "-rf", "日本語", "<b>&", "$(x)"];
    for name in served {
        home.write(&format!(".claude/skills/{name}/SKILL.md"), "---\ndescription: x\n---\nText.\n");
    }
    home.write(".claude/skills/ space /SKILL.md", "---\ndescription: x\n---\nText.\n");
    for name in [&b"new\nline"[..], b"tab\t", b"esc\x1b[2J", b"latin-\xe9"] {
        let folder = root.join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), bundle("unseen", "x", "Text.")).unwrap();
    }
    let deep = |levels: usize| vec!["d"; levels].join("/");
    home.write(&format!(".claude/skills/{}/SKILL.md", deep(200)), bundle("deep", "x", "Deep."));
    home.write(&format!(".claude/skills/{}/SKILL.md", deep(300)), bundle("deeper", "x", "Text."));
    let long = vec!["l".repeat(240); 15].join("/");
    home.write(&format!(".claude/skills/{long}/SKILL.md"), bundle("long", "x", "Long."));
    let mut client = agents_client(&home, &["--tools", "all"]);
    // A colon stands between a plugin and its skill, and nowhere else.
    let called = served.map(|name| if name == "a:b" { "a-b" } else { name });
    for name in called.iter().chain(&["space", "deep", "long"]) {
        assert!(load(&mut client, name).starts_with(&format!("Loading: {name}\n")), "{name}");
    }
    for name in ["unseen", "deeper"] {
        assert!(client.call("skill", &json!({"name": name})).is_error, "{name}");
    }
    let listed = result(&mut client, "skills_list", &json!({}));
    assert_eq!(listed["structuredContent"]["total"], served.len() + 3);
    assert!(!client.call("list_skills", &json!({})).is_error);
    let (code, found) = doctored(&mut agents(&home, &[]));
    assert_eq!(code, 1);
    for said in [
        "new\\u{a}line name-unusable",
        "tab\\u{9} name-unusable",
        "esc\\u{1b}[2J name-unusable",
        "latin-\u{fffd} name-unusable",
        &format!("{} too-deep", deep(256)),
    ] {
        assert!(found.iter().any(|one| one == said), "{said}: {found:?}");
    }
}

#[test]
fn f14_what_is_closed_in_a_bundle_costs_itself_and_the_others_are_served() {
    let home = Home::new();
    home.write(".claude/skills/open/SKILL.md", bundle("open", "Open", "Open."));
    home.write(".claude/skills/open/closed.md", "canary");
    home.write(".claude/skills/open/closed/x.md", "canary");
    home.write(".claude/skills/closed/SKILL.md", bundle("closed", "canary", "canary"));
    let closed = ["open/closed.md", "open/closed", "closed/SKILL.md"];
    let set_all = |mode| {
        for path in closed {
            let path = home.path().join(".claude/skills").join(path);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    let arguments = ["--tools", "all", "--set", "refresh.scan_seconds=1"];
    let command = ordinary(&home, agents(&home, &arguments));
    let mut doctor = ordinary(&home, agents(&home, &[]));
    set_all(0o000);
    let mut client = Client::legacy(command, "2025-11-25");
    let open = load(&mut client, "open");
    let names = description(&mut client, "skill");
    let asset = client.call("get_asset", &json!({"skill_path": "open", "file": "closed.md"}));
    for _ in 0..5 {
        client.call("refresh_skills", &json!({}));
    }
    let (_, _, log) = client.close();
    let (code, found) = doctored(&mut doctor);
    set_all(0o700);
    assert!(open.ends_with("Open.\n"));
    assert_eq!(listed_names(&names), ["open"]);
    assert!(asset.is_error && asset.text.contains("cannot be read"), "{}", asset.text);
    assert!(!asset.text.contains("canary") && !log.contains("canary"), "{log}");
    assert_eq!(code, 1);
    assert_eq!(found, ["closed/SKILL.md unreadable", "open/closed unreadable"]);
    assert_eq!(log.matches("closed/SKILL.md").count(), 1, "said once, not at every look: {log}");
}

#[test]
fn f17_three_thousand_skills_in_one_directory_are_served_and_paged() {
    let home = Home::new();
    for number in 0..3_000 {
        let name = format!("skill-{number:04}");
        let text = bundle(&name, &format!("Matter number {number}"), "Text.");
        home.write(&format!(".claude/skills/{name}/SKILL.md"), text);
    }
    let mut client = agents_client(&home, &["--tools", "skill,flat"]);
    assert!(load(&mut client, "skill-2999").ends_with("Text.\n"));
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({"limit": 1000});
        if cursor.is_string() {
            arguments["cursor"] = cursor;
        }
        let page = result(&mut client, "skills_list", &arguments)["structuredContent"].clone();
        assert_eq!(page["total"], 3_000);
        let skills = page["skills"].as_array().unwrap();
        seen.extend(skills.iter().map(|skill| skill["meta"]["name"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        assert!(seen.len() < 3_000, "paging ends");
    }
    let expected: Vec<String> = (0..3_000).map(|number| format!("skill-{number:04}")).collect();
    assert_eq!(seen, expected);
    let found = result(&mut client, "skills_search", &json!({"query": "matter number 1234"}));
    assert_eq!(found["structuredContent"]["results"][0]["meta"]["name"], "skill-1234");
    wait_until("100 loads take less than two seconds", || {
        let asked = Instant::now();
        for number in 0..100 {
            load(&mut client, &format!("skill-{:04}", number * 29));
        }
        asked.elapsed() < Duration::from_secs(2)
    });
}

// CONFIG-6
#[test]
fn a_tree_file_in_an_agents_directory_is_no_skill_of_ours() {
    let home = Home::new();
    home.write(".claude/skills/notes.md", skill("notes", "Not a bundle", "Text."));
    home.write(".claude/skills/git/SKILL.md", bundle("git", "A bundle", "Text."));
    home.write(".claude/skills/config.yaml", "matching: {min_score: 2}\n");
    let mut client = agents_client(&home, &[]);
    assert_eq!(listed_names(&description(&mut client, "skill")), ["git"]);
    let (code, found) = doctored(&mut agents(&home, &[]));
    assert_eq!((code, found), (0, vec![]), "and its configuration is not read");
}
