//! Siblings: hits that say much the same stand together, with what tells each apart.

use serde_json::{Value, json};
use skills_testkit::{Client, Home};

use crate::support::{bundle, run, server, skill, with_all_tools};

/// Skills of one author about one subject, a copy of one of them, and something else.
fn home() -> Home {
    let home = Home::with("");
    let shared = "for marketing pages: landing page, homepage, pricing page, headlines, hero section, call to action";
    for (name, about) in [
        (
            "copy-writing",
            format!("Write copy {shared}. Use for a value proposition or a first draft."),
        ),
        ("copy-editing", format!("Edit copy {shared}. Use to proofread, polish or tighten.")),
        (
            "copy-writing-2",
            format!("Write copy {shared}. Use for a value proposition or a first draft!"),
        ),
        ("k8s-debug", "Debug crashing pods of a page".to_owned()),
    ] {
        home.write(&format!("skills/{name}/SKILL.md"), bundle(name, &about, "Steps."));
    }
    home
}

// FAMILY-1, FAMILY-2
#[test]
fn a_known_client_sees_siblings_together_and_near_duplicates_in_one_line() {
    let home = home();
    let (mut client, _) = Client::named(with_all_tools(server(&home)), "2025-11-25", "claude-code");
    let text = client.call("skills_search", &json!({"query": "copy for a landing page"})).text;
    insta::assert_snapshot!("siblings_of_a_search", text);
}

// FAMILY-2
#[test]
fn the_text_of_ten_long_hits_is_within_its_limit_and_names_all_of_them() {
    let home = Home::with("");
    for number in 0..12 {
        let about = format!(
            "Operate fleet{number} of delivery vans. {}",
            format!("Covers subject{number} matters at length, with word{number} and more of it. ")
                .repeat(8)
        );
        let name = format!("delivery-van-fleet-number-{number}");
        home.write(&format!("skills/{name}/SKILL.md"), bundle(&name, &about, "Steps."));
    }
    let (mut client, _) = Client::named(with_all_tools(server(&home)), "2025-11-25", "claude-code");
    let query = "operate the fleet of delivery vans and ".repeat(40);
    let text = client.call("skills_search", &json!({"query": query})).text;
    let tokens = skills_core::estimate::tokens(&text);
    assert!(tokens <= 700, "{tokens} tokens: {text}");
    assert_eq!(text.matches("- delivery-van-fleet-number-").count(), 10, "{text}");
}

// GET-6
#[test]
fn candidates_say_what_tells_them_apart() {
    let home = home();
    let (mut client, _) = Client::named(with_all_tools(server(&home)), "2025-11-25", "claude-code");
    let answer = client.call("get_skill", &json!({"context": "copy for a landing page"})).text;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let candidates = answer["candidates"].as_array().unwrap();
    let paths: Vec<&str> =
        candidates.iter().map(|one| one["skill_path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["copy-writing", "copy-editing", "copy-writing-2", "k8s-debug"], "{answer}");
    assert!(candidates[1]["differs_by"].as_str().unwrap().contains("proofread"));
    assert_eq!(candidates[3].get("differs_by"), None);
}

// FAMILY-1
#[test]
fn candidates_that_keywords_find_say_what_tells_them_apart() {
    let home = Home::with("");
    let about = "sign in, sessions, cookies, password reset, protected pages and permissions";
    home.write(
        "skills/web.md",
        skill("login, session", &format!("Web: {about} in a browser"), "x"),
    );
    home.write("skills/api.md", skill("login, session", &format!("API: {about} with tokens"), "x"));
    let ask = |name: &str| {
        let (mut client, _) = Client::named(with_all_tools(server(&home)), "2025-11-25", name);
        let answer = client.call("get_skill", &json!({"context": "login session"})).text;
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let known = ask("claude-code");
    assert!(known["candidates"][0]["differs_by"].as_str().unwrap().contains("tokens"), "{known}");
    assert!(known["candidates"][1]["differs_by"].as_str().unwrap().contains("browser"), "{known}");
}

// FAMILY-1
#[test]
fn try_shows_siblings() {
    let home = home();
    let (_, out, _) = run(server(&home).args(["try", "copy for a landing page"]));
    assert!(out.contains("   nearly the same: copy-writing-2\n"), "{out}");
    assert!(out.contains("   sibling of: copy-writing\n   differs by: "), "{out}");
    let (_, out, _) = run(server(&home).args(["try", "copy for a landing page", "--json"]));
    let tried: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(tried["hits"].as_array().unwrap().len(), 4);
    assert_eq!(tried["hits"][0]["nearly_the_same"], json!(["copy-writing-2"]), "{tried}");
}
