//! Skills as resources, as prompts and through the Skills extension, as a client of each era sees them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]
#![expect(
    clippy::too_many_lines,
    reason = "a test that lists what it asks reads from top to bottom"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use skills_core::digest::hex;
use skills_testkit::{Client, Home, TEST_TIMEOUT, eventually, files, wait_until};

use crate::support::{
    ROOT_TREE, agents, bundle, doctored, install_plugins, server, sk, with_all_tools,
};

const UPDATED: &str = "notifications/resources/updated";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// Twice the debounce and more: what has not come by then does not come.
const SILENCE: Duration = Duration::from_millis(1_300);

/// Bundles and tree skills in a directory called `team`, so that addresses are the same on every machine.
const TEAM: &str = "\
//- pdf/SKILL.md
---
name: pdf
description: Fill in forms
license: MIT
argument-hint: '[file]'
metadata:
  version: \"1.0\"
when: 2026-01-02
numbers: [014, 1.10, yes, ~]
---

Fill in $ARGUMENTS.
//- pdf/scripts/fill.py
print('filled')
//- pdf/forms/one two.txt
Name:
//- pdf/forms/deep/é.txt
Accent
//- notes/SKILL.md
---
name: notes
description: Write release notes
user-invocable: false
---
Group by area.
//- outer/SKILL.md
---
name: outer
description: Holds another
---
Outer.
//- outer/parts/inner/SKILL.md
---
name: inner
description: Inside another
---
Inner.
//- retired/pdf/SKILL.md
---
name: pdf
description: The old way
---
By hand.
//- odd/SKILL.md
---
name: odd
description: Has a number where text should be
metadata: {version: 1.0}
---
Odd.
";

/// A home whose `team/` folder holds these bundles and [`ROOT_TREE`].
fn team() -> Home {
    let home = Home::new();
    for (path, text) in files(TEAM).into_iter().chain(files(ROOT_TREE)) {
        home.write(&format!("team/{path}"), text);
    }
    home.write("team/pdf/logo.png", b"\x89PNG\r\n\x1a\n\x00\xff");
    home
}

fn command(home: &Home) -> Command {
    let mut command = server(home);
    command.env("SKILLS_DIR", home.path().join("team"));
    with_all_tools(command)
}

fn both(home: &Home) -> [Client; 2] {
    [Client::legacy(command(home), "2025-11-25"), Client::modern(command(home))]
}

fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}

fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.request(method, params);
    answer.get("result").cloned().unwrap_or_else(|| panic!("{method}: {answer}"))
}

/// Everything on all pages of a list.
fn all(client: &mut Client, method: &str, key: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = result(client, method, params);
        found.extend(page[key].as_array().unwrap().iter().cloned());
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            return found;
        }
    }
}

fn texts(values: &[Value], key: &str) -> Vec<String> {
    values.iter().map(|value| value[key].as_str().unwrap().to_owned()).collect()
}

fn uris(client: &mut Client) -> Vec<String> {
    texts(&all(client, "skills/list", "skills"), "uri")
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The bytes of a resource.
fn read(client: &mut Client, uri: &str) -> Vec<u8> {
    let read = result(client, "resources/read", json!({"uri": uri}));
    let contents = read["contents"].as_array().unwrap();
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)), "{read}");
    match contents[0].get("text") {
        Some(text) => text.as_str().unwrap().as_bytes().to_vec(),
        None => STANDARD.decode(contents[0]["blob"].as_str().unwrap()).unwrap(),
    }
}

/// Reads every file of every skill and compares its bytes with its manifest; how many there are.
fn verify(client: &mut Client) -> usize {
    let skills = all(client, "skills/list", "skills");
    let mut checked = 0;
    for skill in &skills {
        let uri = skill["uri"].as_str().unwrap();
        let root = uri.strip_suffix("/SKILL.md").unwrap();
        assert_eq!(root.rsplit('/').next(), skill["frontmatter"]["name"].as_str(), "{skill}");
        assert_eq!(result(client, "skills/get", json!({"uri": uri}))["skill"], *skill);
        let resources = skill["resources"].as_array().unwrap();
        let named: BTreeSet<String> = texts(resources, "uri").into_iter().collect();
        assert!(named.len() == resources.len() && named.contains(uri), "{skill}");
        for resource in resources {
            let file = resource["uri"].as_str().unwrap();
            assert!(file.starts_with(&format!("{root}/")), "{file}");
            let bytes = read(client, file);
            assert_eq!(resource["digest"], digest(&bytes), "{file}");
            assert_eq!(resource["size"], bytes.len(), "{file}");
            checked += 1;
        }
    }
    checked
}

// What each era sees.

// EXT-1, RES-1, PROMPT-1
#[test]
fn each_era_sees_this() {
    let home = team();
    let path = |path: &str| json!({"uri": format!("skill://{path}")});
    let completion = |variable: &str, value: &str| {
        let template =
            if variable == "skill" { "skill://{+skill}/SKILL.md" } else { "skill://{path}" };
        json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": variable, "value": value}})
    };
    let requests = [
        ("skills/list", json!({})),
        ("skills/get", path("pdf/SKILL.md")),
        ("skills/get", path("pdf")),
        ("skills/get", path("pdf/logo.png")),
        ("skills/get", json!({})),
        ("skills/get", json!({"uri": 5})),
        ("resources/directory/read", path("pdf")),
        ("resources/directory/read", path("pdf/forms")),
        ("resources/directory/read", path("pdf/SKILL.md")),
        ("resources/directory/read", path("nothing")),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", path("pdf/SKILL.md")),
        ("resources/read", path("pdf/logo.png")),
        ("resources/read", path("tree.team/ui-react-auth/SKILL.md")),
        ("resources/read", path("tree.team/ui-react-auth/assets/A.tsx")),
        ("resources/read", path("pdf/none.txt")),
        ("resources/read", path("odd/SKILL.md")),
        ("resources/read", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "pdf", "arguments": {"arguments": "tax.pdf"}})),
        ("prompts/get", json!({"name": "api/auth"})),
        ("prompts/get", json!({"name": "notes"})),
        ("prompts/get", json!({"name": "pdf", "arguments": {"file": "x"}})),
        ("completion/complete", completion("skill", "PD")),
        ("completion/complete", completion("path", "pdf/f")),
        ("completion/complete", completion("path", "skill://source.team/ret")),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "pdf"}, "argument": {"name": "arguments", "value": ""}}),
        ),
        ("skills/unknown", json!({})),
    ];
    for (era, mut client) in ["legacy", "modern"].into_iter().zip(both(&home)) {
        let seen: Vec<Value> = requests
            .iter()
            .map(|(method, params)| {
                let mut answer = client.request(method, params.clone());
                let answer = answer.as_object_mut().unwrap();
                answer.retain(|key, _| key == "result" || key == "error");
                if let Some(meta) =
                    answer.get_mut("result").and_then(|result| result.get_mut("_meta"))
                {
                    meta["io.modelcontextprotocol/serverInfo"]["version"] = json!("<version>");
                }
                json!({"method": method, "params": params, "answer": answer})
            })
            .collect();
        assert!(
            !json!(seen).to_string().contains(home.path().to_str().unwrap()),
            "a path of the machine"
        );
        insta::assert_json_snapshot!(era, seen);
    }
}

// EXT-1
#[test]
fn every_file_hashes_to_its_digest_in_both_eras() {
    let home = team();
    home.write(
        "team/raw/SKILL.md",
        "\u{feff}---\r\nname: raw\r\ndescription: Odd bytes\r\n---\r\n\r\nKeep\0me.",
    );
    home.write("team/raw/empty.txt", "");
    home.write("team/raw/.hidden", "hidden");
    home.write("team/raw/latin1.txt", b"caf\xe9\n");
    home.write("team/raw/a%20b#c?.txt", "signs");
    for mut client in both(&home) {
        assert_eq!(verify(&mut client), 21);
        assert_eq!(read(&mut client, "skill://raw/a%2520b%23c%3F.txt"), b"signs");
        let text = read(&mut client, "skill://raw/SKILL.md");
        assert_eq!(text, fs::read(home.path().join("team/raw/SKILL.md")).unwrap());
    }
}

// RES-3
#[test]
fn tools_and_resources_give_the_same_bytes() {
    let home = team();
    for mut client in both(&home) {
        let loaded = client.call("skill", &json!({"name": "pdf"})).text;
        let (_, loaded) = loaded.split_once("\n\n").unwrap();
        assert_eq!(loaded.as_bytes(), read(&mut client, "skill://pdf/SKILL.md"));
        let asset =
            client.call("get_asset", &json!({"skill_path": "pdf", "file": "scripts/fill.py"}));
        assert_eq!(
            asset.json["content"].as_str().unwrap().as_bytes(),
            read(&mut client, "skill://pdf/scripts/fill.py")
        );
        let tree = client.call("get_skill", &json!({"skill_path": "ui/react/auth"}));
        let rendered =
            String::from_utf8(read(&mut client, "skill://tree.team/ui-react-auth/SKILL.md"))
                .unwrap();
        let content = tree.json["content"].as_str().unwrap();
        assert_eq!(
            rendered,
            format!(
                "---\nname: ui-react-auth\ndescription: \"Signing in with React\"\n---\n\n{content}\n"
            )
        );
    }
}

// Which skills are published, and where.

// EXT-2
#[test]
fn what_does_not_conform_is_served_by_tools_and_not_published() {
    let home = Home::new();
    let write = |folder: &str, text: &str| home.write(&format!("team/{folder}/SKILL.md"), text);
    write("good", "---\nname: good\ndescription: d\n---\nx");
    write("list", "---\nname: list\ndescription: d\nallowed-tools: [Read]\n---\nx");
    write("null", "---\nname: 'null'\ndescription: d\nlicense:\n---\nx");
    write("broken", "---\nname: broken\ndescription: Use: this\n---\nx");
    write("Loud", "---\nname: Loud\ndescription: d\n---\nx");
    write("other", "---\nname: another\ndescription: d\n---\nx");
    write("nameless", "---\ndescription: d\n---\nx");
    write("blank", "\n---\nname: blank\ndescription: d\n---\nx");
    home.write("team/lower/skill.md", "---\nname: lower\ndescription: d\n---\nx");
    let mut client = Client::modern(command(&home));
    assert_eq!(uris(&mut client), ["skill://good/SKILL.md"]);
    assert_eq!(
        texts(&all(&mut client, "resources/list", "resources"), "uri"),
        ["skill://good/SKILL.md"]
    );
    assert_eq!(
        all(&mut client, "prompts/list", "prompts").len(),
        9,
        "prompts are as lenient as tools"
    );
    for name in ["list", "null", "broken", "Loud", "other", "nameless", "blank", "lower"] {
        assert!(!client.call("skill", &json!({"name": name})).is_error, "{name}");
    }
    let (_, mut found) = doctored(&mut command(&home));
    found.sort();
    assert_eq!(
        found,
        [
            "Loud/SKILL.md name-unconventional",
            "blank/SKILL.md not-conforming",
            "broken/SKILL.md yaml-repaired",
            "list/SKILL.md allowed-tools-form",
            "lower/skill.md file-name-unusual",
            "nameless/SKILL.md name-missing",
            "null/SKILL.md not-conforming",
            "other/SKILL.md name-unconventional",
        ]
    );
}

// EXT-4
#[test]
fn a_skill_of_too_many_files_or_bytes_is_published_once_it_is_small_enough() {
    let home = Home::new();
    home.write("team/many/SKILL.md", bundle("many", "Many files", "x"));
    home.write("team/large/SKILL.md", bundle("large", "Large", "x"));
    for number in 0..511 {
        home.write(&format!("team/many/data/{}/{number}.txt", number % 7), "x");
    }
    let large = fs::File::create(home.path().join("team/large/data.bin")).unwrap();
    large.set_len(16 * 1024 * 1024).unwrap();
    let mut client = Client::modern(command(&home));
    assert_eq!(uris(&mut client), ["skill://many/SKILL.md"]);
    let listed = all(&mut client, "skills/list", "skills");
    assert_eq!(listed[0]["resources"].as_array().unwrap().len(), 512);
    home.write("team/many/data/more.txt", "x");
    large.set_len(16 * 1024 * 1024 - 100).unwrap();
    drop(large);
    let mut publishes =
        |expected: &[&str]| wait_until("the change", || uris(&mut client) == expected);
    publishes(&["skill://large/SKILL.md"]);
    let (_, found) = doctored(&mut command(&home));
    assert_eq!(found, ["many/SKILL.md not-conforming"]);
    fs::remove_file(home.path().join("team/many/data/0/0.txt")).unwrap();
    publishes(&["skill://large/SKILL.md", "skill://many/SKILL.md"]);
    assert_eq!(read(&mut client, "skill://large/data.bin").len(), 16 * 1024 * 1024 - 100);
}

// EXT-5
#[test]
fn skills_of_one_name_are_published_side_by_side() {
    let home = Home::new();
    let write = |path: &str, name: &str, body: &str| home.write(path, bundle(name, "d", body));
    write("project/.claude/skills/pdf/SKILL.md", "pdf", "of the project");
    write(".claude/skills/pdf/SKILL.md", "pdf", "of the user");
    write(".claude/skills/deep/pdf/SKILL.md", "pdf", "of the user, deeper");
    write(".claude/skills/same/SKILL.md", "same", "copied");
    write(".agents/skills/same/SKILL.md", "same", "copied");
    install_plugins(
        &home,
        &[(
            "tools",
            &[("pdf", bundle("pdf", "d", "of a plugin")), ("own", bundle("own", "d", "x"))],
        )],
    );
    let mut client = Client::modern(agents(&home, &[]));
    let found: Vec<String> = uris(&mut client);
    assert_eq!(
        found,
        [
            "skill://global.user-claude/deep/pdf/SKILL.md",
            "skill://global.user-claude/pdf/SKILL.md",
            "skill://pdf/SKILL.md",
            "skill://plugin.tools/own/SKILL.md",
            "skill://plugin.tools/pdf/SKILL.md",
            "skill://same/SKILL.md",
        ]
    );
    let mut says = |uri: &str| {
        String::from_utf8(read(&mut client, uri)).unwrap().lines().last().unwrap().to_owned()
    };
    assert_eq!(says(&found[0]), "of the user, deeper");
    assert_eq!(says(&found[1]), "of the user");
    assert_eq!(says(&found[2]), "of the project");
    assert_eq!(says(&found[4]), "of a plugin");
    assert_eq!(verify(&mut client), 6);
}

// EXT-6
#[test]
fn a_tree_skill_is_a_bundle_with_its_own_and_inherited_files() {
    let home = Home::new();
    let with_files = |name: &str, assets: &[&str]| {
        let list = assets.iter().map(|file| format!("  - file: {file}\n    description: d\n"));
        let list = list.collect::<Vec<String>>().concat();
        format!("---\nkeywords: [k]\ndescription: \"{name}: it\"\nassets:\n{list}---\n{name}.\n")
    };
    home.write("team/_root.md", with_files("Root", &["a.txt", "b.txt"]));
    home.write("team/_root/a.txt", "root a");
    home.write("team/_root/b.txt", "root b");
    home.write("team/ui/x.md", with_files("Leaf", &["b.txt", "SKILL.md"]));
    home.write("team/ui/x/b.txt", "leaf b");
    home.write("team/ui/x/SKILL.md", "not this one");
    home.write("team/ui/x/undeclared.txt", "no");
    home.write("team/ui-x.md", with_files("Twin", &[]).replace("assets:\n", ""));
    home.write("team/été.md", with_files("Summer", &[]).replace("assets:\n", ""));
    for mut client in both(&home) {
        let listed = all(&mut client, "skills/list", "skills");
        let names: Vec<&str> =
            listed.iter().map(|skill| skill["frontmatter"]["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(
            names.contains(&"root") && names.contains(&"ui-x") && names.contains(&"t"),
            "{names:?}"
        );
        assert!(names.iter().all(|name| name.len() <= 64
            && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))));
        let twin = names.iter().find(|name| name.starts_with("ui-x-")).unwrap();
        let leaf =
            listed.iter().find(|skill| skill["frontmatter"]["description"] == "Leaf: it").unwrap();
        let root = leaf["uri"].as_str().unwrap().strip_suffix("/SKILL.md").unwrap();
        assert!(root == "skill://tree.team/ui-x" || root.ends_with(twin), "{root}");
        let files = texts(leaf["resources"].as_array().unwrap(), "uri");
        assert_eq!(
            files,
            [format!("{root}/SKILL.md"), format!("{root}/a.txt"), format!("{root}/b.txt")]
        );
        assert_eq!(read(&mut client, &files[1]), b"root a");
        assert_eq!(read(&mut client, &files[2]), b"leaf b");
        assert!(String::from_utf8(read(&mut client, &files[0])).unwrap().contains("Root."));
        assert_eq!(verify(&mut client), 12);
        // What it inherits is part of it.
        let before = result(&mut client, "skills/get", json!({"uri": files[0]}));
        let root_md = with_files("Root", &["a.txt", "b.txt"]).replace("Root.", "Changed.");
        let was = fs::read(home.path().join("team/_root.md")).unwrap();
        home.write("team/_root.md", root_md);
        let after = eventually("the edit", || {
            let after = result(&mut client, "skills/get", json!({"uri": files[0]}));
            (before["skill"]["resources"][0] != after["skill"]["resources"][0]).then_some(after)
        });
        assert_eq!(before["skill"]["resources"][1], after["skill"]["resources"][1]);
        assert_eq!(verify(&mut client), 12);
        home.write("team/_root.md", was);
    }
}

// Malformed and hostile requests.

#[test]
fn p04_malformed_parameters_are_invalid_in_both_eras() {
    let home = team();
    for mut client in both(&home) {
        for (method, params) in [
            ("skills/list", json!({"cursor": 5})),
            ("skills/get", json!({})),
            ("skills/get", json!({"uri": ["skill://pdf/SKILL.md"]})),
            ("resources/directory/read", json!({"uri": null})),
            ("resources/directory/read", json!({"uri": "skill://pdf", "cursor": "x"})),
            ("resources/templates/list", json!({"cursor": "x"})),
            ("resources/read", json!({"uri": 5})),
            ("prompts/get", json!({})),
            ("prompts/get", json!({"name": "none"})),
            ("prompts/get", json!({"name": "pdf", "arguments": {"arguments": 5}})),
            ("completion/complete", json!({"ref": {"type": "ref/none"}})),
        ] {
            let answer = client.request(method, params.clone());
            assert_eq!(code(&answer), Some(-32602), "{method} {params}: {answer}");
        }
        assert_eq!(code(&client.request("skills/other", json!({}))), Some(-32601));
    }
}

#[test]
fn p09_a_cursor_that_the_list_did_not_give_is_refused() {
    let home = Home::new();
    for number in 0..1_001 {
        home.write(&format!("team/s{number}/SKILL.md"), bundle(&format!("s{number}"), "d", "x"));
    }
    for mut client in both(&home) {
        let lists = ["skills/list", "resources/list", "prompts/list"];
        let given = lists.map(|list| result(&mut client, list, json!({}))["nextCursor"].clone());
        for (number, list) in lists.iter().enumerate() {
            let other = given[(number + 1) % 3].clone();
            let long = json!("A".repeat(1_000_000));
            for cursor in
                [json!(""), json!("-1"), json!("1000"), json!("c2tpbGw6Ly9z"), other, long]
            {
                let answer = client.request(list, json!({"cursor": cursor}));
                assert_eq!(code(&answer), Some(-32602), "{list} {:.40}", cursor.to_string());
            }
            let page = result(&mut client, list, json!({"cursor": given[number]}));
            assert!(page.get("nextCursor").is_none(), "{list}");
        }
    }
}

// EXT-7, P-09
#[test]
fn p09_pages_of_a_changing_catalog_repeat_and_skip_nothing_that_was_there_throughout() {
    let home = Home::new();
    let name = |number: usize| format!("s{number:04}");
    let write = |number: usize| {
        home.write(&format!("team/{0}/SKILL.md", name(number)), bundle(&name(number), "d", "x"));
    };
    // Those of even number come and go.
    (0..2_400).filter(|number| number % 4 != 2).for_each(write);
    let mut client = Client::modern(command(&home));
    for (method, key, field) in [
        ("skills/list", "skills", "uri"),
        ("resources/list", "resources", "uri"),
        ("prompts/list", "prompts", "name"),
    ] {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut cursor = None;
        let mut pages = 0;
        loop {
            let params =
                cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
            let page = result(&mut client, method, params);
            for one in texts(page[key].as_array().unwrap(), field) {
                *seen.entry(one).or_default() += 1;
            }
            pages += 1;
            // Before, on and behind the page that was given.
            for number in (0..2_400).step_by(400) {
                let folder = home.path().join("team").join(name(number + 2 * (pages % 2)));
                let _ = fs::remove_dir_all(folder);
                write(number + 2 - 2 * (pages % 2));
            }
            cursor = page.get("nextCursor").cloned();
            if cursor.is_none() {
                break;
            }
        }
        assert!(pages >= 2, "{method}");
        assert!(seen.values().all(|times| *times == 1), "{method} repeats");
        for number in (0..2_400).filter(|number| number % 2 == 1) {
            assert!(seen.keys().any(|one| one.contains(&name(number))), "{method} skips {number}");
        }
    }
}

// RES-2
#[test]
fn p11_f01_f02_a_resource_that_is_not_there_is_not_found_and_no_address_leads_out() {
    let home = team();
    home.write("team-private/x.txt", "canary");
    home.write("team/secret.txt", "canary");
    let [legacy, modern] = both(&home);
    for (mut client, missing) in [(legacy, -32002), (modern, -32602)] {
        for uri in [
            "",
            "pdf",
            "skill://",
            "skill:///",
            "skill://pdf",
            "skill://pdf/",
            "skill://pdf/forms",
            "skill://pdf/none",
            "skill://none/SKILL.md",
            "skill://pdf/../secret.txt",
            "skill://pdf/%2e%2e/secret.txt",
            "skill://pdf/..%2fsecret.txt",
            "skill://pdf/%252e%252e/secret.txt",
            "skill://pdf/./SKILL.md",
            "skill://pdf//SKILL.md",
            "skill://pdf/SKILL.md/",
            "skill://pdf/SKILL.md#x",
            "skill://pdf/SKILL.md?x",
            "skill://pdf/forms/..%5c..%5csecret.txt",
            "skill://pdf/\\..\\secret.txt",
            "skill://pdf/SKILL.md%00",
            "skill://PDF/SKILL.md",
            "skill://../team-private/x.txt",
            "skill://team/secret.txt",
            "skill://source.team/../secret.txt",
            "file:///etc/passwd",
            "skill://odd/SKILL.md",
            "skill://tree.team/secret.txt",
            "skill://tree.team/ui-react-auth/assets/gone.ts",
            "stats://skills",
        ] {
            let answer = client.request("resources/read", json!({"uri": uri}));
            assert_eq!(code(&answer), Some(missing), "{uri}: {answer}");
            let shown: String = uri.chars().take(500).collect();
            assert_eq!(answer["error"]["data"], json!({"uri": shown}), "{answer}");
            assert!(!answer.to_string().contains("canary"), "{answer}");
        }
        for uri in [
            "skill://pdf/SKILL.md",
            "skill://pdf/..",
            "skill://pdf/none",
            "skill://",
            "skill://source.team",
            "skill://tree.team",
            "skill://pdf/../notes",
            "skill://pdf/%2e%2e",
        ] {
            for method in ["resources/directory/read", "skills/get"] {
                if (method, uri) == ("skills/get", "skill://pdf/SKILL.md") {
                    continue;
                }
                let answer = client.request(method, json!({"uri": uri}));
                assert_eq!(code(&answer), Some(-32602), "{method} {uri}: {answer}");
            }
        }
        let long = format!("skill://pdf/{}", "a/".repeat(500_000));
        let answer = client.request("resources/read", json!({"uri": long}));
        assert!(code(&answer) == Some(missing) && answer.to_string().len() < 1_000);
    }
}

// EXT-8
#[test]
fn every_folder_of_a_skill_can_be_listed_and_leads_to_every_file() {
    let home = team();
    for mut client in both(&home) {
        for skill in all(&mut client, "skills/list", "skills") {
            let root = skill["uri"].as_str().unwrap().strip_suffix("/SKILL.md").unwrap().to_owned();
            let mut open = vec![root];
            let mut found = BTreeSet::new();
            while let Some(folder) = open.pop() {
                for entry in all_entries(&mut client, &folder) {
                    let uri = entry["uri"].as_str().unwrap().to_owned();
                    assert_eq!(
                        uri.rsplit_once('/').unwrap().0,
                        folder,
                        "only what is directly in it"
                    );
                    if entry["mimeType"] == "inode/directory" {
                        open.push(uri);
                    } else {
                        found.insert(uri);
                    }
                }
            }
            let manifest: BTreeSet<String> =
                texts(skill["resources"].as_array().unwrap(), "uri").into_iter().collect();
            assert_eq!(found, manifest);
        }
    }
}

fn all_entries(client: &mut Client, folder: &str) -> Vec<Value> {
    let listed = result(client, "resources/directory/read", json!({"uri": folder}));
    listed["resources"].as_array().unwrap().clone()
}

// EXT-7
#[test]
fn digests_and_bytes_agree_while_files_change() {
    let home = team();
    let stop = Arc::new(AtomicBool::new(false));
    let write = |folder: &std::path::Path, name: &str, text: &str| {
        let new = folder.join(format!(".{name}.new"));
        fs::write(&new, text).unwrap();
        fs::rename(&new, folder.join(name)).unwrap();
    };
    let text =
        |version: usize| bundle("pdf", &format!("Version {version}"), &"x".repeat(version % 50));
    // Always of the same size.
    let data = |version: usize| format!("{version:08}");
    let folder = home.path().join("team/pdf");
    write(&folder, "SKILL.md", &text(0));
    write(&folder, "data.txt", &data(0));
    let writer = {
        let (stop, folder) = (Arc::clone(&stop), folder.clone());
        thread::spawn(move || {
            let mut version = 0;
            while !stop.load(Ordering::Relaxed) {
                version += 1;
                write(&folder, "SKILL.md", &text(version));
                write(&folder, "data.txt", &data(version));
                thread::sleep(Duration::from_millis(3));
            }
            version
        })
    };
    let mut client = Client::modern(command(&home));
    let mut published: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut reads: Vec<(String, String)> = Vec::new();
    let (mut steady, mut busy) = (0, 0);
    let manifest = |client: &mut Client| -> Option<BTreeMap<String, String>> {
        let answer = client.request("skills/get", json!({"uri": "skill://pdf/SKILL.md"}));
        let skill = answer.pointer("/result/skill")?.clone();
        let files = skill["resources"].as_array().unwrap().iter();
        Some(
            files
                .map(|file| {
                    (
                        file["uri"].as_str().unwrap().to_owned(),
                        file["digest"].as_str().unwrap().to_owned(),
                    )
                })
                .collect(),
        )
    };
    let started = Instant::now();
    for uri in ["skill://pdf/SKILL.md", "skill://pdf/data.txt"].into_iter().cycle() {
        // Beside other work most reads meet a writer.
        if reads.len() >= 100 {
            break;
        }
        let elapsed = started.elapsed();
        assert!(elapsed < TEST_TIMEOUT, "{} reads, {busy} busy, {steady} steady", reads.len());
        let before = manifest(&mut client);
        let answer = client.request("resources/read", json!({"uri": uri}));
        let after = manifest(&mut client);
        for known in [&before, &after].into_iter().flatten() {
            for (uri, digest) in known {
                published.entry(uri.clone()).or_default().insert(digest.clone());
            }
        }
        let Some(read) = answer.pointer("/result/contents/0/text").and_then(Value::as_str) else {
            assert!(answer["error"]["message"].as_str().unwrap().contains("Try again"), "{answer}");
            busy += 1;
            continue;
        };
        let hash = digest(read.as_bytes());
        reads.push((uri.to_owned(), hash.clone()));
        if let (Some(before), Some(after)) = (before, after)
            && before.get(uri) == after.get(uri)
        {
            steady += 1;
            assert_eq!(before.get(uri), Some(&hash), "{uri}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    let versions = writer.join().unwrap();
    let written: BTreeSet<String> = (0..=versions)
        .flat_map(|version| [digest(text(version).as_bytes()), digest(data(version).as_bytes())])
        .collect();
    for (uri, hash) in &reads {
        assert!(written.contains(hash), "{uri}: what was read is no version that was written");
    }
    for (uri, digests) in
        published.iter().filter(|(uri, _)| uri.ends_with("SKILL.md") || uri.ends_with("data.txt"))
    {
        assert!(digests.is_subset(&written), "{uri}: a digest of nothing that was written");
    }
    assert!(verify(&mut client) > 10);
}

#[test]
fn p06_a_list_that_is_cancelled_is_not_answered_and_the_next_request_is() {
    let home = team();
    let mut client = Client::legacy(command(&home), "2025-11-25");
    for _ in 0..20 {
        let id = client.ask("skills/list", json!({}));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        let ping = client.ask("ping", json!({}));
        assert!(client.answer(ping).get("result").is_some());
    }
    assert_eq!(verify(&mut client), 16);
}

// Notifications.

/// A client that has asked for every list.
fn reader(mut client: Client) -> Client {
    for method in ["tools/list", "resources/list", "prompts/list"] {
        client.request(method, json!({}));
    }
    client
}

fn methods(messages: &[Value]) -> BTreeSet<String> {
    let names = messages.iter().filter_map(|message| message["method"].as_str());
    names.map(str::to_owned).collect()
}

// RES-4
#[test]
fn a_client_is_notified_of_lists_that_it_has_asked_for() {
    let home = team();
    let mut quiet = Client::legacy(command(&home), "2025-06-18");
    let mut client = reader(Client::legacy(command(&home), "2025-06-18"));
    quiet.request("tools/list", json!({}));
    home.write("team/new/SKILL.md", bundle("new", "Something new", "x"));
    client.notification(RESOURCES_CHANGED);
    client.notification(PROMPTS_CHANGED);
    client.notification("notifications/tools/list_changed");
    quiet.notification("notifications/tools/list_changed");
    assert_eq!(quiet.arrivals(SILENCE), Vec::<Value>::new(), "it has no other list");
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new(), "each once");
    // A text is in no list but in the manifests.
    home.write("team/new/SKILL.md", bundle("new", "Something new", "y"));
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new());
    client.request("skills/list", json!({}));
    home.write("team/new/beside.txt", "z");
    client.notification(RESOURCES_CHANGED);
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new());
    assert!(uris(&mut client).contains(&"skill://new/SKILL.md".to_owned()));
}

// RES-5
#[test]
fn a_client_with_a_handshake_subscribes_to_resources() {
    let home = team();
    let mut client = Client::legacy(command(&home), "2025-06-18");
    let data = "skill://pdf/scripts/fill.py";
    let tree = "skill://tree.team/ui-react-auth/SKILL.md";
    for uri in ["skill://pdf/SKILL.md", data, data, tree] {
        assert_eq!(result(&mut client, "resources/subscribe", json!({"uri": uri})), json!({}));
    }
    // What is not there yet may come; what never comes is never reported.
    for uri in ["skill://none/SKILL.md", "file:///etc/passwd"] {
        assert_eq!(result(&mut client, "resources/subscribe", json!({"uri": uri})), json!({}));
    }
    let long = format!("skill://{}", "x".repeat(20_000));
    assert_eq!(code(&client.request("resources/subscribe", json!({"uri": long}))), Some(-32602));
    let updated = |client: &mut Client| {
        client.notification(UPDATED)["params"]["uri"].as_str().unwrap().to_owned()
    };
    home.write("team/pdf/scripts/fill.py", "print('emptied')");
    assert_eq!(updated(&mut client), data);
    home.write("team/pdf/scripts/fill.py", "print('emptier')");
    assert_eq!(updated(&mut client), data, "also of the same size at once");
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new());
    home.write(
        "team/_root.md",
        "---\nkeywords: [conventions]\ndescription: Rules\n---\nBe kinder.\n",
    );
    assert_eq!(updated(&mut client), tree, "what it inherits is part of it");
    fs::remove_dir_all(home.path().join("team/pdf")).unwrap();
    let both = BTreeSet::from([updated(&mut client), updated(&mut client)]);
    assert_eq!(both, BTreeSet::from(["skill://pdf/SKILL.md".to_owned(), data.to_owned()]));
    client.arrivals(SILENCE);
    for uri in [tree, "skill://never/subscribed"] {
        assert_eq!(result(&mut client, "resources/unsubscribe", json!({"uri": uri})), json!({}));
    }
    home.write(
        "team/_root.md",
        "---\nkeywords: [conventions]\ndescription: Rules\n---\nBe kindest.\n",
    );
    assert!(!methods(&client.arrivals(SILENCE)).contains(UPDATED));
}

// RES-5
#[test]
fn a_stream_reports_the_resources_and_lists_that_it_names() {
    let home = team();
    let mut client = Client::modern(command(&home));
    client.request("tools/list", json!({}));
    let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": ["skill://pdf/SKILL.md", "skill://later/SKILL.md"]});
    let id = client.ask("subscriptions/listen", json!({"notifications": filter}));
    let acknowledged = client.message();
    assert_eq!(acknowledged["params"]["notifications"], filter, "{acknowledged}");
    let of_stream = |message: &Value| {
        message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId") == Some(&json!(id))
    };
    home.write("team/pdf/SKILL.md", bundle("pdf", "Fill in forms", "Otherwise."));
    let news = client.notification(UPDATED);
    assert!(news["params"]["uri"] == "skill://pdf/SKILL.md" && of_stream(&news), "{news}");
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new(), "no list shows a text");
    home.write("team/later/SKILL.md", bundle("later", "Comes later", "x"));
    let news = [client.notification(RESOURCES_CHANGED), client.notification(UPDATED)];
    assert!(news.iter().all(of_stream), "{news:?}");
    assert_eq!(news[1]["params"]["uri"], "skill://later/SKILL.md");
    assert_eq!(client.arrivals(SILENCE), Vec::<Value>::new(), "no other list was named");
    assert_eq!(
        code(&client.request("resources/subscribe", json!({"uri": "skill://pdf/SKILL.md"}))),
        Some(-32601)
    );
}

// Prompts and completion.

// PROMPT-2
#[test]
fn a_prompt_is_the_text_with_its_arguments() {
    let home = team();
    home.write("team/plain/SKILL.md", bundle("plain", "No place for arguments", "Do it."));
    home.write("team/listed/SKILL.md", "---\nname: listed\ndescription: d\nargument-hint: [file, line]\n---\n$ARGUMENTS or $ARGUMENTS");
    for mut client in both(&home) {
        let mut prompt = |name: &str, arguments: Value| {
            let got =
                result(&mut client, "prompts/get", json!({"name": name, "arguments": arguments}));
            assert_eq!(got["messages"].as_array().unwrap().len(), 1);
            assert_eq!(got["messages"][0]["role"], "user");
            got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(prompt("plain", json!({"arguments": "a b"})), "Do it.\n\nARGUMENTS: a b");
        assert_eq!(prompt("plain", json!({})), "Do it.");
        assert_eq!(
            prompt("listed", json!({"arguments": "$ARGUMENTS"})),
            "$ARGUMENTS or $ARGUMENTS"
        );
        assert_eq!(
            prompt("pdf", json!({"arguments": "x"})),
            "Fill in x.\n\nFiles of this skill are resources below skill://pdf/"
        );
        assert!(prompt("ui/react/auth", json!({})).contains("Cookies, not tokens."));
        let listed = all(&mut client, "prompts/list", "prompts");
        let names = texts(&listed, "name");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(!names.contains(&"notes".to_owned()), "{names:?}");
        let hint = listed.iter().find(|prompt| prompt["name"] == "listed").unwrap();
        assert_eq!(
            hint["arguments"],
            json!([{"name": "arguments", "description": "[file, line]", "required": false}])
        );
    }
}

// COMPLETE-1
#[test]
fn completions_are_at_most_a_hundred_and_say_how_many_there_are() {
    let home = Home::new();
    for number in 0..150 {
        home.write(
            &format!("team/skill-{number}/SKILL.md"),
            bundle(&format!("skill-{number}"), "d", "x"),
        );
    }
    for mut client in both(&home) {
        let mut complete = |uri: &str, name: &str, value: &str| {
            let params = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}});
            let found = result(&mut client, "completion/complete", params)["completion"].clone();
            let values = found["values"].as_array().unwrap().len();
            (
                values,
                found["total"].as_u64().unwrap(),
                found["hasMore"].as_bool().unwrap(),
                found["values"][0].clone(),
            )
        };
        let path = "skill://{+path}";
        assert_eq!(complete(path, "path", ""), (100, 150, true, json!("skill-0/SKILL.md")));
        assert_eq!(
            complete("skill://{+skill}/SKILL.md", "skill", "14"),
            (12, 12, false, json!("skill-114"))
        );
        assert_eq!(
            complete(path, "path", "skill://skill-149/"),
            (1, 1, false, json!("skill-149/SKILL.md"))
        );
        assert_eq!(complete(path, "other", "s"), (0, 0, false, Value::Null));
        assert_eq!(complete("file:///{path}", "path", "s"), (0, 0, false, Value::Null));
    }
}

// SK-3
#[test]
fn sk_offers_tools_and_nothing_else() {
    let home = Home::new();
    home.write("skills/pdf/SKILL.md", bundle("pdf", "d", "x"));
    for mut client in [Client::legacy(sk(&home, &[]), "2025-11-25"), Client::modern(sk(&home, &[]))]
    {
        for (method, params) in [
            ("skills/list", json!({})),
            ("skills/get", json!({"uri": "skill://pdf/SKILL.md"})),
            ("resources/directory/read", json!({"uri": "skill://pdf"})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "skill://pdf/SKILL.md"})),
            ("resources/templates/list", json!({})),
            ("resources/subscribe", json!({"uri": "skill://pdf/SKILL.md"})),
            ("resources/unsubscribe", json!({"uri": "skill://pdf/SKILL.md"})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "pdf"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
            ),
        ] {
            let answer = client.request(method, params);
            assert_eq!(code(&answer), Some(-32601), "{method}: {answer}");
        }
    }
}
