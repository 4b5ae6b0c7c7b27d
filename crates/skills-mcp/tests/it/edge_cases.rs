//! Edge cases, as agents meet them: indexing, matching, inheritance, assets and configuration where something is missing,
//! empty, too long or there twice.

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{ROOT_TREE, client, run, server, skill};

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

// GET-4
#[test]
fn no_skill_matches_gives_no_match_with_the_closest_candidate() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/wide.md", skill("one, two, three, four, five, six", "Wide", "x"));
    let mut client = client(&home);
    let close = client.call("get_skill", &json!({"context": "number six"})).json;
    assert_eq!(
        close,
        json!({
            "no_match": true, "message": "Probably no skill fits this request; the candidates only come nearest.",
            "closest_candidate": "wide", "closest_score": 0.1667,
            "candidates": [{"skill_path": "wide", "score": 0.1667, "description": "Wide", "matched_keywords": ["six"], "by": "ranked"}],
            "next": "If a candidate fits the task, load it: get_skill {\"skill_path\": \"wide\"}. If none does, go on without a skill. \
                     Pass the user's whole request and the product it is about to find better matches.",
        })
    );
    let nothing = client.call("get_skill", &json!({"context": "configure nginx"})).json;
    assert_eq!(
        nothing,
        json!({"no_match": true, "message": "No skill matches the given context."})
    );
}

// SOURCE-8
#[test]
fn an_empty_skills_directory_starts_and_every_request_is_no_match() {
    let home = Home::with("");
    let mut client = client(&home);
    assert_eq!(client.call("get_skill", &json!({"context": "react"})).json["no_match"], true);
    let tree = client.call("list_skills", &json!({})).json;
    assert_eq!((&tree["tree"]["name"], &tree["tree"]["children"]), (&json!("root"), &json!([])));
}

// FILE-1
#[test]
fn a_markdown_file_without_front_matter_is_passed_over() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/README.md", "# Read me\n");
    assert_eq!(client(&home).call("refresh_skills", &json!({})).json["skills_reindexed"], 5);
    let (_, doctor, _) = run(server(&home).args(["doctor", "--json"]));
    assert!(doctor.contains("front-matter-missing"), "{doctor}");
}

// COMPOSE-4
#[test]
fn content_over_the_token_limit_is_cut_with_a_warning() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/ui/_index.md",
        skill("interface", "Long", &"Mind every single word here.\n".repeat(2_000)),
    );
    let mut client = client(&home);
    let answer = client.call("get_skill", &json!({"skill_path": "ui/react/auth"})).json;
    let content = answer["content"].as_str().unwrap();
    assert_eq!(answer["truncated"], true);
    assert!(
        content.contains("Cookies, not tokens.")
            && content.contains("Functions, not classes.")
            && content.contains("Be kind.")
    );
    assert!(
        content.contains("=== UI (from ui/_index.md) ===\n\n[skills-mcp] Left out"),
        "{content}"
    );
    assert!(content.contains("by its path, \"ui/_index\""), "{content}");
    let alone = client.call("get_skill", &json!({"skill_path": "ui/_index"})).json;
    let content = alone["content"].as_str().unwrap();
    assert!(
        alone["truncated"] == true && content.contains("here.\n\n[skills-mcp] Cut here"),
        "{}",
        content.len()
    );
}

// ASSET-4
#[test]
fn files_in_a_resource_folder_that_are_not_declared_are_not_served() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/ui/react/auth/assets/secret.txt", "canary");
    let answer = client(&home)
        .call("get_asset", &json!({"skill_path": "ui/react/auth", "file": "assets/secret.txt"}));
    assert!(answer.is_error);
    assert_eq!(
        message(&answer.json),
        "Asset 'assets/secret.txt' not found for skill 'ui/react/auth'. Available: assets/A.tsx."
    );
}

// ANSWER-3
#[test]
fn an_unknown_skill_is_refused_with_near_names() {
    let home = Home::with(ROOT_TREE);
    let answer =
        client(&home).call("get_asset", &json!({"skill_path": "ui/react/auht", "file": "x"}));
    assert!(answer.is_error);
    assert!(
        message(&answer.json)
            .starts_with("Skill 'ui/react/auht' not found. Did you mean: ui/react/auth"),
        "{}",
        answer.text
    );
}

// LAYOUT-6
#[test]
fn paths_are_looked_up_without_index_with_md_and_in_any_case() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for (asked, found) in [
        ("ui/react", "ui/react/_index"),
        ("ui/react/auth.md", "ui/react/auth"),
        ("UI/React/Auth", "ui/react/auth"),
        ("_root", "_root"),
    ] {
        assert_eq!(
            client.call("get_skill", &json!({"skill_path": asked})).json["skill_path"],
            found,
            "{asked}"
        );
    }
}

// GET-1
#[test]
fn small_text_assets_are_included_on_request_and_larger_ones_say_so() {
    let home = Home::with(
        "//- a.md\n---\nkeywords: [a]\ndescription: d\nassets:\n  - {file: small.ts, description: s}\n  - {file: large.ts, description: l}\n  - {file: pic.svg, description: p, type: image}\n---\n\
         //- a/small.ts\nconst a = 1;\n//- a/pic.svg\n<svg/>\n",
    );
    home.write("skills/a/large.ts", "x".repeat(10_241));
    let mut client = client(&home);
    let assets = client.call("get_skill", &json!({"skill_path": "a", "include_assets": true})).json
        ["assets"]
        .clone();
    assert_eq!(assets[0]["content"], "const a = 1;\n");
    assert_eq!(assets[1]["content_omitted"], "10241 bytes, over 10240; use get_asset");
    assert_eq!(assets[2], json!({"file": "pic.svg", "description": "p", "type": "image"}));
    let without = client.call("get_skill", &json!({"skill_path": "a"})).json["assets"].clone();
    assert_eq!(without[0], json!({"file": "small.ts", "description": "s", "type": "other"}));
}

// SOURCE-5
#[test]
fn two_directories_are_one_catalog_and_the_first_wins_a_bare_path() {
    let home = Home::with(ROOT_TREE);
    home.write("other/api/auth.md", skill("second, voice", "The other one", "Other."));
    home.write("other/extra.md", skill("extra, thing", "Only here", "Extra."));
    let mut command = server(&home);
    command.args(["--dir", "skills", "--dir", "other"]);
    let mut client = Client::legacy(command, "2025-11-25");
    assert_eq!(
        client.call("get_skill", &json!({"skill_path": "api/auth"})).json["content"]
            .as_str()
            .unwrap()
            .lines()
            .last(),
        Some("Check every call.")
    );
    let other = client.call("get_skill", &json!({"skill_path": "other:api/auth"})).json;
    assert_eq!(
        (&other["skill_path"], &other["content"]),
        (&json!("other:api/auth"), &json!("=== API > AUTH (from api/auth.md) ===\n\nOther."))
    );
    assert_eq!(
        client.call("get_skill", &json!({"context": "some extra thing"})).json["skill_path"],
        "extra"
    );
    let tree = client.call("list_skills", &json!({})).json;
    let names: Vec<&Value> =
        tree["tree"]["children"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names.len(), 2, "{tree}");
    assert_eq!(names[1], "other");
}

// CONFIG-1
#[test]
fn configuration_follows_its_order_and_is_read_again_on_refresh() {
    let home = Home::with(ROOT_TREE);
    home.write("config.yaml", "matching: {min_score: 0.9, max_results: 2}\n");
    home.write(".config/skills-mcp/config.yaml", "matching: {max_results: 5}\n");
    let mut client = client(&home);
    assert_eq!(
        client.call("get_skill", &json!({"context": "react login"})).json["no_match"],
        true,
        "content's min_score counts"
    );
    home.write("config.yaml", "matching: {min_score: 0.2}\n");
    client.call("refresh_skills", &json!({}));
    assert_eq!(
        client.call("get_skill", &json!({"context": "react oauth"})).json["skill_path"],
        "ui/react/auth"
    );
    let (code, text, _) = run(server(&home).env("REFRESH_INTERVAL_MINUTES", "5").args([
        "config",
        "--json",
        "--set",
        "assets.max_size_bytes=99",
    ]));
    let shown: Value = serde_json::from_str(&text).unwrap();
    let origin = |key: &str| shown["settings"][key]["origin"].as_str().unwrap().to_owned();
    assert_eq!(code, 0);
    assert!(
        origin("matching.min_score").ends_with("config.yaml:1"),
        "{}",
        origin("matching.min_score")
    );
    assert!(origin("matching.max_results").contains(".config/skills-mcp"));
    assert_eq!(
        (origin("refresh.interval_minutes"), origin("refresh.enabled")),
        ("REFRESH_INTERVAL_MINUTES".into(), "REFRESH_INTERVAL_MINUTES".into())
    );
    assert_eq!(
        (
            origin("assets.max_size_bytes"),
            shown["settings"]["assets.max_size_bytes"]["value"].clone()
        ),
        ("--set".into(), json!(99))
    );
    assert_eq!(origin("scripts.enabled"), "default");
}

// CONFIG-3, SOURCE-8
#[test]
fn a_mistake_of_the_operators_stops_the_start_with_code_2_and_the_way_out() {
    let home = Home::with(ROOT_TREE);
    let refused = |command: &mut std::process::Command| {
        let (code, out, err) = run(command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    let missing = refused(server(&home).env("SKILLS_DIR", home.path().join("nowhere")));
    assert!(
        missing.starts_with("error: SKILLS_DIR: there is no directory ")
            && missing.contains("hint: "),
        "{missing}"
    );
    let number = refused(server(&home).env("REFRESH_INTERVAL_MINUTES", "often"));
    assert!(
        number.contains("REFRESH_INTERVAL_MINUTES: `refresh.interval_minutes` is `often`"),
        "{number}"
    );
    let flag = refused(server(&home).args(["--set", "matching.min_scor=1"]));
    assert!(flag.contains("did you mean `matching.min_score`?"), "{flag}");
    home.write(".skills-mcp/config.yaml", "matching:\n  max_results: lots\n");
    let file = refused(&mut server(&home));
    assert!(file.contains("config.yaml:2: `matching.max_results` is `lots`, but must be a whole number from 1 to 50"), "{file}");
}

// SOURCE-1
#[test]
fn an_empty_variable_counts_as_unset() {
    let home = Home::with(ROOT_TREE);
    let mut command = server(&home);
    command
        .env("SKILLS_REPO", "")
        .env("ANALYTICS_ENDPOINT", "")
        .env("GITHUB_TOKEN", "")
        .env("REFRESH_INTERVAL_MINUTES", "");
    assert_eq!(
        Client::legacy(command, "2025-11-25").call("refresh_skills", &json!({})).json["success"],
        true
    );
}

// SOURCE-4
#[test]
fn without_any_source_the_server_starts_and_says_so() {
    let home = Home::new();
    let mut command = server(&home);
    command.env_remove("SKILLS_DIR");
    let mut client = Client::legacy(command, "2025-11-25");
    let nothing = client.call("skill", &json!({"name": "pdf"}));
    assert!(
        nothing.is_error && nothing.text.contains("Available skills:\n(none)"),
        "{}",
        nothing.text
    );
    let (status, _, log) = client.close();
    assert!(status.success() && log.contains("no source is named"), "{log}");
}

// CONFIG-7
#[test]
fn secrets_in_the_environment_reach_no_output() {
    let home = Home::with(ROOT_TREE);
    let canary = "ghp_canary123";
    for arguments in
        [&["config"][..], &["config", "--json"], &["doctor"], &["list", "--log", "trace"]]
    {
        let (_, out, err) = run(server(&home).env("GITHUB_TOKEN", canary).args(arguments));
        assert!(!out.contains(canary) && !err.contains(canary), "{arguments:?}");
    }
}
