//! The `skill` tool over user, project and plugin skills, from the start of a server to its end: listing, names, content,
//! refresh, calls at the same time, signals.
//!
//! Not here: internal errors, which are tested where one can be planted, beside the handler in `transport/handler.rs`.

#![expect(
    clippy::indexing_slicing,
    reason = "a helper that meets the unexpected fails the test that calls it"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT, wait_until};

use crate::support::{
    agents, agents_client, bundle, description, eventually, install_plugins, listed_names, offered,
    result, run,
};

/// The user's `user` and `bun`, the project's `deploy`, and two plugins that both have a `pdf`.
fn everything() -> Home {
    let home = Home::new();
    home.write(".claude/skills/user/SKILL.md", bundle("user", "用户的全局技能,必读!", "Read me."));
    home.write(
        ".claude/skills/bun/SKILL.md",
        bundle("bun", "Enhanced documentation skill for 'bun'", "Run bun."),
    );
    home.write("project/.claude/skills/deploy/SKILL.md", bundle("deploy", "Ship it", "Ship."));
    install_plugins(
        &home,
        &[
            (
                "example-skills",
                &[
                    ("pdf", bundle("pdf", "Comprehensive PDF manipulation toolkit", "Example.")),
                    ("xlsx", bundle("xlsx", "Spreadsheets", "Cells.")),
                ],
            ),
            ("office", &[("pdf", bundle("pdf", "Another PDF toolkit", "Office."))]),
        ],
    );
    home
}

fn load(client: &mut Client, name: &str) -> String {
    let reply = client.call("skill", &json!({"name": name}));
    assert!(!reply.is_error, "{name}: {}", reply.text);
    reply.text
}

fn refused(client: &mut Client, name: &str) -> String {
    let reply = client.call("skill", &json!({"name": name}));
    assert!(reply.is_error, "{name}: {}", reply.text);
    reply.text
}

fn plugin_folder(home: &Home, plugin: &str, skill: &str) -> String {
    let place = format!(".claude/plugins/cache/market/{plugin}/1.0.0/skills/{skill}");
    home.path().join(place).display().to_string()
}

// Initialization.

#[test]
fn answer_6_the_server_speaks_on_stdio_and_logs_to_standard_error() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(offered(&mut client).len(), 1);
    let (status, _, log) = client.close();
    assert!(status.success());
    assert!(!log.is_empty() && !log.contains("jsonrpc"), "diagnostics only: {log}");
}

#[test]
fn source_3_the_log_names_every_source_and_the_number_of_skills() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    load(&mut client, "user");
    let (_, _, log) = client.close();
    for source in ["user-claude", "project-claude", "plugin-example-skills", "plugin-office"] {
        let line = log.lines().find(|line| line.contains("serving") && line.contains(source));
        assert!(line.is_some(), "{source}: {log}");
    }
    let indexed = log.lines().find(|line| line.contains("indexed")).unwrap();
    assert!(indexed.contains("skills=6"), "{indexed}");
}

// The tool.

// SKILL-1
#[test]
fn listing_2_the_tool_names_every_skill_with_its_description() {
    let home = everything();
    let tools = offered(&mut agents_client(&home, &["--listing", "list"]));
    let tool = tools.iter().find(|tool| tool["name"] == "skill").unwrap();
    let text = tool["description"].as_str().unwrap();
    for (name, about) in [("user", "必读!"), ("deploy", "Ship it"), ("office:pdf", "Another PDF")]
    {
        assert!(text.contains(name) && text.contains(about), "{text}");
    }
    assert_eq!(tool["inputSchema"]["required"], json!(["name"]));
    assert_eq!(tool["inputSchema"]["properties"]["name"]["type"], "string");
}

#[test]
fn listing_2_the_list_in_the_description_follows_the_catalog() {
    let home = everything();
    let arguments = ["--listing", "list", "--set", "refresh.scan_seconds=1"];
    let mut client = agents_client(&home, &arguments);
    let expected = "Load a skill by name to get specialized instructions.\n\nAvailable skills:\n\
         - deploy: Ship it\n\
         - bun: Enhanced documentation skill for 'bun'\n\
         - user: 用户的全局技能,必读!\n\
         - example-skills:pdf: Comprehensive PDF manipulation toolkit\n\
         - example-skills:xlsx: Spreadsheets\n\
         - office:pdf: Another PDF toolkit";
    assert_eq!(description(&mut client, "skill"), expected);
    home.write(".claude/skills/new/SKILL.md", bundle("new", "Added\n  later", "Text."));
    let text = eventually("the description is updated", || {
        Some(description(&mut client, "skill")).filter(|text| text != expected)
    });
    let line = "- bun: Enhanced documentation skill for 'bun'\n- new: Added later\n";
    assert!(text.contains(line), "one line each: {text}");
}

// SKILL-3
#[test]
fn skill_2_a_skill_loads_by_its_name() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    let folder = home.path().join(".claude/skills/user").display().to_string();
    let text = bundle("user", "用户的全局技能,必读!", "Read me.");
    for name in ["user", "USER", "User"] {
        let expected = format!("Loading: user\nBase directory: {folder}\n\n{text}");
        assert_eq!(load(&mut client, name), expected);
    }
}

#[test]
fn skill_4_a_plugins_skill_loads_by_its_full_name() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    for (name, plugin, body) in
        [("example-skills:pdf", "example-skills", "Example."), ("OFFICE:PDF", "office", "Office.")]
    {
        let text = load(&mut client, name);
        let folder = plugin_folder(&home, plugin, "pdf");
        let head = format!("Loading: {plugin}:pdf\nBase directory: {folder}\n\n---\nname: pdf\n");
        assert!(text.starts_with(&head) && text.ends_with(&format!("\n\n{body}\n")), "{text}");
    }
}

#[test]
fn skill_4_a_plugins_skill_loads_by_a_short_name_that_no_other_has() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    let folder = plugin_folder(&home, "example-skills", "xlsx");
    for name in ["xlsx", "XLSX"] {
        let head = format!("Loading: example-skills:xlsx\nBase directory: {folder}\n\n");
        assert!(load(&mut client, name).starts_with(&head));
    }
}

#[test]
fn skill_6_an_ambiguous_short_name_is_answered_with_the_full_names() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    let text = refused(&mut client, "pdf");
    assert!(text.starts_with("Skill 'pdf' is ambiguous."), "{text}");
    assert!(text.contains("full names: example-skills:pdf, office:pdf"), "{text}");
    // An exact full name wins over short ones: a plain `pdf` is no longer ambiguous.
    home.write(".claude/skills/pdf/SKILL.md", bundle("pdf", "A plain one", "Plain."));
    let plain = eventually("the plain one loads", || {
        let reply = client.call("skill", &json!({"name": "pdf"}));
        (!reply.is_error).then_some(reply.text)
    });
    assert!(plain.starts_with("Loading: pdf\n") && plain.ends_with("Plain.\n"), "{plain}");
    assert!(load(&mut client, "office:pdf").ends_with("Office.\n"));
}

#[test]
fn skill_5_an_unknown_name_is_answered_with_near_ones() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    for (asked, near) in [
        ("deplyo", "deploy"),
        ("usr", "user"),
        ("office:pfd", "office:pdf"),
        ("xlxs", "example-skills:xlsx"),
    ] {
        let answer =
            client.request("tools/call", json!({"name": "skill", "arguments": {"name": asked}}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("Skill '{asked}' not found.")), "{text}");
        let suggested = text.lines().find(|line| line.starts_with("Did you mean: ")).unwrap();
        assert!(suggested.contains(near), "{asked}: {suggested}");
        assert!(suggested.matches(", ").count() < 5, "at most five: {suggested}");
    }
    let text = refused(&mut client, "zzzzzzzz");
    assert!(!text.contains("Did you mean"), "nothing is near: {text}");
    assert!(text.contains("- office:pdf: Another PDF toolkit"), "{text}");
}

// The content.

#[test]
fn skill_2_the_base_directory_stands_before_the_file() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    let text = load(&mut client, "deploy");
    let (head, content) = text.split_once("\n\n").unwrap();
    let folder = home.path().join("project/.claude/skills/deploy");
    assert!(folder.is_absolute());
    assert_eq!(head, format!("Loading: deploy\nBase directory: {}", folder.display()));
    assert_eq!(content, fs::read_to_string(folder.join("SKILL.md")).unwrap());
}

#[test]
fn file_5_exact_formatting_is_preserved() {
    let home = everything();
    let text = "---\nname: exact\ndescription: x\n---\n\n# Überschrift\n\n```python\nif x:\n\tprint(\"é\")   \n```\n\n\
        1. one\n   - nested\n\n| a | b |\n|---|---|\n| 技能 | 🦀 |\n\n    indented\n<tag> & \"quotes\" \\n\n\n\n";
    home.write(".claude/skills/exact/SKILL.md", text);
    let mut client = agents_client(&home, &[]);
    let loaded = load(&mut client, "exact");
    assert_eq!(loaded.split_once("\n\n").unwrap().1, text);
}

// Refresh.

#[test]
fn fresh_3_everything_is_looked_at_every_30_seconds() {
    let home = everything();
    let (code, out, _) = run(&mut agents(&home, &["config", "--json"]));
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    assert_eq!(
        shown["settings"]["refresh.scan_seconds"],
        json!({"value": 30, "origin": "default"})
    );
    // The same mechanism with a shorter interval, where the system tells of nothing: nothing but time passes.
    let quick = ["--set", "refresh.scan_seconds=1", "--set", "refresh.watch=false"];
    let mut client = agents_client(&home, &quick);
    // Where the first look took long, as on a busy machine, the next comes later.
    client.set_timeout(Duration::from_secs(200));
    load(&mut client, "user");
    home.write(".claude/skills/later/SKILL.md", bundle("later", "Later", "Text."));
    client.notification("notifications/tools/list_changed");
    assert!(listed_names(&description(&mut client, "skill")).contains(&"later"));
    let (_, _, log) = client.close();
    assert!(log.contains("cause=periodic") && log.contains("added=1"), "{log}");
}

#[test]
fn fresh_3_new_skills_are_found() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    refused(&mut client, "fresh");
    home.write("project/.claude/skills/fresh/SKILL.md", bundle("fresh", "New", "Fresh."));
    let place = format!("{}/SKILL.md", plugin_folder(&home, "office", "docx"));
    fs::create_dir_all(Path::new(&place).parent().unwrap()).unwrap();
    fs::write(place, bundle("docx", "Documents", "Docx.")).unwrap();
    for name in ["fresh", "office:docx", "docx"] {
        eventually(name, || (!client.call("skill", &json!({"name": name})).is_error).then_some(()));
    }
    assert!(listed_names(&description(&mut client, "skill")).contains(&"fresh"));
}

#[test]
fn fresh_3_modified_skills_are_found() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    assert!(load(&mut client, "bun").ends_with("Run bun.\n"));
    home.write(".claude/skills/bun/SKILL.md", bundle("bun", "Changed", "Run it twice."));
    eventually("the new content", || {
        load(&mut client, "bun").ends_with("Run it twice.\n").then_some(())
    });
    let listing = description(&mut client, "skill");
    assert!(listing.contains("<description>Changed</description>"), "{listing}");
}

#[test]
fn fresh_3_removed_skills_are_gone() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    load(&mut client, "bun");
    fs::remove_file(home.path().join(".claude/skills/bun/SKILL.md")).unwrap();
    let text = eventually("it is gone", || {
        let reply = client.call("skill", &json!({"name": "bun"}));
        reply.is_error.then_some(reply.text)
    });
    assert!(text.starts_with("Skill 'bun' not found."), "{text}");
    assert!(!listed_names(&description(&mut client, "skill")).contains(&"bun"));
    fs::remove_dir_all(home.path().join("project/.claude")).unwrap();
    eventually("a whole directory is gone", || {
        client.call("skill", &json!({"name": "deploy"})).is_error.then_some(())
    });
    load(&mut client, "user");
}

// Concurrency.

#[test]
fn answer_4_simultaneous_requests_are_each_answered_right() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    let names = ["user", "bun", "deploy", "example-skills:pdf", "xlsx", "office:pdf"];
    let bodies = ["Read me.", "Run bun.", "Ship.", "Example.", "Cells.", "Office."];
    let asked: Vec<(u64, &str)> = (0..300)
        .map(|number| {
            let arguments = json!({"name": names[number % 6]});
            let id = client.ask("tools/call", json!({"name": "skill", "arguments": arguments}));
            (id, bodies[number % 6])
        })
        .collect();
    for (id, body) in asked {
        let answer = client.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with(&format!("\n\n{body}\n")), "{body}: {text}");
    }
    assert_eq!(listed_names(&description(&mut client, "skill")).len(), 6, "the registry is whole");
}

#[test]
fn fresh_5_requests_during_a_refresh_are_answered() {
    let home = everything();
    for number in 0..1500 {
        let name = format!("filler-{number:04}");
        let text = bundle(&name, "One of many", &"Filler. ".repeat(100));
        home.write(&format!(".claude/skills/{name}/SKILL.md"), text);
    }
    let mut client = agents_client(&home, &["--tools", "skill,tree"]);
    load(&mut client, "user");
    home.write(".claude/skills/user/SKILL.md", bundle("user", "New", "Second text."));
    // Either they do not wait for the refresh, or it is too fast to wait for; on a busy machine not at the first try.
    wait_until("loads that do not wait for a refresh", || {
        let started = Instant::now();
        let refresh = client.ask("tools/call", json!({"name": "refresh_skills", "arguments": {}}));
        for _ in 0..20 {
            client.ask("tools/call", json!({"name": "skill", "arguments": {"name": "user"}}));
        }
        let (mut before, mut refreshed) = (0, None);
        for _ in 0..=20 {
            let answer = client.message();
            if answer["id"] == json!(refresh) {
                assert_eq!(answer["result"]["isError"], false);
                refreshed = Some(started.elapsed());
                continue;
            }
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.ends_with("Read me.\n") || text.ends_with("Second text.\n"), "{text}");
            before += usize::from(refreshed.is_none());
        }
        before >= 10 || refreshed.unwrap() < Duration::from_millis(200)
    });
    assert!(load(&mut client, "user").ends_with("Second text.\n"), "it is applied afterwards");
}

/// A skill's text of one generation, with its number at both ends of much text.
fn generation(name: &str, number: usize) -> String {
    let mark = format!("generation {number:06}");
    bundle(name, &mark, &format!("{mark} first\n{}\n{mark} last", "Filler. ".repeat(2_000)))
}

/// Writes a file as editors do: beside it, and then in its place.
fn replace(folder: &Path, text: &str) {
    fs::write(folder.join(".SKILL.md.new"), text).unwrap();
    fs::rename(folder.join(".SKILL.md.new"), folder.join("SKILL.md")).unwrap();
}

#[test]
fn answer_4_a_hundred_loads_during_rebuilds_are_each_whole_and_from_one_snapshot() {
    let home = Home::new();
    let names: Vec<String> = (0..10).map(|number| format!("skill-{number}")).collect();
    for name in &names {
        home.write(&format!(".claude/skills/{name}/SKILL.md"), generation(name, 0));
    }
    let mut client = agents_client(&home, &["--tools", "all"]);
    load(&mut client, "skill-0");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, names) = (Arc::clone(&stop), names.clone());
        let folder = home.path().join(".claude/skills");
        thread::spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                for name in &names {
                    replace(&folder.join(name), &generation(name, number));
                }
            }
            number
        })
    };
    let mut seen = BTreeSet::new();
    // Four hundred loads, and more on a machine that is too busy to write meanwhile.
    for round in 0..40 {
        if round >= 4 && seen.len() > 2 {
            break;
        }
        let mut asked = Vec::new();
        for number in 0..100 {
            if number % 5 == 0 {
                client.ask("tools/call", json!({"name": "refresh_skills", "arguments": {}}));
            }
            let name = &names[number % names.len()];
            let call = json!({"name": "skill", "arguments": {"name": name}});
            asked.push((client.ask("tools/call", call), name));
        }
        for (id, name) in asked {
            let answer = client.answer(id);
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            let mark = text.split("description: generation ").nth(1).unwrap();
            let number: usize = mark.split('\n').next().unwrap().parse().unwrap();
            assert_eq!(text.split_once("\n\n").unwrap().1, generation(name, number), "{name}");
            seen.insert(number);
        }
        one_snapshot(&mut client, &mut seen);
    }
    stop.store(true, Ordering::Relaxed);
    let written = writer.join().unwrap();
    assert!(written > 2 && seen.len() > 2, "{written} generations were written, {seen:?} seen");
}

/// One answer about all skills: what is said of each twice must agree.
fn one_snapshot(client: &mut Client, seen: &mut BTreeSet<usize>) {
    let listed = result(client, "skills_list", &json!({"includeBody": true}));
    let skills = listed["structuredContent"]["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 10);
    for skill in skills {
        let mark = skill["meta"]["description"].as_str().unwrap();
        let body = skill["body"].as_str().unwrap();
        assert!(body.starts_with(&format!("{mark} first")), "{mark}: {body:.40}");
        assert!(body.ends_with(&format!("{mark} last")), "{mark}");
        let line = format!("- {}: {mark}", skill["meta"]["name"].as_str().unwrap());
        let text = listed["content"][0]["text"].as_str().unwrap();
        assert!(text.lines().any(|said| said == line), "{line}: {text}");
        seen.insert(mark.rsplit(' ').next().unwrap().parse().unwrap());
    }
}

// Errors.

#[test]
fn skill_1_a_call_without_a_usable_name_is_malformed() {
    let home = everything();
    let mut client = agents_client(&home, &[]);
    for arguments in [json!({}), json!({"name": 1}), json!({"name": ["user"]}), json!({"name": ""})]
    {
        let (code, message) = client.refused("skill", &arguments);
        assert_eq!(code, -32602, "{arguments}");
        assert!(message.contains("name"), "{arguments}: {message}");
    }
    let (_, message) = client.refused("skill", &json!({}));
    assert!(message.contains("needs name"), "{message}");
    let answer = client.request("tools/call", json!({"name": "skill"}));
    assert_eq!(answer["result"]["isError"], true, "no arguments at all: {answer}");
}

// Shutdown.

/// Sends a signal: the exit code and the log. A server that waits for something is too slow.
fn signalled(mut client: Client, signal: &str) -> (Option<i32>, String) {
    let kill = format!("kill -{signal} {}", client.pid());
    let (code, _, complaint) = run(Command::new("sh").args(["-c", &kill]));
    assert_eq!(code, 0, "{complaint}");
    let (status, took, log) = client.wait();
    assert!(took < PROMPT_TIMEOUT, "{took:?}");
    (status.code(), log)
}

#[test]
fn exit_1_sigint_ends_the_server() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    load(&mut client, "user");
    let (code, log) = signalled(client, "INT");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.lines().last().unwrap().contains("stopped: SIGINT"), "{log}");
}

#[test]
fn exit_1_sigterm_ends_the_server() {
    let home = everything();
    let mut client = agents_client(&home, &["--set", "refresh.scan_seconds=1"]);
    load(&mut client, "user");
    let (code, log) = signalled(client, "TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.lines().last().unwrap().contains("stopped: SIGTERM"), "{log}");
}
