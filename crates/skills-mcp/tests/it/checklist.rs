//! The checklist before a team may rely on the server: one test a line, over stdio, on the example that ships with the
//! project. Not here: scripts (`scripts.rs`), git (`git.rs`) and events (`events.rs`, `journal.rs`).

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{ROOT_TREE, client, example_client, server, skill};

// GET-2
#[test]
fn get_skill_returns_the_right_content_for_ten_varied_requests() {
    let home = Home::new();
    let mut client = example_client(&home);
    let requests: Value =
        serde_json::from_str(include_str!("../../../../examples/requests.json")).unwrap();
    let requests = requests.as_array().unwrap();
    let count = |field: &str, value: &str| {
        requests.iter().filter(|request| request[field] == value).count()
    };
    assert_eq!(
        (count("expect", "match"), count("expect", "ambiguous"), count("expect", "no_match")),
        (6, 2, 2)
    );
    assert_eq!(count("language", "fr"), 2);
    for request in requests {
        let answer = client.call("get_skill", &json!({"context": request["context"]})).json;
        match request["expect"].as_str().unwrap() {
            "match" => {
                assert_eq!(answer["skill_path"], request["skill_path"], "{request}");
                let own = format!("(from {}.md) ===", request["skill_path"].as_str().unwrap());
                let content = answer["content"].as_str().unwrap();
                assert!(
                    content.contains(&own) || request["skill_path"] == "api/database",
                    "{request}"
                );
            }
            "ambiguous" => {
                let paths: Vec<&Value> = answer["candidates"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|c| &c["skill_path"])
                    .collect();
                let expected = request["candidates"].as_array().unwrap();
                assert!(expected.iter().all(|path| paths.contains(&path)), "{request}: {paths:?}");
            }
            _ => assert_eq!(answer["no_match"], true, "{request}"),
        }
    }
}

// GET-2
#[test]
fn get_skill_includes_the_assets_and_scripts_in_its_answer() {
    let home = Home::new();
    let answer =
        example_client(&home).call("get_skill", &json!({"skill_path": "ui/react/auth"})).json;
    let files = |key: &str| -> Vec<String> {
        answer[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["file"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        files("assets"),
        [
            "assets/AuthProvider.tsx.template",
            "assets/auth-config.example.ts",
            "assets/auth-flow.svg"
        ]
    );
    assert_eq!(files("scripts"), ["scripts/scaffold-auth.sh", "scripts/validate-auth-config.js"]);
    assert_eq!(files("inherited_assets"), ["assets/component-base.tsx.template"]);
    assert_eq!(answer["inherited_assets"][0]["from"], "ui/react/_index");
    assert_eq!(answer["inherited_scripts"], json!([]));
    assert_eq!(
        answer["scripts"][0]["args"],
        json!([
            {"name": "project_dir", "description": "Root of the React project; must exist.", "required": true},
            {"name": "provider", "description": "How users prove who they are: password or oidc.", "required": false, "default": "password"},
        ])
    );
}

// COMPOSE-2
#[test]
fn inheritance_works_true_includes_the_parents_false_does_not() {
    let home = Home::with(ROOT_TREE);
    home.write(
        "skills/alone.md",
        "---\nkeywords: [alone]\ndescription: d\ninherit: false\n---\n\n# Alone\n\nNo parents.\n",
    );
    let mut client = client(&home);
    let inherited = client.call("get_skill", &json!({"skill_path": "ui/react/auth"})).json;
    assert_eq!(
        inherited["content"],
        "=== GLOBAL RULES (from _root.md) ===\n\nBe kind.\n\n\
         === UI (from ui/_index.md) ===\n\nMind the keyboard.\n\n\
         === UI > REACT (from ui/react/_index.md) ===\n\nFunctions, not classes.\n\n\
         === UI > REACT > AUTH (from ui/react/auth.md) ===\n\nCookies, not tokens."
    );
    let alone = client.call("get_skill", &json!({"skill_path": "alone"})).json;
    assert_eq!(alone["content"], "# Alone\n\nNo parents.");
}

// COMPOSE-3
#[test]
fn inheritance_of_assets_works_parents_are_accessible_and_conflicts_resolved() {
    let home = Home::with(
        "//- _root.md\n---\nkeywords: [a]\ndescription: d\nassets:\n  - {file: x.ts, description: the root's}\n  - {file: y.ts, description: the root's y}\n---\n\
         //- _root/x.ts\nroot x\n//- _root/y.ts\nroot y\n\
         //- leaf.md\n---\nkeywords: [b]\ndescription: d\nassets:\n  - {file: x.ts, description: the leaf's}\n---\n\
         //- leaf/x.ts\nleaf x\n",
    );
    let mut client = client(&home);
    let answer = client.call("get_skill", &json!({"skill_path": "leaf"})).json;
    assert_eq!(
        answer["assets"],
        json!([{"file": "x.ts", "description": "the leaf's", "type": "other"}])
    );
    assert_eq!(
        answer["inherited_assets"],
        json!([{"file": "y.ts", "description": "the root's y", "type": "other", "from": "_root"}])
    );
    let asset = |client: &mut Client, file: &str| {
        client.call("get_asset", &json!({"skill_path": "leaf", "file": file})).json
    };
    assert_eq!(asset(&mut client, "x.ts")["content"], "leaf x\n");
    let inherited = asset(&mut client, "y.ts");
    assert_eq!(
        (&inherited["content"], &inherited["resolved_from"]),
        (&json!("root y\n"), &json!("_root"))
    );
}

// GET-3
#[test]
fn ambiguity_is_detected_and_presented_so_that_the_agent_can_choose() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let answer = client.call("get_skill", &json!({"context": "login session"})).json;
    let message = "Multiple skills match. Specify your need or pick a skill_path.";
    assert_eq!((&answer["ambiguous"], &answer["message"]), (&json!(true), &json!(message)));
    let fields = ["skill_path", "score", "description", "matched_keywords", "by"];
    let offered: Vec<Value> = answer["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| fields.iter().map(|field| one[*field].clone()).collect())
        .collect();
    assert_eq!(
        offered,
        [
            json!(["api/auth", 0.5, "Signing in to the API", ["login", "session"], "ranked"]),
            json!(["ui/react/auth", 0.5, "Signing in with React", ["login", "session"], "ranked"]),
        ]
    );
    assert!(
        answer["next"].as_str().unwrap().contains("{\"skill_path\": \"api/auth\"}"),
        "{answer}"
    );
    let mut command = server(&home);
    command.args(["--set", "matching.decide=keywords"]);
    let mut by_keywords = Client::legacy(command, "2025-11-25");
    assert_eq!(
        by_keywords.call("get_skill", &json!({"context": "login session"})).json,
        json!({
            "ambiguous": true,
            "message": message,
            "candidates": [
                {"skill_path": "api/auth", "score": 0.5, "description": "Signing in to the API", "matched_keywords": ["login", "session"]},
                {"skill_path": "ui/react/auth", "score": 0.5, "description": "Signing in with React", "matched_keywords": ["login", "session"]},
            ],
        })
    );
    assert_eq!(
        client.call("get_skill", &json!({"skill_path": "api/auth"})).json["skill_path"],
        "api/auth"
    );
    assert_eq!(
        client.call("get_skill", &json!({"context": "api/auth"})).json["skill_path"],
        "api/auth"
    );
}

// LIST-1
#[test]
fn list_skills_returns_the_tree_complete_and_filtered_by_path() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let whole = client.call("list_skills", &json!({})).json;
    let root = &whole["tree"];
    assert_eq!(
        (&root["name"], &root["path"], &root["description"]),
        (&json!("root"), &json!("_root"), &json!("Rules for everything"))
    );
    let api = &root["children"][0];
    assert_eq!(
        (&api["name"], &api["path"], &api["description"], &api["keywords"]),
        (&json!("api"), &json!("api"), &json!(""), &json!([]))
    );
    let react = json!({
        "name": "react", "path": "ui/react/_index", "description": "Rules for React", "keywords": ["react", "component", "hook"],
        "assetCount": 0, "scriptCount": 0,
        "children": [{
            "name": "auth", "path": "ui/react/auth", "description": "Signing in with React", "keywords": ["react", "login", "session", "oauth"],
            "assetCount": 1, "scriptCount": 0, "children": [],
        }],
    });
    assert_eq!(root["children"][1]["children"][0], react);
    for path in ["ui/react", "ui/react/_index", "ui/react/"] {
        assert_eq!(
            client.call("list_skills", &json!({"path": path})).json["tree"],
            react,
            "{path}"
        );
    }
    assert_eq!(
        client.call("list_skills", &json!({"path": "ui/react/auth"})).json["tree"],
        react["children"][0]
    );
    assert_eq!(
        client.call("list_skills", &json!({"path": "api"})).json["tree"]["children"][0]["path"],
        "api/auth"
    );
    let unknown = client.call("list_skills", &json!({"path": "ui/raect"}));
    assert!(
        unknown.is_error
            && unknown.json["message"].as_str().unwrap().contains("Did you mean: ui/react"),
        "{}",
        unknown.text
    );
}

// REPORT-1
#[test]
fn report_usage_records_feedback_and_repeated_complaints_reach_the_log() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    for useful in [false, true, false, false, false] {
        let answer = client.call(
            "report_usage",
            &json!({"skill_path": "ui/react/auth", "useful": useful, "comment": "no SSO\u{1b}[2J"}),
        );
        assert_eq!(
            answer.json,
            json!({"recorded": true, "message": "Feedback recorded for ui/react/auth"})
        );
    }
    let unknown =
        client.call("report_usage", &json!({"skill_path": "ui/react/aut", "useful": true}));
    assert!(unknown.is_error && unknown.text.contains("ui/react/auth"), "{}", unknown.text);
    let (_, _, log) = client.close();
    assert_eq!(log.matches("feedback").count(), 5, "{log}");
    assert_eq!(
        log.matches("not useful several times in a row").count(),
        1,
        "only the third in a row: {log}"
    );
    assert!(!log.contains('\u{1b}'), "{log}");
}

// REPORT-3
#[test]
fn refresh_skills_reindexes_a_local_directory() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    // An answer means that the first look is over.
    client.call("list_skills", &json!({}));
    home.write("skills/new.md", skill("brand, fresh", "A new one", "Hello."));
    home.write("skills/api/auth.md", skill("changed", "Changed", "Changed."));
    let answer = client.call("refresh_skills", &json!({})).json;
    assert_eq!(
        answer,
        json!({"success": true, "mode": "local", "skills_reindexed": 6, "message": "Reindexed from local directory (no git sync configured)."})
    );
    assert_eq!(
        client.call("get_skill", &json!({"context": "a brand fresh thing"})).json["skill_path"],
        "new"
    );
    assert_eq!(
        client.call("get_skill", &json!({"context": "what has changed"})).json["skill_path"],
        "api/auth"
    );
    let (_, _, log) = client.close();
    assert!(
        log.contains("cause=refresh_skills")
            && log.contains("added=1")
            && log.contains("changed=1"),
        "{log}"
    );
}

// ASSET-1
#[test]
fn get_asset_returns_the_text_of_a_template() {
    let home = Home::with(ROOT_TREE);
    let answer = client(&home)
        .call("get_asset", &json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx"}))
        .json;
    assert_eq!(
        answer,
        json!({"skill_path": "ui/react/auth", "file": "assets/A.tsx", "content": "export const A = 1;\n", "size_bytes": 20, "type": "template"})
    );
}

// ASSET-2
#[test]
fn get_asset_returns_the_base64_of_an_image() {
    let home = Home::new();
    let answer = example_client(&home)
        .call("get_asset", &json!({"skill_path": "ui/react/auth", "file": "assets/auth-flow.svg"}))
        .json;
    assert!(answer["content_base64"].as_str().unwrap().starts_with("PD94bWwg"), "{answer}");
    assert_eq!((&answer["mime_type"], &answer["type"]), (&json!("image/svg+xml"), &json!("image")));
    assert!(answer.get("content").is_none());
}

// ASSET-3
#[test]
fn get_asset_resolves_what_a_parent_declares() {
    let home = Home::new();
    let mut client = example_client(&home);
    let schema = client
        .call(
            "get_asset",
            &json!({"skill_path": "api/auth", "file": "assets/api-schema.openapi.yaml"}),
        )
        .json;
    assert_eq!(
        (&schema["resolved_from"], &schema["type"]),
        (&json!("api/_index"), &json!("schema"))
    );
    let script = client
        .call(
            "get_asset",
            &json!({"skill_path": "api/auth", "file": "scripts/generate-endpoint.sh"}),
        )
        .json;
    assert!(script["content"].as_str().unwrap().starts_with("#!"), "{script}");
    assert_eq!(script["type"], "script");
    let alone = client.call(
        "get_asset",
        &json!({"skill_path": "api/database", "file": "assets/api-schema.openapi.yaml"}),
    );
    assert!(alone.is_error, "a skill that does not inherit has no inherited files: {}", alone.text);
}

// ANSWER-1
#[test]
fn get_asset_refuses_an_asset_over_one_megabyte_with_its_size() {
    let home = Home::with(
        "//- big.md\n---\nkeywords: [big]\ndescription: d\nassets:\n  - {file: data.txt, description: large}\n  - {file: edge.txt, description: just fits}\n---\n",
    );
    home.write("skills/big/data.txt", vec![b'x'; 1_048_577]);
    home.write("skills/big/edge.txt", vec![b'x'; 1_048_576]);
    let mut client = client(&home);
    let refused = client.call("get_asset", &json!({"skill_path": "big", "file": "data.txt"}));
    assert!(refused.is_error);
    assert_eq!(
        refused.json,
        json!({"error": true, "message": "Asset 'data.txt' is 1048577 bytes, over the limit of 1048576 bytes (assets.max_size_bytes)."})
    );
    assert_eq!(
        client.call("get_asset", &json!({"skill_path": "big", "file": "edge.txt"})).json["size_bytes"],
        1_048_576
    );
}

// FILE-2
#[test]
fn invalid_front_matter_is_skipped_without_a_crash() {
    let home = Home::with(ROOT_TREE);
    home.write("skills/broken.md", "---\nkeywords: [a\n---\nx\n");
    home.write("skills/empty.md", "---\n---\n");
    let mut client = client(&home);
    assert_eq!(client.call("refresh_skills", &json!({})).json["skills_reindexed"], 5);
    let (_, _, log) = client.close();
    assert!(
        log.contains("broken.md") && log.contains("yaml-invalid") && log.contains("empty.md"),
        "{log}"
    );
}

// FILE-9
#[test]
fn an_asset_that_is_declared_but_missing_is_a_warning_and_no_crash() {
    let home = Home::with(ROOT_TREE);
    let mut client = client(&home);
    let answer = client.call("get_skill", &json!({"skill_path": "ui/react/auth"})).json;
    assert_eq!(answer["assets"].as_array().unwrap().len(), 1);
    let missing =
        client.call("get_asset", &json!({"skill_path": "ui/react/auth", "file": "assets/gone.ts"}));
    assert!(
        missing.is_error
            && missing.text.contains("declared by 'ui/react/auth' but missing on disk"),
        "{}",
        missing.text
    );
    let (_, _, log) = client.close();
    assert!(log.contains("ui/react/auth.md:8:5: warning[file-missing]: asset `assets/gone.ts` is declared but missing"), "{log}");
}
