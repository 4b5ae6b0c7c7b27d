//! Clients of the table: what their models see, and that what a text says can be done.

use std::{collections::BTreeSet, fmt::Write as _, process::Command};

use serde_json::{Value, json};
use skills_mcp::clients::{CLIENTS, KnownClient, ToolSight};
use skills_testkit::{Client, Home};

use crate::support::{agents, bundle, example, run};

/// Subjects and deeds that skills are made of.
const SUBJECTS: [&str; 20] = [
    "invoice",
    "kubernetes",
    "postgres",
    "playwright",
    "terraform",
    "grafana",
    "helm",
    "kafka",
    "redis",
    "stripe",
    "figma",
    "latex",
    "ansible",
    "django",
    "vault",
    "nginx",
    "spark",
    "jira",
    "webpack",
    "docker",
];
const DEEDS: [&str; 10] = [
    "rotate",
    "migrate",
    "audit",
    "deploy",
    "benchmark",
    "document",
    "refactor",
    "monitor",
    "translate",
    "archive",
];

/// Two hundred bundles in the home's `bundles/`.
fn bundles(home: &Home) {
    for subject in SUBJECTS {
        for deed in DEEDS {
            let name = format!("{deed}-{subject}");
            let about = format!(
                "Use when asked to {deed} {subject} resources. Covers checks before, steps to {deed} {subject}, and rollback."
            );
            let text = format!("# {deed} {subject}\n\nRun the {deed} checklist for {subject}.");
            home.write(&format!("bundles/{name}/SKILL.md"), bundle(&name, &about, &text));
        }
    }
}

/// A server over one of the contents that a client is tried with.
fn serving(home: &Home, content: &str) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    if matches!(content, "tree" | "both") {
        command.arg("--dir").arg(example());
    }
    if matches!(content, "bundles" | "both") {
        command.arg("--dir").arg(home.path().join("bundles"));
    }
    command
}

fn known() -> impl Iterator<Item = &'static KnownClient> {
    CLIENTS.iter().filter(|client| client.handling.is_some())
}

fn tools(client: &mut Client) -> Vec<Value> {
    let list = client.request("tools/list", json!({}));
    list.pointer("/result/tools").and_then(Value::as_array).cloned().unwrap()
}

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// CLIENT-2, CLIENT-3
#[test]
fn every_known_clients_first_request_is_small_and_says_how_to_ask() {
    let home = Home::new();
    bundles(&home);
    let mut summary = String::new();
    for content in ["tree", "bundles", "both"] {
        for client in known() {
            let handling = client.handling.unwrap();
            let mut command = serving(&home, content);
            let (code, out, err) = run(command.args(["--client", client.id, "tools", "--json"]));
            assert_eq!(code, 0, "{err}");
            let first: Value = serde_json::from_str(&out).unwrap();
            let tokens = first["tokens"].as_u64().unwrap();
            let is_deferred = handling.first_request.value != ToolSight::Whole;
            let most = if is_deferred { 600 } else { 2_000 };
            assert!(tokens <= most, "{} {content}: {tokens} tokens", client.id);
            let instructions = first["instructions"].as_str().unwrap();
            assert!(instructions.chars().count() <= 2_000);
            for tool in first["shown"]
                .as_array()
                .unwrap()
                .iter()
                .chain(first["deferred"].as_array().unwrap())
            {
                let description = tool["description"].as_str().unwrap();
                let line = description.lines().next().unwrap();
                assert!(line.chars().count() <= 160, "{}: {line}", client.id);
                assert!(description.chars().count() <= handling.description.value);
            }
            let list = |key: &str| {
                let all = first[key].as_array().unwrap().iter();
                all.map(|tool| tool["name"].as_str().or(tool.as_str()).unwrap())
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            writeln!(
                summary,
                "## {} over {content}: {tokens} tokens\nshown: {}\nnamed: {}\ndeferred: {}\n{instructions}\n",
                client.id, list("shown"), list("named"), list("deferred")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!("first_requests", summary);
}

// CLIENT-2, CLIENT-6, TOOLS-3, TOOLS-4
#[test]
fn b1_what_the_instructions_say_finds_and_loads_the_skill_in_every_client() {
    let home = Home::new();
    bundles(&home);
    for client in known().filter(|client| !client.reported.is_empty()) {
        let name = client.reported[0].replace('*', "-x");
        let (mut mcp, welcome) = Client::named(serving(&home, "bundles"), "2025-06-18", &name);
        let listed = names(&tools(&mut mcp));
        let load =
            if client.handling.unwrap().own_skill_tool.value { "load_skill" } else { "skill" };
        assert!(
            listed.contains(&load.to_owned()) && listed.contains(&"get_skill".to_owned()),
            "{listed:?}"
        );
        let is_idle = |name: &String| {
            ["skills_search", "run_script", "refresh_skills"].contains(&name.as_str())
        };
        assert!(!listed.iter().any(is_idle), "{listed:?}");
        let instructions = welcome["instructions"].as_str().unwrap();
        assert!(instructions.contains("200 skills"), "{}: {instructions}", client.id);
        let first_line = instructions.lines().next().unwrap();
        assert!(first_line.contains("call get_skill"), "{}: {first_line}", client.id);
        assert!(first_line.chars().count() <= 250 && !instructions.contains("skills_search"));
        let request = "rotate the vault resources";
        let found = mcp.call("get_skill", &json!({"context": request})).json;
        assert_eq!(found["candidates"][0]["skill_path"], "rotate-vault", "{}: {found}", client.id);
        let loaded = mcp.call("get_skill", &json!({"skill_path": "rotate-vault"})).json;
        assert!(
            loaded["content"].as_str().unwrap().contains("Run the rotate checklist for vault.")
        );
        assert!(loaded["base_directory"].as_str().unwrap().ends_with("/rotate-vault"), "{loaded}");
        let loaded = mcp.call(load, &json!({"name": "rotate-vault"}));
        assert!(loaded.text.contains("Run the rotate checklist for vault."), "{}", loaded.text);
        // It answers all the same, with what it says of itself.
        let found = mcp.call("skills_search", &json!({"query": request}));
        assert!(found.text.starts_with("Best 10 of 200 skills"), "{}", found.text);
        assert!(found.text.lines().next().unwrap().contains(load), "{}: {}", client.id, found.text);
    }
}

// GET-6
#[test]
fn b1_get_skill_offers_what_no_keyword_finds_and_says_the_next_call() {
    let home = Home::new();
    bundles(&home);
    for name in ["testkit", "claude-code"] {
        let (mut mcp, _) = Client::named(serving(&home, "both"), "2025-06-18", name);
        let offered =
            mcp.call("get_skill", &json!({"context": "archive the kafka resources"})).json;
        assert_eq!(offered["no_match"], true, "{offered}");
        let candidates = offered["candidates"].as_array().unwrap();
        assert!(
            candidates.len() == 5 && candidates.iter().all(|one| one["by"] == "ranked"),
            "{offered}"
        );
        assert!(
            candidates[0]["skill_path"].as_str().unwrap().ends_with("archive-kafka"),
            "{offered}"
        );
        assert!(offered["next"].as_str().unwrap().contains("get_skill"), "{offered}");
        let path = &candidates[0]["skill_path"];
        let loaded = mcp.call("get_skill", &json!({"skill_path": path})).json;
        assert!(
            loaded["content"].as_str().unwrap().contains("Run the archive checklist for kafka.")
        );
    }
    let mut command = serving(&home, "both");
    command.args(["--set", "matching.decide=keywords"]);
    let mut silent = Client::legacy(command, "2025-06-18");
    let none = silent.call("get_skill", &json!({"context": "archive the kafka resources"})).json;
    assert_eq!((&none["candidates"], &none["next"]), (&Value::Null, &Value::Null), "{none}");
    assert_eq!(none["no_match"], true);
}

// CLIENT-4
#[test]
fn b3_a_client_that_keeps_descriptions_has_none_that_an_edit_changes() {
    let home = Home::new();
    bundles(&home);
    for client in known().filter(|client| !client.reported.is_empty()) {
        let keeps = !client.handling.unwrap().rereads_tools.value;
        let name = client.reported[0].replace('*', "");
        let (mut mcp, _) = Client::named(serving(&home, "bundles"), "2025-06-18", &name);
        let before = tools(&mut mcp);
        let skill = format!("new-for-{}", client.id);
        home.write(
            &format!("bundles/{skill}/SKILL.md"),
            bundle(&skill, "Paint the zeppelin", "Body."),
        );
        let found = mcp.call("skills_search", &json!({"query": "paint the zeppelin", "limit": 1}));
        assert!(found.text.contains("zeppelin"), "{}: {}", client.id, found.text);
        if keeps {
            assert_eq!(before, tools(&mut mcp), "{}", client.id);
        }
    }
}

// CLIENT-1, CLIENT-4
#[test]
fn b4_a_known_client_gets_text_alone_and_the_contract_stays_for_the_others() {
    let home = Home::new();
    bundles(&home);
    let query = json!({"query": "audit terraform", "limit": 3});
    let result = |client: &mut Client| {
        client.request("tools/call", json!({"name": "skills_search", "arguments": query}))["result"]
            .take()
    };
    let (mut codex, _) = Client::named(serving(&home, "bundles"), "2025-06-18", "codex-mcp-client");
    let answer = result(&mut codex);
    assert!(answer.get("structuredContent").is_none(), "{answer}");
    assert!(answer["content"][0]["text"].as_str().unwrap().len() < 900, "{answer}");
    assert!(tools(&mut codex).iter().all(|tool| tool.get("outputSchema").is_none()));
    let explained = codex
        .call("skills_search", &json!({"query": "audit terraform", "limit": 1, "explain": true}));
    assert!(explained.text.contains("words: audit, terraform"), "{}", explained.text);
    let mut other = Client::legacy(serving(&home, "bundles"), "2025-06-18");
    assert!(result(&mut other)["structuredContent"]["results"][0]["excerpt"].is_string());
    // The newer revision has no handshake: each request says who sends it.
    let mut modern = Client::modern_named(serving(&home, "bundles"), "copilot-cli");
    assert!(names(&tools(&mut modern)).contains(&"load_skill".to_owned()));
    assert!(result(&mut modern).get("structuredContent").is_none());
}

// CLIENT-5, GET-7, LIST-4
#[test]
fn b5_answers_stay_within_what_the_client_passes_on_and_the_rest_can_be_read() {
    let home = Home::new();
    bundles(&home);
    let body: String = (1..=600)
        .fold(String::new(), |text, n| text + &format!("Step {n}: do the next thing with care.\n"));
    home.write("bundles/long-one/SKILL.md", bundle("long-one", "A very long one", &body));
    // Cline passes on 8,000 characters of the JSON around the text.
    let (mut cline, _) = Client::named(serving(&home, "both"), "2024-11-05", "@cline/core");
    let mut from_line = 1;
    let mut read = BTreeSet::new();
    loop {
        let part = cline.call("skill", &json!({"name": "long-one", "from_line": from_line}));
        assert!(json!(part.text).to_string().len() < 8_000, "{}", part.text.len());
        read.extend(
            part.text
                .lines()
                .filter_map(|line| line.strip_prefix("Step ")?.split_once(':'))
                .map(|(n, _)| n.parse::<u32>().unwrap()),
        );
        match part.text.rsplit_once("from_line: ") {
            Some((_, next)) => from_line = next.trim_end_matches('.').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(read.len(), 600);
    // list_skills page by page.
    let (mut after, mut seen) = (None, BTreeSet::new());
    loop {
        let mut arguments = json!({"path": "bundles"});
        if let Some(after) = &after {
            arguments["after"] = json!(after);
        }
        let page = cline.call("list_skills", &arguments);
        assert!(json!(page.text).to_string().len() < 8_000, "{}", page.text.len());
        let children = page.json["tree"]["children"].as_array().unwrap();
        seen.extend(children.iter().map(|child| child["name"].as_str().unwrap().to_owned()));
        if page.json.get("next").is_none() {
            break;
        }
        after = children.last().map(|child| child["name"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen.len(), 201);
    // Clients that cut by lines lose no JSON.
    let listed =
        Client::legacy(serving(&home, "both"), "2025-06-18").call("list_skills", &json!({}));
    assert!(
        listed.text.len() <= 20_000 && listed.text.lines().count() > 3,
        "{}",
        listed.text.len()
    );
}

// CLIENT-7, CLIENT-6
#[test]
fn b6_what_a_client_loads_by_itself_is_not_listed_twice_but_can_be_found_and_loaded() {
    let home = Home::new();
    home.write(
        "project/.claude/skills/native-heron/SKILL.md",
        bundle("native-heron", "Draw a heron", "Ink."),
    );
    home.write(
        "project/.agents/skills/shared-gull/SKILL.md",
        bundle("shared-gull", "Draw a gull", "Pencil."),
    );
    let (mut claude, welcome) = Client::named(agents(&home, &[]), "2025-06-18", "claude-code");
    let instructions = welcome["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("shared-gull") && !instructions.contains("native-heron"),
        "{instructions}"
    );
    assert!(
        claude
            .call("skills_search", &json!({"query": "draw a heron"}))
            .text
            .contains("native-heron")
    );
    assert!(claude.call("load_skill", &json!({"name": "native-heron"})).text.contains("Ink."));
    // OpenCode loads both.
    let (mut opencode, welcome) = Client::named(agents(&home, &[]), "2025-06-18", "opencode");
    let nothing_new = "This server has no skills but those that you know already.";
    assert_eq!(welcome["instructions"], nothing_new, "{welcome}");
    let shown = format!("{welcome} {}", json!(tools(&mut opencode)));
    assert!(!shown.contains("native-heron") && !shown.contains("shared-gull"), "{shown}");
    // Gemini loads one of them, and lists.
    let (mut gemini, _) = Client::named(agents(&home, &[]), "2025-06-18", "gemini-cli-mcp-client");
    let shown = json!(tools(&mut gemini)).to_string();
    assert!(shown.contains("native-heron") && !shown.contains("shared-gull"), "{shown}");
}

// CLIENT-8
#[test]
fn b7_claude_code_is_told_which_tools_to_show_from_the_start() {
    let home = Home::new();
    bundles(&home);
    for (content, expected) in
        [("tree", vec!["get_skill"]), ("bundles", vec!["get_skill"]), ("both", vec!["get_skill"])]
    {
        let (mut claude, _) = Client::named(serving(&home, content), "2025-06-18", "claude-code");
        let list = tools(&mut claude);
        let always: Vec<&str> = list
            .iter()
            .filter(|tool| tool["_meta"]["anthropic/alwaysLoad"] == true)
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(always, expected, "{content}");
        assert!(list.iter().all(|tool| tool["_meta"]["anthropic/searchHint"].is_string()));
    }
    let mut other = Client::legacy(serving(&home, "tree"), "2025-06-18");
    assert!(tools(&mut other).iter().all(|tool| tool.get("_meta").is_none()));
}

// CLIENT-1
#[test]
fn the_operator_can_say_which_client_it_is_and_a_wrong_name_is_explained() {
    let home = Home::new();
    bundles(&home);
    let mut command = serving(&home, "bundles");
    command.args(["--client", "qwen"]);
    let mut fixed = Client::legacy(command, "2025-06-18");
    assert!(names(&tools(&mut fixed)).contains(&"load_skill".to_owned()));
    let mut command = serving(&home, "bundles");
    command.args(["--client", "none"]);
    let (mut none, _) = Client::named(command, "2025-06-18", "qwen-cli-mcp-client-skills");
    assert!(names(&tools(&mut none)).contains(&"skill".to_owned()));
    let (code, _, err) = run(serving(&home, "bundles").args(["--client", "clin", "tools"]));
    assert!(
        code == 2
            && err.contains("invalid value 'clin' for '--client <CLIENT>'")
            && err.contains("'cline'"),
        "{err}"
    );
}
