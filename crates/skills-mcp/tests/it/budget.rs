//! LISTING-3 to LISTING-5: what the list of tools costs a client's context, at any number of skills.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use serde_json::{Value, json};
use skills_core::estimate;
use skills_testkit::{Client, Home};

use crate::support::{
    agents, agents_client, bundle, description, install_plugins, listed_names, offered, result, run,
};

/// What the list of tools may cost by default.
const BUDGET: usize = 2_000;

/// So many bundles of the user's, each with a description of two sentences.
fn many(count: usize) -> Home {
    let home = Home::new();
    for number in 0..count {
        let (name, text) = generated(number);
        home.write(&format!(".claude/skills/{name}/SKILL.md"), text);
    }
    home
}

fn generated(number: usize) -> (String, String) {
    const VERBS: [&str; 7] =
        ["review", "migrate", "deploy", "debug", "profile", "audit", "archive"];
    const THINGS: [&str; 5] = ["postgres", "kafka", "react", "terraform", "ledger"];
    let (verb, thing) = (VERBS[number % 7], THINGS[number % 5]);
    let name = format!("{thing}-{verb}-{number:04}");
    let about = format!(
        "Step-by-step guide to {verb} {thing} number {number} without downtime. Use for {thing} work that touches a \
         pipeline, or when someone says they need to {verb} it again."
    );
    let text = bundle(&name, &about, &format!("# {verb} {thing}\n\nDo it {number} times."));
    (name, text)
}

/// What a client pays for these tools.
fn tokens(tools: &[Value]) -> usize {
    estimate::tokens(&json!({"tools": tools}).to_string())
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// The sentence about what is not listed: how many of how many are.
fn note(listing: &str) -> Option<(usize, usize)> {
    let line = listing.lines().find(|line| line.contains(" skills are shown"))?;
    assert!(line.contains("skills_search"), "it says how to find the others: {line}");
    let mut numbers = line.split(" of ").map(|part| part.split(' ').next().unwrap());
    let mut number = || numbers.next().unwrap().parse().unwrap();
    Some((number(), number()))
}

fn within_budget(count: usize) {
    let home = many(count);
    for style in ["xml", "list"] {
        let mut client = agents_client(&home, &["--listing", style]);
        let tools = offered(&mut client);
        let cost = tokens(&tools);
        assert!(cost <= BUDGET, "{count} skills, {style}: {cost} tokens");
        let listing = tools[0]["description"].as_str().unwrap();
        let shown = match style {
            "xml" => listed_names(listing).len(),
            _ => listing.lines().filter(|line| line.starts_with("- ")).count(),
        };
        match note(listing) {
            Some((said, of)) => {
                assert_eq!((said, of), (shown, count), "the note is honest: {listing}");
                assert!(said < of && names(&tools) == ["skill", "skills_search"], "{listing}");
                assert!(cost > BUDGET * 3 / 4, "and room is not wasted: {cost}");
            }
            None => assert_eq!(shown, count, "{style}: all are shown"),
        }
        // What is not listed is found and loads all the same.
        let (last, text) = generated(count - 1);
        let reply = client.call("skill", &json!({"name": last}));
        assert!(!reply.is_error && reply.text.ends_with(&text), "{}", reply.text);
        if names(&tools).contains(&"skills_search") {
            let found = result(&mut client, "skills_search", &json!({"query": last}));
            assert_eq!(found["structuredContent"]["results"][0]["meta"]["name"], last);
        }
    }
}

#[test]
fn ten_skills_are_listed_whole_within_the_budget() {
    within_budget(10);
    let home = many(10);
    let tools = offered(&mut agents_client(&home, &[]));
    assert_eq!(names(&tools), ["skill"]);
    let listing = tools[0]["description"].as_str().unwrap();
    for number in 0..10 {
        let (name, text) = generated(number);
        let about = text.lines().nth(2).unwrap().strip_prefix("description: ").unwrap();
        let entry = format!("<name>{name}</name>\n<description>{about}</description>");
        assert!(listing.contains(&entry), "{listing}");
    }
}

// TOOLS-3
#[test]
fn a_hundred_skills_stay_within_the_budget() {
    within_budget(100);
}

// LISTING-3
#[test]
fn a_thousand_skills_stay_within_the_budget() {
    within_budget(1_000);
}

#[test]
fn three_thousand_skills_stay_within_the_budget() {
    within_budget(3_000);
}

#[test]
fn one_skill_more_than_fits_does_not_break_the_budget() {
    let home = Home::new();
    for number in 0..40 {
        let (name, text) = generated(number);
        home.write(&format!(".claude/skills/{name}/SKILL.md"), text);
        if number < 8 {
            continue;
        }
        let tools = offered(&mut agents_client(&home, &[]));
        let cost = tokens(&tools);
        assert!(cost <= BUDGET, "{} skills: {cost}", number + 1);
        let listing = tools[0]["description"].as_str().unwrap();
        let shown = listed_names(listing).len();
        assert_eq!(note(listing).is_none(), shown == number + 1, "{listing}");
    }
}

// LISTING-4
#[test]
fn a_listing_that_is_cut_shortens_before_it_leaves_out_and_starts_at_the_end() {
    let home = Home::new();
    let long = "Handles a matter of some importance. It explains at length, with many words, what to do and \
                what to leave alone, and who is to be asked before anything at all is changed by anybody.";
    for number in 0..45 {
        let name = format!("user-{number:02}");
        home.write(&format!(".claude/skills/{name}/SKILL.md"), bundle(&name, long, "Text."));
    }
    home.write("project/.claude/skills/zz-first/SKILL.md", bundle("zz-first", long, "Text."));
    install_plugins(&home, &[("aa", &[("last", bundle("last", long, "Text."))])]);
    let tools = offered(&mut agents_client(&home, &[]));
    let cost = tokens(&tools);
    assert!(cost <= BUDGET, "{cost}");
    let listing = tools[0]["description"].as_str().unwrap();
    let entries: Vec<&str> = listing.split("<skill>").skip(1).collect();
    let forms: Vec<usize> = entries
        .iter()
        .map(|entry| match (entry.contains(long), entry.contains("<description>")) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        })
        .collect();
    assert!(forms.is_sorted_by(|a, b| a >= b), "{forms:?}");
    assert!(forms.iter().filter(|form| **form < 2).count() > 1, "something was cut: {forms:?}");
    assert!(listing.contains("<description>Handles a matter of some importance."));
    let mut expected = vec!["zz-first".to_owned()];
    expected.extend((0..45).map(|number| format!("user-{number:02}")));
    expected.push("aa:last".to_owned());
    let listed = listed_names(listing);
    assert_eq!(listed, expected[..listed.len()], "by origin, then by name");
    let cut = (listed.len() < 47).then_some((listed.len(), 47));
    assert_eq!(note(listing), cut, "{listing}");
}

// LISTING-6
#[test]
fn two_processes_say_the_same_to_the_byte() {
    let home = many(300);
    let list = |arguments: &[&str]| {
        let answer = agents_client(&home, arguments).request("tools/list", json!({}));
        answer.to_string()
    };
    assert_eq!(list(&[]), list(&[]));
    assert_eq!(list(&["--tools", "all"]), list(&["--tools", "all"]));
    // The order in which files were made does not matter either.
    let other = Home::new();
    for number in (0..300).rev() {
        let (name, text) = generated(number);
        other.write(&format!(".claude/skills/{name}/SKILL.md"), text);
    }
    let answer = agents_client(&other, &[]).request("tools/list", json!({}));
    assert_eq!(answer.to_string(), list(&[]));
}

// LISTING-6
#[test]
fn the_description_changes_only_when_the_catalog_does() {
    let home = many(300);
    let mut client = agents_client(&home, &["--tools", "skill,tree"]);
    let before = description(&mut client, "skill");
    client.call("refresh_skills", &json!({}));
    home.write(".claude/skills/notes.txt", "not a skill");
    client.call("refresh_skills", &json!({}));
    assert_eq!(description(&mut client, "skill"), before);
    let (name, text) = generated(0);
    let changed = text.replace("without downtime", "with some downtime");
    home.write(&format!(".claude/skills/{name}/SKILL.md"), changed);
    client.call("refresh_skills", &json!({}));
    assert_eq!(note(&before).map(|(_, of)| of), Some(300));
    home.write(".claude/skills/a-new-one/SKILL.md", bundle("a-new-one", "New", "Text."));
    client.call("refresh_skills", &json!({}));
    let after = description(&mut client, "skill");
    assert_eq!(note(&after).map(|(_, of)| of), Some(301));
    assert_eq!(listed_names(&after).first(), Some(&"a-new-one"));
}

// LISTING-3
#[test]
fn the_budget_covers_every_chosen_door() {
    let home = many(500);
    for doors in ["skill", "skill,flat", "tree,skill", "all"] {
        let tools = offered(&mut agents_client(&home, &["--tools", doors]));
        let cost = tokens(&tools);
        assert!(cost <= BUDGET, "{doors}: {cost}");
        let listing = tools.iter().find(|tool| tool["name"] == "skill").unwrap();
        let (shown, of) = note(listing["description"].as_str().unwrap()).unwrap();
        assert!(shown > 0 && of == 500, "{doors}: {shown} of {of}");
        assert!(names(&tools).contains(&"skills_search"), "{doors}");
    }
}

#[test]
fn another_budget_is_kept_too() {
    let home = many(500);
    let mut last = 0;
    for budget in [1_000, 1_500, 4_000, 20_000] {
        let mut client = agents_client(&home, &["--listing-budget", &budget.to_string()]);
        let tools = offered(&mut client);
        let cost = tokens(&tools);
        assert!(cost <= budget && cost > budget * 3 / 4, "{budget}: {cost}");
        let shown = listed_names(tools[0]["description"].as_str().unwrap()).len();
        assert!(shown >= last, "{budget}: {shown}");
        last = shown;
    }
}

// LISTING-5
#[test]
fn no_listing_at_all_costs_less_than_450_tokens() {
    for count in [0, 1, 1_000] {
        let home = many(count);
        let arguments = ["--listing-budget", "0", "--tools", "skill,flat"];
        let mut client = agents_client(&home, &arguments);
        let tools = offered(&mut client);
        let cost = tokens(&tools);
        assert!(cost < 450, "{count} skills: {cost}");
        assert_eq!(names(&tools), ["skill", "skills_list", "skills_search"]);
        let said = tools[0]["description"].as_str().unwrap();
        assert!(said.contains("skills_search") && said.lines().count() == 1, "{said}");
        if count > 0 {
            assert!(!client.call("skill", &json!({"name": generated(0).0})).is_error);
        }
    }
}

// TOOLS-3
#[test]
fn without_a_listing_search_joins_so_that_names_can_be_found() {
    let home = many(3);
    let mut client = agents_client(&home, &["--listing-budget", "0"]);
    let tools = offered(&mut client);
    assert!(names(&tools).contains(&"skills_search"), "{:?}", names(&tools));
    let found = result(&mut client, "skills_search", &json!({"query": "review postgres"}));
    assert_eq!(found["structuredContent"]["results"][0]["meta"]["name"], generated(0).0);
}

// TOOLS-3
#[test]
fn search_is_served_beside_skill_even_where_the_listing_fits() {
    let home = many(3);
    let mut client = agents_client(&home, &[]);
    assert_eq!(names(&offered(&mut client)), ["skill"]);
    for name in ["skills_search", "skills.search"] {
        let found = result(&mut client, name, &json!({"query": "review postgres"}));
        assert_eq!(found["structuredContent"]["results"][0]["meta"]["name"], generated(0).0);
    }
    let (code, message) = client.refused("skills_list", &json!({}));
    assert_eq!((code, message.as_str()), (-32602, "unknown tool 'skills_list'; there are skill"));
}

// LISTING-3
#[test]
fn an_unlimited_budget_lists_everything() {
    let home = many(1_000);
    let mut client = agents_client(&home, &["--listing-budget", "unlimited"]);
    let tools = offered(&mut client);
    assert_eq!(names(&tools), ["skill"]);
    let listing = tools[0]["description"].as_str().unwrap();
    let mut expected: Vec<String> = (0..1_000).map(|number| generated(number).0).collect();
    expected.sort();
    assert_eq!(listed_names(listing), expected);
    assert_eq!(listing.matches("or when someone says they need to").count(), 1_000);
    assert_eq!(note(listing), None);
}

#[test]
fn a_budget_that_is_no_number_is_exit_2() {
    let home = many(1);
    for budget in ["abc", "-1", "1.5", "", "2k", "Unlimited"] {
        let flag = format!("--listing-budget={budget}");
        let (code, out, err) = run(&mut agents(&home, &[&flag]));
        assert_eq!((code, out.as_str()), (2, ""), "{budget}: {err}");
        assert!(err.contains("--listing-budget") && err.contains("unlimited"), "{budget}: {err}");
    }
}

// TOOLS-1
#[test]
fn doors_are_chosen_by_flag_or_variable_and_a_wrong_one_is_exit_2() {
    let home = many(2);
    let tree =
        ["get_skill", "list_skills", "get_asset", "run_script", "report_usage", "refresh_skills"];
    let flat = ["skills_list", "skills_search"];
    let all: Vec<&str> = [&tree[..], &["skill"], &flat].concat();
    let expected: [(&str, Vec<&str>); 6] = [
        ("tree", tree.to_vec()),
        ("skill", vec!["skill"]),
        ("flat", flat.to_vec()),
        ("flat, tree", [&tree[..], &flat].concat()),
        ("tree,skill,flat", all.clone()),
        ("all", all),
    ];
    for (doors, tools) in expected {
        assert_eq!(names(&offered(&mut agents_client(&home, &["--tools", doors]))), tools);
        let mut command = agents(&home, &[]);
        command.env("SKILLS_TOOLS", doors);
        assert_eq!(names(&offered(&mut Client::legacy(command, "2025-11-25"))), tools);
    }
    for wrong in ["nonsense", "tree,nonsense", ",", "Tree"] {
        let (code, out, err) = run(&mut agents(&home, &["--tools", wrong]));
        assert_eq!((code, out.as_str()), (2, ""), "{wrong}: {err}");
        assert!(err.contains("--tools") && err.contains("tree") && err.contains("flat"), "{err}");
        let (code, ..) = run(agents(&home, &[]).env("SKILLS_TOOLS", wrong));
        assert_eq!(code, 2, "{wrong}");
    }
    let (mut client, unset) = (agents(&home, &[]), "");
    client.env("SKILLS_TOOLS", unset);
    assert_eq!(names(&offered(&mut Client::legacy(client, "2025-11-25"))), ["skill"]);
}

#[test]
fn u11_long_and_odd_descriptions_and_names_cannot_break_the_budget() {
    let home = Home::new();
    let long = "words without an end ".repeat(500);
    home.write(".claude/skills/a-long/SKILL.md", bundle("a-long", &long, "Text."));
    home.write(
        ".claude/skills/b-quoted/SKILL.md",
        "---\nname: b-quoted\ndescription: \"Quotes \\\" and \\\\ and\\nlines \\t and \\u0007 bells\"\n---\n",
    );
    let giant = format!("c-{}", "n".repeat(5_000));
    home.write(".claude/skills/c-giant/SKILL.md", bundle(&giant, "A giant of a name", "Text."));
    let unbroken = "漢".repeat(8_000);
    home.write(".claude/skills/d-unbroken/SKILL.md", bundle("d-unbroken", &unbroken, "Text."));
    home.write(".claude/skills/e-last/SKILL.md", bundle("e-last", "An ordinary one", "Text."));
    for style in ["xml", "list"] {
        let mut client = agents_client(&home, &["--listing", style]);
        let tools = offered(&mut client);
        let cost = tokens(&tools);
        assert!(cost <= BUDGET, "{style}: {cost}");
        let listing = tools[0]["description"].as_str().unwrap();
        assert!(listing.contains("a-long"), "{listing}");
        assert!(!listing.contains('\u{7}') && !listing.contains("and\nlines"), "{listing}");
        assert!(client.call("skill", &json!({"name": giant})).text.contains("A giant of a name"));
        let missing = client.call("skill", &json!({"name": "nothing"}));
        assert!(estimate::tokens(&missing.text) < 1_500, "{}", missing.text.len());
    }
}

#[test]
fn a_budget_below_the_words_around_a_list_leaves_one_sentence() {
    let home = many(100);
    for budget in [1, 100, 300] {
        let budget = budget.to_string();
        let tools = offered(&mut agents_client(&home, &["--listing-budget", &budget]));
        let none = offered(&mut agents_client(&home, &["--listing-budget", "0"]));
        assert_eq!(tools, none, "{budget}");
    }
}
