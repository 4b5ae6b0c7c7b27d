//! Skills that only their users start (`disable-model-invocation: true`): no model is offered one, prompts and resources have it.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::fs;

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{offered, result, run, server, sk_client, with_all_tools};

const SKILLS: &str = "\
//- deploy-shop/SKILL.md
---
name: deploy-shop
description: Deploy the shop to production. Use when the shop is to be deployed.
keywords: [deploy, shop, production]
disable-model-invocation: true
---
Run the release train.
//- ops/rollback.md
---
keywords: [rollback, shop, production]
description: Roll the shop back
disable-model-invocation: true
---
Turn the train around.
//- test-shop/SKILL.md
---
name: test-shop
description: Test the shop before a release
---
Run the tests.
//- ui/cart.md
---
keywords: [cart, basket]
description: The cart of the shop
---
Keep the cart.
";

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Everything that a model reads of a server before and while it looks for a skill.
fn everything_a_model_reads(client: &mut Client) -> Vec<(String, String)> {
    let mut read = vec![("tools/list".to_owned(), json!(offered(client)).to_string())];
    for (tool, arguments) in [
        ("list_skills", json!({})),
        ("list_skills", json!({"path": "ui"})),
        ("skills_list", json!({})),
        ("skills_search", json!({"query": "deploy the shop to production", "limit": 25})),
        ("skills_search", json!({"query": "shop", "match": "all"})),
        ("get_skill", json!({"context": "roll the shop back in production"})),
        ("get_skill", json!({"context": "deploy the shop to production"})),
        ("skill", json!({"name": "rollbakc"})),
        ("get_skill", json!({"skill_path": "ops/rollbac"})),
    ] {
        read.push((format!("{tool} {arguments}"), result(client, tool, &arguments).to_string()));
    }
    read
}

// OFFER-1
#[test]
fn no_model_is_offered_a_skill_that_only_its_user_starts() {
    let home = Home::with(SKILLS);
    for name in ["t", "claude-code", "gemini-cli-mcp-client"] {
        let mut client = Client::spawn(with_all_tools(server(&home)));
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let answer = client.request("initialize", hello);
        let instructions = answer["result"]["instructions"].as_str().unwrap().to_owned();
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let mut read = everything_a_model_reads(&mut client);
        read.push(("instructions".to_owned(), instructions));
        for (call, said) in read {
            for hidden in ["deploy-shop", "ops/rollback", "Roll the shop back"] {
                let asked = call.contains(hidden);
                assert!(asked || !said.contains(hidden), "{name}: {call}: {said}");
            }
        }
    }
}

// OFFER-1
#[test]
fn loading_one_by_name_is_refused_with_the_reason_and_the_way() {
    let home = Home::with(SKILLS);
    let mut client = Client::legacy(with_all_tools(server(&home)), "2025-06-18");
    for (tool, arguments) in [
        ("skill", json!({"name": "deploy-shop"})),
        ("get_skill", json!({"skill_path": "deploy-shop"})),
        ("get_skill", json!({"context": "ops/rollback"})),
        ("get_asset", json!({"skill_path": "deploy-shop", "file": "SKILL.md"})),
    ] {
        let refused = result(&mut client, tool, &arguments);
        assert_eq!(refused["isError"], true, "{tool} {arguments}");
        let said = text(&refused);
        let name = if arguments.get("context").is_some() { "ops/rollback" } else { "deploy-shop" };
        let way = format!("ask the user to start it: prompt `{name}`");
        assert!(said.contains("only its user starts it") && said.contains(&way), "{said}");
    }
    let prompts = client.request("prompts/list", json!({}));
    assert!(prompts.to_string().contains("deploy-shop"), "{prompts}");
    let prompt = client.request("prompts/get", json!({"name": "ops/rollback"}));
    assert!(prompt.to_string().contains("Turn the train around."), "{prompt}");
    let resource = client.request("resources/read", json!({"uri": "skill://deploy-shop/SKILL.md"}));
    assert!(resource.to_string().contains("Run the release train."), "{resource}");
}

// OFFER-1
#[test]
fn a_word_that_is_no_boolean_keeps_models_out_too_and_a_shared_name_leads_to_the_other_one() {
    let home = Home::new();
    home.write(
        "skills/a/tool/SKILL.md",
        "---\nname: alpha\ndescription: Weld pipes.\ndisable-model-invocation: \"yes\"\n---\nHot.\n",
    );
    home.write("skills/b/tool/SKILL.md", "---\nname: beta\ndescription: Glue pipes.\n---\nCold.\n");
    let mut client = Client::legacy(with_all_tools(server(&home)), "2025-06-18");
    let found = text(&result(&mut client, "skills_search", &json!({"query": "pipes"})));
    assert!(found.contains("beta") && !found.contains("alpha"), "{found}");
    for (tool, arguments) in
        [("skill", json!({"name": "tool"})), ("get_skill", json!({"skill_path": "tool"}))]
    {
        let loaded = text(&result(&mut client, tool, &arguments));
        assert!(loaded.contains("Cold."), "{tool}: {loaded}");
    }
    let (_, tried, _) = run(server(&home).args(["try", "a/tool"]));
    assert!(tried.starts_with("get_skill refuses a/tool: only its user starts it."), "{tried}");
    let (code, _, err) = run(server(&home).args(["try", "weld", "--expect", "alpha"]));
    assert!(code == 2 && err.contains("only its user starts `alpha`"), "{code} {err}");
}

// OFFER-1, SK-4
#[test]
fn people_see_it_and_so_does_every_list_of_sk() {
    let home = Home::with(SKILLS);
    let (code, out, err) = run(server(&home).arg("list"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("deploy-shop") && out.contains("(only its user starts it)"), "{out}");
    let (code, out, err) = run(server(&home).args(["show", "deploy-shop"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("only its user starts it: prompt `deploy-shop`"), "{out}");
    assert!(out.contains("Run the release train."), "{out}");
    // The prompt hook speaks to a model.
    home.write("prompt", json!({"prompt": "Deploy the shop to production"}).to_string());
    let prompt = fs::File::open(home.path().join("prompt")).unwrap();
    let (code, out, err) = run(server(&home).args(["hook", "claude-code"]).stdin(prompt));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!out.contains("deploy-shop"), "{out}");
    let mut client = sk_client(&home, &[]);
    for (tool, arguments) in
        [("skills.list", json!({})), ("skills.search", json!({"query": "production"}))]
    {
        let answer = result(&mut client, tool, &arguments);
        assert!(text(&answer).contains("deploy-shop"), "{tool}: {answer}");
    }
}
