//! `skills_list` and `skills_search` (FLAT-1 to FLAT-8), and `sk mcp-server`, which offers nothing else (SK-1 to SK-5), as
//! a client sees them.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{bundle, offered, result, run, server, sk, sk_client, skill};

/// Bundles at several depths, one below another, and much that is none.
const PROJECT: &str = "\
//- git/SKILL.md
---
name: git-flow
description: Commit and merge with care
---

# Git

Run `bd ready` before you push.
//- git/reference.md
Not a skill, but a file of one.
//- data/sql/postgres/SKILL.md
---
name: postgres
description: Tables and indexes
---
Explain every plan.
//- data/sql/postgres/extras/vacuum/SKILL.md
---
name: vacuum
description: Keep tables small
---
Never at noon.
//- README.md
# Read me
//- ui/react.md
---
keywords: [react]
description: A skill of a tree, which this server does not serve
---
Functions.
";

fn names(listed: &Value) -> Vec<&str> {
    let skills = listed["structuredContent"]["skills"].as_array().unwrap();
    skills.iter().map(|skill| skill["installName"].as_str().unwrap()).collect()
}

fn hits(found: &Value) -> Vec<&str> {
    let results = found["structuredContent"]["results"].as_array().unwrap();
    results.iter().map(|hit| hit["installName"].as_str().unwrap()).collect()
}

fn list(client: &mut Client, arguments: &Value) -> Value {
    result(client, "skills.list", arguments)
}

fn search(client: &mut Client, query: &str) -> Value {
    result(client, "skills.search", &json!({"query": query}))
}

/// So many bundles about one subject.
fn many(count: usize) -> Home {
    let home = Home::new();
    for number in 0..count {
        let name = format!("skill-{number:03}");
        let text = bundle(&name, &format!("Number {number} of many about herons"), "Look at it.");
        home.write(&format!("skills/{name}/SKILL.md"), text);
    }
    home
}

// Lifecycle.

#[test]
fn sk_2_initialize_is_answered_with_version_name_and_instructions() {
    let home = Home::with(PROJECT);
    let mut client = Client::spawn(sk(&home, &[]));
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = client.request("initialize", hello);
    let said = &answer["result"];
    assert_eq!(said["protocolVersion"], "2025-03-26");
    assert_eq!(said["serverInfo"], json!({"name": "sk-mcp", "version": env!("CARGO_PKG_VERSION")}));
    assert!(said["capabilities"]["tools"].is_object(), "{said}");
    let instructions = said["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("skills.list") && instructions.contains("skills.search"),
        "{instructions}"
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let ping = client.ask("ping", json!({}));
    assert_eq!(client.message()["id"], ping, "the notification is not answered");
}

#[test]
fn sk_2_a_synthetic_stream_of_frames_gets_valid_replies() {
    let home = Home::with(PROJECT);
    let frames = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "skills.list", "arguments": {}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "skills.search", "arguments": {"query": "bd ready"}}}),
    ];
    home.write("frames", frames.map(|frame| format!("{frame}\n")).concat());
    let mut command = sk(&home, &[]);
    command.stdin(fs::File::open(home.path().join("frames")).unwrap());
    let (code, out, log) = run(&mut command);
    assert_eq!(code, 0, "{log}");
    let mut answered = BTreeSet::new();
    for line in out.lines() {
        let reply: Value = serde_json::from_str(line).unwrap();
        assert_eq!(reply["jsonrpc"], "2.0");
        assert!(reply["result"].is_object(), "{reply}");
        answered.insert(reply["id"].as_u64().unwrap());
    }
    assert_eq!(answered, BTreeSet::from([1, 2, 3, 4]));
    assert!(out.contains("\"git\""), "{out}");
}

// The tools.

/// The input schemas, without their descriptions and what was added since.
fn schemas() -> [(&'static str, Value); 2] {
    [
        (
            "skills.list",
            json!({
                "type": "object",
                "properties": {"query": {"type": "string"}, "includeBody": {"type": "boolean"}},
                "additionalProperties": false,
            }),
        ),
        (
            "skills.search",
            json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 25, "default": 10},
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        ),
    ]
}

#[test]
fn sk_3_exactly_two_tools_are_offered_with_their_schemas() {
    let home = Home::with(PROJECT);
    let tools = offered(&mut sk_client(&home, &[]));
    assert_eq!(tools.len(), 2);
    for (tool, (name, expected)) in tools.iter().zip(schemas()) {
        assert_eq!(tool["name"], name);
        let mut schema = tool["inputSchema"].clone();
        let properties = schema["properties"].as_object_mut().unwrap();
        for added in ["limit", "cursor", "match"] {
            if expected["properties"].get(added).is_none() {
                properties.remove(added);
            }
        }
        for (property, described) in &mut *properties {
            let said = described.as_object_mut().unwrap().remove("description");
            assert!(said.is_some_and(|said| !said.as_str().unwrap().is_empty()), "{property}");
        }
        assert_eq!(schema, expected, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
    }
}

// SK-3
#[test]
fn tools_2_underscores_are_advertised_on_request_and_either_spelling_is_answered() {
    let home = Home::with(PROJECT);
    let named = |client: &mut Client| -> Vec<String> {
        offered(client).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut flat = server(&home);
    flat.args(["--tools", "flat"]);
    let spelled = [
        (sk_client(&home, &[]), ["skills.list", "skills.search"]),
        (sk_client(&home, &["--tool-names", "underscore"]), ["skills_list", "skills_search"]),
        (Client::legacy(flat, "2025-11-25"), ["skills_list", "skills_search"]),
    ];
    for (mut client, expected) in spelled {
        assert_eq!(named(&mut client), expected);
        for tool in ["skills.list", "skills_list"] {
            assert!(names(&result(&mut client, tool, &json!({}))).contains(&"git"), "{tool}");
        }
        for tool in ["skills.search", "skills_search"] {
            let found = result(&mut client, tool, &json!({"query": "postgres"}));
            assert_eq!(hits(&found).first(), Some(&"data/sql/postgres"), "{tool}");
        }
        let (code, message) = client.refused("skills-list", &json!({}));
        assert!(code == -32602 && message.contains(expected[0]), "{message}");
    }
}

// Listing.

// SK-1
#[test]
fn flat_1_every_skill_md_at_any_depth_is_listed_with_its_places_and_nothing_else_is() {
    let home = Home::with(PROJECT);
    let listed = list(&mut sk_client(&home, &[]), &json!({}));
    let skill = |install: &str, name: &str, description: &str| {
        json!({
            "installName": install,
            "meta": {"name": name, "description": description},
            "skillPath": format!("skills/{install}"),
            "skillFile": format!("skills/{install}/SKILL.md"),
        })
    };
    let expected = json!([
        skill("data/sql/postgres", "postgres", "Tables and indexes"),
        skill("data/sql/postgres/extras/vacuum", "vacuum", "Keep tables small"),
        skill("git", "git-flow", "Commit and merge with care"),
    ]);
    assert_eq!(listed["structuredContent"], json!({"skills": expected, "total": 3}));
}

#[test]
fn layout_1_a_skill_md_at_the_root_is_a_bundle_beside_the_others() {
    let home = Home::with(PROJECT);
    home.write("skills/SKILL.md", bundle("overview", "What there is", "See the others."));
    let mut client = sk_client(&home, &[]);
    let listed = list(&mut client, &json!({}));
    assert_eq!(names(&listed).len(), 4);
    let listed = list(&mut client, &json!({"query": "overview"}));
    let skill = &listed["structuredContent"]["skills"][0];
    assert_eq!(
        (&skill["installName"], &skill["skillPath"], &skill["skillFile"]),
        (&json!("overview"), &json!("skills"), &json!("skills/SKILL.md"))
    );
}

#[test]
fn source_6_bundles_of_one_name_in_two_folders_are_both_listed() {
    let home = Home::with(PROJECT);
    home.write("skills/team/git/SKILL.md", bundle("git-flow", "Another flow", "Rebase."));
    let mut client = sk_client(&home, &[]);
    let listed = list(&mut client, &json!({"query": "git-flow"}));
    assert_eq!(names(&listed), ["git", "team/git"]);
    assert_eq!(hits(&search(&mut client, "another flow rebase")), ["team/git"]);
}

#[test]
fn flat_2_the_body_comes_on_request_and_without_the_front_matter() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    let listed = list(&mut client, &json!({"query": "git", "includeBody": true}));
    assert_eq!(
        listed["structuredContent"]["skills"][0]["body"],
        "# Git\n\nRun `bd ready` before you push."
    );
    for arguments in [json!({"query": "git"}), json!({"query": "git", "includeBody": false})] {
        let listed = list(&mut client, &arguments);
        assert!(listed["structuredContent"]["skills"][0].get("body").is_none(), "{arguments}");
    }
}

#[test]
fn flat_2_the_list_is_filtered_by_install_name_name_or_description_and_by_nothing_else() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    let expected: [(&str, &[&str]); 7] = [
        ("DATA/sql", &["data/sql/postgres", "data/sql/postgres/extras/vacuum"]),
        ("git-fl", &["git"]),
        ("with CARE", &["git"]),
        ("table", &["data/sql/postgres", "data/sql/postgres/extras/vacuum"]),
        ("bd ready", &[]),
        ("nothing like it", &[]),
        ("", &["data/sql/postgres", "data/sql/postgres/extras/vacuum", "git"]),
    ];
    for (query, found) in expected {
        let listed = list(&mut client, &json!({"query": query}));
        assert_eq!(names(&listed), found, "{query}");
        assert_eq!(listed["structuredContent"]["total"], found.len(), "{query}");
    }
}

// Searching.

#[test]
fn flat_4_a_search_wants_every_token_somewhere_in_the_skill() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    let expected: [(&str, f64, &[&str]); 8] = [
        ("bd ready", 2.0, &["git"]),
        ("READY  git-flow\tcommit push", 4.0, &["git"]),
        ("table", 1.0, &["data/sql/postgres", "data/sql/postgres/extras/vacuum"]),
        ("sql plan", 2.0, &["data/sql/postgres"]),
        ("extras noon small", 3.0, &["data/sql/postgres/extras/vacuum"]),
        ("git plan", 2.0, &[]),
        ("description:", 1.0, &[]),
        ("react", 1.0, &[]),
    ];
    for (query, tokens, found) in expected {
        let answer = search(&mut client, query);
        assert_eq!(hits(&answer), found, "{query}");
        let content = &answer["structuredContent"];
        assert_eq!((&content["query"], &content["limit"]), (&json!(query), &json!(10)));
        assert_eq!(content["total"], found.len(), "{query}");
        assert!(content.get("confident").is_none(), "nothing is ranked");
        for hit in content["results"].as_array().unwrap() {
            assert_eq!(hit["score"], tokens, "{query}");
            let fields: BTreeSet<&str> =
                hit.as_object().unwrap().keys().map(String::as_str).collect();
            let contract = ["installName", "meta", "skillPath", "skillFile", "score", "excerpt"];
            assert_eq!(fields, BTreeSet::from(contract), "{query}");
        }
    }
}

#[test]
fn flat_5_an_excerpt_is_about_160_characters_around_the_first_match() {
    let home = Home::new();
    let texts = [
        ("ascii", "before it ".repeat(60), "heron", "behind it ".repeat(60)),
        ("accents", "déjà été là ".repeat(60), "héron", "où ça œuvre ".repeat(60)),
        ("unspaced", "漢字仮名交文".repeat(60), "白鷺", "認証設定手順".repeat(60)),
        ("emoji", "🦢🌾".repeat(90), "🪶", "👩\u{200d}🌾".repeat(90)),
    ];
    for (name, before, word, behind) in &texts {
        let text = bundle(name, "About birds", &format!("{before} {word} {behind}"));
        home.write(&format!("skills/{name}/SKILL.md"), text);
    }
    let mut client = sk_client(&home, &[]);
    for (name, before, word, _) in &texts {
        let answer = search(&mut client, word);
        assert_eq!(hits(&answer), [*name]);
        let excerpt = answer["structuredContent"]["results"][0]["excerpt"].as_str().unwrap();
        let length = excerpt.chars().count();
        assert!((120..=170).contains(&length), "{name}: {length}: {excerpt}");
        let (head, tail) = excerpt.split_once(word).unwrap_or_else(|| panic!("{name}: {excerpt}"));
        assert!(!tail.is_empty() && !head.is_empty(), "{name}: {excerpt}");
        let near = head.trim_matches(['…', ' ']);
        assert!(before.contains(near), "{name}: the author's own text: {near}");
        assert!(!excerpt.contains('\u{fffd}'), "{name}");
    }
    let short = search(&mut client, "birds ascii");
    let excerpt = short["structuredContent"]["results"][0]["excerpt"].as_str().unwrap();
    assert!(excerpt.starts_with("About birds"), "{excerpt}");
}

#[test]
fn flat_5_total_counts_what_is_found_before_the_limit_cuts_it() {
    let home = many(30);
    let mut client = sk_client(&home, &[]);
    for (arguments, limit) in [
        (json!({"query": "herons"}), 10),
        (json!({"query": "herons", "limit": 1}), 1),
        (json!({"query": "herons", "limit": 25}), 25),
    ] {
        let answer = result(&mut client, "skills.search", &arguments);
        let content = &answer["structuredContent"];
        assert_eq!((&content["total"], &content["limit"]), (&json!(30), &json!(limit)));
        assert_eq!(hits(&answer).len(), limit);
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{limit} of 30 ")), "{text}");
    }
    let all = result(&mut client, "skills.search", &json!({"query": "skill-017"}));
    assert_eq!(hits(&all), ["skill-017"]);
}

// FLAT-5
#[test]
fn answer_2_arguments_out_of_range_are_malformed_and_named() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    let wrong = [
        ("skills.search", json!({}), "query"),
        ("skills.search", json!({"query": ""}), "query"),
        ("skills.search", json!({"query": " \t\n"}), "query"),
        ("skills.search", json!({"query": 5}), "query"),
        ("skills.search", json!({"query": "git", "limit": 0}), "limit"),
        ("skills.search", json!({"query": "git", "limit": 26}), "limit"),
        ("skills.search", json!({"query": "git", "limit": -1}), "limit"),
        ("skills.search", json!({"query": "git", "limit": "5"}), "limit"),
        ("skills.search", json!({"query": "git", "limit": 1.5}), "limit"),
        ("skills.search", json!({"query": "git", "match": "some"}), "match"),
        ("skills.search", json!({"query": "git", "match": true}), "match"),
        ("skills.search", json!({"query": "git", "matching": "all"}), "matching"),
        ("skills.list", json!({"includeBody": "yes"}), "includeBody"),
        ("skills.list", json!({"include_body": true}), "include_body"),
        ("skills.list", json!({"query": null}), "query"),
        ("skills.list", json!({"limit": 0}), "limit"),
        ("skills.list", json!({"cursor": 3}), "cursor"),
    ];
    for (tool, arguments, named) in &wrong {
        let (code, message) = client.refused(tool, arguments);
        assert_eq!(code, -32602, "{tool} {arguments}: {message}");
        assert!(message.contains(named), "{tool} {arguments}: {message}");
    }
    assert_eq!(names(&list(&mut client, &json!({}))).len(), 3, "and it lives");
}

// Files as they are.

#[test]
fn file_2_front_matter_that_cannot_be_read_is_skipped_with_a_line_in_the_log() {
    let home = Home::with(PROJECT);
    home.write("skills/broken/SKILL.md", "---\nname: broken\ndescription: [x\n---\nText.\n");
    home.write("skills/nameless/SKILL.md", "---\nname: nameless\n---\nNo description.\n");
    home.write("skills/plain/SKILL.md", "# No front matter\n");
    let mut client = sk_client(&home, &[]);
    assert_eq!(names(&list(&mut client, &json!({}))).len(), 3);
    assert_eq!(hits(&search(&mut client, "broken")), Vec::<&str>::new());
    list(&mut client, &json!({}));
    let (status, _, log) = client.close();
    assert!(status.success());
    for (file, code) in
        [("broken/SKILL.md", "yaml-invalid"), ("nameless/SKILL.md", "field-missing")]
    {
        let lines = log.lines().filter(|line| line.contains(file) && line.contains(code)).count();
        assert_eq!(lines, 1, "{file} once, however often it is looked at: {log}");
    }
}

#[test]
fn fresh_1_every_call_sees_the_files_as_they_are() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    assert_eq!(names(&list(&mut client, &json!({}))).len(), 3);
    home.write("skills/heron/SKILL.md", bundle("heron", "Stands still", "Waits."));
    assert!(names(&list(&mut client, &json!({}))).contains(&"heron"));
    assert_eq!(hits(&search(&mut client, "waits")), ["heron"]);
    home.write("skills/heron/SKILL.md", bundle("heron", "Stands on one leg", "Sleeps."));
    assert_eq!(hits(&search(&mut client, "waits")), Vec::<&str>::new());
    assert_eq!(hits(&search(&mut client, "one leg sleeps")), ["heron"]);
    let listed = list(&mut client, &json!({"query": "heron", "includeBody": true}));
    assert_eq!(listed["structuredContent"]["skills"][0]["body"], "Sleeps.");
    fs::remove_dir_all(home.path().join("skills/heron")).unwrap();
    assert_eq!(hits(&search(&mut client, "one leg")), Vec::<&str>::new());
    assert_eq!(names(&list(&mut client, &json!({}))).len(), 3);
    fs::rename(home.path().join("skills/git"), home.path().join("skills/vcs")).unwrap();
    assert_eq!(hits(&search(&mut client, "bd ready")), ["vcs"]);
}

#[test]
fn sk_5_a_missing_default_root_is_served_empty_and_picked_up_when_it_appears() {
    let home = Home::new();
    let mut client = sk_client(&home, &[]);
    let listed = list(&mut client, &json!({}));
    assert_eq!(listed["structuredContent"], json!({"skills": [], "total": 0}));
    assert_eq!(listed["isError"], false);
    assert_eq!(search(&mut client, "git")["structuredContent"]["total"], 0);
    home.write("skills/git/SKILL.md", bundle("git", "Now it is here", "Text."));
    assert_eq!(names(&list(&mut client, &json!({}))), ["git"]);
    fs::remove_dir_all(home.skills()).unwrap();
    assert_eq!(names(&list(&mut client, &json!({}))), Vec::<&str>::new());
    home.write("skills/back/SKILL.md", bundle("back", "Here again", "Text."));
    assert_eq!(names(&list(&mut client, &json!({}))), ["back"]);
    let (status, _, log) = client.close();
    let folder = home.skills().display().to_string();
    assert!(status.success());
    assert!(log.contains("there is no") && log.contains(&folder), "{log}");
}

#[test]
fn sk_1_a_root_that_is_named_must_be_there_and_answers_are_relative_to_the_project() {
    let home = Home::new();
    home.write("packs/team/git/SKILL.md", bundle("git", "A pack", "Text."));
    home.write("file", "not a folder");
    for missing in ["./skills", "nowhere/at/all", "file"] {
        let (code, out, err) = run(&mut sk(&home, &["--root", missing]));
        assert_eq!((code, out.as_str()), (2, ""), "{missing}: {err}");
        let named = missing.trim_start_matches("./");
        assert!(err.contains("--root") && err.contains(named) && err.contains("hint: "), "{err}");
    }
    let absolute = home.path().join("packs").display().to_string();
    for (root, install) in [
        ("packs/team", "git"),
        ("./packs/team/", "git"),
        ("./packs", "team/git"),
        (absolute.as_str(), "team/git"),
    ] {
        let listed = list(&mut sk_client(&home, &["--root", root]), &json!({}));
        let skill = &listed["structuredContent"]["skills"][0];
        assert_eq!(skill["installName"], install, "{root}");
        assert_eq!(skill["skillPath"], "packs/team/git", "{root}");
        assert_eq!(skill["skillFile"], "packs/team/git/SKILL.md", "{root}");
    }
    let mut elsewhere = sk(&home, &["--root", &absolute]);
    home.write("project/x", "");
    elsewhere.current_dir(home.path().join("project"));
    let listed = list(&mut Client::legacy(elsewhere, "2025-03-26"), &json!({}));
    let file = home.path().join("packs/team/git/SKILL.md").display().to_string();
    assert_eq!(listed["structuredContent"]["skills"][0]["skillFile"], file, "outside the project");
}

// Answers.

/// What is wrong with a value by the part of JSON Schema that our tools use.
fn violations(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        other => panic!("{at}: the checker does not know the type {other:?}"),
    };
    let mut wrong = Vec::new();
    if !fits {
        wrong.push(format!("{at} is {value}, not of type {}", schema["type"]));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            wrong.push(format!("{at} has no {name}"));
        }
    }
    for (name, below) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(property) => wrong.extend(violations(property, below, &format!("{at}/{name}"))),
            None if schema["additionalProperties"] == false => {
                wrong.push(format!("{at} has an unknown {name}"));
            }
            None => {}
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        let below = |(number, item)| violations(schema, item, &format!("{at}/{number}"));
        wrong.extend(items.iter().enumerate().flat_map(below));
    }
    if let (Some(minimum), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < minimum
    {
        wrong.push(format!("{at} is below {minimum}"));
    }
    wrong
}

#[test]
fn flat_8_the_checker_of_schemas_sees_what_is_wrong() {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "l": {"type": "array", "items": {"type": "string"}}},
        "required": ["n"],
        "additionalProperties": false,
    });
    assert_eq!(violations(&schema, &json!({"n": 1, "l": ["a"]}), ""), Vec::<String>::new());
    for wrong in
        [json!({}), json!({"n": 0}), json!({"n": "1"}), json!({"n": 1, "l": [1]}), json!([1])]
    {
        assert!(!violations(&schema, &wrong, "").is_empty(), "{wrong}");
    }
    assert_eq!(violations(&schema, &json!({"n": 1, "x": 1}), "it"), ["it has an unknown x"]);
}

#[test]
fn flat_8_structured_answers_obey_the_schemas_that_are_advertised() {
    let home = Home::with(PROJECT);
    let mut command = server(&home);
    command.args(["--tools", "flat"]);
    for (mut client, names) in [
        (sk_client(&home, &[]), ["skills.list", "skills.search"]),
        (Client::legacy(command, "2025-11-25"), ["skills_list", "skills_search"]),
    ] {
        let schemas: Vec<Value> =
            offered(&mut client).iter().map(|tool| tool["outputSchema"].clone()).collect();
        let calls = [
            (0, json!({})),
            (0, json!({"includeBody": true})),
            (0, json!({"limit": 1})),
            (0, json!({"query": "nothing like it"})),
            (1, json!({"query": "table"})),
            (1, json!({"query": "table", "match": "all", "limit": 1})),
            (1, json!({"query": "keep the tables of postgres small", "match": "ranked"})),
            (1, json!({"query": "zzz", "match": "ranked"})),
            (1, json!({"query": "zzz", "match": "all"})),
        ];
        for (tool, arguments) in calls {
            let answer = result(&mut client, names[tool], &arguments);
            let wrong = violations(&schemas[tool], &answer["structuredContent"], "");
            assert_eq!(wrong, Vec::<String>::new(), "{} {arguments}: {answer}", names[tool]);
            assert_eq!(answer["isError"], false);
        }
    }
}

#[test]
fn flat_7_the_text_alone_is_enough_to_act_on() {
    let home = Home::with(PROJECT);
    home.write(
        "skills/odd/SKILL.md",
        "---\nname: odd\ndescription: \"Two\\nlines \\e[2J and more\"\n---\nOdd body.\n",
    );
    let mut client = sk_client(&home, &[]);
    let text = |answer: &Value| answer["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(
        text(&list(&mut client, &json!({}))),
        "4 of 4 skills\n- data/sql/postgres: Tables and indexes\n\
         - data/sql/postgres/extras/vacuum: Keep tables small\n- git: Commit and merge with care\n\
         - odd: Two lines [2J and more"
    );
    assert_eq!(text(&list(&mut client, &json!({"query": "zzz"}))), "0 of 0 skills");
    let found = text(&search(&mut client, "bd ready"));
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 2, "{found}");
    assert!(lines[0].starts_with("1 of 1 ") && lines[0].contains("bd ready"), "{found}");
    assert!(lines[1].starts_with("- git") && lines[1].contains("Run `bd ready`"), "{found}");
    let none = text(&search(&mut client, "zzz"));
    assert!(none.starts_with("0 of 0 ") && none.contains("try fewer words"), "{none}");
    for tool in ["skills.search", "skills.list"] {
        let long = client.call(tool, &json!({"query": "e ".repeat(20_000)}));
        let is_refused = long.is_error && long.text.contains("over 20000 characters");
        assert!(is_refused, "{tool}: {}", long.text);
    }
    let both = text(&search(&mut client, "table"));
    assert!(both.starts_with("2 of 2 ") && both.lines().count() == 3, "{both}");
}

#[test]
fn flat_6_a_ranked_search_names_the_terms_the_clause_and_its_confidence() {
    let home = Home::with(PROJECT);
    home.write("skills/heron-a/SKILL.md", bundle("heron-a", "Draw a heron in ink", "Text."));
    home.write("skills/heron-b/SKILL.md", bundle("heron-b", "Draw a heron in ink", "Texts."));
    let mut client = sk_client(&home, &[]);
    let ranked = |client: &mut Client, query: &str| {
        result(client, "skills.search", &json!({"query": query, "match": "ranked"}))
    };
    let answer = ranked(&mut client, "how do I commit and merge with care in a git flow?");
    let content = &answer["structuredContent"];
    let first = &content["results"][0];
    assert_eq!(content["confident"], true, "{answer}");
    assert_eq!(first["installName"], "git");
    assert_eq!(first["clause"], "Commit and merge with care", "{first}");
    let terms: Vec<&str> =
        first["matched_terms"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(terms.contains(&"commit") && terms.contains(&"merge"), "{terms:?}");
    assert!(first["score"].as_f64().unwrap() > 0.0 && first["excerpt"].is_string());
    let answer = ranked(&mut client, "draw a heron");
    assert_eq!(answer["structuredContent"]["confident"], false, "two are the same: {answer}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Best 2 of 5 skills; one of the first probably fits."), "{text}");
    assert!(text.contains("- heron-a: Draw a heron in ink"), "{text}");
    let scores: Vec<f64> = answer["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.len() >= 2, "{scores:?}");
    let none = ranked(&mut client, "zzzz qqqq");
    assert_eq!(none["structuredContent"]["total"], 0);
}

// SK-4
#[test]
fn flat_6_ranked_is_the_default_of_skills_mcp_and_all_of_sk() {
    let home = Home::with(PROJECT);
    let question = json!({"query": "why are my postgres tables so large?"});
    let mut sk = sk_client(&home, &[]);
    assert_eq!(result(&mut sk, "skills.search", &question)["structuredContent"]["total"], 0);
    let mut command = server(&home);
    command.args(["--tools", "flat"]);
    let mut ours = Client::legacy(command, "2025-11-25");
    let answer = result(&mut ours, "skills_search", &question);
    assert_eq!(hits(&answer)[0], "data/sql/postgres", "{answer}");
    assert!(answer["structuredContent"]["confident"].is_boolean());
    let all = json!({"query": "why are my postgres tables so large?", "match": "all"});
    assert_eq!(result(&mut ours, "skills_search", &all)["structuredContent"]["total"], 0);
}

// SK-1
#[test]
fn flat_1_skills_mcp_lists_and_finds_tree_skills_by_their_paths_and_sk_does_not() {
    let home = Home::with(PROJECT);
    home.write("skills/ui/_index.md", skill("interface", "Rules for interfaces", "Mind it."));
    let mut command = server(&home);
    command.args(["--tools", "flat"]);
    let mut ours = Client::legacy(command, "2025-11-25");
    let listed = result(&mut ours, "skills_list", &json!({"query": "tree, which"}));
    let skill = &listed["structuredContent"]["skills"][0];
    assert_eq!(
        (&skill["installName"], &skill["meta"]["name"]),
        (&json!("ui/react"), &json!("ui/react"))
    );
    assert_eq!(skill["skillFile"], "skills/ui/react.md");
    assert_eq!(names(&result(&mut ours, "skills_list", &json!({}))).len(), 5);
    assert_eq!(names(&list(&mut sk_client(&home, &[]), &json!({}))).len(), 3);
}

// Pages.

/// Every install name, page by page, and how many pages there were.
fn paged(client: &mut Client, tool: &str, limit: Option<usize>) -> (Vec<String>, usize) {
    let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
    loop {
        let mut arguments = json!({});
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let page = result(client, tool, &arguments);
        seen.extend(names(&page).into_iter().map(str::to_owned));
        pages += 1;
        assert!(pages < 200, "paging does not end");
        assert_eq!(page["structuredContent"]["total"], 120);
        let Some(next) = page["structuredContent"]["nextCursor"].as_str() else {
            return (seen, pages);
        };
        let text = page["content"][0]["text"].as_str().unwrap();
        assert!(text.lines().last().unwrap().contains(next), "the text says how to go on: {text}");
        cursor = Some(next.to_owned());
    }
}

fn flat(home: &Home) -> Client {
    let mut command: Command = server(home);
    command.args(["--tools", "flat"]);
    Client::legacy(command, "2025-11-25")
}

// SK-4
#[test]
fn flat_3_paging_visits_each_of_120_skills_once() {
    let home = many(120);
    let expected: Vec<String> = (0..120).map(|number| format!("skill-{number:03}")).collect();
    let mut sk = sk_client(&home, &[]);
    let mut ours = flat(&home);
    assert_eq!(paged(&mut sk, "skills.list", None), (expected.clone(), 1), "sk gives all at once");
    assert_eq!(paged(&mut ours, "skills_list", None), (expected.clone(), 3), "50 a page");
    for (limit, pages) in [(1, 120), (7, 18), (40, 3), (119, 2), (120, 1), (1000, 1)] {
        assert_eq!(paged(&mut ours, "skills_list", Some(limit)), (expected.clone(), pages));
    }
    assert_eq!(paged(&mut sk, "skills.list", Some(60)), (expected, 2));
}

#[test]
fn flat_3_paging_over_a_changing_catalog_neither_repeats_nor_skips_what_stays() {
    let home = many(120);
    let mut client = sk_client(&home, &[]);
    let first = list(&mut client, &json!({"limit": 50}));
    let cursor = first["structuredContent"]["nextCursor"].clone();
    for gone in ["skill-003", "skill-049", "skill-050"] {
        fs::remove_dir_all(home.skills().join(gone)).unwrap();
    }
    home.write("skills/skill-000a/SKILL.md", bundle("early", "Before the page", "Text."));
    home.write("skills/skill-099a/SKILL.md", bundle("late", "After the page", "Text."));
    let rest = list(&mut client, &json!({"limit": 1000, "cursor": cursor}));
    let mut expected: Vec<String> = (51..120).map(|number| format!("skill-{number:03}")).collect();
    expected.insert(49, "skill-099a".to_owned());
    assert_eq!(names(&rest), expected);
}

#[test]
fn flat_3_a_cursor_that_the_server_did_not_give_is_malformed() {
    let home = many(3);
    let mut client = flat(&home);
    let page = result(&mut client, "skills_list", &json!({"limit": 1}));
    let cursor = page["structuredContent"]["nextCursor"].as_str().unwrap().to_owned();
    let longer = format!("{cursor}!");
    for forged in
        ["", "2", "-1", "skill-000", "c2tpbGwtMDAw", "////", &longer, &"x".repeat(100_000)]
    {
        let (code, message) = client.refused("skills_list", &json!({"cursor": forged}));
        assert_eq!(code, -32602, "{forged:.40}: {message:.200}");
        assert!(message.contains("cursor"), "{forged:.40}: {message:.200}");
    }
    let next = result(&mut client, "skills_list", &json!({"limit": 1, "cursor": cursor}));
    assert_eq!(names(&next), ["skill-001"]);
}

#[test]
fn fresh_1_the_ranked_index_follows_the_files_too() {
    let home = Home::with(PROJECT);
    let mut client = sk_client(&home, &[]);
    let ranked = json!({"query": "heron watching at dawn", "match": "ranked"});
    assert_eq!(result(&mut client, "skills.search", &ranked)["structuredContent"]["total"], 0);
    home.write("skills/heron/SKILL.md", bundle("heron", "Watch herons at dawn", "Text."));
    let found = result(&mut client, "skills.search", &ranked);
    assert_eq!(hits(&found), ["heron"]);
}
